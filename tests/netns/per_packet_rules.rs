//! Rules about each packet see each packet, also of flows that weir could forward: weir never
//! passes a packet that the kernel drops.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use lab::gateway::{CLIENT, SERVER};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab, Options};
use serde_json::Value;
use weir_tests::scene::{self, Forwarder, at_once};
use weir_tests::{LIMIT, Weir, binary};

/// Port of a flow without a rule.
const FREE: u16 = 7000;
/// Ports with quotas: of a rule, and of an element that a rule looks up.
const QUOTAS: [u16; 2] = [7009, 7010];
/// Bytes of the quotas.
const QUOTA: u64 = 20_000;

/// A rule that drops datagrams to a port: datagrams that pass first and no longer pass later, and
/// the client's action in between.
struct Case {
    port: u16,
    rule: &'static str,
    good: &'static [u8],
    bad: &'static [u8],
    /// Rules of the client's output chain for the good datagrams, and for the bad ones.
    client: [&'static str; 2],
}

const LONG: &[u8] = &[b'B'; 300];
const SHORT: &[u8] = b"B";

const fn case(port: u16, rule: &'static str, good: &'static [u8], bad: &'static [u8]) -> Case {
    Case {
        port,
        rule,
        good,
        bad,
        client: ["", ""],
    }
}

const CASES: [Case; 8] = [
    case(7001, "udp dport 7001 meta length < 100 drop", LONG, SHORT),
    case(7002, "udp dport 7002 @th,64,8 0x41 drop", b"B", b"A"),
    case(7003, "udp dport 7003 udp length < 50 drop", LONG, SHORT),
    // A later chain tests the mark.
    case(
        7004,
        "udp dport 7004 meta length < 100 meta mark set 7",
        LONG,
        SHORT,
    ),
    Case {
        client: ["", "udp dport 7005 ip ecn set ce"],
        ..case(7005, "udp dport 7005 ip ecn ce drop", LONG, LONG)
    },
    Case {
        client: ["", "udp dport 7007 meta mark set 1"],
        ..case(
            7007,
            "udp dport 7007 ether saddr 02:00:00:00:00:99 drop",
            LONG,
            LONG,
        )
    },
    Case {
        client: ["udp dport 7006 ip frag-off set 0", ""],
        ..case(
            7006,
            "udp dport 7006 ip frag-off & 0x4000 != 0 drop",
            LONG,
            LONG,
        )
    },
    // For a chain before conntrack: see below.
    case(7008, "", LONG, SHORT),
];

fn rules() -> String {
    let each: String = CASES.iter().map(|c| format!("{}\n", c.rule)).collect();
    let [by_rule, by_element] = QUOTAS;
    format!(
        "table inet each {{
        set metered {{ type ipv4_addr; quota over {QUOTA} bytes; elements = {{ {CLIENT} }}; }}
        chain forward {{ type filter hook forward priority filter; policy accept;
        {each}
        udp dport {by_rule} quota over {QUOTA} bytes drop
        udp dport {by_element} ip saddr @metered drop
        }}
        chain early {{ type filter hook prerouting priority raw; policy accept;
        ct state established,related accept
        udp dport 7008 meta length < 100 drop
        }}
        chain post {{ type filter hook postrouting priority mangle; policy accept;
        meta mark 7 drop
        }}
        }}\n"
    )
}

/// Asks a number of times, and returns the number of answers.
fn ask(from: &Datagrams, what: &[u8], times: usize, limit: Duration) -> Result<usize, Error> {
    let mut answered = 0;
    for _ in 0..times {
        answered += usize::from(from.ask(what, limit)?);
    }
    Ok(answered)
}

fn client_does(lab: &Lab, phase: usize) -> Result<(), Error> {
    let all: String = CASES
        .iter()
        .map(|c| format!("{}\n", c.client[phase]))
        .collect();
    lab.node("client")?
        .nft(&format!(
            "table ip own\ndelete table ip own\ntable ip own {{ chain output {{ type filter hook \
            output priority 0;\n{all} }}\n}}
        table netdev own\ndelete table netdev own\ntable netdev own {{
        chain out {{ type filter hook egress device \"eth0\" priority 0; meta mark 1 ether saddr \
        set 02:00:00:00:00:99\n}}
        }}\n"
        ))
        .map(drop)
}

/// Starts all flows, and waits until weir has judged them.
fn flows(lab: &Lab, weir: Option<&Weir>) -> Result<(Vec<Echo>, Vec<Datagrams>), Error> {
    client_does(lab, 0)?;
    let (mut echoes, mut open) = (Vec::new(), Vec::new());
    let ports = CASES.iter().map(|c| (c.port, c.good));
    let quotas = QUOTAS.map(|port| (port, SHORT));
    for (port, good) in ports.chain(quotas).chain([(FREE, LONG)]) {
        let to = SocketAddr::new(SERVER, port);
        echoes.push(Echo::serve(lab.node("server")?, to)?);
        let datagrams = Datagrams::open(lab.node("client")?, to)?;
        assert_eq!(ask(&datagrams, good, 20, LIMIT)?, 20, "{port}");
        open.push(datagrams);
    }
    if let Some(weir) = weir {
        weir.wait_for_known(1)?;
        let free = open.last().expect("opened");
        wait_until("the free flow is forwarded", LIMIT, || {
            ask(free, LONG, 20, LIMIT)?;
            let flow = weir.flow_at(FREE)?;
            Ok(flow.is_some_and(|flow| flow.directions.original.packets > 20))
        })?;
    }
    Ok((echoes, open))
}

/// Returns the costs of rules that `weir check` reports.
fn costs(lab: &Lab, weir: &Weir) -> Result<Vec<u64>, Error> {
    let mut command = Command::new(binary());
    command
        .args(["check", "--json"])
        .env("WEIR_SOCKET", weir.socket());
    let output = lab.node("router")?.enter(|| command.output())?;
    let output = output.map_err(Error::system("weir check"))?;
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["firewall"].as_array().expect("a list").iter();
    Ok(findings
        .filter_map(|one| one["connections"].as_u64())
        .collect())
}

fn started(by: Forwarder, lab: &Lab, more: &str) -> Result<Option<Weir>, Error> {
    scene::weir(by, lab, more)
}

#[test]
fn what_the_kernel_drops_by_each_packet_is_dropped() {
    at_once(&scene::WAYS, |by| {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        router.nft(&rules())?;
        let weir = started(by, &lab, "")?;
        let (_echoes, open) = flows(&lab, weir.as_ref())?;
        if let Some(weir) = &weir {
            for port in CASES.iter().map(|c| c.port).chain(QUOTAS) {
                wait_until("the flow is judged", LIMIT, || {
                    Ok(weir
                        .flow_at(port)?
                        .is_some_and(|flow| flow.reason.is_some()))
                })?;
                let reason = weir.flow_at(port)?.and_then(|flow| flow.reason);
                let reason = reason.expect("a reason");
                assert_eq!(reason.code, "each-packet", "{port}: {reason:?}");
                assert!(reason.text.contains("(inet each "), "{reason:?}");
            }
            let told = weir.status()?.each_packet.expect("such rules");
            let rules = CASES.len() + QUOTAS.len();
            assert_eq!(told.rules.len(), rules, "{told:?}");
            assert_eq!(told.connections, rules as u64, "{told:?}");
            assert!(
                told.rules.iter().all(|rule| rule.connections == 1),
                "{told:?}"
            );
            assert_eq!(costs(&lab, weir)?, vec![1; told.rules.len()]);
            let log = weir.log();
            assert!(log.contains("a rule inspects each packet"), "{log}");
        }
        client_does(&lab, 1)?;
        for (case, from) in CASES.iter().zip(&open) {
            let answered = ask(from, case.bad, 10, Duration::from_millis(20))?;
            assert_eq!(answered, 0, "{}: {}", case.port, case.rule);
        }
        // 28 bytes of headers; the first datagrams have 29 bytes.
        let most = (QUOTA - 20 * 29) / 1_000;
        for (port, quota) in QUOTAS.iter().zip(&open[CASES.len()..]) {
            let answered = ask(quota, &[b'B'; 972], 60, Duration::from_millis(20))? as u64;
            assert!(answered <= most, "{port}: {answered} of {most}");
        }
        Ok(())
    });
}

/// A new rule takes a flow from weir; so does a new element with its own limit, where packets may
/// write the set.
#[test]
fn what_comes_later_takes_what_weir_has() {
    at_once(&scene::WAYS[1..], |by| {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        router.nft(&format!(
            "table inet named {{
            set limited {{ type ipv4_addr; size 100; flags dynamic; elements = {{ 192.0.2.99 }}; }}
            chain forward {{ type filter hook forward priority 0;
            udp dport {FREE} ip saddr @limited drop\n}}\n}}\n"
        ))?;
        let weir = started(by, &lab, "")?.expect("weir runs");
        let (_echoes, open) = flows(&lab, Some(&weir))?;
        let taken = |by: &str| {
            wait_until(&format!("the flow is judged anew, by {by}"), LIMIT, || {
                let reason = weir.flow_at(FREE)?.and_then(|flow| flow.reason);
                Ok(reason.is_some_and(|reason| reason.code == "each-packet"))
            })
        };
        router.nft(&format!(
            "table inet later {{ chain forward {{ type filter hook forward priority 0;
            udp dport {FREE} meta length < 100 drop\n}}\n}}\n"
        ))?;
        let free = open.last().expect("opened");
        taken("a rule")?;
        assert_eq!(ask(free, LONG, 30, LIMIT)?, 30);
        assert_eq!(ask(free, SHORT, 10, Duration::from_millis(20))?, 0);
        // Without the rule, weir forwards again.
        router.run("nft delete table inet later")?;
        let before = weir.forwarded()?;
        wait_until("it is forwarded again", LIMIT, || {
            ask(free, LONG, 20, LIMIT)?;
            Ok(weir.forwarded()? > before + 20)
        })?;

        let element = format!("{CLIENT} limit rate over 5/second burst 5 packets");
        router.nft(&format!("add element inet named limited {{ {element} }}\n"))?;
        taken("an element")?;
        let answered = ask(free, LONG, 60, Duration::from_millis(20))?;
        // At most 1.2 s, and as much again for a busy machine.
        assert!((1..=20).contains(&answered), "{answered}");
        Ok(())
    });
}

/// Rules by iptables-nft: nft does not print the conditions of their extensions.
#[test]
fn what_iptables_drops_by_each_packet_is_dropped() {
    at_once(&scene::WAYS, |by| {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        let drops = [
            (7001, "-m length --length 0:100"),
            (7002, "-m u32 --u32 28=0x42424242"),
            (7003, "-m string --algo bm --string secret"),
        ];
        for (port, asked) in drops {
            let rule = format!("-A FORWARD -p udp --dport {port} {asked} -j DROP");
            router.run(&format!("iptables-nft {rule}"))?;
        }
        let weir = started(by, &lab, "")?;
        let (_echoes, open) = flows(&lab, weir.as_ref())?;
        let bad: [&[u8]; 3] = [SHORT, &[b'B'; 100], b"this is secret"];
        for (((port, asked), from), bad) in drops.iter().zip(&open).zip(bad) {
            if let Some(weir) = &weir {
                let reason = weir.flow_at(*port)?.and_then(|flow| flow.reason);
                let reason = reason.unwrap_or_else(|| panic!("{port} is not declined"));
                assert!(reason.text.contains("ip filter FORWARD"), "{reason:?}");
            }
            let answered = ask(from, bad, 10, Duration::from_millis(20))?;
            assert_eq!(answered, 0, "{asked}");
            assert_eq!(
                ask(from, b"good", 1, Duration::from_millis(20))?,
                usize::from(*port != 7001)
            );
        }
        Ok(())
    });
}

/// With this option the rule sees a sample only, as before the option existed.
#[test]
fn who_says_so_has_such_rules_ignored() {
    at_once(&scene::WAYS[1..], |by| {
        let lab = scene::lab(by, &Options::default())?;
        lab.node("router")?.nft(&rules())?;
        let weir = started(by, &lab, "[offload]\neach_packet = \"ignore\"\n")?.expect("weir runs");
        let (_echoes, open) = flows(&lab, Some(&weir))?;
        wait_until("the flow of the first rule is forwarded", LIMIT, || {
            ask(&open[0], LONG, 20, LIMIT)?;
            let flow = weir.flow_at(CASES[0].port)?;
            Ok(flow.is_some_and(|flow| flow.directions.original.packets > 20))
        })?;
        let answered = ask(&open[0], SHORT, 10, Duration::from_millis(500))?;
        assert!(answered > 0, "the length is not looked at");
        Ok(())
    });
}
