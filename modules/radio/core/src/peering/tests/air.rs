//! Machines that receive each other's frames, with simulated kernels and simulated time.

use std::collections::BTreeMap;

use kernel::Mac;
use kernel::nl80211::PairwiseKey;

use super::super::{
    Action, Beacon, Element, EndReason, Event, Instance, Machine, NodeKey, PeerReport, Secret,
    Settings, State,
};

pub const SSID: &[u8] = b"freifunk";
pub const FREQUENCY: u32 = 2412;
/// Beacons are 100 ms apart.
const BEACON: u64 = 100;
const STEP: u64 = 10;

pub fn mac(number: u8) -> Mac {
    [2, 0, 0, 0, 0, number]
}

pub fn secret() -> Secret {
    Secret::new(b"sixteen octets or more").expect("long enough")
}

/// A whole beacon.
pub fn beacon(mac: Mac, ssid: &[u8], element: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80, 0, 0, 0];
    frame.extend([0xff; 6]);
    frame.extend(mac);
    frame.extend(mac);
    frame.extend([0; 2 + 8]);
    frame.extend([100, 0, 0x11, 0x04]);
    frame.extend([0, ssid.len() as u8]);
    frame.extend(ssid);
    frame.extend([1, 4, 0x82, 0x84, 0x8b, 0x96]);
    frame.extend(element);
    frame
}

pub struct Node {
    pub mac: Mac,
    pub machine: Machine,
    /// Devices, by name.
    pub devices: BTreeMap<String, Mac>,
    /// Stations that are authorised; those that speak in clear have no key.
    pub stations: BTreeMap<Mac, Option<PairwiseKey>>,
    /// All keys that were ever installed.
    pub keys: Vec<PairwiseKey>,
    pub removed: Vec<(Mac, EndReason)>,
    pub listens: bool,
    /// True if the node sends nothing.
    pub off: bool,
    /// True if its beacons are lost.
    pub mute: bool,
    pub refuses: bool,
    /// Time since which a station is silent.
    idle: BTreeMap<Mac, u64>,
    instances: u8,
}

pub struct Air {
    pub now: u64,
    pub nodes: Vec<Node>,
    pub signal: i32,
    /// All frames that were sent.
    pub frames: Vec<Vec<u8>>,
    /// Number of lost frames per hundred.
    pub loses: u32,
    /// Delay of a frame, as of busy nodes.
    pub takes: u64,
    /// Frames in transit: the time of arrival, and the receiver.
    under_way: Vec<(u64, usize, Vec<u8>)>,
    dice: u32,
}

pub fn machine(number: u8, change: impl Fn(&mut Settings)) -> Machine {
    made(number, &secret(), 0, change)
}

fn made(number: u8, secret: &Secret, start: u8, change: impl Fn(&mut Settings)) -> Machine {
    let mut settings = Settings::new("wlan0", mac(number), SSID, FREQUENCY);
    change(&mut settings);
    let instance = Instance([number, start, 0, 0, 0, 0, 0, 0]);
    Machine::new(
        settings,
        secret.clone(),
        NodeKey::from_seed([number; 32]),
        instance,
    )
}

impl Air {
    pub fn of(machines: Vec<(u8, Machine)>) -> Self {
        let nodes = machines.into_iter().map(|(number, machine)| Node {
            mac: mac(number),
            machine,
            devices: BTreeMap::new(),
            stations: BTreeMap::new(),
            keys: Vec::new(),
            removed: Vec::new(),
            listens: false,
            off: false,
            mute: false,
            refuses: false,
            idle: BTreeMap::new(),
            instances: 0,
        });
        Self {
            now: 1000,
            nodes: nodes.collect(),
            signal: -50,
            frames: Vec::new(),
            loses: 0,
            takes: 0,
            under_way: Vec::new(),
            dice: 1,
        }
    }

    pub fn usual(count: u8) -> Self {
        Self::of(
            (1..=count)
                .map(|number| (number, machine(number, |_| {})))
                .collect(),
        )
    }

    /// Restarts a node's program; the kernel forgets the program's devices.
    pub fn restart(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.devices.clear();
        node.stations.clear();
        node.listens = false;
        node.off = false;
        node.instances += 1;
        node.machine = made(node.mac[5], &secret(), node.instances, |_| {});
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) {
        for action in actions {
            let node = &mut self.nodes[at];
            match action {
                Action::Send(frame) => {
                    self.frames.push(frame.clone());
                    // The minimal standard generator of Park and Miller.
                    let dice = u64::from(self.dice) * 48_271 % 0x7fff_ffff;
                    self.dice = dice as u32;
                    let lost = self.dice % 100 < self.loses;
                    let to: Mac = frame[4..10].try_into().expect("a receiver");
                    let there = |node: &Node| node.mac == to && node.listens && !node.off;
                    if let Some(to) = self.nodes.iter().position(there)
                        && !lost
                    {
                        match self.takes {
                            0 => self.happen(to, Event::Frame(&frame)),
                            takes => self.under_way.push((self.now + takes, to, frame)),
                        }
                    }
                }
                Action::Install { mac, name, key, .. } => {
                    assert!(name.len() <= 15, "{name}");
                    let done = !node.refuses;
                    if done {
                        node.idle.insert(mac, self.now);
                        node.devices.insert(name, mac);
                        node.stations.insert(mac, key);
                        let again = key.is_some_and(|key| node.keys.contains(&key));
                        assert!(!again, "a key is used once");
                        node.keys.extend(key);
                    }
                    self.happen(at, Event::Installed(mac, done));
                }
                Action::Rekey(mac, key) => {
                    assert!(node.stations.insert(mac, Some(key)).is_some());
                    assert!(!node.keys.contains(&key), "a key is used once");
                    node.keys.push(key);
                    self.happen(at, Event::Installed(mac, true));
                }
                Action::Remove(mac, name, why) => {
                    node.devices.remove(&name);
                    node.stations.remove(&mac);
                    node.removed.push((mac, why));
                }
                Action::Listen(listens) => node.listens = listens,
                Action::Renew => {
                    node.instances += 1;
                    let instance = Instance([node.mac[5], node.instances, 0, 0, 0, 0, 0, 0]);
                    node.machine.renew(instance);
                }
            }
        }
    }

    pub fn happen(&mut self, at: usize, event: Event<'_>) {
        let actions = self.nodes[at].machine.handle(self.now, event);
        self.act(at, actions);
    }

    /// Lets time pass.
    pub fn run(&mut self, time: u64) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            let now = self.now;
            for (_, to, frame) in self
                .under_way
                .extract_if(.., |one| one.0 <= now)
                .collect::<Vec<_>>()
            {
                self.happen(to, Event::Frame(&frame));
            }
            for at in 0..self.nodes.len() {
                // Beacons of several are not at the same time.
                let beacons = !self.nodes[at].off && !self.nodes[at].mute;
                if self.now % BEACON == (at as u64 * STEP) % BEACON && beacons {
                    self.beacons(at);
                }
                if self.now.is_multiple_of(1000) && !self.nodes[at].off {
                    self.count(at);
                }
                if !self.nodes[at].off {
                    self.happen(at, Event::Tick);
                }
            }
        }
    }

    fn beacons(&mut self, from: usize) {
        let node = &self.nodes[from];
        let element = node.machine.element().octets();
        let frame = beacon(node.mac, SSID, &element);
        self.said(from, &frame);
    }

    /// Delivers a beacon to all nodes but the sender.
    pub fn said(&mut self, from: usize, frame: &[u8]) {
        let beacon = Beacon::read(frame).expect("a beacon");
        for to in 0..self.nodes.len() {
            if to != from && !self.nodes[to].off {
                self.happen(to, Event::Beacon(&beacon, Some(self.signal)));
            }
        }
    }

    fn count(&mut self, at: usize) {
        let node = &self.nodes[at];
        let own = node.mac;
        let stations: Vec<(Mac, Option<PairwiseKey>)> = node
            .stations
            .iter()
            .map(|(mac, key)| (*mac, *key))
            .collect();
        for (mac, key) in stations {
            let other = self.nodes.iter().find(|node| node.mac == mac);
            let heard =
                other.is_some_and(|node| !node.off && node.stations.get(&own) == Some(&key));
            let now = self.now;
            let last = self.nodes[at].idle.entry(mac).or_insert(now);
            if heard {
                *last = now;
            }
            let idle = now - *last;
            self.happen(at, Event::Counted(mac, Some((idle, 0))));
            if !self.nodes[at].stations.contains_key(&mac) {
                self.nodes[at].idle.remove(&mac);
            }
        }
    }

    pub fn state(&self, at: usize, of: usize) -> Option<State> {
        self.shown(at, of).map(|shown| shown.state)
    }

    /// Returns what a node reports about another.
    pub fn shown(&self, at: usize, of: usize) -> Option<PeerReport> {
        let mac = self.nodes[of].mac;
        let mut shown = self.nodes[at].machine.shown();
        shown.find(|shown| shown.mac == mac)
    }

    /// Each two that are on have each other, with the same key, and no others.
    pub fn is_whole(&self) -> bool {
        let on: Vec<usize> = (0..self.nodes.len())
            .filter(|at| !self.nodes[*at].off)
            .collect();
        on.iter().all(|at| {
            let node = &self.nodes[*at];
            node.stations.len() == on.len() - 1
                && node.devices.len() == on.len() - 1
                && on.iter().filter(|other| *other != at).all(|other| {
                    let key = self.nodes[*other].stations.get(&node.mac);
                    key.is_some()
                        && key == node.stations.get(&self.nodes[*other].mac)
                        && self.state(*at, *other) == Some(State::Alive)
                })
        })
    }
}

/// Makes the element of a node that does not know the secret.
pub fn forged(number: u8, mac: Mac) -> Element {
    let other = Secret::new(b"another secret, just as long").expect("long enough");
    let node = NodeKey::from_seed([number; 32]);
    Element::new(&other, node.public(), Instance([number; 8]), mac, SSID)
}
