//! Who uses the network: the meter's records and what weir forwards, brought to the pure core, and
//! shown.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::{Duration, Instant};

use answers::{DeviceLabel, DeviceLabelled, Remembered};
use api::Problem;
use datapath::meter::Meter;
use kernel::{Ends, Event, Source};
use monitor_core::{Flood, Limits, Millis, Monitor, TALK_OCTETS};
use tracing::{info, warn};

use super::conditions::Lines;
use super::config::{Ipfix, Monitor as Config};
use super::crossings::Crossings;
use super::labels::{Labels, Writing};
use super::plan::Metered;
use super::uplinks::Uplinks;
use super::{export, naming, probes, room, timing, vendors, wifi};
use history::past;
use runtime::config::Effective;
use runtime::daemon::{Nest, unix_seconds};
use runtime::registry::Doubt;

/// Names are told to the history each so many seconds.
const NAMES_EVERY: u64 = 60;
/// What devices are called is written each so many seconds, where it could not be before.
const LABELS_EVERY: u64 = 10;

/// What the daemon keeps of the monitor.
pub struct Keeper {
    /// The sums.
    pub core: Monitor,
    /// What is recorded of the network stack.
    pub probes: probes::Probes,
    pub(crate) meter: Meter,
    /// Packets that tell names are copied.
    pub(crate) copies: bool,
    pub(crate) naming: naming::Naming,
    labels: Labels,
    pub(crate) vendors: vendors::Vendors,
    pub(crate) wifi: wifi::Wifi,
    /// When the core's clock began: by this one's, and in seconds since 1970.
    pub(crate) began: Instant,
    pub(crate) began_unix: u64,
    pub(crate) metered: BTreeMap<u32, Metered>,
    pub(crate) uplinks: Uplinks,
    /// Devices that led to an uplink since weir started.
    pub(crate) led_out: BTreeSet<u32>,
    /// Devices that lead to no uplink, and did not before.
    pub(crate) inside: BTreeSet<u32>,
    crossings: Crossings,
    /// Routes or devices changed since they were last looked at.
    pub(crate) stale: bool,
    /// All devices were told of, just now.
    pub(crate) listed: bool,
    /// They were told of before: which are gone is not known until then.
    pub(crate) complete: bool,
    pub(crate) busy: timing::Busy,
    pub(crate) export: Option<export::Export>,
    pub(crate) past: Option<past::Past>,
    /// Why there is none.
    no_past: Option<String>,
    /// Quotas that nobody has.
    doubt: Option<Doubt>,
    /// What the firewall is to be told.
    rules: Option<String>,
    seconds: u64,
    /// State from which conditions of uplinks follow.
    pub(crate) lines: Lines,
    /// Whether a flood fills the meter's records.
    pub(crate) flood: Flood,
}

impl Keeper {
    /// Loads the meter. `None`: it is switched off, or this kernel cannot.
    pub fn load(effective: &Effective, links: &[u32]) -> Option<Self> {
        if !*effective.of::<Config>().enabled {
            return None;
        }
        let meter = Meter::load(room::sizes(*effective.of::<Config>().size, links), true)
            .inspect_err(
                |error| warn!(%error, "nothing is counted by conversation: the meter does not load"),
            )
            .ok()?;
        info!(
            records = meter.capacity(),
            memory = meter.sizes().octets(),
            "counts conversations"
        );
        let memory = room::memory(*effective.of::<Config>().memory);
        let mut core = Monitor::new(Limits::of_memory(memory));
        if effective.of::<Ipfix>().collector.is_some() {
            core.tell(Some(effective.of::<Ipfix>().active.as_millis() as Millis));
        }
        let mut labels = Labels::open(effective.of::<Config>().choices.as_deref());
        labels.configure(effective);
        labels.tell(&mut core.names);
        let mut probes = probes::Probes::new();
        probes.choose(&effective.of::<Config>().probes);
        Some(Self {
            core,
            probes,
            meter,
            copies: *effective.of::<Config>().names,
            naming: naming::Naming::new(effective.of::<Config>().leases.value.clone()),
            labels,
            vendors: vendors::Vendors::default(),
            wifi: wifi::Wifi::new(),
            began: Instant::now(),
            began_unix: unix_seconds(),
            metered: BTreeMap::new(),
            uplinks: Uplinks::default(),
            led_out: BTreeSet::new(),
            inside: BTreeSet::new(),
            crossings: Crossings::default(),
            stale: true,
            listed: false,
            complete: false,
            busy: timing::Busy::default(),
            export: export::Export::new(effective.of()),
            past: None,
            no_past: None,
            doubt: doubt(effective),
            rules: None,
            seconds: 0,
            lines: Lines::default(),
            flood: Flood::default(),
        })
    }

    pub(crate) fn now(&self) -> Millis {
        self.began.elapsed().as_millis() as Millis
    }

    /// Something happened in the kernel. `connections`: what conntrack had told before.
    pub fn heard(&mut self, event: &Event, connections: &offload_core::Core) {
        self.wifi.heard(event);
        self.crossings.heard(event, self.now());
        match event {
            Event::LinkGone(link) => {
                // Its number may be another's next.
                self.led_out.remove(link);
                self.stale = true;
            }
            Event::Link(_) | Event::Routing => self.stale = true,
            Event::DumpEnd(Source::Route) => (self.listed, self.complete) = (true, true),
            Event::Neighbour(neighbour) => self.core.neighbour(neighbour.address, neighbour.mac),
            _ => {}
        }
        if let Some(export) = &mut self.export {
            export.heard(event, outside(&self.core, connections));
        }
    }

    /// All connections are asked for.
    pub fn dump_asked(&mut self) {
        if let Some(export) = &mut self.export {
            export.dump_asked();
        }
    }

    /// Begins to keep a history.
    pub fn keep_history(&mut self, file: &Path, effective: &Effective, nest: Nest) {
        match past::Past::start(file, effective, unix_now(), nest) {
            Ok(past) => {
                self.past = Some(past);
                self.core.gather_usage();
            }
            Err(why) => self.no_past = Some(why),
        }
    }

    /// Why no history is kept, or nothing of it written just now.
    pub fn history_fails(&self) -> Option<String> {
        let now = self.past.as_ref().and_then(past::Past::trouble);
        now.or_else(|| self.no_past.clone())
    }

    /// Other settings, as far as they take effect at once.
    pub fn reload(&mut self, effective: &Effective) {
        self.doubt = doubt(effective);
        if let Some(past) = &mut self.past {
            past.reload(effective, unix_now());
        }
        self.labels.configure(effective);
        self.labels.tell(&mut self.core.names);
        self.probes.choose(&effective.of::<Config>().probes);
        let ipfix = effective.of::<Ipfix>();
        if !self.export.as_ref().is_some_and(|now| now.suits(ipfix)) {
            self.export = export::Export::new(ipfix);
        }
        let active = ipfix.active.as_millis() as Millis;
        self.core.tell(self.export.is_some().then_some(active));
        // Names of ports are told again.
        self.stale = true;
    }

    /// How much is remembered.
    pub fn remembered(&self) -> Remembered {
        let [conversations, capacity] = self.core.remembered().map(|number| number as u64);
        let crowded = self.core.crowded();
        Remembered {
            conversations,
            capacity,
            memory: conversations * TALK_OCTETS as u64,
            memory_limit: capacity * TALK_OCTETS as u64,
            no_room: answers::Count {
                bytes: crowded.octets,
                packets: crowded.packets,
            },
        }
    }

    /// What people say of devices.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Whether what was said of a device could be written.
    pub fn labels_written(&mut self, outcome: Result<(), String>) {
        self.labels.written(outcome);
    }

    /// Quotas that nobody has.
    pub fn doubt(&self) -> Option<&Doubt> {
        self.doubt.as_ref()
    }

    /// Tells whether there are quotas that nothing can use up.
    pub fn quotas_are_idle(&self) -> bool {
        let judged = self.past.as_ref().is_some_and(past::Past::has_quotas);
        judged && self.complete && !self.core.has_uplink()
    }

    /// Takes what somebody says of a device.
    pub fn label(
        &mut self,
        mac: &str,
        asked: &DeviceLabel,
    ) -> Result<(DeviceLabelled, Writing), Problem> {
        let given = self.labels.give(mac, asked)?;
        self.labels.tell(&mut self.core.names);
        Ok(given)
    }

    /// Answers from the history.
    pub fn history(&self, asked: &answers::HistoryQuery) -> Option<api::Later<answers::History>> {
        Some(self.past.as_ref()?.ask(asked, unix_now()))
    }

    /// What the firewall is to be told, if anything.
    pub fn take_rules(&mut self) -> Option<String> {
        self.rules.take()
    }

    /// The firewall did not take them.
    pub fn rules_refused(&mut self) {
        if let Some(past) = &mut self.past {
            past.unsure();
        }
    }

    /// Whether the firewall has rules of quotas, as somebody looked: a weir that was killed left
    /// them, or whoever flushed the ruleset took them away.
    pub fn rules_seen(&mut self, there: bool) {
        match &mut self.past {
            Some(past) => past.rules_seen(there),
            None if there => self.rules = Some(history_core::nft::remove()),
            None => {}
        }
    }

    /// The end: what is not written or told yet is. Whether rules of quotas are left to be taken
    /// away.
    pub fn stop(&mut self, connections: &offload_core::Core) -> bool {
        self.labels.write_last();
        if self.export.is_some() {
            self.read();
            self.pair(connections);
            self.core.judge();
            while self.core.tell_rest(self.now()) {
                self.tell(connections, true);
            }
            self.tell(connections, true);
        }
        let Some(mut past) = self.past.take() else {
            return false;
        };
        let now = unix_now();
        past.add(now, self.core.take_usage());
        let cutting = past.is_cutting();
        past.stop(now);
        cutting
    }

    /// Tells the collector of what is due; `stops`: for the last time.
    fn tell(&mut self, connections: &offload_core::Core, stops: bool) {
        let told = self.core.take_told();
        let now = self.now();
        let Some(mut export) = self.export.take() else {
            return;
        };
        export.begin(connections, outside(&self.core, connections));
        for told in &told {
            export.flow(told, self.began_unix, stops);
        }
        let mut ignored = self.core.crowded();
        for (_, port) in self.core.ports() {
            for way in port.metered() {
                ignored += way.unplaced;
            }
        }
        export.second(ignored, now);
        self.export = Some(export);
    }

    /// Hands on what devices used, and judges it.
    fn remember(&mut self) {
        let Some(past) = &mut self.past else { return };
        past.add(unix_now(), self.core.take_usage());
        if self.seconds % NAMES_EVERY == 1 {
            for device in self.core.devices() {
                if let Some((name, _)) = self.core.name_of(device) {
                    past.name(device.mac, name);
                }
            }
        }
        let core = &self.core;
        let addresses = |mac: &kernel::Mac| {
            let device = core.device(mac);
            device.map(|d| core.addresses(d)).unwrap_or_default()
        };
        if let Some(rules) = past.judge(addresses) {
            self.rules = Some(rules);
        }
    }

    /// Looks for the other sides of conversations.
    pub fn pair(&mut self, connections: &offload_core::Core) {
        let now = self.now();
        let own: Vec<IpAddr> = connections.addresses().map(|own| own.address).collect();
        let crossings = &mut self.crossings;
        let leaves = |ends: &Ends| crossings.leaves(ends, connections);
        self.core.pair(leaves, &own, now);
    }

    /// A second went by, and all is read. `connections`: what conntrack knows.
    pub fn turn(&mut self, connections: &offload_core::Core) {
        self.seconds += 1;
        self.naming.second(&mut self.core.names);
        self.core.gateways(self.uplinks.gateways.iter().copied());
        self.pair(connections);
        self.core.turn(self.now());
        self.probes.turn();
        self.wifi.turn();
        if self.seconds % LABELS_EVERY == 1 {
            self.labels.write_again();
        }
        self.tell(connections, false);
        self.remember();
    }
}

/// Tells of the source of a connection whether it is beyond the uplink: it asked for an address of
/// this router, and is no station inside.
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

/// Quotas that nobody has, which is told.
fn doubt(effective: &Effective) -> Option<Doubt> {
    let doubt = past::doubt(effective)?;
    warn!("{}; {}", doubt.what, doubt.hint);
    Some(doubt)
}

/// Seconds since 1970, as the system's clock has it.
pub(crate) fn unix_now() -> i64 {
    i64::try_from(unix_seconds()).unwrap_or(i64::MAX)
}

/// How long ago something was, to seconds since 1970.
pub(crate) fn unix(began_unix: u64, at: Millis) -> u64 {
    began_unix + Duration::from_millis(at).as_secs()
}
