//! The lab of most tests: client – router – server, with the router as a home gateway.

mod build;
mod line;
mod options;

use std::net::IpAddr;
use std::ops::{Deref, DerefMut};

use crate::arrangement::{Arrangement, Wan};
use crate::frame::text;
use crate::topology::Topology;
use crate::{Error, Namespace};

use build::{Attachment, build, choose_wan, reflect};
use line::PppoeLine;

pub use crate::addresses::*;
pub use options::{Ipv6, Options};

/// Addresses of router and host at each end of a link, IPv4 and IPv6.
type Addresses = [(IpAddr, IpAddr); 2];

/// A [`Topology`], optionally with a gateway and its hosts. Removed when dropped.
#[derive(Debug, Default)]
pub struct Lab {
    // Drop order: programs end before their devices are gone.
    line: Option<PppoeLine>,
    arrangement: Arrangement,
    topology: Topology,
}

impl Deref for Lab {
    type Target = Topology;

    fn deref(&self) -> &Topology {
        &self.topology
    }
}

impl DerefMut for Lab {
    fn deref_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }
}

impl Lab {
    /// Makes an empty lab.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds client – router – server in the arrangement of [`Options::arrangement`], with
    /// addresses, routes, forwarding and translation. The plain arrangement is client:eth0 –
    /// router:lan0, router:wan0 – server:eth0.
    pub fn gateway(options: &Options) -> Result<Self, Error> {
        let mut lab = Self::new();
        let wan = options.arrangement.wan;
        lab.arrangement = options.arrangement;
        let attachments = build(&mut lab, options)?;
        if wan.dials() {
            lab.line = Some(PppoeLine::lay(&lab, options)?);
        }
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
            reflect(lab.node("router")?, ipv6)?;
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
            choose_wan(lab.node("router")?, ipv6)?;
        }
        if options.raw {
            // Last, because some settings appear with the first rule that needs conntrack.
            patient(lab.node("router")?)?;
        }
        Ok(lab)
    }

    /// Returns the gateway's arrangement; plain in any other lab.
    pub fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    /// Dials PPPoE and waits until the link is up with its addresses and routes. Each call makes a
    /// new session.
    pub fn dial(&mut self) -> Result<(), Error> {
        let (line, topology) = self.line()?;
        line.dial(topology)
    }

    /// Dials a second session over the same wire and waits until its device `ppp7` is up. The
    /// second session has no address and carries no traffic.
    pub fn dial_another(&mut self) -> Result<(), Error> {
        let (line, topology) = self.line()?;
        line.dial_another(topology)
    }

    /// Ends the session in order and waits until the link is gone at both ends.
    pub fn hang_up(&mut self) -> Result<(), Error> {
        let (line, topology) = self.line()?;
        line.hang_up(topology)
    }

    /// Returns the PPPoE session of the router's kernel, if any.
    pub fn session(&self) -> Result<Option<u16>, Error> {
        match self.line {
            Some(_) => line::session(self.node("router")?),
            None => Ok(None),
        }
    }

    /// Adds table `inet fast` to the router. Established connections go to a flowtable, existing
    /// ones with their next packet; a counter counts the packets that still reach the rules. Needs
    /// `CONFIG_NF_FLOW_TABLE`.
    pub fn flowtable(&self) -> Result<(), Error> {
        let router = self.node("router")?;
        let devices = self.arrangement.ports().join(", ");
        let rules = format!(
            "table inet fast {{\n\
             counter slow {{ }}\n\
             flowtable ft {{ hook ingress priority filter; devices = {{ {devices} }}; }}\n\
             chain forward {{ type filter hook forward priority filter; policy accept;\n\
             counter name slow\n\
             ct state established meta l4proto {{ tcp, udp }} flow add @ft\n\
             }}\n}}\n"
        );
        router.nft(&rules).map(drop)
    }

    /// Deletes the flowtable: the rules handle its connections again.
    pub fn without_flowtable(&self) -> Result<(), Error> {
        let router = self.node("router")?;
        router.nft("delete table inet fast").map(drop)
    }

    /// Returns the number of packets that the flowtable left to the rules.
    pub fn left_by_flowtable(&self) -> Result<u64, Error> {
        let router = self.node("router")?;
        let shown = router.run("nft list counter inet fast slow")?;
        let mut words = shown
            .split_whitespace()
            .skip_while(|word| *word != "packets");
        words
            .nth(1)
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| Error::Unexpected(format!("a counter that nft does not show: {shown}")))
    }

    fn line(&mut self) -> Result<(&mut PppoeLine, &Topology), Error> {
        let missing = || Error::Unexpected("this lab has no PPPoE".into());
        Ok((self.line.as_mut().ok_or_else(missing)?, &self.topology))
    }

    /// Disables IPv6 on the hosts. A server that dials keeps IPv6, because its program needs it,
    /// and drops received packets.
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

    /// Gives both ends of a link their addresses, or the router permanent neighbours.
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
            // A router solicits neighbours from its link-local address, which the lab does not add
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

    /// Adds an address to the server itself, for links without host addresses.
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
                    // The line adds its own routes.
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
        // Conntrack must run even without translation, because conntrack accepts the flows.
        self.masquerade("router", device, options.nat, options.ipv6 == Ipv6::Nat66)
    }
}

/// Returns the addresses of the families that are on.
fn on(families: [bool; 2], addresses: Addresses) -> impl Iterator<Item = (IpAddr, IpAddr)> {
    let both = families.into_iter().zip(addresses);
    both.filter(|(on, _)| *on).map(|(_, ends)| ends)
}

/// Makes the router's answers independent of the request rate.
fn patient(router: &Namespace) -> Result<(), Error> {
    for (key, value) in [
        ("net.ipv4.icmp_ratelimit", "0"),
        ("net.ipv4.icmp_ratemask", "0"),
        ("net.ipv6.icmp.ratelimit", "0"),
        ("net.ipv4.icmp_msgs_per_sec", "1000000"),
        ("net.ipv4.icmp_msgs_burst", "100000"),
        // On some kernels, labels made from a hash differ between namespaces.
        ("net.ipv6.auto_flowlabels", "0"),
    ] {
        router.sysctl(key, value)?;
    }
    // These keys appear with the first rule that needs conntrack.
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
