//! Schedule of probes: all kinds at once, then unanswered ones again, each three times at most.

use std::collections::BTreeMap;

use crate::numbers::NUMBERS;

/// Kind of probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probe {
    /// Probe for IPv6 routers.
    Routers,
    /// Probe for DHCPv6 servers.
    Dhcp6,
    /// Probe for PPPoE access concentrators.
    Pppoe,
    /// Probe for DHCP servers.
    Dhcp4,
}

/// All probes, in the order of sending: a router that has learned this station's hardware address
/// need not query it to answer the next probe.
pub const PROBES: [Probe; 4] = [Probe::Routers, Probe::Dhcp6, Probe::Pppoe, Probe::Dhcp4];
/// Probes in a VLAN without observed traffic.
const BLIND: [Probe; 3] = [Probe::Routers, Probe::Pppoe, Probe::Dhcp4];

/// Largest number of attempts of a probe.
pub const TIMES: u8 = 3;
/// Times of untagged probes, in milliseconds.
const UNTAGGED: [u64; 3] = [0, 1000, 2500];
/// Start times of the rounds with the providers' tags, in milliseconds.
const TAGGED: [u64; 2] = [150, 1700];
/// Milliseconds between one number and the next.
const APART: u64 = 15;
/// Delays of probes in a VLAN after its first traffic, in milliseconds.
const HEARD: [u64; 3] = [20, 900, 1800];
/// Largest number of VLANs probed because of observed traffic.
const MOST_HEARD: usize = 8;
/// Largest number of frames sent in all.
pub const MOST_SENT: u32 = 320;

/// Target of a frame: the VLAN, and the kind of probe.
pub type Target = (Option<u16>, Probe);

/// Remaining probes.
#[derive(Clone, Debug)]
pub struct Plan {
    due: BTreeMap<(u64, u32), Target>,
    number: u32,
    sent: BTreeMap<Target, u8>,
    heard: Vec<u16>,
    count: u32,
}

impl Default for Plan {
    fn default() -> Self {
        let mut plan = Self::untagged();
        for begin in TAGGED {
            for (at, (number, _)) in (begin..).step_by(APART as usize).zip(NUMBERS) {
                plan.add(at, Some(number), &BLIND);
            }
        }
        plan
    }
}

impl Plan {
    /// Returns a plan that probes no VLAN without observed traffic.
    pub fn untagged() -> Self {
        let mut plan = Self {
            due: BTreeMap::new(),
            number: 0,
            sent: BTreeMap::new(),
            heard: Vec::new(),
            count: 0,
        };
        for at in UNTAGGED {
            plan.add(at, None, &PROBES);
        }
        plan
    }

    fn add(&mut self, at: u64, vlan: Option<u16>, probes: &[Probe]) {
        for &probe in probes {
            self.number += 1;
            self.due.insert((at, self.number), (vlan, probe));
        }
    }

    /// Schedules all probes in a VLAN with observed traffic. `false`: they are scheduled already,
    /// or there are too many VLANs.
    pub fn heard(&mut self, vlan: u16, now: u64) -> bool {
        if self.heard.len() >= MOST_HEARD || self.heard.contains(&vlan) {
            return false;
        }
        self.heard.push(vlan);
        for after in HEARD {
            self.add(now + after, Some(vlan), &PROBES);
        }
        true
    }

    /// Returns the next due probe without an answer.
    pub fn next(&mut self, now: u64, answered: impl Fn(Target) -> bool) -> Option<Target> {
        while let Some(first) = self.due.first_entry() {
            if first.key().0 > now || self.count >= MOST_SENT {
                return None;
            }
            let place = first.remove();
            let times = self.sent.entry(place).or_default();
            if *times >= TIMES || answered(place) {
                continue;
            }
            *times += 1;
            self.count += 1;
            return Some(place);
        }
        None
    }

    /// Returns the time of the next probe.
    pub fn wake(&self) -> Option<u64> {
        let next = self.due.first_key_value().map(|((at, _), _)| *at);
        next.filter(|_| self.count < MOST_SENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(plan: &mut Plan) -> BTreeMap<Target, u8> {
        let mut sent = BTreeMap::new();
        while let Some(place) = plan.next(100_000, |_| false) {
            *sent.entry(place).or_default() += 1;
        }
        sent
    }

    #[test]
    fn nothing_is_asked_more_than_three_times() {
        let mut plan = Plan::default();
        for vlan in 1..100 {
            plan.heard(vlan, 500);
        }
        let sent = all(&mut plan);
        assert!(sent.values().all(|&times| times <= TIMES));
        assert_eq!(sent[&(None, Probe::Dhcp4)], TIMES);
        assert!(
            sent.contains_key(&(Some(7), Probe::Dhcp6)),
            "VLAN 7 was heard"
        );
        assert!(
            !sent.contains_key(&(Some(99), Probe::Dhcp4)),
            "too many were heard"
        );
        assert!(plan.count <= MOST_SENT);
        assert_eq!(plan.wake(), None);
    }

    #[test]
    fn what_was_answered_is_not_asked_again() {
        let mut plan = Plan::default();
        assert_eq!(plan.next(0, |_| false), Some((None, Probe::Routers)));
        let mut sent = Vec::new();
        while let Some(place) = plan.next(100_000, |(_, probe)| probe != Probe::Pppoe) {
            sent.push(place);
        }
        assert!(sent.iter().all(|(_, probe)| *probe == Probe::Pppoe));
        assert_eq!(plan.count as usize, 1 + 3 + 2 * NUMBERS.len());
    }

    #[test]
    fn without_tags_no_more_than_twelve_are_sent() {
        let sent = all(&mut Plan::untagged());
        assert_eq!(sent.len(), 4);
        assert_eq!(
            sent.values().map(|&times| u32::from(times)).sum::<u32>(),
            12
        );
    }

    #[test]
    fn the_first_are_sent_at_once_and_the_others_wait() {
        let mut plan = Plan::default();
        let at_once = std::iter::from_fn(|| plan.next(0, |_| false)).count();
        assert_eq!((at_once, plan.wake()), (4, Some(TAGGED[0])));
    }
}
