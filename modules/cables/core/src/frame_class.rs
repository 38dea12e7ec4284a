//! Classes of frames that indicate the other end of a cable.

/// Classes of frames that the classifier of a port distinguishes (bpf/include/cable.h has the same
/// list in the same order). Each frame has one class: the first that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum FrameClass {
    /// From a hardware address of this router: the frame came back.
    Own,
    /// A hello of weir's.
    Hello,
    /// PPPoE: a concentrator offers (PADO, PADS).
    Pado,
    /// PPPoE: a client asks (PADI, PADR).
    Padi,
    /// DHCP: a server answers.
    DhcpServer,
    /// DHCP: a client asks.
    DhcpClient,
    /// DHCPv6: a server answers.
    Dhcp6Server,
    /// IPv6: a router advertises itself.
    RouterAdvertisement,
    /// IPv6: a host asks for routers.
    RouterSolicitation,
    /// LLDP (IEEE 802.1AB).
    Lldp,
    /// CDP (Cisco).
    Cdp,
    /// MNDP (MikroTik).
    Mndp,
    /// batman-adv.
    Batman,
    /// Babel (RFC 8966).
    Babel,
    /// Another routing protocol: OSPF, OLSR, RIP, BMX7.
    Routing,
    /// A bridge's own: spanning tree (IEEE 802.1D).
    Bpdu,
    /// ARP.
    Arp,
    /// Any other IPv4 or IPv6.
    Ip,
    /// Anything else.
    Other,
}

impl FrameClass {
    /// All, in order.
    pub const ALL: [Self; 19] = [
        Self::Own,
        Self::Hello,
        Self::Pado,
        Self::Padi,
        Self::DhcpServer,
        Self::DhcpClient,
        Self::Dhcp6Server,
        Self::RouterAdvertisement,
        Self::RouterSolicitation,
        Self::Lldp,
        Self::Cdp,
        Self::Mndp,
        Self::Batman,
        Self::Babel,
        Self::Routing,
        Self::Bpdu,
        Self::Arp,
        Self::Ip,
        Self::Other,
    ];

    /// Returns the class's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Hello => "hello",
            Self::Pado => "pppoe-server",
            Self::Padi => "pppoe-client",
            Self::DhcpServer => "dhcp-server",
            Self::DhcpClient => "dhcp-client",
            Self::Dhcp6Server => "dhcpv6-server",
            Self::RouterAdvertisement => "router-advertisement",
            Self::RouterSolicitation => "router-solicitation",
            Self::Lldp => "lldp",
            Self::Cdp => "cdp",
            Self::Mndp => "mndp",
            Self::Batman => "batman-adv",
            Self::Babel => "babel",
            Self::Routing => "routing",
            Self::Bpdu => "spanning-tree",
            Self::Arp => "arp",
            Self::Ip => "ip",
            Self::Other => "other",
        }
    }
}
