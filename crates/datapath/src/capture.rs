//! Capture: copies of forwarded packets, from the packet path to user space
//! (bpf/include/capture.h).
//!
//! A capture has a ring of its own, created at its begin and freed at its end, so that a router
//! without captures pays no memory. The packet path takes a token for each packet;
//! [`Capture::give`] adds tokens, which bounds the rate and the necessary room.

use std::mem::offset_of;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU32, Ordering};

use kernel::Protocol;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use crate::clock::nanoseconds;
use crate::control::{Control, Word};
use crate::error::Error;
use crate::headers;
use crate::hook::Hook;
use crate::mapped::{Mapped, handle};
use crate::ring::Reader;
use crate::skel::{WeirSkel, types};
use crate::view::sums;

/// Maximum number of captured bytes per packet.
pub const OCTETS: u32 = headers::CAPTURE_OCTETS as u32;
/// Minimum number of bytes (CAPTURE_PIECE).
const LEAST: u32 = 16;
/// Bytes before a packet in its record (`CAPTURED_HEAD`).
const HEAD: usize = 40;
/// Sizes of a ring, bytes: powers of two, and no smaller than a page of any processor.
const RING: (u64, u64) = (64 << 10, 8 << 20);

/// Side of the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Packet as it came in.
    In,
    /// Packet as it left.
    Out,
}

impl Side {
    /// enum capture_side.
    fn bit(self) -> u32 {
        match self {
            Self::In => 1,
            Self::Out => 2,
        }
    }
}

/// End of a flow; fields that are `None` match anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureEnd {
    /// Prefix of addresses: an address and its length in bits.
    pub prefix: Option<(IpAddr, u8)>,
    /// Port of the end.
    pub port: Option<u16>,
}

/// Selection of packets, and the number of bytes captured of each. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureFilter {
    /// Ingress or egress device.
    pub link: Option<u32>,
    /// Layer 4 protocol.
    pub protocol: Option<Protocol>,
    /// Both ends, in either order, translated or not. Families must not differ.
    pub ends: [CaptureEnd; 2],
    /// A port of either end, translated or not.
    pub port: Option<u16>,
    /// Side of the packet path to capture; `None`: both.
    pub side: Option<Side>,
    /// Bytes captured of each packet, 16 to [`OCTETS`]; at most 128 at XDP before Linux 5.18.
    pub snaplen: u32,
}

/// A packet, or the first bytes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPacket<'a> {
    /// Nanoseconds since 1970.
    pub when: u64,
    /// Number that both sides of one packet share.
    pub packet: u64,
    /// Index of the ingress or egress device.
    pub link: u32,
    /// Side on which the packet was captured.
    pub side: Side,
    /// Hook that forwarded the packet.
    pub hook: Hook,
    /// Bytes of the whole frame in memory, without a VLAN tag that the kernel keeps in metadata.
    pub length: u32,
    /// The outermost VLAN tag, if the kernel keeps it in metadata: EtherType and TCI.
    pub tag: Option<(u16, u16)>,
    /// Number of segments of a super-packet, and bytes of payload in each.
    pub segments: Option<(u16, u16)>,
    /// Captured bytes, from the Ethernet header on.
    pub bytes: &'a [u8],
}

/// Packets that a capture missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureCounts {
    /// Records lost because the ring was full.
    pub lost: u64,
    /// Packets beyond the allowed rate.
    pub over: u64,
}

/// A running capture. The caller must end it with [`Captures::end`]. A capture that is only dropped
/// gets no more tokens, so it ends as well, but keeps costing a little.
pub struct Capture {
    settings: Mapped<types::capture_settings>,
    reader: Reader,
    before: CaptureCounts,
}

/// Begins and ends captures.
pub struct Captures {
    control: Control,
    rings: MapHandle,
    settings: MapHandle,
    states: MapHandle,
}

impl Captures {
    pub(crate) fn new(path: &WeirSkel<'_>) -> Result<Self, Error> {
        Ok(Self {
            control: Control::new(path)?,
            rings: handle(&path.maps.captures)?,
            settings: handle(&path.maps.capture_settings)?,
            states: handle(&path.maps.capture_states)?,
        })
    }

    /// Begins a capture. Nothing is captured before [`Capture::give`] gives tokens. `room`: maximum
    /// number of packets between two reads.
    ///
    /// # Errors
    /// The kernel refuses the ring: too little memory.
    pub fn begin(&mut self, filter: &CaptureFilter, room: u32) -> Result<Capture, Error> {
        let sides = filter
            .side
            .map_or(Side::In.bit() | Side::Out.bit(), Side::bit);
        let ring = make_ring(ring_size(room, sides.count_ones(), filter.snaplen))?;
        let reader = Reader::new(&ring)
            .and_then(|reader| {
                let descriptor = ring.as_fd().as_raw_fd().to_ne_bytes();
                let key = 0u32.to_ne_bytes();
                self.rings.update(&key, &descriptor, MapFlags::ANY)?;
                Ok(reader)
            })
            .map_err(|e| Error::bpf("use a ring for a capture", e))?;
        let mut settings = Mapped::new(&self.settings, 1)?;
        settings.set(0, settings_of(filter));
        let before = self.counts()?;
        // Notes of a processor for an earlier capture do not fit this one.
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.control.set(Word::Capture, number << 2 | sides);
        Ok(Capture {
            settings,
            reader,
            before,
        })
    }

    /// Ends a capture. Packets still in the ring can be read afterwards.
    pub fn end(&mut self, capture: &mut Capture) {
        self.control.set(Word::Capture, 0);
        capture.give(0);
        // Returns after every program that may have seen the ring has ended
        // (maybe_wait_bpf_programs, kernel/bpf/syscall.c).
        let _ = self.rings.delete(&0u32.to_ne_bytes());
    }

    /// Returns the number of packets that a capture missed so far.
    ///
    /// # Errors
    /// The kernel does not report the number.
    pub fn missed(&self, capture: &Capture) -> Result<CaptureCounts, Error> {
        let now = self.counts()?;
        Ok(CaptureCounts {
            lost: now.lost.wrapping_sub(capture.before.lost),
            over: now.over.wrapping_sub(capture.before.over),
        })
    }

    fn counts(&self) -> Result<CaptureCounts, Error> {
        let lost = offset_of!(types::capture_state, lost);
        let over = offset_of!(types::capture_state, over);
        let [lost, over] = sums(&self.states, 0, [lost, over])?;
        Ok(CaptureCounts { lost, over })
    }
}

impl Capture {
    /// Passes captured packets to `each`, in order, at most `most` records. Returns the number of
    /// records.
    pub fn read(&mut self, most: usize, mut each: impl FnMut(CapturedPacket<'_>)) -> usize {
        let past = realtime_offset();
        let mut count = 0;
        self.reader.read(most, |record| {
            if let Some(captured) = captured(record, past) {
                each(captured);
                count += 1;
            }
        });
        count
    }

    /// Returns the number of unused tokens.
    pub fn left(&self) -> u32 {
        let settings = self.settings.get(0);
        settings.map_or(0, |settings| u32::try_from(settings.tokens).unwrap_or(0))
    }

    /// Allows this many packets to be captured from now on, replacing the former number.
    pub fn give(&mut self, packets: u32) {
        let packets = i32::try_from(packets).unwrap_or(i32::MAX);
        if let Some(settings) = self.settings.at(0) {
            // SAFETY: an aligned word of a live mapping; packets that take a token at this moment
            // may get one more, or one less.
            unsafe { (&raw mut (*settings).tokens).write_volatile(packets) };
        }
    }
}

/// Returns the ring's size: room for twice the packets between two reads, within limits that suit a
/// router.
fn ring_size(packets: u32, sides: u32, octets: u32) -> u32 {
    // Each record has a header of 8 bytes in the ring, and begins at a multiple of 8.
    let record = u64::from(octets.min(OCTETS)) + HEAD as u64 + 16;
    let wanted = u64::from(packets).saturating_mul(u64::from(sides) * 2 * record);
    wanted.clamp(RING.0, RING.1).next_power_of_two() as u32
}

fn make_ring(size: u32) -> Result<MapHandle, Error> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    MapHandle::create(MapType::RingBuf, Some("weir_capture"), 0, 0, size, &options)
        .map_err(|e| Error::bpf("make a ring for a capture", e))
}

fn settings_of(filter: &CaptureFilter) -> types::capture_settings {
    let ipv6 = filter
        .ends
        .iter()
        .find_map(|end| end.prefix)
        .map(|(address, _)| address.is_ipv6());
    types::capture_settings {
        tokens: 0,
        octets: filter.snaplen.clamp(LEAST, OCTETS),
        link: filter.link.unwrap_or(0),
        // enum capture_family
        families: match ipv6 {
            None => 3,
            Some(false) => 1,
            Some(true) => 2,
        },
        // IPPROTO_TCP, IPPROTO_UDP
        proto: match filter.protocol {
            None => 0,
            Some(Protocol::Tcp) => 6,
            Some(Protocol::Udp) => 17,
        },
        proto_mask: filter.protocol.map_or(0, |_| u8::MAX),
        port: filter.port.unwrap_or(0).to_be(),
        port_mask: filter.port.map_or(0, |_| u16::MAX),
        end: filter.ends.map(end_of),
        ..Default::default()
    }
}

fn end_of(end: CaptureEnd) -> types::capture_end {
    let words = |octets: [u8; 16]| -> [u32; 4] {
        std::array::from_fn(|i| {
            let at = i * 4;
            u32::from_ne_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
        })
    };
    let (address, ones) = match end.prefix {
        None => ([0; 16], 0),
        Some((IpAddr::V4(address), length)) => {
            let mut octets = [0; 16];
            octets[..4].copy_from_slice(&address.octets());
            (octets, length.min(32))
        }
        Some((IpAddr::V6(address), length)) => (address.octets(), length.min(128)),
    };
    let bits = u128::MAX.checked_shl(128 - u32::from(ones)).unwrap_or(0);
    types::capture_end {
        addr: words(address),
        addr_mask: words(bits.to_be_bytes()),
        port: end.port.unwrap_or(0).to_be(),
        port_mask: end.port.map_or(0, |_| u16::MAX),
    }
}

/// Reads a record. `past`: offset to add to its time. `None`: another version of the record, which
/// cannot occur.
fn captured(record: &[u8], past: i64) -> Option<CapturedPacket<'_>> {
    type Raw = types::captured;
    fn at<const N: usize>(record: &[u8], offset: usize) -> Option<[u8; N]> {
        record.get(offset..)?.first_chunk().copied()
    }
    let long = |offset| at(record, offset).map(u64::from_ne_bytes);
    let word = |offset| at(record, offset).map(u32::from_ne_bytes);
    let half = |offset| at(record, offset).map(u16::from_ne_bytes);
    let [side, hook] = at(record, offset_of!(Raw, side))?;
    let vlan = u16::from_be(half(offset_of!(Raw, vlan))?);
    let segment = half(offset_of!(Raw, segment))?;
    Some(CapturedPacket {
        when: long(offset_of!(Raw, when))?.saturating_add_signed(past),
        packet: long(offset_of!(Raw, packet))?,
        link: word(offset_of!(Raw, link))?,
        side: if u32::from(side) == Side::In.bit() {
            Side::In
        } else {
            Side::Out
        },
        hook: if hook == 0 { Hook::Xdp } else { Hook::Tc },
        length: word(offset_of!(Raw, len))?,
        tag: (vlan != 0).then_some((vlan, half(offset_of!(Raw, tci))?)),
        segments: (segment != 0).then_some((half(offset_of!(Raw, segments))?, segment)),
        bytes: record.get(HEAD..)?,
    })
}

/// Offset from CLOCK_MONOTONIC to nanoseconds since 1970. Computed at each read, as the clock may
/// be set.
fn realtime_offset() -> i64 {
    nanoseconds(libc::CLOCK_REALTIME) as i64 - nanoseconds(libc::CLOCK_MONOTONIC) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_holds_twice_what_may_come() {
        assert_eq!(ring_size(0, 1, 1), 64 << 10);
        assert_eq!(ring_size(250, 2, 256), 512 << 10);
        assert_eq!(ring_size(u32::MAX, 2, u32::MAX), 8 << 20);
    }

    #[test]
    fn prefixes_become_masks() {
        let end = |text: &str, length| {
            let end = CaptureEnd {
                prefix: Some((text.parse().expect("an address"), length)),
                port: None,
            };
            let end = end_of(end);
            (end.addr.map(u32::from_be), end.addr_mask.map(u32::from_be))
        };
        assert_eq!(
            end("10.1.2.3", 24),
            ([0x0a01_0203, 0, 0, 0], [0xffff_ff00, 0, 0, 0])
        );
        assert_eq!(end("10.1.2.3", 0).1, [0; 4]);
        assert_eq!(end("10.1.2.3", 32).1, [u32::MAX, 0, 0, 0]);
        assert_eq!(end("2001:db8::1", 33).1, [u32::MAX, 1 << 31, 0, 0]);
        assert_eq!(
            end("2001:db8::1", 128),
            ([0x2001_0db8, 0, 0, 1], [u32::MAX; 4])
        );
    }

    #[test]
    fn records_that_are_cut_short_are_left_out() {
        let record = vec![0; HEAD + 3];
        assert_eq!(captured(&record, 0).map(|c| c.bytes.len()), Some(3));
        for length in 0..HEAD {
            assert_eq!(captured(&record[..length], 0), None, "{length}");
        }
    }
}
