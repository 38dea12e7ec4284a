use std::sync::Arc;

use snow::StatelessTransportState;

/// Largest content of a record, in bytes. Longer content takes several records.
pub const RECORD: usize = 16_384;
/// Size of a record's authentication tag, in bytes.
pub(super) const TAG: usize = 16;
/// Size of a record's length, in bytes, which precedes it.
pub(super) const LENGTH: usize = 2;

/// Error for an invalid record: bytes were changed, omitted or inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("damaged or forged record")]
pub struct InvalidRecord;

/// Session keys after a handshake.
#[derive(Debug)]
pub struct Session {
    /// Encrypts sent records.
    pub sealer: Encryptor,
    /// Decrypts received records.
    pub opener: Decryptor,
}

/// Encrypts sent records.
pub struct Encryptor {
    state: Arc<StatelessTransportState>,
    count: u64,
}

/// Decrypts received records, however the bytes are cut.
pub struct Decryptor {
    state: Arc<StatelessTransportState>,
    count: u64,
    held: Vec<u8>,
}

impl std::fmt::Debug for Encryptor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Sealer({})", self.count)
    }
}

impl std::fmt::Debug for Decryptor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Opener({})", self.count)
    }
}

impl Session {
    pub(super) fn new(state: StatelessTransportState) -> Self {
        let state = Arc::new(state);
        Self {
            sealer: Encryptor {
                state: Arc::clone(&state),
                count: 0,
            },
            opener: Decryptor {
                state,
                count: 0,
                held: Vec::new(),
            },
        }
    }
}

impl Encryptor {
    /// Encrypts a record for writing, with its length.
    ///
    /// # Errors
    /// The record is longer than [`RECORD`].
    pub fn seal(&mut self, octets: &[u8]) -> Result<Vec<u8>, InvalidRecord> {
        if octets.len() > RECORD {
            return Err(InvalidRecord);
        }
        let length = octets.len() + TAG;
        let mut out = vec![0; LENGTH + length];
        let sealed = self
            .state
            .write_message(self.count, octets, &mut out[LENGTH..]);
        sealed.map_err(|_| InvalidRecord)?;
        out[..LENGTH].copy_from_slice(&(length as u16).to_be_bytes());
        self.count += 1;
        Ok(out)
    }
}

impl Decryptor {
    /// Adds bytes, and returns the complete records. So at most one record is buffered.
    ///
    /// # Errors
    /// A record is not of this session, which has then ended.
    pub fn heard(&mut self, octets: &[u8]) -> Result<Vec<Vec<u8>>, InvalidRecord> {
        self.held.extend(octets);
        let (mut records, mut at) = (Vec::new(), 0);
        while let Some((length, rest)) = self.held[at..].split_first_chunk::<LENGTH>() {
            let length = usize::from(u16::from_be_bytes(*length));
            if !(TAG..=TAG + RECORD).contains(&length) {
                return Err(InvalidRecord);
            }
            let Some(sealed) = rest.get(..length) else {
                break;
            };
            let mut record = vec![0; length];
            let opened = self.state.read_message(self.count, sealed, &mut record);
            record.truncate(opened.map_err(|_| InvalidRecord)?);
            self.count += 1;
            records.push(record);
            at += LENGTH + length;
        }
        self.held.drain(..at);
        Ok(records)
    }
}
