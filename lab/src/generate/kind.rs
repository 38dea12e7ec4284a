//! Kinds of changes to packets, with their frequency.

use super::flow::Flow;
use crate::random::Random;

/// The change that a step makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// SYN, or SYN and ACK from the server; a first datagram each way.
    Open,
    /// The client's ACK; another datagram.
    Confirm,
    /// An ordinary packet.
    Data,
    /// Another DSCP and ECN.
    Tos,
    /// TTL 0, 1, 2 or another new value.
    Ttl,
    /// IPv4 options: padding, record route, source route, router alert, garbage.
    IpOptions,
    /// IPv6 extension headers.
    Extensions,
    /// A first fragment, mostly followed by the last one.
    FragmentFirst,
    /// The last fragment of the packet before.
    FragmentLast,
    /// A later fragment without a first one.
    FragmentAlone,
    /// A wrong IPv4 header checksum.
    IpChecksum,
    /// A wrong TCP or UDP checksum.
    Checksum,
    /// No UDP checksum: allowed over IPv4.
    UdpNoChecksum,
    /// An IP length below the real one.
    Short,
    /// An IP length beyond the end of the frame.
    Long,
    /// A wrong UDP length.
    UdpLength,
    /// A truncated frame.
    Cut,
    /// A short packet, padded to the 60 bytes of Ethernet.
    Padded,
    /// Bytes behind the IP packet.
    Trailer,
    /// A VLAN tag, or two tags.
    Vlan,
    /// Another destination MAC.
    OtherMac,
    /// A broadcast or multicast destination MAC.
    GroupMac,
    /// Unusual but allowed TCP flags.
    Flags,
    /// TCP flags that conntrack refuses.
    BadFlags,
    /// A SYN within a connection.
    Syn,
    /// FIN.
    Fin,
    /// RST, the flow's last packet.
    Rst,
    /// A wrong TCP data offset.
    DataOffset,
    /// An ICMP error about the flow.
    IcmpError,
    /// A ping.
    Echo,
    /// A packet of exactly the MTU, or slightly more or less.
    Mtu,
    /// A wrong IPv4 header length.
    HeaderLength,
    /// A wrong IP version.
    Version,
    /// Another PCP and DEI in the wire's tags, or a priority tag on an untagged wire.
    Priority,
    /// Tags unlike the wire's: wrong, missing, additional, foreign or truncated.
    Tags,
    /// A session unlike the wire's PPPoE session: another session, code or version, no session,
    /// PPP's own protocols, or a truncated frame.
    Session,
    /// A wrong PPPoE length.
    SessionLength,
    /// An ordinary packet that enters at another end than the flow's.
    Elsewhere,
}

impl Kind {
    /// Returns true if the kind fits the flow.
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

    /// Returns true if the kind changes the encapsulation or the wire rather than the frame.
    pub fn is_about_the_wire(self) -> bool {
        matches!(
            self,
            Self::Priority | Self::Tags | Self::Session | Self::SessionLength | Self::Elsewhere
        )
    }
}

/// Weights of the kinds. Kinds that do not suit a flow fall back to [`Kind::Data`].
#[derive(Clone, Debug)]
pub struct Mix(Vec<(Kind, usize)>);

impl Default for Mix {
    /// Returns a mix in which some six of ten packets are ordinary.
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
        // Some changed packets fall back to ordinary ones, so the weight is below the exact one.
        let mut weights = vec![(Kind::Data, total * 5 / 4)];
        weights.extend(mangled);
        Self(weights)
    }
}

impl Mix {
    /// Returns a mix of ordinary packets alone.
    pub fn ordinary() -> Self {
        Self(vec![(Kind::Data, 1)])
    }

    /// Adds a kind with this weight.
    pub fn with(mut self, kind: Kind, weight: usize) -> Self {
        self.0.push((kind, weight));
        self
    }

    /// Removes a kind.
    pub fn without(mut self, kind: Kind) -> Self {
        self.0.retain(|(other, _)| *other != kind);
        self
    }

    /// Returns the kinds with their weights.
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
