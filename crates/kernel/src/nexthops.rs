//! Groups of next hops (`include/uapi/linux/nexthop.h`): weir needs only the idle time after which
//! their buckets may move. [`crate::io::read_bucket_idle`] reads them.

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{DecodeError, Message};
use crate::rtnetlink::{RTM_GETNEXTHOP, RTM_NEWNEXTHOP};

/// Size of struct nhmsg.
const NHMSG: usize = 8;
const NHA_GROUPS: u16 = 9;
const NHA_RES_GROUP: u16 = 12;
const NHA_RES_GROUP_IDLE_TIMER: u16 = 2;
/// Unit of times: hundredths of a second, independent of the kernel's clock (USER_HZ, clock_t).
const TICK: u64 = 10;

/// Requests all groups of next hops.
pub(crate) fn dump_groups(sequence: u32) -> Vec<u8> {
    let flags = NLM_F_REQUEST | NLM_F_DUMP;
    Encoder::single(RTM_GETNEXTHOP, flags, sequence, |e| {
        e.fixed(&[0; NHMSG]);
        e.attribute(NHA_GROUPS, &[]);
    })
}

/// Returns the idle milliseconds after which a bucket of this group may move to another next hop
/// (net/ipv4/nexthop.c, `nh_res_bucket_should_migrate`). `None`: not a resilient group, or its
/// buckets are idle always.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_bucket_idle(message: &Message<'_>) -> Result<Option<u64>, DecodeError> {
    if message.kind != RTM_NEWNEXTHOP {
        return Ok(None);
    }
    let (_, attributes) = message.split::<NHMSG>("nhmsg")?;
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.kind != NHA_RES_GROUP {
            continue;
        }
        for part in attribute.nested("NHA_RES_GROUP") {
            let part = part?;
            if part.kind == NHA_RES_GROUP_IDLE_TIMER {
                let ticks = part.u32_native("NHA_RES_GROUP_IDLE_TIMER")?;
                return Ok((ticks != 0).then_some(u64::from(ticks) * TICK));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::first;

    fn idle(kind: u16, timer: Option<&[u8]>) -> Result<Option<u64>, DecodeError> {
        let datagram = Encoder::single(kind, 0, 0, |e| {
            e.fixed(&[0; NHMSG]);
            if let Some(timer) = timer {
                e.nested(NHA_RES_GROUP, |e| {
                    e.attribute(1, &[32, 0]);
                    e.attribute(NHA_RES_GROUP_IDLE_TIMER, timer);
                });
            }
        });
        decode_bucket_idle(&first(&datagram))
    }

    #[test]
    fn a_resilient_group_says_when_its_buckets_are_idle() {
        let minute = 6_000u32.to_ne_bytes();
        assert_eq!(idle(RTM_NEWNEXTHOP, Some(&minute)), Ok(Some(60_000)));
        assert_eq!(idle(RTM_NEWNEXTHOP, Some(&[0; 4])), Ok(None), "always");
        assert_eq!(idle(RTM_NEWNEXTHOP, None), Ok(None), "another group");
        assert_eq!(idle(RTM_NEWNEXTHOP + 1, Some(&minute)), Ok(None), "gone");
        assert!(idle(RTM_NEWNEXTHOP, Some(&[1])).is_err());
    }
}
