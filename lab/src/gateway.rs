//! The lab used everywhere: client – router – server, the router being a home gateway.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::arrangement::{self, Arrangement, Attachment, Wan};
use crate::topology::{Lab, text};
use crate::{Error, Namespace};

/// What the gateway does with IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ipv6 {
    /// Nothing: no IPv6 addresses.
    Off,
    /// Forwards it untranslated.
    #[default]
    Routed,
    /// Masquerades it (NAT66).
    Nat66,
}

/// How [`Lab::gateway`] is built.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is below IP.
    pub arrangement: Arrangement,
    /// Masquerade IPv4 on the WAN side.
    pub nat: bool,
    /// What happens to IPv6.
    pub ipv6: Ipv6,
    /// See [`Offloads::Plain`].
    pub plain_offloads: bool,
    /// A second wire router:wan1 – server:eth1 (10.0.1.0/24), and [`SERVER_INNER`] behind both, at
    /// first by wan0.
    pub second_path: bool,
    /// For traffic from [`crate::Tap`]s: hosts have no addresses, so that they never answer by
    /// themselves; the router's neighbours are permanent, its ICMP errors are not limited in rate,
    /// and its conntrack entries outlast any run.
    pub raw: bool,
    /// Largest IP packet on the WAN, bytes; 1500 on the LAN. PPPoE and WireGuard carry less than
    /// 1500, whatever this says.
    pub wan_mtu: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arrangement: Arrangement::PLAIN,
            nat: true,
            ipv6: Ipv6::Routed,
            plain_offloads: false,
            second_path: false,
            raw: false,
            wan_mtu: 1500,
        }
    }
}

/// Client, IPv4.
pub const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 2));
/// Router, LAN side, IPv4.
pub const ROUTER_LAN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 1));
/// Router, WAN side, IPv4.
pub const ROUTER_WAN: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
/// Server, IPv4.
pub const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
/// Client, IPv6.
pub const CLIENT6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2));
/// Router, LAN side, IPv6.
pub const ROUTER_LAN6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1));
/// Router, WAN side, IPv6.
pub const ROUTER_WAN6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1));
/// Server, IPv6.
pub const SERVER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 2));
/// Router and server on the second wire.
pub const SECOND: (IpAddr, IpAddr) = (
    IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1)),
    IpAddr::V4(Ipv4Addr::new(10, 0, 1, 2)),
);
/// Router and server on the second wire, IPv6.
pub const SECOND6: (IpAddr, IpAddr) = (
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 2)),
);
/// An address of the server that either wire leads to, with `second_path`.
pub const SERVER_INNER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));
/// The same, IPv6.
pub const SERVER_INNER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 1));

/// A host of the LAN that the router leads to what arrives at its WAN address, in the arrangement
/// of that name (hairpin).
pub const NEIGHBOUR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 3));
/// The same, IPv6.
pub const NEIGHBOUR6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 3));
/// Where IGMPv3 reports go (RFC 3376 section 4.2.14).
pub(crate) const ALL_IGMP_ROUTERS: IpAddr = IpAddr::V4(Ipv4Addr::new(224, 0, 0, 22));
/// Where MLDv2 reports go (RFC 3810 section 5.2.14).
pub(crate) const ALL_MLD_ROUTERS: IpAddr =
    IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16));

/// Addresses of router and host at each end of a link, IPv4 and IPv6.
type Addresses = [(IpAddr, IpAddr); 2];

impl Lab {
    /// Builds client – router – server, put together as [`Options::arrangement`] says, with
    /// addresses, routes, forwarding and translation. In the plain arrangement that is client:eth0
    /// – router:lan0, router:wan0 – server:eth0.
    pub fn gateway(options: &Options) -> Result<Self, Error> {
        let mut lab = Self::new();
        let wan = options.arrangement.wan;
        lab.arrangement = options.arrangement;
        let attachments = arrangement::build(&mut lab, options)?;
        let ipv6 = options.ipv6 != Ipv6::Off;
        let families = [true, ipv6];
        if options.raw {
            lab.silence_hosts(options)?;
        }
        for (index, attachment) in attachments.iter().enumerate() {
            let addresses: Addresses = match (index, wan) {
                (0, _) => [(ROUTER_LAN, CLIENT), (ROUTER_LAN6, CLIENT6)],
                (1, Wan::Hairpin) => [(ROUTER_LAN, NEIGHBOUR), (ROUTER_LAN6, NEIGHBOUR6)],
                (1, _) => [(ROUTER_WAN, SERVER), (ROUTER_WAN6, SERVER6)],
                _ => [SECOND, SECOND6],
            };
            if wan.dials() && index > 0 {
                lab.dial()?;
                for (_, server) in on(families, addresses) {
                    lab.host_address(options, "lo", server)?;
                }
            } else {
                lab.attach(options, attachment, addresses)?;
            }
        }
        if wan == Wan::Hairpin {
            for (index, address) in on(families, [(ROUTER_WAN, SERVER), (ROUTER_WAN6, SERVER6)])
                .map(|(router, _)| router)
                .enumerate()
            {
                let length = [24, 64][index];
                lab.address("router", "wan0", &format!("{address}/{length}"))?;
            }
            arrangement::reflect(&lab, ipv6)?;
        }
        lab.routes(options, ipv6)?;
        match wan {
            Wan::Hairpin => lab.translate(options, "wan0")?,
            _ => {
                for attachment in &attachments[1..] {
                    lab.translate(options, attachment.near)?;
                }
            }
        }
        if wan == Wan::Two {
            arrangement::choose_wan(&lab, ipv6)?;
        }
        if options.raw {
            // Last: some of its settings appear with the first rule that needs conntrack.
            patient(lab.node("router")?)?;
        }
        Ok(lab)
    }

    /// Hosts with no stack to speak of: no IPv6. The server keeps it where a program there needs it
    /// to dial, and hears nothing.
    fn silence_hosts(&self, options: &Options) -> Result<(), Error> {
        let hosts = self.nodes().iter().filter(|node| {
            node.role() != "router" && !(options.arrangement.wan.dials() && node.role() == "server")
        });
        for host in hosts {
            for scope in ["all", "default"] {
                host.sysctl(&format!("net.ipv6.conf.{scope}.disable_ipv6"), 1)?;
            }
        }
        Ok(())
    }

    /// Gives both ends of a link their addresses, or the router a neighbour that is not there.
    fn attach(
        &self,
        options: &Options,
        attachment: &Attachment,
        addresses: Addresses,
    ) -> Result<(), Error> {
        let Attachment {
            host, far, near, ..
        } = attachment;
        let ipv6 = options.ipv6 != Ipv6::Off;
        let (mut at_router, mut at_host) = (String::new(), String::new());
        if ipv6 && !options.raw {
            // A router solicits its neighbours from the link-local address, and the lab gives none
            // by itself.
            at_router += &format!("address replace fe80::1/64 dev {near} nodad\n");
            let own = if addresses[0].1 == NEIGHBOUR { 3 } else { 2 };
            at_host += &format!("address add fe80::{own}/64 dev {far} nodad\n");
        }
        for (index, (router, end)) in on([true, ipv6], addresses).enumerate() {
            let length = [24, 64][index];
            let nodad = if router.is_ipv6() { " nodad" } else { "" };
            at_router += &format!("address replace {router}/{length} dev {near}{nodad}\n");
            match (options.raw, attachment.mac) {
                (true, Some(mac)) => {
                    let mac = text(mac);
                    at_router +=
                        &format!("neigh replace {end} lladdr {mac} dev {near} nud permanent\n");
                }
                (true, None) => {}
                (false, _) => at_host += &format!("address add {end}/{length} dev {far}{nodad}\n"),
            }
        }
        self.node("router")?.ip(&at_router)?;
        self.node(host)?.ip(&at_host).map(drop)
    }

    /// An address of the server for itself, where the link is not the place for it.
    fn host_address(&self, options: &Options, device: &str, address: IpAddr) -> Result<(), Error> {
        if options.raw {
            return Ok(());
        }
        let length = if address.is_ipv6() { 128 } else { 32 };
        self.address("server", device, &format!("{address}/{length}"))
    }

    fn routes(&self, options: &Options, ipv6: bool) -> Result<(), Error> {
        let wan = options.arrangement.wan;
        let (mut at_client, mut at_server) = (String::new(), String::new());
        let families = [
            (
                true,
                ROUTER_LAN,
                ROUTER_WAN,
                SERVER,
                "192.168.1.0/24",
                SERVER_INNER,
            ),
            (
                ipv6,
                ROUTER_LAN6,
                ROUTER_WAN6,
                SERVER6,
                "2001:db8:1::/64",
                SERVER_INNER6,
            ),
        ];
        for (_, lan, wan_address, server, inside, inner) in
            families.into_iter().filter(|(on, ..)| *on)
        {
            if !options.raw {
                at_client += &format!("route replace default via {lan}\n");
                match wan {
                    Wan::Hairpin => at_server += &format!("route replace default via {lan}\n"),
                    // The line brings its own routes.
                    Wan::Pppoe | Wan::PppoeOverVlan => {}
                    _ => at_server += &format!("route replace {inside} via {wan_address}\n"),
                }
            }
            if options.second_path {
                let length = if inner.is_ipv6() { 128 } else { 32 };
                self.route("router", &format!("{inner}/{length}"), server)?;
                if !options.raw {
                    self.address("server", "lo", &format!("{inner}/{length}"))?;
                }
            }
        }
        self.node("client")?.ip(&at_client)?;
        self.node("server")?.ip(&at_server).map(drop)
    }

    fn translate(&self, options: &Options, device: &str) -> Result<(), Error> {
        // Without translation conntrack must run all the same: it is what accepts flows.
        self.masquerade("router", device, options.nat, options.ipv6 == Ipv6::Nat66)
    }
}

/// Those addresses whose family is on.
fn on(families: [bool; 2], addresses: Addresses) -> impl Iterator<Item = (IpAddr, IpAddr)> {
    let both = families.into_iter().zip(addresses);
    both.filter(|(on, _)| *on).map(|(_, ends)| ends)
}

/// A router whose answers do not depend on how fast it was asked.
fn patient(router: &Namespace) -> Result<(), Error> {
    for (key, value) in [
        ("net.ipv4.icmp_ratelimit", "0"),
        ("net.ipv4.icmp_ratemask", "0"),
        ("net.ipv6.icmp.ratelimit", "0"),
        ("net.ipv4.icmp_msgs_per_sec", "1000000"),
        ("net.ipv4.icmp_msgs_burst", "100000"),
        // A label made from a hash would differ between namespaces on some kernels.
        ("net.ipv6.auto_flowlabels", "0"),
    ] {
        router.sysctl(key, value)?;
    }
    // These appear with the first rule that needs conntrack.
    for key in [
        "udp_timeout",
        "udp_timeout_stream",
        "icmp_timeout",
        "icmpv6_timeout",
        "tcp_timeout_close",
        "tcp_timeout_close_wait",
        "tcp_timeout_fin_wait",
        "tcp_timeout_last_ack",
        "tcp_timeout_max_retrans",
        "tcp_timeout_syn_recv",
        "tcp_timeout_syn_sent",
        "tcp_timeout_time_wait",
        "tcp_timeout_unacknowledged",
    ] {
        router.sysctl(&format!("net.netfilter.nf_conntrack_{key}"), 86_400)?;
    }
    Ok(())
}
