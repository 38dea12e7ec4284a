//! A client's connections to one destination begin there in the order in which the client began
//! them.
//!
//! Router and partner each connect on their own time, so the second of two connections could
//! overtake the first. Programs that distinguish their connections by the order of arrival would
//! confuse them: `iperf3 --bidir` then sends in both directions, and no side receives. So a router
//! names the previous connection in each open, until that connection is answered
//! ([`ConnectionOrder`]). The partner delays the second connection until the first has begun
//! ([`StartedConnections`]), and no longer than [`WAIT`].

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::threads::lock;
use crate::key::KeyId;

/// Most time that a connection waits for its predecessor, which may never come: its open was lost
/// with its path, or the client gave up.
pub const WAIT: Duration = Duration::from_millis(250);

/// Time for which an ended connection is remembered: a short one may be over before the open of the
/// next one has come.
const MEMORY: Duration = Duration::from_secs(2);
/// Most ended connections that are remembered.
const MOST: usize = 4096;

/// At the router: the last unanswered connection of each client to each destination.
#[derive(Debug, Default)]
pub struct ConnectionOrder(Arc<Mutex<Last>>);

/// Port of the client, by its address and the destination.
type Last = HashMap<(IpAddr, SocketAddr), u16>;

/// Exclusive access to [`ConnectionOrder`].
pub struct Taking<'a> {
    turns: &'a ConnectionOrder,
    last: MutexGuard<'a, Last>,
}

/// A connection that is not answered yet; dropped when it is.
#[derive(Debug)]
pub struct PendingConnection {
    turns: Arc<Mutex<Last>>,
    /// Client that connects.
    pub client: SocketAddr,
    /// Destination.
    pub destination: SocketAddr,
    /// Port of the client's previous connection to the destination, if that is not answered yet
    /// either.
    pub after: Option<u16>,
}

impl ConnectionOrder {
    /// Runs `find` exclusively, so that turns have the order of the connections that it accepts.
    pub fn one_at_a_time<T>(&self, find: impl FnOnce(Taking<'_>) -> T) -> T {
        find(Taking {
            turns: self,
            last: lock(&self.0),
        })
    }
}

impl Taking<'_> {
    /// Takes the next turn of this client to this destination.
    pub fn take(mut self, client: SocketAddr, destination: SocketAddr) -> PendingConnection {
        let of = (client.ip(), destination);
        let after = self.last.insert(of, client.port());
        PendingConnection {
            turns: Arc::clone(&self.turns.0),
            client,
            destination,
            after: after.filter(|after| *after != client.port()),
        }
    }
}

impl Drop for PendingConnection {
    fn drop(&mut self) {
        let of = (self.client.ip(), self.destination);
        let mut last = lock(&self.turns);
        if last.get(&of) == Some(&self.client.port()) {
            last.remove(&of);
        }
    }
}

/// Router, its client with its port, and destination of a connection.
type Name = (KeyId, SocketAddr, SocketAddr);

/// At the partner: running connections, and those that ended less than [`MEMORY`] ago.
#[derive(Debug, Default)]
pub struct StartedConnections {
    names: Mutex<Names>,
    told: Notify,
}

#[derive(Debug, Default)]
struct Names {
    /// Number of remembered connections of a name: a port may soon be used again.
    known: HashMap<Name, u32>,
    /// Ended connections, the oldest first.
    ended: VecDeque<(Instant, Name)>,
}

impl Names {
    fn forget(&mut self) {
        let old = |(when, _): &(Instant, Name)| when.elapsed() > MEMORY;
        while self.ended.len() > MOST || self.ended.front().is_some_and(old) {
            let Some((_, name)) = self.ended.pop_front() else {
                return;
            };
            if let Entry::Occupied(mut number) = self.known.entry(name) {
                *number.get_mut() -= 1;
                if *number.get() == 0 {
                    number.remove();
                }
            }
        }
    }
}

/// A connection that has begun.
pub struct Beginning<'a> {
    begun: &'a StartedConnections,
    name: Name,
}

impl StartedConnections {
    /// Waits until this connection has begun, or [`WAIT`] is over.
    pub async fn after(&self, name: Name) {
        let wait = async {
            loop {
                let told = self.told.notified();
                if lock(&self.names).known.contains_key(&name) {
                    return;
                }
                told.await;
            }
        };
        let _ = timeout(WAIT, wait).await;
    }

    /// Notes that this connection begins.
    pub fn begin(&self, name: Name) -> Beginning<'_> {
        let mut names = lock(&self.names);
        names.forget();
        *names.known.entry(name).or_default() += 1;
        drop(names);
        self.told.notify_waiters();
        Beginning { begun: self, name }
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        let ended = (Instant::now(), self.name);
        lock(&self.begun.names).ended.push_back(ended);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::time::advance;

    use super::*;

    const KEY: KeyId = KeyId([7; 8]);

    fn client(port: u16) -> SocketAddr {
        ([192, 168, 1, 2], port).into()
    }

    fn place(port: u16) -> SocketAddr {
        ([198, 51, 100, 1], port).into()
    }

    #[test]
    fn who_is_not_answered_is_who_came_before() {
        let turns = ConnectionOrder::default();
        let take = |client, place| turns.one_at_a_time(|turns| turns.take(client, place));
        let one = take(client(1), place(80));
        let two = take(client(2), place(80));
        assert_eq!((one.after, two.after), (None, Some(1)));
        assert_eq!(take(client(3), place(81)).after, None, "elsewhere");
        let other = SocketAddr::from(([192, 168, 1, 3], 4));
        assert_eq!(take(other, place(80)).after, None, "another client");
        drop(one);
        let three = take(client(5), place(80));
        assert_eq!(three.after, Some(2));
        drop(two);
        drop(three);
        assert!(lock(&turns.0).is_empty());
        let one = take(client(1), place(80));
        let again = take(client(1), place(80));
        assert_eq!(again.after, None, "nobody comes after himself");
        drop((one, again));
        assert!(lock(&turns.0).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_second_waits_for_the_first() {
        let begun = StartedConnections::default();
        let [one, two] = [1, 2].map(|port| (KEY, client(port), place(80)));
        let mut wait = pin!(begun.after(one));
        assert!(
            timeout(WAIT / 2, wait.as_mut()).await.is_err(),
            "it has not begun"
        );
        let other = begun.begin(two);
        assert!(
            timeout(WAIT / 4, wait.as_mut()).await.is_err(),
            "another one has"
        );
        let beginning = begun.begin(one);
        let now = Instant::now();
        wait.await;
        begun.after(one).await;
        assert_eq!(now.elapsed(), Duration::ZERO, "it has");
        drop(begun.begin(one));
        begun.after(one).await;
        assert_eq!(now.elapsed(), Duration::ZERO, "it lasts still");
        drop((beginning, other));
        begun.after(one).await;
        begun.after(two).await;
        assert_eq!(now.elapsed(), Duration::ZERO, "it is remembered");
        drop(begun.begin(one));
        advance(MEMORY * 2).await;
        let last = begun.begin(two);
        let names = lock(&begun.names);
        assert!(names.ended.is_empty() && names.known.len() == 1);
        drop(names);
        drop(last);
        for port in 0..=MOST + 1 {
            drop(begun.begin((KEY, client(port as u16), place(81))));
        }
        let names = lock(&begun.names);
        assert!(names.ended.len() <= MOST + 1 && names.known.len() <= MOST + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        let now = Instant::now();
        let begun = StartedConnections::default();
        begun.after((KEY, client(1), place(80))).await;
        assert_eq!(now.elapsed(), WAIT);
    }
}
