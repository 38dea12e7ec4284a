//! A second, plain implementation of forwarding, from the standards (RFC 791, 1812, 8200, 9293,
//! 768, 1624): which packets may take the fast path, and the resulting packets. Compared with the
//! packet path byte by byte; shares no code with it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kernel::{Mac, Protocol, Tuple};

use super::checksum::{fold, sum};
use super::connection::{CLIENT, LAN, SERVER};
use super::link::Behind;

/// Hook where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Xdp,
    Tc,
}

/// Proven direction of a connection.
#[derive(Clone, Debug)]
pub struct Way {
    pub incoming: Tuple,
    pub outgoing: Tuple,
    /// Ingress device, and the address that frames must be sent to.
    pub link: u32,
    pub mac: Mac,
    /// Headers of incoming packets.
    pub behind: Behind,
    /// Link-layer header it leaves with; a PPPoE length in it is of no account.
    pub header: Vec<u8>,
    /// XDP may send it.
    pub xdp: bool,
    /// Longest IP packet.
    pub length: usize,
    pub ttl: (u8, u8),
    /// DSCP, in the upper six bits.
    pub tos: u8,
    /// IPv6 flow label.
    pub label: u32,
}

/// Fields of a frame that may be forwarded.
struct Parsed {
    tuple: Tuple,
    ttl: u8,
    tos: u8,
    /// Ends of the IP header and of the IP packet.
    l4: usize,
    end: usize,
}

/// Returns the outgoing frame, or `None` if the kernel handles the packet.
pub fn forward(hook: Hook, link: u32, ways: &[Way], frame: &[u8]) -> Option<Vec<u8>> {
    let (behind, plain) = Behind::take_off(frame)?;
    let parsed = parse(&plain)?;
    let way = ways
        .iter()
        .find(|w| w.incoming == parsed.tuple && w.link == link && w.behind == behind)?;
    // RFC 2516: a session has one other station.
    let station = if link == LAN { CLIENT } else { SERVER };
    let allowed = frame[..6] == way.mac
        && (behind.session.is_none() || frame[6..12] == station)
        && (way.ttl.0..=way.ttl.1).contains(&parsed.ttl)
        && parsed.tos & 0xfc == way.tos
        && label(&plain) == way.label
        && parsed.end - 14 <= way.length
        && (hook == Hook::Tc || way.xdp);
    allowed.then(|| rewrite(hook, way, &parsed, &plain))
}

/// RFC 6437; 0 of IPv4.
fn label(plain: &[u8]) -> u32 {
    match plain[12..14] {
        [0x86, 0xdd] => u32::from_be_bytes([0, plain[15] & 0x0f, plain[16], plain[17]]),
        _ => 0,
    }
}

fn word(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*octets.get(at)?, *octets.get(at + 1)?]))
}

fn parse(frame: &[u8]) -> Option<Parsed> {
    match word(frame, 12)? {
        0x0800 => parse_ipv4(frame),
        0x86dd => parse_ipv6(frame),
        _ => None,
    }
}

fn parse_ipv4(frame: &[u8]) -> Option<Parsed> {
    let header = frame.get(14..34)?;
    let end = 14 + usize::from(word(header, 2)?);
    // "Don't fragment" may be set or not; every other bit of the word makes it a fragment, or is
    // reserved.
    let whole = word(header, 6)? & !0x4000 == 0;
    if header[0] != 0x45 || sum(header) != 0xffff || !whole || end < 34 {
        return None;
    }
    let address =
        |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    let addresses = (address(12).into(), address(16).into());
    parse_l4(frame, 34, end, header[9], header[8], header[1], addresses)
}

fn parse_ipv6(frame: &[u8]) -> Option<Parsed> {
    let header = frame.get(14..54)?;
    let payload = usize::from(word(header, 4)?);
    if header[0] >> 4 != 6 || payload == 0 {
        return None;
    }
    let address = |at: usize| -> IpAddr {
        let octets: [u8; 16] = header[at..at + 16].try_into().expect("16 bytes");
        Ipv6Addr::from(octets).into()
    };
    let class = (word(header, 0)? >> 4) as u8;
    let addresses = (address(8), address(24));
    // A length that does not fit in 16 bits with the header is left to the kernel.
    let end = (payload + 40 <= 0xffff).then_some(54 + payload)?;
    parse_l4(frame, 54, end, header[6], header[7], class, addresses)
}

fn parse_l4(
    frame: &[u8],
    l4: usize,
    end: usize,
    protocol: u8,
    ttl: u8,
    tos: u8,
    (source, destination): (IpAddr, IpAddr),
) -> Option<Parsed> {
    let room = frame.get(l4..end)?;
    let protocol = Protocol::from_number(protocol)?;
    match protocol {
        Protocol::Tcp => {
            let header = room.get(..20)?;
            let offset = usize::from(header[12] >> 4) * 4;
            // Of FIN, SYN, RST and ACK just the last.
            if offset < 20 || offset > room.len() || header[13] & 0x17 != 0x10 {
                return None;
            }
        }
        Protocol::Udp => {
            room.get(..8)?;
            if usize::from(word(room, 4)?) != room.len() {
                return None;
            }
        }
    }
    if ttl <= 1 {
        return None;
    }
    let tuple = Tuple {
        protocol,
        source,
        source_port: word(room, 0)?,
        destination,
        destination_port: word(room, 2)?,
    };
    Some(Parsed {
        tuple,
        ttl,
        tos,
        l4,
        end,
    })
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    }
}

/// Addresses and ports as they lie in a packet.
fn words(tuple: &Tuple) -> Vec<u8> {
    let mut all = octets(tuple.source);
    all.extend(octets(tuple.destination));
    all.extend(tuple.source_port.to_be_bytes());
    all.extend(tuple.destination_port.to_be_bytes());
    all
}

fn rewrite(hook: Hook, way: &Way, parsed: &Parsed, frame: &[u8]) -> Vec<u8> {
    let mut out = frame[..parsed.end].to_vec();
    let (l4, out_tuple) = (parsed.l4, &way.outgoing);
    let addresses = [octets(out_tuple.source), octets(out_tuple.destination)].concat();
    out[l4 - addresses.len()..l4].copy_from_slice(&addresses);
    out[l4..l4 + 2].copy_from_slice(&out_tuple.source_port.to_be_bytes());
    out[l4 + 2..l4 + 4].copy_from_slice(&out_tuple.destination_port.to_be_bytes());
    if out_tuple.source.is_ipv4() {
        out[22] -= 1;
        out[24..26].fill(0);
        let check = !sum(&out[14..34]);
        out[24..26].copy_from_slice(&check.to_be_bytes());
    } else {
        out[21] -= 1;
    }
    if way.incoming != way.outgoing {
        translate_check(way, l4, &mut out);
    }
    let (exit, _) = Behind::take_off(&with_ip(&way.header)).expect("a header of the kernel's");
    out[..12].copy_from_slice(&way.header[..12]);
    let mut out = exit.put_on(&out);
    let (end, grown) = (out.len(), frame.len() - parsed.end);
    match hook {
        // A frame that was long enough for Ethernet stays long enough, and one that gets another
        // header becomes so; padding is zero.
        Hook::Xdp if exit.octets() != way.behind.octets() => out.resize(end.max(60), 0),
        Hook::Xdp => out.resize(end.max((end + grown).min(60)), 0),
        // The outermost tag waits in the skb's metadata until the device sends it.
        Hook::Tc if !exit.tags.is_empty() => {
            out.drain(12..16);
        }
        Hook::Tc => {}
    }
    out
}

/// Returns a header with just enough of an IP packet behind it to make its PPPoE length, which is
/// not checked, correct.
fn with_ip(header: &[u8]) -> Vec<u8> {
    let mut frame = header.to_vec();
    let ipv6 = matches!(header[header.len() - 2..], [0x86, 0xdd] | [0x00, 0x57]);
    let pppoe = header.len() >= 22 && header[header.len() - 10..header.len() - 8] == [0x88, 0x64];
    if pppoe {
        let at = frame.len() - 4;
        frame[at..at + 2].copy_from_slice(&if ipv6 { [0, 42] } else { [0, 22] });
    }
    frame.extend(if ipv6 {
        [0x60, 0, 0, 0, 0, 0]
    } else {
        [0x45, 0, 0, 20, 0, 0]
    });
    frame
}

/// RFC 1624, equation 3: a right checksum stays right, and a wrong one wrong.
fn translate_check(way: &Way, l4: usize, out: &mut [u8]) {
    let udp = way.incoming.protocol == Protocol::Udp;
    let at = l4 + if udp { 6 } else { 16 };
    let old = word(out, at).expect("parsed");
    if udp && old == 0 {
        return;
    }
    let before = u64::from(sum(&words(&way.incoming)
        .iter()
        .map(|o| !o)
        .collect::<Vec<_>>()));
    let after = u64::from(sum(&words(&way.outgoing)));
    let mut new = !fold(u64::from(!old) + before + after);
    if udp && new == 0 {
        new = 0xffff;
    }
    out[at..at + 2].copy_from_slice(&new.to_be_bytes());
}
