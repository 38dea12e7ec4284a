//! The portal's table in the firewall: pending elements, and counters of present ones.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use kernel::sets::Family;
use kernel::{ElementStep, SetName};
use portal_core::Millis;
use portal_core::guests::Change;
use portal_core::rates::RateLimits;
use portal_core::rules::{self, AdmittedDevices, SetChange};
use tokio::sync::oneshot;
use tracing::{debug, warn};

use runtime::daemon::Firewall;

/// Maximum number of elements per set whose counters are read.
const MOST_COUNTED: usize = 65_536;

/// Interval between admissions: each change of a set ends all proofs of the packet path, so devices
/// that log in within one interval are admitted together.
const TOGETHER: Duration = Duration::from_millis(250);

/// Counters that go are read before, no more often than this: many may go at once.
const BEFORE: Duration = Duration::from_secs(1);

/// The portal's firewall table.
pub struct FirewallTable {
    pub firewall: Firewall,
    /// True if the last firewall command changed only rules.
    as_before: bool,
    /// Elements that are to be put into the kernel's sets, and when the next ones may be.
    pending: Vec<SetChange>,
    next: Instant,
    /// Requests that wait for pending elements.
    waiting: Vec<oneshot::Sender<()>>,
    /// Devices whose rate the kernel limits.
    slowed: RateLimits,
    /// Bytes that the kernel counted of each address, as they were read last, and when that was.
    counters: HashMap<IpAddr, u64>,
    read: Instant,
}

impl FirewallTable {
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            firewall: Firewall::default(),
            as_before: false,
            pending: Vec::new(),
            next: now,
            waiting: Vec::new(),
            slowed: RateLimits::default(),
            counters: HashMap::new(),
            read: now,
        }
    }

    /// Creates the table with all guests; `open`: duration of open access.
    pub fn create(
        &mut self,
        portal: &rules::TableSettings,
        (admitted, slowed): (&[Change], RateLimits),
        open: Option<Millis>,
    ) {
        self.as_before = false;
        self.slowed = slowed;
        let admitted = AdmittedDevices::These(admitted, &self.slowed, open);
        self.firewall.load(rules::create(portal, &admitted));
    }

    /// Changes rules, and no set. Returns false where the firewall is busy with the table.
    pub fn change_rules(&mut self, portal: &rules::TableSettings) -> bool {
        let rests = self.firewall.is_idle();
        if rests {
            self.firewall
                .load(rules::create(portal, &AdmittedDevices::AsBefore));
            self.as_before = true;
        }
        rests
    }

    /// Handles a command that the firewall refused. Returns true if that command changed only
    /// rules: the table may have been gone.
    pub fn refused(&mut self) -> bool {
        std::mem::take(&mut self.as_before)
    }

    /// Queues changes of guests for the kernel. Returns true if they are due now: a removal does
    /// not wait.
    pub fn queue(&mut self, changes: &[Change]) -> bool {
        self.pending
            .extend(changes.iter().flat_map(rules::set_changes));
        let mut steps = self.pending.iter();
        steps.any(|step| matches!(step, SetChange::Remove(_))) || self.next <= Instant::now()
    }

    /// Returns when pending elements are due.
    pub fn due(&self) -> Option<Instant> {
        (!self.pending.is_empty()).then_some(self.next)
    }

    /// Completes when all pending devices are admitted; `None`: none is pending.
    pub fn let_in(&mut self) -> Option<oneshot::Receiver<()>> {
        if self.pending.is_empty() {
            return None;
        }
        let (told, heard) = oneshot::channel();
        self.waiting.push(told);
        Some(heard)
    }

    /// Takes the pending set changes.
    pub fn take(&mut self) -> Vec<SetChange> {
        std::mem::take(&mut self.pending)
    }

    /// Notifies requests that all pending devices are admitted.
    pub fn taken(&mut self) {
        for waiting in self.waiting.drain(..) {
            // A receiver that is gone needs no message.
            let _ = waiting.send(());
        }
    }

    /// Changes the kernel's sets, and which devices are limited. Returns whether that worked.
    pub fn apply(&mut self, steps: &[SetChange], slowed: RateLimits) -> bool {
        self.next = Instant::now() + TOGETHER;
        // Only the last step of an element counts: the kernel cannot remove an element twice.
        let last: BTreeMap<_, _> = steps
            .iter()
            .map(|step| match step {
                SetChange::Put(element, left) => (
                    (element.set, &element.key),
                    Some(left.map(Duration::from_millis)),
                ),
                SetChange::Remove(element) => ((element.set, &element.key), None),
            })
            .collect();
        let elements = last.into_iter().map(|((set, key), put)| ElementStep {
            set,
            key,
            put,
            limit: None,
        });
        let mut batch = self.slowed.batch(&slowed);
        batch.steps.extend(elements);
        let changed = kernel::io::change_elements(Family::Inet, rules::TABLE, &batch);
        // A replaced element has not been counted yet.
        for step in steps {
            if let Some(address) = counted(step) {
                self.counters.remove(&address);
            }
        }
        match changed {
            Ok(()) => self.slowed = slowed,
            Err(error) => {
                warn!(%error, "cannot change the firewall's sets of guests: creating the table again");
                return false;
            }
        }
        true
    }

    /// Returns true if these steps would lose counts not read yet.
    pub fn loses_counts(&self, steps: &[SetChange]) -> bool {
        let is_known = |step| counted(step).is_some_and(|one| self.counters.contains_key(&one));
        self.read.elapsed() >= BEFORE
            && steps.iter().any(|step| match step {
                SetChange::Remove(element) => rules::ADDRESSES.contains(&element.set),
                SetChange::Put(..) => is_known(step),
            })
    }

    /// Returns new bytes per address since the last call. A replaced element restarts at 0.
    pub fn read_counters(&mut self) -> Vec<(IpAddr, u64)> {
        let (mut counters, mut all) = (HashMap::new(), Vec::new());
        for set in rules::ADDRESSES {
            let name = SetName {
                family: Family::Inet,
                table: rules::TABLE.to_owned(),
                name: set.to_owned(),
            };
            let counts = match kernel::io::read_counts(&name, MOST_COUNTED) {
                Ok(counts) => counts,
                Err(error) => {
                    debug!(set, %error, "cannot read counters");
                    continue;
                }
            };
            for count in counts {
                let Some(address) = address(&count.key) else {
                    continue;
                };
                let before = self.counters.get(&address).copied().unwrap_or(0);
                let grown = count.octets.checked_sub(before).unwrap_or(count.octets);
                all.push((address, grown));
                counters.insert(address, count.octets);
            }
        }
        self.counters = counters;
        self.read = Instant::now();
        all
    }
}

/// Returns the address whose bytes a set change counts.
fn counted(step: &SetChange) -> Option<IpAddr> {
    let (SetChange::Put(element, _) | SetChange::Remove(element)) = step;
    let counts = rules::ADDRESSES.contains(&element.set);
    address(&element.key).filter(|_| counts)
}

/// Returns the address in an element's key.
fn address(key: &[u8]) -> Option<IpAddr> {
    let ipv4 = <[u8; 4]>::try_from(key).map(IpAddr::from);
    ipv4.or_else(|_| <[u8; 16]>::try_from(key).map(IpAddr::from))
        .ok()
}
