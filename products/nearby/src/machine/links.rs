//! All connections. Links of a village are created elsewhere, with proven ids, and only bounded
//! here.

use std::collections::{BTreeMap, BTreeSet};

use super::connection::Connection;
use super::endpoint::{Address, Endpoint, Format};
use crate::Id;

/// Links by IP at most.
pub const LINKS: usize = 32;

/// All connections, by number.
#[derive(Debug, Default)]
pub struct Links(BTreeMap<u32, Connection>);

impl Links {
    /// Adds a connection.
    pub fn insert(&mut self, number: u32, connection: Connection) {
        self.0.insert(number, connection);
    }

    /// Removes a connection.
    pub fn remove(&mut self, number: u32) -> Option<Connection> {
        self.0.remove(&number)
    }

    /// Returns a connection.
    pub fn get(&self, number: u32) -> Option<&Connection> {
        self.0.get(&number)
    }

    /// Returns a connection for changes.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Connection> {
        self.0.get_mut(&number)
    }

    /// Numbers of all connections.
    pub fn numbers(&self) -> Vec<u32> {
        self.0.keys().copied().collect()
    }

    /// Returns the peers of all connections.
    pub fn peers(&self) -> BTreeSet<Id> {
        self.0.values().filter_map(Connection::peer).collect()
    }

    /// Returns the connections with a peer.
    pub fn of(&self, id: Id) -> impl Iterator<Item = &Connection> + Clone {
        self.0.values().filter(move |it| it.peer() == Some(id))
    }

    /// Returns the connection for messages to a peer: the one of the highest format.
    pub fn best(&mut self, id: Id) -> Option<(u32, &mut Connection)> {
        let mut best: Option<(&u32, &mut Connection)> = None;
        for (link, connection) in &mut self.0 {
            let better = best
                .as_ref()
                .is_none_or(|(_, it)| it.format() < connection.format());
            if connection.peer() == Some(id) && connection.sends() && better {
                best = Some((link, connection));
            }
        }
        best.map(|(link, connection)| (*link, connection))
    }

    /// Returns true if messages go to a peer, who may be known by an address alone.
    pub fn sends_to(&self, id: Option<Id>, address: Address) -> bool {
        let same = |it: &Connection| match id {
            Some(id) => it.peer() == Some(id),
            None => it.address() == Some(address),
        };
        self.0.values().any(|it| it.sends() && same(it))
    }

    /// Returns which of two connections with one peer, both by one two-way format, must close.
    /// `link`: the newer one; `lower`: this side has the lower id.
    pub fn twice(&self, now: u64, link: u32, id: Id, lower: bool) -> Option<u32> {
        let it = self.0.get(&link).filter(|it| it.is_double())?;
        let (other, old) = self.0.iter().find(|(other, old)| {
            let same = old.peer() == Some(id) && old.format() == it.format();
            **other != link && same && old.is_double()
        })?;
        if it.format() == Format::V2 && old.stands(now) {
            return Some(link);
        }
        // The connection that the lower id called stays; no id is proven. A node that calls twice
        // has forgotten its first link.
        Some(match old.is_caller() == lower {
            _ if it.format() == Format::Ip && it.is_caller() == old.is_caller() => *other,
            true => link,
            false => *other,
        })
    }

    fn by_ip(&self) -> impl Iterator<Item = &Connection> + Clone {
        self.0.values().filter(|it| it.format() == Format::Ip)
    }

    /// Returns true if the IP links are at their limit and none is with this node.
    pub fn is_full(&self, id: Id) -> bool {
        self.by_ip().count() >= LINKS && !self.reaches(id)
    }

    /// Returns true if there is an IP link with a node.
    pub fn reaches(&self, id: Id) -> bool {
        self.by_ip().any(|it| it.peer() == Some(id))
    }

    /// Returns the nodes with a link by IP.
    pub fn far(&self) -> BTreeSet<Id> {
        self.by_ip().filter_map(Connection::peer).collect()
    }

    /// Returns the number of connections other than by IP.
    pub fn by_bluetooth(&self) -> usize {
        self.0.len() - self.by_ip().count()
    }

    /// Returns the IP address of a node.
    pub fn place(&self, id: Id) -> Option<Endpoint> {
        let mut far = self.by_ip().filter(|it| it.peer() == Some(id));
        far.next().map(Connection::place)
    }
}
