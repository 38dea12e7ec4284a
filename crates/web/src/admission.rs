//! Admission of connections: limits per client, and the connection that a new one displaces. Pure.
//!
//! A connection that has not finished a request occupies a slot, like one that is being answered. A
//! client is a device, if its hardware address is known; else a network, if the server looks
//! clients up; else an IPv4 address, or an IPv6 network of 64 bits. If no slot is free, the client
//! with most connections loses its slowest one. So a client with many addresses displaces only its
//! own connections.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::time::Duration;

use crate::throttle::Client;

/// A client that has its share may not interrupt an answer of its own that is younger than this.
const GRACE: Duration = Duration::from_secs(1);

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// No whole request has arrived since the last answer.
    Waiting,
    /// A whole request has arrived, and its answer is not sent yet.
    Answering,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    client: Client,
    address: IpAddr,
    phase: Phase,
    /// Begin of the phase. Bytes that drip in do not renew it.
    since: Duration,
}

/// Admission of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmittedConnection {
    /// Number of the connection.
    pub number: u64,
    /// The connection that the new one displaces.
    pub dismissed: Option<u64>,
}

/// All connections of a server.
#[derive(Debug)]
pub struct Admission {
    most: usize,
    share: usize,
    next: u64,
    connections: BTreeMap<u64, Connection>,
}

impl Admission {
    /// Allows `most` connections in all, and `share` to each client. A quarter of them is reserved
    /// for this machine, which has no share.
    pub fn new(most: usize, share: usize) -> Self {
        Self {
            most: most.max(4),
            share: share.max(1),
            next: 0,
            connections: BTreeMap::new(),
        }
    }

    /// Admits a connection of this client, from this address, or refuses it. A displaced connection
    /// no longer counts.
    pub fn enter(
        &mut self,
        client: Client,
        address: IpAddr,
        now: Duration,
    ) -> Option<AdmittedConnection> {
        let client = client.normalized();
        let dismissed = self.room(client, address, now)?;
        if let Some(number) = dismissed {
            self.leave(number);
        }
        let number = self.next;
        self.next += 1;
        let connection = Connection {
            client,
            address,
            phase: Phase::Waiting,
            since: now,
        };
        self.connections.insert(number, connection);
        Some(AdmittedConnection { number, dismissed })
    }

    /// A whole request has arrived on a connection.
    pub fn answering(&mut self, number: u64, now: Duration) {
        self.set(number, Phase::Answering, now);
    }

    /// The answer on a connection was sent.
    pub fn waiting(&mut self, number: u64, now: Duration) {
        self.set(number, Phase::Waiting, now);
    }

    /// A connection has ended.
    pub fn leave(&mut self, number: u64) {
        self.connections.remove(&number);
    }

    /// Number of connections.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// No connection exists.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    fn set(&mut self, number: u64, phase: Phase, now: Duration) {
        if let Some(connection) = self.connections.get_mut(&number)
            && connection.phase != phase
        {
            (connection.phase, connection.since) = (phase, now);
        }
    }

    /// Finds the connection to displace, if one has to go. `None`: the new connection is refused.
    fn room(&self, client: Client, address: IpAddr, now: Duration) -> Option<Option<u64>> {
        let full = self.connections.len() >= self.most;
        let outside = |one: &Connection| !one.client.is_local();
        if client.is_local() {
            return match full {
                true => self.anyone(client, address, now, |_| true).map(Some),
                false => Some(None),
            };
        }
        let count = |among: &dyn Fn(&Connection) -> bool| {
            let all = self.connections.values();
            all.filter(|one| among(one)).count()
        };
        if count(&|one| one.client == client) >= self.share {
            return self.own(client, address, now).map(Some);
        }
        if full || count(&outside) >= self.most - self.most / 4 {
            return self.anyone(client, address, now, outside).map(Some);
        }
        Some(None)
    }

    fn count<K: Eq + Hash>(
        &self,
        among: impl Fn(&Connection) -> bool,
        key: impl Fn(&Connection) -> K,
    ) -> HashMap<K, usize> {
        let mut counts = HashMap::new();
        for connection in self.connections.values().filter(|one| among(one)) {
            *counts.entry(key(connection)).or_default() += 1;
        }
        counts
    }

    /// Returns the slowest connection of the client with most connections. A newcomer with
    /// connections takes nothing from a client that has only one more.
    fn anyone(
        &self,
        client: Client,
        address: IpAddr,
        now: Duration,
        among: impl Fn(&Connection) -> bool,
    ) -> Option<u64> {
        let held = self.count(&among, |one| one.client);
        let own = held.get(&client).copied().unwrap_or(0);
        let most = held.values().copied().max().unwrap_or(0);
        if own > 0 && most <= own + 1 {
            return self.own(client, address, now);
        }
        self.slowest(|one| among(one) && held.get(&one.client) == Some(&most))
    }

    /// Returns the slowest connection of this client, at the address with most connections. Many
    /// devices may share a router's address: they do not interrupt answers that have just begun.
    fn own(&self, client: Client, address: IpAddr, now: Duration) -> Option<u64> {
        let ours = |one: &Connection| one.client == client;
        let held = self.count(ours, |one| one.address);
        let own = held.get(&address).copied().unwrap_or(0);
        let most = held.values().copied().max().unwrap_or(0);
        if own == 0 || most > own + 1 {
            return self.slowest(|one| ours(one) && held.get(&one.address) == Some(&most));
        }
        let slowest = self.slowest(|one| ours(one) && one.address == address)?;
        let one = self.connections.get(&slowest)?;
        let fresh = one.phase == Phase::Answering && now.saturating_sub(one.since) < GRACE;
        (!fresh).then_some(slowest)
    }

    /// Returns the connection that has waited longest; if none waits, the one with the oldest
    /// answer.
    fn slowest(&self, among: impl Fn(&Connection) -> bool) -> Option<u64> {
        let all = self.connections.iter().filter(|(_, one)| among(one));
        let (number, _) = all.min_by_key(|(number, one)| (one.phase, one.since, **number))?;
        Some(*number)
    }
}

#[cfg(test)]
mod tests;
