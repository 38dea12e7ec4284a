//! Compares a day, compressed to an hour, by the kernel alone and with weir at each hook, side by
//! side; conntrack's time-outs shrink alike. Connections rest for long, ends die, stations roam,
//! the WAN redials, sets expire, hosts are banned, quotas run out. Answers and connections must
//! match the kernel's.

mod schedule;
mod world;

use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use datapath::Hook;
use serde::Serialize;

use crate::Error;
use crate::report::{Table, table};
use world::{Entries, Outcome, World};

/// Seconds by which an entry may end before or after the kernel's: time-outs are listed in whole
/// seconds, and weir reports activity in intervals.
const EARLY: u64 = 2;
const LATE: u64 = 6;

/// Comparison of weir at a hook with the kernel alone.
#[derive(Clone, Debug, Serialize)]
pub struct DayComparison {
    /// Name of the forwarder.
    pub by: &'static str,
    /// Questions asked in both worlds at a time when the answer is certain.
    pub asked: u64,
    /// Questions that got an answer in one world only: asker, and time in seconds.
    pub answers: Vec<(String, f64)>,
    /// Number of times that a TCP connection spoke after a rest.
    pub woken: u64,
    /// Connections that were dead at that time in one world only.
    pub dead: Vec<String>,
    /// Connections in conntrack at the end.
    pub entries: u64,
    /// Connections that only one world has, or that end at another time: the kernel's entry, and
    /// this world's.
    pub others: Vec<String>,
    /// Packets that weir forwarded.
    pub forwarded: u64,
}

impl DayComparison {
    /// Returns whether all matches the kernel alone, and weir took part.
    pub fn same(&self) -> bool {
        let took_part = self.asked > 0 && self.woken > 0 && self.forwarded > 0;
        took_part && self.answers.is_empty() && self.dead.is_empty() && self.others.is_empty()
    }
}

/// Runs `length` of the day (an hour is the whole), and compares. `told` gets the progress.
pub fn day(
    binary: &Path,
    length: Duration,
    told: impl Fn(&str) + Sync,
) -> Result<Vec<DayComparison>, Error> {
    let ways = [None, Some(Hook::Tc), Some(Hook::Xdp)];
    let worlds: Vec<World> = ways
        .iter()
        .map(|by| World::new(*by, binary))
        .collect::<Result<_, _>>()?;
    let (together, begun) = (Barrier::new(worlds.len()), Instant::now());
    let outcomes = std::thread::scope(|scope| {
        let (together, told) = (&together, &told);
        let all: Vec<_> = worlds
            .into_iter()
            .map(|world| scope.spawn(move || world.run(begun, length, together, told)))
            .collect();
        let ended = |_| Error::Wrong("a world ended unexpectedly, see above".into());
        all.into_iter()
            .map(|one| one.join().map_err(ended)?)
            .collect::<Result<Vec<Outcome>, Error>>()
    })?;
    let [kernel, others @ ..] = &outcomes[..] else {
        return Err(Error::Wrong("no kernel to compare with".into()));
    };
    Ok(["weir, tc", "weir, xdp"]
        .into_iter()
        .zip(others)
        .map(|(by, outcome)| compare(by, kernel, outcome))
        .collect())
}

fn compare(by: &'static str, kernel: &Outcome, other: &Outcome) -> DayComparison {
    let (mut asked, mut answers) = (0, Vec::new());
    for (question, answered) in &other.answers {
        if let Some(expected) = kernel.answers.get(question) {
            asked += 1;
            if expected != answered {
                answers.push((question.0.clone(), schedule::seconds(question.1)));
            }
        }
    }
    let dead = kernel
        .woken
        .iter()
        .zip(&other.woken)
        .filter(|(one, two)| one != two);
    DayComparison {
        by,
        asked,
        answers,
        woken: other.woken.len() as u64,
        dead: dead
            .map(|(one, two)| format!("{one:?}, here {two:?}"))
            .collect(),
        entries: other.entries.len() as u64,
        others: differing(&kernel.entries, &other.entries),
        forwarded: other.forwarded,
    }
}

/// Lists entries that only one world has, or that differ in state or time. Entries about to end may
/// be gone already.
fn differing(kernel: &Entries, other: &Entries) -> Vec<String> {
    let mut found = Vec::new();
    let keys: std::collections::BTreeSet<_> = kernel.keys().chain(other.keys()).collect();
    for key in keys {
        let fits = match (kernel.get(key), other.get(key)) {
            (Some(there), Some(here)) => {
                there.state == here.state
                    && (there.left.saturating_sub(EARLY)..=there.left + LATE).contains(&here.left)
            }
            (Some(one), None) | (None, Some(one)) => one.left <= LATE,
            (None, None) => true,
        };
        if !fits {
            found.push(format!(
                "{key:?}: {:?}, here {:?}",
                kernel.get(key),
                other.get(key)
            ));
        }
    }
    found
}

/// Formats the comparison as a table.
pub fn report(compared: &[DayComparison]) -> Table {
    let lines: Vec<_> = compared
        .iter()
        .map(|way| {
            vec![
                way.by.to_owned(),
                format!("{} / {}", way.asked, way.answers.len()),
                format!("{} / {}", way.woken, way.dead.len()),
                format!("{} / {}", way.entries, way.others.len()),
                way.forwarded.to_string(),
            ]
        })
        .collect();
    let headings = [
        "compared with the kernel alone",
        "questions / answered otherwise",
        "wakings / dead here or there only",
        "connections in the end / otherwise",
        "packets forwarded",
    ];
    table(&headings, &lines)
}

#[cfg(test)]
mod tests {
    use super::world::Entry;
    use super::*;

    fn entries(left: &[(u16, u64)]) -> Entries {
        let entry = |left| Entry {
            state: "ESTABLISHED".into(),
            left,
        };
        left.iter()
            .map(|(port, left)| (("tcp".into(), *port, 80), entry(*left)))
            .collect()
    }

    #[test]
    fn what_lives_or_ends_otherwise_is_found() {
        let kernel = entries(&[(1, 300), (2, 300), (3, 300), (4, 3), (5, 300)]);
        let other = entries(&[(1, 298), (2, 310), (3, 200), (6, 7), (7, 4)]);
        let found = differing(&kernel, &other);
        let ports: Vec<_> = found
            .iter()
            .map(|text| text.split(", ").nth(1).unwrap_or_default().to_owned())
            .collect();
        assert_eq!(ports, ["2", "3", "5", "6"], "{found:?}");
    }
}
