//! Names that devices announce by multicast DNS (RFC 6762).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::message::{INTERNET, Malformed, Message, PTR, SRV};
use super::text;
use net::Cursor;
use net::digits::{decimal, hexadecimal};

/// Maximum number of records parsed per message.
const MOST_RECORDS: usize = 256;
/// Hosts of which addresses are kept.
const MOST_HOSTS: usize = 32;

/// Hosts announced in a message, without `.local`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    /// Hosts and their addresses: from A and AAAA records, and from PTR records that lead from an
    /// address to a name.
    pub hosts: Vec<(String, IpAddr)>,
    /// Hosts at which services are, from SRV records.
    pub servers: Vec<String>,
    /// True if the message ended early, or is malformed from some record on.
    pub damaged: bool,
}

/// Reads the payload of a datagram to port 5353. A question gives nothing.
pub fn read(payload: &[u8]) -> Result<Announcement, Malformed> {
    let mut message = Message::new(payload)?;
    let mut told = Announcement::default();
    if !message.is_answer() {
        return Ok(told);
    }
    message.skip_questions()?;
    let records: usize = message
        .records
        .iter()
        .map(|&count| usize::from(count))
        .sum();
    for _ in 0..records.min(MOST_RECORDS) {
        let Ok(record) = message.record() else {
            told.damaged = true;
            break;
        };
        // The highest bit of the class: older records are void (10.2). No time to live: the name is
        // given up (10.1).
        if record.class & 0x7fff != INTERNET || record.ttl == 0 || told.hosts.len() == MOST_HOSTS {
            continue;
        }
        if let Some(address) = record.address() {
            told.hosts
                .extend(local(&record.owner).map(|name| (name, address)));
            continue;
        }
        match record.kind {
            PTR => {
                let Some(address) = reverse(&record.owner) else {
                    continue;
                };
                match message.name_at(record.data) {
                    Ok(name) => told.hosts.extend(local(&name).map(|name| (name, address))),
                    Err(Malformed) => told.damaged = true,
                }
            }
            SRV => {
                // Behind priority, weight and port (RFC 2782).
                let mut data = Cursor(record.data);
                let target = data.take(6).ok_or(Malformed);
                match target.and_then(|_| message.name_at(data.0)) {
                    Ok(name) => told.servers.extend(local(&name).filter(|name| {
                        !told.servers.contains(name) && told.servers.len() < MOST_HOSTS
                    })),
                    Err(Malformed) => told.damaged = true,
                }
            }
            _ => {}
        }
    }
    Ok(told)
}

impl Announcement {
    /// Returns the name of the message's sender, at `source`. Repeaters forward messages of others,
    /// and any host may announce names of others. So a name counts if it has the sender's address,
    /// or if it is the only name and no address contradicts it.
    pub fn of_sender(&self, source: IpAddr) -> Option<&str> {
        if let Some((name, _)) = self.hosts.iter().find(|(_, address)| *address == source) {
            return Some(name);
        }
        let mut names = self.hosts.iter().map(|(name, _)| name).chain(&self.servers);
        let only = names.next()?;
        // Over IPv4 a host may announce only its IPv6 addresses, and the other way round.
        let same_family = |(_, address): &(String, IpAddr)| {
            address.is_ipv4() == source.is_ipv4() && !another_scope(*address, source)
        };
        (names.all(|name| name == only) && !self.hosts.iter().any(same_family)).then_some(only)
    }
}

/// Returns true for another scope: a host sends from its link-local address and announces its
/// global ones.
fn another_scope(told: IpAddr, source: IpAddr) -> bool {
    match (told, source) {
        (IpAddr::V6(told), IpAddr::V6(source)) => {
            told.is_unicast_link_local() != source.is_unicast_link_local()
        }
        _ => false,
    }
}

/// Returns the name of a host below `.local`, without that suffix.
fn local(name: &[u8]) -> Option<String> {
    let name = name.strip_suffix(b".local")?;
    // A host has a single label. Names of several labels are services.
    (!name.contains(&b'.')).then(|| text::device(name))?
}

/// Returns the address in `7.2.0.192.in-addr.arpa` (RFC 1035, 3.5) or `….ip6.arpa` (RFC 3596, 2.5).
fn reverse(owner: &[u8]) -> Option<IpAddr> {
    let owner = std::str::from_utf8(owner).ok()?;
    if let Some(digits) = owner.strip_suffix(".in-addr.arpa") {
        let mut octets = [0; 4];
        let mut labels = digits.split('.');
        for octet in octets.iter_mut().rev() {
            *octet = decimal(labels.next()?)?;
        }
        return labels
            .next()
            .is_none()
            .then(|| Ipv4Addr::from(octets).into());
    }
    let mut bits = 0_u128;
    let mut labels = owner.strip_suffix(".ip6.arpa")?.split('.');
    for at in 0..32 {
        let label = labels.next().filter(|label| label.len() == 1)?;
        bits |= u128::from(hexadecimal(label)?) << (4 * at);
    }
    labels.next().is_none().then(|| Ipv6Addr::from(bits).into())
}

#[cfg(test)]
mod tests {
    use super::super::message::tests::{labels, message, record};
    use super::super::message::{A, AAAA};
    use super::*;

    const HERE: [u8; 4] = [192, 0, 2, 7];
    const FLUSH: u16 = 0x8001;

    fn told(answers: &[Vec<u8>]) -> Announcement {
        read(&message(0x8400, &[], answers)).expect("a message")
    }

    #[test]
    fn addresses_and_services() {
        let link_local: Ipv6Addr = "fe80::1".parse().expect("an address");
        let answer = told(&[
            record(
                &labels("_ipp._tcp.local"),
                PTR,
                1,
                4500,
                &labels("My Printer._ipp._tcp.local"),
            ),
            record(
                &labels("My Printer._ipp._tcp.local"),
                SRV,
                FLUSH,
                120,
                &[&[0, 0, 0, 0, 2, 0x77][..], &labels("Printer.local")].concat(),
            ),
            record(&labels("printer.local"), A, FLUSH, 120, &HERE),
            record(
                &labels("printer.local"),
                AAAA,
                FLUSH,
                120,
                &link_local.octets(),
            ),
            record(&labels("gone.local"), A, FLUSH, 0, &[192, 0, 2, 8]),
            record(&labels("www.example.org"), A, FLUSH, 120, &HERE),
        ]);
        assert_eq!(answer.servers, ["printer"]);
        assert_eq!(
            answer.hosts,
            [
                ("printer".to_owned(), HERE.into()),
                ("printer".to_owned(), link_local.into())
            ]
        );
        assert_eq!(answer.of_sender(HERE.into()), Some("printer"));
        assert_eq!(answer.of_sender(link_local.into()), Some("printer"));
        assert!(!answer.damaged);
    }

    #[test]
    fn from_address_to_name() {
        let answer = told(&[
            record(
                &labels("7.2.0.192.in-addr.arpa"),
                PTR,
                FLUSH,
                120,
                &labels("tv.local"),
            ),
            record(
                &labels("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.e.f.ip6.arpa"),
                PTR,
                FLUSH,
                120,
                &labels("tv.local"),
            ),
        ]);
        let link_local: Ipv6Addr = "fe80::1".parse().expect("an address");
        assert_eq!(
            answer.hosts,
            [
                ("tv".to_owned(), HERE.into()),
                ("tv".to_owned(), link_local.into())
            ]
        );
        for bad in [
            "1.2.3.in-addr.arpa",
            "1.2.3.4.5.in-addr.arpa",
            "1.2.3.256.in-addr.arpa",
            "1.ip6.arpa",
        ] {
            assert_eq!(reverse(bad.as_bytes()), None);
        }
    }

    #[test]
    fn of_others() {
        let other = told(&[record(&labels("victim.local"), A, FLUSH, 120, &HERE)]);
        assert_eq!(other.of_sender([192, 0, 2, 8].into()), None);
        // A repeater's many hosts.
        let servers = |names: &[&str]| {
            let record = |name: &&str| {
                record(
                    &labels("x._http._tcp.local"),
                    SRV,
                    1,
                    9,
                    &[&[0; 6][..], &labels(name)].concat(),
                )
            };
            told(&names.iter().map(record).collect::<Vec<_>>())
        };
        assert_eq!(
            servers(&["a.local", "b.local"]).of_sender(HERE.into()),
            None
        );
        assert_eq!(
            servers(&["a.local", "a.local"]).of_sender(HERE.into()),
            Some("a")
        );
        // Only its other addresses.
        let global: Ipv6Addr = "2001:db8::7".parse().expect("an address");
        let answer = told(&[record(&labels("a.local"), AAAA, 1, 9, &global.octets())]);
        assert_eq!(answer.of_sender(HERE.into()), Some("a"));
        assert_eq!(
            answer.of_sender("fe80::2".parse().expect("an address")),
            Some("a")
        );
        assert_eq!(
            answer.of_sender("2001:db8::8".parse().expect("an address")),
            None
        );
    }

    #[test]
    fn reverse_names_are_digits() {
        let address = |text: &str| Some(text.parse::<IpAddr>().expect("an address"));
        assert_eq!(reverse(b"7.2.0.192.in-addr.arpa"), address("192.0.2.7"));
        let nibbles = |first: &str| format!("{first}{}.ip6.arpa", ".0".repeat(31));
        assert_eq!(reverse(nibbles("a").as_bytes()), address("::a"));
        for bad in [
            "+7.2.0.192.in-addr.arpa",
            "7.2.0.in-addr.arpa",
            &nibbles("+"),
        ] {
            assert_eq!(reverse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn hostile_names_and_messages() {
        let answer = told(&[
            record(b"\x09a\x1b[31mred\x05local\0", A, FLUSH, 120, &HERE),
            record(b"\x03\xe2\x80\xae\x05local\0", A, FLUSH, 120, &HERE),
            record(b"\x03a.b\x05local\0", A, FLUSH, 120, &HERE),
            record(b"\x05local\0", A, FLUSH, 120, &HERE),
            record(&labels("s._x._tcp.local"), SRV, 1, 9, &[0; 5]),
        ]);
        let names: Vec<_> = answer.hosts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a[31mred", "a\\b"]);
        assert!(answer.damaged);
        let question = read(&message(0, &labels("a.local"), &[])).expect("a message");
        assert_eq!(question, Announcement::default());
        let many: Vec<_> = (0..500)
            .map(|n| record(&labels(&format!("h{n}.local")), A, 1, 9, &HERE))
            .collect();
        assert_eq!(told(&many).hosts.len(), MOST_HOSTS);
    }
}
