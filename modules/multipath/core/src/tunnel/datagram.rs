//! The bytes of a datagram: a header in the clear, and a body sealed with it (ChaCha20-Poly1305).
//!
//! | bytes | header |
//! |---|---|
//! | 1 | version (high four bits), kind (low four) |
//! | 1 | path |
//! | 8 | session |
//! | 8 | counter: from 0, of this path and direction |
//!
//! All numbers are big endian. The nonce is path and counter, the key is of one direction: so a
//! counter must never be used twice with one key. An opened datagram may be a replay: the caller
//! checks the counter with a [`crate::Window`] of the path.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::session::DatagramKeys;

use super::body::{Body, Kind};

/// Version of the datagrams.
pub const VERSION: u8 = 1;
/// Bytes of the header.
pub const HEADER: usize = 18;
/// Bytes of the authentication tag.
pub const TAG: usize = 16;
/// Most bytes that a datagram adds to a packet: header, order, seal. UDP and IP come on top.
pub const OVERHEAD: usize = HEADER + super::body::ORDER + TAG;
/// Longest datagram, bytes.
pub const LONGEST: usize = 9216;

/// Error of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatagramError {
    /// Too short or too long.
    #[error("a datagram must have {HEADER} to {LONGEST} bytes and a seal, not {0}")]
    Length(usize),
    /// Datagram of another version.
    #[error(
        "the datagram has version {0}, but this weir speaks version {VERSION}: update the older end"
    )]
    Version(u8),
    /// Datagram of an unknown kind.
    #[error("datagram of unknown kind {0}")]
    Kind(u8),
    /// Datagram of another session.
    #[error("datagram of another session")]
    Session,
    /// The tag is not of this session's key, or the datagram was changed.
    #[error("invalid seal of a datagram")]
    Seal,
    /// Replayed, or too old to know.
    #[error("replayed datagram")]
    Replayed,
    /// Sealed, but malformed.
    #[error("malformed body of a datagram")]
    Body,
    /// Datagram of a path that this end does not have.
    #[error("no path {0}")]
    Path(u8),
}

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Kind of the body.
    pub kind: Kind,
    /// Number of the path.
    pub path: u8,
    /// The session.
    pub session: u64,
    /// Number of earlier datagrams of this path and direction.
    pub counter: u64,
}

impl Header {
    /// Reads a header, which is not authentic before the datagram is opened.
    pub fn read(datagram: &[u8]) -> Result<Header, DatagramError> {
        let wrong = DatagramError::Length(datagram.len());
        if datagram.len() > LONGEST {
            return Err(wrong);
        }
        let (header, rest) = datagram.split_first_chunk::<HEADER>().ok_or(wrong)?;
        if rest.len() < TAG {
            return Err(wrong);
        }
        if header[0] >> 4 != VERSION {
            return Err(DatagramError::Version(header[0] >> 4));
        }
        let number = |at: usize| {
            header[at..at + 8]
                .iter()
                .fold(0, |number, octet| number << 8 | u64::from(*octet))
        };
        Ok(Header {
            kind: Kind::of(header[0] & 15).ok_or(DatagramError::Kind(header[0] & 15))?,
            path: header[1],
            session: number(2),
            counter: number(10),
        })
    }

    fn octets(&self) -> [u8; HEADER] {
        let mut octets = [0; HEADER];
        octets[0] = VERSION << 4 | self.kind as u8;
        octets[1] = self.path;
        octets[2..10].copy_from_slice(&self.session.to_be_bytes());
        octets[10..].copy_from_slice(&self.counter.to_be_bytes());
        octets
    }

    fn nonce(&self) -> Nonce {
        let mut nonce = [0; NONCE_LEN];
        nonce[0] = self.path;
        nonce[NONCE_LEN - 8..].copy_from_slice(&self.counter.to_be_bytes());
        Nonce::assume_unique_for_key(nonce)
    }
}

/// Seals and opens the datagrams of a session. Nothing is allocated.
pub struct Codec {
    session: u64,
    seal: LessSafeKey,
    open: LessSafeKey,
}

impl Codec {
    /// Creates the codec of a session from its keys.
    pub fn new(session: u64, keys: &DatagramKeys) -> Codec {
        let key = |octets: &[u8; 32]| {
            let key = UnboundKey::new(&CHACHA20_POLY1305, octets);
            LessSafeKey::new(key.expect("a key of ChaCha20 has 32 bytes"))
        };
        Codec {
            session,
            seal: key(&keys.seal),
            open: key(&keys.open),
        }
    }

    /// Writes a datagram to the beginning of `into`, for which [`LONGEST`] bytes always suffice,
    /// and returns its length. The counter must not have been used with this path before.
    ///
    /// # Errors
    /// [`DatagramError::Length`] if `into` is too short for it.
    pub fn seal(
        &self,
        path: u8,
        counter: u64,
        body: &Body<'_>,
        into: &mut [u8],
    ) -> Result<usize, DatagramError> {
        let length = HEADER + body.length() + TAG;
        if length > into.len().min(LONGEST) {
            return Err(DatagramError::Length(length));
        }
        let header = Header {
            kind: body.kind(),
            path,
            session: self.session,
            counter,
        };
        let (octets, sealed) = into[..length].split_at_mut(HEADER);
        octets.copy_from_slice(&header.octets());
        let (plain, tag) = sealed.split_at_mut(body.length());
        body.write(plain);
        let made = self
            .seal
            .seal_in_place_separate_tag(header.nonce(), Aad::from(&*octets), plain)
            .map_err(|_| DatagramError::Length(length))?;
        tag.copy_from_slice(made.as_ref());
        Ok(length)
    }

    /// Opens a datagram in place.
    ///
    /// # Errors
    /// All of [`DatagramError`] but those of replay and path, which depend on earlier datagrams.
    pub fn open<'a>(&self, datagram: &'a mut [u8]) -> Result<(Header, Body<'a>), DatagramError> {
        let header = Header::read(datagram)?;
        if header.session != self.session {
            return Err(DatagramError::Session);
        }
        let (octets, sealed) = datagram.split_at_mut(HEADER);
        let plain = self
            .open
            .open_in_place(header.nonce(), Aad::from(&*octets), sealed)
            .map_err(|_| DatagramError::Seal)?;
        let body = Body::read(header.kind, plain).ok_or(DatagramError::Body)?;
        Ok((header, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunnel::body::Order;

    fn pair() -> (Codec, Codec) {
        let (seal, open) = ([1; 32], [2; 32]);
        (
            Codec::new(7, &DatagramKeys { seal, open }),
            Codec::new(
                7,
                &DatagramKeys {
                    seal: open,
                    open: seal,
                },
            ),
        )
    }

    #[test]
    fn every_changed_bit_is_refused() {
        let (router, partner) = pair();
        let mut octets = [0; 256];
        let body = Body::Packet(Order::Once(9), b"packet");
        let length = router.seal(3, 11, &body, &mut octets).unwrap();
        assert_eq!(length, HEADER + 4 + 6 + TAG);
        for bit in 0..length * 8 {
            let mut changed = octets;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(partner.open(&mut changed[..length]).is_err(), "bit {bit}");
        }
        for cut in 0..length {
            let mut whole = octets;
            assert!(partner.open(&mut whole[..cut]).is_err());
        }
        let (header, opened) = partner.open(&mut octets[..length]).unwrap();
        assert_eq!((header.path, header.counter), (3, 11));
        assert_eq!(opened, body);
    }

    #[test]
    fn what_an_end_sent_it_does_not_take_back() {
        let (router, _) = pair();
        let mut octets = [0; 64];
        let length = router
            .seal(0, 0, &Body::Bye { all: true }, &mut octets)
            .unwrap();
        assert_eq!(router.open(&mut octets[..length]), Err(DatagramError::Seal));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let (router, partner) = pair();
        let mut octets = [0; 64];
        let length = router
            .seal(0, 0, &Body::Bye { all: true }, &mut octets)
            .unwrap();
        let mut other = octets;
        other[0] = 0x27;
        let error = partner.open(&mut other[..length]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the datagram has version 2, but this weir speaks version 1: update the older end"
        );
        let mut other = octets;
        other[9] ^= 1;
        assert_eq!(
            partner.open(&mut other[..length]),
            Err(DatagramError::Session)
        );
        let room = router.seal(0, 0, &Body::Bye { all: true }, &mut [0; 20]);
        assert_eq!(room, Err(DatagramError::Length(35)));
    }
}
