//! Builds the frame of a step.

use super::flow::{Flow, Side, Translation};
use super::kind::Kind;
use crate::frame::{Body, Checksum, Packet, Tcp, flag};
use crate::random::Random;

/// Window of both ends: the maximum without scaling.
const WINDOW: u16 = 65_535;
/// Sequence numbers lie within this many bytes after the initial one.
const SPREAD: usize = 8192;
/// Longest headers of an ordinary packet: IPv6, TCP with timestamps.
const HEADERS: usize = 40 + 20 + 12;

/// A frame to send on a wire.
#[derive(Clone, Debug)]
pub struct Step {
    /// Number in the workload.
    pub number: usize,
    /// Flow of the frame.
    pub flow: usize,
    /// Side of the injection.
    pub side: Side,
    /// Change to the packet.
    pub kind: Kind,
    /// Seed of the random choices.
    pub(super) seed: u64,
    /// IPv4 identification, for fragments.
    pub(super) id: u16,
}

impl Step {
    /// Returns a generator for random choices outside the frame.
    pub fn random(&self) -> Random {
        Random::new(!self.seed)
    }

    /// See [`Workload::frame`](super::Workload::frame).
    pub(super) fn frame(&self, flow: &Flow, mtu: u16, translation: Translation) -> Vec<u8> {
        let context = Context {
            mtu,
            flow,
            step: self,
            translation,
        };
        let mut random = Random::new(self.seed);
        let mut packet = ordinary(context, &mut random);
        match self.kind {
            Kind::FragmentFirst | Kind::FragmentLast | Kind::FragmentAlone => {
                fragment(self, packet, &mut random)
            }
            _ => {
                mangle(context, &mut packet, &mut random);
                packet.bytes()
            }
        }
    }
}

/// Inputs of a packet: the step, the flow, the MTU and the translation.
#[derive(Clone, Copy)]
struct Context<'a> {
    mtu: u16,
    flow: &'a Flow,
    step: &'a Step,
    translation: Translation,
}

/// Returns the packet before any change.
fn ordinary(context: Context, random: &mut Random) -> Packet {
    let (flow, step, translation) = (context.flow, context.step, context.translation);
    let limit = usize::from(context.mtu) - HEADERS;
    let payload = match step.kind {
        Kind::Open if flow.tcp => 0,
        Kind::Confirm if flow.tcp => 0,
        Kind::Data => random.pick(&[0, 1, 2, 5, 6, 7, 64, 333, 1000, limit - 1, limit]),
        Kind::FragmentFirst | Kind::FragmentLast | Kind::FragmentAlone => random.between(64, 600),
        Kind::Padded => random.below(7),
        _ => random.between(1, 700),
    };
    let payload = random.bytes(payload);
    let index = usize::from(step.side == Side::Server);
    let (from, to, ports) = match step.side {
        Side::Client => (
            flow.client(),
            flow.reached(),
            (flow.client_port, flow.server_port),
        ),
        Side::Server => (
            flow.server(),
            translation.address,
            (flow.server_port, translation.port),
        ),
    };
    let body = match flow.tcp {
        true => Body::Tcp(segment(flow, step, ports, payload, random)),
        false => Body::Udp(ports.0, ports.1, payload),
    };
    let mut packet = Packet::new(
        (step.side.host_mac(), from),
        (step.side.router_mac(), to),
        body,
    );
    packet.ttl = flow.ttl[index];
    packet.dont_fragment = flow.dont_fragment;
    packet.id = step.id;
    packet
}

fn segment(
    flow: &Flow,
    step: &Step,
    ports: (u16, u16),
    payload: Vec<u8>,
    random: &mut Random,
) -> Tcp {
    let (own, peer) = match step.side {
        Side::Client => (flow.isn[0], flow.isn[1]),
        Side::Server => (flow.isn[1], flow.isn[0]),
    };
    let mut tcp = Tcp {
        from: ports.0,
        to: ports.1,
        sequence: own.wrapping_add(1),
        acknowledgement: peer.wrapping_add(1),
        flags: flag::ACK,
        window: WINDOW,
        payload,
        ..Tcp::default()
    };
    let timestamps = [1, 1, 8, 10, 0, 0, step.id as u8, 1, 0, 0, 0, 2];
    match step.kind {
        Kind::Open => {
            tcp.sequence = own;
            tcp.flags = flag::SYN;
            if step.side == Side::Client {
                tcp.acknowledgement = 0;
            } else {
                tcp.flags |= flag::ACK;
            }
            tcp.options = vec![2, 4, 5, 180];
            if flow.timestamps {
                tcp.options.extend(timestamps);
            }
        }
        Kind::Confirm => {}
        _ => {
            tcp.sequence = tcp.sequence.wrapping_add(random.below(SPREAD) as u32);
            tcp.window = random.between(1000, usize::from(WINDOW)) as u16;
            tcp.flags |= random.pick(&[0, flag::PSH]);
            if flow.timestamps {
                tcp.options = timestamps.to_vec();
            }
        }
    }
    tcp
}

fn fragment(step: &Step, mut packet: Packet, random: &mut Random) -> Vec<u8> {
    // Both fragments draw equal numbers, because their seeds are equal.
    let cut = random.pick(&[8, 16, 24, 40, 64]);
    packet.id = step.id;
    let [first, last] = packet.fragments(cut);
    match step.kind {
        Kind::FragmentFirst => first,
        _ => last,
    }
}

fn mangle(context: Context, packet: &mut Packet, random: &mut Random) {
    let (flow, step) = (context.flow, context.step);
    match step.kind {
        Kind::Open
        | Kind::Confirm
        | Kind::Data
        | Kind::FragmentFirst
        | Kind::FragmentLast
        | Kind::FragmentAlone
        | Kind::Priority
        | Kind::Tags
        | Kind::Session
        | Kind::SessionLength
        | Kind::Elsewhere => {}
        Kind::Tos => packet.tos = random.next_u64() as u8,
        Kind::Ttl => packet.ttl = random.pick(&[0, 1, 1, 2, 2, 3, 66, 254]),
        Kind::IpOptions => packet.options = options(random),
        Kind::Extensions => packet.extensions = extensions(random),
        Kind::IpChecksum => packet.lies.ip_checksum = bits(random),
        Kind::Checksum if random.one_in(2) => packet.lies.checksum = Checksum::Unfinished,
        Kind::Checksum => packet.lies.checksum = Checksum::Wrong(bits(random)),
        Kind::UdpNoChecksum => packet.lies.checksum = Checksum::Zero,
        Kind::Short => short(packet, random),
        Kind::Long => packet.lies.length = random.pick(&[1, 2, 40, 1000, 30_000]),
        Kind::UdpLength => udp_length(packet, random),
        Kind::Cut => packet.lies.cut = Some(random.between(14, packet.bytes().len() - 1)),
        Kind::Padded => packet.lies.pad_to = 60,
        Kind::Trailer => {
            let length = random.between(1, 80);
            packet.lies.trailer = random.bytes(length);
        }
        Kind::Vlan => packet.tags = tags(random),
        Kind::OtherMac => packet.to_mac[5] ^= random.between(1, 255) as u8,
        Kind::GroupMac => {
            packet.to_mac =
                random.pick(&[[0xff; 6], [1, 0, 0x5e, 0, 0, 1], [0x33, 0x33, 0, 0, 0, 1]]);
        }
        Kind::IcmpError => icmp_error(context, packet, random),
        Kind::Echo => {
            let length = random.below(100);
            let payload = random.bytes(length);
            let kind = if flow.ipv6 { 128 } else { 8 };
            packet.body = Body::Icmp(kind, 0, u32::from(step.id) << 16 | 1, payload);
        }
        Kind::Mtu => resize(packet, length(context.mtu, step.side, random), random),
        Kind::HeaderLength => packet.lies.header_length = Some(random.pick(&[0, 1, 4, 6, 10, 15])),
        Kind::Version => {
            packet.lies.version = Some(random.pick(&[0, 5, 7, if flow.ipv6 { 4 } else { 6 }]))
        }
        Kind::Flags | Kind::BadFlags | Kind::Syn | Kind::Fin | Kind::Rst | Kind::DataOffset => {
            if let Body::Tcp(tcp) = &mut packet.body {
                flags(flow, step, tcp, random);
            }
        }
    }
}

/// Draws some bits, but not all: flipping all turns one zero of one's complement into the other.
fn bits(random: &mut Random) -> u16 {
    random.between(1, 0xfffe) as u16
}

/// Sets allowed flags, or flags that conntrack refuses (`tcp_valid_flags` in
/// net/netfilter/nf_conntrack_proto_tcp.c).
fn flags(flow: &Flow, step: &Step, tcp: &mut Tcp, random: &mut Random) {
    let own = flow.isn[usize::from(step.side == Side::Server)];
    match step.kind {
        Kind::Flags => {
            tcp.flags |= random.pick(&[
                flag::ECE,
                flag::CWR,
                flag::ECE | flag::CWR,
                flag::URG,
                flag::URG | flag::PSH,
            ]);
            if tcp.flags & flag::URG != 0 {
                tcp.urgent = tcp.payload.len() as u16;
            }
        }
        Kind::BadFlags => {
            tcp.flags = random.pick(&[
                0,
                flag::PSH,
                flag::URG,
                flag::FIN,
                flag::SYN | flag::FIN,
                flag::SYN | flag::RST,
                flag::FIN | flag::RST | flag::ACK,
                flag::SYN | flag::FIN | flag::RST | flag::PSH | flag::ACK | flag::URG,
            ]);
        }
        Kind::Syn => {
            tcp.sequence = own;
            tcp.acknowledgement = 0;
            tcp.flags = flag::SYN;
            tcp.payload.clear();
        }
        Kind::Fin => tcp.flags = flag::FIN | flag::ACK,
        Kind::Rst => {
            // Exactly the number that the other end expects. With any other number the connection's
            // state would be uncertain.
            tcp.sequence = own.wrapping_add(1);
            tcp.flags = flag::RST | random.pick(&[0, flag::ACK]);
            tcp.payload.clear();
        }
        _ => {
            // Zeros end the options that the wrong offset yields: an accidental SACK would be out
            // of the window.
            tcp.payload.fill(0);
            tcp.data_offset = Some(random.pick(&[0, 1, 4, 6, 7, 10, 12, 15]));
        }
    }
}

fn options(random: &mut Random) -> Vec<u8> {
    let choices: [&[u8]; 6] = [
        &[1, 1, 1, 1],
        &[1, 1, 1, 0],
        &[7, 7, 4, 0, 0, 0, 0, 0],
        &[148, 4, 0, 0],
        &[131, 7, 4, 10, 0, 0, 2, 0],
        &[0x82, 200, 1, 2],
    ];
    random.pick(&choices).to_vec()
}

fn extensions(random: &mut Random) -> Vec<(u8, Vec<u8>)> {
    let padding = vec![0, 0, 1, 4, 0, 0, 0, 0];
    match random.below(5) {
        0 => vec![(0, padding)],
        1 => vec![(60, padding)],
        2 => vec![(0, padding.clone()), (60, padding)],
        // A routing header without segments left.
        3 => vec![(43, vec![0, 0, 4, 0, 0, 0, 0, 0])],
        // Reserved for experiments: an unknown header.
        _ => vec![(253, padding)],
    }
}

fn tags(random: &mut Random) -> Vec<(u16, u16)> {
    let vid = random.below(0x10_000) as u16;
    match random.below(3) {
        0 => vec![(0x8100, vid)],
        1 => vec![(0x88a8, vid), (0x8100, 5)],
        // A priority tag belongs to no VLAN: the kernel takes the packet for untagged.
        _ => vec![(0x8100, vid & 0xe000)],
    }
}

/// Makes IP end before the payload. Half of these packets are otherwise right, with the remainder
/// of the payload as a trailer.
fn short(packet: &mut Packet, random: &mut Random) {
    let payload = match &mut packet.body {
        Body::Tcp(tcp) => &mut tcp.payload,
        Body::Udp(_, _, payload) => payload,
        _ => return,
    };
    let missing = random.between(1, payload.len());
    if random.one_in(2) {
        packet.lies.trailer = payload.split_off(payload.len() - missing);
    } else {
        packet.lies.length = -(missing as i32);
    }
}

fn udp_length(packet: &mut Packet, random: &mut Random) {
    if let Body::Udp(_, _, payload) = &packet.body {
        let right = 8 + payload.len() as u16;
        let wrong = [0, 7, 8, right - 1, right + 1, right + 100];
        packet.lies.udp_length = Some(random.pick(&wrong));
    }
}

/// Draws the length of an IP packet. The server's own wire carries at most the MTU.
fn length(mtu: u16, side: Side, random: &mut Random) -> usize {
    let mtu = usize::from(mtu);
    match side {
        Side::Client => random.pick(&[mtu - 1, mtu, mtu + 1, mtu + 8, 1500.max(mtu)]),
        Side::Server => random.pick(&[mtu - 1, mtu]),
    }
}

fn resize(packet: &mut Packet, length: usize, random: &mut Random) {
    let now = packet.bytes().len() - 14;
    let payload = match &mut packet.body {
        Body::Tcp(tcp) => &mut tcp.payload,
        Body::Udp(_, _, payload) => payload,
        _ => return,
    };
    let wanted = (payload.len() + length).saturating_sub(now);
    *payload = random.bytes(wanted);
}

/// Builds an error about a packet of the other direction, as seen on this side.
fn icmp_error(context: Context, packet: &mut Packet, random: &mut Random) {
    let (flow, step) = (context.flow, context.step);
    let other = Step {
        side: step.side.other(),
        ..step.clone()
    };
    let mut ports = match step.side {
        Side::Client => (flow.server_port, flow.client_port),
        Side::Server => (context.translation.port, flow.server_port),
    };
    if random.one_in(8) {
        // The error quotes an unknown connection.
        ports.0 ^= 0x4000;
    }
    let payload = random.bytes(32);
    let body = match flow.tcp {
        true => Body::Tcp(segment(flow, &other, ports, payload, random)),
        false => Body::Udp(ports.0, ports.1, payload),
    };
    let mut quoted = Packet::new(([0; 6], packet.to), ([0; 6], packet.from), body);
    quoted.ttl = 7;
    quoted.id = step.id;
    let mut quoted = quoted.bytes().split_off(14);
    quoted.truncate(random.pick(&[28, 48, 60, 200]));
    let (kind, code, word) = match flow.ipv6 {
        true => random.pick(&[(1, 0, 0), (1, 4, 0), (2, 0, 1300), (3, 0, 0), (4, 1, 6)]),
        false => random.pick(&[
            (3, 1, 0),
            (3, 3, 0),
            (3, 4, 1300),
            (3, 13, 0),
            (11, 0, 0),
            (12, 0, 0),
        ]),
    };
    packet.body = Body::Icmp(kind, code, word, quoted);
}
