//! A packet path with one known connection, in a namespace of its own, run through BPF_PROG_TEST_RUN.
#![allow(dead_code)]

use std::net::IpAddr;
use std::process::Command;

use etherparse::PacketBuilder;
use kernel::{Mac, Protocol, Tuple};
use weir_datapath::{Datapath, Options, Sizes};

pub const LAN: u32 = 10;
pub const WAN: u32 = 11;
pub const CLIENT: Mac = [2, 0, 0, 0, 0, 1];
pub const ROUTER_LAN: Mac = [2, 0, 0, 0, 0, 2];
pub const ROUTER_WAN: Mac = [2, 0, 0, 0, 0, 3];
pub const SERVER: Mac = [2, 0, 0, 0, 0, 4];
pub const XDP_PASS: u32 = 2;
pub const XDP_REDIRECT: u32 = 4;
pub const TC_PASS: u32 = u32::MAX;
pub const TC_REDIRECT: u32 = 7;

/// Moves this thread into a fresh namespace with the two devices of a router.
pub fn namespace() {
    // SAFETY: affects this thread only.
    assert_eq!(
        unsafe { libc::unshare(libc::CLONE_NEWNET) },
        0,
        "needs root: unshare: {}",
        std::io::Error::last_os_error()
    );
    for (name, index, mac) in [("lan0", LAN, ROUTER_LAN), ("wan0", WAN, ROUTER_WAN)] {
        let mac = mac.map(|o| format!("{o:02x}")).join(":");
        let made = Command::new("ip")
            .args([
                "link",
                "add",
                name,
                "index",
                &index.to_string(),
                "address",
                &mac,
                "type",
                "veth",
                "peer",
                "name",
            ])
            .arg(format!("{name}-peer"))
            .status()
            .expect("ip is installed");
        assert!(made.success());
        assert!(
            Command::new("ip")
                .args(["link", "set", name, "up"])
                .status()
                .unwrap()
                .success()
        );
    }
    assert!(
        Command::new("ip")
            .args(["link", "set", "lo", "up"])
            .status()
            .unwrap()
            .success()
    );
}

pub fn tuple(protocol: Protocol, source: &str, sport: u16, destination: &str, dport: u16) -> Tuple {
    Tuple {
        protocol,
        source: source.parse().unwrap(),
        source_port: sport,
        destination: destination.parse().unwrap(),
        destination_port: dport,
    }
}

/// A packet in words; [`Frame::bytes`] makes it a frame.
#[derive(Clone, Debug)]
pub struct Frame {
    pub source_mac: Mac,
    pub destination_mac: Mac,
    pub tuple: Tuple,
    pub ttl: u8,
    pub tos: u8,
    pub payload: usize,
    pub flags: u8,
}

pub const ACK: u8 = 0x10;

impl Frame {
    pub fn new(tuple: Tuple) -> Self {
        Self {
            source_mac: CLIENT,
            destination_mac: ROUTER_LAN,
            tuple,
            ttl: 64,
            tos: 0,
            payload: 100,
            flags: ACK,
        }
    }

    /// As the router sends it on: from the WAN port to the server, TTL one less.
    pub fn forwarded(&self, tuple: Tuple) -> Self {
        Self {
            source_mac: ROUTER_WAN,
            destination_mac: SERVER,
            tuple,
            ttl: self.ttl - 1,
            ..self.clone()
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let payload: Vec<u8> = (0..self.payload).map(|i| i as u8).collect();
        let ethernet = PacketBuilder::ethernet2(self.source_mac, self.destination_mac);
        let ip = match (self.tuple.source, self.tuple.destination) {
            (IpAddr::V4(s), IpAddr::V4(d)) => {
                let mut header = etherparse::Ipv4Header::new(
                    0,
                    self.ttl,
                    etherparse::IpNumber::from(self.tuple.protocol.number()),
                    s.octets(),
                    d.octets(),
                )
                .unwrap();
                header.dscp = (self.tos >> 2).try_into().unwrap();
                header.ecn = (self.tos & 3).try_into().unwrap();
                header.dont_fragment = true;
                ethernet.ip(etherparse::IpHeaders::Ipv4(header, Default::default()))
            }
            (IpAddr::V6(s), IpAddr::V6(d)) => {
                let header = etherparse::Ipv6Header {
                    traffic_class: self.tos,
                    hop_limit: self.ttl,
                    source: s.octets(),
                    destination: d.octets(),
                    ..Default::default()
                };
                ethernet.ip(etherparse::IpHeaders::Ipv6(header, Default::default()))
            }
            _ => panic!("mixed families"),
        };
        let mut out = Vec::new();
        match self.tuple.protocol {
            Protocol::Udp => ip
                .udp(self.tuple.source_port, self.tuple.destination_port)
                .write(&mut out, &payload)
                .unwrap(),
            Protocol::Tcp => {
                let mut header = etherparse::TcpHeader::new(
                    self.tuple.source_port,
                    self.tuple.destination_port,
                    1000,
                    5000,
                );
                header.ack = self.flags & ACK != 0;
                header.syn = self.flags & 2 != 0;
                header.fin = self.flags & 1 != 0;
                header.rst = self.flags & 4 != 0;
                header.urg = self.flags & 0x20 != 0;
                ip.tcp_header(header).write(&mut out, &payload).unwrap()
            }
        }
        out
    }
}

/// A packet path that knows one connection with source translation, and its tuples.
pub struct Bench {
    pub path: Datapath,
    pub original: Tuple,
    pub reply: Tuple,
}

impl Bench {
    pub fn new(protocol: Protocol, ipv6: bool) -> Self {
        Self::with(
            protocol,
            ipv6,
            true,
            Options {
                quiet: 1,
                rehearsal: true,
                ..Default::default()
            },
        )
    }

    pub fn with(protocol: Protocol, ipv6: bool, translated: bool, options: Options) -> Self {
        let (client, router, server) = if ipv6 {
            ("fd00:1::2", "fd00:2::1", "fd00:2::2")
        } else {
            ("192.168.1.2", "10.0.0.1", "10.0.0.2")
        };
        let original = tuple(protocol, client, 40000, server, 443);
        let reply = if translated {
            tuple(protocol, server, 443, router, 50000)
        } else {
            original.reversed()
        };
        namespace();
        let mut path = Datapath::load(Sizes::new(64, 64, &[LAN, WAN]), options).expect("loads");
        path.declare(LAN, &ROUTER_LAN, true).unwrap();
        path.declare(WAN, &ROUTER_WAN, true).unwrap();
        path.install(1, &original, &reply).unwrap();
        path.arm().unwrap();
        let mut bench = Self {
            path,
            original,
            reply,
        };
        bench.bump();
        bench
    }

    /// A bump, and the pause after it.
    pub fn bump(&mut self) {
        self.path.bump().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(25));
    }

    /// The frame as the client sends it.
    pub fn outbound(&self) -> Frame {
        Frame::new(self.original)
    }

    /// The frame as the kernel would send it on.
    pub fn sent(&self, frame: &Frame) -> Frame {
        frame.forwarded(self.reply.reversed())
    }

    /// Lets the kernel's part play: seen at ingress, then seen to leave.
    pub fn prove(&mut self, frame: &Frame) {
        let (action, _, _) = self.path.test_xdp(&frame.bytes(), LAN, 1).unwrap();
        assert_eq!(action, XDP_PASS, "not proven yet, so not forwarded");
        self.path.beat().unwrap();
        self.path
            .test_witness(&self.sent(frame).bytes(), WAN)
            .unwrap();
    }

    pub fn xdp(&mut self, frame: &[u8]) -> (u32, Vec<u8>) {
        self.path.beat().unwrap();
        let (action, out, _) = self.path.test_xdp(frame, LAN, 1).unwrap();
        (action, out)
    }

    pub fn tc(&mut self, frame: &[u8]) -> (u32, Vec<u8>) {
        self.path.beat().unwrap();
        let (action, out, _) = self.path.test_tc(frame, LAN, 1).unwrap();
        (action, out)
    }
}
