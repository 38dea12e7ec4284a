//! Paths that flap: reported once, and not at each change. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Number of changes ...
const MANY: usize = 16;
/// ... within this time are flapping. A cable that is plugged in again makes up to four: the path
/// is lost and found, and the partner answers by it. A new lease at the same time makes as many.
const TIME: Duration = Duration::from_secs(10);

/// Message to log after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The change itself.
    Change,
    /// The path flaps: its changes are not reported until it [kept still](Flaps::still).
    Flaps,
    /// Nothing: the flapping is already reported.
    Nothing,
}

/// Recent changes of a path.
#[derive(Debug, Default)]
struct Changes {
    at: VecDeque<Instant>,
    flaps: bool,
}

/// See the module. Paths go by their device's name.
#[derive(Debug, Default)]
pub struct Flaps(BTreeMap<String, Changes>);

impl Flaps {
    /// Notes a change of a path.
    pub fn change(&mut self, device: &str, now: Instant) -> Word {
        let changes = self.0.entry(device.to_owned()).or_default();
        if changes.at.len() == MANY {
            changes.at.pop_front();
        }
        changes.at.push_back(now);
        let first = changes.at.front().copied().unwrap_or(now);
        let many = changes.at.len() == MANY && now.duration_since(first) < TIME;
        match (changes.flaps, many) {
            (true, _) => Word::Nothing,
            (false, true) => {
                changes.flaps = true;
                Word::Flaps
            }
            (false, false) => Word::Change,
        }
    }

    /// Returns paths that flap.
    pub fn flapping(&self) -> Vec<String> {
        let flapping = self.0.iter().filter(|(_, changes)| changes.flaps);
        flapping.map(|(device, _)| device.clone()).collect()
    }

    /// Returns paths that flapped and have kept still since. To be called now and then: the call
    /// also drops old changes.
    pub fn still(&mut self, now: Instant) -> Vec<String> {
        let rested = |changes: &mut Changes| {
            let last = changes.at.back();
            last.is_none_or(|last| now.duration_since(*last) >= TIME)
        };
        let gone = self.0.extract_if(.., |_, changes| rested(changes));
        gone.filter(|(_, changes)| changes.flaps)
            .map(|(device, _)| device)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flapping_is_said_once_and_so_is_its_end() {
        let (mut flaps, begin) = (Flaps::default(), Instant::now());
        let at = |tenths: u32| begin + Duration::from_millis(100) * tenths;
        let words: Vec<_> = (0..50).map(|i| flaps.change("wan1", at(i))).collect();
        assert!(words[..MANY - 1].iter().all(|word| *word == Word::Change));
        assert_eq!(words[MANY - 1], Word::Flaps);
        assert!(words[MANY..].iter().all(|word| *word == Word::Nothing));
        assert_eq!(flaps.change("wan0", at(50)), Word::Change);
        assert_eq!(flaps.flapping(), ["wan1"]);
        assert!(flaps.still(at(140)).is_empty());
        assert_eq!(flaps.still(at(150)), ["wan1"]);
        assert_eq!(flaps.change("wan1", at(151)), Word::Change);
    }

    #[test]
    fn a_path_that_is_lost_now_and_then_does_not_flap() {
        let (mut flaps, mut now) = (Flaps::default(), Instant::now());
        for _ in 0..100 {
            now += Duration::from_secs(2);
            assert_eq!(flaps.change("wan1", now), Word::Change);
            assert!(flaps.still(now).is_empty());
        }
        assert!(flaps.still(now + TIME).is_empty());
        assert!(flaps.0.is_empty(), "nothing is kept of what is long ago");
    }
}
