//! The last events of ports, in memory, for programs.

use std::collections::VecDeque;

use answers::{CableEvent, CableEvents};
use cables_core::{Role, Use};
use net::clock::unix_seconds;

use super::mover::MoveResult;
use super::system_state::word;

/// Number of events in memory.
const KEPT: usize = 256;

/// The last events, numbered from 1.
#[derive(Debug, Default)]
pub struct EventLog {
    last: u64,
    kept: VecDeque<CableEvent>,
}

impl EventLog {
    fn add(&mut self, device: &str, kind: &str, value: &str, text: String) {
        self.last += 1;
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(CableEvent {
            number: self.last,
            when: unix_seconds(),
            device: device.to_owned(),
            kind: kind.to_owned(),
            value: value.to_owned(),
            text,
        });
    }

    /// Records that the link came or went.
    pub fn link(&mut self, device: &str, up: bool) {
        let (value, text) = match up {
            true => ("up", "A cable is plugged in"),
            false => ("down", "There is no link"),
        };
        self.add(device, "link", value, text.to_owned());
    }

    /// Adds a decision on a role.
    pub fn role(&mut self, device: &str, role: Role, why: &str) {
        self.add(device, "role", role.word(), why.to_owned());
    }

    /// Adds a choice by hand, or its end.
    pub fn chosen(&mut self, device: &str, role: Option<Role>) {
        let (value, text) = match role {
            Some(role) => (role.word(), format!("The administrator chose {role}")),
            None => (
                "auto",
                "The choice was released: weir detects the role again".to_owned(),
            ),
        };
        self.add(device, "choice", value, text);
    }

    /// Records a move of a port, or its failure.
    pub fn moved(&mut self, device: &str, to: Use, told: &MoveResult, text: &str) {
        let kind = match told {
            MoveResult::Made => "moved",
            MoveResult::Kept => "kept",
            MoveResult::Refused(_) => "refused",
            MoveResult::Later(_) => "later",
            MoveResult::TakenBack | MoveResult::Undone => "taken-back",
        };
        self.add(device, kind, word(to), text.to_owned());
    }

    /// Returns the events after a number.
    pub fn after(&self, number: u64) -> CableEvents {
        let events = self.kept.iter().filter(|event| event.number > number);
        CableEvents {
            last: self.last,
            events: events.cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_and_told_once() {
        let mut events = EventLog::default();
        assert_eq!(events.after(0), CableEvents::default());
        for _ in 0..KEPT + 3 {
            events.link("eth1", true);
        }
        let all = events.after(0);
        assert_eq!((all.last, all.events.len()), (KEPT as u64 + 3, KEPT));
        assert_eq!(all.events[0].number, 4);
        events.role("eth1", Role::Uplink, "PPPoE is offered.");
        events.moved(
            "eth1",
            Use::Uplink,
            &MoveResult::Made,
            "It becomes the uplink",
        );
        let two = events.after(all.last).events;
        let kinds: Vec<_> = two.iter().map(|it| (&*it.kind, &*it.value)).collect();
        assert_eq!(kinds, [("role", "uplink"), ("moved", "uplink")]);
        // An event number of an earlier run is unknown.
        assert!(events.after(9999).events.is_empty());
    }
}
