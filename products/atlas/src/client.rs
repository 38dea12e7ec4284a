//! Identity of a client: its address, seen directly or reported by a proxy.

use std::net::{IpAddr, Ipv6Addr};

/// A client. An IPv6 network of 64 bits counts as one, as a single customer has all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client(IpAddr);

impl Client {
    /// Returns the client of an address.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) >> 64 << 64;
                IpAddr::V6(Ipv6Addr::from(network))
            }
            address => address,
        })
    }
}

/// Proxies that may report the addresses of their clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxies(Vec<IpAddr>);

impl Proxies {
    pub fn new(addresses: &[IpAddr]) -> Self {
        Self(addresses.iter().map(IpAddr::to_canonical).collect())
    }

    pub fn trust(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }

    /// Returns the client of a connection from `from` with these lines of `X-Forwarded-For`. Each
    /// proxy appends to the header: from the end, the first address that is not one of our proxies
    /// counts. Earlier entries may be forged.
    pub fn client<'a>(
        &self,
        from: IpAddr,
        lines: impl DoubleEndedIterator<Item = &'a str>,
    ) -> Client {
        let mut hop = from;
        for text in lines.rev().flat_map(|line| line.rsplit(',')) {
            if !self.trust(hop) {
                break;
            }
            match address(text.trim()) {
                Some(before) => hop = before,
                None => break,
            }
        }
        Client::of(hop)
    }
}

/// Parses an address: some proxies add the port.
fn address(text: &str) -> Option<IpAddr> {
    let whole = text.parse().ok();
    let bare = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || {
        text.parse()
            .ok()
            .map(|socket: std::net::SocketAddr| socket.ip())
    };
    whole.or_else(bare).or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_of_one_customer_is_one() {
        for (one, other, same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("2001:db8::1", "2001:db8::ffff:0:0:2", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            let [a, b] = [one, other].map(|text| Client::of(at(text)));
            assert_eq!(a == b, same, "{one} {other}");
        }
    }

    #[test]
    fn only_the_word_of_a_proxy_is_taken() {
        let proxies = Proxies::new(&["127.0.0.1", "192.0.2.80"].map(at));
        for (from, lines, client) in [
            ("127.0.0.1", &["198.51.100.7"][..], "198.51.100.7"),
            ("::ffff:127.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            ("127.0.0.2", &["198.51.100.7"], "127.0.0.2"),
            ("203.0.113.1", &["127.0.0.1"], "203.0.113.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            // The client invents, the proxy writes behind it.
            ("127.0.0.1", &["203.0.113.1, 198.51.100.7"], "198.51.100.7"),
            (
                "127.0.0.1",
                &["203.0.113.1", "198.51.100.7"],
                "198.51.100.7",
            ),
            // Two proxies in a row.
            (
                "127.0.0.1",
                &["203.0.113.1,198.51.100.7 , 192.0.2.80"],
                "198.51.100.7",
            ),
            ("127.0.0.1", &["198.51.100.7", "192.0.2.80"], "198.51.100.7"),
            // Addresses with ports, and invalid ones.
            ("127.0.0.1", &["198.51.100.7:4711"], "198.51.100.7"),
            ("127.0.0.1", &["[2001:db8::1]:4711"], "2001:db8::"),
            ("127.0.0.1", &["[2001:db8::1]"], "2001:db8::2"),
            ("127.0.0.1", &["198.51.100.7, unknown"], "127.0.0.1"),
            ("127.0.0.1", &["198.51.100.7, "], "127.0.0.1"),
            (
                "127.0.0.1",
                &["198.51.100.7, unknown, 192.0.2.80"],
                "192.0.2.80",
            ),
            ("127.0.0.1", &["192.0.2.80"], "192.0.2.80"),
        ] {
            let found = proxies.client(at(from), lines.iter().copied());
            assert_eq!(found, Client::of(at(client)), "{from} {lines:?}");
        }
    }
}
