//! A connection, its state, and the reasons for that state.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Answer to `GET /v1/flows`. The daemon writes the answer piece by piece.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowList {
    /// Number of matching flows; larger than the list if there was a limit.
    pub matched: u64,
    /// The flows, in the requested order. A flow that ends while the list is written is left out.
    pub flows: Vec<Flow>,
    /// Pairs of stations whose bridged traffic weir forwards, or may forward. Left out if the query
    /// has an address, a port or a protocol; the limit does not apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bridged: Vec<StationPair>,
}

/// Two stations that communicate through a bridge, in both directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationPair {
    /// Hardware address of one station: `02:00:00:00:00:01`.
    pub source: String,
    /// Hardware address of the other station.
    pub destination: String,
    /// Known or forwarded, never declined.
    pub state: FlowState,
    /// Reason why weir does not forward it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// From source to destination (`original`), and back. Bytes and lengths begin behind the
    /// EtherType.
    pub directions: Directions,
    /// Seconds since weir learned of the pair.
    pub age_seconds: u64,
}

/// A connection: both of its directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Id of the connection as long as it lives; `weir explain` takes it.
    pub id: FlowId,
    /// Layer 4 protocol.
    pub protocol: Protocol,
    /// Packets of the side that opened the connection, as they come in.
    pub original: Endpoints,
    /// Packets of the other side as they come in, before translation is undone.
    pub reply: Endpoints,
    /// Address translation of the connection.
    pub translated: Translation,
    /// State of forwarding.
    pub state: FlowState,
    /// Reason why weir does not forward the connection, or not in both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Counters and proofs of each direction.
    pub directions: Directions,
    /// Connection mark (ct mark).
    pub mark: u32,
    /// Conntrack zone.
    pub zone: u16,
    /// Seconds since weir learned of the connection.
    pub age_seconds: u64,
}

impl Flow {
    /// Returns the number of IP packets forwarded by weir, both directions.
    pub fn packets(&self) -> u64 {
        self.directions
            .original
            .packets
            .saturating_add(self.directions.reply.packets)
    }

    /// Returns the bytes of those packets.
    pub fn bytes(&self) -> u64 {
        self.directions
            .original
            .bytes
            .saturating_add(self.directions.reply.bytes)
    }
}

/// Id of a connection. In JSON and in text: 16 lower-case hexadecimal digits; 8 or more are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(pub u64);

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The text is not a [`FlowId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a flow's id is 8 to 16 hexadecimal digits")]
pub struct NotAFlowId;

impl FromStr for FlowId {
    type Err = NotAFlowId;

    fn from_str(text: &str) -> Result<Self, NotAFlowId> {
        // from_str_radix would take a sign too.
        if !(8..=16).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotAFlowId);
        }
        u64::from_str_radix(text, 16)
            .map(Self)
            .map_err(|_| NotAFlowId)
    }
}

impl Serialize for FlowId {
    // Text, because JavaScript reads no integer above 2^53 exactly.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FlowId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// The layer 4 protocols weir forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// IP protocol 6.
    Tcp,
    /// IP protocol 17.
    Udp,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// Source and destination, as in a packet. Both addresses are of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Endpoints {
    /// Source address.
    pub source: IpAddr,
    /// Source port.
    pub source_port: u16,
    /// Destination address.
    pub destination: IpAddr,
    /// Destination port.
    pub destination_port: u16,
}

impl fmt::Display for Endpoints {
    /// `192.0.2.1:4000 > 198.51.100.1:443`; IPv6 addresses in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = SocketAddr::new(self.source, self.source_port);
        let destination = SocketAddr::new(self.destination, self.destination_port);
        write!(f, "{source} > {destination}")
    }
}

/// Address translation by netfilter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Translation {
    /// Source of the original direction (masquerading).
    pub snat: bool,
    /// Destination of the original direction (port forwarding).
    pub dnat: bool,
}

/// State of forwarding of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowState {
    /// weir forwards at least one direction.
    Forwarded,
    /// The kernel forwards until a packet proves the path.
    Known,
    /// The kernel forwards, for the reason given.
    Declined,
}

impl fmt::Display for FlowState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Forwarded => "forwarded",
            Self::Known => "known",
            Self::Declined => "declined",
        })
    }
}

/// Reason why weir leaves traffic to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Short name that does not change between versions: `tcp_flags`.
    pub code: String,
    /// The reason in one sentence.
    pub text: String,
    /// Advice; absent if no action is needed or possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Both directions of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directions {
    /// From the side that opened the connection.
    pub original: Direction,
    /// Back to the side that opened the connection.
    pub reply: Direction,
}

/// A direction: counters and proof.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Direction {
    /// IP packets forwarded by weir (segments, where the kernel had merged some).
    pub packets: u64,
    /// Bytes of those packets, from the IP header on.
    pub bytes: u64,
    /// True if the proof is of the present generation: weir forwards its packets.
    pub proven: bool,
    /// Device that the packets come in at, once proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_in: Option<String>,
    /// VLAN tags and PPPoE of incoming packets, in words; absent in plain Ethernet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encapsulation_in: Option<String>,
    /// Device that the packets leave by, once proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_out: Option<String>,
    /// Index of the hop, as in `GET /v1/hops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<u16>,
    /// Hook that forwards the direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Hook>,
    /// TTLs (hop limits) at ingress that the kernel was seen to lower by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<TtlRange>,
    /// Longest IP packet that the kernel was seen to send unfragmented, bytes. Longer ones go to
    /// the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<u16>,
}

/// A range of TTLs, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TtlRange {
    /// Lowest.
    pub lowest: u8,
    /// Highest.
    pub highest: u8,
}

/// Hook in the kernel that takes packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// In the driver, before a socket buffer exists.
    Xdp,
    /// At TC ingress, on the socket buffer.
    Tc,
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Xdp => "xdp",
            Self::Tc => "tc",
        })
    }
}

/// Answer to `GET /v1/explain`: the chain of witnesses of one connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The query, as weir understood it.
    pub asked: String,
    /// Verdict on the packets, in one sentence.
    pub verdict: String,
    /// Seen, known, proven, in this order, for each direction examined.
    pub witnesses: Vec<Witness>,
    /// Actions that would change the verdict, one sentence each; empty if forwarded.
    pub change: Vec<String>,
    /// The connection, if weir knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
}

/// Statement of one witness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// Name of the witness.
    pub name: WitnessName,
    /// True if the witness agrees to forwarding.
    pub ok: bool,
    /// Finding of the witness, in one sentence.
    pub text: String,
}

/// The three witnesses that have to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WitnessName {
    /// The packet path, at ingress.
    Seen,
    /// conntrack.
    Known,
    /// The packet path, at egress.
    Proven,
}

impl fmt::Display for WitnessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Seen => "seen",
            Self::Known => "known",
            Self::Proven => "proven",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_text_and_come_back() {
        for id in [0, 0xdead_beef, u64::MAX] {
            let text = serde_json::to_string(&FlowId(id)).expect("a string");
            assert!(text.starts_with('"') && text.len() == 18, "{text}");
            assert_eq!(
                serde_json::from_str::<FlowId>(&text).expect("came from an id"),
                FlowId(id)
            );
        }
        for wrong in [
            "",
            "1234567",
            "+1234567",
            "12345678901234567",
            "0x123456",
            "1234567é",
        ] {
            assert_eq!(wrong.parse::<FlowId>(), Err(NotAFlowId), "{wrong}");
        }
    }

    #[test]
    fn ipv6_is_in_brackets() {
        let endpoints = Endpoints {
            source: "2001:db8::1".parse().expect("an address"),
            source_port: 1,
            destination: "2001:db8::2".parse().expect("an address"),
            destination_port: 443,
        };
        assert_eq!(endpoints.to_string(), "[2001:db8::1]:1 > [2001:db8::2]:443");
    }
}
