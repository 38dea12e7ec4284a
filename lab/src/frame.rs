//! A model of a packet, and the bytes of the packet: right by default, wrong as set in [`Faults`].

use std::net::IpAddr;

use crate::view::pseudo_header;

pub use net::Mac;
use net::checksum::checksum;

/// A frame as on the wire, from the Ethernet header on, without the frame check sequence. On a
/// device without a link layer header (a tunnel), the frame begins with the IP header.
pub type Frame = Vec<u8>;

/// TCP flags, as the bits of bytes 12 and 13 (RFC 9293 section 3.1).
pub mod flag {
    /// Last segment of the sender.
    pub const FIN: u16 = 0x01;
    /// Opens a connection.
    pub const SYN: u16 = 0x02;
    /// Aborts a connection.
    pub const RST: u16 = 0x04;
    /// Push.
    pub const PSH: u16 = 0x08;
    /// Marks the acknowledgement number as valid.
    pub const ACK: u16 = 0x10;
    /// Marks the urgent pointer as valid.
    pub const URG: u16 = 0x20;
    /// ECN echo.
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u16 = 0x80;
}

/// A packet, from the Ethernet header on.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Destination MAC.
    pub to_mac: Mac,
    /// Source MAC.
    pub from_mac: Mac,
    /// VLAN tags, outermost first: EtherType and TCI.
    pub tags: Vec<(u16, u16)>,
    /// Source address.
    pub from: IpAddr,
    /// Destination address, of the same family.
    pub to: IpAddr,
    /// TTL or hop limit.
    pub ttl: u8,
    /// TOS or traffic class, ECN bits included.
    pub tos: u8,
    /// Identification of IPv4, or of an IPv6 fragment header.
    pub id: u16,
    /// IPv6 flow label.
    pub flow_label: u32,
    /// IPv4 flag "don't fragment".
    pub dont_fragment: bool,
    /// Offset in units of 8 bytes, and true if more fragments follow; `None` for a whole packet.
    pub fragment: Option<(u16, bool)>,
    /// IPv4 options; padded with zeros to a multiple of 4.
    pub options: Vec<u8>,
    /// IPv6 extension headers: protocol number and body. The first two bytes of a body (next
    /// header, length) are filled in later. Bodies have multiples of 8 bytes.
    pub extensions: Vec<(u8, Vec<u8>)>,
    /// Payload of IP.
    pub body: Body,
    /// Errors in the frame.
    pub lies: Faults,
}

/// Payload of IP.
#[derive(Clone, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(Tcp),
    /// A UDP datagram: source port, destination port, payload.
    Udp(u16, u16, Vec<u8>),
    /// An ICMP or ICMPv6 message: type, code, the second word, the rest.
    Icmp(u8, u8, u32, Vec<u8>),
    /// Any protocol: number and bytes, sent unchanged.
    Raw(u8, Vec<u8>),
}

/// A TCP segment.
#[derive(Clone, Debug, Default)]
pub struct Tcp {
    /// Source port.
    pub from: u16,
    /// Destination port.
    pub to: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// Bits of [`flag`].
    pub flags: u16,
    /// Window.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options; padded with zeros to a multiple of 4.
    pub options: Vec<u8>,
    /// Payload.
    pub payload: Vec<u8>,
    /// Replaces the true data offset, in words.
    pub data_offset: Option<u8>,
}

/// Errors in a frame, applied in the order of the fields. The default has no errors.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Replaces the true UDP length; the checksum covers the wrong length if possible.
    pub udp_length: Option<u16>,
    /// Kind of the layer 4 checksum.
    pub checksum: Checksum,
    /// Replaces the true version.
    pub version: Option<u8>,
    /// Replaces the true IPv4 header length, in words.
    pub header_length: Option<u8>,
    /// Addend to the true IPv4 total length or IPv6 payload length.
    pub length: i32,
    /// Bits to flip in the IPv4 header checksum.
    pub ip_checksum: u16,
    /// Bytes appended behind the IP packet.
    pub trailer: Vec<u8>,
    /// Minimum length of the frame; shorter frames are padded with zeros.
    pub pad_to: usize,
    /// Length to which the frame is cut.
    pub cut: Option<usize>,
}

/// Kind of a layer 4 checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// The right checksum.
    #[default]
    Right,
    /// Zero: no checksum, where UDP over IPv4 allows this.
    Zero,
    /// The right checksum with these bits flipped.
    Wrong(u16),
    /// The sum of the pseudo-header alone, as in a packet whose checksum the network card finishes.
    Unfinished,
}

impl Packet {
    /// Returns an ordinary packet without errors.
    pub fn new(from: (Mac, IpAddr), to: (Mac, IpAddr), body: Body) -> Self {
        Self {
            to_mac: to.0,
            from_mac: from.0,
            tags: Vec::new(),
            from: from.1,
            to: to.1,
            ttl: 64,
            tos: 0,
            id: 0,
            flow_label: 0,
            dont_fragment: true,
            fragment: None,
            options: Vec::new(),
            extensions: Vec::new(),
            body,
            lies: Faults::default(),
        }
    }

    /// Returns the frame.
    pub fn bytes(&self) -> Vec<u8> {
        let (protocol, body) = self.layer4();
        let mut frame = [self.to_mac, self.from_mac].concat();
        for (kind, tci) in &self.tags {
            frame.extend(kind.to_be_bytes());
            frame.extend(tci.to_be_bytes());
        }
        match (self.from, self.to) {
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                frame.extend(0x86ddu16.to_be_bytes());
                self.ipv6(&mut frame, from.octets(), to.octets(), protocol, &body);
            }
            (from, to) => {
                frame.extend(0x0800u16.to_be_bytes());
                self.ipv4(&mut frame, octets4(from), octets4(to), protocol, &body);
            }
        }
        frame.extend(&self.lies.trailer);
        if frame.len() < self.lies.pad_to {
            frame.resize(self.lies.pad_to, 0);
        }
        if let Some(length) = self.lies.cut {
            frame.truncate(length);
        }
        frame
    }

    /// Returns the packet in two fragments. IP's payload is cut at `first` bytes, rounded down to a
    /// multiple of 8.
    pub fn fragments(&self, first: usize) -> [Vec<u8>; 2] {
        let (protocol, body) = self.layer4();
        let cut = (first & !7).min(body.len());
        let (head, tail) = body.split_at(cut);
        [(head, 0, true), (tail, (cut / 8) as u16, false)].map(|(part, offset, more)| {
            let mut piece = self.clone();
            piece.body = Body::Raw(protocol, part.to_vec());
            piece.fragment = Some((offset, more));
            piece.dont_fragment = false;
            piece.bytes()
        })
    }

    /// Returns protocol number and bytes of IP's payload.
    pub fn layer4(&self) -> (u8, Vec<u8>) {
        let (protocol, mut bytes, field) = match &self.body {
            Body::Raw(protocol, bytes) => return (*protocol, bytes.clone()),
            Body::Tcp(tcp) => (6, tcp.bytes(), 16),
            Body::Udp(from, to, payload) => (17, self.udp(*from, *to, payload), 6),
            Body::Icmp(kind, code, word, rest) => {
                let mut bytes = vec![*kind, *code, 0, 0];
                bytes.extend(word.to_be_bytes());
                bytes.extend(rest);
                (if self.from.is_ipv6() { 58 } else { 1 }, bytes, 2)
            }
        };
        let covered = match self.lies.udp_length {
            Some(length) if usize::from(length) >= 8 => usize::from(length).min(bytes.len()),
            _ => bytes.len(),
        };
        // Only ICMP of IPv4 lacks a pseudo-header (RFC 792).
        let start = if protocol == 1 {
            0
        } else {
            pseudo_header(self.from, self.to, protocol, covered)
        };
        let right = match checksum(start, &bytes[..covered]) {
            0 if protocol == 17 => 0xffff,
            sum => sum,
        };
        let sum = match self.lies.checksum {
            Checksum::Right => right,
            Checksum::Zero => 0,
            // Avoids 0, which would mean "no checksum".
            Checksum::Wrong(bits) if right ^ bits == 0 => right ^ 0x5555,
            Checksum::Wrong(bits) => right ^ bits,
            Checksum::Unfinished => !checksum(start, &[]),
        };
        bytes[field..field + 2].copy_from_slice(&sum.to_be_bytes());
        (protocol, bytes)
    }

    fn udp(&self, from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
        let length = self.lies.udp_length.unwrap_or(8 + payload.len() as u16);
        let mut bytes: Vec<u8> = [from, to, length, 0]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect();
        bytes.extend(payload);
        bytes
    }

    fn ipv4(&self, frame: &mut Vec<u8>, from: [u8; 4], to: [u8; 4], protocol: u8, body: &[u8]) {
        let options = padded(&self.options);
        let words = 5 + (options.len() / 4) as u8;
        let length = (20 + options.len() + body.len()) as i32 + self.lies.length;
        let version = self.lies.version.unwrap_or(4);
        let (offset, more) = self.fragment.unwrap_or((0, false));
        let flags = u16::from(self.dont_fragment) << 14 | u16::from(more) << 13 | offset & 0x1fff;
        let mut header = vec![
            version << 4 | self.lies.header_length.unwrap_or(words) & 0xf,
            self.tos,
        ];
        header.extend((length as u16).to_be_bytes());
        header.extend(self.id.to_be_bytes());
        header.extend(flags.to_be_bytes());
        header.extend([self.ttl, protocol, 0, 0]);
        header.extend(from);
        header.extend(to);
        header.extend(&options);
        // A receiver that trusts the header length sums up this many bytes.
        let claimed = usize::from(header[0] & 0xf) * 4;
        let mut whole = header.clone();
        whole.extend(body);
        let sum = checksum(0, &whole[..claimed.clamp(20, whole.len())]) ^ self.lies.ip_checksum;
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        frame.extend(header);
        frame.extend(body);
    }

    fn ipv6(&self, frame: &mut Vec<u8>, from: [u8; 16], to: [u8; 16], protocol: u8, body: &[u8]) {
        let mut extensions = self.extensions.clone();
        if let Some((offset, more)) = self.fragment {
            let mut fragment = vec![0, 0];
            fragment.extend((offset << 3 | u16::from(more)).to_be_bytes());
            fragment.extend(u32::from(self.id).to_be_bytes());
            extensions.push((44, fragment));
        }
        let mut chain = Vec::new();
        for (index, (kind, bytes)) in extensions.iter().enumerate() {
            let start = chain.len();
            chain.extend(bytes);
            chain[start] = extensions.get(index + 1).map_or(protocol, |next| next.0);
            if *kind != 44 {
                chain[start + 1] = (bytes.len() / 8).saturating_sub(1) as u8;
            }
        }
        let length = (chain.len() + body.len()) as i32 + self.lies.length;
        let version = u32::from(self.lies.version.unwrap_or(6) & 0xf);
        let word = version << 28 | u32::from(self.tos) << 20 | self.flow_label & 0xf_ffff;
        frame.extend(word.to_be_bytes());
        frame.extend((length as u16).to_be_bytes());
        frame.extend([
            extensions.first().map_or(protocol, |first| first.0),
            self.ttl,
        ]);
        frame.extend(from);
        frame.extend(to);
        frame.extend(chain);
        frame.extend(body);
    }
}

impl Tcp {
    fn bytes(&self) -> Vec<u8> {
        let options = padded(&self.options);
        let words = self.data_offset.unwrap_or(5 + (options.len() / 4) as u8);
        let mut bytes = Vec::with_capacity(20 + options.len() + self.payload.len());
        bytes.extend(self.from.to_be_bytes());
        bytes.extend(self.to.to_be_bytes());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.acknowledgement.to_be_bytes());
        bytes.extend((u16::from(words & 0xf) << 12 | self.flags & 0x1ff).to_be_bytes());
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(self.urgent.to_be_bytes());
        bytes.extend(options);
        bytes.extend(&self.payload);
        bytes
    }
}

fn padded(options: &[u8]) -> Vec<u8> {
    let mut options = options.to_vec();
    options.resize(options.len().next_multiple_of(4).min(40), 0);
    options
}

/// Mixed families are the caller's mistake; the frame then has unspecified addresses.
fn octets4(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(_) => [0; 4],
    }
}

/// Returns the MAC of a device, derived from role and name: unicast and locally administered. Labs
/// of equal shape have equal MACs.
pub fn mac(role: &str, device: &str) -> Mac {
    // FNV-1a is short and stable.
    let hash = format!("{role}:{device}")
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
        .to_be_bytes();
    [0x02, hash[3], hash[4], hash[5], hash[6], hash[7]]
}

/// Formats a MAC as `02:00:…`.
pub fn text(mac: Mac) -> String {
    net::mac::text(&mac)
}
