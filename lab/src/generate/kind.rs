//! What can be done to a packet, and how often it is.

use super::flow::Flow;
use crate::random::Random;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// SYN, or SYN and ACK from the server; a first datagram each way.
    Open,
    /// The client's ACK; another datagram.
    Confirm,
    /// An ordinary packet.
    Data,
    /// Another DSCP, another ECN.
    Tos,
    /// TTL 0, 1, 2 or otherwise new.
    Ttl,
    /// IPv4 options: padding, record route, source route, router alert, garbage.
    IpOptions,
    /// IPv6 extension headers.
    Extensions,
    /// A first fragment. The last one follows, mostly.
    FragmentFirst,
    /// The last fragment of the one before.
    FragmentLast,
    /// A later fragment that belongs to nothing.
    FragmentAlone,
    /// A wrong IPv4 header checksum.
    IpChecksum,
    /// A wrong TCP or UDP checksum.
    Checksum,
    /// No UDP checksum: allowed over IPv4.
    UdpNoChecksum,
    /// IP says that it is shorter than what was put in.
    Short,
    /// IP says that it is longer than the frame.
    Long,
    /// A UDP length that is not so.
    UdpLength,
    /// The frame ends too early.
    Cut,
    /// A short packet, filled up to the 60 bytes of Ethernet.
    Padded,
    /// Bytes behind the end of the IP packet.
    Trailer,
    /// A VLAN tag, or two.
    Vlan,
    /// To another MAC.
    OtherMac,
    /// To a broadcast or multicast MAC.
    GroupMac,
    /// Unusual, but allowed TCP flags.
    Flags,
    /// TCP flags that conntrack refuses.
    BadFlags,
    /// SYN in the midst of a connection.
    Syn,
    /// FIN.
    Fin,
    /// RST: the flow's last packet.
    Rst,
    /// A TCP data offset that is not so.
    DataOffset,
    /// An ICMP error about the flow.
    IcmpError,
    /// A ping.
    Echo,
    /// Just the MTU, or somewhat more.
    Mtu,
    /// An IPv4 header length that is not so.
    HeaderLength,
    /// An IP version that is not so.
    Version,
    /// Another PCP and DEI in the wire's tags, or a priority tag where it has none.
    Priority,
    /// Not the wire's tags: wrong, missing, more, foreign, or cut off.
    Tags,
    /// Not the wire's PPPoE session: another one, another code or version, none, PPP's own
    /// protocols, or cut off.
    Session,
    /// A PPPoE length that is not so.
    SessionLength,
    /// An ordinary packet that comes in where the flow's do not.
    Elsewhere,
}

impl Kind {
    /// Whether it makes sense for a flow of that sort.
    fn suits(self, flow: &Flow) -> bool {
        match self {
            Self::IpOptions | Self::IpChecksum | Self::HeaderLength => !flow.ipv6,
            Self::Extensions => flow.ipv6,
            Self::UdpNoChecksum | Self::UdpLength => !flow.tcp,
            Self::Flags | Self::BadFlags | Self::Syn | Self::Fin | Self::Rst | Self::DataOffset => {
                flow.tcp
            }
            _ => true,
        }
    }

    /// Whether it is done to what the frame is wrapped in on its wire, and not to the frame itself.
    pub fn is_about_the_wire(self) -> bool {
        matches!(
            self,
            Self::Priority | Self::Tags | Self::Session | Self::SessionLength | Self::Elsewhere
        )
    }
}

/// How often each kind is chosen. Kinds that do not suit a flow fall back to [`Kind::Data`].
#[derive(Clone, Debug)]
pub struct Mix(Vec<(Kind, usize)>);

impl Default for Mix {
    /// About six of ten packets are ordinary.
    fn default() -> Self {
        let mangled = [
            (Kind::Tos, 5),
            (Kind::Ttl, 4),
            (Kind::IpOptions, 3),
            (Kind::Extensions, 4),
            (Kind::FragmentFirst, 3),
            (Kind::FragmentAlone, 1),
            (Kind::IpChecksum, 2),
            (Kind::Checksum, 4),
            (Kind::UdpNoChecksum, 3),
            (Kind::Short, 3),
            (Kind::Long, 2),
            (Kind::UdpLength, 3),
            (Kind::Cut, 3),
            (Kind::Padded, 5),
            (Kind::Trailer, 4),
            (Kind::Vlan, 2),
            (Kind::OtherMac, 2),
            (Kind::GroupMac, 2),
            (Kind::Flags, 4),
            (Kind::BadFlags, 3),
            (Kind::Syn, 1),
            (Kind::Fin, 2),
            (Kind::Rst, 1),
            (Kind::DataOffset, 3),
            (Kind::IcmpError, 4),
            (Kind::Echo, 3),
            (Kind::Mtu, 5),
            (Kind::HeaderLength, 2),
            (Kind::Version, 2),
        ];
        let total: usize = mangled.iter().map(|(_, weight)| weight).sum();
        // Some of the mangled ones fall back to ordinary, so a bit less than what would be exact.
        let mut weights = vec![(Kind::Data, total * 5 / 4)];
        weights.extend(mangled);
        Self(weights)
    }
}

impl Mix {
    /// Only ordinary packets.
    pub fn ordinary() -> Self {
        Self(vec![(Kind::Data, 1)])
    }

    /// The same with that kind, so often.
    pub fn with(mut self, kind: Kind, weight: usize) -> Self {
        self.0.push((kind, weight));
        self
    }

    /// The same without that kind.
    pub fn without(mut self, kind: Kind) -> Self {
        self.0.retain(|(other, _)| *other != kind);
        self
    }

    /// Kinds and weights.
    pub fn weights(&self) -> &[(Kind, usize)] {
        &self.0
    }

    pub(super) fn pick(&self, flow: &Flow, random: &mut Random) -> Kind {
        let total = self.0.iter().map(|(_, weight)| weight).sum();
        let mut at = random.below(total);
        for (kind, weight) in &self.0 {
            if at < *weight {
                return if kind.suits(flow) { *kind } else { Kind::Data };
            }
            at -= weight;
        }
        Kind::Data
    }
}
