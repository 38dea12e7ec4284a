//! Hairpins back to the side of origin, and a routing domain of both sides.

use std::net::SocketAddr;

use lab::gateway::{CLIENT, CLIENT6, ROUTER_LAN6, ROUTER_WAN, ROUTER_WAN6};
use lab::{Ipv6, Options};
use weir_tests::scene;

use crate::multiwan::script_comparison::{Caller, Place, Script, Stage, act, play};
use crate::multiwan::{
    ECHO, OTHER, SECOND_CLIENT, SECOND_CLIENT6, address, both, guest, pair, providers,
};

/// A client connects to the router's outer address, and a host of its own network (in = out) or of
/// another network answers.
#[test]
fn a_hairpin_goes_back_where_it_came_from() {
    let stage = |by| {
        let options = Options {
            ipv6: Ipv6::Nat66,
            ..Options::default()
        };
        let mut lab = scene::lab(by, &options)?;
        guest(&mut lab, by)?;
        for (role, device, address) in [
            ("client", "eth0", format!("{SECOND_CLIENT}/24")),
            ("client", "eth0", format!("{SECOND_CLIENT6}/64")),
        ] {
            lab.address(role, device, &address)?;
        }
        lab.node("router")?.nft(&format!(
            "table inet hairpin {{\n\
             chain pre {{ type nat hook prerouting priority dstnat; policy accept;\n\
             ip daddr {ROUTER_WAN} udp dport {ECHO} dnat ip to {SECOND_CLIENT}\n\
             ip daddr {ROUTER_WAN} udp dport {OTHER} dnat ip to 192.168.2.2\n\
             ip6 daddr {ROUTER_WAN6} udp dport {ECHO} dnat ip6 to {SECOND_CLIENT6}\n\
             ip6 daddr {ROUTER_WAN6} udp dport {OTHER} dnat ip6 to 2001:db8:4::2\n}}\n\
             chain post {{ type nat hook postrouting priority srcnat - 1; policy accept;\n\
             iifname \"lan0\" oifname \"lan0\" masquerade\n}}\n}}\n"
        ))?;
        const WATCH: [Place; 2] = [("client", "eth0", "client"), ("guest", "eth0", "guest")];
        let mut stage = Stage::new(by, lab, &WATCH, &["lan1"])?;
        for (role, at, port) in [
            ("client", SECOND_CLIENT, ECHO),
            ("client", SECOND_CLIENT6, ECHO),
            ("guest", "192.168.2.2", OTHER),
            ("guest", "2001:db8:4::2", OTHER),
        ] {
            stage.echo(role, SocketAddr::new(address(at), port))?;
        }
        for (name, from, to) in [
            ("same4", CLIENT, (ROUTER_WAN, ECHO)),
            ("same6", CLIENT6, (ROUTER_WAN6, ECHO)),
            ("other4", CLIENT, (ROUTER_WAN, OTHER)),
            ("other6", CLIENT6, (ROUTER_WAN6, OTHER)),
        ] {
            let caller = Caller::open(&stage.lab, name, "client", from, to)?;
            stage.callers.push(caller);
        }
        Ok(stage)
    };
    let acts = [
        // Answers also arrive at the client's eth0: requests to the guest appear at both.
        act("redirected", |_| Ok(()), "*"),
        act(
            "the rules that redirect are gone, the connections are not",
            |s| {
                let router = s.lab.node("router")?;
                router.run("nft flush chain inet hairpin pre").map(drop)
            },
            "*",
        ),
        act(
            "the host moves away",
            |s| {
                let client = s.lab.node("client")?;
                client.run(&format!("ip addr del {SECOND_CLIENT}/24 dev eth0"))?;
                client
                    .run(&format!("ip addr del {SECOND_CLIENT6}/64 dev eth0"))
                    .map(drop)
            },
            "*",
        ),
    ];
    let pictures = play(&Script::new(&stage, &acts));
    for step in [0, 1] {
        assert!(pictures[step].answered("same4") && pictures[step].answered("other6"));
    }
    assert!(!pictures[2].answered("same4") && !pictures[2].answered("same6"));
    assert!(pictures[2].answered("other4") && pictures[2].answered("other6"));
}

/// Both sides of the router are in one routing domain, whose routes differ from the main table for
/// equal prefixes.
#[test]
#[ignore = "needs vrf: run by tests/vm/run"]
fn a_routing_domain_of_its_own() {
    let stage = |by| {
        let mut stage = providers(by, false)?;
        let lab = &stage.lab;
        let router = lab.node("router")?;
        router.ip(
            "link add blue type vrf table 10\nlink set blue up\n\
             link set lan0 master blue\nlink set wan0 master blue\nlink set wan1 master blue\n\
             route add default via 10.0.0.2 table 10\nroute replace unreachable default metric 1\n",
        )?;
        // A change of master removes IPv6 addresses.
        for (device, address) in [
            ("lan0", format!("{ROUTER_LAN6}/64")),
            ("lan0", "fe80::1/64".into()),
            ("wan0", format!("{ROUTER_WAN6}/64")),
            ("wan0", "fe80::1/64".into()),
            ("wan1", "2001:db8:3::1/64".into()),
            ("wan1", "fe80::1/64".into()),
        ] {
            router.run(&format!("ip addr replace {address} dev {device} nodad"))?;
        }
        router.run("ip -6 route add default via 2001:db8:2::2 table 10")?;
        pair(&mut stage, "flow", ECHO)?;
        stage.may_be_left_out = true;
        Ok(stage)
    };
    let acts = [
        act("in the domain", |_| Ok(()), "eth0 eth0"),
        act(
            "another route of the domain",
            |s| both(&s.lab, "route replace default via {} table 10"),
            "eth1 eth1",
        ),
        act(
            "the way out leaves the domain",
            |s| {
                let router = s.lab.node("router")?;
                router.run("ip link set wan1 nomaster").map(drop)
            },
            "- -",
        ),
        act(
            "a route leads out of the domain",
            |s| {
                let router = s.lab.node("router")?;
                router.run("ip route replace default via 10.0.1.2 dev wan1 table 10")?;
                // For the return direction, packets from wan0 are in the domain.
                router
                    .run("ip -6 route replace default via 2001:db8:2::2 dev wan0 table 10")
                    .map(drop)
            },
            "eth1 eth0",
        ),
    ];
    play(&Script::new(&stage, &acts));
}
