//! A blocked device cannot reach the network, all other devices can, and the router still answers
//! it. Needs root.

use crate::common;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use lab::topology::mac;
use lab::{Lab, Namespace, Offloads};
use weir_history_core::nft::{self, Cut};

/// Longer than a retransmission, shorter than patience.
const LIMIT: Duration = Duration::from_secs(15);
const SHORT: Duration = Duration::from_millis(700);

/// Builds a router with two devices at home and a server far away.
fn network() -> Lab {
    let mut lab = Lab::new();
    lab.router("router").expect("a router");
    for (number, role) in ["one", "two", "server"].into_iter().enumerate() {
        lab.host(role).expect("a host");
        let port = format!("p{number}");
        lab.wire((role, "eth0"), ("router", &port), Offloads::Default)
            .expect("a wire");
        lab.address(role, "eth0", &format!("10.0.{number}.2/24"))
            .expect("an address");
        lab.address("router", &port, &format!("10.0.{number}.1/24"))
            .expect("an address");
        lab.address(role, "eth0", &format!("fd00:0:0:{number}::2/64"))
            .expect("an address");
        lab.address("router", &port, &format!("fd00:0:0:{number}::1/64"))
            .expect("an address");
        // Without a link-local address of its own, it sends no IPv6 neighbour solicitation.
        lab.address("router", &port, "fe80::1/64")
            .expect("an address");
        let via = |text: String| text.parse::<IpAddr>().expect("an address");
        lab.route(role, "default", via(format!("10.0.{number}.1")))
            .expect("a route");
        lab.route(role, "default", via(format!("fd00:0:0:{number}::1")))
            .expect("a route");
    }
    lab
}

/// Echoes on a port, for as long as the test runs.
fn echo(node: &Namespace, port: u16) {
    let listener = node
        .enter(|| TcpListener::bind(("::", port)))
        .expect("a namespace")
        .expect("a listener");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut text = [0; 512];
                while let Ok(length @ 1..) = stream.read(&mut text) {
                    if stream.write_all(&text[..length]).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

fn connect(node: &Namespace, to: &str) -> Option<TcpStream> {
    let to: SocketAddr = to.parse().expect("an address");
    node.enter(|| TcpStream::connect_timeout(&to, Duration::from_millis(1500)))
        .expect("a namespace")
        .ok()
}

/// Returns true if an echo arrives within a time.
fn answers(stream: &mut TcpStream, limit: Duration) -> bool {
    stream.set_read_timeout(Some(limit)).expect("a time-out");
    stream.write_all(b"?").expect("it is sent");
    lab::uninterrupted(|| stream.read(&mut [0; 1])).is_ok_and(|length| length == 1)
}

#[test]
fn a_cut_device_is_kept_from_the_network_and_nobody_else_is() {
    let lab = network();
    let node = |role| lab.node(role).expect("a host");
    let (router, one, two) = (node("router"), node("one"), node("two"));
    echo(node("server"), 80);
    echo(one, 80);
    echo(router, 443);
    let far = ["10.0.2.2:80", "[fd00:0:0:2::2]:80"];
    let mut living: Vec<TcpStream> = far
        .iter()
        .map(|to| connect(one, to).expect("a connection"))
        .collect();
    let mut others: Vec<TcpStream> = far
        .iter()
        .map(|to| connect(two, to).expect("a connection"))
        .collect();
    let mut inwards = connect(node("server"), "10.0.0.2:80").expect("a connection");
    assert!(
        living
            .iter_mut()
            .chain(&mut others)
            .all(|stream| answers(stream, LIMIT))
    );
    assert!(answers(&mut inwards, LIMIT));

    // Without blocked devices, the table changes nothing.
    router
        .nft(&nft::create(&Cut::default()))
        .expect("the rules");
    assert!(living.iter_mut().all(|stream| answers(stream, LIMIT)));

    let addresses: Vec<IpAddr> = ["10.0.0.2", "fd00::2"]
        .map(|text| text.parse().expect("an address"))
        .into();
    let cut = Cut::new([mac("one", "eth0")], addresses);
    router.nft(&nft::update(&cut)).expect("the rules");
    // Open connections stop, in both directions, and no new one begins.
    assert!(!living.iter_mut().any(|stream| answers(stream, SHORT)));
    assert!(!answers(&mut inwards, SHORT));
    assert!(far.iter().all(|to| connect(one, to).is_none()));
    // Other connections continue, and the router itself answers: the page explains the block.
    assert!(others.iter_mut().all(|stream| answers(stream, LIMIT)));
    for to in ["10.0.0.1:443", "[fd00::1]:443"] {
        assert!(
            answers(&mut connect(one, to).expect("the router"), LIMIT),
            "{to}"
        );
    }

    // By addresses alone, packets to the device are dropped; by the hardware address alone, packets
    // from it.
    let by_address = Cut {
        macs: BTreeSet::new(),
        ..cut.clone()
    };
    router.nft(&nft::update(&by_address)).expect("the rules");
    assert!(far.iter().all(|to| connect(one, to).is_none()));
    let by_mac = Cut {
        macs: cut.macs.clone(),
        ..Cut::default()
    };
    router.nft(&nft::update(&by_mac)).expect("the rules");
    assert!(far.iter().all(|to| connect(one, to).is_none()));
    let shown = router
        .run("nft list table inet weir_quota")
        .expect("the table");
    assert!(
        shown.contains(&lab::topology::text(mac("one", "eth0"))) && !shown.contains("10.0.0.2"),
        "{shown}"
    );

    // Removed twice, as after a crash: stopped connections resume.
    router.nft(&nft::remove()).expect("the rules");
    router.nft(&nft::remove()).expect("nothing to remove");
    assert!(living.iter_mut().all(|stream| answers(stream, LIMIT)));
    assert!(answers(&mut inwards, LIMIT));
    assert!(far.iter().all(|to| connect(one, to).is_some()));
    assert!(
        !router
            .run("nft list ruleset")
            .expect("rules")
            .contains("weir_quota")
    );
}

#[test]
fn the_table_replaces_one_that_was_left_and_is_made_again_where_it_is_gone() {
    let mut lab = Lab::new();
    let router = lab.router("router").expect("a router");
    let many = |from: u32, to: u32| {
        Cut::new(
            (from..to).map(common::mac),
            (from..to)
                .map(|number| IpAddr::from(number.to_be_bytes()))
                .chain((from..to).map(|number| IpAddr::from(u128::from(number).to_be_bytes()))),
        )
    };
    router
        .nft(
            "table inet weir_quota { chain old { type filter hook forward priority 0; policy \
        drop; }\n}\n",
        )
        .expect("a left one");
    // The maximum number of distinct devices, each with an address of both families.
    router
        .nft(&nft::create(&many(0x0a00_0001, 0x0a00_0401)))
        .expect("the rules");
    let shown = router
        .run("nft list table inet weir_quota")
        .expect("the table");
    assert!(
        !shown.contains("old") && shown.contains("10.0.4.0") && shown.contains("policy accept"),
        "{shown}"
    );
    router
        .nft(&nft::update(&many(0x0a00_0001, 0x0a00_0002)))
        .expect("the rules");
    let shown = router
        .run("nft list table inet weir_quota")
        .expect("the table");
    assert!(
        shown.contains("10.0.0.1") && !shown.contains("10.0.4.0"),
        "{shown}"
    );
    router.run("nft flush ruleset").expect("somebody's doing");
    assert!(
        router.nft(&nft::update(&Cut::default())).is_err(),
        "told, so that it is made again"
    );
    router
        .nft(&nft::create(&Cut::default()))
        .expect("the rules");
}
