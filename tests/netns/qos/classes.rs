//! Classes of a qdisc that packets reach by priorities, marks and DSCPs from rules.

use std::net::SocketAddr;
use std::sync::Mutex;

use lab::gateway::{ROUTER_WAN, SERVER};
use lab::topology::mac;
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Namespace, Options};
use weir_tests::LIMIT;
use weir_tests::scene::{self, Forwarder, WAYS, at_once};

use crate::qos::{NO_REPROOF, SETTLED};

/// Number of requests of each flow for one count: all differ, so that a count identifies its flows.
const ASKED: [u64; 5] = [100, 110, 120, 130, 140];
/// Ports of the flows at the server, each with its own treatment.
const KINDS: [u16; 5] = [7, 8, 9, 10, 11];
/// The classes of wan0; the last one is the default.
const CLASSES: [u32; 5] = [10, 20, 30, 40, 50];

/// Returns the packets of each class.
fn classes(router: &Namespace) -> Result<Vec<u64>, Error> {
    let text = router.run("tc -s class show dev wan0")?;
    let count = |class: &u32| {
        let part = text.split("class htb ").find_map(|part| {
            part.strip_prefix(&format!("1:{class} "))?
                .split("Sent ")
                .nth(1)
        });
        part.and_then(|part| part.split(' ').nth(2)?.parse().ok())
            .ok_or_else(|| Error::Unexpected(format!("no class 1:{class} in {text}")))
    };
    CLASSES.iter().map(count).collect()
}

/// Asks on each flow, and returns each class's packets meanwhile.
fn sorted(router: &Namespace, flows: &[Datagrams]) -> Result<Vec<u64>, Error> {
    let before = classes(router)?;
    for (flow, times) in flows.iter().zip(ASKED) {
        for _ in 0..times {
            if !flow.ask(b"sort this", LIMIT)? {
                return Err(Error::Unexpected("no answer".into()));
            }
        }
    }
    let after = classes(router)?;
    Ok(after.iter().zip(&before).map(|(a, b)| a - b).collect())
}

/// Returns the packets of each class under each of these rulesets in turn, with these filters.
/// `taken`: number of the ten directions that weir can forward.
fn counts(
    by: Forwarder,
    filters: &[String],
    rulesets: &[String],
    taken: u64,
) -> Result<Vec<Vec<u64>>, Error> {
    let lab = scene::lab(by, &Options::default())?;
    let (router, server) = (lab.node("router")?, lab.node("server")?);
    // Only the flows leave here: neighbours are fixed.
    lab.neighbour("router", "wan0", SERVER, mac("server", "eth0"))?;
    lab.neighbour("server", "eth0", ROUTER_WAN, mac("router", "wan0"))?;
    router.run("tc qdisc add dev wan0 root handle 1: htb default 50")?;
    for class in CLASSES {
        router.run(&format!(
            "tc class add dev wan0 parent 1: classid 1:{class} htb rate 100mbit"
        ))?;
    }
    for filter in filters {
        router.run(&format!(
            "tc filter add dev wan0 parent 1: protocol ip {filter}"
        ))?;
    }
    router.nft(&rulesets[0])?;
    let weir = scene::weir(by, &lab, NO_REPROOF)?;
    let mut flows = Vec::new();
    let mut echoes = Vec::new();
    for port in KINDS {
        let to = SocketAddr::new(SERVER, port);
        echoes.push(Echo::serve(server, to)?);
        flows.push(Datagrams::open(lab.node("client")?, to)?);
    }
    let mut counts = Vec::new();
    for rules in rulesets {
        router.nft(rules)?;
        std::thread::sleep(SETTLED);
        if let Some(weir) = &weir {
            for _ in 0..10 {
                for flow in &flows {
                    flow.ask(b"?", LIMIT)?;
                }
                if !weir.is_settling()? {
                    break;
                }
                std::thread::sleep(SETTLED);
            }
        }
        counts.push(sorted(router, &flows)?);
    }
    if let Some(weir) = weir {
        let all = rulesets.len() as u64 * taken * ASKED[0];
        let forwarded = weir.forwarded()?;
        if forwarded < all * 3 / 4 {
            let found = format!("weir forwarded {forwarded} of {all}: {:#?}", weir.flows()?);
            return Err(Error::Unexpected(found));
        }
    }
    Ok(counts)
}

/// Returns the kernel's counts, which weir's must equal.
fn compared(filters: &[String], rulesets: &[String], taken: u64) -> Vec<Vec<u64>> {
    let found = Mutex::new(Vec::new());
    at_once(&WAYS, |by| {
        let counts = counts(by, filters, rulesets, taken)?;
        found.lock().expect("no panic").push((by, counts));
        Ok(())
    });
    let mut found = found.into_inner().expect("no panic");
    found.sort_by_key(|(by, _)| *by != Forwarder::Kernel);
    let (_, kernel) = found.remove(0);
    for (by, counts) in found {
        assert_eq!(counts, kernel, "{by:?}");
    }
    kernel
}

/// Returns a table with these chains that replaces the old one.
fn table(chains: &str) -> String {
    format!("table inet sort {{}}\ndelete table inet sort\ntable inet sort {{\n{chains}\n}}\n")
}

/// Priorities by rules before and behind the route, by connection mark, by a DSCP of a rule, and
/// one that the route resets. The classes get exactly the packets that they get without weir,
/// before and after the rules change.
#[test]
fn classes_get_their_packets() {
    let rules = |first: &str, second: &str| {
        table(&format!(
            "chain pre {{ type filter hook prerouting priority mangle; policy accept;\n\
             udp dport 9 ct mark set 9\nudp dport 10 meta priority set 1:10\n}}\n\
             chain forward {{ type filter hook forward priority mangle; policy accept;\n\
             udp dport 7 meta priority set {second}\n}}\n\
             chain post {{ type filter hook postrouting priority mangle; policy accept;\n\
             udp dport 7 meta priority set {first}\nudp dport 8 ip dscp set cs1\n\
             ct mark 9 meta priority set 1:30\n}}"
        ))
    };
    let rulesets = [
        rules("1:10", "1:40"),
        rules("1:40", "1:10"),
        rules("1:20", "1:20"),
    ];
    let by_dscp = "u32 match ip dsfield 0x20 0xfc flowid 1:20".to_owned();
    // The kernel forwards the flow whose DSCP changes on the path.
    let kernel = compared(&[by_dscp], &rulesets, 9);
    assert_eq!(kernel[0], [100, 110, 120, 0, 130 + 140]);
    assert_eq!(kernel[1], [0, 110, 120, 100, 130 + 140]);
    assert_eq!(kernel[2], [0, 100 + 110, 120, 0, 130 + 140]);
}

/// Filters by the packet's mark, which changes during the flows.
#[test]
#[ignore = "needs cls_fw: run by tests/vm/run"]
fn a_mark_chooses_the_class() {
    let rules = |turn: u32| {
        let marks: String = (0..5u32)
            .map(|flow| {
                let mark = CLASSES[((flow + turn) % 5) as usize];
                format!("udp dport {} meta mark set {mark}\n", flow + 7)
            })
            .collect();
        let hook = "type filter hook prerouting priority mangle; policy accept;";
        table(&format!("chain pre {{ {hook}\n{marks}}}"))
    };
    let by_mark = CLASSES.map(|class| format!("handle {class} fw flowid 1:{class}"));
    let kernel = compared(&by_mark, &[rules(0), rules(1), rules(2)], 10);
    for (turn, counts) in kernel.iter().enumerate() {
        let mut expected = ASKED;
        expected.rotate_right(turn);
        assert_eq!(counts, &expected, "turn {turn}");
    }
}
