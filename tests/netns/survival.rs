//! A long transfer, byte for byte, through events of a live router: those that must not cut it, and
//! those that must.
//!
//! Each script also runs with the kernel alone: weir must do neither better nor worse.

use std::time::{Duration, Instant};

use lab::gateway::{SERVER, SERVER_INNER};
use lab::namespace::wait_until;
use lab::topology::{mac, text};
use lab::{Error, Options};
use nix::sys::signal::Signal;
use weir_tests::LIMIT;
use weir_tests::scene::{PORT, Scene, WAYS, at_once};

/// No proof expires during a test, so events must end it.
const NO_REPROOF: &str = "[offload]\nreprove = \"10m\"\n";
/// Time after which a change of rules or routes has taken effect, even on a busy machine.
const SETTLED: Duration = Duration::from_secs(1);

type Step = (&'static str, fn(&mut Scene) -> Result<(), Error>);

fn restart(scene: &mut Scene, signal: Signal) -> Result<(), Error> {
    let Some(weir) = &mut scene.weir else {
        return Ok(());
    };
    weir.end(signal)?;
    // The transfer lives without weir.
    scene.transfer.advance(1 << 20, LIMIT)?;
    weir.restart(scene.lab.node("router")?)
}

/// Steps, in this order, during one transfer to an address behind two wires, untranslated.
const HARMLESS: [Step; 9] = [
    ("the same rules once more", |scene| {
        let router = scene.router()?;
        let rules = router.run("nft list ruleset")?;
        router.nft(&format!("flush ruleset\n{rules}")).map(drop)
    }),
    ("another address", |scene| {
        scene
            .router()?
            .run("ip addr add 10.77.0.1/24 dev wan1")
            .map(drop)
    }),
    ("another device comes and goes", |scene| {
        let router = scene.router()?;
        router.run("ip link add other type veth peer name rehto")?;
        router.run("ip link set other up")?;
        router.run("ip link del other").map(drop)
    }),
    ("the server has another MAC", |scene| {
        let server = scene.lab.node("server")?;
        server.sysctl("net.ipv4.conf.eth0.arp_notify", 1)?;
        server
            .run("ip link set eth0 address 02:00:00:00:07:07")
            .map(drop)
    }),
    ("another route", |scene| {
        let line = format!("ip route replace {SERVER_INNER}/32 via 10.0.1.2");
        scene.router()?.run(&line)?;
        scene.cut("another route", AT_SERVER, SETTLED)
    }),
    (
        "the neighbour on the other route has another MAC",
        |scene| {
            let line = format!("ip link set eth1 address {}", text(mac("server", "eth9")));
            let server = scene.lab.node("server")?;
            server.sysctl("net.ipv4.conf.eth1.arp_notify", 1)?;
            server.run(&line).map(drop)
        },
    ),
    (
        "weir hangs for longer than its heartbeat may be late",
        |scene| {
            let Some(weir) = &scene.weir else {
                return Ok(());
            };
            weir.signal(Signal::SIGSTOP)?;
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(3) {
                scene.transfer.advance(1 << 20, LIMIT)?;
            }
            weir.signal(Signal::SIGCONT)
        },
    ),
    ("weir is killed and started again", |scene| {
        restart(scene, Signal::SIGKILL)
    }),
    ("weir is stopped and started again", |scene| {
        restart(scene, Signal::SIGTERM)
    }),
];

#[test]
fn a_transfer_survives() {
    let options = Options {
        nat: false,
        second_path: true,
        ..Options::default()
    };
    at_once(&WAYS, |by| {
        let mut scene = Scene::new(by, &options, SERVER_INNER, NO_REPROOF)?;
        for (what, step) in HARMLESS {
            step(&mut scene).map_err(|error| Error::Unexpected(format!("{what}: {error}")))?;
            scene.lives(what)?;
        }
        scene.transfer.stop().map(drop)
    });
}

/// An event that stops a transfer, a place to check for leaking packets, and the command that
/// undoes the event.
struct Cut {
    what: &'static str,
    begin: fn(&Scene) -> Result<(), Error>,
    wire: (&'static str, &'static str),
    settle: Duration,
    end: &'static str,
}

const AT_SERVER: (&str, &str) = ("server", "eth0");

/// Drops packets that match a rule, in a separate table.
fn block(scene: &Scene, rule: &str) -> Result<(), Error> {
    let hook = "type filter hook forward priority -10; policy accept;";
    let table = format!("table inet cut {{ chain forward {{ {hook}\n{rule}\n}}\n}}\n");
    scene.router()?.nft(&table).map(drop)
}

const CUTS: [Cut; 10] = [
    Cut {
        what: "a rule drops the flow, established or not",
        begin: |scene| block(scene, &format!("tcp dport {PORT} drop")),
        wire: AT_SERVER,
        settle: SETTLED,
        end: "nft delete table inet cut",
    },
    Cut {
        what: "a rule drops the answers",
        begin: |scene| block(scene, &format!("tcp sport {PORT} drop")),
        wire: ("client", "eth0"),
        settle: SETTLED,
        end: "nft delete table inet cut",
    },
    Cut {
        what: "an element is added to a set of blocked addresses",
        begin: |scene| {
            let hook = "type filter hook forward priority -10; policy accept;";
            scene.router()?.nft(&format!(
                "table inet cut {{ set blocked {{ type ipv4_addr; }}\nchain forward {{ {hook}\nip \
                    saddr @blocked drop\n}}\n}}\n"
            ))?;
            scene.lives("an empty set of blocked addresses")?;
            let line = "nft add element inet cut blocked { 192.168.1.2 }";
            scene.router()?.run(line).map(drop)
        },
        wire: AT_SERVER,
        settle: SETTLED,
        end: "nft delete table inet cut",
    },
    Cut {
        what: "new connections are dropped, and this one is forgotten",
        begin: |scene| {
            block(scene, "ct state new drop")?;
            scene.lives("new connections are dropped")?;
            scene.router()?.run("conntrack -D -p tcp").map(drop)
        },
        wire: AT_SERVER,
        settle: SETTLED,
        end: "nft delete table inet cut",
    },
    Cut {
        what: "a chain at the egress of the device drops the flow",
        begin: |scene| {
            let hook = "type filter hook egress device wan0 priority 0; policy accept;";
            let chain = format!("chain out {{ {hook}\ntcp dport {PORT} drop\n}}");
            scene
                .router()?
                .nft(&format!("table netdev cut {{ {chain}\n}}\n"))
                .map(drop)
        },
        wire: AT_SERVER,
        settle: SETTLED,
        end: "nft delete table netdev cut",
    },
    Cut {
        what: "the device is put in a group that a rule drops",
        begin: |scene| {
            block(scene, "iifgroup 66 drop")?;
            scene.lives("a rule for a group without devices")?;
            scene.router()?.run("ip link set lan0 group 66").map(drop)
        },
        wire: AT_SERVER,
        settle: SETTLED,
        end: "ip link set lan0 group 0",
    },
    Cut {
        what: "a route into nothing",
        begin: |scene| {
            let line = format!("ip route add blackhole {SERVER}/32");
            scene.router()?.run(&line).map(drop)
        },
        wire: AT_SERVER,
        settle: SETTLED,
        end: "ip route del blackhole 10.0.0.2/32",
    },
    Cut {
        what: "forwarding is switched off",
        begin: |scene| scene.router()?.sysctl("net.ipv4.ip_forward", 0),
        wire: AT_SERVER,
        // weir reads the sysctls every second.
        settle: Duration::from_secs(3),
        end: "sysctl -qw net.ipv4.ip_forward=1",
    },
    Cut {
        what: "the way out is down",
        begin: |scene| scene.router()?.run("ip link set wan0 down").map(drop),
        wire: AT_SERVER,
        settle: SETTLED,
        end: "ip link set wan0 up",
    },
    // This cut is last, as its table stays.
    Cut {
        what: "the first rule of the old iptables, which tells nobody",
        begin: |scene| {
            let line = format!("iptables-legacy -A FORWARD -p tcp --dport {PORT} -j DROP");
            scene.router()?.run(&line).map(drop)
        },
        wire: AT_SERVER,
        // weir checks these tables every second, and proofs end every second.
        settle: Duration::from_secs(3),
        end: "iptables-legacy -F FORWARD",
    },
];

#[test]
fn what_cuts_a_transfer_cuts_it_with_weir_and_without() {
    // Without translation, a server's packet finds its path while an entry is missing, and does not
    // end at the router.
    let options = Options {
        nat: false,
        ..Options::default()
    };
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, &options, SERVER, NO_REPROOF)?;
        for cut in CUTS {
            (cut.begin)(&scene)?;
            scene.cut(cut.what, cut.wire, cut.settle)?;
            scene.router()?.run(cut.end)?;
            scene.lives(&format!("{}, and no longer", cut.what))?;
        }
        // New connections are allowed, so the kernel picks the connection up.
        scene.router()?.run("conntrack -D -p tcp")?;
        scene.lives("the connection was forgotten")?;
        scene.transfer.stop().map(drop)
    });
}

/// Masquerading ends a connection whose uplink changes, as its address belongs to the old uplink.
#[test]
fn a_masqueraded_transfer_ends_with_its_way_out() {
    let options = Options {
        second_path: true,
        ..Options::default()
    };
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, &options, SERVER_INNER, NO_REPROOF)?;
        let line = format!("ip route replace {SERVER_INNER}/32 via 10.0.1.2");
        scene.router()?.run(&line)?;
        wait_until("the transfer breaks off", LIMIT, || {
            Ok(scene.transfer.advance(1, Duration::from_secs(2)).is_err())
        })?;
        scene.cut("another way out", AT_SERVER, SETTLED)
    });
}
