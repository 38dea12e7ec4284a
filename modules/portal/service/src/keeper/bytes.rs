//! What guests sent and received: the kernel's counters, and what weir forwarded past them.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use datapath::Who;
use kernel::SetName;
use kernel::sets::Family;
use portal_core::Millis;
use portal_core::journal::Entry;
use portal_core::rules::{self, Step};
use tracing::debug;

use super::Keeper;
use runtime::daemon::{Forwarded, Router};

/// Elements of a set whose counters are read.
const MOST_COUNTED: usize = 65_536;

impl Keeper {
    /// Weir forwarded something: the kernel's counters know nothing of that.
    pub fn forwarded(&mut self, all: &[Forwarded<'_>]) {
        let now = self.now();
        for forwarded in all {
            let growth = forwarded.growth;
            if let Some((Who::Hosts(comes), Who::Hosts(leaves))) = growth.whose {
                self.moved(&comes.source, growth.octets, now);
                self.moved(&leaves.destination, growth.octets, now);
            }
        }
    }

    /// Who has this address moved so much.
    fn moved(&mut self, address: &IpAddr, bytes: u64, now: Millis) {
        let moved = self.guests.moved(address, bytes, now, &mut self.changes);
        if let Some(mac) = moved {
            self.days.moved(&mac, bytes);
        }
    }

    /// What the kernel forwarded itself, those whose bytes are gone, and those who are silent.
    pub fn second(&mut self, router: &mut Router) {
        self.asked.clear();
        if self.guests.counts() {
            self.read_counters();
            let when = self.when();
            self.guests.rest(when.0, &mut self.changes);
            self.guests.expire(when, &mut self.changes);
            self.settle(router);
            let moved = self.guests.moved_much();
            self.note_moved(moved);
        }
    }

    /// Notes bytes that are gone, by the ids of their vouchers.
    pub(super) fn note_moved(&self, moved: BTreeMap<String, u64>) {
        if !moved.is_empty() {
            self.store.note(Entry::Moved(moved).line());
        }
    }

    /// Reads the counters of those who are let in. An element that was put in anew begins at 0.
    pub(super) fn read_counters(&mut self) {
        let (mut counters, now) = (HashMap::new(), self.now());
        for set in rules::ADDRESSES {
            let name = SetName {
                family: Family::Inet,
                table: rules::TABLE.to_owned(),
                name: set.to_owned(),
            };
            let counts = match kernel::io::read_counts(&name, MOST_COUNTED) {
                Ok(counts) => counts,
                Err(error) => {
                    debug!(set, %error, "counters cannot be read");
                    continue;
                }
            };
            for count in counts {
                let Some(address) = address(&count.key) else {
                    continue;
                };
                let before = self.counters.get(&address).copied().unwrap_or(0);
                let grown = count.octets.checked_sub(before).unwrap_or(count.octets);
                self.moved(&address, grown, now);
                counters.insert(address, count.octets);
            }
        }
        self.counters = counters;
        self.counters_read();
    }

    /// What was put in anew was not counted yet.
    pub(super) fn uncount(&mut self, steps: &[Step]) {
        for step in steps {
            let (Step::Put(element, _) | Step::Remove(element)) = step;
            if let (true, Some(address)) = (
                rules::ADDRESSES.contains(&element.set),
                address(&element.key),
            ) {
                self.counters.remove(&address);
            }
        }
    }
}

/// The address that is an element's key.
pub(super) fn address(key: &[u8]) -> Option<IpAddr> {
    let ipv4 = <[u8; 4]>::try_from(key).map(IpAddr::from);
    ipv4.or_else(|_| <[u8; 16]>::try_from(key).map(IpAddr::from))
        .ok()
}
