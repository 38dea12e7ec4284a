use std::sync::Arc;

use snow::StatelessTransportState;

/// Octets in a record, at most. Of what is longer there are several.
pub const RECORD: usize = 16_384;
/// What proves that a record is the other's, octets.
pub(super) const TAG: usize = 16;
/// Octets of a record's length, which stands before it.
pub(super) const LENGTH: usize = 2;

/// What came is no record of the session: octets were changed, left out or put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what came is not what the other wrote")]
pub struct Broken;

/// What two who are through with a handshake have.
#[derive(Debug)]
pub struct Session {
    /// For what is said.
    pub sealer: Sealer,
    /// For what is heard.
    pub opener: Opener,
}

/// Seals what is said.
pub struct Sealer {
    state: Arc<StatelessTransportState>,
    count: u64,
}

/// Opens what is heard, record by record, however it is cut.
pub struct Opener {
    state: Arc<StatelessTransportState>,
    count: u64,
    held: Vec<u8>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Sealer({})", self.count)
    }
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Opener({})", self.count)
    }
}

impl Session {
    pub(super) fn new(state: StatelessTransportState) -> Self {
        let state = Arc::new(state);
        Self {
            sealer: Sealer {
                state: Arc::clone(&state),
                count: 0,
            },
            opener: Opener {
                state,
                count: 0,
                held: Vec::new(),
            },
        }
    }
}

impl Sealer {
    /// A record with its length, to be written next.
    ///
    /// # Errors
    /// It is longer than [`RECORD`].
    pub fn seal(&mut self, octets: &[u8]) -> Result<Vec<u8>, Broken> {
        if octets.len() > RECORD {
            return Err(Broken);
        }
        let length = octets.len() + TAG;
        let mut out = vec![0; LENGTH + length];
        let sealed = self
            .state
            .write_message(self.count, octets, &mut out[LENGTH..]);
        sealed.map_err(|_| Broken)?;
        out[..LENGTH].copy_from_slice(&(length as u16).to_be_bytes());
        self.count += 1;
        Ok(out)
    }
}

impl Opener {
    /// Octets came: the records that are whole by them are given. So no more than one is held.
    ///
    /// # Errors
    /// One is not of this session: it is over.
    pub fn heard(&mut self, octets: &[u8]) -> Result<Vec<Vec<u8>>, Broken> {
        self.held.extend(octets);
        let (mut records, mut at) = (Vec::new(), 0);
        while let Some((length, rest)) = self.held[at..].split_first_chunk::<LENGTH>() {
            let length = usize::from(u16::from_be_bytes(*length));
            if !(TAG..=TAG + RECORD).contains(&length) {
                return Err(Broken);
            }
            let Some(sealed) = rest.get(..length) else {
                break;
            };
            let mut record = vec![0; length];
            let opened = self.state.read_message(self.count, sealed, &mut record);
            record.truncate(opened.map_err(|_| Broken)?);
            self.count += 1;
            records.push(record);
            at += LENGTH + length;
        }
        self.held.drain(..at);
        Ok(records)
    }
}
