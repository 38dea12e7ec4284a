//! The daemon's event loop body: takes events, gets decisions from the pure core, and sends actions
//! to the packet path and to conntrack.

mod conntrack;
mod exceptions;
mod ports;
mod rules;
mod shadow;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use datapath::{Datapath, Hop};
use kernel::io::Requests;
use kernel::{ConnectionId, Event, Link, SetEvent, Source, facts};
use offload_core::ruleset::PerPacketRule;
use offload_core::{Action, Core, DeclineReason, FlowId, Millis, PortPlan, Reading};
use tracing::{debug, info, warn};

use super::account::{Account, DeviceChanges};
use super::event::{self, ForwardedFlow};
use super::expiry;
use super::ruleset::RulesetText;
use super::system_state::SystemState;
use conntrack::Conntrack;
use ports::Ports;
use shadow::Shadow;

/// Maximum number of ended connections remembered during a dump; beyond that, an ended connection
/// may reappear until the next dump.
const MOST_GONE: usize = 65_536;

/// Devices that are checked per second in turn, and maximum number of ports checked besides: some
/// milliseconds of work.
const LOOKS: usize = 128;
/// Problem text for a kernel that reports no connections, and the remedy.
pub const NO_EVENTS: &str = "conntrack reports no connections (nf_conntrack_events is 0), so the \
    kernel forwards everything";
pub const NO_EVENTS_HINT: &str = "run sysctl net.netfilter.nf_conntrack_events=1";
/// The loopback device (LOOPBACK_IFINDEX, include/net/flow.h).
const LOOPBACK: u32 = 1;

/// Maximum time without proofs while rules are unread: `nft` takes some 20 ms, and runs once a
/// second at most.
const HOLD: Duration = Duration::from_secs(2);
/// Flows whose counters are read at once, in about a millisecond.
const COUNTS: usize = 2_048;

// The datapath defines these numbers, and the core interprets them.
const _: () = assert!(offload_core::stack::OVER_PPP == datapath::STACK_PPP);
// Both crates use the same numbering; each defines it for itself.
const _: () = assert!(offload_core::PAIRS == datapath::PAIRS);

/// The state of the daemon, and the order of its actions.
pub struct Router {
    /// The decisions.
    pub core: Core,
    /// The packet path.
    pub path: Datapath,
    /// Traffic of each port, and of flows that ended.
    pub account: Account,
    /// State of devices and the firewall that only a read shows.
    pub(crate) surroundings: SystemState,
    /// State that ends without a message.
    pub(crate) expiry: expiry::ExpiryMonitor,
    /// Receives events, once all modules are made.
    pub(crate) listener: Option<Rc<dyn Listener>>,
    /// True if packets are forwarded rather than only counted.
    pub(crate) forwards: bool,
    /// Lost events, and devices that could not be attached: for `weir status`.
    pub(crate) lost: u64,
    /// The heartbeat as last configured.
    pub(crate) beaten: Instant,
    /// Dumps to request.
    pub(crate) dumps: Vec<Source>,
    /// Connections that ended while their dump runs.
    gone: Option<HashSet<ConnectionId>>,
    conntrack: Conntrack,
    ports: Ports,
    started: Instant,
    shadow: Shadow,
    /// Hops as of this second, by number.
    hops: HashMap<u32, Hop>,
    /// Flows whose counters are still unread in this second.
    uncounted: Vec<u32>,
    /// Index of the device at which the next check begins.
    look_next: u32,
    /// Exceptions of routes.
    exceptions: exceptions::Watch,
    /// True once all devices, and all connections, have been listed.
    listed: [bool; 2],
}

/// Receives events, and may steer the router.
pub trait Listener {
    /// Receives an event, at once.
    fn on_event(&self, event: event::Event<'_>, router: &mut Router);
}

/// Maximum wait for the kernel before weir reports that it is ready.
const LONGEST_START: Duration = Duration::from_secs(5);

impl Router {
    /// Creates a router without devices and connections.
    pub fn new(
        core: Core,
        path: Datapath,
        updates: Requests,
        surroundings: SystemState,
        forwards: bool,
    ) -> Self {
        let now = Instant::now();
        Self {
            core,
            path,
            account: Account::default(),
            surroundings,
            listener: None,
            forwards,
            expiry: expiry::ExpiryMonitor::new(now),
            lost: 0,
            beaten: now,
            dumps: Vec::new(),
            gone: None,
            conntrack: Conntrack::new(updates),
            ports: Ports::default(),
            started: now,
            shadow: Shadow::default(),
            hops: HashMap::new(),
            uncounted: Vec::new(),
            look_next: 0,
            exceptions: exceptions::Watch::open(),
            listed: [false; 2],
        }
    }

    /// Returns the milliseconds since the daemon began.
    pub fn now(&self) -> Millis {
        self.started.elapsed().as_millis() as Millis
    }

    /// Hands an event to the listener.
    fn report(&mut self, event: event::Event<'_>) {
        if let Some(listener) = self.listener.clone() {
            listener.on_event(event, self);
        }
    }

    /// Begins to forward.
    pub fn start(&mut self) -> Result<(), datapath::Error> {
        self.path.heartbeat.arm()?;
        self.hold_proofs();
        if self.forwards && self.core.settings().no_events {
            self.say_blind();
        }
        self.run_core(Core::start);
        Ok(())
    }

    /// Returns true while a port may not yet count and forward: the first lists are incomplete.
    /// After a limit, the daemon no longer waits for the kernel.
    pub fn is_starting(&self) -> bool {
        self.listed.contains(&false) && self.started.elapsed() < LONGEST_START
    }

    /// Takes the answers of a dump, which may be older than events received meanwhile.
    pub fn on_dump_events(&mut self, answers: &mut Vec<Event>) {
        if let Some(gone) = &self.gone {
            answers.retain(|event| !matches!(event, Event::Connection(connection) if gone.contains(&connection.id)));
        }
        if answers.contains(&Event::DumpEnd(Source::Conntrack)) {
            self.gone = None;
        }
        self.take(answers, true);
    }

    /// Takes the kernel's messages.
    pub fn on_events(&mut self, events: &mut Vec<Event>) {
        self.take(events, false);
    }

    /// Takes events, or answers of a dump.
    fn take(&mut self, events: &mut Vec<Event>, answers: bool) {
        let mut actions = Vec::new();
        let now = self.now();
        let mut devices = DeviceChanges::default();
        let sources = [Source::Route, Source::Conntrack];
        let listed = sources.map(|source| events.contains(&Event::DumpEnd(source)));
        for event in events.drain(..) {
            devices.on_event(&event);
            self.report(event::Event::Kernel(&event));
            match &event {
                Event::Overrun(source) => {
                    self.lost += 1;
                    warn!(
                        %source,
                        "events were lost: reading the kernel's tables again"
                    );
                }
                Event::ConnectionGone(id) => {
                    if let Some(gone) = self.gone.as_mut().filter(|gone| gone.len() < MOST_GONE) {
                        gone.insert(*id);
                    }
                }
                _ => {}
            }
            self.surroundings.on_event(&event);
            self.expiry.on_event(&event);
            self.hold_bridging();
            match answers {
                true => self.core.on_dump_event(event, now, &mut actions),
                false => self.core.on_event(event, now, &mut actions),
            }
        }
        // Proofs first: checking devices takes some system calls for each.
        self.core.flush_proofs(&mut actions);
        self.end_proofs(&mut actions);
        self.report(event::Event::Settled);
        // Check each device once, however many events it had.
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

    /// Updates the devices after the proofs have ended: traffic until then went by the former
    /// devices.
    fn devices_changed(&mut self, news: &DeviceChanges) {
        if news.changed && !self.account.is_stale() {
            self.count_all();
            self.account.changed();
        }
        for link in &news.gone {
            self.account.gone(*link);
        }
    }

    /// Handles changes of address sets or rules.
    pub fn sets_changed(&mut self, events: &mut Vec<SetEvent>) {
        if events
            .iter()
            .any(|event| !matches!(event, SetEvent::Set(_)))
        {
            self.surroundings.on_event(&Event::Firewall(0));
            self.hold_bridging();
            self.hold_proofs();
        }
        self.report(event::Event::Sets(events));
        events.clear();
    }

    /// Takes the pairs of stations that the packet path saw.
    fn take_pairs(&mut self) {
        match self.path.bridges.take_pairs() {
            Ok(seen) => self.run_core(|core, now, actions| core.pairs_seen(&seen, now, actions)),
            Err(error) => warn!(%error, "cannot read stations of bridges"),
        }
    }

    /// Reports to the core what a check of a device found.
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

    /// Probes devices again, as some changes have no event; due every second. If there are very
    /// many devices, they take turns.
    pub fn look_around(&mut self) {
        self.look_for_legacy();
        self.look_for_events();
        self.look_for_exceptions();
        let next = self.look_next;
        let mut turn: Vec<u32> = self.core.links_from(next, LOOKS).map(|l| l.index).collect();
        let rest = self.core.links_from(0, LOOKS - turn.len());
        turn.extend(rest.map(|l| l.index).take_while(|index| *index < next));
        self.look_next = turn.last().map_or(0, |last| last.saturating_add(1));
        // Check the ports each time, and the loopback device, which represents settings that hold
        // for all devices.
        turn.extend(self.ports.links().take(LOOKS).chain([LOOPBACK]));
        turn.sort_unstable();
        turn.dedup();
        let links = turn.iter().filter_map(|index| self.core.known_link(*index));
        self.look_at_all(links.cloned().collect());
    }

    /// Checks for the old iptables, which sends no events, not even for its first rule.
    fn look_for_legacy(&mut self) {
        // A single failed read is not a change.
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

    /// Ends proofs after the kernel learned an exception by ICMP: no message reports exceptions,
    /// and they affect forwarded packets.
    fn look_for_exceptions(&mut self) {
        if self.forwards && self.exceptions.changed() {
            self.run_core(|core, now, actions| core.on_event(Event::Routing, now, actions));
        }
    }

    /// A sysctl can make conntrack report nothing, or report again, at any time. Weir forwards
    /// nothing while conntrack reports nothing.
    fn look_for_events(&mut self) {
        // A single failed read is not a change.
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
            false => info!("conntrack reports connections again: weir may forward them"),
        }
    }

    /// Checks these devices, and acts on the results.
    fn look_at_all(&mut self, links: Vec<Link>) {
        let mut actions = Vec::new();
        for link in &links {
            self.look_at(link, &mut actions);
        }
        self.apply(actions);
    }

    /// Sends the heartbeat; due twice a second. After a pause, the packet path may have stopped for
    /// lack of beats. Then events of the pause are still unread, and old proofs must not forward:
    /// the beat that resumes forwarding also ends the proofs.
    pub fn beat(&mut self) {
        // Limit: half of the time, as the packet path uses another clock.
        let late = self.beaten.elapsed().as_millis() * 2 >= u128::from(self.path.options().silence);
        let outcome = if late {
            self.path.heartbeat.invalidate_all()
        } else {
            self.path.heartbeat.beat()
        };
        match outcome {
            Ok(()) => self.beaten = Instant::now(),
            Err(error) => warn!(%error, "the heartbeat failed"),
        }
    }

    /// Ends all proofs after a change that the kernel does not report.
    pub fn end_all_proofs(&mut self) {
        if let Err(error) = self.path.heartbeat.invalidate_all() {
            warn!(%error, "cannot end proofs: the kernel forwards everything");
            self.path.heartbeat.disarm();
        }
    }

    /// Ends all proofs if state expired without a message; due whenever
    /// [`expiry::ExpiryMonitor::poll_at`] says.
    pub fn expire(&mut self) {
        if !self.forwards {
            return;
        }
        let over = self.expiry.turn();
        if let Some(programs) = self.expiry.take_programs() {
            self.run_core(|core, now, actions| core.route_programs(&programs, now, actions));
        }
        // The packet path stops by itself at the next expiry, even if this thread is busy then.
        let until = self.expiry.until();
        let other = self.path.heartbeat.hold_until(until);
        if over {
            self.run_core(Core::expired);
        } else if other {
            self.beat();
        }
    }

    /// Handles timers: time-outs, re-proofs, counters.
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
        if let Err(error) = path.tidy(Instant::now(), |growth| account.add(&growth)) {
            warn!(%error, "cannot clean up the tables");
        }
        self.report(event::Event::Tick);
    }

    /// Applies new settings.
    pub fn reload(&mut self, settings: offload_core::Settings) {
        self.run_core(|core, now, actions| core.reload(settings, now, actions));
    }

    /// Notes that a read of the ruleset begins.
    pub fn ruleset_reading(&mut self) {
        self.surroundings.reading();
        self.report(event::Event::RulesetReading);
    }

    /// Takes the ruleset, or the failure of reading it.
    pub fn ruleset_read(&mut self, read: Result<RulesetText, String>) {
        self.surroundings.read();
        let text = read.as_ref().map_err(String::as_str);
        self.report(event::Event::Ruleset(text));
        if self.forwards {
            let silent = read.as_ref().map(|text| &text.silent);
            let respected = self.core.settings().each_packet;
            if let Ok(silent) = silent {
                self.core.hidden_events(silent.hidden);
            }
            self.core
                .own_timeouts(read.as_ref().map_or(true, |text| text.policies));
            self.expiry.rules(silent.map_err(String::as_str), respected);
        }
        match read {
            Ok(text) => {
                self.surroundings.rules_read = true;
                self.concerned(text.per_packet_rules);
                // Chains at devices may have changed, too.
                if text.findings != self.surroundings.findings {
                    self.surroundings.findings = text.findings;
                    self.look_at_all(self.core.links().cloned().collect());
                }
            }
            Err(error) => {
                warn!(
                    error,
                    "cannot read the ruleset: per-packet rules will not be detected"
                );
            }
        }
        if !self.surroundings.is_stale() {
            self.release_proofs();
        }
    }

    /// Handles changed rules, which may inspect each packet: nothing is proven until they are read.
    /// A change of set elements alone does not count.
    pub fn hold_proofs(&mut self) {
        if self.core.settings().each_packet
            && let Err(error) = self.path.heartbeat.pause(HOLD)
        {
            warn!(%error, "cannot end proofs: the kernel forwards everything");
            self.path.heartbeat.disarm();
        }
    }

    /// Takes the rules after a read, or notes that they are unreadable.
    fn release_proofs(&mut self) {
        if let Err(error) = self.path.heartbeat.resume() {
            warn!(%error, "cannot resume proofs at once: they resume a moment later");
        }
    }

    /// Leaves connections to the kernel that per-packet rules may affect.
    fn concerned(&mut self, concerns: Vec<PerPacketRule>) {
        if concerns == self.core.per_packet_rules() {
            return;
        }
        self.run_core(|core, now, actions| core.rules(concerns, now, actions));
        rules::log(
            self.core.per_packet_rules(),
            self.core.settings().each_packet,
        );
    }

    /// Leaves connections of these addresses to the kernel, because a module's rules limit their
    /// rates.
    pub fn set_rate_limited(&mut self, addresses: &HashSet<IpAddr>) {
        self.run_core(|core, now, actions| core.set_rate_limited(addresses, now, actions));
    }

    /// Stops bridging until the rules are read, as any of them may inspect bridged frames. Called
    /// before proofs end, so that no new one begins.
    fn hold_bridging(&mut self) {
        if !self.surroundings.rules_known() {
            self.path.bridges.set(false);
        }
    }

    /// Resumes bridging if the rules are known and the ports are planned accordingly.
    pub fn resume_bridging(&mut self) {
        let on = self.core.settings().bridge && self.surroundings.rules_known();
        self.path.bridges.set(on);
    }

    /// Begins to collect forwarded traffic; due every second, as the shared counters are narrow.
    pub fn count(&mut self) {
        // Flows left over from the last second come first.
        if !self.counting() {
            self.uncounted = self.counted();
        }
        self.hops.clear();
        self.report(event::Event::Second);
        if !self.counting() {
            self.settle();
        }
        if self.path.options().shadow {
            self.shadow.report(&self.core, &mut self.path);
        }
    }

    /// Counts all flows at once, before a change of the devices that the counts refer to.
    pub fn count_all(&mut self) {
        self.uncounted = self.counted();
        while self.counting() {
            self.count_some();
        }
        self.settle();
        self.report(event::Event::Count);
    }

    /// Counts all traffic of the packet path: flows, and pairs of stations.
    fn counted(&self) -> Vec<u32> {
        let installed = self.core.flows().filter(|(_, flow)| flow.installed());
        let pairs = self.core.pairs().map(|(pair, _)| pair.0);
        installed.map(|(flow, _)| flow.0).chain(pairs).collect()
    }

    /// Adds collected traffic to the devices that it passed.
    fn settle(&mut self) {
        let Self {
            core,
            path,
            account,
            surroundings,
            ..
        } = self;
        if account.is_stale() {
            let filtering = core.links().any(|link| link.filters_vlans);
            let taggings = if filtering {
                surroundings.taggings()
            } else {
                Vec::new()
            };
            account.devices(core.links(), taggings);
        }
        account.settle(path);
        self.share();
        self.report(event::Event::Counted);
    }

    /// Reports forwarded traffic to modules.
    fn share(&mut self) {
        let grown = self.account.take_shared();
        if grown
            .iter()
            .any(|growth| !self.hops.contains_key(&growth.hop))
        {
            self.learn_hops();
        }
        // Modules get the router as a separate borrow.
        let hops = std::mem::take(&mut self.hops);
        let whole = |growth| ForwardedFlow {
            growth,
            ingress_device: self.account.port_of(growth.ingress.port),
            egress_hop: hops.get(&growth.hop),
        };
        let all: Vec<_> = grown.iter().map(whole).collect();
        if !all.is_empty() {
            self.report(event::Event::Forwarded(&all));
        }
        self.hops = hops;
    }

    /// Returns a hop by its number.
    pub fn hop(&mut self, hop: u32) -> Option<&Hop> {
        if !self.hops.contains_key(&hop) {
            self.learn_hops();
        }
        self.hops.get(&hop)
    }

    fn learn_hops(&mut self) {
        let hops = self.path.hops().into_iter();
        self.hops = hops.map(|hop| (hop.index, hop)).collect();
    }

    /// Returns true if some flows are not counted yet.
    pub fn counting(&self) -> bool {
        !self.uncounted.is_empty()
    }

    /// Counts some flows: few enough that a change of rules does not wait long. Reading a hundred
    /// thousand flows at once would delay it.
    pub fn count_some(&mut self) {
        let rest = self.uncounted.len().saturating_sub(COUNTS);
        for flow in self.uncounted.drain(rest..) {
            // A flow removed meanwhile was counted on removal.
            let octets = self.account.read(&mut self.path, flow);
            self.core.add_forwarded_bytes(FlowId(flow), octets);
        }
        self.share();
        if !self.counting() {
            self.settle();
        }
    }

    /// Runs the core, and does what the core asks.
    fn run_core(&mut self, run: impl FnOnce(&mut Core, Millis, &mut Vec<Action>)) {
        let mut actions = Vec::new();
        let now = self.now();
        run(&mut self.core, now, &mut actions);
        self.apply(actions);
    }

    /// Applies the core's actions. Proofs end first: a packet must not use an old rule because an
    /// install took long.
    fn apply(&mut self, mut actions: Vec<Action>) {
        self.core.flush(&mut actions);
        let mut rounds = 0;
        while !actions.is_empty() && rounds < 8 {
            rounds += 1;
            let mut more = Vec::new();
            self.end_proofs(&mut actions);
            self.update_connections(&actions, &mut more);
            for action in actions {
                self.perform(action, &mut more);
            }
            self.core.flush(&mut more);
            actions = more;
        }
    }

    /// Ends the proofs of a batch together, and removes those actions from the batch.
    fn end_proofs(&mut self, actions: &mut Vec<Action>) {
        let mut all = None;
        let mut macs = HashSet::new();
        actions.retain(|action| match action {
            Action::InvalidateAll(cause) => {
                all.get_or_insert_with(|| cause.clone());
                false
            }
            Action::InvalidateHops { link: _, mac } => {
                macs.insert(*mac);
                false
            }
            _ => true,
        });
        if !macs.is_empty()
            && let Err(error) = self.path.invalidate_hops(&macs)
        {
            warn!(%error, "cannot pause proofs after a neighbour changed");
        }
        let Some(cause) = all else { return };
        debug!(%cause, "all proofs end");
        if let Err(error) = self.path.heartbeat.invalidate_all() {
            // Without this, no proof is safe: return everything to the kernel until the next
            // change.
            warn!(%error, "cannot end proofs: the kernel forwards everything");
            self.path.heartbeat.disarm();
        }
    }

    /// Sends updates to conntrack, and passes its replies to the core.
    fn update_connections(&mut self, actions: &[Action], more: &mut Vec<Action>) {
        let answers = self.conntrack.update(actions);
        let now = self.now();
        for looked in &answers.queried {
            self.core.on_query_reply(looked, now, more);
        }
        for polled in &answers.polled {
            self.core.on_poll_reply(polled, now, more);
        }
        for id in answers.gone {
            let event = Event::ConnectionGone(id);
            self.report(event::Event::Kernel(&event));
            self.core.on_event(event, now, more);
        }
    }

    /// Ends the router: reports the packets of the last interval to conntrack.
    pub fn finish(&mut self) {
        let now = self.now();
        let mut actions = Vec::new();
        let path = &mut self.path;
        self.core
            .before_finish(now, &mut |flow| readings(path, flow), &mut actions);
        let mut more = Vec::new();
        self.update_connections(&actions, &mut more);
        let path = &mut self.path;
        self.core
            .finish(now, &mut |flow| readings(path, flow), &mut more);
        self.update_connections(&more, &mut Vec::new());
    }

    fn perform(&mut self, action: Action, more: &mut Vec<Action>) {
        match action {
            Action::Install {
                flow,
                original,
                reply,
                window_scales,
            } => match self.path.install(flow.0, &original, &reply) {
                Ok(()) => {
                    if let Some(scales) = window_scales {
                        self.path.guard(flow.0, scales);
                    }
                }
                Err(datapath::Error::Full) => self.core.refused(flow, DeclineReason::TableFull),
                Err(error) => {
                    debug!(%error, "cannot install a flow");
                    self.core.refused(flow, DeclineReason::Unsupported);
                }
            },
            Action::InstallPair { flow, stations } => {
                if let Err(error) = self.path.install_pair(flow.0, stations) {
                    debug!(%error, "cannot install a pair of stations");
                    self.core.refused(flow, DeclineReason::TableFull);
                }
            }
            Action::Remove { flow } => {
                self.account.read(&mut self.path, flow.0);
                self.path.remove(flow.0);
            }
            Action::Invalidate { flow } => self.path.invalidate(flow.0),
            Action::Dump(source) => {
                if source == Source::Conntrack {
                    self.gone = Some(HashSet::new());
                }
                self.report(event::Event::Dump(source));
                self.dumps.push(source);
            }
            Action::Port(plan) => self.port(&plan, more),
            Action::Stacks(stacks) => {
                if let Err(error) = self.path.set_stacks(&stacks) {
                    warn!(%error, "cannot enter all devices into the packet path");
                }
            }
            // Already done, for the whole batch together.
            Action::InvalidateAll(_)
            | Action::InvalidateHops { .. }
            | Action::Relax(_)
            | Action::Query(_)
            | Action::Probe(_)
            | Action::Poll(_)
            | Action::Refresh { .. } => {}
        }
    }

    /// Attaches to a device, changes its settings, or detaches from it.
    fn port(&mut self, plan: &PortPlan, more: &mut Vec<Action>) {
        if !self.forwards {
            return;
        }
        let attached = (self.ports).attach(plan, &mut self.path, &mut self.account);
        if let Err(hook) = attached {
            let mut facts = self.core.port_facts(plan.link).cloned().unwrap_or_default();
            match hook {
                datapath::Hook::Xdp => facts.xdp_refused = true,
                datapath::Hook::Tc | datapath::Hook::Watch => facts.tc_refused = true,
            }
            self.core.facts(plan.link, facts, self.now(), more);
        }
    }
}

/// Returns the counters of a flow for the core; zero if the packet path does not have the flow.
fn readings(path: &mut Datapath, flow: FlowId) -> [Reading; 2] {
    path.read(flow.0).unwrap_or_default().map(|r| Reading {
        packets: r.packets,
        bytes: r.bytes,
        proven: r.proven,
        trials: r.trials,
        shown_length: r.shown_length,
    })
}
