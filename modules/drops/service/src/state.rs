//! What is known of each list, and why it may not be gone by.

use std::collections::BTreeMap;
use std::time::Instant;

use datapath::DropCount;
use kernel::{Prefix, SetName};
use offload_core::drops::routes;

/// Why nothing is dropped by a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It is being found out: what is in the packet path stays there, and is not gone by.
    Waiting(&'static str),
    /// It cannot be.
    Refused(String),
}

impl Doubt {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Waiting(text) => text,
            Self::Refused(text) => text,
        }
    }
}

/// One set.
#[derive(Debug)]
pub(crate) struct SetState {
    pub(crate) name: SetName,
    /// Whether its elements are a list; `None`: all is well.
    pub(crate) content: Option<Doubt>,
    /// Whether the ruleset stands behind it.
    pub(crate) rules: Option<Doubt>,
    /// Prefixes of it are in the packet path.
    pub(crate) in_path: bool,
    /// Each prefix, and when it goes by itself.
    pub(crate) prefixes: BTreeMap<Prefix, Option<Instant>>,
    pub(crate) left_out: usize,
    /// When it is to be read.
    pub(crate) due: Option<Instant>,
    pub(crate) read: Option<Instant>,
    /// Of prefixes that are no longer in it.
    pub(crate) gone: DropCount,
}

impl SetState {
    pub(crate) fn new(name: SetName, verify: bool, now: Instant) -> Self {
        Self {
            name,
            content: Some(Doubt::Waiting("it was not read yet")),
            rules: verify.then_some(UNREAD),
            in_path: false,
            prefixes: BTreeMap::new(),
            left_out: 0,
            due: Some(now),
            read: None,
            gone: DropCount::default(),
        }
    }

    pub(crate) fn doubt(&self) -> Option<&Doubt> {
        self.content.as_ref().or(self.rules.as_ref())
    }

    pub(crate) fn refused(&self) -> bool {
        let refused = |doubt: &Option<Doubt>| matches!(doubt, Some(Doubt::Refused(_)));
        refused(&self.content) || refused(&self.rules)
    }
}

pub(crate) const UNREAD: Doubt = Doubt::Waiting("the ruleset was not read since it changed");

/// Routes.
#[derive(Debug, Default)]
pub(crate) struct RoutesState {
    pub(crate) content: Option<Doubt>,
    /// What forbids to go by routes, as far as rules are concerned.
    pub(crate) rules: Option<Doubt>,
    pub(crate) listed: BTreeMap<Prefix, routes::Fate>,
    pub(crate) due: Option<Instant>,
    pub(crate) read: Option<Instant>,
    pub(crate) gone: DropCount,
}

impl RoutesState {
    pub(crate) fn doubt(&self) -> Option<&Doubt> {
        self.content.as_ref().or(self.rules.as_ref())
    }
}

pub(crate) fn unreadable(error: &str) -> Doubt {
    Doubt::Refused(format!("the ruleset cannot be read: {error}"))
}
