//! Reading netlink: messages in a datagram, attributes in a message. Bounds-checked, borrowing,
//! allocating nothing, because a busy router sends some 80,000 conntrack messages a second. Layout:
//! `include/uapi/linux/netlink.h`; RFC 3549 describes it in prose.

use crate::event::Event;

/// `NLMSG_ERROR`: the kernel's answer to a request, an errno or 0.
pub(crate) const NLMSG_ERROR: u16 = 2;
/// `NLMSG_DONE`: the end of a dump.
pub(crate) const NLMSG_DONE: u16 = 3;
/// Below this, message types belong to netlink itself.
pub(crate) const NLMSG_MIN_TYPE: u16 = 16;
/// `NLM_F_DUMP_INTR`: the table changed under the dump, which may have missed entries.
pub(crate) const NLM_F_DUMP_INTR: u16 = 0x10;

const HEADER: usize = 16;
/// The two high bits of an attribute type are flags (nested, network byte order), which no reader
/// needs.
const TYPE_MASK: u16 = 0x3fff;

/// Decoding error, with the part of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} {problem}")]
pub struct DecodeError {
    /// The kernel's name of the attribute or structure at fault.
    pub part: &'static str,
    /// Problem of the part.
    pub problem: Problem,
}

/// Problem of a part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The part claims to be longer than the data.
    CutShort,
    /// The value has another length than its type.
    Length,
    /// The part is required and missing.
    Missing,
    /// The part contradicts another part.
    Contradiction,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::CutShort => "is truncated",
            Self::Length => "has a wrong length",
            Self::Missing => "is missing",
            Self::Contradiction => "contradicts another part",
        })
    }
}

impl DecodeError {
    pub(crate) fn new(part: &'static str, problem: Problem) -> Self {
        Self { part, problem }
    }

    pub(crate) fn missing(part: &'static str) -> Self {
        Self::new(part, Problem::Missing)
    }
}

/// Counts of the messages of one or more datagrams. Every message is either understood or counted
/// in one of the other fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages that gave an event.
    pub understood: u64,
    /// Irrelevant messages: other protocols, templates, our own echoes.
    pub ignored: u64,
    /// Messages that could not be understood; where a message header lies, the rest of its datagram
    /// counts as one.
    pub malformed: u64,
    /// The newest reason for `malformed`.
    pub last_error: Option<DecodeError>,
}

impl Tally {
    /// Counts one message that could not be understood.
    pub(crate) fn fail(&mut self, error: DecodeError) {
        self.malformed += 1;
        self.last_error = Some(error);
    }

    /// Adds another tally to this one.
    pub(crate) fn add(&mut self, other: Tally) {
        self.understood += other.understood;
        self.ignored += other.ignored;
        self.malformed += other.malformed;
        self.last_error = other.last_error.or(self.last_error);
    }
}

/// A netlink message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// `nlmsg_type`.
    pub kind: u16,
    /// `nlmsg_flags`.
    pub flags: u16,
    /// `nlmsg_seq`: of the request that this answers.
    pub sequence: u32,
    /// `nlmsg_pid`: port of the requesting socket; in an event, of the socket that caused it.
    pub port: u32,
    /// Bytes behind the header.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Splits the payload into its fixed part of `N` bytes, named `part` in errors, and its
    /// attributes.
    pub(crate) fn split<const N: usize>(
        &self,
        part: &'static str,
    ) -> Result<(&'a [u8; N], Attributes<'a>), DecodeError> {
        let (fixed, rest) = self
            .payload
            .split_first_chunk::<N>()
            .ok_or(DecodeError::new(part, Problem::CutShort))?;
        Ok((fixed, Attributes::new(rest, part)))
    }

    /// Returns the attributes of this command of a generic family. `None`: another message.
    pub(crate) fn generic(
        &self,
        family: u16,
        command: u8,
    ) -> Result<Option<Attributes<'a>>, DecodeError> {
        if self.kind != family {
            return Ok(None);
        }
        let (header, attributes) = self.split::<4>("genlmsghdr")?;
        Ok((header[0] == command).then_some(attributes))
    }
}

/// The messages of a datagram. Ends after the first error, as the start of the next message is
/// unknown.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Reads a datagram as received.
    pub fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.rest);
        let cut = DecodeError::new("nlmsghdr", Problem::CutShort);
        let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
            return Some(Err(cut));
        };
        let length = u32_at(header, 0) as usize;
        if length < HEADER || length > bytes.len() {
            return Some(Err(cut));
        }
        self.rest = bytes.get(align(length)..).unwrap_or_default();
        Some(Ok(Message {
            kind: u16_at(header, 4),
            flags: u16_at(header, 6),
            sequence: u32_at(header, 8),
            port: u32_at(header, 12),
            payload: &bytes[HEADER..length],
        }))
    }
}

/// A netlink attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute<'a> {
    /// Type, without flags.
    pub kind: u16,
    /// Value, without padding.
    pub value: &'a [u8],
}

impl<'a> Attribute<'a> {
    /// The value as an array; `part` names the attribute in the error.
    pub fn array<const N: usize>(&self, part: &'static str) -> Result<[u8; N], DecodeError> {
        self.value
            .try_into()
            .map_err(|_| DecodeError::new(part, Problem::Length))
    }

    /// A number in network byte order (netfilter).
    pub fn u16_network(&self, part: &'static str) -> Result<u16, DecodeError> {
        self.array(part).map(u16::from_be_bytes)
    }

    /// A number in network byte order (netfilter).
    pub fn u32_network(&self, part: &'static str) -> Result<u32, DecodeError> {
        self.array(part).map(u32::from_be_bytes)
    }

    /// A number in the byte order of this machine (rtnetlink, generic netlink).
    pub fn u32_native(&self, part: &'static str) -> Result<u32, DecodeError> {
        self.array(part).map(u32::from_ne_bytes)
    }

    /// Returns a string, up to its first zero byte. Device names are bytes to the kernel: invalid
    /// UTF-8 is replaced.
    pub fn text(&self) -> String {
        let end = self
            .value
            .iter()
            .position(|octet| *octet == 0)
            .unwrap_or(self.value.len());
        String::from_utf8_lossy(&self.value[..end]).into_owned()
    }

    /// The attributes inside; `part` names this one in errors.
    pub fn nested(&self, part: &'static str) -> Attributes<'a> {
        Attributes::new(self.value, part)
    }
}

/// Iterator over the attributes of a message or of a nest. Ends after the first error.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'a> {
    rest: &'a [u8],
    within: &'static str,
}

impl<'a> Attributes<'a> {
    /// Creates an iterator; `within` names the container, for errors.
    pub fn new(rest: &'a [u8], within: &'static str) -> Self {
        Self { rest, within }
    }

    /// Returns the first attribute of this kind; an error, if one comes before.
    pub fn first(mut self, kind: u16) -> Result<Option<Attribute<'a>>, DecodeError> {
        self.find(|found| found.as_ref().map_or(true, |found| found.kind == kind))
            .transpose()
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<Attribute<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.rest);
        if bytes.len() >= 4 {
            let length = usize::from(u16_at(bytes, 0));
            if let Some(value) = bytes.get(4..length) {
                // The padding of the last attribute may be left out.
                self.rest = bytes.get(align(length)..).unwrap_or_default();
                return Some(Ok(Attribute {
                    kind: u16_at(bytes, 2) & TYPE_MASK,
                    value,
                }));
            }
        }
        Some(Err(DecodeError::new(self.within, Problem::CutShort)))
    }
}

/// Decodes a whole datagram with `decoder`, appending to `out`. Ignores messages of netlink itself,
/// and messages caused by the socket `own_port` (0: no such messages). One malformed message does
/// not affect the others.
pub(crate) fn decode_datagram(
    datagram: &[u8],
    own_port: u32,
    out: &mut Vec<Event>,
    decoder: impl Fn(&Message<'_>) -> Result<Option<Event>, DecodeError>,
) -> Tally {
    let mut tally = Tally::default();
    for message in Messages::new(datagram) {
        let decoded = message.and_then(|message| {
            let own = own_port != 0 && message.port == own_port;
            if own || message.kind < NLMSG_MIN_TYPE {
                Ok(None)
            } else {
                decoder(&message)
            }
        });
        match decoded {
            Ok(Some(event)) => {
                tally.understood += 1;
                // A full routing table arriving must not become a million equal events, nor a
                // thousand filters being set.
                let same = matches!(
                    event,
                    Event::Routing
                        | Event::Forwarding(_)
                        | Event::Filters(_)
                        | Event::Qdiscs(_)
                        | Event::BridgeVlan(_)
                );
                if !same || out.last() != Some(&event) {
                    out.push(event);
                }
            }
            Ok(None) => tally.ignored += 1,
            Err(error) => tally.fail(error),
        }
    }
    tally
}

/// The errno in an `NLMSG_ERROR` or `NLMSG_DONE`, positive; 0 is success.
pub(crate) fn errno(message: &Message<'_>) -> Result<i32, DecodeError> {
    let (code, _) = message.split::<4>("nlmsgerr")?;
    Ok(i32::from_ne_bytes(*code).saturating_neg())
}

fn align(length: usize) -> usize {
    (length + 3) & !3
}

/// Reads in native byte order; the caller has checked that `at + 2` bytes are there.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// Reads in native byte order; the caller has checked that `at + 4` bytes are there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
        crate::encode::Encoder::single(kind, 0, 7, |e| e.fixed(payload))
    }

    #[test]
    fn messages_are_split_and_a_lying_header_ends_the_datagram() {
        let mut datagram = message(20, &[1, 2, 3, 4, 5, 0, 0, 0]);
        // A length without its padding, as the kernel writes it.
        datagram[..4].copy_from_slice(&21u32.to_ne_bytes());
        datagram.extend(message(21, &[]));
        let read: Vec<_> = Messages::new(&datagram)
            .map(|m| m.map(|m| (m.kind, m.payload.to_vec())))
            .collect();
        assert_eq!(read, [Ok((20, vec![1, 2, 3, 4, 5])), Ok((21, vec![]))]);

        for length in [0u32, 15, 17, u32::MAX] {
            let mut lying = datagram.clone();
            lying[24..28].copy_from_slice(&length.to_ne_bytes());
            let read: Vec<_> = Messages::new(&lying).collect();
            assert_eq!(read.len(), 2, "length {length}");
            assert_eq!(
                read[1].as_ref().unwrap_err().to_string(),
                "nlmsghdr is truncated"
            );
        }
    }

    #[test]
    fn attributes_name_what_is_cut() {
        let good = [5, 0, 1, 0x80, 9, 0, 0, 0, 4, 0, 2, 0];
        let read: Vec<_> = Attributes::new(&good, "CTA")
            .map(|a| a.map(|a| (a.kind, a.value)))
            .collect();
        assert_eq!(read, [Ok((1, &[9u8][..])), Ok((2, &[][..]))]);
        for bad in [
            &[3u8, 0, 1, 0][..],
            &[6, 0, 1, 0, 9],
            &[0, 0, 0],
            &[0xff, 0xff, 0, 0],
        ] {
            let read: Vec<_> = Attributes::new(bad, "CTA").collect();
            assert_eq!(read.len(), 1);
            assert_eq!(
                *read[0].as_ref().unwrap_err(),
                DecodeError::new("CTA", Problem::CutShort)
            );
        }
    }

    #[test]
    fn a_message_is_understood_ignored_or_counted() {
        let mut datagram = message(20, &[]);
        datagram.extend(message(3, &[]));
        datagram.extend(message(21, &[]));
        let mut out = Vec::new();
        let tally = decode_datagram(&datagram, 0, &mut out, |m| match m.kind {
            20 => Ok(Some(Event::LinkGone(1))),
            _ => Err(DecodeError::missing("X")),
        });
        assert_eq!(
            (tally.understood, tally.ignored, tally.malformed),
            (1, 1, 1)
        );
        assert_eq!(tally.last_error, Some(DecodeError::missing("X")));
        assert_eq!(out, [Event::LinkGone(1)]);
    }

    #[test]
    fn equal_routing_events_in_a_row_are_one() {
        let datagram: Vec<u8> = (0..3).flat_map(|_| message(24, &[])).collect();
        let mut out = Vec::new();
        let tally = decode_datagram(&datagram, 0, &mut out, |_| Ok(Some(Event::Routing)));
        assert_eq!(
            (tally.understood, out.as_slice()),
            (3, &[Event::Routing][..])
        );
    }
}
