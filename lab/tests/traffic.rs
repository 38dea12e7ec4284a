//! Real hosts behind the gateway: routes, translation, transfers, iperf3.

use std::net::SocketAddr;
use std::time::Duration;

use weir_lab::frame::{Body, Packet, Tcp, flag};
use weir_lab::gateway::{CLIENT, ROUTER_WAN, SERVER, SERVER_INNER, SERVER_INNER6, SERVER6};
use weir_lab::iperf::{Iperf, Load};
use weir_lab::topology::mac;
use weir_lab::transfer::{Datagrams, Echo, Transfer, ask_tcp};
use weir_lab::view::View;
use weir_lab::{Ipv6, Lab, Options, Tap};

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn echoes_come_back_over_ipv4_and_ipv6_and_both_paths() {
    for ipv6 in [Ipv6::Routed, Ipv6::Nat66] {
        let options = Options {
            ipv6,
            second_path: true,
            ..Options::default()
        };
        let lab = Lab::gateway(&options).expect("a lab");
        let (client, server) = (
            lab.node("client").expect("client"),
            lab.node("server").expect("server"),
        );
        for address in [SERVER, SERVER6, SERVER_INNER, SERVER_INNER6] {
            let to = SocketAddr::new(address, 7);
            let _echo = Echo::serve(server, to).expect("an echo");
            assert_eq!(
                ask_tcp(client, to, b"over TCP").expect("an answer"),
                b"over TCP"
            );
            let datagrams = Datagrams::open(client, to).expect("a socket");
            assert!(datagrams.ask(b"over UDP", LIMIT).expect("no error"));
        }
        let second = "ip route replace 203.0.113.1/32 via 10.0.1.2 dev wan1";
        lab.node("router")
            .expect("router")
            .run(second)
            .expect("another route");
        let to = SocketAddr::new(SERVER_INNER, 7);
        let _echo = Echo::serve(server, to).expect("an echo");
        assert_eq!(
            ask_tcp(client, to, b"other way").expect("an answer"),
            b"other way"
        );
    }
}

#[test]
fn the_server_sees_the_routers_address_and_finished_checksums() {
    let options = Options {
        plain_offloads: true,
        ..Options::default()
    };
    let lab = Lab::gateway(&options).expect("a lab");
    let mut tap = Tap::open(lab.node("server").expect("server"), "eth0").expect("a tap");
    let to = SocketAddr::new(SERVER, 9);
    let datagrams = Datagrams::open(lab.node("client").expect("client"), to).expect("a socket");
    assert_eq!(datagrams.local().expect("an address").ip(), CLIENT);
    // The port is closed, so the answer is an error or missing; only the path to the server counts
    // here.
    let _ = datagrams.ask(b"hello", Duration::from_millis(1));
    let seen = std::iter::from_fn(|| tap.receive(LIMIT).expect("no error")).find_map(|frame| {
        View::of(&frame)
            .filter(|view| view.ports.is_some_and(|ports| ports.1 == 9))
            .map(|view| (frame, view))
    });
    let (frame, view) = seen.expect("the datagram");
    assert_eq!(view.from, ROUTER_WAN);
    assert_eq!(view.ttl, 63);
    assert_eq!(view.residue(&frame), Some(0xffff));
}

#[test]
fn a_transfer_goes_on_until_it_is_stopped() {
    let lab = Lab::gateway(&Options::default()).expect("a lab");
    let (client, server) = (
        lab.node("client").expect("client"),
        lab.node("server").expect("server"),
    );
    let to = SocketAddr::new(SERVER, 5001);
    let transfer = Transfer::start(client, server, to, 42, Some(20_000_000)).expect("a transfer");
    transfer.advance(1_000_000, LIMIT).expect("progress");
    let before = transfer.progress();
    assert!(transfer.stop().expect("all right") >= before);
}

#[test]
fn a_transfer_notices_that_it_was_cut() {
    let lab = Lab::gateway(&Options::default()).expect("a lab");
    let (client, server) = (
        lab.node("client").expect("client"),
        lab.node("server").expect("server"),
    );
    let to = SocketAddr::new(SERVER, 5002);
    let transfer = Transfer::start(client, server, to, 42, Some(5_000_000)).expect("a transfer");
    transfer.advance(100_000, LIMIT).expect("progress");
    let reject = "table inet cut { chain f { type filter hook forward priority 0; ip protocol tcp \
        reject with tcp reset\n}\n}\n";
    lab.node("router")
        .expect("router")
        .nft(reject)
        .expect("a rule");
    assert!(transfer.advance(u64::MAX / 2, LIMIT).is_err());
    assert!(transfer.stop().is_err());
}

#[test]
fn iperf_measures_tcp_and_udp() {
    let lab = Lab::gateway(&Options::default()).expect("a lab");
    let (client, server) = (
        lab.node("client").expect("client"),
        lab.node("server").expect("server"),
    );
    let iperf = Iperf::serve(server, 5201).expect("a server");
    let tcp = iperf.run(client, &Load::tcp(SERVER, 1)).expect("TCP");
    assert!(tcp.octets > 0 && tcp.bits_per_second > 0.0, "{tcp:?}");
    let load = Load {
        udp: Some(1_000_000),
        reverse: true,
        ..Load::tcp(SERVER6, 1)
    };
    let udp = iperf.run(client, &load).expect("UDP");
    assert!(udp.packets > 0 && udp.octets > 0, "{udp:?}");
}

/// With GRO on, which XDP needs, a run of segments would be merged. AF_PACKET frames also pass a
/// raw lab in order.
#[test]
fn plain_wires_merge_nothing() {
    let options = Options {
        plain_offloads: true,
        raw: true,
        ..Options::default()
    };
    let lab = Lab::gateway(&options).expect("a lab");
    let client = Tap::open(lab.node("client").expect("client"), "eth0").expect("a tap");
    let mut server = Tap::open(lab.node("server").expect("server"), "eth0").expect("a tap");
    // Delays the flush of GRO until further frames arrive; otherwise GRO might handle each frame
    // alone.
    let hold = "echo 20000000 > /sys/class/net/eth0/gro_flush_timeout";
    let held = lab
        .node("server")
        .expect("server")
        .command("sh")
        .args(["-c", hold])
        .status();
    assert!(held.expect("a shell").success());
    let features = lab
        .node("server")
        .expect("server")
        .run("ethtool -k eth0")
        .expect("features");
    assert!(
        features.contains("generic-receive-offload: on"),
        "{features}"
    );
    let numbers: Vec<u32> = (0..200).map(|number| number * 500).collect();
    for sequence in &numbers {
        let segment = Tcp {
            from: 4000,
            to: 80,
            sequence: *sequence,
            flags: flag::ACK,
            window: 65_535,
            payload: vec![7; 500],
            ..Tcp::default()
        };
        let from = (mac("client", "eth0"), CLIENT);
        let to = (mac("router", "lan0"), SERVER);
        client
            .send(&Packet::new(from, to, Body::Tcp(segment)).bytes())
            .expect("sent");
    }
    let mut seen = Vec::new();
    while seen.len() < numbers.len() {
        let frame = server
            .receive(LIMIT)
            .expect("no error")
            .expect("another segment");
        if View::of(&frame).is_some_and(|view| view.ports.is_some_and(|ports| ports.1 == 80)) {
            assert_eq!(frame.len(), 54 + 500);
            seen.push(u32::from_be_bytes([
                frame[38], frame[39], frame[40], frame[41],
            ]));
        }
    }
    assert_eq!(seen, numbers);
}
