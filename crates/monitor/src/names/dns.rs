//! Answers of the domain name system (RFC 1035): which name led to which addresses. Multicast DNS has the same form.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::cursor::Cursor;
use super::text;

/// Types of records (IANA, DNS parameters).
pub(super) const A: u16 = 1;
const CNAME: u16 = 5;
pub(super) const PTR: u16 = 12;
pub(super) const AAAA: u16 = 28;
pub(super) const SRV: u16 = 33;
const INTERNET: u16 = 1;

/// Records looked at in one message, and addresses kept of it.
const MOST_RECORDS: usize = 128;
const MOST_ADDRESSES: usize = 32;
/// Aliases that are followed. Resolvers give up at 8 to 16.
const MOST_ALIASES: usize = 16;
/// Longest name on the wire, octets (RFC 1035, 2.3.4).
const LONGEST_NAME: usize = 255;

/// What a station was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it asked for; not what that is an alias of.
    pub name: String,
    /// Addresses of that name, and for how many seconds they hold.
    pub addresses: Vec<(IpAddr, u32)>,
    /// Whether the message ended early, or made no sense from some record on.
    pub damaged: bool,
}

/// Not a message of DNS at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Reads the payload of a datagram from a name server. `None`: a message, but not one that gives a name addresses (a question, an
/// error, another type, a name that is no host's).
pub fn read(payload: &[u8]) -> Result<Option<Answer>, Malformed> {
    let mut message = Message::new(payload)?;
    if !message.is_answer() || message.questions != 1 {
        return Ok(None);
    }
    let asked = message.name()?;
    let (Some(_), Some(class)) = (message.cursor.u16(), message.cursor.u16()) else {
        return Err(Malformed);
    };
    let Some(name) = text::host(&asked).filter(|_| class == INTERNET) else {
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
    // Each step takes one alias away, so that a circle ends.
    let mut names = vec![asked];
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
        name,
        addresses: addresses
            .into_iter()
            .map(|(_, address, ttl)| (address, ttl))
            .collect(),
        damaged,
    }))
}

/// A message, read from front to back.
pub(super) struct Message<'a> {
    whole: &'a [u8],
    cursor: Cursor<'a>,
    flags: u16,
    pub(super) truncated: bool,
    pub(super) questions: u16,
    /// Answers, authorities, additional.
    pub(super) records: [u16; 3],
}

/// A resource record (RFC 1035, 4.1.3).
pub(super) struct Record<'a> {
    /// Lower case, labels joined by dots: see [`Message::name`].
    pub(super) owner: Vec<u8>,
    pub(super) kind: u16,
    /// As sent: multicast DNS uses the highest bit otherwise.
    pub(super) class: u16,
    pub(super) ttl: u32,
    pub(super) data: &'a [u8],
}

impl Record<'_> {
    /// The address, if it is a record of one.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self.kind {
            A => <[u8; 4]>::try_from(self.data)
                .ok()
                .map(|octets| Ipv4Addr::from(octets).into()),
            AAAA => <[u8; 16]>::try_from(self.data)
                .ok()
                .map(|octets| Ipv6Addr::from(octets).into()),
            _ => None,
        }
    }
}

impl<'a> Message<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(payload);
        let header: [u8; 12] = cursor.array().ok_or(Malformed)?;
        let field = |at: usize| u16::from_be_bytes([header[2 * at], header[2 * at + 1]]);
        Ok(Self {
            whole: payload,
            cursor,
            flags: field(1),
            truncated: field(1) & 0x0200 != 0,
            questions: field(2),
            records: [field(3), field(4), field(5)],
        })
    }

    /// Whether it answers a standard query, without an error: QR is set, opcode and RCODE are 0.
    pub(super) fn is_answer(&self) -> bool {
        self.flags & 0xf80f == 0x8000
    }

    /// Goes past the questions.
    pub(super) fn skip_questions(&mut self) -> Result<(), Malformed> {
        if usize::from(self.questions) > MOST_RECORDS {
            return Err(Malformed);
        }
        for _ in 0..self.questions {
            self.name()?;
            self.cursor.u32().ok_or(Malformed)?;
        }
        Ok(())
    }

    pub(super) fn record(&mut self) -> Result<Record<'a>, Malformed> {
        let owner = self.name()?;
        let cursor = &mut self.cursor;
        let mut rest = || {
            Some((
                cursor.u16()?,
                cursor.u16()?,
                cursor.u32()?,
                cursor.behind_u16()?,
            ))
        };
        let (kind, class, ttl, data) = rest().ok_or(Malformed)?;
        Ok(Record {
            owner,
            kind,
            class,
            // RFC 2181, 8: with the highest bit set it is 0.
            ttl: if ttl >> 31 == 0 { ttl } else { 0 },
            data,
        })
    }

    /// Takes a name: lower case, labels joined by dots, empty for the root. Octets that have no place in a host's name stay, and a
    /// dot within a label becomes a backslash, so that it does not look like two.
    fn name(&mut self) -> Result<Vec<u8>, Malformed> {
        let start = self.whole.len() - self.cursor.rest().len();
        let (name, length) = self.expand(start)?;
        self.cursor.take(length).ok_or(Malformed)?;
        Ok(name)
    }

    /// The name with which a record's data begins.
    pub(super) fn name_at(&self, data: &[u8]) -> Result<Vec<u8>, Malformed> {
        // Compression counts from the message's start, so the place of the data in it is wanted.
        let start = (data.as_ptr() as usize).wrapping_sub(self.whole.as_ptr() as usize);
        if data.is_empty() || start >= self.whole.len() {
            return Err(Malformed);
        }
        Ok(self.expand(start)?.0)
    }

    /// The name at an offset, and how many octets it takes there. Pointers must lead back, before where they were met
    /// (RFC 1035, 4.1.4: "a prior occurrence"); with that, there are no circles.
    fn expand(&self, start: usize) -> Result<(Vec<u8>, usize), Malformed> {
        let mut name = Vec::new();
        let mut at = start;
        let mut earliest = start;
        let mut length = None;
        let octet = |at: usize| self.whole.get(at).copied().ok_or(Malformed);
        loop {
            let first = octet(at)?;
            match first >> 6 {
                0 if first == 0 => {
                    return Ok((name, length.unwrap_or_else(|| at + 1 - start)));
                }
                0 => {
                    let label = self.whole.get(at + 1..at + 1 + usize::from(first));
                    if !name.is_empty() {
                        name.push(b'.');
                    }
                    name.extend(label.ok_or(Malformed)?.iter().map(|octet| match octet {
                        b'.' => b'\\',
                        octet => octet.to_ascii_lowercase(),
                    }));
                    // A length octet before each label, and one at the end.
                    if name.len() + 2 > LONGEST_NAME {
                        return Err(Malformed);
                    }
                    at += 1 + usize::from(first);
                }
                3 => {
                    let to = usize::from(u16::from_be_bytes([first & 0x3f, octet(at + 1)?]));
                    length = length.or_else(|| Some(at + 2 - start));
                    if to >= earliest {
                        return Err(Malformed);
                    }
                    (at, earliest) = (to, to);
                }
                // 01 and 10 were never used (RFC 6891, 5).
                _ => return Err(Malformed),
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A name as labels.
    pub(crate) fn labels(name: &str) -> Vec<u8> {
        let mut octets = Vec::new();
        for label in name.split('.').filter(|label| !label.is_empty()) {
            octets.push(label.len() as u8);
            octets.extend(label.as_bytes());
        }
        octets.push(0);
        octets
    }

    pub(crate) fn record(owner: &[u8], kind: u16, class: u16, ttl: u32, data: &[u8]) -> Vec<u8> {
        let mut octets = owner.to_vec();
        octets.extend(kind.to_be_bytes());
        octets.extend(class.to_be_bytes());
        octets.extend(ttl.to_be_bytes());
        octets.extend((data.len() as u16).to_be_bytes());
        octets.extend(data);
        octets
    }

    /// A message with these flags, a question if there is a name for it, and answers.
    pub(crate) fn message(flags: u16, question: &[u8], answers: &[Vec<u8>]) -> Vec<u8> {
        let mut octets = vec![0x12, 0x34];
        octets.extend(flags.to_be_bytes());
        octets.extend(u16::from(!question.is_empty()).to_be_bytes());
        octets.extend((answers.len() as u16).to_be_bytes());
        octets.extend([0; 4]);
        if !question.is_empty() {
            octets.extend(question);
            octets.extend([0, 1, 0, 1]);
        }
        octets.extend(answers.concat());
        octets
    }

    const HERE: [u8; 4] = [192, 0, 2, 7];
    /// To the question.
    const POINTER: [u8; 2] = [0xc0, 12];

    fn answer(
        name: &str,
        addresses: &[(IpAddr, u32)],
        damaged: bool,
    ) -> Result<Option<Answer>, Malformed> {
        Ok(Some(Answer {
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
        // One label with a dot in it.
        let records = [record(&POINTER, A, 1, 60, &HERE)];
        assert_eq!(read(&message(0x8180, b"\x03a.b\0", &records)), Ok(None));
        assert_eq!(read(&message(0x8180, &labels("a"), &[])), Ok(None));
    }

    #[test]
    fn hostile_names() {
        // To itself, forward, into a circle, to nowhere, unknown kind of label, a label beyond the end.
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
}
