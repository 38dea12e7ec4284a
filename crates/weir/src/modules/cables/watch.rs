//! The ports that are looked at: what the kernel side notes goes into the core, and what that wants
//! is done.

use std::collections::{BTreeMap, BTreeSet};

use ::cables::{Cable, Decision, Former, Heard, Noted, Port, Role, Sort};
use datapath::cable::{self, Cables, Gate, Record};
use kernel::{Link, Neighbour};
use tracing::{info, warn};

use super::administrator::Administrator;
use super::greeting::{Greeter, Keys};
use super::look::Looking;
use super::ports::{Doings, is_socket};

/// So long it is listened on after a decision, in milliseconds: what speaks against it comes late.
const AFTERWARDS: u64 = 10_000;
/// From then on it is listened for so long, once in so long.
const AGAIN: u64 = 5_000;
const EVERY: u64 = 60_000;

/// Milliseconds of the clock by which the kernel side notes.
fn now() -> u64 {
    cable::now() / 1_000_000
}

/// A port.
pub struct Watched {
    /// Its name.
    pub device: String,
    /// Whether it has a link.
    pub up: bool,
    facts: Port,
    /// What is known of it.
    cable: Cable,
    greeter: Option<Greeter>,
    looking: Option<Looking>,
    /// When it was decided, and what was told of it.
    decided: Option<u64>,
    told: Option<Role>,
    listens: bool,
}

/// All of them.
pub struct Watch {
    noting: Cables,
    keys: Option<Keys>,
    /// Names; none: every socket.
    wanted: Vec<String>,
    /// By index.
    ports: BTreeMap<u32, Watched>,
    /// Devices that are no ports, or cannot be looked at, by their names: asked once.
    others: BTreeMap<u32, String>,
    /// Of those names, the ones that no device has.
    missing: BTreeSet<String>,
    /// Who administers this router.
    pub administrator: Administrator,
    held: BTreeMap<String, Role>,
    own: Vec<kernel::Mac>,
}

impl Watch {
    /// Nothing is looked at yet.
    pub fn new(
        noting: Cables,
        keys: Option<Keys>,
        wanted: Vec<String>,
        held: BTreeMap<String, Role>,
        administrator: Administrator,
    ) -> Self {
        Self {
            noting,
            keys,
            wanted,
            ports: BTreeMap::new(),
            others: BTreeMap::new(),
            missing: BTreeSet::new(),
            administrator,
            held,
            own: Vec::new(),
        }
    }

    /// Time goes by, and devices may have come, gone or changed.
    pub fn tick<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        let own: Vec<kernel::Mac> = links.clone().filter_map(|link| link.mac).collect();
        if own != self.own {
            if let Err(error) = self.noting.own(&own) {
                warn!(%error, "a loop may not be seen");
            }
            self.own = own;
        }
        // One with another name is another port.
        let is_gone = |(index, port): &(&u32, &Watched)| {
            let mut links = links.clone();
            !links.any(|link| link.index == **index && link.name == port.device)
        };
        let gone = self.ports.iter().filter(is_gone);
        let gone: Vec<u32> = gone.map(|(index, _)| *index).collect();
        for index in gone {
            self.gone(index);
        }
        for link in links.clone() {
            self.changed(link, links.clone());
        }
        let now = now();
        for (index, port) in &mut self.ports {
            port.pass(*index, &mut self.noting, &self.own, now);
        }
        self.noting.refresh();
    }

    /// A device is gone, or its number is another's now.
    pub fn gone(&mut self, index: u32) {
        self.others.remove(&index);
        if self.ports.remove(&index).is_some() {
            self.noting.leave(index);
        }
    }

    /// Looks who administers this router, and what ports are used for: due every second.
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
        let doings = Doings::read();
        for link in links.clone() {
            let administrator = self.administrator.comes_by(link.index);
            if let Some(watched) = self.ports.get_mut(&link.index) {
                watched.learn(Port {
                    administrator,
                    held: watched.facts.held,
                    ..doings.port(link, links.clone())
                });
            }
        }
    }

    /// Tells once of each port that the configuration names and no device is called.
    fn miss<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        let is_missing = |name: &&String| !links.clone().any(|link| link.name == **name);
        let missing = self.wanted.iter().filter(is_missing).cloned().collect();
        for name in BTreeSet::difference(&missing, &self.missing) {
            warn!("there is no device called {name}, which `ports` under [cables] names");
        }
        self.missing = missing;
    }

    /// Ports that the configuration names and no device is called.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }

    /// A device is there, or changed.
    pub fn changed<'a>(&mut self, link: &Link, links: impl Iterator<Item = &'a Link>) {
        let administrator = self.administrator.comes_by(link.index);
        let Some(watched) = self.ports.get_mut(&link.index) else {
            return self.begin(link, links);
        };
        if watched.up == link.up {
            return;
        }
        watched.learn(Port {
            administrator,
            held: watched.facts.held,
            ..Doings::read().port(link, links)
        });
        watched.turn(link.up);
        self.noting.clear(link.index);
        self.noting.gate(link.index, Gate::Note);
    }

    /// Looks at a device from now on, if it is a port.
    fn begin<'a>(&mut self, link: &Link, links: impl Iterator<Item = &'a Link>) {
        if self.others.get(&link.index) == Some(&link.name) {
            return;
        }
        if !self.wants(link) {
            self.others.insert(link.index, link.name.clone());
            return;
        }
        if let Err(error) = self.noting.watch(link.index, &link.name) {
            warn!(%error, port = link.name, "what comes in at a port cannot be noted");
            self.others.insert(link.index, link.name.clone());
            return;
        }
        let facts = Port {
            held: self.held.get(&link.name).copied(),
            ..Doings::read().port(link, links)
        };
        let mac = link.mac.unwrap_or_default();
        let mut watched = Watched {
            device: link.name.clone(),
            up: false,
            greeter: Greeter::new(self.keys.as_ref(), &link.name, mac),
            cable: Cable::new(facts.clone()),
            facts,
            looking: None,
            decided: None,
            told: None,
            listens: true,
        };
        watched.turn(link.up);
        self.ports.insert(link.index, watched);
    }

    fn wants(&self, link: &Link) -> bool {
        match self.wanted.is_empty() {
            true => is_socket(link),
            false => self.wanted.contains(&link.name),
        }
    }

    /// The ports and what was decided, by name.
    pub fn shown(&mut self) -> Vec<(&Watched, Decision)> {
        let now = now();
        let all = self.ports.values_mut().map(|port| {
            let decision = port.cable.decision(now);
            (&*port, decision)
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by(|(a, _), (b, _)| a.device.cmp(&b.device));
        all
    }

    /// What somebody chose; `None`: it is found out. False: there is no such port.
    pub fn hold(&mut self, device: &str, role: Option<Role>) -> bool {
        let Some(port) = self.ports.values_mut().find(|port| port.device == device) else {
            return false;
        };
        port.hold(role);
        match role {
            Some(role) => self.held.insert(device.to_owned(), role),
            None => self.held.remove(device),
        };
        true
    }

    /// What was chosen.
    pub fn held(&self) -> &BTreeMap<String, Role> {
        &self.held
    }
}

impl Watched {
    /// What it is used for.
    pub fn former(&self) -> Former {
        self.facts.former
    }

    /// What somebody chose.
    fn hold(&mut self, role: Option<Role>) {
        self.learn(Port {
            held: role,
            ..self.facts.clone()
        });
    }

    /// What is known of it beforehand.
    fn learn(&mut self, port: Port) {
        if port != self.facts {
            self.cable.facts(port.clone());
            self.facts = port;
        }
    }

    /// The link came, or went.
    fn turn(&mut self, up: bool) {
        self.up = up;
        let now = now();
        self.cable.link(up, now);
        if let Some(greeter) = &mut self.greeter {
            greeter.link(up, now);
        }
        self.looking = None;
        self.decided = None;
        self.listens = true;
    }

    fn pass(&mut self, index: u32, noting: &mut Cables, own: &[kernel::Mac], now: u64) {
        if !self.up {
            return;
        }
        if self.listens
            && let Some(record) = noting.read(index)
        {
            // The hello first, as that one was noted makes a border where nothing is proven. One with
            // a tag is none: the mesh's own frames have none.
            let plain = record.sorts[Sort::Hello as usize].vlan.is_none();
            let hello = match &mut self.greeter {
                Some(greeter) if plain => greeter.hear(&record.hello, own, now),
                _ => None,
            };
            if let Some(hello) = hello {
                self.cable.hello(&hello, now);
            }
            self.cable.noted(&noted(&record), now);
            if let Some(greeter) = &mut self.greeter {
                greeter.stations(&record.stations, now);
            }
        }
        if let Some(greeter) = &mut self.greeter {
            self.cable.vxlan(greeter.vxlan());
            if self.facts.greets() {
                greeter.speak(now);
            }
        }
        if let Some(over) = self.looking.as_ref().and_then(Looking::over) {
            self.looking = None;
            if let Some(suggestion) = over {
                self.cable.looked(&suggestion, now);
            }
        }
        if self.looking.is_none() && self.cable.wants_look(now) {
            self.looking = Some(Looking::begin(&self.device));
        }
        let decision = self.cable.decision(now);
        if decision.decided.is_some() {
            self.decided.get_or_insert(now);
            if self.told != Some(decision.role) {
                self.told = Some(decision.role);
                let (role, why) = (decision.role.word(), &decision.why);
                info!("{}: {role}: {why}", self.device);
            }
        }
        let listens = self.decided.is_none_or(|decided| {
            let since = now.saturating_sub(decided);
            since < AFTERWARDS || since % EVERY < AGAIN
        });
        if listens != self.listens {
            self.listens = listens;
            noting.gate(index, if listens { Gate::Note } else { Gate::Idle });
        }
    }
}

/// As the core reads it: nanoseconds become milliseconds.
fn noted(record: &Record) -> Noted {
    Noted {
        sorts: record.sorts.map(|sort| Heard {
            frames: sort.frames,
            last: sort.last / 1_000_000,
            from: sort.from,
            vlan: sort.vlan,
        }),
        stations: record.stations.clone(),
        more_stations: record.more_stations,
        vlans: record.vlans.clone(),
        lldp: record.lldp.clone(),
        cdp: record.cdp.clone(),
        mndp: record.mndp.clone(),
        hello: record.hello.clone(),
    }
}
