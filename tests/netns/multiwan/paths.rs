//! Several paths to one destination.

use std::time::Duration;

use lab::frame::{Body, Packet};
use lab::gateway::{CLIENT6, SERVER_INNER, SERVER_INNER6};
use lab::namespace::wait_until;
use lab::topology::mac;
use lab::{Error, Lab, Tap};
use weir_tests::LIMIT;
use weir_tests::scene::Forwarder;

use crate::multiwan::script_comparison::{Script, Stage, act, play};
use crate::multiwan::{ECHO, WIRES, pair, providers};

/// Routes half of the flows by each wire, for both families.
fn multipath(lab: &Lab, verb: &str, weights: (u32, u32)) -> Result<(), Error> {
    let router = lab.node("router")?;
    for (family, to, gateways) in [
        ("-4", SERVER_INNER, ("10.0.0.2", "10.0.1.2")),
        ("-6", SERVER_INNER6, ("2001:db8:2::2", "2001:db8:3::2")),
    ] {
        router.run(&format!(
            "ip {family} route {verb} {to} nexthop via {} weight {} nexthop via {} weight {}",
            gateways.0, weights.0, gateways.1, weights.1
        ))?;
    }
    Ok(())
}

/// Sets the hash policy: addresses (0), or ports too (1).
fn policy(lab: &Lab, number: u8) -> Result<(), Error> {
    let router = lab.node("router")?;
    router.sysctl("net.ipv4.fib_multipath_hash_policy", number)?;
    router.sysctl("net.ipv6.fib_multipath_hash_policy", number)
}

/// Adds eight flows of each family. IPv6's hash includes flow labels, which each namespace would
/// generate differently.
fn crowd(stage: &mut Stage) -> Result<(), Error> {
    let client = stage.lab.node("client")?;
    client.sysctl("net.ipv6.auto_flowlabels", 0)?;
    (0..8).try_for_each(|number| pair(stage, &format!("flow{number}-"), ECHO))
}

/// Each flow keeps the path that the kernel alone would choose, whatever happens to the paths. A
/// flow's hash is equal in every namespace of a machine.
#[test]
fn every_flow_keeps_to_its_path_of_several() {
    let stage = |by| {
        let mut stage = providers(by, false)?;
        policy(&stage.lab, 1)?;
        multipath(&stage.lab, "add", (1, 1))?;
        crowd(&mut stage)?;
        Ok(stage)
    };
    let acts = [
        act("two paths", |_| Ok(()), "*"),
        act(
            "other weights",
            |s| multipath(&s.lab, "replace", (1, 20)),
            "*",
        ),
        act(
            "one path",
            |s| {
                let router = s.lab.node("router")?;
                router.run(&format!("ip route replace {SERVER_INNER} via 10.0.1.2"))?;
                router.run(&format!("ip -6 route del {SERVER_INNER6}"))?;
                router
                    .run(&format!(
                        "ip -6 route add {SERVER_INNER6} via 2001:db8:3::2"
                    ))
                    .map(drop)
            },
            "all eth1",
        ),
        act(
            "two paths by a group of next hops",
            |s| {
                let router = s.lab.node("router")?;
                router.run(&format!("ip route del {SERVER_INNER}"))?;
                router.run(&format!("ip -6 route del {SERVER_INNER6}"))?;
                router
                    .ip(&format!(
                        "nexthop add id 1 via 10.0.0.2 dev wan0\nnexthop add id 2 via 10.0.1.2 \
                        dev wan1\nnexthop add id 10 group 1/2\n\
                     nexthop add id 3 via 2001:db8:2::2 dev wan0\nnexthop add id 4 via \
                     2001:db8:3::2 dev wan1\nnexthop add id 11 group 3/4\n\
                     route add {SERVER_INNER}/32 nhid 10\nroute add {SERVER_INNER6}/128 nhid \
                     11\n"
                    ))
                    .map(drop)
            },
            "*",
        ),
        act(
            "the group loses one",
            |s| {
                let router = s.lab.node("router")?;
                router
                    .ip("nexthop replace id 10 group 1\nnexthop replace id 11 group 3\n")
                    .map(drop)
            },
            "all eth0",
        ),
    ];
    let pictures = play(&Script::new(&stage, &acts));
    // A hash with ports spreads the flows: for 16 flows a single wire has a chance of one in
    // thousands.
    for step in [0, 3] {
        assert_eq!(pictures[step].places().len(), 2, "{:#?}", pictures[step]);
    }
}

/// Returns the wire of a flow's packets with different IPv6 flow labels: labels 1 to 16, in turn,
/// each three times.
fn by_label(by: Forwarder) -> Result<Vec<String>, Error> {
    let mut stage = providers(by, false)?;
    policy(&stage.lab, 0)?;
    multipath(&stage.lab, "add", (1, 1))?;
    stage.call("label", "client", CLIENT6, (SERVER_INNER6, ECHO))?;
    let weir = stage.start()?;
    let lab = &stage.lab;
    // A connection first, whose packets have no label.
    lab.node("client")?.sysctl("net.ipv6.auto_flowlabels", 0)?;
    stage.talk(Duration::from_secs(1))?;
    let client = Tap::open(lab.node("client")?, "eth0")?;
    let mut taps = Vec::new();
    for (role, device, _) in WIRES {
        taps.push((device, Tap::open(lab.node(role)?, device)?));
    }
    let packet = Packet::new(
        (mac("client", "eth0"), CLIENT6),
        (mac("router", "lan0"), SERVER_INNER6),
        Body::Udp(stage.callers[0].port(), ECHO, b"label".to_vec()),
    );
    let mut wires = Vec::new();
    for round in 0..3 {
        for label in 1..=16u8 {
            let mut frame = packet.bytes();
            // The last byte of the label: bits 24 to 31 of the header.
            frame[17] = label;
            let mut arrived = Vec::new();
            client.send(&frame)?;
            wait_until("the packet arrives", LIMIT, || {
                for (device, tap) in &mut taps {
                    while let Some(got) = tap.receive(Duration::ZERO)? {
                        if got.get(17) == Some(&label) && got.ends_with(b"label") {
                            arrived.push(*device);
                        }
                    }
                }
                Ok(!arrived.is_empty())
            })?;
            wires.push(format!("{round}, label {label}: {arrived:?}"));
        }
    }
    if let Some(weir) = weir {
        // The return direction has one path only.
        assert!(weir.forwarded()? > 0, "{:#?}", weir.flows()?);
    }
    Ok(wires)
}

/// In IPv6 a hash by addresses includes flow labels (rt6_multipath_hash in net/ipv6/route.c). TCP
/// changes its label without an answer, to get another path.
#[test]
fn a_flow_label_chooses_the_path() {
    let kernel = by_label(Forwarder::Kernel).expect("the kernel alone");
    for device in ["eth0", "eth1"] {
        let used = kernel.iter().any(|line| line.contains(device));
        assert!(used, "not by {device}: {kernel:#?}");
    }
    for by in [Forwarder::Weir("tc"), Forwarder::Weir("xdp")] {
        let found = by_label(by).unwrap_or_else(|error| panic!("{by:?}: {error}"));
        assert_eq!(found, kernel, "{by:?}");
    }
}

/// This change has no event: proofs must end by themselves.
#[test]
fn another_hash_policy_is_noticed_by_and_by() {
    let stage = |by| {
        let mut stage = providers(by, false)?;
        policy(&stage.lab, 0)?;
        multipath(&stage.lab, "add", (1, 1))?;
        crowd(&mut stage)?;
        stage.reprove = "1s";
        Ok(stage)
    };
    let acts = [
        act("by addresses", |_| Ok(()), "*"),
        act(
            "by ports, and all flows proved anew since",
            |s| {
                policy(&s.lab, 1)?;
                s.talk(Duration::from_secs(4))
            },
            "*",
        ),
    ];
    let pictures = play(&Script::new(&stage, &acts));
    assert_eq!(pictures[1].places().len(), 2, "{:#?}", pictures[1]);
}
