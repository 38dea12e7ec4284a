//! The middle of the daemon: events in, decisions from the pure core, actions out to the packet
//! path and to conntrack.

mod actions;
mod counting;
mod exceptions;
mod rules;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use datapath::{Datapath, Growth, Hop};
use kernel::io::Requests;
use kernel::{ConnectionId, Event, Link, SetEvent, Source, facts};
use offload_core::{Action, Core, FlowId, Millis, Reading};
use tracing::{info, warn};

use super::account::{Account, DeviceNews};
use super::expiry;
use super::module::{self, Modules};
use super::surroundings::Surroundings;

/// Ends of connections remembered during a dump; beyond that, one that ended may come back until
/// the next dump.
const MOST_GONE: usize = 65_536;

/// Devices that take turns to be looked at in a second, and most ports looked at besides: some
/// milliseconds.
const LOOKS: usize = 128;
/// The fault of a kernel that reports no connections, and the remedy.
pub const NO_EVENTS: &str = "conntrack reports no connections (nf_conntrack_events is 0), so the \
    kernel forwards everything";
pub const NO_EVENTS_HINT: &str = "run sysctl net.netfilter.nf_conntrack_events=1";
/// The loopback device (LOOPBACK_IFINDEX, include/net/flow.h).
const LOOPBACK: u32 = 1;

// One numbering, defined where each can have it.
const _: () = assert!(offload_core::PAIRS == datapath::PAIRS);

/// Everything the daemon holds, and the order in which things are done with it.
pub struct Router {
    /// The decisions.
    pub core: Core,
    /// The packet path.
    pub path: Datapath,
    /// What went through each port, and through flows that ended.
    pub account: Account,
    /// What only looking tells of devices and the firewall.
    pub surroundings: Surroundings,
    /// What ends without a message.
    pub expiry: expiry::Keeper,
    /// What else weir does: it hears what happens, and may steer what is here.
    pub modules: Modules,
    /// Packets are forwarded at all, rather than only counted.
    pub forwards: bool,
    /// Events that were lost, and devices that could not be attached: for `weir status`.
    pub lost: u64,
    /// The heartbeat as it was last given.
    pub beaten: Instant,
    /// Dumps that are to be asked for.
    pub dumps: Vec<Source>,
    /// Connections that ended while a dump of them is under way.
    gone: Option<HashSet<ConnectionId>>,
    updates: Requests,
    attached: HashMap<u32, offload_core::PortPlan>,
    started: Instant,
    updates_failed: u64,
    differences: u64,
    /// Hops as of this second, by number.
    hops: HashMap<u32, Hop>,
    /// Flows whose counters are still to be read in this second.
    uncounted: Vec<u32>,
    /// Index of the device at which looking around goes on.
    look_next: u32,
    /// Exceptions of routes.
    exceptions: exceptions::Watch,
    /// Whether devices and connections have been told of, all that there are.
    listed: [bool; 2],
}

/// Longest that the kernel is waited for before weir says that it is there.
const LONGEST_START: Duration = Duration::from_secs(5);

/// A part of what a flow forwarded, as modules are told of it.
#[derive(Clone, Copy, Debug)]
pub struct Forwarded<'a> {
    /// How much, and whose.
    pub growth: &'a Growth,
    /// The device that it came in by.
    pub into: Option<u32>,
    /// How it left.
    pub out: Option<&'a Hop>,
}

impl Router {
    /// Nothing is known or attached yet.
    pub fn new(
        core: Core,
        path: Datapath,
        updates: Requests,
        surroundings: Surroundings,
        forwards: bool,
    ) -> Self {
        let now = Instant::now();
        Self {
            core,
            path,
            account: Account::default(),
            surroundings,
            modules: Modules::default(),
            forwards,
            expiry: expiry::Keeper::new(now),
            lost: 0,
            beaten: now,
            dumps: Vec::new(),
            gone: None,
            updates,
            attached: HashMap::new(),
            started: now,
            updates_failed: 0,
            differences: 0,
            hops: HashMap::new(),
            uncounted: Vec::new(),
            look_next: 0,
            exceptions: exceptions::Watch::open(),
            listed: [false; 2],
        }
    }

    /// Milliseconds since the daemon began.
    pub fn now(&self) -> Millis {
        self.started.elapsed().as_millis() as Millis
    }

    /// Begins to forward.
    pub fn start(&mut self) -> Result<(), datapath::Error> {
        self.path.arm()?;
        let mut actions = Vec::new();
        self.hold_proofs();
        if self.forwards && self.core.settings().no_events {
            self.say_blind();
        }
        self.core.start(self.now(), &mut actions);
        self.apply(actions);
        Ok(())
    }

    /// Whether not every port counts and forwards yet: what there is has still to be told. A kernel
    /// that does not tell it is not waited for.
    pub fn is_starting(&self) -> bool {
        self.listed.contains(&false) && self.started.elapsed() < LONGEST_START
    }

    /// Takes what a dump answered, which may be older than what events told meanwhile.
    pub fn answers(&mut self, answers: &mut Vec<Event>) {
        if let Some(gone) = &self.gone {
            answers.retain(|event| !matches!(event, Event::Connection(connection) if gone.contains(&connection.id)));
        }
        if answers.contains(&Event::DumpEnd(Source::Conntrack)) {
            self.gone = None;
        }
        self.take(answers, true);
    }

    /// Takes what the kernel said.
    pub fn events(&mut self, events: &mut Vec<Event>) {
        self.take(events, false);
    }

    /// Takes events, or answers of a dump.
    fn take(&mut self, events: &mut Vec<Event>, answers: bool) {
        let mut actions = Vec::new();
        let now = self.now();
        let modules = self.modules.clone();
        let mut devices = DeviceNews::default();
        let sources = [Source::Route, Source::Conntrack];
        let listed = sources.map(|source| events.contains(&Event::DumpEnd(source)));
        for event in events.drain(..) {
            devices.heard(&event);
            for module in modules.iter() {
                module.on_event(module::Event::Kernel(&event), self);
            }
            match &event {
                Event::Overrun(source) => {
                    self.lost += 1;
                    warn!(?source, "events were lost: asking for everything again");
                }
                Event::ConnectionGone(id) => {
                    if let Some(gone) = self.gone.as_mut().filter(|gone| gone.len() < MOST_GONE) {
                        gone.insert(*id);
                    }
                }
                _ => {}
            }
            self.surroundings.heard(&event);
            self.expiry.heard(&event);
            self.hold_bridging();
            match answers {
                true => self.core.answer(event, now, &mut actions),
                false => self.core.handle(event, now, &mut actions),
            }
        }
        // Proofs first: looking at devices takes the time of some system calls for each.
        self.core.flush_proofs(&mut actions);
        self.end_proofs(&mut actions);
        for module in modules.iter() {
            module.on_event(module::Event::Settled, self);
        }
        // Once, however often each was told of.
        for index in self.surroundings.take_unlisted() {
            if let Some(link) = self.core.known_link(index).cloned() {
                self.look_at(&link, &mut actions);
            }
        }
        self.apply(actions);
        self.devices_changed(&devices);
        for (listed, now) in self.listed.iter_mut().zip(listed) {
            *listed |= now;
        }
    }

    /// Comes after the proofs have ended: what was forwarded so far went by the former devices.
    fn devices_changed(&mut self, news: &DeviceNews) {
        if news.changed && !self.account.is_stale() {
            self.count_all();
            self.account.changed();
        }
        for link in &news.gone {
            self.account.gone(*link);
        }
    }

    /// Something happened to sets of addresses or to rules.
    pub fn sets_changed(&mut self, events: &mut Vec<SetEvent>) {
        if events
            .iter()
            .any(|event| !matches!(event, SetEvent::Set(_)))
        {
            self.surroundings.heard(&Event::Firewall(0));
            self.hold_bridging();
            self.hold_proofs();
        }
        for module in self.modules.clone().iter() {
            module.on_event(module::Event::Sets(events), self);
        }
        events.clear();
    }

    /// Takes the pairs of stations that the packet path saw.
    fn take_pairs(&mut self) {
        match self.path.take_pairs() {
            Ok(seen) => {
                let mut actions = Vec::new();
                self.core.pairs_seen(&seen, self.now(), &mut actions);
                self.apply(actions);
            }
            Err(error) => warn!(%error, "stations of bridges cannot be read"),
        }
    }

    /// Tells the core what is to be found out about a device by looking.
    fn look_at(&mut self, link: &Link, actions: &mut Vec<Action>) {
        let known = self
            .core
            .port_facts(link.index)
            .cloned()
            .unwrap_or_default();
        let facts = self
            .surroundings
            .facts(link, known, self.path.xdp_program());
        self.core.facts(link.index, facts, self.now(), actions);
    }

    /// Looks at devices again, as not everything about them is told; due every second. Where there
    /// are very many, they take turns.
    pub fn look_around(&mut self) {
        self.look_for_legacy();
        self.look_for_events();
        self.look_for_exceptions();
        let next = self.look_next;
        let mut turn: Vec<u32> = self.core.links_from(next, LOOKS).map(|l| l.index).collect();
        let rest = self.core.links_from(0, LOOKS - turn.len());
        turn.extend(rest.map(|l| l.index).take_while(|index| *index < next));
        self.look_next = turn.last().map_or(0, |last| last.saturating_add(1));
        // The ports each time, and the loopback device, which stands for what holds for all.
        turn.extend(self.attached.keys().take(LOOKS).chain([&LOOPBACK]));
        turn.sort_unstable();
        turn.dedup();
        let links = turn.iter().filter_map(|index| self.core.known_link(*index));
        self.look_at_all(links.cloned().collect());
    }

    /// The old iptables tells of nothing, not even of its first rule.
    fn look_for_legacy(&mut self) {
        // Not readable for once is no change.
        let Ok(tables) = facts::legacy_tables() else {
            return;
        };
        let mut actions = Vec::new();
        let in_use = !tables.is_empty();
        if self.core.legacy_firewall(in_use, self.now(), &mut actions) {
            self.sets_changed(&mut vec![SetEvent::Rules]);
        }
        self.apply(actions);
    }

    /// No message reports what the kernel learned by ICMP about a destination, and it counts for
    /// what is forwarded there.
    fn look_for_exceptions(&mut self) {
        if self.forwards && self.exceptions.changed() {
            let mut actions = Vec::new();
            self.core.handle(Event::Routing, self.now(), &mut actions);
            self.apply(actions);
        }
    }

    /// A sysctl can make conntrack report nothing, or report again, at any time. Weir forwards
    /// nothing while conntrack reports nothing.
    fn look_for_events(&mut self) {
        // Not readable for once is no change.
        let Ok(Some(events)) = facts::conntrack_events() else {
            return;
        };
        let no_events = events == 0;
        if !self.forwards || self.core.settings().no_events == no_events {
            return;
        }
        let settings = offload_core::Settings {
            no_events,
            ..self.core.settings().clone()
        };
        self.reload(settings);
        self.say_blind();
    }

    /// Logs whether conntrack reports nothing.
    pub fn say_blind(&self) {
        match self.core.settings().no_events {
            true => warn!("cannot offload: {NO_EVENTS}; {NO_EVENTS_HINT}"),
            false => info!("conntrack reports connections again: they may be forwarded"),
        }
    }

    /// Looks at these devices, and does what follows from it.
    fn look_at_all(&mut self, links: Vec<Link>) {
        let mut actions = Vec::new();
        for link in &links {
            self.look_at(link, &mut actions);
        }
        self.apply(actions);
    }

    /// The heartbeat; due twice a second. After a pause that the packet path may have taken for
    /// death, what changed meanwhile is not heard yet, and it must not forward by proofs of before:
    /// they end with the beat that wakes it.
    pub fn beat(&mut self) {
        // Half of the time already: the packet path's clock is another one.
        let late = self.beaten.elapsed().as_millis() * 2 >= u128::from(self.path.options().silence);
        let outcome = if late {
            self.path.bump()
        } else {
            self.path.beat()
        };
        match outcome {
            Ok(()) => self.beaten = Instant::now(),
            Err(error) => warn!(%error, "the heartbeat failed"),
        }
    }

    /// Ends all proofs: something changed of which the kernel says nothing.
    pub fn end_all_proofs(&mut self) {
        if let Err(error) = self.path.bump() {
            warn!(%error, "cannot end proofs: the kernel forwards everything");
            self.path.disarm();
        }
    }

    /// Ends all proofs where something is over of which nothing tells; due whenever
    /// [`expiry::Keeper::wake`] says.
    pub fn expire(&mut self) {
        if !self.forwards {
            return;
        }
        let over = self.expiry.turn();
        if let Some(programs) = self.expiry.take_programs() {
            let mut actions = Vec::new();
            let now = self.now();
            self.core.route_programs(&programs, now, &mut actions);
            self.apply(actions);
        }
        // The packet path stops by itself when the next thing is over, be it that this thread is
        // busy then.
        let until = self.expiry.until();
        let other = self.path.hold_until(until);
        if over {
            let mut actions = Vec::new();
            self.core.expired(self.now(), &mut actions);
            self.apply(actions);
        } else if other {
            self.beat();
        }
    }

    /// Time goes by: time-outs, re-proofs, counters.
    pub fn tick(&mut self) {
        // The time of day may have been set.
        self.expire();
        let now = self.now();
        let mut actions = Vec::new();
        let path = &mut self.path;
        self.core
            .tick(now, &mut |flow| readings(path, flow), &mut actions);
        self.apply(actions);
        self.take_pairs();
        if self.path.forgetting() {
            self.count_all();
        }
        let Self { path, account, .. } = self;
        if let Err(error) = path.tidy(Instant::now(), |growth| account.grew(&growth)) {
            warn!(%error, "cannot tidy the tables");
        }
        for module in self.modules.clone().iter() {
            module.on_event(module::Event::Tick, self);
        }
    }

    /// Shadow mode: what the kernel did otherwise than weir would have, each time there is
    /// something new.
    fn tell_differences(&mut self) {
        let different = self.path.totals().map_or(0, |t| t.shadow_different);
        if different <= self.differences {
            return;
        }
        self.differences = different;
        let hex = |octets: &[u8]| {
            octets
                .iter()
                .map(|o| format!("{o:02x}"))
                .collect::<String>()
        };
        for (id, flow) in self.core.flows().filter(|(_, flow)| flow.installed()) {
            for d in self.path.differences(id.0) {
                let tuple = if d.direction == 0 {
                    flow.original()
                } else {
                    flow.reply
                };
                warn!(%tuple, times = d.times, weir = hex(&d.expected), kernel = hex(&d.sent), "the kernel sent it otherwise");
            }
        }
    }

    /// Applies new settings.
    pub fn reload(&mut self, settings: offload_core::Settings) {
        let mut actions = Vec::new();
        self.core.reload(settings, self.now(), &mut actions);
        self.apply(actions);
    }
}

/// Counters of a flow as the core wants them; zero where the packet path does not know it.
fn readings(path: &mut Datapath, flow: FlowId) -> [Reading; 2] {
    path.read(flow.0).unwrap_or_default().map(|r| Reading {
        packets: r.packets,
        octets: r.octets,
        proven: r.proven,
        shown: r.shown,
        shown_length: r.shown_length,
    })
}
