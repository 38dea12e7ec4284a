//! Who may connect while others are connected: pure.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::settings::is_loopback;

/// The connections there are.
pub struct Crowd {
    most: usize,
    most_each: usize,
    all: usize,
    /// Those that are not this machine's.
    outside: HashMap<IpAddr, usize>,
}

impl Crowd {
    /// At most so many in all, and from one address. A quarter of them is kept for this machine's
    /// own, so that nobody outside can keep its owner out.
    pub fn new(most: usize, most_each: usize) -> Self {
        Self {
            most: most.max(4),
            most_each: most_each.max(1),
            all: 0,
            outside: HashMap::new(),
        }
    }

    /// Whether this address has less than its own share.
    pub fn has_share(&self, address: IpAddr) -> bool {
        is_loopback(address) || self.outside.get(&address).copied().unwrap_or(0) < self.most_each
    }

    /// Lets one in, or does not.
    pub fn enter(&mut self, address: IpAddr) -> bool {
        if self.all >= self.most {
            return false;
        }
        if !is_loopback(address) {
            let outside: usize = self.outside.values().sum();
            let own = self.outside.get(&address).copied().unwrap_or(0);
            if outside >= self.most - self.most / 4 || own >= self.most_each {
                return false;
            }
            self.outside.insert(address, own + 1);
        }
        self.all += 1;
        true
    }

    /// One that was let in goes.
    pub fn leave(&mut self, address: IpAddr) {
        self.all = self.all.saturating_sub(1);
        if let Some(own) = self.outside.get_mut(&address) {
            *own -= 1;
            if *own == 0 {
                self.outside.remove(&address);
            }
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_takes_its_share_and_no_more() {
        let mut crowd = Crowd::new(16, 3);
        let one = IpAddr::from([192, 0, 2, 1]);
        assert!((0..3).all(|_| crowd.enter(one)));
        assert!(!crowd.enter(one));
        crowd.leave(one);
        assert!(crowd.enter(one));
        assert_eq!(crowd.count(), 3);
    }

    #[test]
    fn a_place_is_kept_for_this_machine() {
        let mut crowd = Crowd::new(16, 3);
        let entered = (0..=255)
            .filter(|last| crowd.enter(IpAddr::from([192, 0, 2, *last])))
            .count();
        assert_eq!(entered, 12);
        let own = IpAddr::from([127, 0, 0, 1]);
        assert!((0..4).all(|_| crowd.enter(own)));
        assert!(!crowd.enter(own), "all is all");
    }

    #[test]
    fn nothing_is_kept_of_who_went() {
        let mut crowd = Crowd::new(16, 3);
        for number in 0_u32..10_000 {
            let address = IpAddr::V4(number.into());
            assert!(crowd.enter(address));
            crowd.leave(address);
        }
        assert_eq!((crowd.count(), crowd.outside.len()), (0, 0));
    }
}
