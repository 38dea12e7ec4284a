//! State of each list, and reasons not to use it.

use std::collections::BTreeMap;
use std::time::Instant;

use datapath::DropCount;
use kernel::{Prefix, SetName};
use offload_core::drops::routes;

/// Reason why a list is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnusedReason {
    /// Not known yet: the content of the packet path stays, but is unused.
    Waiting(&'static str),
    /// The list cannot be used.
    Refused(String),
}

impl UnusedReason {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Waiting(text) => text,
            Self::Refused(text) => text,
        }
    }
}

/// State of a set.
#[derive(Debug)]
pub(crate) struct SetState {
    pub(crate) name: SetName,
    /// Reason against its content; `None`: the content is valid.
    pub(crate) content: Option<UnusedReason>,
    /// Reason by the ruleset not to use the set.
    pub(crate) rules: Option<UnusedReason>,
    /// True if the packet path has prefixes of the set.
    pub(crate) in_path: bool,
    /// Prefixes, and the times at which they expire.
    pub(crate) prefixes: BTreeMap<Prefix, Option<Instant>>,
    pub(crate) skipped: usize,
    /// Time of the next read.
    pub(crate) due: Option<Instant>,
    pub(crate) read: Option<Instant>,
    /// Counters of prefixes that left the set.
    pub(crate) gone: DropCount,
}

impl SetState {
    pub(crate) fn new(name: SetName, verify: bool, now: Instant) -> Self {
        Self {
            name,
            content: Some(UnusedReason::Waiting("it has not been read yet")),
            rules: verify.then_some(UNREAD),
            in_path: false,
            prefixes: BTreeMap::new(),
            skipped: 0,
            due: Some(now),
            read: None,
            gone: DropCount::default(),
        }
    }

    pub(crate) fn doubt(&self) -> Option<&UnusedReason> {
        self.content.as_ref().or(self.rules.as_ref())
    }

    pub(crate) fn refused(&self) -> bool {
        let refused =
            |doubt: &Option<UnusedReason>| matches!(doubt, Some(UnusedReason::Refused(_)));
        refused(&self.content) || refused(&self.rules)
    }
}

pub(crate) const UNREAD: UnusedReason =
    UnusedReason::Waiting("the ruleset has not been read since its last change");

/// State of routes.
#[derive(Debug, Default)]
pub(crate) struct RoutesState {
    pub(crate) content: Option<UnusedReason>,
    /// Reason by the rules not to use routes.
    pub(crate) rules: Option<UnusedReason>,
    pub(crate) listed: BTreeMap<Prefix, routes::Fate>,
    pub(crate) due: Option<Instant>,
    pub(crate) read: Option<Instant>,
    pub(crate) gone: DropCount,
}

impl RoutesState {
    pub(crate) fn doubt(&self) -> Option<&UnusedReason> {
        self.content.as_ref().or(self.rules.as_ref())
    }
}

pub(crate) fn unreadable(error: &str) -> UnusedReason {
    UnusedReason::Refused(format!("cannot read the ruleset: {error}"))
}
