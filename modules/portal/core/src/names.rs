//! DNS answers for devices that have not logged in (RFC 1035): every name resolves to this router's
//! address, except names in the walled garden ([`crate::walled_garden`]). Other queries are not
//! forwarded, so queries cannot carry data out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Lifetime of an answer, in seconds: admitted devices have to ask again.
const TTL: u32 = 1;
pub(crate) const HEADER: usize = 12;
/// Longest name on the wire, bytes.
pub(crate) const LONGEST_NAME: usize = 255;
const A: u16 = 1;
const AAAA: u16 = 28;
const IN: u16 = 1;
const ANY_CLASS: u16 = 255;
/// Response, authoritative.
const ANSWERS: u16 = 0x8400;
const OPCODE_AND_RD: u16 = 0x7900;
const NOT_IMPLEMENTED: u16 = 4;
const FORMAT: u16 = 1;
const NO_NAME: u16 = 3;

/// Name that Firefox resolves before it sends its queries to a server of its own, past the portal:
/// a missing name means no.
const CANARY: &[u8] = b"\x13use-application-dns\x03net\x00";

/// Addresses for any name if the router has no address of that family: from documentation networks
/// (RFC 5737, RFC 3849). Packets to these addresses are redirected like all others.
const ANY4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const ANY6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// Answers a query that arrived at this address of the router; `None`: not a query, or not one to
/// answer.
pub fn answer(question: &[u8], router: IpAddr) -> Option<Vec<u8>> {
    let word = |at: usize| {
        Some(u16::from_be_bytes(
            question.get(at..at + 2)?.try_into().ok()?,
        ))
    };
    let flags = word(2)?;
    if question.len() < HEADER || flags & 0x8000 != 0 {
        return None;
    }
    let reply = |code: u16, copied: &[u8], answers: &[u8]| {
        let mut out = Vec::with_capacity(HEADER + copied.len() + answers.len());
        out.extend(&question[..2]);
        out.extend((ANSWERS | flags & OPCODE_AND_RD | code).to_be_bytes());
        out.extend(u16::from(!copied.is_empty()).to_be_bytes());
        out.extend(u16::from(!answers.is_empty()).to_be_bytes());
        out.extend([0; 4]);
        out.extend(copied);
        out.extend(answers);
        Some(out)
    };
    if flags & 0x7800 != 0 {
        return reply(NOT_IMPLEMENTED, &[], &[]);
    }
    let name = name_length(&question[HEADER..]);
    let (Some(name), Some(1)) = (name, word(4)) else {
        return reply(FORMAT, &[], &[]);
    };
    let end = HEADER + name;
    let (Some(kind), Some(class)) = (word(end), word(end + 2)) else {
        return reply(FORMAT, &[], &[]);
    };
    let copied = &question[HEADER..end + 4];
    if copied[..name].eq_ignore_ascii_case(CANARY) {
        return reply(NO_NAME, copied, &[]);
    }
    let address = match (kind, class) {
        (A, IN | ANY_CLASS) => Some(match router {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(_) => ANY4.octets().to_vec(),
        }),
        // A client that asks by IPv4 is better served by IPv4.
        (AAAA, IN | ANY_CLASS) => match router {
            IpAddr::V4(_) => None,
            IpAddr::V6(address) if address.is_unicast_link_local() => Some(ANY6.octets().to_vec()),
            IpAddr::V6(address) => Some(address.octets().to_vec()),
        },
        _ => None,
    };
    let mut answers = Vec::new();
    if let Some(address) = address {
        // The name of the question, by its place.
        answers.extend((0xc000 | HEADER as u16).to_be_bytes());
        answers.extend(kind.to_be_bytes());
        answers.extend(IN.to_be_bytes());
        answers.extend(TTL.to_be_bytes());
        answers.extend((address.len() as u16).to_be_bytes());
        answers.extend(address);
    }
    reply(0, copied, &answers)
}

/// Returns the length of a name without pointers, with its end.
pub(crate) fn name_length(octets: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let label = usize::from(*octets.get(at)?);
        if label > 63 {
            return None;
        }
        at += label + 1;
        if at > LONGEST_NAME {
            return None;
        }
        if label == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROUTER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

    fn question(name: &[u8], kind: u16) -> Vec<u8> {
        let mut octets = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
        octets.extend(name);
        octets.extend(kind.to_be_bytes());
        octets.extend([0, 1]);
        // EDNS, which is not answered.
        octets.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
        octets
    }

    #[test]
    fn every_name_is_here() {
        let name = b"\x07example\x03org\x00";
        let answered = answer(&question(name, A), ROUTER).expect("answered");
        assert_eq!(
            &answered[..12],
            [0xab, 0xcd, 0x85, 0, 0, 1, 0, 1, 0, 0, 0, 0]
        );
        assert_eq!(
            &answered[answered.len() - 16..],
            [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 10, 0, 0, 1]
        );
        let none = answer(&question(name, AAAA), ROUTER).expect("answered");
        assert_eq!(&none[6..8], [0, 0], "no such address, but the name");
        assert_eq!(none[3] & 15, 0);
        let six = answer(&question(name, AAAA), ANY6.into()).expect("answered");
        assert_eq!(six[six.len() - 16..], ANY6.octets());
        let txt = answer(&question(name, 16), ROUTER).expect("answered");
        assert_eq!((txt[3] & 15, &txt[6..8]), (0, &[0, 0][..]));
    }

    #[test]
    fn a_browser_is_kept_from_asking_elsewhere() {
        let answered = answer(&question(CANARY, A), ROUTER).expect("answered");
        assert_eq!(answered[3] & 15, 3);
    }

    #[test]
    fn what_is_no_question_is_not_answered() {
        assert_eq!(answer(b"", ROUTER), None);
        let mut reply = question(b"\x00", A);
        reply[2] |= 0x80;
        assert_eq!(answer(&reply, ROUTER), None);
        let code = |octets: &[u8]| answer(octets, ROUTER).expect("answered")[3] & 15;
        assert_eq!(code(&question(b"\xc0\x0c", A)[..]), 1);
        assert_eq!(code(&question(b"\x07example", A)[..14]), 1);
        let mut update = question(b"\x00", A);
        update[2] = 0x28;
        assert_eq!(code(&update), 4);
    }

    proptest! {
        #[test]
        fn nothing_panics_and_no_answer_is_long(octets: Vec<u8>) {
            if let Some(answer) = answer(&octets, ROUTER) {
                prop_assert!(answer.len() <= octets.len() + 28);
            }
        }
    }
}
