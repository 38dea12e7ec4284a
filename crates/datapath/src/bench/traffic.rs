//! Traffic of a benchmark, its programs, and the packets that arrive.

use std::net::Ipv4Addr;

/// TEMPLATE_MAX of bpf/bench.bpf.c: headers, bytes.
pub(super) const TEMPLATE_MAX: usize = 80;
const L3: usize = 14;

/// Frames that a benchmark sends.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The frame of flow 0, from the Ethernet header on.
    pub frame: Vec<u8>,
    /// Number of flows in turn: by port, and those beyond [`Traffic::bits`] by the address too. 0:
    /// always this very frame, whatever its content.
    pub flows: u32,
    /// Bits of the port by which flows of one address differ: up to 15.
    pub bits: u32,
    /// Flows differ at the destination instead of the source.
    pub reply: bool,
    /// Bytes between Ethernet's header and IP: VLAN tags, PPPoE.
    pub shift: usize,
    /// Flows beyond [`Traffic::bits`] differ by the server's address, not by the client's.
    pub by_server: bool,
    /// Frames of one flow in a row.
    pub burst: u32,
    /// Variants of `frame` with little payload, and with some: [`Bench::generate`] sends seven,
    /// four and one of the whole frame in twelve. `None`: all are whole.
    pub shorter: Option<[Vec<u8>; 2]>,
}

impl Traffic {
    /// A frame of so many flows, by source port.
    pub fn of(frame: Vec<u8>, flows: u32) -> Self {
        Self {
            frame,
            flows,
            bits: PORT_BITS,
            reply: false,
            shift: 0,
            by_server: false,
            burst: 1,
            shorter: None,
        }
    }
}

/// Target and translation of the comparison paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exit {
    /// Index of the device.
    pub link: u32,
    /// Ethernet header of what leaves.
    pub header: [u8; 14],
    /// Old and new IPv4 source address.
    pub source: Option<(Ipv4Addr, Ipv4Addr)>,
    /// Iterations of an idle loop in [`Program::Ceiling`], at most 4096, to model a router that is
    /// slower by that time.
    pub spin: u32,
}

/// Default number of port bits by which flows differ: few addresses.
pub const PORT_BITS: u32 = 15;

/// Packets that reached [`Program::SinkMarked`], by the lowest bit of one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// Packets.
    pub packets: [u64; 2],
    /// Arrival of the last of each: nanoseconds of CLOCK_MONOTONIC; 0 without any.
    pub last: [u64; 2],
}

/// Program that can be attached to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Counts and drops at XDP.
    SinkXdp,
    /// Counts two kinds of packets at XDP, and drops them: see [`Bench::marked`].
    SinkMarked,
    /// Counts and drops at TC ingress.
    SinkTc,
    /// Counts at TC egress, and lets pass.
    CountTc,
    /// Lets pass at TC ingress, and does nothing else.
    PassIn,
    /// Lets pass at TC egress, and does nothing else.
    PassOut,
    /// Static rewrite and redirect at XDP.
    Ceiling,
    /// Static rewrite and redirect at generic XDP: behind an skb, where a driver has no XDP.
    CeilingGeneric,
    /// Static rewrite and redirect at TC ingress.
    CeilingTc,
    /// Hash map and source translation at XDP.
    HashNat,
    /// The kernel's routing table at XDP, IPv4.
    Fib,
}

/// Program that [`Bench::rotate`] times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// XDP: only drops.
    Bare,
    /// XDP: static rewrite.
    Ceiling,
    /// XDP: hash map and source translation.
    HashNat,
    /// XDP: weir; after [`Bench::aim`].
    Weir,
    /// TC: only drops.
    BareTc,
    /// TC: static rewrite.
    CeilingTc,
    /// TC: weir at ingress; after [`Bench::aim`].
    WeirTc,
    /// TC: weir's witness; after [`Bench::aim`].
    Witness,
    /// TC: the meter at ingress; after [`Bench::aim_meter`].
    MeterIn,
    /// TC: the meter at egress; after [`Bench::aim_meter`].
    MeterOut,
    /// TC: only the meter's parse; after [`Bench::aim_peers`], as all that follow.
    MeterParse,
    /// TC: the meter's parse, then a hash map of keys of 40 bytes, its values behind a spin lock.
    SpinLocked,
    /// TC: then a hash map of keys of 16 bytes with values for each processor.
    PerCpu,
    /// TC: then a hash map that forgets the least recently used, atomic additions.
    LeastRecent,
    /// TC: then a hash map of keys of 16 bytes, atomic additions.
    HashAtomic,
    /// TC: the classifier of ports at ingress; after [`Bench::aim_cables`].
    CableIn,
    /// TC: the classifier of ports at egress; after [`Bench::aim_cables`].
    CableOut,
}

impl Target {
    pub(super) fn is_tc(self) -> bool {
        !matches!(
            self,
            Self::Bare | Self::Ceiling | Self::HashNat | Self::Weir
        )
    }
}

/// A packet as it reached a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Length of the frame, bytes.
    pub length: u32,
    /// First bytes of the frame: 60, 62 or 80 of them.
    pub head: Vec<u8>,
    /// The outermost VLAN tag, TPID and TCI, where the kernel took it off the frame, as it does
    /// before TC: it is not among the bytes.
    pub tag: Option<(u16, u16)>,
}

/// Offsets of a frame's headers.
pub(super) struct Layout {
    pub(super) headers: usize,
    pub(super) ipv6: bool,
    pub(super) port: usize,
    pub(super) host: usize,
    pub(super) check: usize,
}

impl Layout {
    pub(super) fn of(traffic: &Traffic) -> Option<Self> {
        let frame = &traffic.frame;
        let l3 = L3 + traffic.shift;
        let ipv6 = match frame.get(l3)? >> 4 {
            4 => false,
            6 => true,
            _ => return None,
        };
        let l4 = l3 + if ipv6 { 40 } else { 20 };
        let (check, length) = match frame.get(if ipv6 { l3 + 6 } else { l3 + 9 })? {
            6 => (l4 + 16, 20),
            17 => (l4 + 6, 8),
            _ => return None,
        };
        let (source, destination) = if ipv6 {
            (l3 + 8 + 14, l3 + 24 + 14)
        } else {
            (l3 + 12 + 2, l3 + 16 + 2)
        };
        let port = if traffic.reply { l4 + 2 } else { l4 };
        let host = match traffic.reply == traffic.by_server {
            true => source,
            false => destination,
        };
        (frame.len() >= l4 + length).then_some(Self {
            headers: l4 + length,
            ipv6,
            port,
            host,
            check,
        })
    }
}

/// `sample_len` of bpf/bench.bpf.c.
pub(super) fn sample_length(frame: u32) -> usize {
    match frame as usize {
        0..62 => 60,
        62..TEMPLATE_MAX => 62,
        _ => TEMPLATE_MAX,
    }
}

/// Checksum difference between two addresses, in memory order.
pub(super) fn delta(old: Ipv4Addr, new: Ipv4Addr) -> u32 {
    if old == new {
        return 0;
    }
    let halves = |a: Ipv4Addr| {
        let o = a.octets();
        [
            u16::from_ne_bytes([o[0], o[1]]),
            u16::from_ne_bytes([o[2], o[3]]),
        ]
    };
    let sum = halves(old).map(|w| u32::from(!w)).iter().sum::<u32>()
        + halves(new).map(u32::from).iter().sum::<u32>();
    u32::from(fold(sum))
}

pub(super) fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}
