//! What the daemon knows of guests, and what it makes of that in the kernel.

mod account;
mod bytes;
mod come;
mod days;
mod garden;
mod gift;
mod hours;
mod node;
mod outside;
mod sale;
mod seen;
mod shown;
mod tries;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use kernel::sets::Family;
use kernel::{ConnectionId, ElementStep, Mac};
use portal_core::guests::{Change, Guests};
use portal_core::journal::Entry;
use portal_core::keys::Trusted;
use portal_core::rates::Slowed;
use portal_core::rules::{self, Admitted, Step};
use portal_core::schedule::{Mode, Schedule};
use portal_core::voucher::Origin;
use portal_core::{Millis, journal};
use tokio::sync::oneshot;
use tracing::warn;

pub use account::Accounts;
pub use days::Days;
pub use gift::Gift;
pub use node::{Node, key};
pub use sale::MOST;

use garden::Garden;
use hours::Hours;
use tries::Tries;

use super::store::Store;
use runtime::daemon::{Firewall, Router, unix_seconds};

/// How often is noted what is used of vouchers: flash wears out.
const NOTED: Duration = Duration::from_secs(60);

/// How often those who come are let in: each change of a set ends all proofs of the packet path, so
/// those who come together are let in together.
const TOGETHER: Duration = Duration::from_millis(250);

/// The middle of the portal.
pub struct Keeper {
    /// What stands in the firewall, without guests.
    pub portal: rules::Portal,
    pub guests: Guests,
    pub store: Store,
    pub firewall: Firewall,
    pub node: Node,
    pub days: Days,
    /// Names that everybody may reach.
    pub garden: Garden,
    began: Instant,
    noted: Instant,
    tries: Tries,
    /// Changes that are still to be made.
    changes: Vec<Change>,
    /// Elements that are to be put into the kernel's sets, and when the last ones were.
    pending: Vec<Step>,
    /// Whose rate the kernel limits.
    slowed: Slowed,
    put: Option<Instant>,
    /// Who waits for that.
    waiting: Vec<oneshot::Sender<()>>,
    /// When somebody's time is over next.
    expiry: Option<Instant>,
    /// What is free.
    gift: Option<Gift>,
    hours: Hours,
    /// The firewall was told last of rules alone.
    as_before: bool,
    /// When devices saw the page first, and when what was free to them ends.
    visits: HashMap<Mac, (Instant, Option<Instant>)>,
    /// Questions for names that were brought here, by who asked. Conntrack would bring more of the
    /// same here after the log-in, too.
    brought: HashMap<IpAddr, Vec<ConnectionId>>,
    /// Devices of which another browser was seen than theirs, and when.
    others: HashMap<Mac, u64>,
    /// Devices of the machine came, went, or are called otherwise since they were looked at.
    pub devices_changed: bool,
    /// Devices of the portal that are not there.
    missing: Vec<String>,
    /// Addresses of which was asked in this second whose they are.
    asked: HashSet<IpAddr>,
    /// Bytes that the kernel counted of each address, as they were read last.
    counters: HashMap<IpAddr, u64>,
}

impl Keeper {
    pub fn new(
        portal: rules::Portal,
        (gift, schedule): (Option<Gift>, Schedule),
        (store, read): (Store, journal::Read),
        (node, days): (Node, Days),
        exempt: &[Mac],
    ) -> Self {
        let began = Instant::now();
        let mut changes = Vec::new();
        let mut guests = Guests::new(read.vouchers.into_values(), 0, &mut changes);
        guests.exempt(exempt, &mut changes);
        let mut keeper = Self {
            portal,
            guests,
            store,
            firewall: Firewall::default(),
            node,
            days,
            garden: Garden::default(),
            began,
            noted: began,
            tries: Tries::default(),
            // All of them come with the table.
            changes: Vec::new(),
            pending: Vec::new(),
            slowed: Slowed::default(),
            put: None,
            waiting: Vec::new(),
            counters: HashMap::new(),
            brought: HashMap::new(),
            others: HashMap::new(),
            asked: HashSet::new(),
            devices_changed: true,
            missing: Vec::new(),
            gift,
            hours: Hours::new(schedule, (began, unix_seconds())),
            as_before: false,
            visits: HashMap::new(),
            expiry: None,
        };
        keeper.reckon();
        keeper
    }

    /// The clock by which the time of vouchers goes by.
    pub fn now(&self) -> Millis {
        let gone = self.began.elapsed().saturating_sub(self.hours.paused());
        gone.as_millis() as Millis
    }

    fn when(&self) -> (Millis, u64) {
        (self.now(), unix_seconds())
    }

    /// Brings the firewall's table about, with all guests.
    pub fn table(&mut self) {
        let all = self.guests.all(self.now()).into_iter();
        let admitted: Vec<_> = all.filter_map(|change| self.within(change)).collect();
        let open = (self.hours.mode == Mode::Open).then(|| {
            let lasts = self.hours.lasts();
            lasts.map_or(Millis::MAX, |lasts| lasts.as_millis() as Millis)
        });
        self.as_before = false;
        self.garden.doubt();
        self.slowed = self.guests.slowed();
        let admitted = Admitted::These(&admitted, &self.slowed, open);
        self.firewall.tell(rules::create(&self.portal, &admitted));
    }

    /// The firewall did not take what it was told. Whether it is told something else now: where only
    /// rules were to change, the table may have been gone.
    pub fn refused(&mut self) -> bool {
        let again = std::mem::take(&mut self.as_before);
        if again {
            self.table();
        }
        again
    }

    /// What of a change the kernel is to know at these hours.
    fn within(&self, change: Change) -> Option<Change> {
        let bound = |mac: &Mac, left| {
            let guest = self.guests.guest(mac);
            match guest.is_some_and(|guest| guest.voucher.is_none()) {
                true => Some(left),
                false => self.hours.bound(left),
            }
        };
        Some(match change {
            Change::Admit(mac, left) => Change::Admit(mac, bound(&mac, left)?),
            Change::Address(mac, address, left) => {
                Change::Address(mac, address, bound(&mac, left)?)
            }
            other => other,
        })
    }

    /// Other hours may have begun.
    fn look_at_hours(&mut self, router: &mut Router) {
        if !self.hours.look(unix_seconds()) {
            return;
        }
        self.other_hours(router);
    }

    fn other_hours(&mut self, router: &mut Router) {
        self.table();
        self.reckon();
        if self.hours.mode == Mode::Closed {
            let guests = self.guests.guests();
            let gone = guests.filter(|(_, guest)| guest.voucher.is_some());
            let gone = gone.flat_map(|(_, guest)| guest.addresses.iter().copied());
            end_connections(&gone.collect(), router);
        }
    }

    /// When somebody's time is over next.
    fn reckon(&mut self) {
        let now = self.now();
        let next = self.guests.next(now).filter(|_| self.hours.runs());
        self.expiry = next.map(|at| Instant::now() + Duration::from_millis(at.saturating_sub(now)));
    }

    /// The configuration was read anew.
    pub fn configure(
        &mut self,
        (portal, schedule): (rules::Portal, Schedule),
        (exempt, trust): (&[Mac], &[Trusted]),
        router: &mut Router,
    ) {
        self.node.trust(trust);
        let same = std::mem::replace(&mut self.portal, portal) == self.portal;
        self.guests.exempt(exempt, &mut self.changes);
        let known: Vec<_> = router.core.neighbours().collect();
        for neighbour in known {
            self.notice(&neighbour, router);
        }
        self.settle(router);
        if self.hours.configure(schedule, unix_seconds()) {
            self.other_hours(router);
        } else if !same && self.firewall.rests() {
            let before = rules::create(&self.portal, &Admitted::AsBefore);
            self.firewall.tell(before);
            self.as_before = true;
        } else if !same {
            // Who is let in is on its way: only the last of what waits gets there.
            self.table();
        }
    }

    /// Ready when all who came are let in; `None`: they are.
    pub fn let_in(&mut self) -> Option<oneshot::Receiver<()>> {
        if self.pending.is_empty() {
            return None;
        }
        let (told, heard) = oneshot::channel();
        self.waiting.push(told);
        Some(heard)
    }

    /// A voucher is called back.
    pub fn invalidate(&mut self, id: &str, router: &mut Router) -> bool {
        let when = self.when();
        let done = self.guests.invalidate(id, when, &mut self.changes);
        self.settle(router);
        done
    }

    /// A voucher gets another name.
    pub fn rename(&mut self, id: &str, name: String, router: &mut Router) -> bool {
        let now = self.now();
        let done = self.guests.rename(id, name, now, &mut self.changes);
        self.settle(router);
        done
    }

    /// Those whose time is over go; what was used is noted.
    pub fn turn(&mut self, router: &mut Router) {
        self.look_at_hours(router);
        self.look_at_garden();
        let when = self.when();
        self.guests.expire(when, &mut self.changes);
        self.settle(router);
        if self.noted.elapsed() >= NOTED {
            self.note();
        }
    }

    /// Notes what was used so far.
    pub fn note(&mut self) {
        self.noted = Instant::now();
        self.look_at_day();
        let used = self.guests.used(self.now());
        if !used.is_empty() {
            self.store.note(Entry::Used(used).line());
        }
        let moved = self.guests.all_moved();
        self.note_moved(moved);
    }

    /// The file of figures, where the last ones could not be written.
    pub fn days_unwritten(&self) -> Option<String> {
        self.days.unwritten()
    }

    /// Ready when all that was noted is on the disk, as far as the disk takes it.
    pub fn settled(&self) -> impl Future<Output = ()> + use<> {
        let (vouchers, days) = (self.store.settled(), self.days.settled());
        async move {
            // What could not be written was told.
            let _ = vouchers.await;
            let _ = days.await;
        }
    }

    /// When there is something to do.
    pub fn turn_at(&self) -> Instant {
        let put =
            (!self.pending.is_empty()).then(|| self.put.map_or(self.began, |at| at + TOGETHER));
        let others = [self.expiry, put, self.hours.next(), self.garden.due()];
        let others = others.into_iter().flatten();
        others.fold(self.noted + NOTED, Instant::min)
    }

    /// Does what has changed.
    fn settle(&mut self, router: &mut Router) {
        let changes = std::mem::take(&mut self.changes);
        let told: Vec<_> = changes
            .iter()
            .filter_map(|change| match change {
                Change::Keep(_) => None,
                other => self.within(other.clone()),
            })
            .collect();
        self.pending.extend(told.iter().flat_map(rules::steps));
        let ends = self
            .pending
            .iter()
            .any(|step| matches!(step, Step::Remove(_)));
        let rested = self.put.is_none_or(|at| at.elapsed() >= TOGETHER);
        // Before the kernel limits them: nothing of theirs goes past it.
        if !told.is_empty() {
            router.slow(self.guests.slowed().addresses());
        }
        // Who goes does not wait.
        if ends || rested {
            self.flush();
        }
        if !changes.is_empty() {
            self.reckon();
        }
        let mut ended = HashSet::new();
        // Of a voucher that changed twice only how it is now is written.
        let (mut kept, mut forgets) = (BTreeMap::new(), false);
        for change in changes {
            match change {
                Change::Address(_, address, _) => {
                    let brought = self.brought.remove(&address).unwrap_or_default();
                    if let Err(error) = kernel::io::forget(&brought) {
                        warn!(%error, "conntrack goes on to bring names here for a guest");
                    }
                }
                Change::Keep(voucher) if voucher.origin == Origin::Free => {}
                Change::Keep(voucher) => {
                    forgets |= voucher.origin == Origin::Account && voucher.over.is_some();
                    kept.insert(voucher.id.clone(), voucher);
                }
                Change::End(address) => {
                    ended.insert(address);
                }
                _ => {}
            }
        }
        for voucher in kept.into_values() {
            self.store.note(Entry::Voucher(voucher).line());
        }
        if forgets {
            self.store.forget();
        }
        end_connections(&ended, router);
    }

    fn flush(&mut self) {
        let steps = std::mem::take(&mut self.pending);
        if !steps.is_empty() {
            self.put = Some(Instant::now());
            // What is put in anew counts from 0.
            if self.guests.counts() || self.loses_counts(&steps) {
                self.read_counters();
            }
            self.put(&steps);
            self.uncount(&steps);
        }
        for waiting in self.waiting.drain(..) {
            // Those who no longer listen have gone.
            let _ = waiting.send(());
        }
    }

    /// Changes the kernel's sets. Where that fails, the table comes anew, with all that is in it.
    fn put(&mut self, steps: &[Step]) {
        // Of an element only what is last counts: the kernel takes out none twice.
        let last: BTreeMap<_, _> = steps
            .iter()
            .map(|step| match step {
                Step::Put(element, left) => (
                    (element.set, &element.key),
                    Some(left.map(Duration::from_millis)),
                ),
                Step::Remove(element) => ((element.set, &element.key), None),
            })
            .collect();
        let steps = last.into_iter().map(|((set, key), put)| ElementStep {
            set,
            key,
            put,
            limit: None,
        });
        let slowed = self.guests.slowed();
        let mut batch = self.slowed.batch(&slowed);
        batch.steps.extend(steps);
        let changed = kernel::io::change_elements(Family::Inet, rules::TABLE, &batch);
        if changed.is_ok() {
            self.slowed = slowed;
        } else if let Err(error) = changed {
            warn!(%error, "the firewall's sets of guests cannot be changed; its table comes anew");
            self.table();
        }
    }
}

/// Whole seconds in which a time is over.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + 1
}

/// Conntrack forgets what it knows of these addresses; weir hears of that, and forwards it no more.
fn end_connections(ended: &HashSet<IpAddr>, router: &Router) {
    if ended.is_empty() {
        return;
    }
    let concerned =
        |tuple: &kernel::Tuple| ended.contains(&tuple.source) || ended.contains(&tuple.destination);
    let flows = router.core.flows();
    let theirs = flows.filter(|(_, flow)| concerned(&flow.original()) || concerned(&flow.reply));
    let ids: Vec<ConnectionId> = theirs.map(|(_, flow)| flow.id).collect();
    if let Err(error) = kernel::io::forget(&ids) {
        warn!(%error, "connections of who is let in no more go on in conntrack; their packets are \
            refused all the same");
    }
}
