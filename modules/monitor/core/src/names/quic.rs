//! The ClientHello in QUIC's first packets (RFC 9000, 17.2.2; RFC 9001; version 2: RFC 9369).
//!
//! Initial packets are encrypted with keys that follow from the connection ID of the client: any
//! observer of the first packet can read it. That keeps out boxes that do not know QUIC, not
//! observers (RFC 9001, 5.2).

use net::Cursor;
use ring::aead::quic::{AES_128 as MASK, HeaderProtectionKey};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};

use super::Outcome;
use super::reassembly::Reassembly;
use super::tls::{self, Hello};

/// First byte: long header.
pub const LONG_HEADER: u8 = 0x80;
/// Longest connection ID of versions 1 and 2, bytes.
const LONGEST_ID: usize = 20;
/// Offset of the sample for header protection, from the start of the packet number (RFC 9001,
/// 5.4.2).
const SAMPLE_AT: usize = 4;
const SAMPLE_LENGTH: usize = 16;

/// Parameters of a QUIC version.
struct Version {
    number: u32,
    /// Bits 5 and 4 of an Initial packet's first byte.
    initial: u8,
    salt: [u8; 20],
    /// Labels of key, IV and header protection.
    labels: [&'static [u8]; 3],
}

static VERSIONS: [Version; 2] = [
    // RFC 9001, 5.2 and 5.1.
    Version {
        number: 1,
        initial: 0,
        salt: [
            0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8,
            0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a,
        ],
        labels: [b"quic key", b"quic iv", b"quic hp"],
    },
    // RFC 9369, 3.
    Version {
        number: 0x6b33_43cf,
        initial: 1,
        salt: [
            0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26,
            0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
        ],
        labels: [b"quicv2 key", b"quicv2 iv", b"quicv2 hp"],
    },
];

/// The first packets of one client. Holds at most [`super::reassembly::LIMIT`] bytes and a little.
#[derive(Clone, Debug, Default)]
pub struct Initials {
    /// The connection ID that the keys are from. Later packets may bear the server's.
    id: Vec<u8>,
    crypto: Reassembly,
}

impl Initials {
    /// Reads a datagram of the client. [`Outcome::Foreign`]: nothing in the datagram could be
    /// decrypted, or the content is not a ClientHello.
    pub fn datagram(&mut self, datagram: &[u8]) -> Outcome<Hello> {
        let mut rest = datagram;
        let mut understood = false;
        // Packets may share a datagram (RFC 9000, 12.2).
        while let Some((packet, behind)) = Packet::split(rest) {
            rest = behind;
            let Some(initial) = packet else {
                continue;
            };
            if let Some(frames) = self.decrypt(&initial) {
                understood = true;
                crypto(&frames, &mut self.crypto);
            }
        }
        if understood {
            tls::hello(self.crypto.beginning())
        } else {
            Outcome::Foreign
        }
    }

    fn decrypt(&mut self, packet: &Packet<'_>) -> Option<Vec<u8>> {
        if !self.id.is_empty()
            && let Some(frames) = packet.decrypt(&self.id)
        {
            return Some(frames);
        }
        if self.id == packet.id {
            return None;
        }
        // After a Retry the client begins again, with the ID from the Retry (RFC 9001, 5.2).
        let frames = packet.decrypt(packet.id)?;
        self.id = packet.id.to_vec();
        self.crypto = Reassembly::default();
        Some(frames)
    }
}

/// An Initial packet.
struct Packet<'a> {
    version: &'static Version,
    /// Destination connection ID.
    id: &'a [u8],
    /// Bytes from the first one to the end by the length field.
    octets: &'a [u8],
    /// Offset of the packet number.
    number_at: usize,
}

impl<'a> Packet<'a> {
    /// Splits off the first packet. The inner `None`: another packet with a long header, such as
    /// 0-RTT. The outer `None`: not a packet.
    fn split(datagram: &'a [u8]) -> Option<(Option<Self>, &'a [u8])> {
        let mut cursor = Cursor(datagram);
        let first = cursor.u8()?;
        // The bit below need not be set (RFC 9287).
        if first & LONG_HEADER == 0 {
            return None;
        }
        let number = cursor.u32()?;
        let version = VERSIONS.iter().find(|version| version.number == number)?;
        let id = cursor.behind_u8().filter(|id| id.len() <= LONGEST_ID)?;
        cursor.behind_u8().filter(|id| id.len() <= LONGEST_ID)?;
        let kind = (first >> 4 & 3).wrapping_sub(version.initial) & 3;
        // Version 2 counts from 1: Initial, 0-RTT, Handshake, Retry. A Retry has no length, and
        // only servers send it.
        if kind == 3 {
            return None;
        }
        if kind == 0 {
            let token = variable(&mut cursor)?;
            cursor.take(usize::try_from(token).ok()?)?;
        }
        let length = usize::try_from(variable(&mut cursor)?).ok()?;
        let number_at = datagram.len() - cursor.0.len();
        cursor.take(length)?;
        let (octets, behind) = datagram.split_at(number_at + length);
        let packet = (kind == 0).then_some(Self {
            version,
            id,
            octets,
            number_at,
        });
        Some((packet, behind))
    }

    /// Decrypts the frames, if the keys of this connection ID fit.
    fn decrypt(&self, id: &[u8]) -> Option<Vec<u8>> {
        let keys = Keys::of_client(self.version, id)?;
        let sample_at = self.number_at + SAMPLE_AT;
        let sample = self.octets.get(sample_at..sample_at + SAMPLE_LENGTH)?;
        let mask = keys.mask.new_mask(sample).ok()?;
        let first = self.octets[0] ^ mask[0] & 0x0f;
        let number_length = usize::from(first & 3) + 1;
        let (header, payload) = self.octets.split_at(self.number_at + number_length);
        if payload.len() < MAX_TAG_LEN {
            return None;
        }
        let mut header = header.to_vec();
        header[0] = first;
        let mut nonce = keys.iv;
        // A client's first packets have small numbers, so the truncated number is complete.
        let numbers = header[self.number_at..].iter_mut().zip(&mask[1..]);
        for (at, (octet, mask)) in (NONCE_LEN - number_length..).zip(numbers) {
            *octet ^= mask;
            nonce[at] ^= *octet;
        }
        let mut payload = payload.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let frames = keys
            .packet
            .open_in_place(nonce, Aad::from(&header), &mut payload)
            .ok()?;
        let length = frames.len();
        payload.truncate(length);
        Some(payload)
    }
}

struct Keys {
    packet: LessSafeKey,
    iv: [u8; NONCE_LEN],
    mask: HeaderProtectionKey,
}

/// Length of key material that is used as it is.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

impl Keys {
    fn of_client(version: &Version, id: &[u8]) -> Option<Self> {
        let initial = Salt::new(HKDF_SHA256, &version.salt).extract(id);
        let mut secret = [0; 32];
        expand(&initial, b"client in", &mut secret)?;
        let secret = Prk::new_less_safe(HKDF_SHA256, &secret);
        let (mut key, mut iv, mut mask) = ([0; 16], [0; NONCE_LEN], [0; 16]);
        expand(&secret, version.labels[0], &mut key)?;
        expand(&secret, version.labels[1], &mut iv)?;
        expand(&secret, version.labels[2], &mut mask)?;
        Some(Self {
            packet: LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).ok()?),
            iv,
            mask: HeaderProtectionKey::new(&MASK, &mask).ok()?,
        })
    }
}

/// Computes HKDF-Expand-Label without context (RFC 8446, 7.1).
fn expand(secret: &Prk, label: &[u8], out: &mut [u8]) -> Option<()> {
    let length = u16::try_from(out.len()).ok()?.to_be_bytes();
    let label_length = [u8::try_from(6 + label.len()).ok()?];
    let info = [&length[..], &label_length, b"tls13 ", label, &[0]];
    secret.expand(&info, Length(out.len())).ok()?.fill(out).ok()
}

/// Parses a number of variable length (RFC 9000, 16).
fn variable(cursor: &mut Cursor<'_>) -> Option<u64> {
    let first = cursor.u8()?;
    let mut value = u64::from(first & 0x3f);
    for _ in 1..1_u8 << (first >> 6) {
        value = value << 8 | u64::from(cursor.u8()?);
    }
    Some(value)
}

/// Assembles the handshake data (RFC 9000, 19.6) from the frames that an Initial packet may have
/// (12.4).
fn crypto(frames: &[u8], gather: &mut Reassembly) -> Option<()> {
    const PADDING: u64 = 0;
    const PING: u64 = 1;
    const ACK: u64 = 2;
    const ACK_ECN: u64 = 3;
    const CRYPTO: u64 = 6;
    let mut cursor = Cursor(frames);
    loop {
        match variable(&mut cursor)? {
            PADDING | PING => {}
            kind @ (ACK | ACK_ECN) => {
                // Largest, delay; count of ranges; the first, and two numbers for each other.
                variable(&mut cursor)?;
                variable(&mut cursor)?;
                let ranges = variable(&mut cursor)?;
                variable(&mut cursor)?;
                // Missing data ends the loop: no more turns than bytes.
                for _ in 0..ranges {
                    variable(&mut cursor)?;
                    variable(&mut cursor)?;
                }
                if kind == ACK_ECN {
                    for _ in 0..3 {
                        variable(&mut cursor)?;
                    }
                }
            }
            CRYPTO => {
                let offset = usize::try_from(variable(&mut cursor)?).ok()?;
                let length = usize::try_from(variable(&mut cursor)?).ok()?;
                gather.put(offset, cursor.take(length)?);
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_as_in_the_standards() {
        // RFC 9001 and RFC 9369, appendix A.1.
        let id = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
        let ivs = [
            [
                0xfa, 0x04, 0x4b, 0x2f, 0x42, 0xa3, 0xfd, 0x3b, 0x46, 0xfb, 0x25, 0x5c,
            ],
            [
                0x91, 0xf7, 0x3e, 0x23, 0x51, 0xd8, 0xfa, 0x91, 0x66, 0x0e, 0x90, 0x9f,
            ],
        ];
        for (version, iv) in VERSIONS.iter().zip(ivs) {
            assert_eq!(Keys::of_client(version, &id).expect("keys").iv, iv);
        }
    }

    #[test]
    fn numbers_of_variable_length() {
        // RFC 9000, A.1.
        let samples: [(&[u8], u64); 4] = [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ];
        for (octets, value) in samples {
            let mut cursor = Cursor(octets);
            assert_eq!(variable(&mut cursor), Some(value));
            assert!(cursor.0.is_empty());
            assert_eq!(variable(&mut Cursor(&octets[..octets.len() - 1])), None);
        }
    }

    #[test]
    fn frames() {
        let mut gather = Reassembly::default();
        // Acknowledgements with ranges and counts before and between pieces.
        let frames = [
            2, 5, 0, 1, 0, 9, 9, 6, 3, 2, b'd', b'e', 0, 1, 3, 5, 0, 0, 0, 1, 2, 3, 6, 0, 3, b'a',
            b'b', b'c',
        ];
        crypto(&frames, &mut gather);
        assert_eq!(gather.beginning(), b"abcde");
        // A piece that is not all there, one that is nowhere, a count that lies, a frame that does
        // not belong here.
        for bad in [
            &[6, 0, 9, b'x'][..],
            &[6, 255, 255],
            &[2, 0, 0, 0xff, 255, 255, 255, 255, 255, 255, 255],
            &[0x1c, 6, 0, 1, b'x'],
        ] {
            crypto(bad, &mut gather);
            assert_eq!(gather.beginning(), b"abcde");
        }
    }
}
