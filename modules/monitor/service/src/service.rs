//! Network usage: feeds the meter's records and weir's own forwarding into the pure core, and shows
//! the result.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use answers::{DeviceLabel, LabelledDevice, MonitorStatus};
use api::Problem;
use datapath::meter::Meter;
use kernel::{Endpoints, Event, Link};
use monitor_core::{BYTES_PER_CONVERSATION, Limits, Millis, Monitor};
use tracing::{info, warn};

use super::clock::{Clock, unix_now};
use super::conditions::UplinkHealth;
use super::config::{Ipfix, Monitor as Config};
use super::labels::{Labels, Writing};
use super::ports::Ports;
use super::recent_connections::RecentConnections;
use super::records::Records;
use super::snapshot::Snapshot;
use super::{capacity, export, forwarded, naming, probes, timing, vendors, wifi};
use history::recorder;
use runtime::config::Effective;
use runtime::daemon::{self, Finding, Router, Spawner};
use runtime::registry::ConfigWarning;

/// Interval at which names are sent to the history, in seconds.
const NAMES_EVERY: u64 = 60;
/// Interval of further attempts to write device labels, in seconds.
const LABELS_EVERY: u64 = 10;

/// State of the monitor in the daemon.
pub struct Service {
    /// The sums.
    pub core: Monitor,
    /// Probes of the network stack.
    pub probes: probes::Probes,
    records: Records,
    labels: Labels,
    vendors: vendors::Vendors,
    wifi: wifi::Wifi,
    clock: Clock,
    ports: Ports,
    crossings: RecentConnections,
    busy: timing::BusiestFlows,
    export: Option<export::Export>,
    history: Option<recorder::HistoryRecorder>,
    /// Reason why the history is off.
    no_past: Option<String>,
    /// Problem with quotas of unknown devices.
    doubt: Option<ConfigWarning>,
    /// Next update of the firewall.
    rules: Option<String>,
    seconds: u64,
    /// State from which conditions of uplinks follow.
    lines: UplinkHealth,
}

impl Service {
    /// Loads the meter. `None`: it is switched off, or this kernel cannot.
    pub fn load(effective: &Effective, links: &[u32]) -> Option<Self> {
        if !*effective.of::<Config>().enabled {
            return None;
        }
        let meter = Meter::load(capacity::sizes(*effective.of::<Config>().size, links), true)
            .inspect_err(
                |error| warn!(%error, "cannot load the meter: conversations are not counted"),
            )
            .ok()?;
        info!(
            records = meter.capacity(),
            memory = meter.sizes().memory_bytes(),
            "counts conversations"
        );
        let memory = capacity::memory(*effective.of::<Config>().memory);
        let mut core = Monitor::new(Limits::of_memory(memory));
        if effective.of::<Ipfix>().collector.is_some() {
            core.set_report_interval(Some(effective.of::<Ipfix>().active.as_millis() as Millis));
        }
        let mut labels = Labels::open(effective.of::<Config>().choices.as_deref());
        labels.configure(effective);
        labels.publish_names(&mut core.names);
        let mut probes = probes::Probes::new();
        probes.choose(&effective.of::<Config>().probes);
        let clock = Clock::begin();
        let naming = naming::Naming::new(effective.of::<Config>().leases.value.clone());
        Some(Self {
            core,
            probes,
            records: Records::new(meter, naming, clock),
            labels,
            vendors: vendors::Vendors::default(),
            wifi: wifi::Wifi::new(),
            clock,
            ports: Ports::new(*effective.of::<Config>().names),
            crossings: RecentConnections::default(),
            busy: timing::BusiestFlows::default(),
            export: export::Export::new(effective.of()),
            history: None,
            no_past: None,
            doubt: doubt(effective),
            rules: None,
            seconds: 0,
            lines: UplinkHealth::default(),
        })
    }

    /// Reads devices and routes again if they changed. Due every second, and before a port is
    /// reported.
    pub fn refresh<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        if self.ports.take_stale() {
            self.attach(links);
        }
    }

    /// Counts at those of these devices that are ports, and at no other.
    pub fn attach<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        let (meter, export) = (self.records.meter(), self.export.as_mut());
        let new = self.ports.attach(links, meter, &mut self.core, export);
        if !new.is_empty() {
            // The new ports count already.
            self.read();
            self.ports.log_earlier_traffic(&new, &self.core);
        }
    }

    /// Reads devices again as soon as the first list is complete, not a second later: at the start,
    /// no packet may pass uncounted.
    pub fn settled<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        if self.ports.take_listed() {
            self.refresh(links);
        }
    }

    /// Adds traffic that weir forwarded.
    pub fn add_forwarded(&mut self, forwarded: &daemon::ForwardedFlow<'_>) {
        let now = self.clock.now();
        self.busy
            .forwarded(forwarded.growth, forwarded.ingress_device, &self.ports);
        forwarded::count(&mut self.core, &self.ports, forwarded, now);
    }

    /// Adds waiting times of TCP connections that weir forwards.
    pub fn time(&mut self, router: &mut Router) {
        self.busy.time(router, &mut self.core, self.clock);
    }

    /// Reads the kernel's events, and frees records; due at each tick.
    pub fn tick(&mut self) {
        self.records.tick(&mut self.core, &self.ports);
        if let Some(export) = &mut self.export {
            export.tick(self.clock.now());
        }
    }

    /// Reads all records; due every second.
    pub fn read_due(&mut self) {
        self.records.read_due(&mut self.core, &self.ports);
    }

    /// Reads all records, also before a response.
    pub fn read(&mut self) {
        self.records.read(&mut self.core, &self.ports);
    }

    /// Checks the uplinks; due every second.
    pub fn check_uplinks<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        let now = self.clock.now();
        self.lines.update(links, &self.ports, &self.core, now);
    }

    /// Conditions of now.
    pub fn conditions(&self, findings: &mut Vec<Finding>) {
        let (past, now) = (self.history.as_ref(), self.clock.now());
        self.lines
            .conditions(&self.ports, &self.core, past, now, findings);
    }

    /// Returns the state from which responses are built.
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            core: &self.core,
            ports: &self.ports,
            labels: &self.labels,
            vendors: &self.vendors,
            wifi: &self.wifi,
            history: self.history.as_ref(),
            clock: self.clock,
        }
    }

    /// Handles an event of the kernel. `connections`: the state of conntrack before the event.
    pub fn on_event(&mut self, event: &Event, connections: &offload_core::Core) {
        self.wifi.on_event(event);
        self.crossings.on_event(event, self.clock.now());
        self.ports.on_event(event);
        if let Event::Neighbour(neighbour) = event {
            self.core.set_neighbour(neighbour.address, neighbour.mac);
        }
        if let Some(export) = &mut self.export {
            export.on_event(event, outside(&self.core, connections));
        }
    }

    /// Handles the start of a dump of all connections.
    pub fn on_dump_start(&mut self) {
        if let Some(export) = &mut self.export {
            export.on_dump_start();
        }
    }

    /// Starts the history.
    pub fn start_history(&mut self, file: &Path, effective: &Effective, nest: Spawner) {
        match recorder::HistoryRecorder::start(file, effective, unix_now(), nest) {
            Ok(past) => {
                self.history = Some(past);
                self.core.collect_usage();
            }
            Err(why) => self.no_past = Some(why),
        }
    }

    /// Returns the reason why the history is off, or why its writes fail at present.
    pub fn history_fails(&self) -> Option<String> {
        let now = self
            .history
            .as_ref()
            .and_then(recorder::HistoryRecorder::problem);
        now.or_else(|| self.no_past.clone())
    }

    /// Applies a new configuration, as far as settings can change at once.
    pub fn reload(&mut self, effective: &Effective) {
        self.doubt = doubt(effective);
        if let Some(past) = &mut self.history {
            past.reload(effective, unix_now());
        }
        self.labels.configure(effective);
        self.labels.publish_names(&mut self.core.names);
        self.probes.choose(&effective.of::<Config>().probes);
        let ipfix = effective.of::<Ipfix>();
        if !self.export.as_ref().is_some_and(|now| now.suits(ipfix)) {
            self.export = export::Export::new(ipfix);
        }
        let active = ipfix.active.as_millis() as Millis;
        self.core
            .set_report_interval(self.export.is_some().then_some(active));
        // Names of ports are reported again.
        self.ports.look_again();
    }

    /// Returns the use of the table of conversations.
    pub fn status(&self) -> MonitorStatus {
        let [conversations, capacity] = self.core.occupancy().map(|number| number as u64);
        let crowded = self.core.overflow();
        MonitorStatus {
            conversations,
            capacity,
            memory: conversations * BYTES_PER_CONVERSATION as u64,
            memory_limit: capacity * BYTES_PER_CONVERSATION as u64,
            overflow: answers::Count {
                bytes: crowded.bytes,
                packets: crowded.packets,
            },
        }
    }

    /// Returns the labels of devices.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Handles the result of writing a label.
    pub fn labels_written(&mut self, outcome: Result<(), String>) {
        self.labels.written(outcome);
    }

    /// Returns the problem with quotas of unknown devices.
    pub fn doubt(&self) -> Option<&ConfigWarning> {
        self.doubt.as_ref()
    }

    /// Returns true if there are quotas that no traffic can use up.
    pub fn quotas_are_idle(&self) -> bool {
        let judged = self
            .history
            .as_ref()
            .is_some_and(recorder::HistoryRecorder::has_quotas);
        judged && self.ports.is_complete() && !self.core.has_uplink()
    }

    /// Stores a label that a user gave to a device.
    pub fn label(
        &mut self,
        mac: &str,
        asked: &DeviceLabel,
    ) -> Result<(LabelledDevice, Writing), Problem> {
        let given = self.labels.give(mac, asked)?;
        self.labels.publish_names(&mut self.core.names);
        self.name_in_history();
        Ok(given)
    }

    /// Answers from the history.
    pub fn history(
        &self,
        asked: &answers::HistoryQuery,
    ) -> Option<api::ResponseFuture<answers::History>> {
        Some(self.history.as_ref()?.query(asked, unix_now()))
    }

    /// Returns the next update of the firewall, if any.
    pub fn take_rules(&mut self) -> Option<String> {
        self.rules.take()
    }

    /// Handles a refusal of the rules by the firewall.
    pub fn rules_refused(&mut self) {
        if let Some(past) = &mut self.history {
            past.unsure();
        }
    }

    /// Compares the rules of quotas with those seen: a killed weir leaves them, and a flush of the
    /// ruleset removes them.
    pub fn on_ruleset(&mut self, there: bool) {
        match &mut self.history {
            Some(past) => past.rules_seen(there),
            None if there => self.rules = Some(history_core::nft::remove()),
            None => {}
        }
    }

    /// Stops the monitor: writes and reports the remaining data. Returns true if rules of quotas
    /// have to be removed.
    pub fn stop(&mut self, connections: &offload_core::Core) -> bool {
        self.labels.write_last();
        if self.export.is_some() {
            self.read();
            self.pair(connections);
            self.core.classify();
            while self.core.report_rest(self.clock.now()) {
                self.export_due(connections, true);
            }
            self.export_due(connections, true);
        }
        let Some(mut past) = self.history.take() else {
            return false;
        };
        let now = unix_now();
        past.add(now, self.core.take_usage());
        let cutting = past.is_cutting();
        past.stop(now);
        cutting
    }

    /// Exports due conversations; `stops`: for the last time.
    fn export_due(&mut self, connections: &offload_core::Core, stops: bool) {
        let told = self.core.take_reports();
        let now = self.clock.now();
        let Some(mut export) = self.export.take() else {
            return;
        };
        export.begin(connections, outside(&self.core, connections));
        for told in &told {
            export.add_conversation(told, self.clock.began(), stops);
        }
        let mut ignored = self.core.overflow();
        for (_, port) in self.core.ports() {
            for way in port.counters() {
                ignored += way.unplaced;
            }
        }
        export.second(ignored, now);
        self.export = Some(export);
    }

    /// Sends the names of devices to the history, which stores changed ones.
    fn name_in_history(&mut self) {
        let Some(past) = &mut self.history else {
            return;
        };
        for device in self.core.devices() {
            if let Some((name, _)) = self.core.name_of(device) {
                past.name(device.mac, name);
            }
        }
    }

    /// Hands on what devices used, and judges it.
    fn record_usage(&mut self) {
        if self.seconds % NAMES_EVERY == 1 {
            self.name_in_history();
        }
        let Some(past) = &mut self.history else {
            return;
        };
        past.add(unix_now(), self.core.take_usage());
        let core = &self.core;
        let addresses = |mac: &kernel::Mac| {
            let device = core.device(mac);
            device.map(|d| core.addresses(d)).unwrap_or_default()
        };
        if let Some(rules) = past.evaluate(addresses) {
            self.rules = Some(rules);
        }
    }

    /// Finds the other halves of conversations.
    pub fn pair(&mut self, connections: &offload_core::Core) {
        let now = self.clock.now();
        let own: Vec<IpAddr> = connections.addresses().map(|own| own.address).collect();
        let crossings = &mut self.crossings;
        let leaves = |ends: &Endpoints| crossings.egress_endpoints(ends, connections);
        self.core.pair(leaves, &own, now);
    }

    /// Handles the end of a second, after all readings. `connections`: the state of conntrack.
    pub fn on_second(&mut self, connections: &offload_core::Core) {
        self.seconds += 1;
        self.records.second(&mut self.core.names);
        self.core
            .set_gateways(self.ports.uplinks().gateways.iter().copied());
        self.pair(connections);
        self.core.advance(self.clock.now());
        self.probes.turn();
        self.wifi.turn();
        if self.seconds % LABELS_EVERY == 1 {
            self.labels.write_again();
        }
        self.export_due(connections, false);
        self.record_usage();
    }
}

/// Returns a test whether the source of a connection is beyond the uplink: it connected to an
/// address of this router, and is not a station inside.
fn outside<'a>(
    core: &'a Monitor,
    connections: &'a offload_core::Core,
) -> impl Fn(Ipv4Addr, Ipv4Addr) -> bool + 'a {
    move |source, asked| {
        let mac = core.mac_of(&source.into());
        let station = mac.and_then(|mac| core.device(&mac));
        let mut own = connections.addresses();
        station.is_none_or(|device| core.is_uplink(device))
            && own.any(|own| own.address == IpAddr::from(asked))
    }
}

/// Returns and logs a problem with quotas of unknown devices.
fn doubt(effective: &Effective) -> Option<ConfigWarning> {
    let doubt = recorder::doubt(effective)?;
    warn!("{}; {}", doubt.what, doubt.hint);
    Some(doubt)
}
