//! The lab used everywhere: client – router – server, the router being a home gateway.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::topology::{Lab, Offloads, mac};
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
    /// Masquerade IPv4 on the WAN side.
    pub nat: bool,
    /// What happens to IPv6.
    pub ipv6: Ipv6,
    /// See [`Offloads::Plain`].
    pub plain_offloads: bool,
    /// A second wire router:wan1 – server:eth1 (10.0.1.0/24), and [`SERVER_INNER`] behind both, at first by wan0.
    pub second_path: bool,
    /// For traffic from [`crate::Tap`]s: hosts have no addresses, so that they never answer by themselves; the router's neighbours are permanent, its
    /// ICMP errors are not limited in rate, and its conntrack entries outlast any run.
    pub raw: bool,
    /// Largest IP packet on the WAN wires, octets; 1500 on the LAN.
    pub wan_mtu: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self {
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

impl Lab {
    /// Builds client:eth0 – router:lan0, router:wan0 – server:eth0 with addresses, routes, forwarding and translation.
    pub fn gateway(options: &Options) -> Result<Self, Error> {
        let mut lab = Self::new();
        lab.host("client")?;
        lab.router("router")?;
        lab.host("server")?;
        let offloads = match options.plain_offloads {
            true => Offloads::Plain,
            false => Offloads::Default,
        };
        if options.raw {
            for role in ["client", "server"] {
                for scope in ["all", "default"] {
                    lab.node(role)?
                        .sysctl(&format!("net.ipv6.conf.{scope}.disable_ipv6"), 1)?;
                }
            }
        }
        lab.wire(("client", "eth0"), ("router", "lan0"), offloads)?;
        lab.wire(("router", "wan0"), ("server", "eth0"), offloads)?;
        let ipv6 = options.ipv6 != Ipv6::Off;
        let mut wires = vec![
            (
                "client",
                "eth0",
                "lan0",
                (ROUTER_LAN, CLIENT),
                (ROUTER_LAN6, CLIENT6),
            ),
            (
                "server",
                "eth0",
                "wan0",
                (ROUTER_WAN, SERVER),
                (ROUTER_WAN6, SERVER6),
            ),
        ];
        if options.second_path {
            lab.wire(("router", "wan1"), ("server", "eth1"), offloads)?;
            wires.push(("server", "eth1", "wan1", SECOND, SECOND6));
        }
        for (host, device, port, ipv4, v6) in wires {
            if port.starts_with("wan") {
                lab.mtu("router", port, options.wan_mtu)?;
                lab.mtu(host, device, options.wan_mtu)?;
            }
            if ipv6 && !options.raw {
                // A router solicits its neighbours from the link-local address, and the lab gives none by itself.
                lab.address("router", port, "fe80::1/64")?;
                lab.address(host, device, "fe80::2/64")?;
            }
            let families = [(true, ipv4, 24), (ipv6, v6, 64)];
            for (_, (router, end), length) in families.into_iter().filter(|(on, ..)| *on) {
                lab.address("router", port, &format!("{router}/{length}"))?;
                if options.raw {
                    lab.neighbour("router", port, end, mac(host, device))?;
                } else {
                    lab.address(host, device, &format!("{end}/{length}"))?;
                }
            }
        }
        lab.routes(options, ipv6)?;
        if options.raw {
            patient(lab.node("router")?)?;
        }
        for device in ["wan0", "wan1"]
            .iter()
            .take(1 + usize::from(options.second_path))
        {
            lab.translate(options, device)?;
        }
        Ok(lab)
    }

    fn routes(&self, options: &Options, ipv6: bool) -> Result<(), Error> {
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
        for (_, lan, wan, server, inside, inner) in families.into_iter().filter(|(on, ..)| *on) {
            if !options.raw {
                self.route("client", "default", lan)?;
                self.route("server", inside, wan)?;
            }
            if options.second_path {
                let length = if inner.is_ipv6() { 128 } else { 32 };
                self.route("router", &format!("{inner}/{length}"), server)?;
                if !options.raw {
                    self.address("server", "lo", &format!("{inner}/{length}"))?;
                }
            }
        }
        Ok(())
    }

    fn translate(&self, options: &Options, device: &str) -> Result<(), Error> {
        // Without translation conntrack must run all the same: it is what accepts flows.
        self.masquerade("router", device, options.nat, options.ipv6 == Ipv6::Nat66)
    }
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
