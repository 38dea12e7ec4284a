//! The uplink changes or fails.

use std::time::Duration;

use lab::gateway::{ROUTER_WAN, ROUTER_WAN6, SERVER_INNER};
use lab::namespace::wait_until;
use lab::topology::mac;
use lab::{Error, Options};
use weir_tests::LIMIT;
use weir_tests::scene::{PORT, Scene, WAYS, at_once};

use crate::multiwan::script_comparison::{self, Script, Stage, act, play};
use crate::multiwan::{ECHO, both, pair, providers};

/// A live transfer survives changes of the default route there and back, byte for byte.
#[test]
fn a_transfer_lives_through_other_metrics() {
    let options = Options {
        nat: false,
        second_path: true,
        ..Options::default()
    };
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, &options, SERVER_INNER, script_comparison::NO_REPROOF)?;
        let router = scene.router()?;
        router.ip(&format!(
            "route add default via 10.0.0.2 metric 100\nroute add default via 10.0.1.2 metric \
                200\nroute del {SERVER_INNER}/32\n"
        ))?;
        for (line, device) in [
            ("route add default via 10.0.1.2 metric 50", "wan1"),
            ("route del default via 10.0.1.2 metric 50", "wan0"),
            ("route del default via 10.0.0.2 metric 100", "wan1"),
        ] {
            router.run(&format!("ip {line}"))?;
            scene.lives(line)?;
            let Some(weir) = &scene.weir else { continue };
            wait_until(&format!("{line}: it leaves by {device}"), LIMIT, || {
                let flow = weir.flow_at(PORT)?;
                Ok(flow.is_some_and(|f| f.directions.original.port_out.as_deref() == Some(device)))
            })?;
        }
        scene.transfer.stop().map(drop)
    });
}

/// Drops ARP and NDP requests to the server on the first wire, or ends that. The server's entry for
/// the router is fixed, as the server's own request would reveal its address.
fn deaf(stage: &Stage, on: bool) -> Result<(), Error> {
    let server = stage.lab.node("server")?;
    for address in [ROUTER_WAN, ROUTER_WAN6] {
        let router = mac("router", "wan0");
        stage.lab.neighbour("server", "eth0", address, router)?;
    }
    match on {
        true => server.nft(
            "table netdev deaf { chain in { type filter hook ingress device eth0 priority 0; \
                policy accept;\n\
             ether type arp drop\nicmpv6 type nd-neighbor-solicit drop\n}\n}\n",
        )?,
        false => server.run("nft delete table netdev deaf")?,
    };
    Ok(())
}

/// Waits until the router's routes reflect the carrier: the kernel checks it once a second at most
/// (net/core/link_watch.c).
fn carrier(stage: &Stage, there: bool) -> Result<(), Error> {
    let router = stage.lab.node("router")?;
    wait_until("routes to know of the carrier", LIMIT, || {
        for family in ["-4", "-6"] {
            let routes = router.run(&format!("ip {family} route show default dev wan0"))?;
            if routes.is_empty() || routes.contains("linkdown") == there {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

#[test]
fn a_lost_gateway_is_lost_for_weir() {
    let stage = |by| {
        let mut stage = providers(by, false)?;
        both(&stage.lab, "route add default via {} metric 200")?;
        stage
            .lab
            .node("server")?
            .sysctl("net.ipv6.conf.eth0.keep_addr_on_down", 1)?;
        pair(&mut stage, "flow", ECHO)?;
        Ok(stage)
    };
    let acts = [
        act("there", |_| Ok(()), "eth0 eth0"),
        act(
            "its hardware address is asked for, and it does not answer",
            |s| {
                deaf(s, true)?;
                s.lab
                    .node("router")?
                    .run("ip neigh flush dev wan0")
                    .map(drop)
            },
            "- -",
        ),
        act(
            "it answers again",
            |s| {
                deaf(s, false)?;
                // The kernel resolves a failed entry again only after a while.
                s.lab
                    .node("router")?
                    .run("ip neigh flush dev wan0 nud failed")
                    .map(drop)
            },
            "eth0 eth0",
        ),
        act(
            "no carrier, and routes without one are left out",
            |s| {
                let router = s.lab.node("router")?;
                router.sysctl("net.ipv4.conf.all.ignore_routes_with_linkdown", 1)?;
                router.sysctl("net.ipv4.conf.wan0.ignore_routes_with_linkdown", 1)?;
                router.sysctl("net.ipv6.conf.all.ignore_routes_with_linkdown", 1)?;
                router.sysctl("net.ipv6.conf.wan0.ignore_routes_with_linkdown", 1)?;
                let server = s.lab.node("server")?;
                server.run("ip link set eth0 down")?;
                carrier(s, false)
            },
            "eth1 eth1",
        ),
        act(
            "the carrier is back",
            |s| {
                s.lab.node("server")?.run("ip link set eth0 up")?;
                carrier(s, true)
            },
            "eth0 eth0",
        ),
        act(
            "the device is switched off",
            |s| s.lab.node("router")?.run("ip link set wan0 down").map(drop),
            "eth1 eth1",
        ),
    ];
    play(&Script::new(&stage, &acts));
}

/// A gateway falls silent while packets flow: the kernel probes it eventually, and must also do so
/// with weir. From then on its address is unknown, and nothing reaches it.
#[test]
fn a_gateway_that_falls_silent_is_noticed_by_and_by() {
    let stage = |by| {
        let mut stage = providers(by, false)?;
        let router = stage.lab.node("router")?;
        for family in ["ipv4", "ipv6"] {
            // The entry is valid for a second or less, then probed at once, three times.
            for (key, value) in [
                ("base_reachable_time_ms", 1000),
                ("delay_first_probe_time", 1),
                ("retrans_time_ms", 200),
                ("ucast_solicit", 2),
                ("mcast_solicit", 1),
            ] {
                router.sysctl(&format!("net.{family}.neigh.wan0.{key}"), value)?;
            }
        }
        stage.reprove = "1s";
        pair(&mut stage, "flow", ECHO)?;
        Ok(stage)
    };
    let acts = [
        act("there", |_| Ok(()), "eth0 eth0"),
        act(
            "silent",
            |s| {
                deaf(s, true)?;
                s.talk(Duration::from_secs(12))
            },
            "- -",
        ),
        act(
            "it speaks again",
            |s| {
                deaf(s, false)?;
                s.talk(Duration::from_secs(3))
            },
            "eth0 eth0",
        ),
    ];
    play(&Script::new(&stage, &acts));
}
