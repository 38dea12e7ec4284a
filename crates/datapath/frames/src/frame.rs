//! A packet in words, which [`Frame::bytes`] makes a frame, with every length and checksum right.

use std::net::IpAddr;

use etherparse::PacketBuilder;
use kernel::{Mac, Protocol, Tuple};

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const PSH: u8 = 0x08;
pub const ACK: u8 = 0x10;
pub const URG: u8 = 0x20;

/// A packet over plain Ethernet.
#[derive(Clone, Debug)]
pub struct Frame {
    pub source_mac: Mac,
    pub destination_mac: Mac,
    pub tuple: Tuple,
    pub ttl: u8,
    pub tos: u8,
    /// Bytes behind the TCP or UDP header.
    pub payload: usize,
    pub flags: u8,
}

impl Frame {
    pub fn new(source_mac: Mac, destination_mac: Mac, tuple: Tuple) -> Self {
        Self {
            source_mac,
            destination_mac,
            tuple,
            ttl: 64,
            tos: 0,
            payload: 100,
            flags: ACK,
        }
    }

    pub fn ttl(self, ttl: u8) -> Self {
        Self { ttl, ..self }
    }

    pub fn tos(self, tos: u8) -> Self {
        Self { tos, ..self }
    }

    pub fn payload(self, payload: usize) -> Self {
        Self { payload, ..self }
    }

    pub fn flags(self, flags: u8) -> Self {
        Self { flags, ..self }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let payload: Vec<u8> = (0..self.payload).map(|i| i as u8).collect();
        let ethernet = PacketBuilder::ethernet2(self.source_mac, self.destination_mac);
        let ip = match (self.tuple.source, self.tuple.destination) {
            (IpAddr::V4(s), IpAddr::V4(d)) => {
                let protocol = etherparse::IpNumber::from(self.tuple.protocol.number());
                let mut header =
                    etherparse::Ipv4Header::new(0, self.ttl, protocol, s.octets(), d.octets())
                        .expect("fits");
                header.dscp = (self.tos >> 2).try_into().expect("six bits");
                header.ecn = (self.tos & 3).try_into().expect("two bits");
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
        let (sport, dport) = (self.tuple.source_port, self.tuple.destination_port);
        match self.tuple.protocol {
            Protocol::Udp => ip.udp(sport, dport).write(&mut out, &payload),
            Protocol::Tcp => {
                let mut header = etherparse::TcpHeader::new(sport, dport, 1000, 5000);
                header.fin = self.flags & FIN != 0;
                header.syn = self.flags & SYN != 0;
                header.rst = self.flags & RST != 0;
                header.psh = self.flags & PSH != 0;
                header.ack = self.flags & ACK != 0;
                header.urg = self.flags & URG != 0;
                ip.tcp_header(header).write(&mut out, &payload)
            }
        }
        .expect("writes to memory");
        out
    }
}
