//! The kernel's treatment of packets other than forwarding: helpers, mangling, priorities, qdiscs,
//! counters.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lab::gateway::SERVER;
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo, Transfer};
use lab::view::{View, word};
use lab::{Error, Lab, Namespace, Options, Tap};
use weir_tests::scene::{self, ENOUGH, Forwarder, PORT, Scene};
use weir_tests::{LIMIT, Weir};

const WEIR: [Forwarder; 2] = [Forwarder::Weir("tc"), Forwarder::Weir("xdp")];

/// Builds weir between client and server, with rules in the chains of a table.
fn with_rules(by: Forwarder, rules: &str) -> Result<(Lab, Weir), Error> {
    let lab = scene::lab(by, &Options::default())?;
    lab.node("router")?
        .nft(&format!("table inet work {{\n{rules}\n}}\n"))?;
    let weir = scene::weir(by, &lab, "")?.expect("weir runs");
    Ok((lab, weir))
}

/// Returns a chain.
fn chain(hook: &str, rule: &str) -> String {
    format!("chain {hook} {{ type filter hook {hook} priority mangle; policy accept;\n{rule}\n}}")
}

/// Asks by UDP as often as any proof needs, once weir forwards the answers; returns the packets
/// that reached the server since.
fn asked(lab: &Lab, weir: &Weir, port: u16) -> Result<Vec<Vec<u8>>, Error> {
    let server = lab.node("server")?;
    let to = SocketAddr::new(SERVER, port);
    let _echo = Echo::serve(server, to)?;
    let datagrams = Datagrams::open(lab.node("client")?, to)?;
    let back = || -> Result<u64, Error> {
        let flow = weir.flow_at(port)?;
        Ok(flow.map_or(0, |flow| flow.directions.reply.packets))
    };
    wait_until("weir forwards what comes back", LIMIT, || {
        assert!(datagrams.ask(b"again and again", LIMIT)?);
        Ok(back()? > 0)
    })?;
    let mut tap = Tap::open(server, "eth0")?;
    let before = back()?;
    // Each answer must arrive.
    for round in 0..300 {
        assert!(datagrams.ask(b"again and again", LIMIT)?, "round {round}");
    }
    // Weir forwards all but one for each proof.
    let forwarded = back()? - before;
    assert!(forwarded > 200, "{forwarded} of 300 came back by weir");
    let mut frames = tap.drain(Duration::from_millis(200))?;
    frames.retain(|frame| {
        let ports = View::of(frame).and_then(|view| view.ports);
        ports.is_some_and(|(_, to)| to == port)
    });
    assert_eq!(frames.len(), 300);
    Ok(frames)
}

/// A rule for packets to its own port: hook, port, action, TTL and TOS on the wire.
type Written = (&'static str, u16, &'static str, u8, u8);

/// Rules before the kernel lowers the TTL, and after. The first one changes nothing, as a control:
/// weir forwards nearly all of its packets.
const WRITTEN: [Written; 7] = [
    ("forward", 7, "ip ttl 63 accept", 63, 0),
    ("prerouting", 8, "ip ttl set 65", 64, 0),
    ("forward", 9, "ip ttl set 65", 65, 0),
    ("postrouting", 10, "ip ttl set 7", 7, 0),
    ("prerouting", 11, "ip dscp set cs1", 63, 0x20),
    ("forward", 12, "ip dscp set cs1", 63, 0x20),
    ("postrouting", 13, "ip dscp set cs1", 63, 0x20),
];

#[test]
fn a_ttl_or_dscp_that_a_rule_writes_is_the_one_on_the_wire() {
    let chains: Vec<String> = ["prerouting", "forward", "postrouting"]
        .iter()
        .map(|hook| {
            let own = WRITTEN.iter().filter(|(at, ..)| at == hook);
            let rules: Vec<String> = own
                .map(|(_, port, rule, ..)| format!("udp dport {port} {rule}"))
                .collect();
            chain(hook, &rules.join("\n"))
        })
        .collect();
    scene::at_once(&WEIR, |by| {
        let (lab, weir) = with_rules(by, &chains.join("\n"))?;
        for (hook, port, rule, ttl, tos) in WRITTEN {
            let frames = asked(&lab, &weir, port)?;
            let found: Vec<(u8, u16)> = frames
                .iter()
                .filter_map(|f| Some((View::of(f)?.ttl, word(f, 14)? & 0xff)))
                .collect();
            assert_eq!(found, [(ttl, u16::from(tos)); 300], "{hook}: {rule}");
            let flow = weir.flow_at(port)?.expect("the flow is known");
            let forwarded = flow.directions.original.packets;
            match port == WRITTEN[0].1 {
                true => assert!(forwarded > 200, "nothing changes them: {flow:#?}"),
                false => assert_eq!(forwarded, 0, "{hook}: {rule}: {flow:#?}"),
            }
        }
        Ok(())
    });
}

/// The kernel's FTP helper reads the control connection, so it must see every packet.
#[test]
fn a_connection_with_a_helper_stays_with_the_kernel() -> Result<(), Error> {
    let rules = format!(
        "ct helper reader {{ type \"ftp\" protocol tcp; l3proto ip; }}\n{}",
        chain(
            "forward",
            &format!("tcp dport {PORT} ct helper set \"reader\"")
        )
    );
    // Fails without nf_conntrack_ftp: the test cannot show its subject then, and must not pass.
    // if.
    let (lab, weir) = with_rules(Forwarder::Weir("tc"), &rules)?;
    let to = SocketAddr::new(SERVER, PORT);
    let transfer = Transfer::start(
        lab.node("client")?,
        lab.node("server")?,
        to,
        1,
        Some(8 << 20),
    )?;
    wait_until("weir sees the helper", LIMIT, || {
        let reason = weir.flow_at(PORT)?.and_then(|flow| flow.reason);
        Ok(reason.is_some_and(|reason| reason.code == "helper"))
    })?;
    transfer.advance(ENOUGH, LIMIT)?;
    assert_eq!(weir.forwarded()?, 0);
    transfer.stop().map(drop)
}

/// Returns the bytes that a class of the qdisc at wan0 sent.
fn class(router: &Namespace, name: &str) -> Result<u64, Error> {
    let text = router.run("tc -s class show dev wan0")?;
    let from = text
        .split("class ")
        .find(|part| part.contains(&format!("htb {name} ")));
    from.and_then(|part| part.split("Sent ").nth(1)?.split(' ').next()?.parse().ok())
        .ok_or_else(|| Error::Unexpected(format!("no class {name} in {text}")))
}

/// The qdisc keeps its rate and sorts packets by the priority from rules, at each of weir's hooks.
#[test]
fn a_qdisc_sees_what_weir_forwards() {
    scene::at_once(&WEIR, |by| {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        router.run("tc qdisc add dev wan0 root handle 1: htb default 20")?;
        router.run("tc class add dev wan0 parent 1: classid 1:10 htb rate 32mbit")?;
        router.run("tc class add dev wan0 parent 1: classid 1:20 htb rate 1mbit")?;
        let rule = chain(
            "postrouting",
            &format!("tcp dport {PORT} meta priority set 1:10"),
        );
        router.nft(&format!("table inet work {{\n{rule}\n}}\n"))?;
        let weir = scene::weir(by, &lab, "")?.expect("weir runs");
        let to = SocketAddr::new(SERVER, PORT);
        let transfer = Transfer::start(lab.node("client")?, lab.node("server")?, to, 1, None)?;
        weir.wait_for_forwarding(PORT)?;

        let before = (
            class(router, "1:10")?,
            class(router, "1:20")?,
            transfer.progress(),
        );
        let begun = Instant::now();
        transfer.advance(8 << 20, LIMIT)?;
        let seconds = begun.elapsed().as_secs_f64();
        let rate = (transfer.progress() - before.2) as f64 / seconds;
        // 32 Mbit/s are 4 MB/s; without the qdisc it would be a hundred times that.
        assert!(rate < 8e6, "{rate} bytes/s");
        let sorted = (
            class(router, "1:10")? - before.0,
            class(router, "1:20")? - before.1,
        );
        assert!(sorted.0 > 7 << 20 && sorted.1 < 1 << 20, "{sorted:?}");
        let flow = weir.flow_at(PORT)?.expect("the flow is known");
        assert!(flow.directions.original.bytes > 7 << 20, "{flow:#?}");
        let hook = |d: &answers::Direction| d.hook.map(|hook| hook.to_string());
        assert_eq!(
            hook(&flow.directions.original).as_deref(),
            Some("tc"),
            "{flow:#?}"
        );
        // The return direction does not have this qdisc.
        let Forwarder::Weir(at) = by else {
            return Ok(());
        };
        let without = weir.way_out("lan0", at)?;
        assert_eq!(
            hook(&flow.directions.reply).as_deref(),
            Some(without),
            "{flow:#?}"
        );

        // Without the qdisc, packets use XDP again.
        router.run("tc qdisc del dev wan0 root")?;
        wait_until("the hook is the port's", LIMIT, || {
            let flow = weir.flow_at(PORT)?;
            Ok(flow.is_some_and(|f| hook(&f.directions.original).as_deref() == Some(without)))
        })?;
        transfer.stop().map(drop)
    });
}

/// Compares weir's counters with those of the wire, which carries only the transfer.
#[test]
fn the_counters_are_those_of_the_wire() {
    scene::at_once(&WEIR, |by| {
        let by_wire = |node: &Namespace| -> Result<u64, Error> {
            let text = node.run("cat /proc/net/dev")?;
            let line = text.lines().find_map(|l| l.trim().strip_prefix("eth0:"));
            line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok())
                .ok_or_else(|| Error::Unexpected(format!("no eth0 in {text}")))
        };
        let options = Options {
            plain_offloads: true,
            ..Options::default()
        };
        let Forwarder::Weir(hook) = by else {
            return Ok(());
        };
        let lab = Lab::gateway(&options)?;
        let server = lab.node("server")?;
        let weir = weir_tests::gateway_weir(&lab, hook)?;
        let before = by_wire(server)?;
        let to = SocketAddr::new(SERVER, PORT);
        let transfer = Transfer::start(lab.node("client")?, server, to, 1, Some(8 << 20))?;
        weir.wait_for_forwarding(PORT)?;
        transfer.advance(4 * ENOUGH, LIMIT)?;
        let sent = transfer.stop()?;
        let status = weir.status()?;
        let count = |name: &str| -> Result<u64, Error> {
            let ports = weir
                .client()?
                .ports()
                .map_err(|e| Error::Unexpected(e.to_string()))?;
            let port = ports.into_iter().find(|p| p.name == name);
            Ok(port.map_or(0, |p| p.packets_out))
        };
        let (wire, out) = (by_wire(server)? - before, count("wan0")?);
        assert!(out <= wire, "{out} forwarded, {wire} on the wire");
        // Packets that the kernel forwarded: the first ones, and one for each proof.
        assert!(out * 10 > wire * 9, "{out} forwarded, {wire} on the wire");
        let packets = status.packets;
        assert_eq!(packets.forwarded(), out + count("lan0")?);
        assert!(packets.bytes > sent, "{packets:?} for {sent}");
        let share = status.fast_path_share.unwrap_or_default();
        assert!((0.9..=1.0).contains(&share), "{share}");
        let other = if weir.way_out("lan0", hook)? == "xdp" {
            packets.forwarded_tc
        } else {
            packets.forwarded_xdp
        };
        assert_eq!(other, 0, "{packets:?}");
        Ok(())
    });
}

/// The transfer lives while its rules change between several treatments.
#[test]
fn treatment_that_comes_and_goes() {
    scene::at_once(&WEIR, |by| {
        let scene = Scene::new(
            by,
            &Options::default(),
            SERVER,
            "[offload]\nreprove = \"10m\"\n",
        )?;
        let weir = scene.weir.as_ref().expect("weir runs");
        let router = scene.router()?;
        for rule in ["ip ttl set 9", "ip dscp set ef"] {
            router.nft(&format!(
                "table inet work {{\n{}\n}}\n",
                chain("postrouting", &format!("tcp dport {PORT} {rule}"))
            ))?;
            wait_until("what goes to the server is the kernel's", LIMIT, || {
                scene.transfer.advance(1 << 20, LIMIT)?;
                let packets = || -> Result<u64, Error> {
                    Ok(weir
                        .flow_at(PORT)?
                        .map_or(0, |f| f.directions.original.packets))
                };
                let before = packets()?;
                scene.transfer.advance(1 << 20, LIMIT)?;
                Ok(packets()? == before)
            })?;
            router.run("nft delete table inet work")?;
            scene.lives(rule)?;
        }
        scene.transfer.stop().map(drop)
    });
}
