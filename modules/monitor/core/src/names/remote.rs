//! Names of remote ends: the name that led a station to an address.

use std::net::IpAddr;
use std::sync::Arc;

use super::bounded::Bounded;
use super::{Client, Millis};

/// Minimum validity of names, whatever the answer says: programs keep addresses longer than they
/// should.
pub const LEAST: Millis = 10 * 60 * 1000;
/// And no longer than this: addresses change owners.
pub const MOST: Millis = 24 * 60 * 60 * 1000;

/// Names that stations resolved, by address. An answer to one station does not count for others:
/// the station may have asked a server of its own.
#[derive(Debug)]
pub(super) struct RemoteNames {
    told: Bounded<(Client, IpAddr), Entry>,
}

/// A name, and the previous one: many names share an address, and a flow keeps its first name.
#[derive(Debug)]
struct Entry {
    now: TimedName,
    /// Boxed: most have none.
    before: Option<Box<TimedName>>,
}

#[derive(Debug)]
struct TimedName {
    name: Arc<str>,
    since: Millis,
    until: Millis,
}

impl RemoteNames {
    /// Creates a table of at most `most` names.
    pub(super) fn new(most: usize) -> Self {
        Self {
            told: Bounded::new(most),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.told.len()
    }

    /// Stores a name server's answer to `client`.
    pub(super) fn answer(
        &mut self,
        client: Client,
        address: IpAddr,
        name: &Arc<str>,
        ttl: u32,
        now: Millis,
    ) {
        self.learn((client, address), TimedName::new(name, ttl, now));
    }

    /// Records a name that `client` itself sent, as by TLS.
    pub(super) fn said(&mut self, client: Client, address: IpAddr, name: &Arc<str>, now: Millis) {
        self.learn((client, address), TimedName::new(name, 0, now));
    }

    pub(super) fn name(&self, client: Client, address: IpAddr, at: Millis) -> Option<&Arc<str>> {
        self.told.get(&(client, address))?.at(at)
    }

    fn learn(&mut self, key: (Client, IpAddr), told: TimedName) {
        // The entry is inserted again, as the youngest.
        let entry = match self.told.remove(&key) {
            Some(old) if old.now.name == told.name => Entry {
                now: TimedName {
                    since: old.now.since,
                    until: old.now.until.max(told.until),
                    ..told
                },
                ..old
            },
            old => Entry {
                now: told,
                before: old.map(|old| Box::new(old.now)),
            },
        };
        self.told.put(key, entry);
    }
}

impl TimedName {
    fn new(name: &Arc<str>, ttl: u32, now: Millis) -> Self {
        let life = (Millis::from(ttl) * 1000).clamp(LEAST, MOST);
        Self {
            name: name.clone(),
            since: now,
            until: now.saturating_add(life),
        }
    }

    fn at(&self, at: Millis) -> Option<&Arc<str>> {
        (at < self.until).then_some(&self.name)
    }
}

impl Entry {
    /// Returns the name valid at a time. Before the first name, the first one counts: the earlier
    /// answer was not seen, and is likely equal.
    fn at(&self, at: Millis) -> Option<&Arc<str>> {
        let told = match &self.before {
            Some(before) if at < self.now.since => &**before,
            _ => &self.now,
        };
        told.at(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 1));

    fn client(number: u8) -> Client {
        Client::new([2, 0, 0, 0, 0, number], ADDRESS)
    }

    #[test]
    fn each_has_its_own() {
        let mut far = RemoteNames::new(10);
        far.answer(client(1), ADDRESS, &"a.example".into(), 60, 1000);
        far.answer(client(2), ADDRESS, &"b.example".into(), 60, 2000);
        far.said(client(3), ADDRESS, &"c.example".into(), 3000);
        let name = |number| far.name(client(number), ADDRESS, 4000).map(|name| &**name);
        assert_eq!(name(1), Some("a.example"));
        assert_eq!(name(2), Some("b.example"));
        assert_eq!(name(3), Some("c.example"));
        assert_eq!(name(4), None);
        let other = [192, 0, 2, 1].into();
        assert_eq!(far.name(client(1), other, 4000), None);
        // A client without a hardware address is known by its IP address.
        let no_mac = |address: [u8; 4]| Client::new([0; 6], address.into());
        far.answer(
            no_mac([10, 0, 0, 1]),
            ADDRESS,
            &"d.example".into(),
            60,
            1000,
        );
        assert!(far.name(no_mac([10, 0, 0, 1]), ADDRESS, 4000).is_some());
        assert!(far.name(no_mac([10, 0, 0, 2]), ADDRESS, 4000).is_none());
    }

    #[test]
    fn by_time() {
        let mut far = RemoteNames::new(10);
        far.answer(client(1), ADDRESS, &"a.example".into(), 3600, 1_000_000);
        far.answer(client(1), ADDRESS, &"b.example".into(), 60, 2_000_000);
        // A repeated answer does not end the time before; a longer validity extends the time.
        far.answer(client(1), ADDRESS, &"b.example".into(), 0, 3_000_000);
        let name = |far: &RemoteNames, at| {
            far.name(client(1), ADDRESS, at)
                .map(|name| name.to_string())
        };
        assert_eq!(name(&far, 0).as_deref(), Some("a.example"));
        assert_eq!(name(&far, 1_999_999).as_deref(), Some("a.example"));
        assert_eq!(name(&far, 2_000_000).as_deref(), Some("b.example"));
        assert_eq!(
            name(&far, 3_000_000 + LEAST - 1).as_deref(),
            Some("b.example")
        );
        assert_eq!(name(&far, 3_000_000 + LEAST), None);
        far.answer(client(1), ADDRESS, &"c.example".into(), 3600, 4_000_000);
        far.said(client(1), ADDRESS, &"c.example".into(), 4_000_001);
        assert_eq!(
            name(&far, 4_000_000 + 3_599_999).as_deref(),
            Some("c.example")
        );
        assert_eq!(name(&far, 4_000_000 + 3_600_000), None);
        far.answer(
            client(1),
            ADDRESS,
            &"b.example".into(),
            u32::MAX,
            Millis::MAX - 1,
        );
        assert!(far.name(client(1), ADDRESS, Millis::MAX - 1).is_some());
    }

    #[test]
    fn is_bounded() {
        let mut far = RemoteNames::new(100);
        for number in 0..10_000_u32 {
            let address = std::net::Ipv4Addr::from(number).into();
            far.answer(client(1), address, &"a".into(), 60, 0);
        }
        assert_eq!(far.len(), 100);
        let last = std::net::Ipv4Addr::from(9_999).into();
        assert!(far.name(client(1), last, 0).is_some());
    }
}
