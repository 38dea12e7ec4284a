//! The format of Linux and iOS: JSON between `$$`, in writes of twenty bytes.
//!
//! The format has no number, no checksum and no acknowledgement of its own, and needs four bytes to
//! send one. Such JSON never contains a `$`, so frames are distinguishable.

use serde::{Deserialize, Serialize};

use super::Id;

/// Longest message, in bytes; longer ones are refused.
pub const LONGEST: usize = 65_536;
/// Mark before and after each frame.
const MARK: &[u8] = b"$$";
/// Size of a write, in bytes: the least of every link.
pub const WRITE: usize = 20;
/// Largest frame, in bytes: "-128," is the longest form of one byte, and white space is allowed.
const MOST: usize = 6 * LONGEST + 256;

#[derive(Serialize, Deserialize)]
struct Said {
    qaul_id: Vec<i8>,
    message: Vec<i8>,
}

/// Error for a malformed frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The JSON is malformed.
    #[error("invalid message between $$: {0}")]
    Json(String),
    /// The sender's id is not valid.
    #[error(transparent)]
    Id(#[from] super::IdError),
    /// The frame does not end, or the message in it is longer than allowed.
    #[error("a message is longer than {LONGEST} octets")]
    Long,
}

/// Encodes a whole message.
pub fn frame(from: Id, message: &[u8]) -> Vec<u8> {
    let signed = |octets: &[u8]| octets.iter().map(|it| it.cast_signed()).collect();
    let said = Said {
        qaul_id: signed(&from.0),
        message: signed(message),
    };
    let json = serde_json::to_vec(&said).unwrap_or_default();
    [MARK, &json, MARK].concat()
}

/// Returns the writes of a frame, one after another.
///
/// The cuts suit all receivers: one of qaul's drops a `0` from the end of each write that has a
/// `$`, if the write has twenty bytes, and another misses a `$$` that spans two. So the first
/// write ends with the `[` before the sender's id, and the last is never one byte.
pub fn writes(frame: &[u8]) -> impl Iterator<Item = &[u8]> {
    const HEAD: usize = r#"$${"qaul_id":["#.len();
    let rest = frame.len().saturating_sub(HEAD);
    let head = if rest % WRITE == 1 { HEAD - 1 } else { HEAD };
    let (first, rest) = frame.split_at(head.min(frame.len()));
    std::iter::once(first).chain(rest.chunks(WRITE))
}

/// Assembles frames from the writes of one peer. Bytes outside of frames are skipped.
#[derive(Debug, Default)]
pub struct Reader {
    /// Bytes since `$$`, including it.
    heard: Vec<u8>,
    /// Number of bytes searched for a mark.
    searched: usize,
}

impl Reader {
    /// Adds a write. Returns the complete messages, and errors for other text between marks.
    pub fn write(&mut self, octets: &[u8]) -> Vec<Result<(Id, Vec<u8>), Error>> {
        let mut whole = Vec::new();
        self.heard.extend_from_slice(octets);
        while let Some(done) = self.next() {
            whole.push(done);
        }
        if self.heard.len() > MOST {
            *self = Self::default();
            whole.push(Err(Error::Long));
        }
        whole
    }

    fn next(&mut self) -> Option<Result<(Id, Vec<u8>), Error>> {
        if !self.heard.starts_with(MARK) {
            let begin = find(&self.heard, MARK);
            // The last byte may be half of a mark.
            let half = usize::from(self.heard.ends_with(&MARK[..1]));
            self.heard.drain(..begin.unwrap_or(self.heard.len() - half));
            self.searched = 0;
            begin?;
        }
        // Of several `$` the last two are the mark: earlier ones ended a partial frame.
        let more = self.heard[MARK.len()..]
            .iter()
            .take_while(|it| **it == b'$');
        let more = more.count();
        self.heard.drain(..more);
        let from = self.searched.saturating_sub(more).max(MARK.len());
        let Some(end) = find(self.heard.get(from..)?, MARK).map(|at| from + at) else {
            self.searched = (self.heard.len() - 1).max(from);
            return None;
        };
        let body = self.heard[MARK.len()..end].to_vec();
        self.searched = 0;
        self.heard.drain(..end + MARK.len());
        Some(read(&body))
    }
}

fn find(octets: &[u8], what: &[u8]) -> Option<usize> {
    octets.windows(what.len()).position(|it| it == what)
}

fn read(body: &[u8]) -> Result<(Id, Vec<u8>), Error> {
    let said = serde_json::from_slice(body).map_err(|error| Error::Json(error.to_string()));
    let Said { qaul_id, message } = said?;
    if message.len() > LONGEST {
        return Err(Error::Long);
    }
    let unsigned =
        |octets: Vec<i8>| -> Vec<u8> { octets.into_iter().map(i8::cast_unsigned).collect() };
    Ok((Id::try_from(&unsigned(qaul_id)[..])?, unsigned(message)))
}

#[cfg(test)]
mod tests;
