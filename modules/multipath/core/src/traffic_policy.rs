//! Configuration: traffic that goes through the partner, traffic that goes directly, and forwarded
//! ports. Pure.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use kernel::Prefix;
use net::mac;

/// Transport protocol with ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Transport {
    /// Both protocols.
    pub const ALL: [Self; 2] = [Self::Tcp, Self::Udp];

    /// Returns the name of the protocol, as nft writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// Ports of one protocol: `tcp/25`, `udp/5060-5090`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    /// The protocol.
    pub transport: Transport,
    /// From the first to the last port; never empty, and without 0.
    pub range: RangeInclusive<u16>,
}

/// Text that is not a valid range of ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid ports {0:?}: write tcp/8022, udp/51820 or tcp/8000-8099")]
pub struct PortsError(String);

impl Ports {
    /// Returns true if a port is in both ranges.
    pub fn overlap(&self, other: &Self) -> bool {
        self.transport == other.transport
            && self.range.start() <= other.range.end()
            && other.range.start() <= self.range.end()
    }

    /// Returns true if this range contains all ports of the other.
    pub fn hold(&self, other: &Self) -> bool {
        self.transport == other.transport
            && self.range.start() <= other.range.start()
            && other.range.end() <= self.range.end()
    }

    /// Returns the port numbers, as nft writes them.
    pub fn numbers(&self) -> String {
        match (self.range.start(), self.range.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.transport.name(), self.numbers())
    }
}

impl FromStr for Ports {
    type Err = PortsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (name, numbers) = text.split_once('/')?;
            let transport = Transport::ALL.into_iter().find(|t| t.name() == name)?;
            let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
            let (first, last) = (port(first)?, port(last)?);
            (first <= last).then_some(Self {
                transport,
                range: first..=last,
            })
        };
        read().ok_or_else(|| PortsError(text.chars().take(60).collect()))
    }
}

/// Parses a number from 1 to 65535, in digits alone.
fn port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|octet| octet.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.filter(|number| *number != 0)
}

/// Clients, by address or network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// The client with this MAC address.
    Mac([u8; 6]),
    /// The client with this address, or all clients of a network.
    Network(Prefix),
}

/// Text that does not identify clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a MAC address, an address or a network")]
pub struct ClientsError(String);

impl fmt::Display for Clients {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac(mac) => formatter.write_str(&mac::text(mac)),
            Self::Network(prefix) => prefix.fmt(formatter),
        }
    }
}

impl FromStr for Clients {
    type Err = ClientsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(network) = text.parse() {
            return Ok(Self::Network(network));
        }
        let mac = mac::parse(text).filter(|_| !text.contains('-'));
        mac.map(Self::Mac)
            .ok_or_else(|| ClientsError(text.chars().take(60).collect()))
    }
}

/// Port forwarding from the partner to a host of the LAN: `tcp/8022 = 192.168.1.2:22`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// The partner's ports.
    pub ports: Ports,
    /// A host of the LAN.
    pub host: IpAddr,
    /// The port of the host; `None`: the partner's port.
    pub port: Option<u16>,
}

/// Text that is not a valid port forwarding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid port forwarding {0:?}: write \"tcp/8022 = 192.168.1.2:22\"")]
pub struct ForwardError(String);

impl Forward {
    /// Returns the host and its port as text.
    pub fn to(&self) -> String {
        match self.port {
            Some(port) => SocketAddr::new(self.host, port).to_string(),
            None => self.host.to_string(),
        }
    }
}

impl fmt::Display for Forward {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} = {}", self.ports, self.to())
    }
}

impl FromStr for Forward {
    type Err = ForwardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (ports, to) = text.split_once('=')?;
            let (ports, to): (Ports, _) = (ports.trim().parse().ok()?, to.trim());
            let (host, port) = match to.parse::<SocketAddr>() {
                Ok(to) => (to.ip(), Some(to.port())),
                Err(_) => (to.parse().ok()?, None),
            };
            // A range keeps its port numbers: a single port on the host cannot serve all of them.
            let alone = ports.range.start() == ports.range.end();
            let host: IpAddr = host;
            let is_host = !(host.is_unspecified() || host.is_multicast() || host.is_loopback());
            (is_host && port.is_none_or(|port| port != 0 && alone)).then_some(Self {
                ports,
                host,
                port,
            })
        };
        read().ok_or_else(|| ForwardError(text.chars().take(80).collect()))
    }
}

/// Settings that may change while connections are carried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrafficPolicy {
    /// Destinations that are reached directly, besides local ones.
    pub networks: Vec<Prefix>,
    /// Ports that are reached directly, wherever they are.
    pub ports: Vec<Ports>,
    /// Clients that reach all destinations directly.
    pub clients: Vec<Clients>,
    /// Port forwardings from the partner.
    pub forwards: Vec<Forward>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        for text in ["tcp/25", "udp/5060-5090", "tcp/1-65535"] {
            let ports: Ports = text.parse().expect("ports");
            assert_eq!(ports.to_string(), text);
        }
        for text in [
            "aa:bb:cc:dd:ee:0f",
            "192.168.1.7/32",
            "192.168.2.0/24",
            "fd00::7/128",
        ] {
            let clients: Clients = text.parse().expect("clients");
            assert_eq!(clients.to_string(), text);
        }
        for text in [
            "tcp/8022 = 192.168.1.2:22",
            "udp/8000-8099 = 192.168.1.2",
            "tcp/80 = [fd00::2]:8080",
            "tcp/80 = fd00::2",
        ] {
            let forward: Forward = text.parse().expect("a forward");
            assert_eq!(forward.to_string(), text);
        }
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for text in [
            "",
            "tcp",
            "tcp/",
            "tcp/0",
            "tcp/65536",
            "tcp/9-8",
            "icmp/1",
            "tcp/+1",
            "TCP/1",
            "tcp/1-2-3",
            "tcp/1,2",
        ] {
            text.parse::<Ports>().expect_err(text);
        }
        for text in [
            "",
            "aa:bb:cc:dd:ee",
            "aa:bb:cc:dd:ee:ff:00",
            "a:b:c:d:e:f",
            "+a:bb:cc:dd:ee:ff",
            "lan0",
        ] {
            text.parse::<Clients>().expect_err(text);
        }
        for text in [
            "tcp/22",
            "tcp/22 = ",
            "tcp/22 = host:22",
            "tcp/22 = 192.168.1.2:0",
            "tcp/22-23 = 192.168.1.2:22",
            "tcp/22 = 0.0.0.0:22",
            "tcp/22 = 127.0.0.1:22",
        ] {
            text.parse::<Forward>().expect_err(text);
        }
    }

    #[test]
    fn ports_overlap_and_hold() {
        let ports = |text: &str| text.parse::<Ports>().expect("ports");
        let range = ports("tcp/10-20");
        for (text, overlaps, held) in [
            ("tcp/10", true, true),
            ("tcp/20-21", true, false),
            ("tcp/1-9", false, false),
            ("tcp/5-30", true, false),
            ("udp/10", false, false),
        ] {
            let other = ports(text);
            assert_eq!(
                (range.overlap(&other), other.overlap(&range)),
                (overlaps, overlaps),
                "{text}"
            );
            assert_eq!(range.hold(&other), held, "{text}");
        }
    }
}
