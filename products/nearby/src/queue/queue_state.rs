//! State of the queue, next to the messages: a text with one item per line.
//!
//! ```text
//! clock 86400000
//! number 17
//! peer 0598f7b34b75adcb 86300000 1785000000000
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::Id;
use crate::machine::AWAY;

/// Largest number of known peers: near and away.
const MOST: usize = AWAY + crate::machine::PEERS;

/// Last contact with a peer: by the queue's clock, and in milliseconds since 1970, as far as the
/// time was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastContact {
    /// Time by the queue's clock, ms.
    pub clock: u64,
    /// Time since 1970, ms.
    pub time: u64,
}

/// Content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Total running time of the program, ms.
    pub clock: u64,
    /// Upper bound of the numbers of own messages so far.
    pub number: u64,
    /// Known peers.
    pub peers: BTreeMap<Id, LastContact>,
}

impl QueueState {
    /// Returns the text of the file.
    pub fn text(&self) -> String {
        let mut text = format!("clock {}\nnumber {}\n", self.clock, self.number);
        for (id, seen) in &self.peers {
            let _ = writeln!(text, "peer {id} {} {}", seen.clock, seen.time);
        }
        text
    }

    /// Parses the file; returns the number of invalid lines too.
    pub fn read(text: &str) -> (Self, usize) {
        let (mut notes, mut wrong) = (Self::default(), 0);
        for line in text.lines() {
            if notes.line(line).is_none() {
                wrong += 1;
            }
        }
        // Clamp times in the future.
        for seen in notes.peers.values_mut() {
            seen.clock = seen.clock.min(notes.clock);
        }
        (notes, wrong)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        // Limit numbers, to leave room for later ones.
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
                self.peers.insert(id, LastContact { clock, time });
            }
            _ => return None,
        }
        Some(())
    }
}
