//! Writes pcapng: PCAP Next Generation (pcapng) Capture File Format, draft-ietf-opsawg-pcapng.
//! Numbers are little-endian on every machine; the byte-order magic declares this.

/// LINKTYPE_ETHERNET of the registry.
const ETHERNET: u16 = 1;
/// Block types.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
/// Options; 1 and 0 are valid in every block.
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const SECTION_OS: u16 = 3;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_DESCRIPTION: u16 = 3;
const INTERFACE_MAC: u16 = 6;
const INTERFACE_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;
const PACKET_ID: u16 = 5;
const STATISTICS_START: u16 = 2;
const STATISTICS_END: u16 = 3;
const STATISTICS_DELIVERED: u16 = 8;
/// Longest text of an option, in bytes: no text here needs more.
const LONGEST_TEXT: usize = 1024;

/// Origin of the packets, for the section header.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Operating system and its version.
    pub os: String,
    /// Name of the writing program.
    pub application: String,
    /// Other information.
    pub comment: Option<String>,
}

/// A device. Devices are numbered in the order of writing, from 0.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Name of the device.
    pub name: String,
    /// Description of the device.
    pub description: String,
    /// Hardware address of the device.
    pub mac: Option<[u8; 6]>,
    /// Bytes kept of each packet. Readers expect the same value for all interfaces.
    pub snap_length: u32,
}

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the router.
    Inbound,
    /// Out of the router.
    Outbound,
}

/// A packet.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    /// Number of the packet's interface.
    pub interface: u32,
    /// Nanoseconds since 1970.
    pub timestamp: u64,
    /// Into the router, or out of it.
    pub direction: Direction,
    /// A number shared by all records of the same packet.
    pub id: u64,
    /// Original length in bytes.
    pub length: u32,
    /// Kept bytes, from the Ethernet header on: three consecutive pieces, so that a VLAN tag can be
    /// inserted.
    pub data: [&'a [u8]; 3],
    /// Optional comment.
    pub comment: Option<&'a str>,
}

/// Statistics of one interface.
#[derive(Clone, Copy, Debug)]
pub struct Statistics<'a> {
    /// Number of the interface.
    pub interface: u32,
    /// Start of the capture, nanoseconds since 1970.
    pub start: u64,
    /// Time of these numbers, nanoseconds since 1970.
    pub end: u64,
    /// Packets written.
    pub delivered: u64,
    /// Optional comment.
    pub comment: Option<&'a str>,
}

/// Writes a Section Header Block: the first block of a file.
pub fn section(out: &mut Vec<u8>, origin: &Origin) {
    block(out, SECTION, |out| {
        word(out, 0x1a2b_3c4d);
        half(out, 1);
        half(out, 0);
        // The section's length is unknown.
        long(out, u64::MAX);
        text(out, COMMENT, origin.comment.as_deref().unwrap_or_default());
        text(out, SECTION_OS, &origin.os);
        text(out, SECTION_APPLICATION, &origin.application);
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Writes an Interface Description Block, which must precede the interface's packets.
pub fn interface(out: &mut Vec<u8>, interface: &Interface) {
    block(out, INTERFACE, |out| {
        half(out, ETHERNET);
        half(out, 0);
        word(out, interface.snap_length);
        text(out, INTERFACE_NAME, &interface.name);
        text(out, INTERFACE_DESCRIPTION, &interface.description);
        if let Some(mac) = interface.mac {
            option(out, INTERFACE_MAC, &mac);
        }
        // Unit of times: 10^-9 seconds.
        option(out, INTERFACE_RESOLUTION, &[9]);
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Writes an Enhanced Packet Block.
pub fn packet(out: &mut Vec<u8>, packet: &Packet<'_>) {
    block(out, PACKET, |out| {
        let kept: usize = packet.data.iter().map(|piece| piece.len()).sum();
        word(out, packet.interface);
        time(out, packet.timestamp);
        word(out, kept as u32);
        word(out, packet.length);
        for piece in packet.data {
            out.extend_from_slice(piece);
        }
        pad(out);
        let direction: u32 = match packet.direction {
            Direction::Inbound => 1,
            Direction::Outbound => 2,
        };
        option(out, PACKET_FLAGS, &direction.to_le_bytes());
        option(out, PACKET_ID, &packet.id.to_le_bytes());
        text(out, COMMENT, packet.comment.unwrap_or_default());
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Writes an Interface Statistics Block.
pub fn statistics(out: &mut Vec<u8>, statistics: &Statistics<'_>) {
    let moment = |when: u64| {
        let mut octets = Vec::with_capacity(8);
        time(&mut octets, when);
        octets
    };
    block(out, STATISTICS, |out| {
        word(out, statistics.interface);
        time(out, statistics.end);
        option(out, STATISTICS_START, &moment(statistics.start));
        option(out, STATISTICS_END, &moment(statistics.end));
        option(
            out,
            STATISTICS_DELIVERED,
            &statistics.delivered.to_le_bytes(),
        );
        text(out, COMMENT, statistics.comment.unwrap_or_default());
        option(out, END_OF_OPTIONS, &[]);
    });
}

/// Writes a block: type, length, body, and the length again. All parts are multiples of 4 bytes.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    word(out, kind);
    word(out, 0);
    body(out);
    let length = (out.len() - start + 4) as u32;
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    word(out, length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    half(out, code);
    half(out, value.len() as u16);
    out.extend_from_slice(value);
    pad(out);
}

/// Writes a text option; nothing if the text is empty.
fn text(out: &mut Vec<u8>, code: u16, text: &str) {
    let end = text.floor_char_boundary(LONGEST_TEXT);
    if end > 0 {
        option(out, code, &text.as_bytes()[..end]);
    }
}

/// Pads to the next multiple of 4. The buffer must start at a block, so that each block begins at a
/// multiple of 4.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

fn half(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn word(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn long(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes a time as two words, the upper one first.
fn time(out: &mut Vec<u8>, when: u64) {
    word(out, (when >> 32) as u32);
    word(out, when as u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the block of this type and body, by hand from the draft.
    fn expected(kind: u32, body: &[u8]) -> Vec<u8> {
        assert_eq!(body.len() % 4, 0);
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes(), &length, body, &length].concat()
    }

    #[test]
    fn a_section_header_is_as_the_draft_has_it() {
        let mut out = Vec::new();
        let origin = Origin {
            os: "Linux".into(),
            application: "weir".into(),
            comment: None,
        };
        section(&mut out, &origin);
        let body = [
            &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..],
            &[0xff; 8],
            &[3, 0, 5, 0],
            b"Linux\0\0\0",
            &[4, 0, 4, 0],
            b"weir",
            &[0; 4],
        ];
        assert_eq!(out, expected(0x0a0d_0d0a, &body.concat()));
    }

    #[test]
    fn an_interface_has_name_address_and_resolution() {
        let mut out = Vec::new();
        let lan = Interface {
            name: "lan0".into(),
            description: String::new(),
            mac: Some([2, 0, 0, 0, 0, 1]),
            snap_length: 256,
        };
        interface(&mut out, &lan);
        let body = [
            &[1, 0, 0, 0, 0, 1, 0, 0][..],
            &[2, 0, 4, 0],
            b"lan0",
            &[6, 0, 6, 0, 2, 0, 0, 0, 0, 1, 0, 0],
            &[9, 0, 1, 0, 9, 0, 0, 0],
            &[0; 4],
        ];
        assert_eq!(out, expected(1, &body.concat()));
    }

    #[test]
    fn a_packet_is_padded_and_says_which_way_it_went() {
        let mut out = Vec::new();
        let sent = Packet {
            interface: 3,
            timestamp: 0x0102_0304_0506_0708,
            direction: Direction::Outbound,
            id: 9,
            length: 1500,
            data: [b"ab", b"cd", b"e"],
            comment: Some("hi"),
        };
        packet(&mut out, &sent);
        let body = [
            &[
                3, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5, 5, 0, 0, 0, 0xdc, 5, 0, 0,
            ][..],
            b"abcde\0\0\0",
            &[2, 0, 4, 0, 2, 0, 0, 0],
            &[5, 0, 8, 0, 9, 0, 0, 0, 0, 0, 0, 0],
            &[1, 0, 2, 0, b'h', b'i', 0, 0],
            &[0; 4],
        ];
        assert_eq!(out, expected(6, &body.concat()));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut out = Vec::new();
        let origin = Origin {
            comment: Some("ä".repeat(40_000)),
            ..Origin::default()
        };
        section(&mut out, &origin);
        let length = usize::from(u16::from_le_bytes([out[26], out[27]]));
        assert!(length <= LONGEST_TEXT && length > LONGEST_TEXT - 2);
        assert!(std::str::from_utf8(&out[28..28 + length]).is_ok());
    }
}
