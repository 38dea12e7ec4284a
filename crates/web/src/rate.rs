//! Rates of new connections: pure.
//!
//! Each client has a limit of its own, and all clients together have another one. If little of the
//! common limit is left, clients with the fewest recent connections go first: the fewer connections
//! are left, the fewer a client may have had lately. A client with a logged-in user has only its
//! own limit, so that no number of other clients keeps it out. The addresses of a network share the
//! limit of that network in the same way.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::throttle::{Allowance, Bucket, Client, make_room};

/// New connections of one client. A TLS handshake costs a small processor some milliseconds.
pub const CONNECT_EACH: Allowance = Allowance {
    burst: 60,
    every: Duration::from_millis(100),
};

/// New connections of all clients of the network.
pub const CONNECT_ALL: Allowance = Allowance {
    burst: 200,
    every: Duration::from_millis(20),
};

/// Largest number of clients in the table.
const MOST: usize = 512;

/// Largest number of clients with a user, and their retention after the last request. No session
/// lasts longer.
const USERS: usize = 64;
const USED: Duration = crate::sessions::ABSOLUTE;

/// The connections of one client, or of one address of a network.
#[derive(Clone, Copy, Default)]
struct Meter {
    bucket: Bucket,
    /// Number of connections, of which old ones count less and less.
    count: f64,
    /// Time of the last connection.
    last: Duration,
}

impl Meter {
    /// Returns the count now. It falls to 37 % in the time in which a common limit fills up.
    fn count(&self, common: Allowance, now: Duration) -> f64 {
        let memory = common.every * common.burst;
        let passed = now.saturating_sub(self.last);
        self.count * (-passed.as_secs_f64() / memory.as_secs_f64()).exp()
    }
}

/// Limits new connections.
pub struct ConnectionRate {
    each: Allowance,
    all: Allowance,
    together: Bucket,
    meters: HashMap<Client, Meter>,
    users: HashMap<Client, Duration>,
}

impl ConnectionRate {
    /// Limits new connections of each client, and of all together.
    pub fn new(each: Allowance, all: Allowance) -> Self {
        Self {
            each,
            all,
            together: Bucket::default(),
            meters: HashMap::new(),
            users: HashMap::new(),
        }
    }

    /// Takes a connection of a client, from this address, or refuses it. A network has a part of
    /// the common limit, and each of its addresses a part of the network's.
    pub fn take(&mut self, client: Client, address: IpAddr, now: Duration) -> bool {
        let (client, own) = (client.normalized(), client.part(address));
        let is_user = self.is_user(own, now);
        let network = Some(client).filter(|_| !is_user && client != own);
        let mut taken = Vec::with_capacity(2);
        let (mut common, mut allowed) = (self.together, self.all);
        for part in network.into_iter().chain([own]) {
            let mut meter = self.meters.get(&part).copied().unwrap_or_default();
            let count = meter.count(allowed, now);
            if !is_user && !is_fair(common, allowed, count, now) {
                return false;
            }
            (common, allowed) = (meter.bucket, self.each);
            meter.bucket.take(self.each, now);
            (meter.count, meter.last) = (count + 1.0, now);
            taken.push((part, meter));
        }
        if common.left(allowed, now) < 1.0 {
            return false;
        }
        if !is_user {
            self.together.take(self.all, now);
        }
        for (part, meter) in taken {
            if !self.meters.contains_key(&part) {
                let since = now.saturating_sub(self.all.every * self.all.burst);
                make_room(&mut self.meters, MOST, |meter| meter.last, since);
            }
            self.meters.insert(part, meter);
        }
        true
    }

    /// Marks a client with a logged-in user: its connections no longer count among all.
    pub fn set_user(&mut self, client: Client, now: Duration) {
        let client = client.normalized();
        if !self.users.contains_key(&client) {
            make_room(&mut self.users, USERS, |until| *until, now);
        }
        self.users.insert(client, now + USED);
    }

    fn is_user(&self, client: Client, now: Duration) -> bool {
        self.users.get(&client).is_some_and(|until| *until > now)
    }
}

/// Returns true if a client with this count may have one of a common limit. Its count may reach all
/// that is left if the limit is full, half of what is left at half of the limit, and so on. So
/// clients that come one after another, or all at one time, leave some for a client that had less.
fn is_fair(common: Bucket, allowed: Allowance, count: f64, now: Duration) -> bool {
    let left = common.left(allowed, now);
    left >= 1.0 && count <= left * left / f64::from(allowed.burst)
}

#[cfg(test)]
mod tests;
