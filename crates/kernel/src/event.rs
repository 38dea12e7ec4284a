//! Events of the kernel, as one enum.

use std::fmt;
use std::net::IpAddr;

use crate::tuple::Tuple;

pub use net::Mac;

/// Change in the kernel, or, during a dump, an existing object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection appeared or changed; also each entry of a dump.
    Connection(Connection),
    /// A connection was deleted, timed out, or flushed.
    ConnectionGone(ConnectionId),
    /// A device appeared or changed.
    Link(Link),
    /// A device is gone.
    LinkGone(u32),
    /// An address of this router appeared (`true`) or went.
    Address(Address, bool),
    /// A route, rule or next-hop object appeared, changed or went. Weir needs only the fact of a
    /// change.
    Routing,
    /// An IPsec policy or state was added, changed or removed.
    Policies,
    /// Forwarding, reverse-path filtering or another such setting of this device was switched; 0:
    /// of all devices, or of future ones.
    Forwarding(u32),
    /// The hardware address of a neighbour; `None` if unknown (failed, incomplete, deleted).
    Neighbour(Neighbour),
    /// The qdisc at the root of a device, as named by the kernel (`noqueue`, `fq_codel`, `cake`,
    /// …).
    Qdisc(Qdisc),
    /// A qdisc below the root of this device was added, removed or changed.
    /// [`io::Filters`](crate::io::Filters) reads the present state; the defaults that come with a
    /// root cause no event.
    Qdiscs(u32),
    /// A bridge learned, moved or forgot where a station is.
    Fdb(Fdb),
    /// Bridge settings of a device that affect unicast frames. The kernel repeats them without a
    /// change: compare.
    Bridging(Bridging),
    /// A VLAN of a bridge or of its port (the index) was added or deleted, or another setting of it
    /// or its STP state changed.
    BridgeVlan(u32),
    /// Programs at TC ingress or egress of this device, or its root qdisc, may have changed; 0: of
    /// any device (a block that devices share). [`io::Filters`](crate::io::Filters) reads the
    /// present state.
    Filters(u32),
    /// The nftables ruleset or an element of a set was committed; the kernel's generation number.
    Firewall(u32),
    /// The answer to a dump request of this source is complete.
    DumpEnd(Source),
    /// Events of this source were lost (ENOBUFS, or a malformed answer): request a dump.
    Overrun(Source),
}

/// Source of events: each is one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// ctnetlink.
    Conntrack,
    /// rtnetlink.
    Route,
    /// nf_tables.
    Firewall,
    /// XFRM: IPsec policies and states. Sends events, without dumps.
    Policy,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// Identity of a conntrack entry during its life: CTA_ID, which the kernel derives from the entry's
/// address and a secret, so that a successor with the same tuple has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    /// CTA_ID.
    pub id: u32,
    /// The original direction's tuple.
    pub original: Tuple,
    /// Conntrack zone of the original direction.
    pub zone: u16,
}

/// A conntrack entry of TCP or UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Identity and original tuple.
    pub id: ConnectionId,
    /// The tuple of packets that come back: differs from the reversed original where anything is
    /// translated.
    pub reply: Tuple,
    /// IPS_* bits (include/uapi/linux/netfilter/nf_conntrack_common.h). `None` if the message lacks
    /// them.
    pub status: Option<u32>,
    /// Connection mark.
    pub mark: u32,
    /// Seconds until the entry times out, if reported.
    pub timeout: Option<u32>,
    /// TCP_CONNTRACK_* if the message has it (3 is ESTABLISHED). Events about other things leave it
    /// out.
    pub tcp_state: Option<u8>,
    /// Scales of the windows that each end of a TCP connection announces (RFC 7323), original
    /// direction's sender first. `None`: not reported, or unknown to the kernel. The kernel does
    /// not know them if it did not see the connection begin and does not check windows.
    pub window_scales: Option<[u8; 2]>,
    /// A helper (ftp, sip, …) follows this connection.
    pub helper: bool,
    /// Sequence numbers are adjusted, by a helper that changed lengths or by a SYN proxy.
    pub sequence_adjusted: bool,
}

/// Status bits of [`Connection::status`].
pub mod status {
    /// Expected by a helper.
    pub const EXPECTED: u32 = 1 << 0;
    /// A packet came back.
    pub const SEEN_REPLY: u32 = 1 << 1;
    /// Not to be evicted early.
    pub const ASSURED: u32 = 1 << 2;
    /// In the table.
    pub const CONFIRMED: u32 = 1 << 3;
    /// Source translated.
    pub const SRC_NAT: u32 = 1 << 4;
    /// Destination translated.
    pub const DST_NAT: u32 = 1 << 5;
    /// Sequence numbers adjusted.
    pub const SEQ_ADJUST: u32 = 1 << 6;
    /// Being removed.
    pub const DYING: u32 = 1 << 9;
    /// Template of a rule, not a connection.
    pub const TEMPLATE: u32 = 1 << 11;
    /// Another entry has the same tuple (resolved clash).
    pub const NAT_CLASH: u32 = 1 << 12;
    /// A helper follows it.
    pub const HELPER: u32 = 1 << 13;
    /// In an nftables flowtable.
    pub const OFFLOAD: u32 = 1 << 14;
    /// Offloaded to hardware.
    pub const HW_OFFLOAD: u32 = 1 << 15;
}

/// A network device of this namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Interface index.
    pub index: u32,
    /// Name.
    pub name: String,
    /// ARPHRD_* (1 is Ethernet).
    pub hardware: u16,
    /// IFF_UP and IFF_RUNNING both set.
    pub up: bool,
    /// Hardware address, of Ethernet devices.
    pub mac: Option<Mac>,
    /// Largest IP packet, bytes.
    pub mtu: u32,
    /// IFLA_INFO_KIND: `veth`, `bridge`, `vlan`, `ppp`…; empty for hardware.
    pub kind: String,
    /// Index of the master (bridge, bond, VRF), where enslaved.
    pub master: Option<u32>,
    /// IFLA_GROUP: a number by which rules and routes name several devices.
    pub group: u32,
    /// IFLA_LINK: index of the device below (VLAN) or of the peer (veth), where in this namespace.
    pub lower: Option<u32>,
    /// Tag of a VLAN device.
    pub vlan: Option<Vlan>,
    /// A bridge that filters VLANs (`vlan_filtering`).
    pub filters_vlans: bool,
    /// Settings of a bridge that decide if its frames may be forwarded past it.
    pub bridge: Option<BridgeSettings>,
    /// True if the device, as the port of a bridge, answers for others (`proxy_arp`,
    /// `proxy_arp_wifi`, `neigh_suppress`).
    pub proxies: bool,
    /// True if the device, as the port of a bridge, accepts frames only from stations that the
    /// bridge knows behind it (802.1X).
    pub locked: bool,
    /// Hash of all settings of a VLAN device, or of a bridge's settings for unicast frames: only
    /// for comparison.
    pub settings: u64,
    /// Like `settings`, for a port of a bridge: see [`Bridging::port`].
    pub port: Option<u64>,
    /// Number of transmit queues.
    pub tx_queues: u32,
    /// Qdisc at the root (IFLA_QDISC).
    pub qdisc: String,
    /// IFLA_XDP: id of the attached program.
    pub xdp_program: Option<u32>,
}

/// Settings of a bridge other than those that affect frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BridgeSettings {
    /// Time of silence after which the bridge forgets a station, in hundredths of a second; 0: at
    /// once.
    pub ageing: u32,
    /// True if frames pass through iptables, ip6tables or arptables (`nf_call_*` of this bridge).
    pub netfilter: bool,
}

/// The tag of a VLAN device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vlan {
    /// VLAN id, 0 to 4095.
    pub id: u16,
    /// EtherType of the tag: 0x8100 (802.1Q) or 0x88a8 (802.1ad).
    pub protocol: u16,
}

/// An entry of a bridge's forwarding database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fdb {
    /// Port of the bridge behind which the station is; for addresses of the bridge itself, the
    /// bridge.
    pub link: u32,
    /// The bridge.
    pub bridge: u32,
    /// Hardware address of the station.
    pub mac: Mac,
    /// VLAN id; 0 if the bridge does not distinguish VLANs.
    pub vlan: u16,
    /// An address of this machine, not of a station.
    pub local: bool,
    /// Learned, moved or set; `false`: deleted or expired.
    pub present: bool,
}

/// Bridge settings of a device. The numbers are hashes, and can only be compared: another number
/// means another setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bridging {
    /// Port of a bridge, or a bridge.
    pub link: u32,
    /// STP state, hairpin, isolation, learning, flooding, lock and back-up of a port, if reported.
    pub port: Option<u64>,
    /// VLAN membership, PVID and which VLANs leave untagged, if reported.
    pub vlans: Option<u64>,
    /// [`Link::proxies`], if reported.
    pub proxies: Option<bool>,
    /// [`Link::locked`], if reported.
    pub locked: Option<bool>,
}

/// An address of this router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Device it is on.
    pub link: u32,
    /// The address.
    pub address: IpAddr,
}

/// A neighbour table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Device it is behind.
    pub link: u32,
    /// Address of the neighbour.
    pub address: IpAddr,
    /// Hardware address; `None` if the kernel has no usable one.
    pub mac: Option<Mac>,
    /// True if the neighbour was silent for long: the kernel checks its presence before the next
    /// packet.
    pub stale: bool,
}

/// The root qdisc of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Device.
    pub link: u32,
    /// Kind. Empty: deleted. The kernel then reports its successor right away (a replacement), or
    /// installs its default without an event: request
    /// [`Table::Qdiscs`](crate::route::Table::Qdiscs).
    pub kind: String,
}
