//! The core: dispatches each event to its part.

use std::collections::HashSet;
use std::net::IpAddr;

use kernel::conntrack::ConnectionState;
use kernel::{Address, Connection, Event, Link, Mac, Neighbour, Prefix, Source, Tuple};

use crate::action::{Action, Cause, FlowId, PAIRS, Reading};
use crate::connections::Connections;
use crate::decline::DeclineReason;
use crate::firewall::Firewall;
use crate::flow::Flow;
use crate::network::Network;
use crate::output::Output;
use crate::pairs::{Pair, Pairs};
use crate::ports::{PortFacts, PortPlan};
use crate::room::{ADMIT_PER_EVENT, ADMIT_PER_TICK};
use crate::ruleset::PerPacketRule;
use crate::settings::Settings;
use crate::silent_connections::SilentConnections;
use crate::statistics::Statistics;
use crate::time::Millis;
use crate::upkeep::Upkeep;

/// Pause between dumps to learn again of connections that were forgotten.
const RELEARN: Millis = 60_000;

/// The decisions of weir. One event or tick in, actions out; see the crate's documentation.
///
/// Every call appends to `out`; actions must be applied in order, and at least once between two
/// ticks. Changes of devices, neighbours and stations as a whole are put off to [`Core::flush`],
/// which has to follow each batch of calls.
pub struct Core {
    connections: Connections,
    network: Network,
    firewall: Firewall,
    pairs: Pairs,
    /// Connections whose entries may send no events.
    older: SilentConnections,
    upkeep: Upkeep,
    output: Output,
}

impl Core {
    /// Creates a core without knowledge. Follow with [`Core::start`].
    pub fn new(settings: Settings) -> Self {
        Self {
            connections: Connections::new(settings),
            network: Network::default(),
            firewall: Firewall::default(),
            pairs: Pairs::default(),
            older: SilentConnections::default(),
            upkeep: Upkeep::default(),
            output: Output::default(),
        }
    }

    /// Requests the first dumps: addresses before connections, so that weir recognises connections
    /// that end at this router.
    pub fn start(&mut self, now: Millis, out: &mut Vec<Action>) {
        self.output.clock(now);
        self.network.ask(&mut self.output);
        self.connections.ask(&mut self.output);
        self.output.give(out);
    }

    /// Takes one event.
    pub fn on_event(&mut self, event: Event, now: Millis, out: &mut Vec<Action>) {
        self.take(event, false, now, out);
    }

    /// Handles an answer to [`Action::Dump`]. Unlike [`Core::on_event`], an answer does not prove
    /// that the kernel reports this connection by itself.
    pub fn on_dump_event(&mut self, event: Event, now: Millis, out: &mut Vec<Action>) {
        self.take(event, true, now, out);
    }

    fn take(&mut self, event: Event, answer: bool, now: Millis, out: &mut Vec<Action>) {
        self.output.clock(now);
        let output = &mut self.output;
        match event {
            Event::Connection(connection) => self.connection(&connection, answer),
            Event::ConnectionGone(id) => self.connections.gone(&id, output),
            Event::Link(link) => {
                if self.network.is_reused(&link) {
                    self.addresses_gone(link.index);
                }
                self.network.link(link, &mut self.output);
            }
            Event::LinkGone(index) => self.link_gone(index),
            Event::Address(address, true) => {
                if self.network.add_address(address, output) {
                    self.connections.own_address(address.address, true, output);
                }
            }
            Event::Address(address, false) => self.address_gone(&address),
            Event::Routing | Event::Policies | Event::Forwarding(_) => output.bump(Cause::Routing),
            Event::Neighbour(neighbour) => self.network.neighbour(neighbour, output),
            Event::Fdb(fdb) => self.network.station(&fdb),
            Event::Bridging(bridging) => self.network.bridging(&bridging, output),
            Event::BridgeVlan(index) => self.network.bridge_vlan(index, output),
            Event::Qdisc(qdisc) => self.network.qdisc(qdisc, output),
            // The caller reads filters and qdiscs, and reports the result.
            Event::Filters(_) | Event::Qdiscs(_) => {}
            Event::Firewall(generation) => self.firewall.report(generation, output),
            Event::DumpEnd(Source::Conntrack) => self.connections.dump_end(output),
            Event::DumpEnd(Source::Route) => {
                if self.network.dump_end(output) {
                    self.sweep_network();
                }
            }
            Event::DumpEnd(Source::Firewall | Source::Policy) => {}
            Event::Overrun(source) => {
                output.bump(Cause::Overrun(source));
                match source {
                    Source::Conntrack => self.connections.ask(output),
                    Source::Route => self.network.ask(output),
                    // The next generation ends proofs again, whatever its number.
                    Source::Firewall | Source::Policy => {}
                }
            }
        }
        self.connections.forget_excess(&mut self.output);
        self.connections.admit(ADMIT_PER_EVENT, &mut self.output);
        self.output.give(out);
    }

    fn connection(&mut self, connection: &Connection, answer: bool) {
        self.connections
            .connection(connection, answer, &mut self.output);
        if answer && self.connections.is_silent(&connection.id) {
            self.older.note(connection.id, self.output.now());
        }
    }

    fn address_gone(&mut self, address: &Address) {
        if self.network.remove_address(address, &mut self.output) {
            self.connections
                .own_address(address.address, false, &mut self.output);
        }
    }

    fn addresses_gone(&mut self, link: u32) {
        let all = self.network.addresses();
        let here: Vec<Address> = all.filter(|address| address.link == link).collect();
        for address in &here {
            self.address_gone(address);
        }
    }

    fn link_gone(&mut self, index: u32) {
        if self.network.link_of(index).is_some() {
            self.addresses_gone(index);
            self.network.link_gone(index, &mut self.output);
        }
    }

    /// Removes everything that neither a full dump nor a later event reported.
    fn sweep_network(&mut self) {
        for index in self.network.lost_links() {
            self.link_gone(index);
        }
        for address in &self.network.lost_addresses() {
            self.address_gone(address);
        }
        self.network.sweep_neighbours(&mut self.output);
    }

    /// Ends proofs because something expired without an event, as [`crate::ExpirySchedule`] says.
    pub fn expired(&mut self, now: Millis, out: &mut Vec<Action>) {
        self.output.clock(now);
        self.output.bump(Cause::Expiry);
        self.output.give(out);
    }

    /// Sets whether a firewall without change notifications (iptables-legacy) is in use: all proofs
    /// then end each second. Returns true if the value is new.
    pub fn legacy_firewall(&mut self, in_use: bool, now: Millis, out: &mut Vec<Action>) -> bool {
        self.output.clock(now);
        let new = self.firewall.set_legacy(in_use, &mut self.output);
        self.output.give(out);
        new
    }

    /// Sets whether rules may give an entry time-outs of its own
    /// ([`crate::ruleset::has_policies`]). If no rule does, the sysctls determine the time-outs.
    pub fn own_timeouts(&mut self, policies: bool) {
        self.upkeep.set_policies(policies);
    }

    /// Sets whether rules hide events of connections from conntrack's messages
    /// ([`crate::ruleset::UnreportedConditions::hidden`]): weir then queries conntrack.
    pub fn hidden_events(&mut self, hidden: bool) {
        self.upkeep.set_hidden(hidden);
    }

    /// Returns whether a firewall without change notifications is in use.
    pub fn has_legacy_firewall(&self) -> bool {
        self.firewall.is_legacy()
    }

    /// Call this several times a second: refreshes conntrack timeouts, spreads re-proofs, frees
    /// numbers, repeats unanswered requests. `read` returns the readings of the original and the
    /// reply direction of an installed flow.
    ///
    /// A tick visits a share of all flows that follows from the time since the last tick, not all
    /// flows.
    pub fn tick(
        &mut self,
        now: Millis,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Vec<Action>,
    ) {
        let output = &mut self.output;
        output.clock(now);
        self.connections.turn();
        self.older.poll(&mut self.connections, read, output);
        self.repeat_requests();
        let output = &mut self.output;
        self.firewall.tick(output);
        self.upkeep.show_far(&mut self.connections, output);
        let reprove = self.connections.settings().reprove;
        self.pairs.upkeep(reprove, read, output);
        self.upkeep.visit(&mut self.connections, read, output);
        // After the visits: of a question that was not answered until then they expect nothing
        // more.
        self.connections.look(read, output);
        let reprove = self.network.reprove(reprove);
        let connections = &mut self.connections;
        self.upkeep.reprove(connections, reprove, read, output);
        connections.admit(ADMIT_PER_TICK, output);
        connections.forget_excess(output);
        self.flush(out);
    }

    /// Ends a batch of events or other calls, and each tick: plans devices again if something
    /// changed, and ends the proofs over neighbours and stations that moved. A batch contains
    /// everything that weir read at once: a thousand changes cost one flush.
    pub fn flush(&mut self, out: &mut Vec<Action>) {
        let settings = self.connections.settings();
        if self.network.flush(settings, &mut self.output) {
            self.pairs.check(&self.network, settings, &mut self.output);
        }
        self.output.give(out);
    }

    /// Ends proofs as [`Core::flush`] does, for callers with other work before the remaining flush.
    pub fn flush_proofs(&mut self, out: &mut Vec<Action>) {
        self.network.flush_stations(&mut self.output);
        self.output.give(out);
    }

    /// Handles a failed [`Action::Install`]; the packet path does not know this flow. `TableFull`
    /// is tried again a second later; any other reason holds until the connection ends or its reply
    /// tuple changes.
    pub fn refused(&mut self, flow: FlowId, reason: DeclineReason) {
        match flow.0 & PAIRS {
            0 => self.connections.refuse(flow, reason, &mut self.output),
            _ => self.pairs.refused(flow, &mut self.output),
        }
    }

    /// Takes facts about a device that do not come from events.
    pub fn facts(&mut self, link: u32, facts: PortFacts, now: Millis, out: &mut Vec<Action>) {
        self.output.clock(now);
        self.network.learn_facts(link, facts, &mut self.output);
        self.output.give(out);
    }

    /// Applies new settings: rechecks every connection and device, and ends all proofs.
    pub fn reload(&mut self, settings: Settings, now: Millis, out: &mut Vec<Action>) {
        self.output.clock(now);
        if settings == *self.connections.settings() {
            return;
        }
        self.output.bump(Cause::Reload);
        self.connections.reload(settings, &mut self.output);
        self.network.set_unplanned();
        self.flush(out);
    }

    /// Applies the per-packet rules of a newly read ruleset to all connections; ends forwarding
    /// where weir no longer may forward.
    pub fn rules(&mut self, concerns: Vec<PerPacketRule>, now: Millis, out: &mut Vec<Action>) {
        let changed = self.connections.judge_mut().set_concerns(concerns);
        self.judge_all(changed, now, out);
    }

    /// Sets the addresses whose traffic weir's own rules limit, replacing the old set: the kernel
    /// handles the connections of these addresses.
    pub fn set_rate_limited(
        &mut self,
        addresses: &HashSet<IpAddr>,
        now: Millis,
        out: &mut Vec<Action>,
    ) {
        let changed = self.connections.judge_mut().set_slowed(addresses);
        self.judge_all(changed, now, out);
    }

    /// Applies newly read routes: those to these destinations have a program that sees each packet.
    /// Classifies all connections again, and ends forwarding where weir no longer may forward.
    pub fn route_programs(&mut self, routes: &[Prefix], now: Millis, out: &mut Vec<Action>) {
        let changed = self.connections.judge_mut().set_programs(routes);
        self.judge_all(changed, now, out);
    }

    fn judge_all(&mut self, changed: bool, now: Millis, out: &mut Vec<Action>) {
        self.output.clock(now);
        if changed {
            self.connections.judge_all(&mut self.output);
            self.output.give(out);
        }
    }

    /// Adds bytes that a flow forwarded; call this each second. The next tick renews the proof of a
    /// flow with much new traffic.
    pub fn add_forwarded_bytes(&mut self, id: FlowId, octets: u64) {
        self.upkeep.grew(&mut self.connections, id, octets);
    }

    /// Handles the reply of conntrack to an [`Action::Query`].
    pub fn on_query_reply(&mut self, looked: &ConnectionState, now: Millis, out: &mut Vec<Action>) {
        self.output.clock(now);
        let legacy = self.firewall.is_legacy();
        self.upkeep
            .looked(&mut self.connections, looked, legacy, &mut self.output);
        self.output.give(out);
    }

    /// Handles the reply of conntrack to an [`Action::Poll`]. A missing entry arrives as a
    /// `ConnectionGone` instead.
    pub fn on_poll_reply(&mut self, looked: &ConnectionState, now: Millis, out: &mut Vec<Action>) {
        self.output.clock(now);
        let changed = self
            .older
            .polled(&self.connections, looked, &mut self.output);
        if let Some(connection) = changed {
            self.connection(&connection, true);
            self.connections.forget_excess(&mut self.output);
            self.connections.admit(ADMIT_PER_EVENT, &mut self.output);
        }
        self.output.give(out);
    }

    /// Takes pairs, as `[to, from]`, between which the packet path saw a bridge pass frames. Pairs
    /// that may not be installed are skipped: the packet path repeats its report while they
    /// exchange frames.
    pub fn pairs_seen(&mut self, seen: &[[Mac; 2]], now: Millis, out: &mut Vec<Action>) {
        self.output.clock(now);
        let settings = self.connections.settings();
        self.pairs
            .seen(seen, &self.network, settings, &mut self.output);
        self.output.give(out);
    }

    /// Before [`Core::finish`]: queries connections that may have closed silently, as a last
    /// refresh would keep their entries. The number of queries is limited; connections without an
    /// answer get no refresh.
    pub fn before_finish(
        &mut self,
        now: Millis,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Vec<Action>,
    ) {
        self.output.clock(now);
        self.upkeep
            .before_finish(&self.connections, read, &mut self.output);
        self.output.give(out);
    }

    /// Sends the refreshes that are still due for forwarded packets; call this last.
    pub fn finish(
        &mut self,
        now: Millis,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Vec<Action>,
    ) {
        self.output.clock(now);
        self.upkeep
            .finish(&mut self.connections, read, &mut self.output);
        self.output.give(out);
    }

    /// Repeats unanswered dumps, and requests dumps for changes without events: forgotten
    /// connections once there is room, connections whose entries send no events, those whose events
    /// rules hide, those of a flowtable, and those whose packets conntrack did not see. The kernel
    /// sets and clears IPS_OFFLOAD silently.
    fn repeat_requests(&mut self) {
        self.network.ask_again(&mut self.output);
        self.connections.ask_again(&mut self.output);
        let dump = self.connections.dump();
        if dump.is_running() {
            return;
        }
        let (now, statistics) = (self.output.now(), &self.output.statistics);
        let room = statistics.declined_total() <= self.connections.settings().max_declined / 2;
        let elsewhere = [DeclineReason::Flowtable, DeclineReason::Untracked]
            .iter()
            .any(|reason| statistics.declined[reason.index()] > 0);
        let forgotten = self.connections.forgot() && room;
        let unreported = self.older.concern() || self.upkeep.is_hidden();
        let ask = forgotten || unreported || elsewhere;
        let changed = self.firewall.settled(now);
        if ask && dump.rested(RELEARN, now) || changed && elsewhere {
            self.connections.ask(&mut self.output);
        }
    }

    /// Returns a tracked connection.
    pub fn flow(&self, flow: FlowId) -> Option<&Flow> {
        self.connections.table().get(flow)
    }

    /// Returns every tracked connection, including declined ones.
    pub fn flows(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        self.connections.table().iter()
    }

    /// Returns the connections with this tuple, in either direction.
    pub fn find(&self, tuple: &Tuple) -> Vec<FlowId> {
        let ends = self.connections.table().ends(tuple);
        let mut found: Vec<FlowId> = ends.map(|(flow, _)| flow).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns true if all connections that conntrack reported are known here: with too many of
    /// them weir forgets some.
    pub fn knows_all(&self) -> bool {
        !self.connections.forgot()
    }

    /// Plans of all devices, by index.
    pub fn ports(&self) -> impl Iterator<Item = &PortPlan> {
        self.network.plans()
    }

    /// Returns the known devices, by index.
    pub fn links(&self) -> impl Iterator<Item = &Link> + Clone {
        self.network.links_from(0)
    }

    /// Returns the link of one device.
    pub fn known_link(&self, link: u32) -> Option<&Link> {
        self.network.link_of(link)
    }

    /// Returns up to `most` devices, from this index on.
    pub fn links_from(&self, link: u32, most: usize) -> impl Iterator<Item = &Link> {
        self.network.links_from(link).take(most)
    }

    /// Facts about a device that do not come from events.
    pub fn port_facts(&self, link: u32) -> Option<&PortFacts> {
        self.network.facts(link)
    }

    /// Returns the addresses of this router, in no order.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        self.network.addresses()
    }

    /// Returns the neighbours with a known hardware address, in no order.
    pub fn neighbours(&self) -> impl Iterator<Item = Neighbour> {
        self.network.neighbours()
    }

    /// Returns the known pairs, by number.
    pub fn pairs(&self) -> impl Iterator<Item = (FlowId, &Pair)> {
        self.pairs.iter()
    }

    /// Returns the time in which each flow has to go through the kernel once more; 0: never.
    pub fn reprove(&self) -> Millis {
        self.network.reprove(self.settings().reprove)
    }

    /// Returns the counters.
    pub fn statistics(&self) -> &Statistics {
        &self.output.statistics
    }

    /// Returns the settings in force.
    pub fn settings(&self) -> &Settings {
        self.connections.settings()
    }

    /// Returns the per-packet rules, as last read.
    pub fn per_packet_rules(&self) -> &[PerPacketRule] {
        self.connections.judge().concerns()
    }

    /// Returns the first rule that may see each packet of a connection, if such rules are
    /// respected.
    pub fn per_packet_rule(&self, flow: &Flow) -> Option<&PerPacketRule> {
        self.connections.judge().concern(flow, self.settings())
    }

    /// Returns the number of connections that each rule leaves to the kernel, in the order of
    /// [`Core::per_packet_rules`]; several rules may leave one connection to the kernel.
    pub fn costs(&self) -> Vec<usize> {
        let each = DeclineReason::EachPacket;
        let flows = self.flows().map(|(_, flow)| flow);
        let left = flows.filter(|flow| flow.declined == Some(each));
        let count = self.statistics().declined[each.index()];
        self.connections.judge().costs(left, count)
    }

    /// Returns the generation of the nftables ruleset, once reported.
    pub fn firewall(&self) -> Option<u32> {
        self.firewall.generation()
    }
}
