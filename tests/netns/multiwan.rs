//! Several uplinks: each test plays a script with the kernel alone and with weir at each hook.
//! After every step, taps record each flow's packets at the destination: device, addresses, TTL and
//! TOS. weir's snapshot must equal the kernel's, and weir must have forwarded the answered flows.

mod gateways;
mod paths;
#[allow(dead_code, reason = "each test program uses a part of it")]
use crate::script_comparison;
mod sides;

use std::net::IpAddr;

use lab::gateway::{CLIENT, CLIENT6, ROUTER_WAN, ROUTER_WAN6, SERVER_INNER, SERVER_INNER6};
use lab::topology::Offloads;
use lab::{Error, Lab, Options};
use script_comparison::{Place, Script, Stage, act, play};
use weir_tests::scene::{self, Forwarder};

/// Ports of echo servers, one per kind of traffic.
const ECHO: u16 = 7;
const OTHER: u16 = 8;
/// Taps for packets to [`SERVER_INNER`].
const WIRES: [Place; 2] = [("server", "eth0", "eth0"), ("server", "eth1", "eth1")];
/// Second addresses of the client.
const SECOND_CLIENT: &str = "192.168.1.3";
const SECOND_CLIENT6: &str = "2001:db8:1::3";

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Builds two providers, the first as default. Table 101 leads to the first and 102 to the second,
/// in both families.
fn providers(by: Forwarder, nat: bool) -> Result<Stage, Error> {
    let options = Options {
        nat,
        second_path: true,
        ..Options::default()
    };
    let lab = scene::lab(by, &options)?;
    let router = lab.node("router")?;
    router.ip(&format!(
        "route del {SERVER_INNER}/32\nroute add default via 10.0.0.2 metric 100\n\
         route add default via 10.0.0.2 table 101\nroute add default via 10.0.1.2 table 102\n"
    ))?;
    router.run(&format!("ip -6 route del {SERVER_INNER6}/128"))?;
    for (via, rest) in [
        ("2001:db8:2::2", "metric 100"),
        ("2001:db8:2::2", "table 101"),
        ("2001:db8:3::2", "table 102"),
    ] {
        router.run(&format!("ip -6 route add default via {via} {rest}"))?;
    }
    // Answers also return when the first wire is down.
    let server = lab.node("server")?;
    server.run("ip route add 192.168.1.0/24 via 10.0.1.1 metric 200")?;
    server.run("ip -6 route add 2001:db8:1::/64 via 2001:db8:3::1 metric 2000")?;
    Stage::new(by, lab, &WIRES, &["wan1"])
}

/// Adds callers of both families to the same port, from the client's first address.
fn pair(stage: &mut Stage, name: &str, port: u16) -> Result<(), Error> {
    stage.call(&format!("{name}4"), "client", CLIENT, (SERVER_INNER, port))?;
    stage.call(
        &format!("{name}6"),
        "client",
        CLIENT6,
        (SERVER_INNER6, port),
    )
}

/// Runs an `ip` command for both families; `{}` is the second provider's gateway.
fn both(lab: &Lab, line: &str) -> Result<(), Error> {
    for (family, gateway) in [("-4", "10.0.1.2"), ("-6", "2001:db8:3::2")] {
        let line = line.replace("{}", gateway);
        lab.node("router")?.run(&format!("ip {family} {line}"))?;
    }
    Ok(())
}

/// Adds a second LAN with one host: 192.168.2.0/24 and 2001:db8:4::/64, at the router's `lan1`.
fn guest(lab: &mut Lab, by: Forwarder) -> Result<(), Error> {
    lab.host("guest")?;
    let offloads = match by {
        Forwarder::Weir("xdp") => Offloads::Plain,
        _ => Offloads::Default,
    };
    lab.wire(("guest", "eth0"), ("router", "lan1"), offloads)?;
    for (role, device, address) in [
        ("router", "lan1", "192.168.2.1/24"),
        ("router", "lan1", "2001:db8:4::1/64"),
        ("router", "lan1", "fe80::1/64"),
        ("guest", "eth0", "192.168.2.2/24"),
        ("guest", "eth0", "2001:db8:4::2/64"),
        ("guest", "eth0", "fe80::2/64"),
    ] {
        lab.address(role, device, address)?;
    }
    lab.route("guest", "default", address("192.168.2.1"))?;
    lab.route("guest", "default", address("2001:db8:4::1"))
}

/// Adds mwan3's rules in small: the connection's mark decides, and `choice` marks a new connection.
fn marks(lab: &Lab, choice: &str) -> Result<(), Error> {
    lab.node("router")?
        .nft(&format!(
            "table inet mwan {{}}\ndelete table inet mwan\ntable inet mwan {{\n\
             chain pre {{ type filter hook prerouting priority mangle; policy accept;\n\
             meta mark set ct mark\nmeta mark != 0 accept\n{choice}\nct mark set meta \
             mark\n}}\n}}\n"
        ))
        .map(drop)
}

#[test]
fn a_restored_connection_mark_chooses_the_provider() {
    let first = "iifname \"lan0\" udp dport 7 meta mark set 0x100\niifname \"lan0\" udp dport 8 \
        meta mark set 0x200";
    let stage = |by| {
        let mut stage = providers(by, true)?;
        marks(&stage.lab, first)?;
        // Connected networks come first, defaults of the main table last.
        both(
            &stage.lab,
            "rule add pref 1000 lookup main suppress_prefixlength 0",
        )?;
        both(
            &stage.lab,
            "rule add pref 2001 fwmark 0x100/0x3f00 lookup 101",
        )?;
        both(
            &stage.lab,
            "rule add pref 2002 fwmark 0x200/0x3f00 lookup 102",
        )?;
        pair(&mut stage, "a", ECHO)?;
        pair(&mut stage, "b", OTHER)?;
        Ok(stage)
    };
    let acts = [
        act("marked", |_| Ok(()), "eth0 eth0 eth1 eth1"),
        act(
            "new connections are marked otherwise, these are not new",
            |s| marks(&s.lab, "iifname \"lan0\" meta mark set 0x100"),
            "eth0 eth0 eth1 eth1",
        ),
        act(
            "the second provider is given up: masqueraded connections begin anew by the first",
            |s| both(&s.lab, "rule del pref 2002"),
            "eth0 eth0 eth0 eth0",
        ),
        act(
            "and comes back: the connection that kept its mark returns",
            |s| both(&s.lab, "rule add pref 2002 fwmark 0x200/0x3f00 lookup 102"),
            "eth0 eth0 eth0 eth1",
        ),
        act(
            "all connections are forgotten",
            |s| s.lab.node("router")?.run("conntrack -F").map(drop),
            "eth0 eth0 eth0 eth0",
        ),
        act(
            "no rules by mark",
            |s| {
                both(&s.lab, "rule del pref 2001")?;
                both(&s.lab, "route replace default via {} metric 50")
            },
            "eth1 eth1 eth1 eth1",
        ),
    ];
    play(&Script::new(&stage, &acts));
}

/// Rules by source, destination, input device, and type of service.
#[test]
fn rules_choose_the_provider() {
    let stage = |by| {
        let mut stage = providers(by, false)?;
        guest(&mut stage.lab, by)?;
        let lab = &stage.lab;
        lab.address("client", "eth0", &format!("{SECOND_CLIENT}/24"))?;
        lab.address("client", "eth0", &format!("{SECOND_CLIENT6}/64"))?;
        lab.route("server", "192.168.2.0/24", ROUTER_WAN)?;
        lab.route("server", "2001:db8:4::/64", ROUTER_WAN6)?;
        pair(&mut stage, "first", ECHO)?;
        for (name, role, from, to) in [
            ("second4", "client", SECOND_CLIENT, SERVER_INNER),
            ("second6", "client", SECOND_CLIENT6, SERVER_INNER6),
            ("guest4", "guest", "192.168.2.2", SERVER_INNER),
            ("guest6", "guest", "2001:db8:4::2", SERVER_INNER6),
        ] {
            stage.call(name, role, address(from), (to, ECHO))?;
        }
        pair(&mut stage, "quick", OTHER)?;
        // A flow with both kinds of packets: each kind takes its own path, perhaps slowly.
        pair(&mut stage, "mixed", ECHO)?;
        for caller in &mut stage.callers[6..8] {
            caller.tos = [0x10; 2];
        }
        for caller in &mut stage.callers[8..] {
            caller.tos = [0, 0x10];
            caller.taken = false;
        }
        stage.port("lan1");
        Ok(stage)
    };
    fn source(lab: &Lab, verb: &str) -> Result<(), Error> {
        let router = lab.node("router")?;
        for (family, from) in [("-4", SECOND_CLIENT), ("-6", SECOND_CLIENT6)] {
            router.run(&format!(
                "ip {family} rule {verb} pref 500 from {from} lookup 102"
            ))?;
        }
        Ok(())
    }
    // Two flows of each: first address, second address, guests, quick ones, mixed ones.
    let acts = [
        act("no rule", |_| Ok(()), "all eth0"),
        act(
            "a rule by source",
            |s| source(&s.lab, "add"),
            "eth0 eth0 eth1 eth1 eth0 eth0 eth0 eth0 eth0 eth0",
        ),
        act(
            "a rule by destination, before it",
            |s| {
                let router = s.lab.node("router")?;
                router.run(&format!(
                    "ip rule add pref 400 to {SERVER_INNER} lookup 102"
                ))?;
                router
                    .run(&format!(
                        "ip -6 rule add pref 400 to {SERVER_INNER6} lookup 102"
                    ))
                    .map(drop)
            },
            "all eth1",
        ),
        act(
            "guests go by the second provider",
            |s| {
                both(&s.lab, "rule del pref 400")?;
                source(&s.lab, "del")?;
                both(&s.lab, "rule add pref 500 iif lan1 lookup 102")
            },
            "eth0 eth0 eth0 eth0 eth1 eth1 eth0 eth0 eth0 eth0",
        ),
        act(
            "all others do",
            |s| {
                both(&s.lab, "rule del pref 500")?;
                both(&s.lab, "rule add pref 500 iif lan0 lookup 102")
            },
            "eth1 eth1 eth1 eth1 eth0 eth0 eth1 eth1 eth1 eth1",
        ),
        act(
            "a rule by type of service",
            |s| {
                both(&s.lab, "rule del pref 500")?;
                both(&s.lab, "rule add pref 500 tos 0x10 lookup 102")
            },
            "eth0 eth0 eth0 eth0 eth0 eth0 eth1 eth1 eth0+eth1 eth0+eth1",
        ),
        act(
            "no rule again",
            |s| both(&s.lab, "rule del pref 500"),
            "all eth0",
        ),
    ];
    play(&Script::new(&stage, &acts));
}
