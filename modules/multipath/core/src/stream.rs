//! Encrypted payload after an open: records of length, ciphertext and tag, and a last one that
//! marks the end.
//!
//! Each direction of each connection has a secret of its own, from which the key of every
//! [`RECORDS_PER_KEY`] records is derived.

use ring::aead::{Aad, LessSafeKey, Tag};
use ring::hkdf::Prk;

use crate::aead::{self, Cipher, TAG};
use crate::derive;

/// Bytes of a record in front of its ciphertext: length of the plaintext (big endian); 0 ends the
/// stream.
pub const HEAD: usize = 2;

/// Bytes of a record in addition to its plaintext.
pub const OVERHEAD: usize = HEAD + TAG;

/// The most plaintext of a record, bytes.
pub const MOST: usize = 16 * 1024;

/// Records before the next key: a sixth of the limit of TLS 1.3 for AES-GCM (RFC 8446 section 5.5).
pub const RECORDS_PER_KEY: u64 = 1 << 22;

/// Cause of a broken stream. Plaintext that was read before is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// Changed on its way, or not of this stream.
    #[error("a record was changed in transit")]
    Forged,
    /// Longer than the maximum.
    #[error("record of {0} bytes, but at most {MOST} are allowed")]
    Long(usize),
    /// Bytes behind the last record.
    #[error("bytes after the end of the stream")]
    BehindEnd,
    /// No more bytes, and no last record.
    #[error("stream cut off before its end")]
    CutOff,
}

/// The present key, and the number of the next record. Some 700 bytes, so that it is boxed where it
/// moves.
struct Keys {
    cipher: Cipher,
    secret: Prk,
    key: LessSafeKey,
    next: u64,
}

impl Keys {
    fn new(cipher: Cipher, secret: &[u8; 32]) -> Self {
        let secret = derive::of_key(secret);
        let key = of_epoch(cipher, &secret, 0);
        Self {
            cipher,
            secret,
            key,
            next: 0,
        }
    }

    /// Returns the key and the number of the next record.
    fn advance(&mut self) -> (&LessSafeKey, u64) {
        let number = self.next;
        if number != 0 && number.is_multiple_of(RECORDS_PER_KEY) {
            self.key = of_epoch(self.cipher, &self.secret, number / RECORDS_PER_KEY);
        }
        self.next += 1;
        (&self.key, number)
    }
}

fn of_epoch(cipher: Cipher, secret: &Prk, epoch: u64) -> LessSafeKey {
    cipher.key(&derive::expand(
        secret,
        &[b"weir2 records", &epoch.to_be_bytes()],
    ))
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}, record {}", self.cipher, self.next)
    }
}

/// The sending end of one direction.
#[derive(Debug)]
pub struct Sealer(Box<Keys>);

impl Sealer {
    pub(crate) fn new(cipher: Cipher, secret: &[u8; 32]) -> Self {
        Self(Box::new(Keys::new(cipher, secret)))
    }

    /// Appends the records of this plaintext.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        out.reserve(plain.len() + plain.len().div_ceil(MOST) * OVERHEAD);
        for part in plain.chunks(MOST) {
            let begin = out.len();
            out.extend([0; HEAD]);
            out.extend(part);
            out.extend([0; TAG]);
            self.record(&mut out[begin..]);
        }
    }

    /// Seals a record in place, for callers that read straight into a buffer: [`HEAD`] bytes of
    /// room, 1 to [`MOST`] bytes of plaintext, and 16 bytes of room.
    ///
    /// # Panics
    /// If the plaintext is empty or longer: a stream must not end by mistake.
    pub fn seal_in_place(&mut self, record: &mut [u8]) {
        let length = record.len().saturating_sub(OVERHEAD);
        assert!((1..=MOST).contains(&length), "{length} bytes of plaintext");
        self.record(record);
    }

    /// Appends the last record, which ends this direction. The other direction continues
    /// (half-close).
    pub fn end(mut self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend([0; OVERHEAD]);
        self.record(&mut out[begin..]);
    }

    fn record(&mut self, record: &mut [u8]) {
        let (key, number) = self.0.advance();
        let (head, rest) = record.split_at_mut(HEAD);
        let (text, tag) = rest.split_at_mut(rest.len() - TAG);
        let length = u16::try_from(text.len()).expect("records are short");
        head.copy_from_slice(&length.to_be_bytes());
        let sealed = key
            .seal_in_place_separate_tag(aead::nonce(number), Aad::from(&*head), text)
            .expect("records are short");
        tag.copy_from_slice(sealed.as_ref());
    }
}

/// The receiving end of one direction.
#[derive(Debug)]
pub struct Opener {
    keys: Box<Keys>,
    /// Beginning of an incomplete record, less than [`MOST`] and [`OVERHEAD`] bytes.
    part: Vec<u8>,
    ended: bool,
    wrong: Option<StreamError>,
}

impl Opener {
    pub(crate) fn new(cipher: Cipher, secret: &[u8; 32]) -> Self {
        Self {
            keys: Box::new(Keys::new(cipher, secret)),
            part: Vec::new(),
            ended: false,
            wrong: None,
        }
    }

    /// Decrypts received bytes, in pieces of any size, and appends the plaintext of all complete
    /// records.
    ///
    /// After an error nothing more is read: the connection has to be reset. The appended plaintext
    /// is still valid.
    pub fn open(&mut self, octets: &[u8], plain: &mut Vec<u8>) -> Result<(), StreamError> {
        match self.wrong {
            Some(wrong) => Err(wrong),
            None => self.read(octets, plain).inspect_err(|&error| {
                self.wrong = Some(error);
                self.part = Vec::new();
            }),
        }
    }

    /// Frees the buffer of long records, unless one is incomplete: no bytes are expected for a
    /// while.
    pub fn rest(&mut self) {
        if self.part.is_empty() {
            self.part = Vec::new();
        }
    }

    /// Returns true if the last record was read. If the connection ends without it, the stream was
    /// cut off.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Checks that the stream is complete; to be called when the connection ends.
    pub fn finish(&self) -> Result<(), StreamError> {
        match self.wrong {
            Some(wrong) => Err(wrong),
            None if self.ended => Ok(()),
            None => Err(StreamError::CutOff),
        }
    }

    fn read(&mut self, mut octets: &[u8], plain: &mut Vec<u8>) -> Result<(), StreamError> {
        while !octets.is_empty() {
            if self.ended {
                return Err(StreamError::BehindEnd);
            }
            if self.part.is_empty()
                && let Some((record, rest)) = octets.split_at_checked(length(octets)?)
            {
                self.record(record, plain)?;
                octets = rest;
                continue;
            }
            let lacking = length(&self.part)? - self.part.len();
            let (more, rest) = octets.split_at(lacking.min(octets.len()));
            self.part.extend(more);
            octets = rest;
            // Once its head is complete, a record turns out to be longer.
            if self.part.len() > HEAD && self.part.len() == length(&self.part)? {
                let record = std::mem::take(&mut self.part);
                self.record(&record, plain)?;
                self.part = record;
                self.part.clear();
            }
        }
        Ok(())
    }

    fn record(&mut self, record: &[u8], plain: &mut Vec<u8>) -> Result<(), StreamError> {
        let (head, rest) = record.split_at(HEAD);
        let (text, tag) = rest.split_at(rest.len() - TAG);
        let tag = Tag::try_from(tag).map_err(|_| StreamError::Forged)?;
        let (key, number) = self.keys.advance();
        let begin = plain.len();
        plain.extend(text);
        let place = &mut plain[begin..];
        if key
            .open_in_place_separate_tag(aead::nonce(number), Aad::from(head), tag, place, 0..)
            .is_err()
        {
            plain.truncate(begin);
            return Err(StreamError::Forged);
        }
        self.ended = text.is_empty();
        Ok(())
    }
}

/// Returns the length of the record with this beginning; of its head alone while incomplete.
fn length(octets: &[u8]) -> Result<usize, StreamError> {
    let Some(&head) = octets.first_chunk::<HEAD>() else {
        return Ok(HEAD);
    };
    match usize::from(u16::from_be_bytes(head)) {
        text if text > MOST => Err(StreamError::Long(text)),
        text => Ok(text + OVERHEAD),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CIPHERS: [Cipher; 2] = [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305];

    fn pair(cipher: Cipher) -> (Sealer, Opener) {
        (Sealer::new(cipher, &[7; 32]), Opener::new(cipher, &[7; 32]))
    }

    #[test]
    fn a_stream_of_each_size() {
        for cipher in CIPHERS {
            for length in [0, 1, MOST - 1, MOST, MOST + 1, 3 * MOST] {
                let (mut sealer, mut opener) = pair(cipher);
                let text: Vec<u8> = (0..length).map(|octet| octet as u8).collect();
                let (mut sealed, mut plain) = (Vec::new(), Vec::new());
                sealer.seal(&text, &mut sealed);
                let records = length.div_ceil(MOST);
                assert_eq!(sealed.len(), length + records * OVERHEAD);
                opener.open(&sealed, &mut plain).expect("whole");
                assert!(plain == text, "{length} bytes");
                assert_eq!(opener.finish(), Err(StreamError::CutOff));
                let mut end = Vec::new();
                sealer.end(&mut end);
                assert_eq!(end.len(), OVERHEAD);
                opener.open(&end, &mut plain).expect("whole");
                assert_eq!(plain.len(), length);
                assert!(opener.ended());
                assert_eq!(opener.finish(), Ok(()));
            }
        }
    }

    #[test]
    fn in_place_is_the_same() {
        let (mut one, _) = pair(Cipher::Aes256Gcm);
        let (mut other, _) = pair(Cipher::Aes256Gcm);
        let mut sealed = Vec::new();
        one.seal(b"text", &mut sealed);
        let mut record = [&[0xff; HEAD][..], b"text", &[0xff; TAG]].concat();
        other.seal_in_place(&mut record);
        assert_eq!(record, sealed);
    }

    #[test]
    #[should_panic(expected = "0 bytes of plaintext")]
    fn no_end_by_mistake() {
        pair(Cipher::Aes256Gcm).0.seal_in_place(&mut [0; OVERHEAD]);
    }

    #[test]
    fn every_flipped_bit_is_found() {
        for cipher in CIPHERS {
            let (mut sealer, _) = pair(cipher);
            let mut sealed = Vec::new();
            sealer.seal(b"one", &mut sealed);
            sealer.seal(b"two", &mut sealed);
            sealer.end(&mut sealed);
            for bit in 0..sealed.len() * 8 {
                let mut changed = sealed.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                let (_, mut opener) = pair(cipher);
                let mut plain = Vec::new();
                let read = opener.open(&changed, &mut plain);
                // A greater length may only wait for more than there is.
                assert!(read.and(opener.finish()).is_err(), "bit {bit}");
                assert!(b"onetwo".starts_with(&plain), "bit {bit}");
            }
        }
    }

    #[test]
    fn left_out_turned_round_or_behind_the_end() {
        let (mut sealer, _) = pair(Cipher::ChaCha20Poly1305);
        let [mut one, mut two, mut end] = [const { Vec::new() }; 3];
        sealer.seal(b"one", &mut one);
        sealer.seal(b"two", &mut two);
        sealer.end(&mut end);
        let all = [one.clone(), two.clone(), end.clone()].concat();
        for (wrong, error) in [
            ([&two[..], &one, &end].concat(), StreamError::Forged),
            ([&one[..], &end].concat(), StreamError::Forged),
            ([&one[..], &one].concat(), StreamError::Forged),
            ([&all[..], &end].concat(), StreamError::BehindEnd),
            ([&all[..], &[0]].concat(), StreamError::BehindEnd),
            (vec![0x40, 0x01], StreamError::Long(MOST + 1)),
        ] {
            let (_, mut opener) = pair(Cipher::ChaCha20Poly1305);
            let mut plain = Vec::new();
            assert_eq!(opener.open(&wrong, &mut plain), Err(error));
            assert_eq!(opener.open(&all, &mut plain), Err(error), "for good");
            assert_eq!(opener.finish(), Err(error));
        }
        for length in 0..all.len() {
            let (_, mut opener) = pair(Cipher::ChaCha20Poly1305);
            opener
                .open(&all[..length], &mut Vec::new())
                .expect("so far");
            assert_eq!(opener.finish(), Err(StreamError::CutOff), "{length}");
        }
    }

    #[test]
    fn keys_change() {
        for cipher in CIPHERS {
            let (mut sealer, mut opener) = pair(cipher);
            sealer.0.next = RECORDS_PER_KEY - 1;
            opener.keys.next = RECORDS_PER_KEY - 1;
            let mut sealed = Vec::new();
            sealer.seal(b"before", &mut sealed);
            sealer.seal(b"after", &mut sealed);
            let mut plain = Vec::new();
            opener.open(&sealed, &mut plain).expect("both have the key");
            assert_eq!(plain, b"beforeafter");
            // By hand, with the key of the first records and with the next one.
            let secret = derive::of_key(&[7; 32]);
            let opens = |epoch| {
                let mut record = sealed[b"before".len() + OVERHEAD..].to_vec();
                let (head, text) = record.split_at_mut(HEAD);
                of_epoch(cipher, &secret, epoch)
                    .open_in_place(aead::nonce(RECORDS_PER_KEY), Aad::from(&*head), text)
                    .is_ok()
            };
            assert!(!opens(0), "the former key is of no use");
            assert!(opens(1));
        }
    }

    proptest! {
        #[test]
        fn in_any_pieces(text in prop::collection::vec(any::<u8>(), 0..2000), writes in prop::collection::vec(1_usize..300, 1..20), reads in prop::collection::vec(1_usize..200, 1..20)) {
            let (mut sealer, mut opener) = pair(Cipher::ChaCha20Poly1305);
            let (mut sealed, mut plain) = (Vec::new(), Vec::new());
            let mut rest = &text[..];
            for length in writes.iter().cycle() {
                let (part, behind) = rest.split_at((*length).min(rest.len()));
                sealer.seal(part, &mut sealed);
                rest = behind;
                if rest.is_empty() {
                    break;
                }
            }
            sealer.end(&mut sealed);
            let mut rest = &sealed[..];
            for length in reads.iter().cycle() {
                let (part, behind) = rest.split_at((*length).min(rest.len()));
                opener.open(part, &mut plain).expect("right");
                prop_assert!(text.starts_with(&plain));
                rest = behind;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(opener.finish(), Ok(()));
            prop_assert_eq!(plain, text);
        }
    }
}
