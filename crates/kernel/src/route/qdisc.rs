//! Qdiscs: changes, and the list of all, as far as needed to detect traffic shaping.

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::event::{Event, Qdisc};
use crate::message::{Attribute, DecodeError, Message, u32_at};
use crate::rtnetlink::{
    RTM_GETTCLASS, RTM_NEWQDISC, RTM_NEWTCLASS, TC_H_CLSACT, TC_H_ROOT, TCA_KIND, TCA_OPTIONS,
};

const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;

const TCA_FQ_PLIMIT: u16 = 1;
const TCA_FQ_FLOW_PLIMIT: u16 = 2;
/// Bytes per second that a flow of `fq` may send; of all flows, also forwarded ones.
const TCA_FQ_FLOW_MAX_RATE: u16 = 7;
const TCA_FQ_CE_THRESHOLD: u16 = 12;
/// Unlimited rate, or a threshold that is never reached.
const NEVER: u32 = u32::MAX;

const TCA_FQ_CODEL_TARGET: u16 = 1;
const TCA_FQ_CODEL_LIMIT: u16 = 2;
const TCA_FQ_CODEL_INTERVAL: u16 = 3;
const TCA_FQ_CODEL_ECN: u16 = 4;
const TCA_FQ_CODEL_FLOWS: u16 = 5;
/// Present only with a threshold.
const TCA_FQ_CODEL_CE_THRESHOLD: u16 = 7;

const TCA_CAKE_NAT: u16 = 11;

/// A qdisc of a device, except those that only hold filters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Listed {
    /// Device.
    pub link: u32,
    /// Kind.
    pub kind: String,
    /// Number by which filters name the qdisc; 0 for a default of the kernel.
    pub handle: u32,
    /// True at the root of the device; `false`: below another qdisc.
    pub root: bool,
    /// An `fq` with a rate, which no flow may exceed.
    pub rate: bool,
    /// True if the operator chose other options than the defaults of its kind: limits, delays,
    /// marks of ECN.
    pub tuned: bool,
    /// A `cake` that looks up the addresses behind NAT in conntrack.
    pub nat: bool,
}

/// Decodes a change of a qdisc.
pub(super) fn changed(message: &Message<'_>, present: bool) -> Result<Option<Event>, DecodeError> {
    let (fixed, attributes) = message.split::<20>("tcmsg")?;
    let link = u32_at(fixed, 4);
    match u32_at(fixed, 12) {
        TC_H_ROOT => {}
        // With it, its filters come and go without a word.
        TC_H_CLSACT => return Ok(Some(Event::Filters(link))),
        _ => return Ok(Some(Event::Qdiscs(link))),
    }
    if !present {
        return Ok(Some(Event::Qdisc(Qdisc {
            link,
            kind: String::new(),
        })));
    }
    let kind = attributes.first(TCA_KIND)?;
    let kind = kind.ok_or(DecodeError::missing("TCA_KIND"))?.text();
    Ok(Some(Event::Qdisc(Qdisc { link, kind })))
}

/// Decodes one message of a dump of qdiscs. `None`: one that only holds filters (`clsact`,
/// `ingress`), or another message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode(message: &Message<'_>) -> Result<Option<Listed>, DecodeError> {
    if message.kind != RTM_NEWQDISC {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<20>("tcmsg")?;
    let parent = u32_at(fixed, 12);
    let (mut kind, mut options) = (None, None);
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            TCA_KIND => kind = Some(attribute.text()),
            TCA_OPTIONS => options = Some(attribute),
            _ => {}
        }
    }
    if parent == TC_H_CLSACT {
        return Ok(None);
    }
    let kind = kind.ok_or(DecodeError::missing("TCA_KIND"))?;
    let handle = u32_at(fixed, 8);
    let mut listed = Listed {
        link: u32_at(fixed, 4),
        handle,
        root: parent == TC_H_ROOT,
        rate: false,
        // The only option is how many packets wait.
        tuned: handle != 0 && kind == "pfifo",
        nat: false,
        kind,
    };
    if matches!(listed.kind.as_str(), "fq" | "fq_codel" | "cake") {
        for option in options.iter().flat_map(|o| o.nested("TCA_OPTIONS")) {
            look(&mut listed, &option?)?;
        }
    }
    Ok(Some(listed))
}

/// Takes a relevant option of a qdisc. The defaults are those of `fq_init` and `fq_codel_init`;
/// Codel counts in units of 1024 ns, and reports 5 ms as 4999 us. Memory and quantum are left out:
/// they follow from the machine and the MTU.
fn look(listed: &mut Listed, option: &Attribute<'_>) -> Result<(), DecodeError> {
    let number = |part| option.u32_native(part);
    let tuned = match (listed.kind.as_str(), option.kind) {
        ("cake", TCA_CAKE_NAT) => {
            listed.nat = number("TCA_CAKE_NAT")? != 0;
            false
        }
        ("fq", TCA_FQ_FLOW_MAX_RATE) => {
            listed.rate = number("TCA_FQ_FLOW_MAX_RATE")? != NEVER;
            false
        }
        ("fq", TCA_FQ_PLIMIT) => number("TCA_FQ_PLIMIT")? != 10_000,
        ("fq", TCA_FQ_FLOW_PLIMIT) => number("TCA_FQ_FLOW_PLIMIT")? != 100,
        ("fq", TCA_FQ_CE_THRESHOLD) => number("TCA_FQ_CE_THRESHOLD")? != NEVER,
        ("fq_codel", TCA_FQ_CODEL_TARGET) => {
            !matches!(number("TCA_FQ_CODEL_TARGET")?, 4_999 | 5_000)
        }
        ("fq_codel", TCA_FQ_CODEL_LIMIT) => number("TCA_FQ_CODEL_LIMIT")? != 10_240,
        ("fq_codel", TCA_FQ_CODEL_INTERVAL) => {
            !matches!(number("TCA_FQ_CODEL_INTERVAL")?, 99_999 | 100_000)
        }
        ("fq_codel", TCA_FQ_CODEL_ECN) => number("TCA_FQ_CODEL_ECN")? != 1,
        ("fq_codel", TCA_FQ_CODEL_FLOWS) => number("TCA_FQ_CODEL_FLOWS")? != 1024,
        ("fq_codel", TCA_FQ_CODEL_CE_THRESHOLD) => true,
        _ => false,
    };
    // Other defaults of the kernel's own (some distributions change them) do not count.
    listed.tuned |= tuned && listed.handle != 0;
    Ok(())
}

/// Decodes the parent of a class, from a message of a dump of classes. `None`: a root class, or
/// another message.
///
/// # Errors
/// The message is cut short.
pub fn decode_inner(message: &Message<'_>) -> Result<Option<u32>, DecodeError> {
    if message.kind != RTM_NEWTCLASS {
        return Ok(None);
    }
    let (fixed, _) = message.split::<20>("tcmsg")?;
    let parent = u32_at(fixed, 12);
    Ok((parent & 0xffff != 0 && parent != TC_H_ROOT).then_some(parent))
}

/// Requests the classes of a device.
pub(crate) fn dump_classes(link: u32, sequence: u32) -> Vec<u8> {
    Encoder::single(RTM_GETTCLASS, NLM_F_REQUEST | NLM_F_DUMP, sequence, |e| {
        let mut fixed = [0; 20];
        fixed[4..8].copy_from_slice(&link.to_ne_bytes());
        e.fixed(&fixed);
    })
}

/// Decodes a device and the drops of its root qdisc so far (`struct gnet_stats_queue`), including
/// its child qdiscs, from a message of a dump of qdiscs. `None`: another message.
///
/// # Errors
/// Names the attribute that is cut short.
pub fn decode_drops(message: &Message<'_>) -> Result<Option<(u32, u32)>, DecodeError> {
    if message.kind != RTM_NEWQDISC {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<20>("tcmsg")?;
    if u32_at(fixed, 12) != TC_H_ROOT {
        return Ok(None);
    }
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.kind != TCA_STATS2 {
            continue;
        }
        for counter in attribute.nested("TCA_STATS2") {
            let counter = counter?;
            // Length and bytes of the queue come before.
            if let (TCA_STATS_QUEUE, Some(queue)) = (counter.kind, counter.value.first_chunk()) {
                let queue: &[u8; 12] = queue;
                return Ok(Some((u32_at(fixed, 4), u32_at(queue, 8))));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{datagram, first};
    use crate::message::Messages;
    use crate::route::decode as events;
    use crate::rtnetlink::RTM_DELQDISC;

    fn message(parent: u32, kind: &str, options: &[(u16, u32)]) -> Vec<u8> {
        numbered(0, parent, kind, options)
    }

    fn numbered(handle: u32, parent: u32, kind: &str, options: &[(u16, u32)]) -> Vec<u8> {
        let mut fixed = [0; 20];
        fixed[4..8].copy_from_slice(&3u32.to_ne_bytes());
        fixed[8..12].copy_from_slice(&handle.to_ne_bytes());
        fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
        Encoder::single(RTM_NEWQDISC, 0, 0, |e| {
            e.fixed(&fixed);
            e.attribute(TCA_KIND, format!("{kind}\0").as_bytes());
            e.nested(TCA_OPTIONS, |e| {
                for (option, value) in options {
                    e.attribute(*option, &value.to_ne_bytes());
                }
            });
        })
    }

    fn listed(bytes: &[u8]) -> Option<Listed> {
        decode(&first(bytes)).expect("understood")
    }

    #[test]
    fn what_a_root_dropped() {
        let of = |parent: u32, queue: &[u8]| {
            let mut fixed = [0; 20];
            fixed[4..8].copy_from_slice(&3u32.to_ne_bytes());
            fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
            let bytes = Encoder::single(RTM_NEWQDISC, 0, 0, |e| {
                e.fixed(&fixed);
                e.attribute(TCA_KIND, b"fq_codel\0");
                e.nested(TCA_STATS2, |e| {
                    e.attribute(1, &[0; 12]);
                    e.attribute(TCA_STATS_QUEUE, queue);
                });
            });
            decode_drops(&first(&bytes)).expect("understood")
        };
        let queue: Vec<u8> = [1u32, 60, 17, 0, 0]
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect();
        assert_eq!(of(TC_H_ROOT, &queue), Some((3, 17)));
        assert_eq!(of(0x1_0001, &queue), None);
        assert_eq!(of(TC_H_ROOT, &queue[..8]), None);
    }

    #[test]
    fn roots_and_what_is_below_them_are_told_apart() {
        let of = |kind: &str, root, rate| {
            Some(Listed {
                link: 3,
                kind: kind.into(),
                handle: 0,
                root,
                rate,
                tuned: false,
                nat: false,
            })
        };
        assert_eq!(
            listed(&message(TC_H_ROOT, "mq", &[])),
            of("mq", true, false)
        );
        for below in [0x1_0001, 1] {
            assert_eq!(listed(&message(below, "tbf", &[])), of("tbf", false, false));
        }
        assert_eq!(listed(&message(TC_H_CLSACT, "clsact", &[])), None);
        let last = datagram("qdisc-replaced");
        let last = Messages::new(&last).last().expect("some").expect("whole");
        let last = decode(&last).expect("understood").expect("a qdisc");
        assert_eq!((last.kind.as_str(), last.root), ("bfifo", true));
        assert!(last.handle != 0 && !last.tuned);
    }

    #[test]
    fn fq_shapes_where_it_has_a_rate() {
        let rate = |kind, value| {
            let bytes = message(
                TC_H_ROOT,
                kind,
                &[(1, 10_000), (TCA_FQ_FLOW_MAX_RATE, value)],
            );
            listed(&bytes).expect("a qdisc").rate
        };
        assert!(rate("fq", 250_000) && rate("fq", 0));
        assert!(!rate("fq", NEVER));
        // The number means something else there.
        assert!(!rate("fq_codel", 250_000));
    }

    #[test]
    fn what_somebody_tuned_is_told_from_defaults() {
        let tuned = |handle, kind, options: &[(u16, u32)]| {
            let of = |parent| listed(&numbered(handle, parent, kind, options)).expect("a qdisc");
            assert_eq!(of(TC_H_ROOT).tuned, of(1).tuned);
            of(1).tuned
        };
        // The defaults, as Linux reports them.
        let usual = [
            (TCA_FQ_CODEL_TARGET, 4_999),
            (TCA_FQ_CODEL_LIMIT, 10_240),
            (TCA_FQ_CODEL_INTERVAL, 99_999),
            (TCA_FQ_CODEL_ECN, 1),
            (TCA_FQ_CODEL_FLOWS, 1_024),
            (6, 1_514),
            (8, 64),
            (9, 32 << 20),
        ];
        let own = 0x8001_0000;
        assert!(!tuned(own, "fq_codel", &usual));
        assert!(!tuned(own, "fq_codel", &[(9, 4 << 20), (6, 300)]));
        for (option, value) in [
            (TCA_FQ_CODEL_TARGET, 14_999),
            (TCA_FQ_CODEL_LIMIT, 1_001),
            (TCA_FQ_CODEL_INTERVAL, 49_999),
            (TCA_FQ_CODEL_ECN, 0),
            (TCA_FQ_CODEL_FLOWS, 64),
            (TCA_FQ_CODEL_CE_THRESHOLD, 1_000),
        ] {
            assert!(tuned(own, "fq_codel", &[(option, value)]), "{option}");
            assert!(!tuned(0, "fq_codel", &[(option, value)]), "the kernel's");
        }
        let fq = |value| {
            let all = [
                (TCA_FQ_PLIMIT, 10_000),
                (TCA_FQ_FLOW_PLIMIT, 100),
                (TCA_FQ_CE_THRESHOLD, value),
            ];
            tuned(own, "fq", &all)
        };
        assert!(fq(500) && !fq(NEVER));
        assert!(tuned(own, "fq", &[(TCA_FQ_PLIMIT, 99)]));
        assert!(tuned(own, "fq", &[(TCA_FQ_FLOW_PLIMIT, 99)]));
        assert!(tuned(own, "pfifo", &[]) && !tuned(0, "pfifo", &[]));
    }

    #[test]
    fn a_cake_that_asks_for_addresses_behind_nat() {
        let nat = |kind, value| {
            let bytes = numbered(0x1_0000, TC_H_ROOT, kind, &[(TCA_CAKE_NAT, value)]);
            listed(&bytes).expect("a qdisc").nat
        };
        assert!(nat("cake", 1) && !nat("cake", 0) && !nat("fq_codel", 1));
    }

    #[test]
    fn a_change_below_the_root_names_the_device() {
        let mut out = Vec::new();
        let mut bytes = message(0x1_0001, "tbf", &[]);
        events(&bytes, &mut out);
        bytes[4..6].copy_from_slice(&RTM_DELQDISC.to_ne_bytes());
        // A repeated message adds nothing new.
        events(&bytes, &mut out);
        bytes.extend_from_within(..);
        events(&bytes, &mut out);
        assert_eq!(out, [Event::Qdiscs(3); 1]);
    }
}
