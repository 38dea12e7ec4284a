//! The reference classifier for comparison, slow and plain, from the standards.

use cables_core::FrameClass;

/// Classification of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Sort, unless the frame is from this router itself.
    pub sort: FrameClass,
    /// A host may find in it what cannot be seen here.
    pub hidden: bool,
    /// The number in its outermost tag.
    pub vlan: Option<u16>,
}

impl Seen {
    /// A guarded port does not let it in.
    pub fn is_stopped(self) -> bool {
        let servers = [
            FrameClass::Pado,
            FrameClass::DhcpServer,
            FrameClass::Dhcp6Server,
            FrameClass::RouterAdvertisement,
        ];
        self.hidden || servers.contains(&self.sort)
    }
}

/// Extension headers that are followed.
const HEADERS: usize = 8;

fn plain(sort: FrameClass) -> (FrameClass, bool) {
    (sort, false)
}

const HIDDEN: (FrameClass, bool) = (FrameClass::Ip, true);

fn number(octets: &[u8]) -> u16 {
    u16::from_be_bytes([octets[0], octets[1]])
}

/// Classifies a frame with an Ethernet header.
pub fn seen(frame: &[u8]) -> Seen {
    let (mut rest, mut vlan, mut tags) = (&frame[12..], None, 0);
    let (sort, hidden) = loop {
        let tag = matches!(number(rest), 0x8100 | 0x88a8);
        if !tag {
            break link(&frame[..6], rest);
        }
        if tags == 2 {
            break (FrameClass::Other, true);
        }
        if rest.len() < 6 {
            break plain(FrameClass::Other);
        }
        vlan = vlan.or(Some(number(&rest[2..]) & 0xfff));
        rest = &rest[4..];
        tags += 1;
    };
    Seen { sort, hidden, vlan }
}

/// Classifies a frame from the EtherType, or length, on.
fn link(to: &[u8], rest: &[u8]) -> (FrameClass, bool) {
    let (kind, payload) = (number(rest), &rest[2..]);
    if kind >= 0x600 {
        return ethernet(kind, payload);
    }
    if let [0xaa, 0xaa, 3, 0, 0, 0 | 0xf8, high, low, inner @ ..] = payload {
        match u16::from_be_bytes([*high, *low]) {
            0 => {}
            inner_kind => return ethernet(inner_kind, inner),
        }
    }
    plain(match to {
        [1, 0, 0x0c, 0xcc, 0xcc, 0xcd] => FrameClass::Bpdu,
        [1, 0x80, 0xc2, 0, 0, 0] if payload.starts_with(&[0x42, 0x42, 3]) => FrameClass::Bpdu,
        [1, 0, 0x0c, 0xcc, 0xcc, 0xcc]
            if payload.starts_with(&[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0]) =>
        {
            FrameClass::Cdp
        }
        _ => FrameClass::Other,
    })
}

fn ethernet(kind: u16, payload: &[u8]) -> (FrameClass, bool) {
    plain(match kind {
        0x0800 => return ipv4(payload),
        0x86dd => return ipv6(payload),
        0x8100 | 0x88a8 => return (FrameClass::Other, true),
        0x0806 => FrameClass::Arp,
        0x88cc => FrameClass::Lldp,
        0x4305 => FrameClass::Batman,
        0x88b5 if payload.starts_with(b"weir") => FrameClass::Hello,
        0x8863 => match payload {
            [_, 0x07 | 0x65, ..] => FrameClass::Pado,
            [_, 0x09 | 0x19, ..] => FrameClass::Padi,
            _ => FrameClass::Other,
        },
        _ => FrameClass::Other,
    })
}

/// Returns the part of a packet within its own length; with `none`, the whole packet.
fn own(octets: &[u8], length: usize, none: bool) -> &[u8] {
    match none {
        true => octets,
        false => &octets[..length.min(octets.len())],
    }
}

fn ipv4(packet: &[u8]) -> (FrameClass, bool) {
    if packet.len() < 20 || packet[0] >> 4 != 4 || packet[0] & 15 < 5 {
        return plain(FrameClass::Ip);
    }
    let later = number(&packet[6..]) & 0x1fff != 0;
    match packet[9] {
        89 => plain(FrameClass::Routing),
        17 if !later => {
            let length = usize::from(number(&packet[2..]));
            let own = own(packet, length, length == 0);
            udp(own.get(usize::from(packet[0] & 15) * 4..), false)
        }
        _ => plain(FrameClass::Ip),
    }
}

fn udp(datagram: Option<&[u8]>, ipv6: bool) -> (FrameClass, bool) {
    let Some(datagram) = datagram.filter(|it| it.len() >= 4) else {
        return HIDDEN;
    };
    plain(match (number(&datagram[2..]), ipv6) {
        (67, false) if datagram.get(8) == Some(&1) => FrameClass::DhcpClient,
        (68, false) => match datagram.get(8) {
            Some(2) => FrameClass::DhcpServer,
            Some(_) => FrameClass::Ip,
            None => return HIDDEN,
        },
        (546, true) => FrameClass::Dhcp6Server,
        (5678, _) => FrameClass::Mndp,
        (6696, _) => FrameClass::Babel,
        (269 | 520 | 521 | 698 | 6240, _) => FrameClass::Routing,
        _ => FrameClass::Ip,
    })
}

fn ipv6(packet: &[u8]) -> (FrameClass, bool) {
    if packet.len() < 40 || packet[0] >> 4 != 6 {
        return plain(FrameClass::Ip);
    }
    let length = usize::from(number(&packet[4..]));
    let own = own(&packet[40..], length, length == 0);
    upper(packet[6], Some(own), packet[7], HEADERS)
}

/// The header of this number, and those behind it, at most so many of them extensions.
fn upper(header: u8, rest: Option<&[u8]>, hop_limit: u8, left: usize) -> (FrameClass, bool) {
    let rest = rest.filter(|rest| !rest.is_empty());
    match (header, rest) {
        (89, _) => plain(FrameClass::Routing),
        (17, datagram) => udp(datagram, true),
        (58, _) if hop_limit != 255 => plain(FrameClass::Ip),
        (58, None) => HIDDEN,
        (58, Some([134, ..])) => plain(FrameClass::RouterAdvertisement),
        (58, Some([133, ..])) => plain(FrameClass::RouterSolicitation),
        (0 | 43 | 44 | 51 | 60 | 135 | 139 | 140, Some([next, size, third, fourth, ..]))
            if left > 0 =>
        {
            let size = usize::from(*size);
            let size = match header {
                44 if *third != 0 || *fourth > 7 => return plain(FrameClass::Ip),
                44 => 8,
                51 => (size + 2) * 4,
                _ => (size + 1) * 8,
            };
            upper(
                *next,
                rest.and_then(|it| it.get(size..)),
                hop_limit,
                left - 1,
            )
        }
        (0 | 43 | 44 | 51 | 60 | 135 | 139 | 140, _) => HIDDEN,
        _ => plain(FrameClass::Ip),
    }
}
