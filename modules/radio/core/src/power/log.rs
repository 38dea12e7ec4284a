//! Log of the tried powers and the reasons.

use std::collections::VecDeque;

use super::reading::Mac;

/// Reason for a power step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Control began.
    Begin,
    /// No station needs frames.
    Idle,
    /// A station just came.
    Newcomer,
    /// A station with traffic is silent.
    Silent,
    /// A station's acknowledgements are too faint.
    Edge,
    /// Much less arrives than did: something came between.
    Wall,
    /// The greatest power is measured, for comparison.
    Reference,
    /// A lower power is tried.
    Trial,
    /// The tried power suffices, and stays.
    Kept,
    /// The tried power does not suffice.
    Lost,
    /// The held power no longer suffices.
    Worse,
    /// Back to the sufficient power, after a measurement of the greatest.
    Return,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 12] = [
        Self::Begin,
        Self::Idle,
        Self::Newcomer,
        Self::Silent,
        Self::Edge,
        Self::Wall,
        Self::Reference,
        Self::Trial,
        Self::Kept,
        Self::Lost,
        Self::Worse,
        Self::Return,
    ];

    /// Parses a reason from its word.
    pub fn told(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }

    /// Returns the word of a reason.
    pub fn word(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Idle => "idle",
            Self::Newcomer => "newcomer",
            Self::Silent => "silent",
            Self::Edge => "edge",
            Self::Wall => "wall",
            Self::Reference => "reference",
            Self::Trial => "trial",
            Self::Kept => "kept",
            Self::Lost => "lost",
            Self::Worse => "worse",
            Self::Return => "return",
        }
    }
}

/// A step: a change of power, or an estimate at the current one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Time, ms.
    pub at: u64,
    /// The power from now on, dBm.
    pub power: i32,
    /// Reason.
    pub reason: Reason,
    /// The station that decided it.
    pub station: Option<Mac>,
    /// Throughput there, kbit/s,
    pub throughput: Option<f64>,
    /// and at the power that it was compared with.
    pub reference: Option<f64>,
    /// The rate that it was sent to at, kbit/s.
    pub rate: Option<f64>,
}

/// The last steps.
#[derive(Clone, Debug)]
pub struct Log {
    entries: VecDeque<Entry>,
    most: usize,
}

impl Log {
    /// Creates a log of at most `most` steps.
    pub fn new(most: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            most: most.max(1),
        }
    }

    /// Adds an entry; removes the oldest if there are too many.
    pub fn push(&mut self, entry: Entry) {
        if self.entries.len() == self.most {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// Returns the steps from the oldest.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Returns the steps from the one in force at that time.
    pub fn since(&self, at: u64) -> impl Iterator<Item = &Entry> {
        let later = self.entries.partition_point(|entry| entry.at < at);
        let holds = self.entries.get(later).is_some_and(|entry| entry.at == at);
        self.entries
            .range(later.saturating_sub(usize::from(!holds))..)
    }
}
