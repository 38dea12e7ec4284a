//! The watched ports: chooses them, collects their prior facts, and moves them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cables_core::{Decision, Port, Role, Use};
use datapath::cable::Cables;
use kernel::{Link, Neighbour};
use tracing::{info, warn};

use super::administrator::Administrator;
use super::events::EventLog;
use super::hello_port::Keys;
use super::loop_prober::{LoopProber, probe};
use super::move_state::kept;
use super::mover::{MoveCheck, MoveRequest, MoveResult, Mover};
use super::observed_port::{ObservedPort, PortContext, now};
use super::system_state::{SystemState, is_socket};

/// Time after the start in which no port counts as missing, in milliseconds.
const BEGINS: u64 = 5000;

/// All watched ports.
pub struct Watch {
    noting: Cables,
    keys: Option<Keys>,
    /// Names; none: every socket.
    wanted: Vec<String>,
    /// By index.
    ports: BTreeMap<u32, ObservedPort>,
    /// Devices that are not ports, or cannot be observed, by index: the kernel is queried once.
    others: BTreeMap<u32, String>,
    /// Of those names, the ones that no device has.
    missing: BTreeSet<String>,
    /// Connections of administrators.
    pub administrator: Administrator,
    held: BTreeMap<String, Role>,
    own: Vec<kernel::Mac>,
    /// Mover of ports; `None`: ports are not moved.
    mover: Option<Mover>,
    doings: SystemState,
    /// Start of the observation.
    begun: u64,
    prober: LoopProber,
    /// Servers of others are kept out of the LAN.
    guards: bool,
    /// Last events.
    pub events: EventLog,
}

/// Options of the watch.
pub struct WatchOptions<'a> {
    /// Names of ports; none: every socket.
    pub ports: Vec<String>,
    pub keys: Option<Keys>,
    /// Roles chosen by hand.
    pub held: BTreeMap<String, Role>,
    /// Servers of others are kept out of the LAN.
    pub guards: bool,
    /// Socket of the process that may write the configuration; `None`: ports are not moved.
    pub socket: Option<&'a Path>,
}

impl Watch {
    /// Creates the watch, which observes no port yet.
    pub fn new(noting: Cables, administrator: Administrator, wanted: WatchOptions<'_>) -> Self {
        Self {
            noting,
            keys: wanted.keys,
            wanted: wanted.ports,
            ports: BTreeMap::new(),
            others: BTreeMap::new(),
            missing: BTreeSet::new(),
            administrator,
            held: wanted.held,
            own: Vec::new(),
            mover: wanted.socket.map(Mover::new),
            doings: SystemState::default(),
            begun: now(),
            prober: LoopProber::default(),
            guards: wanted.guards,
            events: EventLog::default(),
        }
    }

    /// Updates all ports and devices. Returns true if an open gate was shut: earlier proofs must
    /// not bypass it.
    pub fn tick<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) -> bool {
        let own: Vec<kernel::Mac> = links.clone().filter_map(|link| link.mac).collect();
        if own != self.own {
            if let Err(error) = self.noting.own(&own) {
                warn!(%error, "a loop may stay undetected");
            }
            self.own = own;
        }
        // A device with a new name is another port.
        let is_gone = |(index, port): &(&u32, &ObservedPort)| {
            let mut links = links.clone();
            !links.any(|link| link.index == **index && link.name == port.device)
        };
        let gone = self.ports.iter().filter(is_gone);
        let gone: Vec<u32> = gone.map(|(index, _)| *index).collect();
        for index in gone {
            self.gone(index);
        }
        let mut shut = false;
        for link in links.clone() {
            shut |= self.changed(link, links.clone());
        }
        let now = now();
        shut |= self.look(links.clone(), now);
        self.noting.refresh();
        shut
    }

    /// Listens at all ports, and applies the decisions. Returns true if a gate was shut.
    fn look<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone, now: u64) -> bool {
        let (mut wanted, mut shut) = (None::<MoveRequest>, false);
        let uplink = self.uplink(links.clone(), now);
        let mut means = PortContext {
            noting: &mut self.noting,
            own: &self.own,
            other_uplink: None,
            cut_elsewhere: false,
            guards: self.guards,
            now,
        };
        for (index, port) in &mut self.ports {
            port.listen(*index, &mut means);
        }
        let cut = cut(&mut self.ports, now);
        for (index, port) in &mut self.ports {
            let was = port.is_shut();
            means.other_uplink = self.mover.as_ref().map(|_| {
                let uplink = uplink.as_deref();
                uplink.is_some_and(|uplink| uplink != port.device)
            });
            means.cut_elsewhere =
                cut.is_some_and(|cut| cut != *index) && port.is_loop(now) == Some(true);
            let wants = port.act(*index, &mut means);
            shut |= !was && port.is_shut();
            // A move that frees a port comes first.
            if let Some(wants) = wants
                && wanted.as_ref().is_none_or(|it| it.to == Use::Uplink)
            {
                wanted = Some(wants);
            }
            let decision = port.decision(now);
            if port.news(&decision) {
                let (role, why) = (decision.role.word(), &decision.why);
                info!("{}: {role}: {why}", port.device);
                self.events.role(&port.device, decision.role, why);
            }
        }
        if self.mover.is_some() && self.prober.is_due(now, cut.is_some()) {
            for port in self.ports.values().filter(|port| port.up) {
                probe(&port.device, port.mac);
            }
        }
        self.step(wanted.as_ref(), now, links);
        shut
    }

    /// Returns the configured uplink, if it has a link. An automatic uplink whose new cable is not
    /// an uplink does not count: cables may be swapped.
    fn uplink<'a>(&mut self, links: impl Iterator<Item = &'a Link>, now: u64) -> Option<String> {
        let mover = self.mover.as_ref()?;
        for link in links.filter(|link| link.up) {
            let used = mover.used(&link.name);
            let port = self.ports.get_mut(&link.index);
            if used.is_some_and(|used| used.now == Use::Uplink)
                && !port.is_some_and(|port| port.was_uplink(now))
            {
                return Some(link.name.clone());
            }
        }
        None
    }

    fn step<'a>(
        &mut self,
        wanted: Option<&MoveRequest>,
        now: u64,
        links: impl Iterator<Item = &'a Link> + Clone,
    ) {
        let Some(mover) = &mut self.mover else { return };
        let doings = &self.doings;
        let ports = &self.ports;
        let is_it = |port: &&ObservedPort, wanted: &MoveRequest| {
            port.device == wanted.device && port.since == wanted.since
        };
        let works = |wanted: &MoveRequest| match ports.values().any(|port| is_it(&port, wanted)) {
            false => MoveCheck::Moot,
            true if doings.are(&wanted.device, wanted.to, links.clone()) => MoveCheck::Yes,
            true => MoveCheck::NotYet,
        };
        let Some((wanted, told)) = mover.step(now, wanted, works) else {
            return;
        };
        let mut ports = self.ports.values_mut();
        let is_it =
            |port: &&mut ObservedPort| port.device == wanted.device && port.since == wanted.since;
        let Some(port) = ports.find(is_it) else {
            return;
        };
        let again = matches!(told, MoveResult::Later(_)) && port.moving().is_some();
        port.told(&wanted, &told);
        let text = match (&told, port.moving()) {
            (MoveResult::Kept, _) => kept(wanted.to),
            (_, Some((text, _))) => text,
            (_, None) => return,
        };
        if !again {
            info!("{}: {text}", wanted.device);
            self.events.moved(&wanted.device, wanted.to, &told, &text);
        }
    }

    /// Handles a device that disappeared, or whose index another device has now.
    pub fn gone(&mut self, index: u32) {
        self.others.remove(&index);
        if self.ports.remove(&index).is_some() {
            self.noting.leave(index);
        }
    }

    /// Reads the administrator's connections and the uses of ports: due every second.
    pub fn second<'a>(
        &mut self,
        links: impl Iterator<Item = &'a Link> + Clone,
        neighbours: impl Iterator<Item = Neighbour>,
    ) {
        self.miss(links.clone());
        if !self.ports.values().any(|port| port.up) {
            return;
        }
        self.administrator.look(neighbours, now());
        self.doings = SystemState::read();
        for link in links.clone() {
            self.learn(link, links.clone());
        }
    }

    /// Logs once each configured port whose device does not exist.
    fn miss<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        // The kernel does not report all existing devices at once.
        if now().saturating_sub(self.begun) < BEGINS {
            return;
        }
        let is_missing = |name: &&String| !links.clone().any(|link| link.name == **name);
        let missing = self.wanted.iter().filter(is_missing).cloned().collect();
        for name in BTreeSet::difference(&missing, &self.missing) {
            warn!("there is no device called {name}, which `ports` under [cables] names");
        }
        self.missing = missing;
    }

    /// Returns configured ports whose device does not exist.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }

    /// Updates the prior facts of a port.
    fn learn<'a>(&mut self, link: &Link, links: impl Iterator<Item = &'a Link> + Clone) {
        let Some(port) = self.ports.get_mut(&link.index) else {
            return;
        };
        let (facts, used) = self.doings.known(self.mover.as_ref(), link, links);
        let facts = Port {
            administrator: self.administrator.comes_by(link.index),
            secret: self.keys.is_some(),
            probes: self.mover.is_some(),
            held: port.held(),
            ..facts
        };
        port.learn(facts, used);
    }

    /// Handles a new or changed device. Returns true if a gate was shut.
    pub fn changed<'a>(
        &mut self,
        link: &Link,
        links: impl Iterator<Item = &'a Link> + Clone,
    ) -> bool {
        let Some(port) = self.ports.get(&link.index) else {
            self.begin(link, links);
            return false;
        };
        let pulled = link.up && port.was_pulled();
        if port.up == link.up && !pulled {
            return false;
        }
        if pulled {
            self.turn(
                &Link {
                    up: false,
                    ..link.clone()
                },
                true,
            );
        }
        self.doings = SystemState::read();
        self.learn(link, links);
        let shut = self.mover.is_some();
        if let Some(mover) = &mut self.mover {
            mover.refresh();
        }
        self.turn(link, shut);
        self.ports
            .get(&link.index)
            .is_some_and(ObservedPort::is_shut)
    }

    fn turn(&mut self, link: &Link, shut: bool) {
        if let Some(port) = self.ports.get_mut(&link.index) {
            port.turn(link.up, shut, &mut self.noting, link.index);
            self.events.link(&port.device, link.up);
            if link.up {
                self.prober.link(now());
            }
        }
    }

    /// Starts to observe a device, if it is a port.
    fn begin<'a>(&mut self, link: &Link, links: impl Iterator<Item = &'a Link> + Clone) {
        if self.others.get(&link.index) == Some(&link.name) {
            return;
        }
        if !self.wants(link) {
            self.others.insert(link.index, link.name.clone());
            return;
        }
        if let Err(error) = self.noting.watch(link.index, &link.name) {
            warn!(%error, port = link.name, "cannot record incoming frames of a port");
            self.others.insert(link.index, link.name.clone());
            return;
        }
        self.doings = SystemState::read();
        let (facts, used) = self.doings.known(self.mover.as_ref(), link, links);
        let facts = Port {
            secret: self.keys.is_some(),
            probes: self.mover.is_some(),
            held: self.held.get(&link.name).copied(),
            ..facts
        };
        let mut port = ObservedPort::new(link, facts.clone(), self.keys.as_ref());
        port.learn(facts, used);
        self.ports.insert(link.index, port);
        // Weir may have restarted: a port in use is not cut off.
        let known = self.mover.as_ref().and_then(|mover| mover.used(&link.name));
        let shut = match link.up {
            true => known.is_some_and(|known| known.now == Use::None),
            false => self.mover.is_some(),
        };
        self.turn(link, shut);
    }

    fn wants(&self, link: &Link) -> bool {
        match self.wanted.is_empty() {
            true => is_socket(link),
            false => self.wanted.contains(&link.name),
        }
    }

    /// Returns the ports and their decisions, by name.
    pub fn shown(&mut self) -> Vec<(&ObservedPort, Decision)> {
        let now = now();
        let all = self.ports.values_mut().map(|port| {
            let decision = port.decision(now);
            (&*port, decision)
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by(|(a, _), (b, _)| a.device.cmp(&b.device));
        all
    }

    /// Sets a role chosen by hand; `None`: weir decides. Returns false if the port does not exist.
    pub fn hold(&mut self, device: &str, role: Option<Role>) -> bool {
        let Some(port) = self.ports.values_mut().find(|port| port.device == device) else {
            return false;
        };
        port.hold(role);
        self.events.chosen(device, role);
        match role {
            Some(role) => self.held.insert(device.to_owned(), role),
            None => self.held.remove(device),
        };
        true
    }

    /// Returns the roles chosen by hand.
    pub fn held(&self) -> &BTreeMap<String, Role> {
        &self.held
    }
}

/// Chooses the port at which a loop is cut: of the ports in a loop, the port with the newest link.
/// Ports that only receive frames of this router's other ports may stay open then.
fn cut(ports: &mut BTreeMap<u32, ObservedPort>, now: u64) -> Option<u32> {
    let looped = ports.iter_mut().filter_map(|(index, port)| {
        port.is_loop(now)?;
        Some((port.since, *index))
    });
    looped.max().map(|(_, index)| index)
}
