//! Rate limits of attempts, from one address and from all together: pure.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Burst of tries, and the time until the next one.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Tries at once.
    pub burst: u32,
    /// Time after which one more may be tried.
    pub every: Duration,
}

/// Logins from one address: 5 at once, then one each 30 seconds, 2880 a day. A million likely
/// passwords take a year.
pub const LOGIN_EACH: Allowance = Allowance {
    burst: 5,
    every: Duration::from_secs(30),
};

/// Logins from all addresses of the network together, as one machine may have many: 20 at once,
/// then one each 5 seconds. This machine's own tries do not count, so that no client outside can
/// lock its owner out.
pub const LOGIN_ALL: Allowance = Allowance {
    burst: 20,
    every: Duration::from_secs(5),
};

/// Logins from one network that is not at a port of the router (24 bits of IPv4, 48 of IPv6): 10 at
/// once, then one each 10 seconds.
pub const LOGIN_NETWORK: Allowance = Allowance {
    burst: 10,
    every: Duration::from_secs(10),
};

/// Client that tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Client {
    /// A device at a port of the router, by its hardware address, whatever addresses it has.
    Device([u8; 6]),
    /// A client farther away, or without a known device.
    Address(IpAddr),
    /// A whole network.
    Network(IpAddr),
}

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        Self::Address(address)
    }
}

impl Client {
    /// Returns the client with all of its addresses: a host has a whole IPv6 prefix of 64 bits for
    /// itself, and this machine all its own addresses.
    pub(crate) fn normalized(self) -> Self {
        let Self::Address(address) = self else {
            return self;
        };
        match address.to_canonical() {
            own if own.is_loopback() => Self::Address(Ipv4Addr::LOCALHOST.into()),
            address => Self::Address(cut(address, 32, 64)),
        }
    }

    /// Returns the network of an address that is not at a port of the router.
    pub(crate) fn network(address: IpAddr) -> Self {
        Self::Network(cut(address.to_canonical(), 24, 48))
    }

    /// Returns the client itself, or, if the client is a network, its part with this address.
    pub(crate) fn part(self, address: IpAddr) -> Self {
        match self {
            Self::Network(_) => Self::Address(address).normalized(),
            one => one.normalized(),
        }
    }

    /// Returns true if the client is this machine.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Address(address) if address.to_canonical().is_loopback())
    }
}

/// Largest number of stored addresses.
const MOST: usize = 512;

/// A bucket of tries, stored as the time at which it will be full again: no timer is needed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bucket {
    full_at: Duration,
}

impl Bucket {
    /// Returns the tries left, with fractions.
    pub(crate) fn left(&self, allowed: Allowance, now: Duration) -> f64 {
        let used = self.full_at.saturating_sub(now).as_secs_f64() / allowed.every.as_secs_f64();
        f64::from(allowed.burst) - used
    }

    /// Returns the time until the next try; zero if one is left.
    fn wait(&self, allowed: Allowance, now: Duration) -> Duration {
        let missing = self.full_at.saturating_sub(now) + allowed.every;
        missing.saturating_sub(allowed.every * allowed.burst)
    }

    pub(crate) fn take(&mut self, allowed: Allowance, now: Duration) {
        self.full_at = self.full_at.max(now) + allowed.every;
    }

    fn refund(&mut self, allowed: Allowance) {
        self.full_at = self.full_at.saturating_sub(allowed.every);
    }
}

/// Counts tries.
pub struct Throttle {
    each: Allowance,
    network: Option<Allowance>,
    all: Allowance,
    clients: HashMap<Client, Bucket>,
    together: Bucket,
}

impl Throttle {
    /// Limits the tries of each address, and of all that are not this machine's.
    pub fn new(each: Allowance, all: Allowance) -> Self {
        Self {
            each,
            network: None,
            all,
            clients: HashMap::new(),
            together: Bucket::default(),
        }
    }

    /// Limits the tries of each network, too.
    pub fn with_networks(self, network: Allowance) -> Self {
        Self {
            network: Some(network),
            ..self
        }
    }

    /// Takes a try, or returns the time to wait for one.
    pub fn take(&mut self, client: impl Into<Client>, now: Duration) -> Result<(), Duration> {
        let (keys, counted) = self.keys(client.into());
        let wait = |(key, allowed): &(Client, Allowance)| {
            let bucket = self.clients.get(key).copied().unwrap_or_default();
            bucket.wait(*allowed, now)
        };
        let mut longest = keys.iter().flatten().map(wait).max().unwrap_or_default();
        if counted {
            longest = longest.max(self.together.wait(self.all, now));
        }
        if longest > Duration::ZERO {
            return Err(longest);
        }
        if counted {
            self.together.take(self.all, now);
        }
        for (key, allowed) in keys.into_iter().flatten() {
            if !self.clients.contains_key(&key) {
                make_room(&mut self.clients, MOST, |bucket| bucket.full_at, now);
            }
            self.clients.entry(key).or_default().take(allowed, now);
        }
        Ok(())
    }

    /// Gives back a try that turned out to be right.
    pub fn refund(&mut self, client: impl Into<Client>) {
        let (keys, counted) = self.keys(client.into());
        for (key, allowed) in keys.into_iter().flatten() {
            if let Some(bucket) = self.clients.get_mut(&key) {
                bucket.refund(allowed);
            }
        }
        if counted {
            self.together.refund(self.all);
        }
    }

    /// Returns the number of stored addresses.
    pub fn count(&self) -> usize {
        self.clients.len()
    }

    /// Returns the buckets of a client. The flag is true if its tries count among all.
    fn keys(&self, client: Client) -> ([Option<(Client, Allowance)>; 2], bool) {
        let (own, counted) = (client.normalized(), !client.is_local());
        let network = match own {
            Client::Address(address) if counted => self
                .network
                .map(|allowed| (Client::network(address), allowed)),
            _ => None,
        };
        ([Some((own, self.each)), network], counted)
    }
}

/// Counts tries of known devices, each for itself.
pub struct KeyedThrottle<K> {
    each: Allowance,
    buckets: HashMap<K, Bucket>,
}

impl<K: Copy + Eq + Hash> KeyedThrottle<K> {
    /// Limits the tries of each device.
    pub fn new(each: Allowance) -> Self {
        Self {
            each,
            buckets: HashMap::new(),
        }
    }

    /// Takes a try, or returns the time to wait for one.
    pub fn take(&mut self, who: K, now: Duration) -> Result<(), Duration> {
        let mut bucket = self.buckets.get(&who).copied().unwrap_or_default();
        let wait = bucket.wait(self.each, now);
        if wait > Duration::ZERO {
            return Err(wait);
        }
        bucket.take(self.each, now);
        if !self.buckets.contains_key(&who) {
            make_room(&mut self.buckets, MOST, |bucket| bucket.full_at, now);
        }
        self.buckets.insert(who, bucket);
        Ok(())
    }

    /// Gives back a try that turned out to be right.
    pub fn refund(&mut self, who: K) {
        if let Some(bucket) = self.buckets.get_mut(&who) {
            bucket.refund(self.each);
        }
    }
}

/// Makes room for one more entry in a table of limited size. Entries that have ended by `now` go;
/// failing that, those that end first. A common limit still holds.
pub(crate) fn make_room<K: Copy + Eq + Hash, V>(
    table: &mut HashMap<K, V>,
    most: usize,
    end: impl Fn(&V) -> Duration,
    now: Duration,
) {
    if table.len() < most {
        return;
    }
    table.retain(|_, entry| end(entry) > now);
    while table.len() >= most {
        let first = table.iter().min_by_key(|(_, entry)| end(entry));
        let Some(first) = first.map(|(key, _)| *key) else {
            return;
        };
        table.remove(&first);
    }
}

/// Keeps this many leading bits of an address, per family.
fn cut(address: IpAddr, four: u32, six: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - four).unwrap_or(0);
            Ipv4Addr::from(u32::from(address) & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - six).unwrap_or(0);
            Ipv6Addr::from(u128::from(address) & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH: Allowance = Allowance {
        burst: 3,
        every: Duration::from_secs(10),
    };
    const ALL: Allowance = Allowance {
        burst: 5,
        every: Duration::from_secs(1),
    };

    #[test]
    fn this_machine_is_one_by_whatever_address() {
        let mut throttle = Throttle::new(EACH, ALL);
        let own = ["127.0.0.1", "::1", "127.9.9.9", "::ffff:127.0.0.2"];
        let tried = own.map(|text| {
            let address: IpAddr = text.parse().expect("an address");
            throttle.take(address, Duration::ZERO).is_ok()
        });
        assert_eq!(tried, [true, true, true, false]);
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_burst_then_one_each_time() {
        let mut throttle = Throttle::new(EACH, ALL);
        let (who, begin) = (address("192.0.2.1"), Duration::from_secs(100));
        for _ in 0..3 {
            assert_eq!(throttle.take(who, begin), Ok(()));
        }
        assert_eq!(throttle.take(who, begin), Err(Duration::from_secs(10)));
        let later = begin + Duration::from_secs(9);
        assert_eq!(throttle.take(who, later), Err(Duration::from_secs(1)));
        let later = begin + Duration::from_secs(10);
        assert_eq!(throttle.take(who, later), Ok(()));
        assert!(throttle.take(who, later).is_err());
        let rested = begin + Duration::from_secs(1000);
        for _ in 0..3 {
            assert_eq!(throttle.take(who, rested), Ok(()), "never more than these");
        }
        assert!(throttle.take(who, rested).is_err());
    }

    #[test]
    fn all_together_are_limited_but_not_this_machine() {
        let mut throttle = Throttle::new(EACH, ALL);
        let now = Duration::from_secs(100);
        for last in 1..=5 {
            assert_eq!(throttle.take(IpAddr::from([192, 0, 2, last]), now), Ok(()));
        }
        assert!(throttle.take(address("192.0.2.77"), now).is_err());
        assert_eq!(throttle.take(address("127.0.0.1"), now), Ok(()));
        assert_eq!(throttle.take(address("::1"), now), Ok(()));
    }

    #[test]
    fn one_prefix_is_one_host() {
        let mut throttle = Throttle::new(EACH, ALL);
        let now = Duration::from_secs(100);
        for last in 1..=3 {
            let six = format!("2001:db8::{last}");
            assert_eq!(throttle.take(address(&six), now), Ok(()));
        }
        assert!(throttle.take(address("2001:db8::abcd:1:2:3"), now).is_err());
        assert_eq!(throttle.take(address("2001:db8:0:1::1"), now), Ok(()));
        let mapped = Client::from(address("::ffff:192.0.2.1"));
        assert_eq!(mapped.normalized(), address("192.0.2.1").into());
    }

    #[test]
    fn a_device_is_one_by_whatever_address_and_a_network_has_few() {
        let all = Allowance { burst: 100, ..ALL };
        let mut throttle = Throttle::new(EACH, all).with_networks(Allowance { burst: 4, ..EACH });
        let now = Duration::from_secs(100);
        let device = Client::Device([2, 0, 0, 0, 0, 1]);
        let tried = [(); 4].map(|()| throttle.take(device, now).is_ok());
        assert_eq!(tried, [true, true, true, false]);
        for (network, other) in [("192.0.2", "198.51.100.1"), ("2001:db8:0", "2001:db8:1::")] {
            let tried = [1, 2, 3, 4, 5].map(|last| {
                let address = match network.contains(':') {
                    true => address(&format!("{network}:{last}::")),
                    false => address(&format!("{network}.{last}")),
                };
                throttle.take(address, now).is_ok()
            });
            assert_eq!(tried, [true, true, true, true, false], "{network}");
            assert_eq!(throttle.take(address(other), now), Ok(()));
        }
        throttle.refund(address("192.0.2.1"));
        assert_eq!(throttle.take(address("192.0.2.9"), now), Ok(()));
    }

    #[test]
    fn what_was_right_is_given_back() {
        let mut throttle = Throttle::new(EACH, ALL);
        let (who, now) = (address("192.0.2.1"), Duration::from_secs(100));
        for _ in 0..50 {
            assert_eq!(throttle.take(who, now), Ok(()));
            throttle.refund(who);
        }
    }

    #[test]
    fn bounded_and_who_tried_most_is_kept() {
        let all = Allowance {
            burst: 1_000_000,
            every: Duration::from_micros(1),
        };
        let mut throttle = Throttle::new(EACH, all);
        let (guesser, now) = (address("192.0.2.1"), Duration::from_secs(100));
        for _ in 0..3 {
            assert_eq!(throttle.take(guesser, now), Ok(()));
        }
        for number in 0_u32..20_000 {
            let other = IpAddr::V4((0x0a00_0000 + number).into());
            assert_eq!(throttle.take(other, now), Ok(()));
            assert!(throttle.count() <= MOST);
        }
        assert!(throttle.take(guesser, now).is_err());
    }
}
