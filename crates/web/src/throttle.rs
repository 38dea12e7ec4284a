//! How often something may be tried, from one address and from all together: pure.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// How many tries at once, and after what time there is another one.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Tries at once.
    pub burst: u32,
    /// Time after which one more may be tried.
    pub every: Duration,
}

/// Log-ins from one address: 5 at once, then one each 30 seconds, 2880 a day. Of a million likely
/// passwords that is a year's work.
pub const LOGIN_EACH: Allowance = Allowance {
    burst: 5,
    every: Duration::from_secs(30),
};

/// Log-ins from all addresses of the network together, as one machine may have many: 20 at once,
/// then one each 5 seconds. This machine's own are not among them, so that nobody outside can keep
/// its owner out.
pub const LOGIN_ALL: Allowance = Allowance {
    burst: 20,
    every: Duration::from_secs(5),
};

/// New connections from one address. A TLS handshake costs a small processor some milliseconds.
pub const CONNECT_EACH: Allowance = Allowance {
    burst: 60,
    every: Duration::from_millis(100),
};

/// New connections from all addresses of the network.
pub const CONNECT_ALL: Allowance = Allowance {
    burst: 200,
    every: Duration::from_millis(20),
};

/// Addresses that are remembered.
const MOST: usize = 512;

/// A bucket of tries, as the time at which it will be full again: nothing need be counted while
/// time goes by.
#[derive(Clone, Copy, Default)]
struct Bucket {
    full_at: Duration,
}

impl Bucket {
    /// How long to wait for a try; zero if there is one.
    fn wait(&self, allowed: Allowance, now: Duration) -> Duration {
        let missing = self.full_at.saturating_sub(now) + allowed.every;
        missing.saturating_sub(allowed.every * allowed.burst)
    }

    fn take(&mut self, allowed: Allowance, now: Duration) {
        self.full_at = self.full_at.max(now) + allowed.every;
    }

    fn give_back(&mut self, allowed: Allowance) {
        self.full_at = self.full_at.saturating_sub(allowed.every);
    }
}

/// Counts tries.
pub struct Throttle {
    each: Allowance,
    all: Allowance,
    by_address: HashMap<IpAddr, Bucket>,
    together: Bucket,
}

impl Throttle {
    /// With what is allowed to each address, and to all that are not this machine's.
    pub fn new(each: Allowance, all: Allowance) -> Self {
        Self {
            each,
            all,
            by_address: HashMap::new(),
            together: Bucket::default(),
        }
    }

    /// Takes a try, or says how long to wait for one.
    pub fn take(&mut self, address: IpAddr, now: Duration) -> Result<(), Duration> {
        let (key, counted) = Self::key(address);
        let mut bucket = self.by_address.get(&key).copied().unwrap_or_default();
        let mut wait = bucket.wait(self.each, now);
        if counted {
            wait = wait.max(self.together.wait(self.all, now));
        }
        if wait > Duration::ZERO {
            return Err(wait);
        }
        bucket.take(self.each, now);
        if counted {
            self.together.take(self.all, now);
        }
        if !self.by_address.contains_key(&key) && self.by_address.len() >= MOST {
            self.make_room(now);
        }
        self.by_address.insert(key, bucket);
        Ok(())
    }

    /// Takes back a try that turned out to be right.
    pub fn give_back(&mut self, address: IpAddr) {
        let (key, counted) = Self::key(address);
        if let Some(bucket) = self.by_address.get_mut(&key) {
            bucket.give_back(self.each);
        }
        if counted {
            self.together.give_back(self.all);
        }
    }

    /// Addresses that are remembered.
    pub fn count(&self) -> usize {
        self.by_address.len()
    }

    /// Forgets who has all tries again; failing that, who will have them first. All together are
    /// limited all the same.
    fn make_room(&mut self, now: Duration) {
        self.by_address.retain(|_, bucket| bucket.full_at > now);
        while self.by_address.len() >= MOST {
            let Some(soonest) = self
                .by_address
                .iter()
                .min_by_key(|(_, bucket)| bucket.full_at)
                .map(|(address, _)| *address)
            else {
                return;
            };
            self.by_address.remove(&soonest);
        }
    }

    /// A host has a whole IPv6 prefix of 64 bits for itself, and this machine all addresses that are
    /// its own. The flag: whether it counts among all.
    fn key(address: IpAddr) -> (IpAddr, bool) {
        match address.to_canonical() {
            own if own.is_loopback() => (Ipv4Addr::LOCALHOST.into(), false),
            IpAddr::V6(six) => {
                let mut segments = six.segments();
                segments[4..].fill(0);
                (IpAddr::V6(segments.into()), true)
            }
            four => (four, true),
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
            let address = text.parse().expect("an address");
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
        let mapped = address("::ffff:192.0.2.1");
        assert_eq!(Throttle::key(mapped).0, address("192.0.2.1"));
    }

    #[test]
    fn what_was_right_is_given_back() {
        let mut throttle = Throttle::new(EACH, ALL);
        let (who, now) = (address("192.0.2.1"), Duration::from_secs(100));
        for _ in 0..50 {
            assert_eq!(throttle.take(who, now), Ok(()));
            throttle.give_back(who);
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
