//! Questions to name servers, and answers (RFC 1035): which name led to which addresses.

use std::net::IpAddr;

use super::message::{CNAME, INTERNET, Malformed, Message};
use super::text;

/// Maximum number of records parsed per message, and of addresses stored from it.
const MOST_RECORDS: usize = 128;
const MOST_ADDRESSES: usize = 32;
/// Aliases that are followed. Resolvers give up at 8 to 16.
const MOST_ALIASES: usize = 16;

/// Question section: equal in a query and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Number of the message.
    pub id: u16,
    /// Name in lower case, labels joined by dots.
    name: Vec<u8>,
    /// Type and class.
    kind: [u16; 2],
}

/// Answer to a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Question of the answer.
    pub question: Question,
    /// Queried name; not the name that it is an alias of.
    pub name: String,
    /// Addresses of that name, and for how many seconds they hold.
    pub addresses: Vec<(IpAddr, u32)>,
    /// True if the message ended early, or is malformed from some record on.
    pub damaged: bool,
}

/// Reads the payload of a datagram to a name server. `None`: a message, but no question, or more
/// than one.
pub fn question(payload: &[u8]) -> Result<Option<Question>, Malformed> {
    let mut message = Message::new(payload)?;
    if !message.is_question() || message.questions != 1 {
        return Ok(None);
    }
    asked(&mut message).map(Some)
}

fn asked(message: &mut Message<'_>) -> Result<Question, Malformed> {
    let name = message.name()?;
    let kind = [(); 2].map(|()| message.cursor.u16());
    let [Some(kind), Some(class)] = kind else {
        return Err(Malformed);
    };
    Ok(Question {
        id: message.id,
        name,
        kind: [kind, class],
    })
}

/// Parses the payload of a datagram from a name server. `None`: a valid message without addresses
/// of a host name (a question, an error, another type, a name that is not a host name).
pub fn read(payload: &[u8]) -> Result<Option<Answer>, Malformed> {
    let mut message = Message::new(payload)?;
    if !message.is_answer() || message.questions != 1 {
        return Ok(None);
    }
    let question = asked(&mut message)?;
    let internet = question.kind[1] == INTERNET;
    let Some(name) = text::host(&question.name).filter(|_| internet) else {
        return Ok(None);
    };
    let mut aliases = Vec::new();
    let mut addresses = Vec::new();
    let mut damaged = message.truncated;
    for _ in 0..usize::from(message.records[0]).min(MOST_RECORDS) {
        let Ok(record) = message.record() else {
            damaged = true;
            break;
        };
        if record.class != INTERNET {
            continue;
        }
        match record.address() {
            Some(address) => addresses.push((record.owner, address, record.ttl)),
            None if record.kind == CNAME && aliases.len() < MOST_ALIASES => {
                match message.name_at(record.data) {
                    Ok(target) => aliases.push((record.owner, target)),
                    Err(Malformed) => damaged = true,
                }
            }
            None => {}
        }
    }
    // Each step removes one alias, so that a loop ends.
    let mut names = vec![question.name.clone()];
    while let Some(at) = aliases
        .iter()
        .position(|(owner, _)| names.last() == Some(owner))
    {
        names.push(aliases.swap_remove(at).1);
    }
    addresses.retain(|(owner, ..)| names.contains(owner));
    addresses.truncate(MOST_ADDRESSES);
    if addresses.is_empty() {
        return Ok(None);
    }
    Ok(Some(Answer {
        question,
        name,
        addresses: addresses
            .into_iter()
            .map(|(_, address, ttl)| (address, ttl))
            .collect(),
        damaged,
    }))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::super::message::tests::{labels, message, record};
    use super::super::message::{A, AAAA};
    use super::*;

    const HERE: [u8; 4] = [192, 0, 2, 7];
    /// Pointer to the question.
    const POINTER: [u8; 2] = [0xc0, 12];

    fn answer(
        name: &str,
        addresses: &[(IpAddr, u32)],
        damaged: bool,
    ) -> Result<Option<Answer>, Malformed> {
        let question = question(&message(0x0100, &labels(name), &[]))?;
        Ok(Some(Answer {
            question: question.expect("a question"),
            name: name.to_owned(),
            addresses: addresses.to_vec(),
            damaged,
        }))
    }

    #[test]
    fn aliases_in_any_order_and_strangers() {
        let v6 = Ipv6Addr::LOCALHOST.octets();
        let answers = [
            record(&labels("c.example"), A, 1, 60, &HERE),
            record(&labels("stranger.example"), A, 1, 60, &[192, 0, 2, 8]),
            record(&labels("B.example"), CNAME, 1, 60, &labels("C.Example")),
            record(&POINTER, CNAME, 1, 60, &labels("b.example")),
            record(&labels("c.example"), AAAA, 1, 1 << 31, &v6),
            record(&labels("c.example"), A, 3, 60, &HERE),
            record(&labels("c.example"), A, 1, 60, &[1, 2, 3]),
        ];
        let addresses = [(HERE.into(), 60), (v6.into(), 0)];
        assert_eq!(
            read(&message(0x8180, &labels("A.Example"), &answers)),
            answer("a.example", &addresses, false)
        );
    }

    #[test]
    fn circles_of_aliases_end() {
        let answers = [
            record(&labels("a"), CNAME, 1, 1, &labels("b")),
            record(&labels("b"), CNAME, 1, 1, &labels("a")),
            record(&labels("b"), A, 1, 1, &HERE),
        ];
        assert_eq!(
            read(&message(0x8180, &labels("a"), &answers)),
            answer("a", &[(HERE.into(), 1)], false)
        );
    }

    #[test]
    fn what_is_no_answer() {
        let records = [record(&POINTER, A, 1, 60, &HERE)];
        // A question, another opcode, an error.
        for flags in [0x0100, 0xa000, 0x8183] {
            assert_eq!(
                read(&message(flags, &labels("a.example"), &records)),
                Ok(None)
            );
        }
        assert_eq!(read(&message(0x8180, &[], &records)), Ok(None));
        for name in [
            "a b.example",
            "<b>.example",
            "\u{1b}[2J.example",
            "bücher.example",
            "",
        ] {
            assert_eq!(
                read(&message(0x8180, &labels(name), &records)),
                Ok(None),
                "{name}"
            );
        }
        // A single label with a dot in it.
        let records = [record(&POINTER, A, 1, 60, &HERE)];
        assert_eq!(read(&message(0x8180, b"\x03a.b\0", &records)), Ok(None));
        assert_eq!(read(&message(0x8180, &labels("a"), &[])), Ok(None));
    }

    #[test]
    fn hostile_names() {
        // Pointer to itself, forward, into a circle, to nowhere, unknown kind of label, a label
        // beyond the end.
        for name in [
            &[0xc0, 12][..],
            &[0xc0, 14, 0],
            &[1, b'a', 0xc0, 12],
            &[0xff, 0xff],
            &[0x40],
            &[0x80],
            &[63, b'a'],
        ] {
            assert_eq!(
                read(&message(0x8180, name, &[])),
                Err(Malformed),
                "{name:?}"
            );
        }
        let long = labels(&["abcdefg"; 32].join("."));
        assert_eq!(read(&message(0x8180, &long, &[])), Err(Malformed));
        assert_eq!(read(&[0; 11]), Err(Malformed));
        // Half of a pair of names that point at each other.
        let data = [&[1, b'x'][..], &POINTER].concat();
        let records = [
            record(&POINTER, CNAME, 1, 1, &data),
            record(&data, A, 1, 1, &HERE),
        ];
        let expected = answer("a", &[(HERE.into(), 1)], false).expect("a literal");
        assert_eq!(read(&message(0x8180, &labels("a"), &records)), Ok(expected));
    }

    #[test]
    fn what_is_there_counts() {
        let records = [
            record(&POINTER, A, 1, 60, &HERE),
            record(&POINTER, A, 1, 60, &[192, 0, 2, 8]),
        ];
        let whole = message(0x8180, &labels("a.example"), &records);
        let cut = &whole[..whole.len() - 1];
        assert_eq!(read(cut), answer("a.example", &[(HERE.into(), 60)], true));
        for length in 0..whole.len() {
            let _ = read(&whole[..length]);
        }
        let truncated = message(0x8380, &labels("a.example"), &records[..1]);
        assert_eq!(
            read(&truncated),
            answer("a.example", &[(HERE.into(), 60)], true)
        );
        let many: Vec<_> = (0..200)
            .map(|n| record(&POINTER, A, 1, 60, &[192, 0, 2, n]))
            .collect();
        let kept = read(&message(0x8180, &labels("a"), &many))
            .expect("a message")
            .expect("an answer");
        assert_eq!(kept.addresses.len(), MOST_ADDRESSES);
    }

    #[test]
    fn questions() {
        let asked = |flags, name: &[u8]| question(&message(flags, name, &[]));
        let one = asked(0x0100, &labels("A.example")).expect("a message");
        assert_eq!(one, asked(0x0120, &labels("a.EXAMPLE")).expect("a message"));
        assert_eq!(one.expect("a question").id, 0x1234);
        // An answer, a notification, none.
        assert_eq!(asked(0x8180, &labels("a")), Ok(None));
        assert_eq!(asked(0x2000, &labels("a")), Ok(None));
        assert_eq!(asked(0x0100, &[]), Ok(None));
        assert_eq!(asked(0x0100, &[0xc0, 12]), Err(Malformed));
        let whole = message(0x0100, &labels("a"), &[]);
        for length in 0..whole.len() {
            assert_eq!(question(&whole[..length]), Err(Malformed), "{length}");
        }
    }
}
