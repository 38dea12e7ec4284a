//! Notes beside the messages: a text, a line each.
//!
//! ```text
//! clock 86400000
//! number 17
//! peer 0598f7b34b75adcb 86300000 1785000000000
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::Id;
use crate::room::AWAY;

/// Largest number of known peers: near and away.
const MOST: usize = AWAY + crate::room::PEERS;

/// Last contact with a peer: by the queue's clock, and in milliseconds since 1970, as far as the
/// time was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// By the queue's clock, ms.
    pub clock: u64,
    /// Since 1970, ms.
    pub time: u64,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// For how long the program ran, all in all, ms.
    pub clock: u64,
    /// Messages that are said here have numbers above this.
    pub number: u64,
    /// Known peers.
    pub peers: BTreeMap<Id, Seen>,
}

impl Notes {
    /// Returns the text of the file.
    pub fn text(&self) -> String {
        let mut text = format!("clock {}\nnumber {}\n", self.clock, self.number);
        for (id, seen) in &self.peers {
            let _ = writeln!(text, "peer {id} {} {}", seen.clock, seen.time);
        }
        text
    }

    /// Reads it, and gives how many lines say nothing.
    pub fn read(text: &str) -> (Self, usize) {
        let (mut notes, mut wrong) = (Self::default(), 0);
        for line in text.lines() {
            if notes.line(line).is_none() {
                wrong += 1;
            }
        }
        // A time to come says nothing.
        for seen in notes.peers.values_mut() {
            seen.clock = seen.clock.min(notes.clock);
        }
        (notes, wrong)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        // Half of it is for what is to come.
        let number = |it: Option<&str>| {
            let number = it?.parse().ok();
            number.filter(|it: &u64| *it < 1 << 62)
        };
        let mut words = line.split(' ');
        match words.next()? {
            "clock" => self.clock = number(words.next())?,
            "number" => self.number = number(words.next())?,
            "peer" if self.peers.len() < MOST => {
                let id = words.next()?.parse().ok()?;
                let [clock, time] = [number(words.next())?, number(words.next())?];
                self.peers.insert(id, Seen { clock, time });
            }
            _ => return None,
        }
        Some(())
    }
}
