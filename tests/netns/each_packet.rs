//! Rules that look at each packet see each packet, also of flows that weir could forward: what the
//! kernel alone drops is dropped.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use lab::gateway::{CLIENT, SERVER};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Lab, Options};
use serde_json::Value;
use weir_tests::scene::{self, By, at_once};
use weir_tests::{LIMIT, Weir, binary};

/// A flow that no rule is about.
const FREE: u16 = 7000;
/// Quotas on what goes there: of a rule, and of an element that a rule looks up.
const QUOTAS: [u16; 2] = [7009, 7010];
/// Theirs, bytes.
const QUOTA: u64 = 20_000;

/// What a rule drops of the datagrams to a port: what goes through first, what does not any more,
/// and what the client does to make it so.
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

const CASES: [Case; 8] = [
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
    // In a chain before conntrack: see below.
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

/// Lets all flows come up, and waits until weir has judged them.
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

/// What `weir check` says of the costs of rules.
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
            assert!(log.contains("a rule looks at each packet"), "{log}");
        }
        client_does(&lab, 1)?;
        for (case, from) in CASES.iter().zip(&open) {
            let answered = ask(from, case.bad, 10, Duration::from_millis(20))?;
            assert_eq!(answered, 0, "{}: {}", case.port, case.rule);
        }
        // 28 bytes of headers; the first ones were 29 bytes long.
        let most = (QUOTA - 20 * 29) / 1_000;
        for (port, quota) in QUOTAS.iter().zip(&open[CASES.len()..]) {
            let answered = ask(quota, &[b'B'; 972], 60, Duration::from_millis(20))? as u64;
            assert!(answered <= most, "{port}: {answered} of {most}");
        }
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

/// An element of a set may have a limit of its own, where packets may write the set.
#[test]
fn an_element_with_a_limit_takes_what_weir_has() {
    at_once(&scene::WAYS, |by| {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        router.nft(&format!(
            "table inet later {{
            set limited {{ type ipv4_addr; size 100; flags dynamic; elements = {{ 192.0.2.99 }}; }}
            chain forward {{ type filter hook forward priority 0;
            udp dport {FREE} ip saddr @limited drop\n}}\n}}\n"
        ))?;
        let weir = started(by, &lab, "")?;
        let (_echoes, open) = flows(&lab, weir.as_ref())?;
        let element = format!("{CLIENT} limit rate over 5/second burst 5 packets");
        router.nft(&format!("add element inet later limited {{ {element} }}\n"))?;
        if let Some(weir) = &weir {
            wait_until("the flow is judged anew", LIMIT, || {
                let reason = weir.flow_at(FREE)?.and_then(|flow| flow.reason);
                Ok(reason.is_some_and(|reason| reason.code == "each-packet"))
            })?;
        }
        let free = open.last().expect("opened");
        let answered = ask(free, LONG, 60, Duration::from_millis(20))?;
        // 1.2 s at most, and as much again for a busy machine.
        assert!((1..=20).contains(&answered), "{answered}");
        Ok(())
    });
}

/// Iptables' rules, by iptables-nft: nft does not print what its extensions ask.
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

/// As mwan3 has it: dice for what has no mark yet, once that of the connection is restored.
const BALANCE: &str = "*mangle
:hook - [0:0]
:rules - [0:0]
:policy - [0:0]
-A hook -m mark --mark 0x0/0x3f00 -j CONNMARK --restore-mark --nfmask 0x3f00 --ctmask 0x3f00
-A hook -m mark --mark 0x0/0x3f00 -j rules
-A hook -j CONNMARK --save-mark --nfmask 0x3f00 --ctmask 0x3f00
-A rules -p udp -m multiport --ports 7001 -j RETURN
-A rules -m mark --mark 0x0/0x3f00 -j policy
-A policy -m mark --mark 0x0/0x3f00 -m statistic --mode random --probability 0.5 -j MARK \
--set-xmark 0x200/0x3f00
-A policy -m mark --mark 0x0/0x3f00 -j MARK --set-xmark 0x100/0x3f00
-A PREROUTING -j hook
COMMIT
";

#[test]
fn dice_for_what_has_no_mark_cost_nothing_where_it_is_restored() {
    at_once(&scene::WAYS[1..], |by| {
        let lab = scene::lab(by, &Options::default())?;
        lab.node("router")?.feed("iptables-nft-restore", BALANCE)?;
        let weir = started(by, &lab, "")?.expect("weir runs");
        let (_echoes, open) = flows(&lab, Some(&weir))?;
        let reason = weir.flow_at(CASES[0].port)?.and_then(|flow| flow.reason);
        let reason = reason.expect("without a mark it is left to the kernel");
        assert!(
            reason.text.contains("ip mangle policy, handle"),
            "{reason:?}"
        );
        for case in &CASES[1..] {
            let reason = weir.flow_at(case.port)?.and_then(|flow| flow.reason);
            let declined = reason.is_some_and(|reason| reason.code == "each-packet");
            assert!(!declined, "{}", case.port);
        }
        assert_eq!(ask(&open[1], LONG, 10, LIMIT)?, 10);
        Ok(())
    });
}

/// A connection, and whether what is said on it comes back.
fn say(stream: &mut TcpStream, limit: Duration) -> bool {
    let mut answer = [0; 5];
    let set = stream.set_read_timeout(Some(limit));
    set.and_then(|()| stream.write_all(b"hello"))
        .and_then(|()| stream.read_exact(&mut answer))
        .is_ok()
}

#[test]
fn pushed_segments_are_dropped() {
    at_once(&scene::WAYS, |by| {
        let lab = scene::lab(by, &Options::default())?;
        lab.node("router")?.nft(
            "table inet each { chain forward { type filter hook forward priority 0;
            tcp dport 7008 tcp flags psh drop\n}\n}\n",
        )?;
        let client = lab.node("client")?;
        let client_pushes = |pushes: bool| {
            let rule = match pushes {
                true => "",
                false => "tcp flags & (syn | fin | rst | psh) == psh tcp flags set ack",
            };
            client.nft(&format!(
                "table ip own\ndelete table ip own\ntable ip own {{ chain output {{ type filter \
                    hook output priority 0;\n{rule}\n}}\n}}\n"
            ))
        };
        client_pushes(false)?;
        let weir = started(by, &lab, "")?;
        let mut open = Vec::new();
        let mut echoes = Vec::new();
        for port in [7008, FREE] {
            let to = SocketAddr::new(SERVER, port);
            echoes.push(Echo::serve(lab.node("server")?, to)?);
            let connect = || TcpStream::connect_timeout(&to, LIMIT);
            let stream = client.enter(connect)?.map_err(Error::system("connect"))?;
            stream.set_nodelay(true).map_err(Error::system("nodelay"))?;
            open.push(stream);
        }
        for stream in &mut open {
            assert!((0..20).all(|_| say(stream, LIMIT)), "not pushed");
        }
        if let Some(weir) = &weir {
            wait_until("the free one is forwarded", LIMIT, || {
                let flow = weir.flow_at(FREE)?;
                let forwarded = flow.is_some_and(|flow| flow.directions.original.packets > 5);
                Ok(say(&mut open[1], LIMIT) && forwarded)
            })?;
            let reason = weir.flow_at(7008)?.and_then(|flow| flow.reason);
            assert_eq!(reason.expect("a reason").code, "each-packet");
        }
        client_pushes(true)?;
        assert!(say(&mut open[1], LIMIT));
        assert!(!say(&mut open[0], Duration::from_millis(800)), "pushed");
        Ok(())
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

/// What the rule goes by changes without a message. What it concerns is the kernel's; so nobody's
/// proofs end for it, unless it is ignored.
#[test]
fn a_rule_that_sees_each_packet_ends_no_proofs() {
    let ended = |each_packet: &str| -> Result<u64, Error> {
        let lab = scene::lab(By::Weir("tc"), &Options::default())?;
        lab.node("router")?.nft(
            "table inet each { chain forward { type filter hook forward priority 0;
            udp dport 7001 ct state established ct expiration < 1s drop\n}\n}\n",
        )?;
        let more = format!("[offload]\neach_packet = \"{each_packet}\"\n");
        let weir = started(By::Weir("tc"), &lab, &more)?.expect("weir runs");
        let _flows = flows(&lab, Some(&weir))?;
        let ends = || Ok(weir.status()?.bumps.get("expiry").copied().unwrap_or(0));
        let before = ends()?;
        sleep(Duration::from_millis(3_500));
        let reason = weir.flow_at(7001)?.and_then(|flow| flow.reason);
        let declined = reason.is_some_and(|reason| reason.code == "each-packet");
        assert_eq!(declined, each_packet == "respect");
        Ok(ends()? - before)
    };
    assert_eq!(ended("respect").expect("runs"), 0);
    let ended = ended("ignore").expect("runs");
    assert!((2..=5).contains(&ended), "{ended} in 3.5 s");
}
