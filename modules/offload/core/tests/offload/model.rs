//! Random events, compared with a model that computes everything from scratch.

use crate::common;

use std::collections::{HashMap, HashSet};
use std::mem;
use std::net::IpAddr;

use crate::common::{Rig, bumps, link, tuple};
use kernel::{
    Address, Connection, ConnectionId, Event, Fdb, Link, Neighbour, Protocol, Source, Tuple, status,
};
use proptest::prelude::*;
use weir_offload_core::{Action, DeclineReason, Mark, Reading, Settings};

/// Step of a random history.
#[derive(Clone, Debug)]
enum Step {
    Connection(Connection),
    Gone(ConnectionId),
    Address(Address, bool),
    Overrun(Source),
    DumpEnd(Source),
    Firewall(u32),
    Routing,
    Link(Link),
    LinkGone(u32),
    Neighbour(Neighbour),
    Fdb(Fdb),
    Tick(u64),
    OptOut(bool),
    Tcp(bool),
}

/// Range of the generated connections.
#[derive(Clone, Copy)]
enum World {
    /// Anything.
    Wild,
    /// Possible in one kernel: within a zone every tuple is of one connection, and adjustments do
    /// not come later.
    Lawful,
}

fn original() -> impl Strategy<Value = Tuple> {
    (
        prop_oneof![Just(Protocol::Tcp), Just(Protocol::Udp)],
        1..3u8,
        1..3u8,
    )
        .prop_map(|(protocol, c, s)| {
            tuple(
                protocol,
                &format!("10.0.0.{c}:1000"),
                &format!("192.0.2.{s}:80"),
            )
        })
}

fn id() -> impl Strategy<Value = ConnectionId> {
    (1..4u32, original(), 0..2u16).prop_map(|(id, original, zone)| ConnectionId {
        id,
        original,
        zone,
    })
}

fn connection(world: World) -> impl Strategy<Value = Connection> {
    let bits = prop_oneof![
        6 => Just(common::UP),
        2 => Just(status::CONFIRMED),
        1 => Just(status::CONFIRMED | status::SEEN_REPLY),
        1 => Just(common::UP | status::DYING),
        1 => Just(common::UP | status::OFFLOAD),
        1 => Just(common::UP | if matches!(world, World::Wild) { status::NAT_CLASH } else { status::SEQ_ADJUST }),
    ];
    let state =
        prop_oneof![5 => Just(Some(3)), 2 => Just(None), 1 => Just(Some(1)), 1 => Just(Some(4))];
    let odd = if matches!(world, World::Wild) {
        0.05
    } else {
        0.0
    };
    let flags = (
        prop::bool::weighted(odd),
        prop::bool::weighted(odd),
        prop::bool::weighted(0.1),
    );
    (
        id(),
        prop::option::weighted(0.9, bits),
        state,
        flags,
        0..5u8,
    )
        .prop_map(
            move |(id, status, tcp_state, (helper, sequence_adjusted, marked), way)| {
                let plain = id.original.reversed();
                let reply = match (world, way) {
                    (World::Lawful, _) | (_, 0..3) => plain,
                    (_, 3) => Tuple {
                        destination: "198.51.100.1".parse().unwrap(),
                        ..plain
                    },
                    // Comes out where another connection begins.
                    _ => Tuple {
                        protocol: plain.protocol,
                        ..tuple(Protocol::Tcp, "10.0.0.1:1000", "192.0.2.2:80")
                    },
                };
                let tcp_state = tcp_state.filter(|_| id.original.protocol == Protocol::Tcp);
                let mark = u32::from(marked);
                Connection {
                    id,
                    reply,
                    status,
                    mark,
                    timeout: Some(100),
                    tcp_state,
                    window_scales: None,
                    helper,
                    sequence_adjusted,
                }
            },
        )
}

fn address() -> impl Strategy<Value = Address> {
    let ips = prop_oneof![Just("10.0.0.1"), Just("192.0.2.2"), Just("198.51.100.1")];
    (1..3u32, ips).prop_map(|(link, ip)| Address {
        link,
        address: ip.parse().unwrap(),
    })
}

fn device() -> impl Strategy<Value = Link> {
    (
        5..7u32,
        any::<bool>(),
        0..2u32,
        prop::option::of(Just(9)),
        0..3u32,
    )
        .prop_map(|(index, up, mtu, master, tx_queues)| Link {
            up,
            mtu: 1400 + mtu,
            master,
            tx_queues,
            ..link(index, "dev")
        })
}

fn station() -> impl Strategy<Value = Fdb> {
    let mac = (1..3u8).prop_map(|n| [2, 0, 0, 0, 1, n]);
    (
        5..7u32,
        9..11u32,
        0..2u16,
        mac,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(link, bridge, vlan, mac, local, present)| Fdb {
            link,
            bridge,
            mac,
            vlan,
            local,
            present,
        })
}

fn step(world: World) -> impl Strategy<Value = Step> {
    let source = || prop_oneof![3 => Just(Source::Conntrack), 2 => Just(Source::Route), 1 => Just(Source::Firewall)];
    let mac = prop::option::weighted(0.8, (1..3u8).prop_map(|n| [2, 0, 0, 0, 0, n]));
    prop_oneof![
        40 => connection(world).prop_map(Step::Connection),
        10 => id().prop_map(Step::Gone),
        4 => (address(), any::<bool>()).prop_map(|(address, there)| Step::Address(address, there)),
        2 => source().prop_map(Step::Overrun),
        3 => source().prop_map(Step::DumpEnd),
        2 => (0..3u32).prop_map(Step::Firewall),
        1 => Just(Step::Routing),
        4 => device().prop_map(Step::Link),
        1 => (5..7u32).prop_map(Step::LinkGone),
        4 => (5..7u32, mac, any::<bool>()).prop_map(|(link, mac, stale)| {
            Step::Neighbour(Neighbour { link, address: "10.0.0.77".parse().unwrap(), mac, stale })
        }),
        4 => station().prop_map(Step::Fdb),
        6 => (0..500u64).prop_map(Step::Tick),
        1 => any::<bool>().prop_map(Step::OptOut),
        1 => any::<bool>().prop_map(Step::Tcp),
    ]
}

/// A dump of one source, as the model sees it.
#[derive(Clone, Copy, Default, PartialEq)]
struct Asked {
    running: bool,
    again: bool,
}

/// True state, from which the effects of a step follow.
#[derive(Default)]
struct Model {
    /// Entries, with whether the kernel reported them since the last dump began.
    entries: Vec<(Connection, bool)>,
    addresses: HashMap<Address, bool>,
    links: HashMap<u32, (Link, bool)>,
    neighbours: HashMap<(u32, IpAddr), ([u8; 6], bool)>,
    stations: HashMap<(u32, u16, [u8; 6]), (u32, bool)>,
    /// A station moved; one was forgotten, and its end of all proofs is still due; time of the last
    /// such end.
    moved: bool,
    lost: bool,
    last_lost: Option<u64>,
    now: u64,
    generation: Option<u32>,
    opt_out: bool,
    no_tcp: bool,
    asked: HashMap<Source, Asked>,
}

/// Effects that a step must cause.
#[derive(Debug, Default, PartialEq)]
struct Due {
    bump: bool,
    hops: HashSet<(u32, [u8; 6])>,
    dump: Option<Source>,
}

/// Minimum time between two ends of all proofs for forgotten stations, milliseconds.
const PAUSE_FORGOTTEN: u64 = 100;

impl Model {
    fn apply(&mut self, step: &Step) -> Due {
        let mut due = self.caused(step);
        let rested = self
            .last_lost
            .is_none_or(|last| self.now - last >= PAUSE_FORGOTTEN);
        if self.moved || self.lost && rested {
            if self.lost {
                self.last_lost = Some(self.now);
            }
            (self.moved, self.lost) = (false, false);
            due.bump = true;
            due.hops.clear();
        }
        due
    }

    fn caused(&mut self, step: &Step) -> Due {
        let mut due = Due::default();
        match step {
            Step::Connection(told) => self.connection(told),
            Step::Gone(id) => self.entries.retain(|(entry, _)| entry.id != *id),
            Step::Address(address, true) => {
                due.bump = self.addresses.insert(*address, true).is_none()
            }
            Step::Address(address, false) => due.bump = self.addresses.remove(address).is_some(),
            Step::Overrun(source) => {
                due.bump = true;
                self.ask(*source, &mut due);
            }
            Step::DumpEnd(source) => self.end(*source, &mut due),
            Step::Firewall(generation) => {
                due.bump = self.generation.replace(*generation) != Some(*generation)
            }
            Step::Routing => due.bump = true,
            Step::OptOut(on) => due.bump = mem::replace(&mut self.opt_out, *on) != *on,
            Step::Tcp(on) => due.bump = mem::replace(&mut self.no_tcp, !on) == *on,
            Step::Link(link) => {
                let seen = |l: &Link| (l.up, l.mtu, l.master);
                let old = self.links.insert(link.index, (link.clone(), true));
                due.bump = old.is_some_and(|(old, _)| seen(&old) != seen(link));
            }
            Step::LinkGone(index) => due.bump = self.lose_link(*index),
            Step::Neighbour(told) => {
                let key = (told.link, told.address);
                let old = match told.mac {
                    Some(mac) => self.neighbours.insert(key, (mac, true)),
                    None => self.neighbours.remove(&key),
                };
                due.hops.extend(
                    old.filter(|(old, _)| Some(*old) != told.mac || told.stale)
                        .map(|(old, _)| (told.link, old)),
                );
            }
            Step::Fdb(told) => {
                let key = (told.bridge, told.vlan, told.mac);
                let now = (told.present && !told.local).then_some((told.link, true));
                let old = match now {
                    Some(there) => self.stations.insert(key, there),
                    None => self.stations.remove(&key),
                };
                match (old, now) {
                    (Some((from, _)), Some((to, _))) => self.moved |= from != to,
                    (Some((from, _)), None) => {
                        self.lost = true;
                        due.hops.insert((from, told.mac));
                    }
                    // The bridge flooded earlier frames to the station.
                    (None, Some((to, _))) => drop(due.hops.insert((to, told.mac))),
                    (None, None) => {}
                }
            }
            Step::Tick(millis) => self.now += millis,
        }
        due
    }

    fn lose_link(&mut self, index: u32) -> bool {
        let there = self.links.remove(&index).is_some();
        if there {
            self.neighbours.retain(|(link, _), _| *link != index);
            self.stations.retain(|_, (link, _)| *link != index);
        }
        there
    }

    fn connection(&mut self, told: &Connection) {
        if let Some((entry, seen)) = self
            .entries
            .iter_mut()
            .find(|(entry, _)| entry.id == told.id)
        {
            let old = entry.clone();
            *entry = told.clone();
            entry.status = told.status.or(old.status);
            entry.tcp_state = told.tcp_state.or(old.tcp_state);
            entry.helper |= old.helper;
            entry.sequence_adjusted |= old.sequence_adjusted;
            *seen = true;
            return;
        }
        let has = |c: &Connection, bit| c.status.unwrap_or(0) & bit != 0;
        if has(told, status::DYING) {
            return;
        }
        if !has(told, status::NAT_CLASH) {
            let same =
                |a: &ConnectionId, b: &ConnectionId| (a.original, a.zone) == (b.original, b.zone);
            self.entries
                .retain(|(entry, _)| has(entry, status::NAT_CLASH) || !same(&entry.id, &told.id));
        }
        self.entries.push((told.clone(), true));
    }

    fn ask(&mut self, source: Source, due: &mut Due) {
        if source == Source::Firewall {
            return;
        }
        let asked = self.asked.entry(source).or_default();
        if asked.running {
            asked.again = true;
            return;
        }
        *asked = Asked {
            running: true,
            again: false,
        };
        due.dump = Some(source);
        if source == Source::Conntrack {
            self.entries.iter_mut().for_each(|(_, seen)| *seen = false);
        } else {
            self.addresses.values_mut().for_each(|seen| *seen = false);
            self.links.values_mut().for_each(|(_, seen)| *seen = false);
            self.neighbours
                .values_mut()
                .for_each(|(_, seen)| *seen = false);
            self.stations
                .values_mut()
                .for_each(|(_, seen)| *seen = false);
        }
    }

    fn end(&mut self, source: Source, due: &mut Due) {
        let asked = std::mem::take(self.asked.entry(source).or_default());
        if !asked.running {
            return;
        }
        if asked.again {
            return self.ask(source, due);
        }
        if source == Source::Conntrack {
            self.entries.retain(|(_, seen)| *seen);
            return;
        }
        let gone: Vec<u32> = self
            .links
            .iter()
            .filter(|(_, (_, seen))| !seen)
            .map(|(index, _)| *index)
            .collect();
        due.bump = !gone.is_empty();
        for index in gone {
            self.lose_link(index);
        }
        let before = self.addresses.len();
        self.addresses.retain(|_, seen| *seen);
        due.bump |= self.addresses.len() != before;
        let lost = self
            .neighbours
            .iter()
            .filter(|(_, (_, seen))| !seen)
            .map(|((link, _), (mac, _))| (*link, *mac));
        due.hops.extend(lost);
        self.neighbours.retain(|_, (_, seen)| *seen);
        let lost = self.stations.iter().filter(|(_, (_, seen))| !seen);
        let lost = lost.map(|((_, _, mac), (link, _))| (*link, *mac));
        due.hops.extend(lost);
        self.lost |= self.stations.values().any(|(_, seen)| !seen);
        self.stations.retain(|_, (_, seen)| *seen);
    }

    /// Returns true if a flowtable has any of the entries.
    fn offloaded(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|(c, _)| c.status.unwrap_or(0) & status::OFFLOAD != 0)
    }

    /// The connections that may be installed.
    fn eligible(&self) -> Vec<Tuple> {
        let ours = |ip: IpAddr| self.addresses.keys().any(|address| address.address == ip);
        let clean = |c: &Connection| {
            let bits = c.status.unwrap_or(0);
            let bad = status::DYING | status::NAT_CLASH | status::OFFLOAD | status::SEQ_ADJUST;
            let tcp = c.id.original.protocol == Protocol::Tcp;
            bits & status::CONFIRMED != 0
                && bits & bad == 0
                && !c.helper
                && !c.sequence_adjusted
                && !(self.opt_out && c.mark == 1)
                && !(self.no_tcp && tcp)
                && !ours(c.id.original.source)
                && !ours(c.reply.source)
                && if tcp {
                    c.tcp_state == Some(3)
                } else {
                    bits & status::SEEN_REPLY != 0
                }
        };
        let alone = |c: &Connection| {
            let others = self.entries.iter().filter(|(other, _)| other.id != c.id);
            let mut tuples = others.flat_map(|(other, _)| [other.id.original, other.reply]);
            !tuples.any(|tuple| tuple == c.id.original || tuple == c.reply)
        };
        let mut found: Vec<Tuple> = self
            .entries
            .iter()
            .map(|(c, _)| c)
            .filter(|c| clean(c) && alone(c))
            .map(|c| c.id.original)
            .collect();
        found.sort();
        found
    }
}

/// Runs steps through core and model. After each step, its necessary effects have happened, and
/// `check` holds.
fn run(settings: Settings, steps: &[Step], check: impl Fn(&Rig, Vec<Tuple>)) {
    let mut rig = Rig::new(settings);
    let mut model = Model::default();
    for step in steps {
        let mut due = model.apply(step);
        let out = match step.clone() {
            Step::Connection(connection) => rig.tell(Event::Connection(connection)),
            Step::Gone(id) => rig.tell(Event::ConnectionGone(id)),
            Step::Address(address, there) => rig.tell(Event::Address(address, there)),
            Step::Overrun(source) => rig.tell(Event::Overrun(source)),
            Step::DumpEnd(source) => rig.tell(Event::DumpEnd(source)),
            Step::Firewall(generation) => rig.tell(Event::Firewall(generation)),
            Step::Routing => rig.tell(Event::Routing),
            Step::Link(link) => rig.tell(Event::Link(link)),
            Step::LinkGone(index) => rig.tell(Event::LinkGone(index)),
            Step::Neighbour(neighbour) => rig.tell(Event::Neighbour(neighbour)),
            Step::Fdb(fdb) => rig.tell(Event::Fdb(fdb)),
            Step::Tick(millis) => rig.pass_reading(millis, &mut |flow| {
                [Reading {
                    packets: u64::from(flow.0),
                    bytes: 0,
                    proven: flow.0 % 2 == 0,
                    trials: 0,
                    shown_length: 0,
                }; 2]
            }),
            Step::OptOut(_) | Step::Tcp(_) => {
                let mut settings = rig.core.settings().clone();
                settings.opt_out = model.opt_out.then_some(Mark { value: 1, mask: 1 });
                settings.tcp = !model.no_tcp;
                rig.reload(settings)
            }
        };
        let mut seen = Due {
            bump: bumps(&out) > 0,
            ..Due::default()
        };
        for action in &out {
            match action {
                Action::InvalidateHops { link, mac } => drop(seen.hops.insert((*link, *mac))),
                Action::Dump(source) => seen.dump = Some(*source),
                _ => {}
            }
        }
        // upkeep.rs tests the times at which weir searches for connections that a flowtable
        // returned; here weir only may search.
        if matches!(step, Step::Tick(_)) && seen.dump.is_some() && model.offloaded() {
            model.ask(Source::Conntrack, &mut due);
        }
        assert_eq!(seen, due, "after {step:?}");
        let statistics = rig.core.statistics();
        assert_eq!(statistics.installed, rig.installed.len());
        assert_eq!(
            statistics.installed + statistics.declined_total(),
            rig.core.flows().count()
        );
        check(&rig, model.eligible());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_is_installed_is_what_may_be(steps in prop::collection::vec(step(World::Wild), 1..120)) {
        run(Settings::default(), &steps, |rig, eligible| assert_eq!(rig.known(), eligible));
    }

    #[test]
    fn with_little_room_it_is_full_of_what_may_be(steps in prop::collection::vec(step(World::Wild), 1..120)) {
        run(Settings { max_flows: 2, ..Settings::default() }, &steps, |rig, eligible| {
            assert!(rig.known().iter().all(|tuple| eligible.contains(tuple)));
            assert_eq!(rig.known().len(), eligible.len().min(2));
            let waiting = rig.core.statistics().declined[DeclineReason::TableFull.index()];
            assert_eq!(waiting, eligible.len() - rig.known().len());
        });
    }

    #[test]
    fn what_is_forgotten_makes_nothing_wrong(steps in prop::collection::vec(step(World::Lawful), 1..120)) {
        run(Settings { max_declined: 2, ..Settings::default() }, &steps, |rig, eligible| {
            assert!(rig.known().iter().all(|tuple| eligible.contains(tuple)));
            assert!(rig.core.statistics().declined_total() <= 2);
        });
    }
}
