//! Messages of the domain name system (RFC 1035, 4), unicast and multicast: records, and names with
//! compression.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use net::Cursor;

/// Types of records (IANA, DNS parameters).
pub(super) const A: u16 = 1;
/// Type of an alias.
pub(super) const CNAME: u16 = 5;
/// Type of a pointer to another name, as from an address.
pub(super) const PTR: u16 = 12;
/// Type of an IPv6 address.
pub(super) const AAAA: u16 = 28;
/// Type of a service's location.
pub(super) const SRV: u16 = 33;
/// The class that is used.
pub(super) const INTERNET: u16 = 1;

/// Questions that are gone past in one message.
const MOST_QUESTIONS: usize = 128;
/// Longest name on the wire, bytes (RFC 1035, 2.3.4).
const LONGEST_NAME: usize = 255;

/// Not a message of DNS at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A message, read from front to back.
pub(super) struct Message<'a> {
    whole: &'a [u8],
    pub(super) cursor: Cursor<'a>,
    pub(super) id: u16,
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
    /// Class as sent: multicast DNS uses the highest bit otherwise.
    pub(super) class: u16,
    pub(super) ttl: u32,
    pub(super) data: &'a [u8],
}

impl Record<'_> {
    /// Returns the address, if the record contains one.
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
        let mut cursor = Cursor(payload);
        let header: [u8; 12] = cursor.array().ok_or(Malformed)?;
        let field = |at: usize| u16::from_be_bytes([header[2 * at], header[2 * at + 1]]);
        Ok(Self {
            whole: payload,
            cursor,
            id: field(0),
            flags: field(1),
            truncated: field(1) & 0x0200 != 0,
            questions: field(2),
            records: [field(3), field(4), field(5)],
        })
    }

    /// Returns true for an error-free answer to a standard query: QR set, opcode and RCODE 0.
    pub(super) fn is_answer(&self) -> bool {
        self.flags & 0xf80f == 0x8000
    }

    /// Returns true for a standard query: neither QR nor an opcode is set.
    pub(super) fn is_question(&self) -> bool {
        self.flags & 0xf800 == 0
    }

    /// Skips the questions.
    pub(super) fn skip_questions(&mut self) -> Result<(), Malformed> {
        if usize::from(self.questions) > MOST_QUESTIONS {
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

    /// Parses a name: lower case, labels joined by dots, empty for the root. Bytes that are invalid
    /// in a host name stay. A dot within a label becomes a backslash, so that one label does not
    /// look like two.
    pub(super) fn name(&mut self) -> Result<Vec<u8>, Malformed> {
        let start = self.whole.len() - self.cursor.0.len();
        let (name, length) = self.expand(start)?;
        self.cursor.take(length).ok_or(Malformed)?;
        Ok(name)
    }

    /// Returns the name at the start of a record's data.
    pub(super) fn name_at(&self, data: &[u8]) -> Result<Vec<u8>, Malformed> {
        // Compression counts from the message's start, so the place of the data in it is wanted.
        let start = (data.as_ptr() as usize).wrapping_sub(self.whole.as_ptr() as usize);
        if data.is_empty() || start >= self.whole.len() {
            return Err(Malformed);
        }
        Ok(self.expand(start)?.0)
    }

    /// Returns the name at an offset, and its length in bytes there. Pointers must point backwards,
    /// before their own position (RFC 1035, 4.1.4: "a prior occurrence"), which excludes loops.
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
                    // A length byte before each label, and one at the end.
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
    /// Returns a name as labels.
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

    /// Builds a message with these flags, a question if a name is given, and answers.
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
}
