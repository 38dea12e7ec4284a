//! Frames: every message in front of a connection begins with four bytes.

use std::ops::RangeInclusive;

use crate::VERSION;

/// Bytes of a header: version, kind, length of the body (big endian).
pub const HEADER: usize = 4;

/// The longest body, bytes. Those of this version have 157 at most.
pub const MOST: usize = 1024;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A router asks for a session.
    Handshake,
    /// The partner's answer to a handshake.
    Welcome,
    /// A router asks for a connection; payload follows at once.
    Open,
    /// Result of an open; payload follows if the connection is established.
    Status,
    /// The partner does not know the session, as it restarted. Not authenticated: only a reason for
    /// a new handshake.
    UnknownSession,
    /// The partner speaks other versions. Understood in every version; not authenticated.
    OtherVersion,
}

impl Kind {
    fn code(self) -> u8 {
        match self {
            Self::Handshake => 1,
            Self::Welcome => 2,
            Self::Open => 3,
            Self::Status => 4,
            Self::UnknownSession => 5,
            Self::OtherVersion => 6,
        }
    }

    fn of_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Handshake,
            2 => Self::Welcome,
            3 => Self::Open,
            4 => Self::Status,
            5 => Self::UnknownSession,
            6 => Self::OtherVersion,
            _ => return None,
        })
    }
}

/// Bytes that do not begin a valid frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Another version, or not weir at all. A partner answers with [`other_version`].
    #[error("frame of version {0}, but this weir speaks version {VERSION}; update the older side")]
    Version(u8),
    /// Unknown kind.
    #[error("frame of unknown kind {0}")]
    Kind(u8),
    /// Longer than the maximum.
    #[error("frame of {0} bytes, but at most {MOST} are allowed")]
    Long(usize),
    /// Body that is not valid for its kind.
    #[error("malformed body of a frame of kind {0:?}")]
    Body(Kind),
}

/// Header of a frame: its first four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Kind of the frame.
    pub kind: Kind,
    /// Bytes of the body, [`MOST`] at most.
    pub length: usize,
}

impl Header {
    pub(crate) fn octets(self) -> [u8; HEADER] {
        let length = u16::try_from(self.length).expect("bodies are short");
        let [high, low] = length.to_be_bytes();
        [VERSION, self.kind.code(), high, low]
    }
}

/// A whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Kind of the frame.
    pub kind: Kind,
    /// Bytes behind the header.
    pub body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads a header.
    pub fn header(octets: &[u8; HEADER]) -> Result<Header, FrameError> {
        let [version, code, high, low] = *octets;
        let kind = Kind::of_code(code);
        if version != VERSION && kind != Some(Kind::OtherVersion) {
            return Err(FrameError::Version(version));
        }
        let kind = kind.ok_or(FrameError::Kind(code))?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length > MOST {
            return Err(FrameError::Long(length));
        }
        Ok(Header { kind, length })
    }

    /// Reads a frame from the front of the received bytes and returns the bytes behind the frame
    /// too; `None` while the frame is incomplete.
    pub fn split(octets: &'a [u8]) -> Result<Option<(Self, &'a [u8])>, FrameError> {
        let Some((header, rest)) = octets.split_first_chunk() else {
            return Ok(None);
        };
        let Header { kind, length } = Self::header(header)?;
        let frame = rest.split_at_checked(length);
        Ok(frame.map(|(body, rest)| (Self { kind, body }, rest)))
    }

    pub(crate) fn octets(self) -> Vec<u8> {
        let length = self.body.len();
        debug_assert!(length <= MOST, "{length} bytes");
        let header = Header {
            kind: self.kind,
            length,
        };
        [&header.octets(), self.body].concat()
    }
}

/// Builds the answer to a frame of another version: the versions that this side speaks.
pub fn other_version() -> Vec<u8> {
    let body = &[VERSION, VERSION];
    let kind = Kind::OtherVersion;
    Frame { kind, body }.octets()
}

/// Reads the body of such a frame: the versions that the other side speaks.
pub fn versions(body: &[u8]) -> Result<RangeInclusive<u8>, FrameError> {
    match body {
        // A later version may append more.
        [first, last, ..] if first <= last => Ok(*first..=*last),
        _ => Err(FrameError::Body(Kind::OtherVersion)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 6] = [
        Kind::Handshake,
        Kind::Welcome,
        Kind::Open,
        Kind::Status,
        Kind::UnknownSession,
        Kind::OtherVersion,
    ];

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        for kind in KINDS {
            for body in [&[][..], b"body", &[7; MOST]] {
                let frame = Frame { kind, body };
                let mut octets = frame.octets();
                octets.extend(b"payload");
                assert_eq!(
                    Frame::split(&octets),
                    Ok(Some((frame, &b"payload"[..]))),
                    "{kind:?}"
                );
                for length in 0..HEADER + body.len() {
                    assert_eq!(Frame::split(&octets[..length]), Ok(None));
                }
            }
        }
    }

    #[test]
    fn a_wrong_header_is_refused_before_its_body_is_there() {
        assert_eq!(Frame::header(&[0, 3, 0, 0]), Err(FrameError::Version(0)));
        assert_eq!(Frame::header(&[1, 3, 0, 0]), Err(FrameError::Version(1)));
        // A browser that asks for a page: "GET ".
        assert_eq!(Frame::split(b"GET "), Err(FrameError::Version(71)));
        assert_eq!(Frame::header(&[VERSION, 0, 0, 0]), Err(FrameError::Kind(0)));
        assert_eq!(Frame::header(&[VERSION, 7, 0, 0]), Err(FrameError::Kind(7)));
        let long = Frame::header(&[VERSION, 3, 4, 1]);
        assert_eq!(long, Err(FrameError::Long(1025)));
    }

    #[test]
    fn other_versions_are_understood_in_every_version() {
        let ours = other_version();
        let (frame, _) = Frame::split(&ours).expect("a frame").expect("whole");
        assert_eq!(frame.kind, Kind::OtherVersion);
        assert_eq!(versions(frame.body), Ok(VERSION..=VERSION));
        let later = [9, 6, 0, 3, 8, 9, 0];
        let (frame, _) = Frame::split(&later).expect("a frame").expect("whole");
        assert_eq!(versions(frame.body), Ok(8..=9));
        for body in [&[][..], &[1], &[2, 1]] {
            assert_eq!(versions(body), Err(FrameError::Body(Kind::OtherVersion)));
        }
    }
}
