//! Slots of connections that have not authenticated yet. A new connection always gets a slot: if
//! all are taken, the oldest connection of the household with the most is removed. Addresses from
//! which a router has authenticated have separate slots, so that unauthenticated clients cannot
//! displace them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernel::Prefix;
use tokio::sync::oneshot;

/// Prefix length of an IPv6 household, which may have all addresses of it (RFC 6177).
const HOUSEHOLD: u8 = 56;
/// Shortest interval of warnings about a crowd.
const SAID: Duration = Duration::from_secs(60);

/// Number of addresses to remember from which a router has authenticated.
const KNOWN: usize = 4096;

/// Places of all connections.
pub struct UnauthenticatedPool {
    strangers: Strangers,
    acquaintances: Strangers,
    known: Mutex<Known>,
}

impl UnauthenticatedPool {
    /// Creates free slots: `number` for unknown addresses, and as many for known addresses, of
    /// which a single one may begin half as many connections at once.
    pub fn new(number: usize) -> Self {
        Self {
            strangers: Strangers::new(number),
            acquaintances: Strangers::new(number),
            known: Mutex::default(),
        }
    }

    /// Gives a place to a new connection.
    pub fn come(&self, from: IpAddr) -> UnauthenticatedSlot<'_> {
        let from = household(from);
        match self.known().of.contains_key(&from) {
            true => self.acquaintances.come(from),
            false => self.strangers.come(from),
        }
    }

    /// Remembers an address from which a router has authenticated.
    pub fn know(&self, from: IpAddr) {
        self.known().add(household(from));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Addresses from which routers authenticated; the one unused for the longest time is forgotten.
#[derive(Default)]
struct Known {
    last: u64,
    of: HashMap<Prefix, u64>,
    order: BTreeMap<u64, Prefix>,
}

impl Known {
    fn add(&mut self, from: Prefix) {
        self.last += 1;
        if let Some(before) = self.of.insert(from, self.last) {
            self.order.remove(&before);
        }
        self.order.insert(self.last, from);
        if self.of.len() > KNOWN
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.of.remove(&oldest);
        }
    }
}

/// Returns the prefix that counts as one household.
fn household(from: IpAddr) -> Prefix {
    match from.to_canonical() {
        from @ IpAddr::V4(_) => Prefix::host(from),
        from @ IpAddr::V6(_) => Prefix::truncated(from, HOUSEHOLD),
    }
}

/// Places of a kind. A household that is alone may have half of them.
struct Strangers {
    number: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    /// Number of the last connection.
    last: u64,
    /// Connections in the order of arrival, with the channel that ends each.
    all: BTreeMap<u64, (Prefix, oneshot::Sender<()>)>,
    of: HashMap<Prefix, BTreeSet<u64>>,
    said: Option<Instant>,
}

/// A place; free again when dropped.
pub struct UnauthenticatedSlot<'a> {
    strangers: &'a Strangers,
    number: u64,
    out: oneshot::Receiver<()>,
    /// True if the slots are full, and this was not logged recently.
    pub is_crowd: bool,
}

impl UnauthenticatedSlot<'_> {
    /// Waits until the place is needed for a newer connection.
    pub async fn turned_out(&mut self) {
        let _ = (&mut self.out).await;
    }
}

impl Strangers {
    fn new(number: usize) -> Self {
        Self {
            number,
            taken: Mutex::default(),
        }
    }

    fn come(&self, from: Prefix) -> UnauthenticatedSlot<'_> {
        let mut taken = self.lock();
        let own = taken.of.get(&from).map_or(0, BTreeSet::len);
        let mut is_crowd = false;
        if own >= self.number.saturating_sub(taken.all.len()) {
            taken.turn_out((own > 0).then_some(from));
            let is_new = |said: Instant| said.elapsed() >= SAID;
            is_crowd = taken.said.is_none_or(is_new);
            if is_crowd {
                taken.said = Some(Instant::now());
            }
        }
        taken.last += 1;
        let (number, (tell, out)) = (taken.last, oneshot::channel());
        taken.all.insert(number, (from, tell));
        taken.of.entry(from).or_default().insert(number);
        UnauthenticatedSlot {
            strangers: self,
            number,
            out,
            is_crowd,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Removes the oldest connection of this household, or of the one with the most.
    fn turn_out(&mut self, of: Option<Prefix>) {
        let most = || {
            let all = self.of.iter();
            // Of several households with equal numbers, the one with the oldest connection.
            let most = all.max_by_key(|(_, all)| (all.len(), std::cmp::Reverse(all.first())));
            most.map(|(of, _)| *of)
        };
        let of = of.or_else(most);
        let oldest = of.and_then(|of| self.of.get(&of)?.first().copied());
        if let Some((_, tell)) = oldest.and_then(|it| self.leave(it)) {
            let _ = tell.send(());
        }
    }

    fn leave(&mut self, number: u64) -> Option<(Prefix, oneshot::Sender<()>)> {
        let gone = self.all.remove(&number)?;
        if let Some(all) = self.of.get_mut(&gone.0) {
            all.remove(&number);
            if all.is_empty() {
                self.of.remove(&gone.0);
            }
        }
        Some(gone)
    }
}

impl Drop for UnauthenticatedSlot<'_> {
    fn drop(&mut self) {
        self.strangers.lock().leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn stays(stranger: &mut UnauthenticatedSlot<'_>) -> bool {
        stranger.out.try_recv() == Err(oneshot::error::TryRecvError::Empty)
    }

    fn staying(all: &mut [UnauthenticatedSlot<'_>]) -> usize {
        all.iter_mut()
            .filter_map(|it| stays(it).then_some(()))
            .count()
    }

    #[test]
    fn one_alone_has_half_and_the_oldest_of_it_goes() {
        let strangers = Strangers::new(64);
        let come = |at: u8| strangers.come(household(Ipv4Addr::new(192, 0, 2, at).into()));
        let mut one: Vec<_> = (0..40).map(|_| come(1)).collect();
        assert_eq!(staying(&mut one), 32);
        assert!(!stays(&mut one[7]) && stays(&mut one[8]));
        let crowds = one.iter().filter(|it| it.is_crowd).count();
        assert_eq!(crowds, 1, "it is said once");
        let mut other = come(2);
        assert_eq!(staying(&mut one), 32, "there was room");
        assert!(stays(&mut other));
        drop((one, other));
        let taken = strangers.lock();
        assert!(taken.all.is_empty() && taken.of.is_empty());
    }

    #[test]
    fn who_comes_has_a_place_however_many_there_are() {
        let strangers = Strangers::new(64);
        let come = |at: u8| strangers.come(household(Ipv4Addr::new(192, 0, 2, at).into()));
        // Each takes as many slots as possible: before, all slots were taken then.
        let mut all: Vec<_> = (1..=12)
            .flat_map(|at| (0..40).map(move |_| at))
            .map(come)
            .collect();
        assert_eq!(staying(&mut all), 64);
        for at in 100..132 {
            let mut new = come(at);
            assert!(stays(&mut new));
            assert_eq!(staying(&mut all), 63, "{at}");
            drop(new);
            all.push(come(at));
            all.retain_mut(stays);
        }
    }

    /// All addresses of a household count as one, and an IPv4 address in any notation is the same.
    #[test]
    fn a_household_is_one() {
        let strangers = Strangers::new(64);
        let come = |net: u16, host: u16| {
            let address = Ipv6Addr::new(0x2001, 0xdb8, 1, net, 0, 0, 0, host);
            strangers.come(household(address.into()))
        };
        let mut all: Vec<_> = (0..200).map(|it| come(it % 200, it)).collect();
        assert_eq!(staying(&mut all), 32);
        let mut other = come(0x100, 1);
        assert_eq!(staying(&mut all), 32);
        assert!(stays(&mut other));
        drop(all);
        let mapped = Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped();
        let mut four: Vec<_> = (0..40)
            .map(|_| strangers.come(household(mapped.into())))
            .collect();
        assert_eq!(staying(&mut four), 32);
    }

    #[test]
    fn strangers_are_not_in_the_way_of_acquaintances() {
        let arrivals = UnauthenticatedPool::new(64);
        let address = |net: u8, at: u8| IpAddr::from([192, 0, net, at]);
        arrivals.know(address(2, 1));
        let mut known = arrivals.come(address(2, 1));
        // More connections than slots, each from another network.
        let mut crowd: Vec<_> = (0..200).map(|at| arrivals.come(address(3, at))).collect();
        assert_eq!(staying(&mut crowd), 64);
        assert!(stays(&mut known));
        // A known address cannot take all slots of known addresses either.
        let mut greedy: Vec<_> = (0..40).map(|_| arrivals.come(address(2, 1))).collect();
        assert!(!stays(&mut known), "the oldest of its own");
        assert_eq!(staying(&mut greedy), 32);
        arrivals.know(address(2, 2));
        assert!(stays(&mut arrivals.come(address(2, 2))));
        assert_eq!(staying(&mut greedy), 32);
    }

    #[test]
    fn who_came_last_the_longest_ago_is_forgotten() {
        let mut known = Known::default();
        let from = |at: usize| household(Ipv4Addr::from(at as u32).into());
        for at in 0..KNOWN {
            known.add(from(at));
        }
        known.add(from(0));
        known.add(from(KNOWN));
        assert_eq!((known.of.len(), known.order.len()), (KNOWN, KNOWN));
        let is_known = |at| known.of.contains_key(&from(at));
        assert!(is_known(0) && !is_known(1) && is_known(KNOWN));
    }
}
