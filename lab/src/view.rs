//! Parses frames for comparison; trusts no field.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use net::checksum::fold;

/// Returns the 16-bit word at an offset.
pub fn word(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}

/// Returns the sum of the pseudo-header: RFC 793 and 768, RFC 8200 section 8.1.
pub fn pseudo_header(from: IpAddr, to: IpAddr, protocol: u8, length: usize) -> u32 {
    let mut bytes = Vec::with_capacity(40);
    for address in [from, to] {
        match address {
            IpAddr::V4(address) => bytes.extend(address.octets()),
            IpAddr::V6(address) => bytes.extend(address.octets()),
        }
    }
    bytes.extend((length as u32).to_be_bytes());
    bytes.extend([0, protocol]);
    u32::from(fold(0, &bytes))
}

/// Layers of an IP frame. IPv6 extension headers are not parsed: `protocol` is then the first
/// extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Source address.
    pub from: IpAddr,
    /// Destination address.
    pub to: IpAddr,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Protocol of IP's payload.
    pub protocol: u8,
    /// True for an IPv4 fragment, first or later.
    pub fragment: bool,
    /// Start of IP's payload in the frame.
    pub body: usize,
    /// End of IP's payload by its length field, at most the end of the frame.
    pub end: usize,
    /// Source and destination port of unfragmented TCP and UDP.
    pub ports: Option<(u16, u16)>,
}

impl View {
    /// Parses an untagged Ethernet frame; returns `None` without an IP header.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let mut view = match word(frame, 12)? {
            0x0800 => Self::ipv4(frame)?,
            0x86dd => Self::ipv6(frame)?,
            _ => return None,
        };
        if !view.fragment && matches!(view.protocol, 6 | 17) && view.end >= view.body + 4 {
            view.ports = word(frame, view.body).zip(word(frame, view.body + 2));
        }
        Some(view)
    }

    fn ipv4(frame: &[u8]) -> Option<Self> {
        let header = frame.get(14..34)?;
        let octets = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
        let body = 14 + usize::from(header[0] & 0xf) * 4;
        if header[0] >> 4 != 4 || body < 34 || body > frame.len() {
            return None;
        }
        let length = usize::from(word(header, 2)?);
        Some(Self {
            from: Ipv4Addr::from(octets(12)).into(),
            to: Ipv4Addr::from(octets(16)).into(),
            ttl: header[8],
            protocol: header[9],
            fragment: word(header, 6)? & 0x3fff != 0,
            body,
            end: (14 + length).clamp(body, frame.len()),
            ports: None,
        })
    }

    fn ipv6(frame: &[u8]) -> Option<Self> {
        let header = frame.get(14..54)?;
        let address = |at: usize| -> Option<IpAddr> {
            let octets: [u8; 16] = header.get(at..at + 16)?.try_into().ok()?;
            Some(Ipv6Addr::from(octets).into())
        };
        if header[0] >> 4 != 6 {
            return None;
        }
        Some(Self {
            from: address(8)?,
            to: address(24)?,
            ttl: header[7],
            protocol: header[6],
            fragment: false,
            body: 54,
            end: (54 + usize::from(word(header, 4)?)).min(frame.len()),
            ports: None,
        })
    }

    /// Returns the offset of the TCP or UDP checksum in the frame.
    pub fn checksum_at(&self) -> Option<usize> {
        let at = match self.protocol {
            6 => self.body + 16,
            17 => self.body + 6,
            _ => return None,
        };
        (!self.fragment && at + 2 <= self.end).then_some(at)
    }

    /// Returns the one's complement sum over pseudo-header and layer 4, as in conntrack: over all
    /// of IP's payload, regardless of the UDP length (`nf_ip_checksum`). A right checksum gives
    /// 0xffff. Returns `None` without a checksum, as for UDP with 0 and for fragments.
    pub fn residue(&self, frame: &[u8]) -> Option<u16> {
        let at = self.checksum_at()?;
        if self.protocol == 17 && word(frame, at)? == 0 {
            return None;
        }
        let bytes = frame.get(self.body..self.end)?;
        Some(fold(
            pseudo_header(self.from, self.to, self.protocol, bytes.len()),
            bytes,
        ))
    }
}

/// Formats the bytes in lines of 16, with their offsets.
pub fn hex(bytes: &[u8]) -> String {
    let lines = bytes.chunks(16).enumerate().map(|(index, line)| {
        let line: Vec<_> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("    {:04x}  {}\n", index * 16, line.join(" "))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_of_a_frame_is_harmless() {
        use crate::frame::{Body, Packet};
        for (from, to) in [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2")] {
            let address = |text: &str| text.parse().expect("an address");
            let packet = Packet::new(
                ([2; 6], address(from)),
                ([4; 6], address(to)),
                Body::Udp(1, 2, vec![0; 9]),
            );
            let frame = packet.bytes();
            assert_eq!(
                View::of(&frame).and_then(|view| view.residue(&frame)),
                Some(0xffff)
            );
            for length in 0..frame.len() {
                if let Some(view) = View::of(&frame[..length]) {
                    assert!(view.end <= length);
                    view.residue(&frame[..length]);
                }
            }
        }
    }
}
