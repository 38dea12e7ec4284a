//! Who is reached by IP: links of a village. They are made elsewhere, and come with an id that is
//! proven; the room only bounds them, and gives messages to them.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::connection::{Connection, Format};
use super::{Action, Room};
use crate::Id;

/// Links by IP at most.
pub const LINKS: usize = 32;

impl Room {
    /// There is a link.
    pub(super) fn reach(
        &mut self,
        now: u64,
        link: u32,
        (address, caller): (SocketAddr, bool),
        id: Id,
        out: &mut Vec<Action>,
    ) {
        let mut others = self.links.values().filter(|it| it.format() == Format::Ip);
        let is_full = others.clone().count() >= LINKS && !others.any(|it| it.peer() == Some(id));
        let connection = Connection::by_ip(address, caller, id, now);
        self.links.insert(link, connection);
        if !is_full {
            self.know(now, link, id, out);
        }
        // One who is nobody's peer would be told nothing.
        if is_full || !self.peers.contains_key(&id) {
            out.push(Action::Close(link));
        }
    }

    /// Of two links with one peer that is closed which the higher id called. Who calls twice knows
    /// nothing of its first link any more.
    pub(super) fn closes(&self, link: u32, other: u32, id: Id) -> u32 {
        let [it, old] = [&self.links[&link], &self.links[&other]];
        let lower = self.own < id;
        match old.is_caller() == lower {
            _ if it.format() == Format::Ip && it.is_caller() == old.is_caller() => other,
            true => link,
            false => other,
        }
    }

    /// Whether there is a link with somebody by IP.
    pub fn reaches(&self, id: Id) -> bool {
        self.far().contains(&id)
    }

    /// All to whom there is a link by IP.
    pub(super) fn far(&self) -> BTreeSet<Id> {
        let links = self.links.values().filter(|it| it.format() == Format::Ip);
        links.filter_map(Connection::peer).collect()
    }

    /// Connections that are not by IP.
    pub(super) fn by_bluetooth(&self) -> usize {
        let links = self.links.values();
        links.filter(|it| it.format() != Format::Ip).count()
    }
}

#[cfg(test)]
mod tests;
