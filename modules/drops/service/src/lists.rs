//! Keeps the lists of early drops in step with the kernel: the configured sets, the routes that
//! drop, and learning. In doubt a list is suspended at once, and read again; meanwhile the kernel
//! drops.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use datapath::{DROP_PREFIXES, Datapath, DropCount, DropEntry, DropKinds, DropList};
use kernel::io::{read_routes, read_set};
use kernel::{Event, Prefix, SetEvent, SetName, Source};
use offload_core::Core;
use offload_core::drops::{difference, prefixes, routes, rules::Rules};
use tracing::{debug, info, warn};

use super::config::Drops;
use super::permit::Permits;
use super::state::{RoutesState, SetState, UNREAD, UnusedReason, unreadable};

/// Shortest pause between two reads of a set.
const PAUSE: Duration = Duration::from_millis(100);
/// Interval of reading a set that packets or time change: no event reports that.
const SILENT: Duration = Duration::from_secs(1);
/// Shortest pause between two reads of the routes.
const ROUTES_PAUSE: Duration = Duration::from_secs(1);
/// Divisor of time: reading uses at most one part in this many.
const SHARE: u32 = 50;
/// Most elements of one set: a range is two elements.
const ELEMENTS: usize = 2 * DROP_PREFIXES;
/// Most routes read.
const ROUTES: usize = 131_072;

/// For drops by a set or a blackhole, one packet per second and prefix, or one of 256, goes to the
/// kernel.
const SILENT_DROP: DropEntry = DropEntry {
    except: false,
    every: 256,
    pause: 1000,
};
/// The kernel answers packets that these routes drop, at a limited rate (`icmp_msgs_per_sec` and
/// one a second and sender): enough packets pass for that.
const ANSWERED_DROP: DropEntry = DropEntry {
    except: false,
    every: 8,
    pause: 10,
};
const HOLE: DropEntry = DropEntry {
    except: true,
    every: 1,
    pause: 1,
};

/// Settings of early drops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DropSettings {
    /// True to learn from netfilter's drops.
    pub learn: bool,
    /// Sets of sources.
    pub sets: Vec<SetName>,
    /// Devices at which the sets apply; none: all.
    pub ports: Vec<String>,
    /// True to use only sets whose packets the ruleset drops.
    pub verify: bool,
    /// True to drop by routes.
    pub routes: bool,
}

impl DropSettings {
    /// Reads the settings from the configuration.
    pub fn of(drops: &Drops) -> Self {
        let ports = drops.ports.iter();
        Self {
            learn: *drops.learn,
            sets: drops.sets.value.clone(),
            ports: ports.map(|device| device.0.clone()).collect(),
            verify: *drops.verify,
            routes: *drops.routes,
        }
    }
}

/// State of early drops.
#[derive(Debug, Default)]
pub struct DropLists {
    pub(crate) settings: DropSettings,
    pub(crate) sets: Vec<SetState>,
    /// Contents of the packet path: prefix → number of the set.
    pub(crate) listed: BTreeMap<Prefix, usize>,
    pub(crate) routes: RoutesState,
    /// A read of the ruleset counts only if this number is still that of its start.
    rules_changed: u64,
    rules_read: u64,
    permits: Permits,
    told: Vec<String>,
}

impl DropLists {
    /// Applies settings, and discards the old lists.
    pub fn configure(&mut self, settings: DropSettings, path: &mut Datapath) {
        if self.settings == settings && !self.told.is_empty() {
            return;
        }
        let now = Instant::now();
        let over = || Some(UnusedReason::Refused("the configuration changed".into()));
        self.sets.iter_mut().for_each(|set| set.content = over());
        self.suspend(path);
        self.put_sources(path);
        self.settings = settings;
        let sets = self.settings.sets.iter().cloned();
        let verify = self.settings.verify;
        self.sets = sets.map(|name| SetState::new(name, verify, now)).collect();
        self.routes = RoutesState {
            content: Some(UnusedReason::Waiting("routes have not been read yet")),
            rules: Some(UNREAD),
            due: self.settings.routes.then_some(now),
            listed: std::mem::take(&mut self.routes.listed),
            ..RoutesState::default()
        };
        self.put_routes(BTreeMap::new(), path);
        if self.settings.learn
            && let Some(Err(error)) = path.drops.learns()
        {
            warn!(%error, "cannot learn drops");
        }
        self.resume(path);
    }

    /// Returns true if the text of the ruleset is needed.
    pub fn needs_rules(&self) -> bool {
        !self.settings.sets.is_empty() || self.settings.routes
    }

    /// Returns true if the settings ask for any early drops.
    pub fn is_enabled(&self) -> bool {
        self.settings.learn || self.needs_rules()
    }

    /// Notes that reading of the ruleset begins.
    pub fn rules_reading(&mut self) {
        self.rules_read = self.rules_changed;
    }

    /// Takes the ruleset, or the error of reading it. `legacy`: another ruleset exists that `nft`
    /// does not show.
    pub fn rules(&mut self, rules: Result<&Rules, &str>, legacy: bool, path: &mut Datapath) {
        if !self.needs_rules() || self.rules_read != self.rules_changed {
            return;
        }
        for set in &mut self.sets {
            set.rules = match (&rules, self.settings.verify) {
                (_, false) => None,
                (Ok(rules), true) => rules
                    .drops_all(&set.name, &self.settings.ports)
                    .err()
                    .map(|why| UnusedReason::Refused(why.to_string())),
                (Err(error), true) => Some(unreadable(error)),
            };
        }
        self.routes.rules = match (legacy, rules) {
            (true, _) => Some(UnusedReason::Refused(
                "iptables-legacy is in use, whose rules weir cannot read".into(),
            )),
            (false, Ok(rules)) => rules.redirects().map(|rule| {
                UnusedReason::Refused(format!(
                    "a rule may send packets to another destination ({rule})"
                ))
            }),
            (false, Err(error)) => Some(unreadable(error)),
        };
        self.suspend(path);
        self.put_sources(path);
        self.resume(path);
    }

    /// Handles changes of sets or rules.
    pub fn on_set_events(&mut self, events: &[SetEvent], path: &mut Datapath) {
        let now = Instant::now();
        for event in events {
            let lost = *event == SetEvent::Lost;
            if lost || *event == SetEvent::Rules {
                self.rules_changed += 1;
                if self.settings.verify {
                    self.sets
                        .iter_mut()
                        .for_each(|set| set.rules = Some(UNREAD));
                }
                self.routes.rules = Some(UNREAD);
                // No event reports the sets of a deleted table.
                self.sets.iter_mut().for_each(|set| set.due = Some(now));
            }
            for set in &mut self.sets {
                if lost || matches!(event, SetEvent::Set(name) if *name == set.name) {
                    set.content = Some(UnusedReason::Waiting(
                        "it changed, and weir is reading it again",
                    ));
                    set.due = Some(now);
                }
            }
        }
        self.suspend(path);
        self.tick(path);
    }

    /// Checks which learned drops may apply. To be called several times a second, and after events.
    pub fn permit(&mut self, core: &Core, path: &mut Datapath, events: bool) {
        if self.settings.learn && (!events || self.permits.are_stale()) {
            self.permits.renew(core, path);
        }
    }

    /// Suspends routes or learned drops if an event makes them uncertain.
    pub fn on_event(&mut self, event: &Event, path: &mut Datapath) {
        self.permits.heard(event);
        let about_routes = matches!(
            event,
            Event::Routing
                | Event::Forwarding(_)
                | Event::Link(_)
                | Event::LinkGone(_)
                | Event::Address(..)
                | Event::Overrun(Source::Route)
        );
        if !about_routes || !self.settings.routes {
            return;
        }
        self.routes.content = Some(UnusedReason::Waiting(
            "routes changed, and weir is reading them again",
        ));
        let now = Instant::now();
        let soon = self
            .routes
            .read
            .map_or(now, |read| (read + ROUTES_PAUSE).max(now));
        self.routes.due.get_or_insert(soon);
        self.suspend(path);
        self.resume(path);
    }

    /// Reads sets and routes that are due, and removes expired elements. Call this several times a
    /// second.
    pub fn tick(&mut self, path: &mut Datapath) {
        if !self.needs_rules() {
            return;
        }
        let now = Instant::now();
        let mut sources = self.expire(now);
        for at in 0..self.sets.len() {
            let set = &self.sets[at];
            let free = set.read.is_none_or(|read| now >= read + PAUSE);
            if free && set.due.is_some_and(|due| now >= due) {
                self.read_set(at);
                sources = true;
            }
        }
        if sources {
            self.put_sources(path);
        }
        if self.settings.routes && self.routes.due.is_some_and(|due| now >= due) {
            self.read_routes(path);
        }
        self.resume(path);
    }

    /// Removes prefixes whose timeout in the set is over.
    fn expire(&mut self, now: Instant) -> bool {
        let mut any = false;
        for set in &mut self.sets {
            let before = set.prefixes.len();
            set.prefixes
                .retain(|_, until| until.is_none_or(|until| now < until));
            any |= set.prefixes.len() != before;
        }
        any
    }

    fn read_set(&mut self, at: usize) {
        let begun = Instant::now();
        let set = &mut self.sets[at];
        let read = read_set(&set.name, ELEMENTS)
            .map_err(|error| error.to_string())
            .and_then(|content| {
                prefixes::of_set(&content, DROP_PREFIXES).map_err(|problem| problem.to_string())
            });
        let took = begun.elapsed();
        set.read = Some(begun + took);
        set.due = None;
        match read {
            Ok(found) => {
                if found.silent {
                    set.due = Some(begun + SILENT.max(took * SHARE));
                }
                set.content = None;
                set.skipped = found.left_out;
                let until =
                    |expires: Option<u64>| expires.map(|ms| begun + Duration::from_millis(ms));
                set.prefixes = found
                    .prefixes
                    .into_iter()
                    .map(|(prefix, expires)| (prefix, until(expires)))
                    .collect();
            }
            Err(problem) => {
                // The set may appear, or shrink: events report that. A set that changes all the
                // time is tried again.
                debug!(set = %set.name, problem, "not usable as a list of sources");
                set.due = Some(begun + SILENT.max(took * SHARE));
                set.content = Some(UnusedReason::Refused(problem));
                set.prefixes.clear();
            }
        }
    }

    fn read_routes(&mut self, path: &mut Datapath) {
        let begun = Instant::now();
        let mut found = BTreeMap::new();
        let mut problem = None;
        for ipv6 in [false, true] {
            let of_family = read_routes(ipv6, ROUTES)
                .map_err(|error| error.to_string())
                .and_then(|routing| {
                    routes::of_routes(&routing, DROP_PREFIXES).map_err(|why| why.to_string())
                });
            match of_family {
                Ok(prefixes) => found.extend(prefixes),
                Err(why) => problem = Some(format!("IPv{}: {why}", if ipv6 { 6 } else { 4 })),
            }
        }
        let took = begun.elapsed();
        self.routes.read = Some(begun + took.max(took * SHARE));
        self.routes.due = None;
        self.routes.content = problem.map(UnusedReason::Refused);
        if self.routes.content.is_some() {
            found.clear();
            self.routes.due = Some(begun + 10 * ROUTES_PAUSE.max(took * SHARE));
        }
        self.put_routes(found, path);
    }

    /// Brings the packet path's list of sources in line with the sets.
    fn put_sources(&mut self, path: &mut Datapath) {
        let mut wanted: BTreeMap<Prefix, usize> = BTreeMap::new();
        for (number, set) in self.sets.iter_mut().enumerate() {
            set.in_path = !set.refused();
            if !set.in_path {
                continue;
            }
            for prefix in set.prefixes.keys() {
                wanted.entry(*prefix).or_insert(number);
            }
            let (mut four, mut six) = (0, 0);
            for prefix in wanted.keys() {
                *(if prefix.address.is_ipv4() {
                    &mut four
                } else {
                    &mut six
                }) += 1;
            }
            if four > DROP_PREFIXES || six > DROP_PREFIXES {
                wanted.retain(|_, of| *of != number);
                set.in_path = false;
                set.content = Some(UnusedReason::Refused(format!(
                    "together with earlier sets, it needs more than {DROP_PREFIXES} prefixes"
                )));
            }
        }
        let change = difference(&self.listed, &wanted);
        for prefix in change.gone.iter().chain(change.new.iter().map(|(p, _)| p)) {
            let Some(number) = self.listed.remove(prefix) else {
                continue;
            };
            match path.drops.take(DropList::Sources, prefix) {
                Ok(count) => {
                    if let Some(set) = self.sets.get_mut(number) {
                        add(&mut set.gone, count);
                    }
                }
                Err(error) => self.give_up(number, &error),
            }
        }
        for (prefix, number) in change.new {
            match path.drops.put(DropList::Sources, &prefix, SILENT_DROP) {
                Ok(()) => drop(self.listed.insert(prefix, number)),
                Err(error) => return self.give_up(number, &error),
            }
        }
    }

    /// Leaves a set that the packet path cannot handle to the kernel until the set changes.
    fn give_up(&mut self, number: usize, error: &datapath::Error) {
        if let Some(set) = self.sets.get_mut(number) {
            set.content = Some(UnusedReason::Refused(error.to_string()));
        }
    }

    fn put_routes(&mut self, wanted: BTreeMap<Prefix, routes::Fate>, path: &mut Datapath) {
        let change = difference(&self.routes.listed, &wanted);
        for prefix in &change.gone {
            match path.drops.take(DropList::Routes, prefix) {
                Ok(count) => add(&mut self.routes.gone, count),
                Err(error) => self.routes.content = Some(UnusedReason::Refused(error.to_string())),
            }
        }
        for (prefix, fate) in &change.new {
            let entry = match fate {
                routes::Fate::Hole => HOLE,
                routes::Fate::Silent => SILENT_DROP,
                routes::Fate::Answered => ANSWERED_DROP,
            };
            if let Err(error) = path.drops.put(DropList::Routes, prefix, entry) {
                self.routes.content = Some(UnusedReason::Refused(error.to_string()));
            }
        }
        self.routes.listed = wanted;
    }

    pub(crate) fn kinds(&self) -> DropKinds {
        let doubtful = |set: &SetState| set.in_path && set.doubt().is_some();
        DropKinds {
            learned: self.settings.learn,
            sources: !self.listed.is_empty() && !self.sets.iter().any(doubtful),
            routes: self.routes.doubt().is_none() && !self.routes.listed.is_empty(),
        }
    }

    /// Suspends drops by lists in doubt.
    fn suspend(&self, path: &mut Datapath) {
        let kinds = self.kinds();
        path.drops.set_kinds(DropKinds {
            sources: false,
            ..kinds
        });
    }

    /// Drops by lists that are certain, and logs changes.
    fn resume(&mut self, path: &mut Datapath) {
        path.drops.set_kinds(self.kinds());
        let told: Vec<String> = self
            .sets
            .iter()
            .map(|set| match set.doubt() {
                None => format!("{}: drops {} prefixes early", set.name, set.prefixes.len()),
                Some(doubt) => format!("{}: left to the kernel, as {}", set.name, doubt.text()),
            })
            .chain(self.settings.routes.then(|| match self.routes.doubt() {
                None => format!("routes: {} prefixes", self.routes.listed.len()),
                Some(doubt) => format!("routes: left to the kernel, as {}", doubt.text()),
            }))
            .collect();
        for line in told.iter().filter(|line| !self.told.contains(line)) {
            info!("early drops: {line}");
        }
        self.told = told;
    }

    /// Sets the ports of the packet path at which sources apply.
    pub fn ports<'a>(&self, ports: impl Iterator<Item = (u32, &'a str)>, path: &mut Datapath) {
        for (link, name) in ports {
            let on =
                self.settings.ports.is_empty() || self.settings.ports.iter().any(|p| p == name);
            path.drops.set_port(link, on);
        }
    }
}

pub(crate) fn add(sum: &mut DropCount, count: DropCount) {
    sum.dropped += count.dropped;
    sum.sampled += count.sampled;
    sum.confirmed += count.confirmed;
}
