//! Rules that look at each packet see each packet, also of flows that weir could forward: what the kernel alone drops is dropped.

use std::net::SocketAddr;
use std::time::Duration;

use lab::gateway::SERVER;
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab, Options};
use weir_tests::scene::{self, By, at_once};
use weir_tests::{LIMIT, Weir};

/// A flow that no rule is about.
const FREE: u16 = 7000;
/// A quota on what goes there, octets.
const QUOTA: (u16, u64) = (7009, 20_000);

/// What a rule drops of the datagrams to a port: what goes through first, what does not any more, and what the client does to make it so.
struct Case {
    port: u16,
    rule: &'static str,
    good: &'static [u8],
    bad: &'static [u8],
    /// In the client's output chain while the good ones go, and while the bad ones do.
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

const CASES: [Case; 6] = [
    case(7001, "udp dport 7001 meta length < 100 drop", LONG, SHORT),
    case(7002, "udp dport 7002 @th,64,8 0x41 drop", b"B", b"A"),
    case(7003, "udp dport 7003 udp length < 50 drop", LONG, SHORT),
    // The mark is asked for in a chain that comes later.
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
        client: ["udp dport 7006 ip frag-off set 0", ""],
        ..case(
            7006,
            "udp dport 7006 ip frag-off & 0x4000 != 0 drop",
            LONG,
            LONG,
        )
    },
];

fn rules() -> String {
    let each: String = CASES.iter().map(|c| format!("{}\n", c.rule)).collect();
    let (port, octets) = QUOTA;
    format!(
        "table inet each {{
        chain forward {{ type filter hook forward priority filter; policy accept;
        {each}
        udp dport {port} quota over {octets} bytes drop
        }}
        chain post {{ type filter hook postrouting priority mangle; policy accept;
        meta mark 7 drop
        }}
        }}\n"
    )
}

/// Asks a number of times, and returns how often an answer came.
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
    lab.node("client")?.nft(&format!(
        "table ip own\ndelete table ip own\ntable ip own {{ chain output {{ type filter hook output priority 0;\n{all} }}\n}}\n"
    )).map(drop)
}

/// Lets all flows come up, and waits until weir has judged them.
fn flows(lab: &Lab, weir: Option<&Weir>) -> Result<(Vec<Echo>, Vec<Datagrams>), Error> {
    client_does(lab, 0)?;
    let (mut echoes, mut open) = (Vec::new(), Vec::new());
    let ports = CASES.iter().map(|c| (c.port, c.good));
    for (port, good) in ports.chain([(QUOTA.0, SHORT), (FREE, LONG)]) {
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

fn started(by: By, lab: &Lab, more: &str) -> Result<Option<Weir>, Error> {
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
            for port in CASES.iter().map(|c| c.port).chain([QUOTA.0]) {
                wait_until("the flow is judged", LIMIT, || {
                    Ok(weir
                        .flow_at(port)?
                        .is_some_and(|flow| flow.reason.is_some()))
                })?;
                let reason = weir.flow_at(port)?.and_then(|flow| flow.reason);
                let reason = reason.expect("a reason");
                assert_eq!(reason.code, "each-packet", "{port}: {reason:?}");
                assert!(
                    reason.text.contains("inet each forward, handle"),
                    "{reason:?}"
                );
            }
            let log = weir.log();
            assert!(log.contains("a rule looks at each packet"), "{log}");
        }
        client_does(&lab, 1)?;
        for (case, from) in CASES.iter().zip(&open) {
            let answered = ask(from, case.bad, 10, Duration::from_millis(20))?;
            assert_eq!(answered, 0, "{}", case.rule);
        }
        // 28 octets of headers; the first ones were 29 octets long.
        let quota = &open[CASES.len()];
        let answered = ask(quota, &[b'B'; 972], 60, Duration::from_millis(20))? as u64;
        let most = (QUOTA.1 - 20 * 29) / 1_000;
        assert!(answered <= most, "{answered} of {most}");
        Ok(())
    });
}

#[test]
fn a_rule_that_comes_later_takes_what_weir_has() {
    at_once(&scene::WAYS[1..], |by| {
        let lab = scene::lab(by, &Options::default())?;
        let weir = started(by, &lab, "")?.expect("weir runs");
        let (_echoes, open) = flows(&lab, Some(&weir))?;
        lab.node("router")?.nft(&format!(
            "table inet later {{ chain forward {{ type filter hook forward priority 0;
            udp dport {FREE} meta length < 100 drop\n}}\n}}\n"
        ))?;
        let free = open.last().expect("opened");
        wait_until("the flow is judged anew", LIMIT, || {
            let reason = weir.flow_at(FREE)?.and_then(|flow| flow.reason);
            Ok(reason.is_some_and(|reason| reason.code == "each-packet"))
        })?;
        assert_eq!(ask(free, LONG, 30, LIMIT)?, 30);
        assert_eq!(ask(free, SHORT, 10, Duration::from_millis(20))?, 0);
        // And gives it back.
        lab.node("router")?.run("nft delete table inet later")?;
        let before = weir.forwarded()?;
        wait_until("it is forwarded again", LIMIT, || {
            ask(free, LONG, 20, LIMIT)?;
            Ok(weir.forwarded()? > before + 20)
        })
    });
}

/// What the option is for: the rule then sees a sample, as it did before there was one.
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
