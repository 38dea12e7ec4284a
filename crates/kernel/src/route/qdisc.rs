//! Qdiscs: that one changed, and all there are, as far as to tell which of them shape.

use super::{RTM_NEWQDISC, TC_H_CLSACT, TC_H_ROOT, TCA_KIND};
use crate::event::{Event, Qdisc};
use crate::message::{DecodeError, Message, u32_at};

const TCA_OPTIONS: u16 = 2;
/// Octets per second that a flow of `fq` may send; of all flows, also forwarded ones.
const TCA_FQ_FLOW_MAX_RATE: u16 = 7;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
/// As fast as it goes.
const NO_RATE: u32 = u32::MAX;

/// A qdisc of a device, other than those that only hold filters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Listed {
    /// Device.
    pub link: u32,
    /// Kind.
    pub kind: String,
    /// At the root of the device; `false`: below another qdisc.
    pub root: bool,
    /// An `fq` with a rate, which no flow may exceed.
    pub rate: bool,
}

/// That a qdisc came, went or changed.
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
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.kind == TCA_KIND {
            return Ok(Some(Event::Qdisc(Qdisc {
                link,
                kind: attribute.text(),
            })));
        }
    }
    Err(DecodeError::missing("TCA_KIND"))
}

/// Decodes one message of a dump of qdiscs. `None`: one that only holds filters (`clsact`, `ingress`), or another message.
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
    let mut rate = false;
    for option in options
        .iter()
        .filter(|_| kind == "fq")
        .flat_map(|options| options.nested("TCA_OPTIONS"))
    {
        let option = option?;
        if option.kind == TCA_FQ_FLOW_MAX_RATE {
            rate |= option.u32_native("TCA_FQ_FLOW_MAX_RATE")? != NO_RATE;
        }
    }
    Ok(Some(Listed {
        link: u32_at(fixed, 4),
        kind,
        root: parent == TC_H_ROOT,
        rate,
    }))
}

/// Of a message of a dump of qdiscs: a device, and how many packets its root qdisc dropped so far (`struct gnet_stats_queue`), those below it included.
/// `None`: another message.
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
            // Length and octets of the queue come before.
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
    use crate::encode::Encoder;
    use crate::fixture::datagram;
    use crate::message::Messages;
    use crate::route::{RTM_DELQDISC, decode as events};

    fn message(parent: u32, kind: &str, options: &[(u16, u32)]) -> Vec<u8> {
        let mut fixed = [0; 20];
        fixed[4..8].copy_from_slice(&3u32.to_ne_bytes());
        fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
        let mut encoder = Encoder::default();
        encoder.message(RTM_NEWQDISC, 0, 0, |e| {
            e.fixed(&fixed);
            e.attribute(TCA_KIND, format!("{kind}\0").as_bytes());
            e.nested(TCA_OPTIONS, |e| {
                for (option, value) in options {
                    e.attribute(*option, &value.to_ne_bytes());
                }
            });
        });
        encoder.finish()
    }

    fn listed(bytes: &[u8]) -> Option<Listed> {
        let message = Messages::new(bytes).next().expect("a message");
        decode(&message.expect("whole")).expect("understood")
    }

    #[test]
    fn what_a_root_dropped() {
        let of = |parent: u32, queue: &[u8]| {
            let mut fixed = [0; 20];
            fixed[4..8].copy_from_slice(&3u32.to_ne_bytes());
            fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
            let mut encoder = Encoder::default();
            encoder.message(RTM_NEWQDISC, 0, 0, |e| {
                e.fixed(&fixed);
                e.attribute(TCA_KIND, b"fq_codel\0");
                e.nested(TCA_STATS2, |e| {
                    e.attribute(1, &[0; 12]);
                    e.attribute(TCA_STATS_QUEUE, queue);
                });
            });
            let bytes = encoder.finish();
            let message = Messages::new(&bytes).next().expect("a message");
            decode_drops(&message.expect("whole")).expect("understood")
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
                root,
                rate,
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
        assert_eq!(decode(&last), Ok(of("bfifo", true, false)));
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
        assert!(!rate("fq", NO_RATE));
        // The number means something else there.
        assert!(!rate("fq_codel", 250_000));
    }

    #[test]
    fn a_change_below_the_root_names_the_device() {
        let mut out = Vec::new();
        let mut bytes = message(0x1_0001, "tbf", &[]);
        events(&bytes, &mut out);
        bytes[4..6].copy_from_slice(&RTM_DELQDISC.to_ne_bytes());
        // One more in a row says nothing new.
        events(&bytes, &mut out);
        bytes.extend_from_within(..);
        events(&bytes, &mut out);
        assert_eq!(out, [Event::Qdiscs(3); 1]);
    }
}
