//! Vouchers as an append-only file: a line for each change, with a checksum. A truncated line
//! counts as never written; its requester has not been answered yet.
//!
//! ```text
//! 5c2f0a9be1d7c634 {"voucher":{"id":"…",…}}
//! 0d4e7c1a22f09b83 {"used":{"…":60000}}
//! ```

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::voucher::{Origin, Voucher};

/// Digits of a line's checksum: the first 8 bytes of the SHA-256 of the remaining line.
const SUM: usize = 16;

/// Line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A voucher as it is from now on.
    Voucher(Box<Voucher>),
    /// Milliseconds of their time that are gone, by their ids.
    Used(BTreeMap<String, Millis>),
    /// Bytes that are gone, by the ids of their vouchers.
    Moved(BTreeMap<String, u64>),
}

/// Contents of a journal file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JournalContent {
    /// All vouchers, by id.
    pub vouchers: BTreeMap<String, Voucher>,
    /// Bytes up to the end of the last complete line: the caller cuts off the remaining bytes.
    pub whole: usize,
    /// Lines, however many vouchers they are about.
    pub lines: usize,
    /// Lines that were damaged: numbers, from 1.
    pub damaged: Vec<usize>,
    /// True if there are lines of past accounts, which must be removed.
    pub forgets: bool,
}

impl Entry {
    /// Returns the line, with its end.
    pub fn line(&self) -> String {
        line(self)
    }
}

/// Returns an entry as a line, with its end.
pub(crate) fn line(entry: &impl Serialize) -> String {
    let text = serde_json::to_string(entry).unwrap_or_default();
    format!("{} {text}\n", sum(text.as_bytes()))
}

/// Parses a line without its end; `None`: the line is damaged.
pub(crate) fn of_line<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let (sum_read, text) = (line.get(..SUM)?, line.get(SUM + 1..)?);
    if line[SUM] != b' ' || sum_read != sum(text).as_bytes() {
        return None;
    }
    serde_json::from_slice(text).ok()
}

fn sum(text: &[u8]) -> String {
    let digest = digest(&SHA256, text);
    net::hex::text(&digest.as_ref()[..SUM / 2])
}

/// Reads a file.
pub fn read(octets: &[u8]) -> JournalContent {
    let mut read = JournalContent::default();
    for line in octets.split_inclusive(|octet| *octet == b'\n') {
        let Some(text) = line.strip_suffix(b"\n") else {
            break;
        };
        read.whole += line.len();
        read.lines += 1;
        match of_line(text) {
            Some(Entry::Voucher(voucher)) => {
                read.vouchers.insert(voucher.id.clone(), *voucher);
            }
            Some(Entry::Used(used)) => {
                for (id, used) in used {
                    if let Some(voucher) = read.vouchers.get_mut(&id) {
                        voucher.used = voucher.used.max(used);
                    }
                }
            }
            Some(Entry::Moved(moved)) => {
                for (id, moved) in moved {
                    if let Some(voucher) = read.vouchers.get_mut(&id) {
                        voucher.moved = voucher.moved.max(moved);
                    }
                }
            }
            None => read.damaged.push(read.lines),
        }
    }
    // Past accounts are dropped: the file must not record visits.
    let is_past = |v: &Voucher| v.origin == Origin::Account && v.over.is_some();
    let all = read.vouchers.len();
    read.vouchers.retain(|_, voucher| !is_past(voucher));
    read.forgets = read.vouchers.len() < all;
    read
}

/// Returns a file with only these vouchers.
pub fn write<'a>(vouchers: impl IntoIterator<Item = &'a Voucher>) -> String {
    let lines = vouchers.into_iter();
    lines
        .map(|voucher| Entry::Voucher(Box::new(voucher.clone())).line())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::code::Code;
    use crate::voucher::User;

    fn voucher(number: u8) -> Voucher {
        Voucher {
            name: format!("guest \"{number}\"\n\u{1f600}"),
            duration: Some(3600),
            bytes: Some(1 << 30),
            users: vec![User::new([2, 0, 0, 0, 0, number], 1_700_000_001)],
            ..Voucher::new(
                format!("{number:016x}"),
                Code::new([number; 5]),
                1_700_000_000,
            )
        }
    }

    /// Builds vouchers that are sold, used and revoked.
    fn story() -> (String, Vec<Voucher>) {
        let (mut one, two) = (voucher(1), voucher(2));
        let mut text = write([&one, &two]);
        one.activated = Some(1_700_000_100);
        text += &Entry::Voucher(Box::new(one.clone())).line();
        text += &Entry::Used([(one.id.clone(), 60_000)].into()).line();
        text += &Entry::Moved([(one.id.clone(), 4096)].into()).line();
        (one.used, one.moved) = (60_000, 4096);
        one.revoked = Some(1_700_000_200);
        text += &Entry::Voucher(Box::new(one.clone())).line();
        (text, vec![one, two])
    }

    #[test]
    fn what_was_written_is_read() {
        let (text, vouchers) = story();
        let read = read(text.as_bytes());
        assert!(read.vouchers.values().eq(&vouchers));
        assert_eq!((read.whole, read.lines), (text.len(), 6));
        assert!(read.damaged.is_empty());
    }

    /// All complete lines before the cut count, and nothing is invented.
    #[test]
    fn a_file_may_end_anywhere() {
        let (text, _) = story();
        for cut in 0..=text.len() {
            let read = read(&text.as_bytes()[..cut]);
            let whole = text.as_bytes()[..cut].iter().rposition(|o| *o == b'\n');
            assert_eq!(read.whole, whole.map_or(0, |end| end + 1));
            assert!(read.damaged.is_empty());
            assert_eq!(read.vouchers.len(), read.lines.min(2));
            let called_back = read.vouchers.values().any(|v| v.revoked.is_some());
            assert_eq!(called_back, read.lines == 6);
        }
    }

    #[test]
    fn a_damaged_octet_costs_its_line_and_is_told() {
        let (text, _) = story();
        for place in 0..text.len() {
            let mut octets = text.clone().into_bytes();
            octets[place] ^= 0x01;
            let read = read(&octets);
            assert!(
                !read.damaged.is_empty() || octets[text.len() - 1] != b'\n',
                "{place}"
            );
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(octets: Vec<u8>) {
            let _ = read(&octets);
        }
    }
}
