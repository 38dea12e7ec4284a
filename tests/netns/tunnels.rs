//! Tunnels and IPsec at the router: weir leaves their packets to the kernel, reports that, and none
//! appears outside. Other packets are forwarded again as soon as possible.
//!
//! The wire between router and server is a bridge in its own namespace, so that taps record the
//! sent packets, not the receiver's result.

mod ipsec;
#[allow(dead_code, reason = "each test program uses a part of it")]
use crate::script_comparison;
mod wireguard;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use lab::gateway::{
    CLIENT, CLIENT6, ROUTER_LAN, ROUTER_LAN6, ROUTER_WAN, ROUTER_WAN6, SERVER, SERVER_INNER,
    SERVER_INNER6, SERVER6,
};
use lab::topology::Offloads;
use lab::{Error, Lab};
use script_comparison::{Place, Script, Stage, act, play};
use weir_tests::scene::Forwarder;

/// Port of echo servers.
const ECHO: u16 = 7;
/// Taps: questions in the clear on the wire, answers in the clear, and arriving answers.
const PLACES: [Place; 3] = [
    ("wire", "near", "asked"),
    ("wire", "far", "answer"),
    ("client", "eth0", "client"),
];
/// Observation of a flow in the clear.
const PLAIN: &str = "all answer+asked+client";
/// Observation of a flow that is hidden on the wire.
const HIDDEN: &str = "all client";

/// Builds client, router, wire and server, in both families, untranslated. conntrack is active, and
/// [`SERVER_INNER`] is behind the server.
fn plain(by: Forwarder) -> Result<Stage, Error> {
    let mut lab = Lab::new();
    lab.host("client")?;
    lab.router("router")?;
    lab.host("wire")?;
    lab.host("server")?;
    let offloads = match by {
        Forwarder::Weir("xdp") => Offloads::Plain,
        _ => Offloads::Default,
    };
    lab.wire(("client", "eth0"), ("router", "lan0"), offloads)?;
    lab.wire(("router", "wan0"), ("wire", "near"), offloads)?;
    lab.wire(("wire", "far"), ("server", "eth0"), offloads)?;
    lab.node("wire")?.ip(
        "link add name bridge type bridge\nlink set near master bridge\nlink set far master \
            bridge\nlink set bridge up\n",
    )?;
    for (role, device, address) in [
        ("client", "eth0", format!("{CLIENT}/24")),
        ("client", "eth0", format!("{CLIENT6}/64")),
        ("client", "eth0", "fe80::2/64".into()),
        ("router", "lan0", format!("{ROUTER_LAN}/24")),
        ("router", "lan0", format!("{ROUTER_LAN6}/64")),
        ("router", "lan0", "fe80::1/64".into()),
        ("router", "wan0", format!("{ROUTER_WAN}/24")),
        ("router", "wan0", format!("{ROUTER_WAN6}/64")),
        ("router", "wan0", "fe80::1/64".into()),
        ("server", "eth0", format!("{SERVER}/24")),
        ("server", "eth0", format!("{SERVER6}/64")),
        ("server", "eth0", "fe80::2/64".into()),
        ("server", "lo", format!("{SERVER_INNER}/32")),
        ("server", "lo", format!("{SERVER_INNER6}/128")),
    ] {
        lab.address(role, device, &address)?;
    }
    for (role, to, via) in [
        ("client", "default", ROUTER_LAN),
        ("client", "default", ROUTER_LAN6),
        ("server", "192.168.1.0/24", ROUTER_WAN),
        ("server", "2001:db8:1::/64", ROUTER_WAN6),
        ("router", "203.0.113.1/32", SERVER),
        ("router", "2001:db8:99::1/128", SERVER6),
    ] {
        lab.route(role, to, via)?;
    }
    lab.masquerade("router", "wan0", false, false)?;
    Stage::new(by, lab, &PLACES, &[])
}

/// Adds a flow of each of these families to the address behind the server.
fn flows(mut stage: Stage, families: &[IpAddr]) -> Result<Stage, Error> {
    for to in families {
        let (name, from) = match to.is_ipv6() {
            true => ("flow6", CLIENT6),
            false => ("flow4", CLIENT),
        };
        stage.call(name, "client", from, (*to, ECHO))?;
    }
    Ok(stage)
}

/// Routes both families into a device; `None` means the wire.
fn route(stage: &Stage, role: &str, device: Option<&str>) -> Result<(), Error> {
    let node = stage.lab.node(role)?;
    let routes = match role {
        "router" => [
            ("-4", "203.0.113.1/32", SERVER),
            ("-6", "2001:db8:99::1/128", SERVER6),
        ],
        _ => [
            ("-4", "192.168.1.0/24", ROUTER_WAN),
            ("-6", "2001:db8:1::/64", ROUTER_WAN6),
        ],
    };
    for (family, to, via) in routes {
        let way = match device {
            Some(device) => format!("dev {device}"),
            None => format!("via {via}"),
        };
        // IPv6 cannot replace a route by another kind of route.
        node.run(&format!("ip {family} route del {to}"))?;
        node.run(&format!("ip {family} route add {to} {way}"))?;
    }
    Ok(())
}

/// A flow in the clear is routed into a tunnel, first one way, then both, and out again.
fn into_and_out_of(build: &(dyn Fn(Forwarder) -> Result<Stage, Error> + Sync)) {
    let acts = [
        act("no tunnel", |_| Ok(()), PLAIN),
        act(
            "questions go into a tunnel",
            |s| route(s, "router", Some("tun0")),
            "all answer+client",
        )
        .any(),
        act("answers too", |s| route(s, "server", Some("tun0")), HIDDEN).left(),
        act(
            "questions no longer",
            |s| route(s, "router", None),
            "all asked+client",
        )
        .any(),
        act("nothing any more", |s| route(s, "server", None), PLAIN),
        act(
            "once more, at once",
            |s| {
                route(s, "router", Some("tun0"))?;
                route(s, "server", Some("tun0"))
            },
            HIDDEN,
        )
        .left(),
        act(
            "the tunnel is gone, and its routes with it",
            |s| {
                s.lab.node("router")?.run("ip link del tun0")?;
                s.lab.node("server")?.run("ip link del tun0").map(drop)
            },
            "all -",
        ),
    ];
    play(&Script::new(build, &acts));
}

/// Creates a GRE tunnel between two hosts' addresses, at both ends.
fn tunnel(lab: &Lab, ends: [(&str, IpAddr); 2]) -> Result<(), Error> {
    for ((role, local), (_, remote)) in [(ends[0], ends[1]), (ends[1], ends[0])] {
        lab.node(role)?.ip(&format!(
            "link add name tun0 type gre local {local} remote {remote}\nlink set tun0 up\n"
        ))?;
    }
    Ok(())
}

const GATEWAYS: [(&str, IpAddr); 2] = [("router", ROUTER_WAN), ("server", SERVER)];
const HOSTS: [(&str, IpAddr); 2] = [("client", CLIENT), ("server", SERVER)];

#[test]
#[ignore = "needs ip_gre: run by tests/vm/run"]
fn gre() {
    into_and_out_of(&|by| {
        let stage = plain(by)?;
        tunnel(&stage.lab, GATEWAYS)?;
        flows(stage, &[SERVER_INNER, SERVER_INNER6])
    });
}

/// WireGuard's port.
const LISTEN: u16 = 51_820;

/// Creates a WireGuard tunnel, like [`tunnel`].
fn guarded(lab: &Lab, ends: [(&str, IpAddr); 2]) -> Result<(), Error> {
    let mut keys = Vec::new();
    for (number, (role, _)) in (1..).zip(ends) {
        // Any bytes are valid: the kernel makes a key of them.
        keys.push(wireguard::create(
            lab.node(role)?,
            "tun0",
            [number; 32],
            LISTEN,
        )?);
    }
    for (index, (role, _)) in ends.iter().enumerate() {
        let other = 1 - index;
        let endpoint = SocketAddr::new(ends[other].1, LISTEN);
        let node = lab.node(role)?;
        wireguard::peer(node, "tun0", keys[other], endpoint)?;
        node.run("ip link set tun0 up")?;
    }
    Ok(())
}

#[test]
#[ignore = "needs wireguard: run by tests/vm/run"]
fn wireguard_at_the_router() {
    into_and_out_of(&|by| {
        let stage = plain(by)?;
        guarded(&stage.lab, GATEWAYS)?;
        flows(stage, &[SERVER_INNER, SERVER_INNER6])
    });
}

/// Routes the two hosts into their tunnel.
fn by_tunnel(stage: &Stage) -> Result<(), Error> {
    let (client, server) = (stage.lab.node("client")?, stage.lab.node("server")?);
    client.run("ip route add 203.0.113.1/32 dev tun0 src 192.168.1.2")?;
    client.run("ip -6 route add 2001:db8:99::1/128 dev tun0 src 2001:db8:1::2")?;
    // The tunnel's own packets stay on the wire: only the other address is routed into it.
    client.run("ip addr add 172.31.0.1/32 dev tun0")?;
    server.run("ip route add 172.31.0.1/32 dev tun0").map(drop)
}

/// A tunnel between hosts passes the router: the kernel handles all but TCP and UDP.
#[test]
#[ignore = "needs ip_gre: run by tests/vm/run"]
fn a_tunnel_through_the_router() {
    let stage = |by| {
        let mut stage = plain(by)?;
        tunnel(&stage.lab, HOSTS)?;
        by_tunnel(&stage)?;
        let from = "172.31.0.1".parse().expect("an address");
        stage.call("inside4", "client", from, (SERVER_INNER, ECHO))?;
        Ok(stage)
    };
    let acts = [
        act("in the tunnel", |_| Ok(()), "all hidden").left(),
        act(
            "and still",
            |s| s.talk(Duration::from_secs(1)),
            "all hidden",
        )
        .left(),
    ];
    play(&Script::new(&stage, &acts));
}

/// WireGuard between hosts is a single UDP flow, which weir forwards.
#[test]
#[ignore = "needs wireguard: run by tests/vm/run"]
fn wireguard_through_the_router() {
    let stage = |by| {
        let mut stage = plain(by)?;
        guarded(&stage.lab, HOSTS)?;
        by_tunnel(&stage)?;
        let from = "172.31.0.1".parse().expect("an address");
        stage.call("inside4", "client", from, (SERVER_INNER, ECHO))?;
        Ok(stage)
    };
    let acts = [
        act("in the tunnel", |_| Ok(()), "all hidden"),
        act(
            "rules that end it",
            |s| {
                s.lab
                    .node("router")?
                    .nft(&format!(
                        "table inet cut {{ chain forward {{ type filter hook forward priority \
                            -10; policy accept;\nudp dport {LISTEN} drop\n}}\n}}\n"
                    ))
                    .map(drop)
            },
            "all -",
        ),
        act(
            "and no longer",
            |s| {
                s.lab
                    .node("router")?
                    .run("nft delete table inet cut")
                    .map(drop)
            },
            "all hidden",
        ),
    ];
    play(&Script::new(&stage, &acts));
}
