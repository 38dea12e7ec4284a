//! IPsec policies (`include/uapi/linux/xfrm.h`): weir needs only to know if a policy ends without
//! use.

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{DecodeError, Message};

const XFRM_MSG_NEWPOLICY: u16 = 0x13;
const XFRM_MSG_GETPOLICY: u16 = 0x15;

/// Size of struct xfrm_userpolicy_info, which begins with the selector (56 bytes) and the limits
/// (64).
const INFO: usize = 168;
/// Size of struct xfrm_userpolicy_id.
const ID: usize = 64;
/// Offsets of soft_use_expires_seconds, hard_use_expires_seconds, dir and action.
const LIMITS: [usize; 2] = [104, 112];
const DIR: usize = 160;
const ACTION: usize = 161;

/// XFRM_POLICY_IN: for packets to this machine itself.
const IN: u8 = 0;
/// XFRM_POLICY_ALLOW.
const ALLOW: u8 = 0;

/// Requests all policies.
pub(crate) fn dump_policies(sequence: u32) -> Vec<u8> {
    Encoder::single(
        XFRM_MSG_GETPOLICY,
        NLM_F_REQUEST | NLM_F_DUMP,
        sequence,
        |e| e.fixed(&[0; ID]),
    )
}

/// Returns the seconds without a packet after which a policy expires, hard or soft, if the policy
/// lets forwarded packets pass.
///
/// # Errors
/// The message is too short.
pub fn decode_idle_limit(message: &Message<'_>) -> Result<Option<u64>, DecodeError> {
    if message.kind != XFRM_MSG_NEWPOLICY {
        return Ok(None);
    }
    let (fixed, _) = message.split::<INFO>("xfrm_userpolicy_info")?;
    if fixed[DIR] == IN || fixed[ACTION] != ALLOW {
        return Ok(None);
    }
    let limit = |at: usize| {
        let mut octets = [0; 8];
        octets.copy_from_slice(&fixed[at..at + 8]);
        u64::from_ne_bytes(octets)
    };
    Ok(LIMITS
        .map(limit)
        .into_iter()
        .filter(|limit| *limit != 0)
        .min())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::first;

    fn limit(soft: u64, hard: u64, dir: u8, action: u8) -> Option<u64> {
        let mut info = [0; INFO];
        info[LIMITS[0]..][..8].copy_from_slice(&soft.to_ne_bytes());
        info[LIMITS[1]..][..8].copy_from_slice(&hard.to_ne_bytes());
        (info[DIR], info[ACTION]) = (dir, action);
        let datagram = Encoder::single(XFRM_MSG_NEWPOLICY, 0, 0, |e| e.fixed(&info));
        let message = first(&datagram);
        decode_idle_limit(&message).expect("a policy")
    }

    #[test]
    fn a_policy_that_lives_by_use_says_for_how_long() {
        let (out, forward, block) = (1, 2, 1);
        assert_eq!(limit(0, 0, out, ALLOW), None);
        assert_eq!(limit(0, 5, out, ALLOW), Some(5));
        assert_eq!(limit(3, 5, forward, ALLOW), Some(3));
        assert_eq!(limit(3, 0, forward, ALLOW), Some(3));
        assert_eq!(limit(3, 5, IN, ALLOW), None);
        assert_eq!(limit(3, 5, out, block), None);
    }
}
