//! The core: what it knows, and who gets which event.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use kernel::{Address, ConnectionId, Event, Link, Neighbour, Source, Tuple};

use crate::action::{Action, Cause, FlowId, Millis, Reading};
use crate::decline::Decline;
use crate::flow::Flow;
use crate::older::Older;
use crate::pairs::Pairs;
use crate::ports::{PortFacts, PortPlan};
use crate::room::{ADMIT_PER_EVENT, ADMIT_PER_TICK};
use crate::route_programs::RoutePrograms;
use crate::ruleset::Concern;
use crate::settings::Settings;
use crate::statistics::Statistics;
use crate::surroundings::Surroundings;
use crate::table::Table;
use crate::upkeep::{LEGACY, Sweep};
use crate::watch::Watch;

/// A dump of one source: asked for, and what it will have shown by its end.
#[derive(Default)]
pub(crate) struct Dump {
    /// When it was asked for, while the end is awaited.
    pub(crate) running: Option<Millis>,
    /// Events were lost while it ran: what it shows is not everything.
    pub(crate) again: bool,
    /// Which dump this is; what is told from its start on carries this number.
    pub(crate) generation: u32,
    /// When the last one was asked for.
    pub(crate) last: Millis,
}

/// The decisions of weir. One event or tick in, actions out; see the crate's documentation.
///
/// Every call appends to `out`; actions must be applied in order, and at least once between two
/// ticks. What concerns devices, neighbours and stations as a whole is put off to [`Core::flush`],
/// which has to follow each batch of calls.
pub struct Core {
    pub(crate) settings: Settings,
    pub(crate) table: Table,
    pub(crate) around: Surroundings,
    pub(crate) connections: Dump,
    pub(crate) routes: Dump,
    pub(crate) firewall: Option<u32>,
    /// Rules that look at each packet, as last read.
    pub(crate) concerns: Vec<Concern>,
    /// Addresses whose rate weir has limited.
    pub(crate) slowed: HashSet<IpAddr>,
    /// Routes with a program that sees each packet.
    pub(crate) programs: RoutePrograms,
    /// When the ruleset changed last, until it was looked whether a flowtable went with it.
    pub(crate) rules_changed: Option<Millis>,
    /// Connections that may be installed once there is room: (not before, order of coming) → flow.
    pub(crate) waiting: BTreeMap<(Millis, u64), FlowId>,
    pub(crate) turns: u64,
    /// There are connections that are not remembered.
    pub(crate) forgot: bool,
    /// And some of them were told by the dump under way.
    pub(crate) forgot_lately: bool,
    /// Connections declined by the call under way.
    pub(crate) fresh: Vec<FlowId>,
    /// Conntrack zones ever seen.
    pub(crate) zones: HashSet<u16>,
    pub(crate) statistics: Statistics,
    pub(crate) now: Millis,
    pub(crate) reproof: Sweep,
    pub(crate) refresh: Sweep,
    pub(crate) watch: Watch,
    /// When all proofs end next, as a firewall is in use that tells of no changes.
    pub(crate) legacy: Option<Millis>,
    pub(crate) pairs: Pairs,
    /// TCP flows that forwarded much since the kernel saw them.
    pub(crate) far: Vec<FlowId>,
    /// Connections whose entries may send no events.
    pub(crate) older: Older,
    /// The kernel answers a question now; otherwise it reports by itself.
    pub(crate) answering: bool,
    /// Rules have conntrack not tell all of connections.
    pub(crate) hidden: bool,
    /// Rules may give an entry time-outs of its own.
    pub(crate) policies: bool,
    /// At the end: those that conntrack was asked for once more, and has as they were.
    pub(crate) answered: Option<HashSet<ConnectionId>>,
    /// Ends of all proofs.
    pub(crate) round: u64,
}

impl Core {
    /// A core that knows nothing yet. Follow with [`Core::start`].
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            table: Table::new(),
            around: Surroundings::default(),
            connections: Dump::default(),
            routes: Dump::default(),
            firewall: None,
            concerns: Vec::new(),
            slowed: HashSet::new(),
            programs: RoutePrograms::default(),
            rules_changed: None,
            waiting: BTreeMap::new(),
            turns: 0,
            forgot: false,
            forgot_lately: false,
            fresh: Vec::new(),
            zones: HashSet::new(),
            statistics: Statistics::default(),
            now: 0,
            reproof: Sweep::default(),
            refresh: Sweep::default(),
            watch: Watch::default(),
            legacy: None,
            pairs: Pairs::default(),
            far: Vec::new(),
            older: Older::default(),
            answering: false,
            hidden: false,
            policies: true,
            answered: None,
            round: 0,
        }
    }

    /// Asks for the first dumps: addresses before connections, so that what ends here is known as
    /// such.
    pub fn start(&mut self, now: Millis, out: &mut Vec<Action>) {
        self.clock(now);
        self.dump(Source::Route, out);
        self.dump(Source::Conntrack, out);
    }

    /// Takes one event.
    pub fn handle(&mut self, event: Event, now: Millis, out: &mut Vec<Action>) {
        self.clock(now);
        match event {
            Event::Connection(connection) => self.connection(&connection, out),
            Event::ConnectionGone(id) => self.connection_gone(&id, out),
            Event::Link(link) => self.link(link, out),
            Event::LinkGone(index) => self.link_gone(index, out),
            Event::Address(address, true) => self.address(address, out),
            Event::Address(address, false) => self.address_gone(&address, out),
            Event::Routing | Event::Policies | Event::Forwarding(_) => {
                self.bump(Cause::Routing, out)
            }
            Event::Neighbour(neighbour) => self.neighbour(neighbour, out),
            Event::Fdb(fdb) => self.station(&fdb),
            Event::Bridging(bridging) => self.bridging(&bridging, out),
            Event::BridgeVlan(index) => self.bridge_vlan(index, out),
            Event::Qdisc(qdisc) => self.qdisc(qdisc, out),
            // Whoever looks at them tells what was found.
            Event::Filters(_) | Event::Qdiscs(_) => {}
            Event::Firewall(generation) => {
                if self.firewall != Some(generation) {
                    self.firewall = Some(generation);
                    self.rules_changed = Some(self.now);
                    self.bump(Cause::Firewall(generation), out);
                }
            }
            Event::DumpEnd(source) => self.dump_end(source, out),
            Event::Overrun(source) => {
                self.bump(Cause::Overrun(source), out);
                match source {
                    Source::Conntrack | Source::Route => self.dump(source, out),
                    // The next generation, whatever it is, bumps again.
                    Source::Firewall | Source::Policy => {}
                }
            }
        }
        self.forget_excess();
        self.admit(ADMIT_PER_EVENT, out);
    }

    /// Something is over that no event tells of, as [`crate::Agenda`] says.
    pub fn expired(&mut self, now: Millis, out: &mut Vec<Action>) {
        self.clock(now);
        self.bump(Cause::Expiry, out);
    }

    /// Whether a firewall is in use that tells of no changes (iptables-legacy): all proofs end each
    /// second then. Whether that is new.
    pub fn legacy_firewall(&mut self, in_use: bool, now: Millis, out: &mut Vec<Action>) -> bool {
        if in_use == self.has_legacy_firewall() {
            return false;
        }
        self.clock(now);
        self.bump(Cause::Legacy, out);
        self.legacy = in_use.then_some(now + LEGACY);
        true
    }

    /// Whether rules may give an entry time-outs of its own ([`crate::ruleset::has_policies`]):
    /// where none does, the sysctls tell what it has.
    pub fn own_timeouts(&mut self, policies: bool) {
        self.policies = policies;
    }

    /// Whether rules have conntrack not tell all that is gone by here of connections
    /// ([`crate::ruleset::Silent::hidden`]): it is asked then.
    pub fn hidden_events(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    /// Whether such a firewall is in use.
    pub fn has_legacy_firewall(&self) -> bool {
        self.legacy.is_some()
    }

    /// To be called several times a second: refreshes conntrack time-outs, spreads re-proofs, frees
    /// numbers, repeats what went unanswered. `read` gives the original and the reply direction of
    /// an installed flow.
    ///
    /// The work is a share of all flows that follows from the time since the last tick, not all of
    /// them.
    pub fn tick(
        &mut self,
        now: Millis,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Vec<Action>,
    ) {
        self.clock(now);
        self.table.turn();
        self.upkeep(read, out);
        self.admit(ADMIT_PER_TICK, out);
        self.forget_excess();
        self.flush(out);
    }

    /// The end of a batch of events or other calls, and of each tick: plans devices anew where
    /// something changed, and ends the proofs over neighbours and stations that are elsewhere. A
    /// batch is what was heard at once: a thousand changes cost one flush.
    pub fn flush(&mut self, out: &mut Vec<Action>) {
        let moved = self.flush_stations(out);
        if std::mem::take(&mut self.around.unplanned) {
            self.replan(out);
            self.check_pairs(out);
        } else if moved {
            self.check_pairs(out);
        }
    }

    /// The part of [`Core::flush`] that ends proofs, for who has other work to do before it.
    pub fn flush_proofs(&mut self, out: &mut Vec<Action>) {
        self.flush_stations(out);
    }

    /// The packet path could not do an [`Action::Install`]; it does not know this flow. `TableFull`
    /// is tried again a second later; any other reason stands until the connection ends or its
    /// reply tuple changes.
    pub fn refused(&mut self, flow: FlowId, reason: Decline) {
        self.refuse(flow, reason);
    }

    /// What was found out about a device otherwise than by events.
    pub fn facts(&mut self, link: u32, facts: PortFacts, now: Millis, out: &mut Vec<Action>) {
        self.clock(now);
        self.learn_facts(link, facts, out);
    }

    /// New settings: every connection and device is looked at again, and all proofs end.
    pub fn reload(&mut self, settings: Settings, now: Millis, out: &mut Vec<Action>) {
        self.clock(now);
        if settings == self.settings {
            return;
        }
        let reports_again = self.settings.no_events && !settings.no_events;
        self.settings = settings;
        self.bump(Cause::Reload, out);
        if reports_again {
            // Connections that were made meanwhile were not reported.
            self.dump(Source::Conntrack, out);
        }
        self.trim(out);
        let all: Vec<FlowId> = self.table.iter().map(|(id, _)| id).collect();
        for id in all {
            self.settle(id, out);
        }
        self.admit(usize::MAX, out);
        // The limit may be a lower one: all that are declined are up for it.
        self.fresh = self
            .table
            .iter()
            .filter(|(_, flow)| !flow.installed())
            .map(|(id, _)| id)
            .collect();
        self.forget_excess();
        self.around.unplanned = true;
        self.flush(out);
    }

    /// One tracked connection.
    pub fn flow(&self, flow: FlowId) -> Option<&Flow> {
        self.table.get(flow)
    }

    /// Every tracked connection, declined ones too.
    pub fn flows(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        self.table.iter()
    }

    /// Connections that have this tuple, in either direction.
    pub fn find(&self, tuple: &Tuple) -> Vec<FlowId> {
        let mut found: Vec<FlowId> = self.table.ends(tuple).map(|(flow, _)| flow).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether every connection that conntrack told of is known here: with too many of them some
    /// are forgotten.
    pub fn knows_all(&self) -> bool {
        !self.forgot
    }

    /// What was decided for each device, by index.
    pub fn ports(&self) -> impl Iterator<Item = &PortPlan> {
        self.around.plans.values()
    }

    /// The devices known, by index.
    pub fn links(&self) -> impl Iterator<Item = &Link> + Clone {
        self.around.links.values().map(|(link, _)| link)
    }

    /// One of them.
    pub fn known_link(&self, link: u32) -> Option<&Link> {
        self.around.links.get(&link).map(|(link, _)| link)
    }

    /// Up to so many devices, from this index on.
    pub fn links_from(&self, link: u32, most: usize) -> impl Iterator<Item = &Link> {
        let links = self.around.links.range(link..);
        links.take(most).map(|(_, (link, _))| link)
    }

    /// What is known of a device otherwise than by events.
    pub fn port_facts(&self, link: u32) -> Option<&PortFacts> {
        self.around.facts.get(&link)
    }

    /// The addresses of this router, in no order.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        self.around.addresses.keys().copied()
    }

    /// The neighbours with a known hardware address, in no order.
    pub fn neighbours(&self) -> impl Iterator<Item = Neighbour> {
        self.around
            .neighbours
            .iter()
            .map(|(&(link, address), &(mac, _))| Neighbour {
                link,
                address,
                mac: Some(mac),
                stale: false,
            })
    }

    /// Counters.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Rules that look at each packet, as last read.
    pub fn concerns(&self) -> &[Concern] {
        &self.concerns
    }

    /// The generation of the nftables ruleset, once told.
    pub fn firewall(&self) -> Option<u32> {
        self.firewall
    }

    /// The clock never goes back, whatever the caller says.
    pub(crate) fn clock(&mut self, now: Millis) {
        self.now = self.now.max(now);
    }

    /// Ends all proofs.
    pub(crate) fn bump(&mut self, cause: Cause, out: &mut Vec<Action>) {
        *self.statistics.bumps.entry(cause.word()).or_default() += 1;
        self.round += 1;
        out.push(Action::Bump(cause));
    }

    /// Asks for a dump; one at a time, since the kernel answers a second request on the same socket
    /// with EBUSY.
    pub(crate) fn dump(&mut self, source: Source, out: &mut Vec<Action>) {
        let now = self.now;
        let dump = match source {
            Source::Conntrack => &mut self.connections,
            Source::Route => &mut self.routes,
            Source::Firewall | Source::Policy => return,
        };
        if dump.running.is_some() {
            dump.again = true;
            return;
        }
        dump.running = Some(now);
        dump.last = now;
        dump.again = false;
        dump.generation = dump.generation.wrapping_add(1);
        match source {
            Source::Conntrack => self.forgot_lately = false,
            _ => self.around.stations.ask(),
        }
        out.push(Action::Dump(source));
    }

    /// A dump is complete: what it did not show, and no event since its start, is gone.
    fn dump_end(&mut self, source: Source, out: &mut Vec<Action>) {
        let dump = match source {
            Source::Conntrack => &mut self.connections,
            Source::Route => &mut self.routes,
            Source::Firewall | Source::Policy => return,
        };
        // An answer nobody asked for shows nothing about what it leaves out.
        if dump.running.take().is_none() {
            return;
        }
        if dump.again {
            return self.dump(source, out);
        }
        match source {
            Source::Conntrack => self.sweep_connections(out),
            Source::Route => self.sweep_surroundings(out),
            Source::Firewall | Source::Policy => {}
        }
    }
}
