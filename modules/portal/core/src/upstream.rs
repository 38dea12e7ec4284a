//! Queries to a name server for a name in the walled garden, and their answers (RFC 1035). Only the
//! addresses of the requested name count. The owner of that name writes the answer, and third
//! parties may forge it.

use std::net::IpAddr;

use crate::names::{HEADER, LONGEST_NAME};
use crate::walled_garden::{A, AAAA, FAILED, IN, MOST, NO_NAME, Question, WELL};

const CNAME: u16 = 5;
const OPT: u16 = 41;
/// Bytes of the longest answer that is taken (RFC 6891).
pub const LONGEST: usize = 4096;
/// Maximum number of records, of aliases, and of pointers in one name.
const MOST_RECORDS: usize = 256;
const MOST_ALIASES: usize = 16;
const MOST_POINTERS: usize = 16;

/// Encodes the query.
pub fn encode(question: &Question, id: u16) -> Vec<u8> {
    let mut octets = id.to_be_bytes().to_vec();
    // Recursion is desired; one question and one additional record.
    octets.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    octets.extend(question.encoded());
    octets.push(0);
    octets.extend(OPT.to_be_bytes());
    octets.extend((LONGEST as u16).to_be_bytes());
    octets.extend([0; 6]);
    octets
}

/// Returns true if a message answers a sent query: the message has the query's number and repeats
/// the question.
pub fn answers(message: &[u8], sent: &[u8], question: &Question) -> bool {
    let asked = question.encoded();
    message.len() <= LONGEST
        && message.get(..2) == sent.get(..2)
        && message.get(2).is_some_and(|flags| flags & 0xf8 == 0x80)
        && message.get(4..6) == Some(&[0, 1])
        && message
            .get(HEADER..HEADER + asked.len())
            .is_some_and(|again| again.eq_ignore_ascii_case(&asked))
}

/// Answer about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameAnswer {
    /// Result code: [`WELL`], [`FAILED`], [`NO_NAME`].
    pub code: u8,
    /// Addresses in the answer.
    pub addresses: Vec<IpAddr>,
    /// Lifetime in seconds.
    pub seconds: u32,
}

/// A message that breaks off, or leads in circles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A name in lower case, each label with its length before it.
type Labels = Vec<u8>;

enum Data {
    Alias(Labels),
    Address(IpAddr),
}

/// Reads an answer, which [`answers`] the question.
///
/// # Errors
/// The message is malformed.
pub fn read(message: &[u8], question: &Question) -> Result<NameAnswer, Malformed> {
    let flags = word(message, 2)?;
    let count = usize::from(word(message, 6)?);
    let asked = question.encoded();
    let mut at = HEADER + asked.len();
    let mut records = Vec::new();
    for _ in 0..count.min(MOST_RECORDS) {
        let (owner, behind) = name(message, at)?;
        let (kind, class) = (word(message, behind)?, word(message, behind + 2)?);
        let seconds = u32::from(word(message, behind + 4)?) << 16;
        let seconds = seconds | u32::from(word(message, behind + 6)?);
        let begin = behind + 10;
        at = begin + usize::from(word(message, behind + 8)?);
        let data = message.get(begin..at).ok_or(Malformed)?;
        let data = match (kind, class) {
            (CNAME, IN) => {
                let (target, end) = name(message, begin)?;
                if end != at {
                    return Err(Malformed);
                }
                Data::Alias(target)
            }
            (A | AAAA, IN) if kind == question.kind() => Data::Address(address(data, question)?),
            _ => continue,
        };
        records.push((owner, seconds, data));
    }
    let mut said = NameAnswer {
        code: match flags & 15 {
            0 => WELL,
            3 => NO_NAME,
            _ => FAILED,
        },
        addresses: Vec::new(),
        seconds: u32::MAX,
    };
    if said.code == WELL {
        let mut current = asked[..asked.len() - 4].to_ascii_lowercase();
        for _ in 0..=MOST_ALIASES {
            let mut alias = None;
            for (owner, seconds, data) in &records {
                if *owner != current {
                    continue;
                }
                match data {
                    Data::Address(address) if said.addresses.len() < MOST => {
                        if !said.addresses.contains(address) {
                            said.addresses.push(*address);
                        }
                    }
                    Data::Address(_) => continue,
                    Data::Alias(target) => alias = Some(target),
                }
                // RFC 2181, section 8: with the highest bit set it is 0.
                let seconds = if seconds >> 31 == 0 { *seconds } else { 0 };
                said.seconds = said.seconds.min(seconds);
            }
            match alias {
                Some(target) if said.addresses.is_empty() => current = target.clone(),
                _ => break,
            }
        }
        // The answer was truncated.
        if said.addresses.is_empty() && flags & 0x0200 != 0 {
            said.code = FAILED;
        }
    }
    Ok(said)
}

fn word(message: &[u8], at: usize) -> Result<u16, Malformed> {
    let octets = message.get(at..at + 2).ok_or(Malformed)?;
    Ok(u16::from_be_bytes([octets[0], octets[1]]))
}

/// Parses an address of the requested family.
fn address(data: &[u8], question: &Question) -> Result<IpAddr, Malformed> {
    let read = match question.ipv6 {
        true => <[u8; 16]>::try_from(data).map(IpAddr::from),
        false => <[u8; 4]>::try_from(data).map(IpAddr::from),
    };
    read.map_err(|_| Malformed)
}

/// Returns the name at an offset, and the offset after it. Pointers point backwards, before their
/// own position (RFC 1035, section 4.1.4), which excludes loops.
fn name(message: &[u8], start: usize) -> Result<(Labels, usize), Malformed> {
    let (mut at, mut earliest, mut behind) = (start, start, None);
    let (mut labels, mut pointers) = (Vec::new(), 0);
    loop {
        let first = *message.get(at).ok_or(Malformed)?;
        match first >> 6 {
            0 => {
                let label = message.get(at..=at + usize::from(first));
                labels.extend(label.ok_or(Malformed)?.to_ascii_lowercase());
                at += 1 + usize::from(first);
                if labels.len() > LONGEST_NAME {
                    return Err(Malformed);
                }
                if first == 0 {
                    return Ok((labels, behind.unwrap_or(at)));
                }
            }
            3 => {
                let to = usize::from(word(message, at)? & 0x3fff);
                behind = behind.or(Some(at + 2));
                pointers += 1;
                if to >= earliest || pointers > MOST_POINTERS {
                    return Err(Malformed);
                }
                (at, earliest) = (to, to);
            }
            _ => return Err(Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: u16 = 0x1234;

    fn question(name: &str) -> Question {
        let name = name.to_owned();
        Question { name, ipv6: false }
    }

    fn labels(name: &str) -> Vec<u8> {
        let asked = question(name).encoded();
        asked[..asked.len() - 4].to_vec()
    }

    fn record(owner: &[u8], kind: u16, data: &[u8]) -> Vec<u8> {
        let mut octets = owner.to_vec();
        octets.extend(kind.to_be_bytes());
        octets.extend([0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
        octets.extend(data);
        octets
    }

    fn message(question: &Question, records: &[Vec<u8>]) -> Vec<u8> {
        let mut octets = vec![0x12, 0x34, 0x81, 0x80, 0, 1];
        octets.extend((records.len() as u16).to_be_bytes());
        octets.extend([0; 4]);
        octets.extend(question.encoded());
        octets.extend(records.concat());
        octets
    }

    const HERE: &[u8] = &[0xc0, 12];

    fn addresses(records: &[Vec<u8>]) -> Vec<IpAddr> {
        let question = question("www.example.org");
        let said = read(&message(&question, records), &question).expect("well formed");
        assert_eq!(said.code, WELL);
        said.addresses
    }

    #[test]
    fn only_the_answer_to_the_question_is_one() {
        let asked = question("www.example.org");
        let sent = encode(&asked, ID);
        let right = message(&asked, &[record(HERE, A, &[198, 51, 100, 7])]);
        assert!(answers(&right, &sent, &asked));
        let other = question("www.example.net");
        assert!(!answers(&message(&other, &[]), &sent, &asked));
        let six = Question {
            ipv6: true,
            ..asked.clone()
        };
        assert!(!answers(&message(&six, &[]), &sent, &asked));
        // Wrong number, a query, a wrong opcode, two questions.
        for (at, octet) in [(0, 0x13), (2, 1), (2, 0xa8), (5, 2)] {
            let mut forged = right.clone();
            forged[at] = octet;
            assert!(!answers(&forged, &sent, &asked), "{at}");
        }
        assert!(!answers(&sent, &sent, &asked), "it comes back");
        for end in 0..HEADER + asked.encoded().len() {
            assert!(!answers(&right[..end], &sent, &asked), "{end}");
        }
        let long = [&right[..], &[0; LONGEST]].concat();
        assert!(!answers(&long, &sent, &asked));
    }

    #[test]
    fn of_an_answer_only_what_belongs_to_the_name_counts() {
        let own = IpAddr::from([198, 51, 100, 7]);
        let found = addresses(&[
            record(&labels("evil.example"), A, &[203, 0, 113, 66]),
            record(HERE, A, &[198, 51, 100, 7]),
            record(&labels("example.org"), A, &[203, 0, 113, 67]),
            record(HERE, AAAA, &[0x20; 16]),
        ]);
        assert_eq!(found, [own]);
        // Follows aliases, in any order and case.
        let found = addresses(&[
            record(&labels("b.cdn.example"), A, &[198, 51, 100, 7]),
            record(&labels("A.cdn.example"), CNAME, &labels("B.CDN.example")),
            record(HERE, CNAME, &labels("a.cdn.example")),
            record(&labels("c.cdn.example"), A, &[203, 0, 113, 66]),
        ]);
        assert_eq!(found, [own]);
        let circle = [
            record(HERE, CNAME, &labels("a.example")),
            record(&labels("a.example"), CNAME, HERE),
        ];
        assert!(addresses(&circle).is_empty());
        assert!(addresses(&[record(HERE, CNAME, HERE)]).is_empty());
    }

    #[test]
    fn of_very_many_addresses_some_are_taken() {
        let many: Vec<_> = (0..1000u32)
            .map(|i| record(HERE, A, &[198, 51, (i >> 8) as u8, i as u8]))
            .collect();
        assert_eq!(addresses(&many).len(), MOST);
        let same = vec![record(HERE, A, &[198, 51, 100, 7]); 20];
        assert_eq!(addresses(&same).len(), 1);
    }

    #[test]
    fn what_goes_wrong_is_told_from_what_is_not_there() {
        let asked = question("www.example.org");
        let mut none = message(&asked, &[]);
        let code = |octets: &[u8]| read(octets, &asked).expect("well formed").code;
        assert_eq!(code(&none), WELL);
        none[2] |= 2;
        assert_eq!(code(&none), FAILED, "truncated");
        none[3] = 0x83;
        assert_eq!(code(&none), NO_NAME);
        none[3] = 0x85;
        assert_eq!(code(&none), FAILED);
    }

    #[test]
    fn what_breaks_off_or_goes_round_is_refused() {
        let asked = question("www.example.org");
        let whole = message(
            &asked,
            &[
                record(HERE, CNAME, &labels("a.example")),
                record(&labels("a.example"), A, &[198, 51, 100, 7]),
            ],
        );
        assert!(read(&whole, &asked).is_ok());
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end], &asked), Err(Malformed), "{end}");
        }
        let at = (HEADER + asked.encoded().len()) as u8;
        for owner in [
            // Pointer to itself, forward, an unknown kind, too long.
            [0xc0, at].to_vec(),
            [0xc0, at + 1].to_vec(),
            [0x80, 12].to_vec(),
            [&[63; 1][..], &[b'a'; 63]].concat().repeat(5),
        ] {
            let forged = message(&asked, &[record(&owner, A, &[198, 51, 100, 7])]);
            assert_eq!(read(&forged, &asked), Err(Malformed), "{owner:?}");
        }
        for data in [&[198, 51, 100][..], &[1; 5], &[1; 16], &[]] {
            let forged = message(&asked, &[record(HERE, A, data)]);
            assert_eq!(read(&forged, &asked), Err(Malformed), "{data:?}");
        }
        let six = Question {
            ipv6: true,
            ..asked.clone()
        };
        let forged = message(&six, &[record(HERE, AAAA, &[198, 51, 100, 7])]);
        assert_eq!(read(&forged, &six), Err(Malformed), "of the other family");
        let behind = [&labels("a.example")[..], &[0]].concat();
        let forged = message(&asked, &[record(HERE, CNAME, &behind)]);
        assert_eq!(read(&forged, &asked), Err(Malformed));
    }

    proptest! {
        #[test]
        fn nothing_panics(octets: Vec<u8>, behind: Vec<u8>) {
            let asked = question("www.example.org");
            let _ = read(&octets, &asked);
            let mut begun = message(&asked, &[]);
            begun[7] = 5;
            begun.extend(behind);
            if let Ok(said) = read(&begun, &asked) {
                prop_assert!(said.addresses.len() <= MOST);
            }
        }
    }
}
