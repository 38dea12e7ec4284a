//! Connections at once, of all and of each client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::client::{Client, Proxies};

/// Connections at once, and of one client; this machine's own, and those of proxies, are not
/// counted by client, as there are many behind them.
pub const MOST: usize = 256;
const MOST_EACH: usize = 32;

/// Open connections.
#[derive(Debug, Default)]
pub(crate) struct ConnectionLimiter {
    proxies: Proxies,
    all: AtomicUsize,
    each: Mutex<HashMap<Client, usize>>,
    /// Signal for idle connections to close.
    pub crowded: Notify,
    pub left: Notify,
}

impl ConnectionLimiter {
    pub fn new(proxies: Proxies) -> Self {
        Self {
            proxies,
            ..Self::default()
        }
    }

    pub fn count(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Lets one in, or does not.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionPermit> {
        let many = address.is_loopback() || self.proxies.trust(address);
        let client = (!many).then(|| Client::of(address));
        if let Some(client) = client {
            let mut each = self.each.lock().ok()?;
            let own = each.entry(client).or_default();
            if *own >= MOST_EACH {
                return None;
            }
            *own += 1;
        }
        self.all.fetch_add(1, Ordering::Relaxed);
        Some(ConnectionPermit(Arc::clone(self), client))
    }
}

/// A connection's place, given back however it ends.
pub(crate) struct ConnectionPermit(pub Arc<ConnectionLimiter>, Option<Client>);

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.all.fetch_sub(1, Ordering::Relaxed);
        self.0.left.notify_one();
        if let Some(client) = &self.1
            && let Ok(mut each) = self.0.each.lock()
            && let Some(own) = each.get_mut(client)
        {
            *own -= 1;
            if *own == 0 {
                each.remove(client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// An IPv6 network is one client; a proxy's address is not a client.
    #[test]
    fn one_client_has_so_many_connections() {
        let crowd = Arc::new(ConnectionLimiter::new(Proxies::new(&[at("192.0.2.80")])));
        for (address, same, most) in [
            ("192.0.2.1", "192.0.2.1", MOST_EACH),
            ("2001:db8::1", "2001:db8::2", MOST_EACH),
            ("192.0.2.80", "192.0.2.80", MOST),
            ("::1", "::1", MOST),
        ] {
            let guests = [address, same].map(at).into_iter().cycle().take(MOST);
            let guests: Vec<_> = guests.map_while(|from| crowd.enter(from)).collect();
            assert_eq!(guests.len(), most, "{address}");
            assert!(crowd.enter(at("198.51.100.1")).is_some(), "another");
            drop(guests);
            assert_eq!(crowd.count(), 0);
            assert!(crowd.each.lock().expect("whole").is_empty());
        }
    }
}
