//! Builds the devices of an [`Arrangement`](crate::Arrangement).

use std::net::IpAddr;

use crate::addresses::{
    CLIENT, CLIENT6, NEIGHBOUR, NEIGHBOUR6, ROUTER_WAN, ROUTER_WAN6, SECOND, SECOND6,
};
use crate::arrangement::{INNER_VLAN, LAN_VLAN, Lan, OTHER_VLAN, PCP, TUNNEL_TAP, WAN_VLAN, Wan};
use crate::frame::{Mac, mac, text};
use crate::topology::{Offloads, Topology};
use crate::{Error, Namespace};

use super::options::Options;

/// Link between a host with addresses and the router.
#[derive(Clone, Debug)]
pub(super) struct Attachment {
    /// The host.
    pub host: &'static str,
    /// The host's device with addresses.
    pub far: &'static str,
    /// The host's hardware address; `None` on a link without hardware addresses.
    pub mac: Option<Mac>,
    /// The router's device with addresses.
    pub near: &'static str,
}

/// Makes hosts, wires and devices, without addresses and without dialling PPPoE. The attachments
/// are those of the client, the server and the second WAN, in this order.
pub(super) fn build(topology: &mut Topology, options: &Options) -> Result<Vec<Attachment>, Error> {
    let arrangement = &options.arrangement;
    topology.host("client")?;
    topology.router("router")?;
    topology.host("server")?;
    if arrangement.wan == Wan::Hairpin {
        return hairpin(topology, options);
    }
    let mut attachments = vec![lan(topology, options)?];
    attachments.extend(wan(topology, options)?);
    if arrangement.vrf {
        let router = topology.node("router")?;
        router.ip("link add vrf0 type vrf table 100\nlink set vrf0 up\n")?;
        for device in [arrangement.lan_device(), arrangement.wan_device()] {
            router.run(&format!("ip link set {device} master vrf0"))?;
        }
    }
    Ok(attachments)
}

fn offloads(options: &Options) -> Offloads {
    match options.plain_offloads {
        true => Offloads::Plain,
        false => Offloads::Default,
    }
}

fn lan(topology: &mut Topology, options: &Options) -> Result<Attachment, Error> {
    let arrangement = &options.arrangement;
    for (index, member) in arrangement.lan.members().iter().enumerate() {
        let host = arrangement.lan.host(index);
        if index != arrangement.lan.home() {
            topology.host(host)?;
        }
        let offloads = match (*member, offloads(options)) {
            ("wlan0", Offloads::Plain) => Offloads::WithoutXdp,
            (_, offloads) => offloads,
        };
        topology.wire((host, "eth0"), ("router", member), offloads)?;
    }
    let router = topology.node("router")?;
    let client = topology.node("client")?;
    let mut far = "eth0";
    match arrangement.lan {
        Lan::Wire => {}
        Lan::Vlan => {
            vlan(router, "lan0", "lan0.10", LAN_VLAN, "")?;
            if !options.raw {
                vlan(client, "eth0", "eth0.10", LAN_VLAN, "")?;
            }
            far = "eth0.10";
        }
        Lan::Bridge(members, _) => bridge(router, members, "")?,
        Lan::Filtering { trunk } => {
            let members = arrangement.lan.members();
            bridge(router, members, "vlan_filtering 1 vlan_default_pvid 0")?;
            for line in [
                format!("bridge vlan add dev lan1 vid {LAN_VLAN} pvid untagged"),
                format!("bridge vlan add dev lan2 vid {LAN_VLAN}"),
                format!("bridge vlan add dev lan2 vid {OTHER_VLAN}"),
                format!("bridge vlan add dev lan3 vid {OTHER_VLAN} pvid untagged"),
                format!("bridge vlan add dev br0 vid {LAN_VLAN} self"),
            ] {
                router.run(&line)?;
            }
            vlan(router, "br0", "br0.10", LAN_VLAN, "")?;
            if trunk {
                if !options.raw {
                    vlan(client, "eth0", "eth0.10", LAN_VLAN, "")?;
                }
                far = "eth0.10";
            }
        }
    }
    Ok(Attachment {
        host: "client",
        far,
        mac: Some(mac("client", "eth0")),
        near: arrangement.lan_device(),
    })
}

fn bridge(router: &Namespace, members: &[&str], settings: &str) -> Result<(), Error> {
    // If the kernel has bridge netfilter, a new namespace starts with it on, and NAT rules for
    // routed traffic also translate bridged frames. Routers switch bridge netfilter off.
    for family in ["iptables", "ip6tables", "arptables"] {
        let _ = router.sysctl(&format!("net.bridge.bridge-nf-call-{family}"), 0);
    }
    let mut lines = format!(
        "link add br0 address {} type bridge {settings}\n",
        text(mac("router", "br0"))
    );
    for member in members {
        lines += &format!("link set {member} master br0\n");
    }
    lines += "link set br0 up\n";
    router.ip(&lines).map(drop)
}

fn vlan(node: &Namespace, on: &str, name: &str, id: u16, settings: &str) -> Result<(), Error> {
    let lines = format!(
        "link add link {on} name {name} type vlan {settings} id {id}\nlink set {name} up\n"
    );
    node.ip(&lines).map(drop)
}

/// Adds the WAN's VLAN: on the router with its PCP by priority, and on the server if `server_too`.
fn wan_vlan(topology: &Topology, server_too: bool) -> Result<(), Error> {
    let router = topology.node("router")?;
    vlan(router, "wan0", "wan0.7", WAN_VLAN, "")?;
    let map: Vec<_> = PCP
        .iter()
        .map(|(priority, pcp)| format!("{priority}:{pcp}"))
        .collect();
    router.run(&format!(
        "ip link set wan0.7 type vlan egress-qos-map {}",
        map.join(" ")
    ))?;
    if server_too {
        vlan(topology.node("server")?, "eth0", "eth0.7", WAN_VLAN, "")?;
    }
    Ok(())
}

fn wan(topology: &mut Topology, options: &Options) -> Result<Vec<Attachment>, Error> {
    let wan = options.arrangement.wan;
    let device = options.arrangement.wan_device();
    topology.wire(("router", "wan0"), ("server", "eth0"), offloads(options))?;
    let (router, server) = (topology.node("router")?, topology.node("server")?);
    let hosts = !options.raw;
    let mut far = "eth0";
    match wan {
        Wan::Wire | Wan::Two | Wan::Hairpin => {}
        Wan::Vlan | Wan::VlanWithOwnMac => {
            wan_vlan(topology, hosts)?;
            if wan == Wan::VlanWithOwnMac {
                let own = text(mac("router", "wan0.7"));
                router.run(&format!("ip link set wan0.7 address {own}"))?;
            }
            far = "eth0.7";
        }
        Wan::Qinq => {
            // Makes room for both tags.
            for (node, device) in [(router, "wan0"), (server, "eth0")] {
                node.run(&format!("ip link set {device} mtu 1508"))?;
            }
            let ends = [(router, "wan0", true), (server, "eth0", hosts)];
            for (node, device, _) in ends.into_iter().filter(|(.., on)| *on) {
                let outer = format!("{device}.7");
                let inner = format!("{outer}.100");
                vlan(node, device, &outer, WAN_VLAN, "protocol 802.1ad")?;
                vlan(node, &outer, &inner, INNER_VLAN, "")?;
            }
            far = "eth0.7.100";
        }
        Wan::Pppoe | Wan::PppoeOverVlan => {
            if wan == Wan::PppoeOverVlan {
                wan_vlan(topology, true)?;
            }
            // The server's end is a program with a packet socket, which cannot finish checksums.
            router.run("ethtool -K wan0 tx off")?;
            return Ok(vec![attached("ppp0", "ppp0", None)]);
        }
        Wan::WireGuard => {
            wireguard(router, server)?;
            if options.raw {
                as_ethernet(server)?;
            }
            far = "wg0";
        }
    }
    let address = (wan != Wan::WireGuard).then(|| mac("server", "eth0"));
    let mut attachments = vec![attached(far, device, address)];
    if wan == Wan::Two || options.second_path {
        topology.wire(("router", "wan1"), ("server", "eth1"), offloads(options))?;
        attachments.push(attached("eth1", "wan1", Some(mac("server", "eth1"))));
    }
    for attachment in &attachments {
        topology.mtu("router", attachment.near, options.wan_mtu)?;
        if hosts || matches!(wan, Wan::Wire | Wan::Two | Wan::WireGuard) {
            topology.mtu("server", attachment.far, options.wan_mtu)?;
        }
    }
    Ok(attachments)
}

fn attached(far: &'static str, near: &'static str, mac: Option<Mac>) -> Attachment {
    Attachment {
        host: "server",
        far,
        mac,
        near,
    }
}

/// Connects client, server and router to a switch that knows their ports; the WAN has no server.
fn hairpin(topology: &mut Topology, options: &Options) -> Result<Vec<Attachment>, Error> {
    topology.host("switch")?;
    topology.host("isp")?;
    let ends = [("client", "eth0"), ("server", "eth0"), ("router", "lan0")];
    let mut lines = String::from("link add br0 type bridge mcast_snooping 0\n");
    let mut learned = Vec::new();
    for (index, (role, device)) in ends.into_iter().enumerate() {
        let port = ["port1", "port2", "port3"][index];
        topology.wire((role, device), ("switch", port), offloads(options))?;
        lines += &format!("link set {port} master br0\n");
        learned.push(format!(
            "bridge fdb replace {} dev {port} master static",
            text(mac(role, device))
        ));
    }
    let switch = topology.node("switch")?;
    switch.ip(&format!("{lines}link set br0 up\n"))?;
    for line in learned {
        switch.run(&line)?;
    }
    topology.wire(("router", "wan0"), ("isp", "eth0"), offloads(options))?;
    let attachment = |host| Attachment {
        host,
        far: "eth0",
        mac: Some(mac(host, "eth0")),
        near: "lan0",
    };
    Ok(["client", "server"].map(attachment).to_vec())
}

/// Makes a tunnel over addresses that tests do not use.
fn wireguard(router: &Namespace, server: &Namespace) -> Result<(), Error> {
    let ends = [
        (router, "wan0", "198.18.0.1", "198.18.0.2"),
        (server, "eth0", "198.18.0.2", "198.18.0.1"),
    ];
    let mut keys = Vec::new();
    for (node, ..) in ends {
        let private = node.run("wg genkey")?;
        let public = node.feed("wg pubkey", &private)?;
        keys.push((private, public.trim().to_owned()));
    }
    for (index, (node, device, own, other)) in ends.into_iter().enumerate() {
        node.ip(&format!(
            "addr add {own}/30 dev {device}\nlink add wg0 type wireguard\n"
        ))?;
        node.feed(
            "wg set wg0 listen-port 51820 private-key /dev/stdin",
            &keys[index].0,
        )?;
        node.run(&format!(
            "wg set wg0 peer {} endpoint {other}:51820 allowed-ips 0.0.0.0/0,::/0",
            keys[1 - index].1
        ))?;
        node.run("ip link set wg0 up")?;
    }
    Ok(())
}

/// Gives the server's end of the tunnel an Ethernet header. A packet socket on [`TUNNEL_TAP`] then
/// sees and sends frames as on a wire.
fn as_ethernet(server: &Namespace) -> Result<(), Error> {
    let (host, router) = (mac("server", "eth0"), mac("router", "wan0"));
    server.ip(&format!(
        "link add tun0 type veth peer name {TUNNEL_TAP}\nlink set tun0 up\nlink set {TUNNEL_TAP} \
            up\n"
    ))?;
    for line in [
        "tc qdisc add dev wg0 clsact".to_owned(),
        "tc qdisc add dev tun0 clsact".to_owned(),
        format!(
            "tc filter add dev wg0 ingress matchall action vlan push_eth dst_mac {} src_mac {} \
                pipe action mirred egress redirect dev tun0",
            text(host),
            text(router)
        ),
        "tc filter add dev tun0 ingress matchall action vlan pop_eth pipe action mirred egress \
            redirect dev wg0"
            .to_owned(),
    ] {
        server.run(&line)?;
    }
    Ok(())
}

/// Sends a part of the connections over the second WAN: TCP by the connection's mark, UDP by source
/// address and port.
pub(super) fn choose_wan(router: &Namespace, ipv6: bool) -> Result<(), Error> {
    router.nft(concat!(
        "table inet wans { chain choose { type filter hook prerouting priority mangle; policy \
            accept;\n",
        "ct mark != 0 meta mark set ct mark accept\n",
        // Every connection gets a mark. Otherwise a stray packet could mark a wan0 connection
        // later, and NAT would translate that connection again.
        "ct mark set 1\n",
        "iifname wan1 ct mark set 2\n",
        "iifname lan0 meta l4proto tcp tcp dport & 2 == 2 ct mark set 2\n",
        "meta mark set ct mark\n",
        "}\n}\n"
    ))?;
    let families = [
        (true, "-4", CLIENT, "192.168.1.0/24", SECOND.1),
        (ipv6, "-6", CLIENT6, "2001:db8:1::/64", SECOND6.1),
    ];
    for (_, family, client, inside, via) in families.into_iter().filter(|(on, ..)| *on) {
        for rest in [
            format!("route add {inside} dev lan0 table 2"),
            format!("route add default via {via} dev wan1 table 2"),
            "rule add fwmark 2 lookup 2 priority 1000".to_owned(),
            format!("rule add from {client} ipproto udp sport 20000-20039 lookup 2 priority 1001"),
        ] {
            router.run(&format!("ip {family} {rest}"))?;
        }
    }
    Ok(())
}

/// Redirects the client's packets for the router's WAN address to a LAN host; replies return
/// through the router.
pub(super) fn reflect(router: &Namespace, ipv6: bool) -> Result<(), Error> {
    let mut rules = [String::new(), String::new()];
    let families = [
        (true, "ip", ROUTER_WAN, NEIGHBOUR),
        (ipv6, "ip6", ROUTER_WAN6, NEIGHBOUR6),
    ];
    for (_, family, wan, to) in families.into_iter().filter(|(on, ..)| *on) {
        let to: IpAddr = to;
        rules[0] += &format!(
            "iifname lan0 {family} daddr {wan} meta l4proto {{ tcp, udp }} dnat {family} to {to}\n"
        );
        rules[1] += &format!("oifname lan0 {family} daddr {to} ct status dnat masquerade\n");
    }
    let [before, behind] = rules;
    router
        .nft(&format!(
            "table inet hairpin {{ chain before {{ type nat hook prerouting priority dstnat; \
                policy accept;\n{before}}}\nchain behind {{ type nat hook postrouting priority \
                srcnat; policy accept;\n{behind}}}\n}}\n"
        ))
        .map(drop)
}
