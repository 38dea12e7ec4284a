//! IPsec policies, with keys and without.

use std::net::IpAddr;
use std::time::Duration;

use lab::frame::{Body, Packet};
use lab::gateway::{
    CLIENT, CLIENT6, ROUTER_WAN, ROUTER_WAN6, SERVER, SERVER_INNER, SERVER_INNER6, SERVER6,
};
use lab::topology::mac;
use lab::{Error, Lab, Tap};
use weir_tests::scene::{WAYS, at_once};

use crate::tunnels::script_comparison::{Script, act, play};
use crate::tunnels::{ECHO, HIDDEN, PLAIN, flows, plain};

/// Adds or deletes a policy of both families, for questions or for answers. With `encrypted` the
/// policy demands encryption in tunnel mode.
fn policy(
    lab: &Lab,
    verb: &str,
    direction: &str,
    answers: bool,
    encrypted: bool,
) -> Result<(), Error> {
    let router = lab.node("router")?;
    for (client, inner, near, far) in [
        (CLIENT, SERVER_INNER, ROUTER_WAN, SERVER),
        (CLIENT6, SERVER_INNER6, ROUTER_WAN6, SERVER6),
    ] {
        let length = if client.is_ipv6() { 128 } else { 32 };
        let (from, to, ends) = match answers {
            false => (client, inner, (near, far)),
            true => (inner, client, (far, near)),
        };
        let template = match encrypted {
            true => format!("tmpl src {} dst {} proto esp mode tunnel", ends.0, ends.1),
            false => String::new(),
        };
        router.run(&format!(
            "ip xfrm policy {verb} src {from}/{length} dst {to}/{length} dir {direction} {template}"
        ))?;
    }
    Ok(())
}

/// Without a key, no packet that a policy wants encrypted may pass in either direction, and no
/// packet in the clear may arrive. After the policy's removal all is as before.
#[test]
fn what_a_policy_wants_encrypted_never_passes_in_the_clear() {
    let acts = [
        act("no policy", |_| Ok(()), PLAIN),
        act(
            "questions are to be encrypted",
            |s| policy(&s.lab, "add", "out", false, true),
            "all -",
        )
        .left(),
        act(
            "no longer",
            |s| policy(&s.lab, "delete", "out", false, false),
            PLAIN,
        ),
        act(
            "answers are to be encrypted",
            |s| policy(&s.lab, "add", "out", true, true),
            "all answer+asked!",
        )
        .any(),
        act(
            "no longer",
            |s| policy(&s.lab, "delete", "out", true, false),
            PLAIN,
        ),
        act(
            "answers are to come encrypted",
            |s| policy(&s.lab, "add", "fwd", true, true),
            "all answer+asked!",
        )
        .any(),
        act(
            "no longer",
            |s| policy(&s.lab, "delete", "fwd", true, false),
            PLAIN,
        ),
        act(
            "questions are to come encrypted",
            |s| policy(&s.lab, "add", "fwd", false, true),
            "all -",
        )
        .left(),
        act(
            "all policies are flushed",
            |s| s.lab.node("router")?.run("ip xfrm policy flush").map(drop),
            PLAIN,
        ),
    ];
    play(&Script::new(
        &|by| flows(plain(by)?, &[SERVER_INNER, SERVER_INNER6]),
        &acts,
    ));
}

/// Encrypts all between client and server on the wire, in tunnel mode, or ends that. IPv4 carries
/// both families.
fn encrypt(lab: &Lab, on: bool) -> Result<(), Error> {
    let state = |from: IpAddr, to: IpAddr, number: u32| {
        format!(
            "ip xfrm state add src {from} dst {to} proto esp spi {number} reqid 1 mode tunnel \
                flag af-unspec auth hmac(sha1) 0x{} enc cbc(aes) 0x{}",
            "0b".repeat(20),
            "0c".repeat(16),
        )
    };
    let lines = [
        state(ROUTER_WAN, SERVER, 257),
        state(SERVER, ROUTER_WAN, 258),
    ];
    for (role, near, far) in [
        ("server", SERVER, ROUTER_WAN),
        ("router", ROUTER_WAN, SERVER),
    ] {
        let node = lab.node(role)?;
        if !on {
            node.run("ip xfrm policy flush")?;
            node.run("ip xfrm state flush")?;
            continue;
        }
        for line in &lines {
            node.run(line)?;
        }
        for (inside, outside) in [
            ("192.168.1.0/24", "203.0.113.1/32"),
            ("2001:db8:1::/64", "2001:db8:99::1/128"),
        ] {
            let (here, there) = match role {
                "router" => (inside, outside),
                _ => (outside, inside),
            };
            let template =
                |from, to| format!("tmpl src {from} dst {to} proto esp reqid 1 mode tunnel");
            node.run(&format!(
                "ip xfrm policy add src {here} dst {there} dir out {}",
                template(near, far)
            ))?;
            for direction in ["in", "fwd"] {
                node.run(&format!(
                    "ip xfrm policy add src {there} dst {here} dir {direction} {}",
                    template(far, near)
                ))?;
            }
        }
    }
    Ok(())
}

/// IPsec is set up during flows that weir forwards, and is removed again.
#[test]
#[ignore = "needs esp4: run by tests/vm/run"]
fn ipsec_comes_and_goes_under_a_flow() {
    let acts = [
        act("in the clear", |_| Ok(()), PLAIN),
        act("encrypted", |s| encrypt(&s.lab, true), HIDDEN).left(),
        act("and still", |s| s.talk(Duration::from_secs(1)), HIDDEN).left(),
        act("in the clear again", |s| encrypt(&s.lab, false), PLAIN),
    ];
    play(&Script::new(
        &|by| flows(plain(by)?, &[SERVER_INNER, SERVER_INNER6]),
        &acts,
    ));
}

/// Payload of forgeries: no longer than the flow's own packets, whose length identifies them.
const FORGED: &[u8] = b"lies.";

/// Answers arrive encrypted, and are decrypted at their port. A packet in the clear with the same
/// addresses and ports at the same port is a forgery: the kernel drops it.
#[test]
#[ignore = "needs esp4: run by tests/vm/run"]
fn a_forged_answer_in_the_clear_is_dropped_where_answers_come_encrypted() {
    at_once(&WAYS, |by| {
        let stage = flows(plain(by)?, &[SERVER_INNER, SERVER_INNER6])?;
        encrypt(&stage.lab, true)?;
        let weir = stage.start()?;
        stage.talk(Duration::from_secs(2))?;
        let wire = Tap::open(stage.lab.node("wire")?, "near")?;
        let mut client = Tap::open(stage.lab.node("client")?, "eth0")?;
        for (caller, from, to) in [
            (&stage.callers[0], SERVER_INNER, CLIENT),
            (&stage.callers[1], SERVER_INNER6, CLIENT6),
        ] {
            let forged = Packet::new(
                (mac("server", "eth0"), from),
                (mac("router", "wan0"), to),
                Body::Udp(ECHO, caller.port(), FORGED.to_vec()),
            );
            for _ in 0..20 {
                wire.send(&forged.bytes())?;
            }
        }
        let frames = client.drain(Duration::from_millis(500))?;
        let forged = |frame: &&Vec<u8>| frame.windows(FORGED.len()).any(|w| w == FORGED);
        let passed = frames.iter().filter(forged).count();
        if passed > 0 {
            return Err(Error::Unexpected(format!(
                "{passed} forgeries reached the client: {:#?}",
                weir.as_ref().map(|weir| weir.flows())
            )));
        }
        // Encrypted answers still arrive.
        stage.talk(Duration::from_millis(200))?;
        let frames = client.drain(Duration::from_millis(200))?;
        let answers = frames.iter().filter(|f| f.windows(4).any(|w| w == b"flow"));
        match answers.count() {
            0 => Err(Error::Unexpected("no answers any more".into())),
            _ => Ok(()),
        }
    });
}
