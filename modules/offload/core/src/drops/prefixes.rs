//! Converts a set's elements to prefixes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kernel::sets::{Element, set_flags};
use kernel::{Prefix, SetContent};

/// `TYPE_IPADDR` and `TYPE_IP6ADDR` of `nft` (include/datatype.h), which it writes into the set and
/// the kernel keeps.
const IPV4_ADDR: u32 = 7;
const IPV6_ADDR: u32 = 8;

/// Reason why a set cannot be a list of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetProblem {
    /// The keys of the set are not addresses.
    NotAddresses,
    /// The set is a map.
    Map,
    /// The set makes more prefixes than there is room for.
    TooLarge(usize),
}

impl fmt::Display for SetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAddresses => f.write_str("its elements are not plain ipv4_addr or ipv6_addr"),
            Self::Map => f.write_str("it is a map, not a set"),
            Self::TooLarge(most) => write!(f, "it needs more than {most} prefixes"),
        }
    }
}

/// A set as prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// Prefixes, each with the milliseconds until its element expires.
    pub prefixes: Vec<(Prefix, Option<u64>)>,
    /// Elements left to the kernel: an element for all addresses, or a range with an unclear end.
    pub left_out: usize,
    /// True if packets or time change the set, which the kernel does not report.
    pub silent: bool,
}

/// Returns the prefixes of a set, at most `most` of them.
///
/// # Errors
/// The set cannot be a list; see [`SetProblem`].
pub fn of_set(set: &SetContent, most: usize) -> Result<Prefixes, SetProblem> {
    let header = set.header;
    if header.flags & set_flags::MAP != 0 {
        return Err(SetProblem::Map);
    }
    let bits = match (header.key_type, header.key_length) {
        (IPV4_ADDR, 4) => 32,
        (IPV6_ADDR, 16) => 128,
        _ => return Err(SetProblem::NotAddresses),
    };
    let silent = header.flags & (set_flags::DYNAMIC | set_flags::TIMEOUT) != 0;
    let mut found = Prefixes {
        silent,
        ..Prefixes::default()
    };
    let mut points: Vec<(u128, &Element)> = Vec::with_capacity(set.elements.len());
    for element in &set.elements {
        match element.address.map(number) {
            Some((number, width)) if width == bits => points.push((number, element)),
            _ => found.left_out += 1,
        }
    }
    if header.flags & set_flags::INTERVAL == 0 {
        for (number, element) in points {
            let address = address(number, bits);
            let prefix = Prefix {
                address,
                length: bits as u8,
            };
            found.prefixes.push((prefix, element.expires));
        }
    } else {
        ranges(points, bits, &mut found);
    }
    if found.prefixes.len() > most {
        return Err(SetProblem::TooLarge(most));
    }
    Ok(found)
}

/// Converts ranges to prefixes. The kernel lists a range as its first address and the one after its
/// last; a range up to the highest address has no end element.
///
/// An end may be missing because the element expired while the set was read: such a range would
/// reach up to the next one. An open range counts as complete only if the range is the last of a
/// set without timeouts, and is one prefix, as in 224.0.0.0/3.
fn ranges(mut points: Vec<(u128, &Element)>, bits: u32, found: &mut Prefixes) {
    points.sort_by_key(|(number, element)| (*number, !element.end));
    let mut open: Option<(u128, &Element)> = None;
    for (number, element) in points {
        match (open.take(), element.end) {
            (Some((first, begin)), true) => {
                let expires = match (begin.expires, element.expires) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                if number > first {
                    cover(first, number - 1, bits, |prefix| {
                        found.prefixes.push((prefix, expires));
                    });
                }
            }
            // `nft` puts this end at address 0, so that an end always precedes the first range.
            (None, true) => {}
            (unended, false) => {
                found.left_out += usize::from(unended.is_some());
                open = Some((number, element));
            }
        }
    }
    if let Some((first, begin)) = open {
        let mut prefixes = Vec::new();
        cover(first, last(bits), bits, |prefix| prefixes.push(prefix));
        if prefixes.len() == 1 && !found.silent {
            found.prefixes.push((prefixes[0], begin.expires));
        } else {
            found.left_out += 1;
        }
    }
}

/// Splits a range, including both ends, into the fewest prefixes.
fn cover(mut first: u128, end: u128, bits: u32, mut each: impl FnMut(Prefix)) {
    loop {
        let mut free = first.trailing_zeros().min(bits);
        // The largest block that begins here and does not go beyond the end.
        while free > 0 && block_end(first, free) > end {
            free -= 1;
        }
        each(Prefix {
            address: address(first, bits),
            length: (bits - free) as u8,
        });
        let reached = block_end(first, free);
        if reached >= end {
            return;
        }
        first = reached + 1;
    }
}

fn block_end(first: u128, free: u32) -> u128 {
    first
        | match free {
            128 => u128::MAX,
            free => (1 << free) - 1,
        }
}

fn last(bits: u32) -> u128 {
    block_end(0, bits)
}

fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    }
}

fn address(number: u128, bits: u32) -> IpAddr {
    match bits {
        32 => Ipv4Addr::from(number as u32).into(),
        _ => Ipv6Addr::from(number).into(),
    }
}

#[cfg(test)]
mod tests {
    use kernel::SetHeader;
    use proptest::prelude::*;

    use super::*;

    fn set(flags: u32, elements: &[(&str, bool)]) -> SetContent {
        let elements: Vec<Element> = elements
            .iter()
            .map(|(address, end)| Element {
                address: address.parse().ok(),
                end: *end,
                expires: None,
            })
            .collect();
        let v6 = elements
            .iter()
            .any(|e| e.address.is_some_and(|a| a.is_ipv6()));
        SetContent {
            header: SetHeader {
                flags,
                key_type: if v6 { 8 } else { 7 },
                key_length: if v6 { 16 } else { 4 },
            },
            elements,
        }
    }

    fn texts(set: &SetContent) -> Vec<String> {
        let found = of_set(set, 1000).expect("a list");
        found
            .prefixes
            .iter()
            .map(|(prefix, _)| prefix.to_string())
            .collect()
    }

    #[test]
    fn plain_sets_are_addresses() {
        let found = set(0, &[("192.0.2.1", false), ("10.0.0.1", false)]);
        assert_eq!(texts(&found), ["192.0.2.1/32", "10.0.0.1/32"]);
        assert_eq!(
            texts(&set(0, &[("2001:db8::1", false)])),
            ["2001:db8::1/128"]
        );
    }

    #[test]
    fn ranges_become_the_fewest_prefixes() {
        let found = set(
            set_flags::INTERVAL,
            &[
                ("0.0.0.0", true),
                ("10.0.0.0", false),
                ("11.0.0.0", true),
                ("192.0.2.1", false),
                ("192.0.2.7", true),
                ("224.0.0.0", false),
            ],
        );
        assert_eq!(
            texts(&found),
            [
                "10.0.0.0/8",
                "192.0.2.1/32",
                "192.0.2.2/31",
                "192.0.2.4/31",
                "192.0.2.6/32",
                "224.0.0.0/3"
            ]
        );
        let found = set(
            set_flags::INTERVAL,
            &[("2001:db8::", false), ("2001:db9::", true)],
        );
        assert_eq!(texts(&found), ["2001:db8::/32"]);
        assert_eq!(texts(&set(set_flags::INTERVAL, &[("::", false)])), ["::/0"]);
    }

    #[test]
    fn ranges_that_touch_are_two() {
        let found = set(
            set_flags::INTERVAL,
            &[
                ("10.1.0.0", false),
                ("10.2.0.0", true),
                ("10.0.0.0", false),
                ("10.1.0.0", true),
            ],
        );
        assert_eq!(texts(&found), ["10.0.0.0/16", "10.1.0.0/16"]);
    }

    #[test]
    fn a_range_without_end_is_left_to_the_kernel() {
        let unended = &[
            ("10.0.0.0", false),
            ("192.0.2.0", false),
            ("192.0.3.0", true),
            ("203.0.113.0", false),
        ];
        let found = of_set(&set(set_flags::INTERVAL, unended), 1000).expect("a list");
        assert_eq!(found.prefixes.len(), 1);
        assert_eq!(found.prefixes[0].0.to_string(), "192.0.2.0/24");
        assert_eq!(found.left_out, 2);
        // With timeouts, the end of the last range may have expired a moment before.
        let timed = set(
            set_flags::INTERVAL | set_flags::TIMEOUT,
            &[("224.0.0.0", false)],
        );
        let found = of_set(&timed, 1000).expect("a list");
        assert_eq!((found.prefixes.len(), found.left_out), (0, 1));
    }

    #[test]
    fn the_shorter_life_counts() {
        let mut timed = set(
            set_flags::INTERVAL | set_flags::TIMEOUT,
            &[("10.0.0.0", false), ("10.0.0.1", true)],
        );
        timed.elements[0].expires = Some(7);
        timed.elements[1].expires = Some(5);
        let found = of_set(&timed, 9).expect("a list");
        assert_eq!(found.prefixes[0].1, Some(5));
        assert!(found.silent);
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let mut other = set(0, &[("10.0.0.1", false), ("10.0.0.2", false)]);
        assert_eq!(of_set(&other, 1), Err(SetProblem::TooLarge(1)));
        other.header.flags = set_flags::MAP;
        assert_eq!(of_set(&other, 9), Err(SetProblem::Map));
        other.header.flags = 0;
        other.header.key_type = 9;
        assert_eq!(of_set(&other, 9), Err(SetProblem::NotAddresses));
        other.header.key_type = 8;
        assert_eq!(of_set(&other, 9), Err(SetProblem::NotAddresses), "4 bytes");
        // An element for everything, and one of the other family, which the kernel would never
        // send.
        let odd = set(0, &[("", false), ("10.0.0.1", false)]);
        assert_eq!(of_set(&odd, 9).expect("a list").left_out, 1);
    }

    proptest! {
        #[test]
        fn a_range_is_covered_exactly(a: u32, b: u32) {
            let (first, end) = (u128::from(a.min(b)), u128::from(a.max(b)));
            let mut next = first;
            let mut count = 0;
            cover(first, end, 32, |prefix| {
                let (at, _) = number(prefix.address);
                assert_eq!(at, next);
                next = block_end(at, 32 - u32::from(prefix.length)) + 1;
                count += 1;
            });
            prop_assert_eq!(next, end + 1);
            prop_assert!(count <= 62);
        }
    }
}
