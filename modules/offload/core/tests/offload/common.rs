//! Builders, and a replay of actions that holds them to their promises.
#![allow(dead_code)] // each test file uses its part

use std::collections::{HashMap, HashSet};

use kernel::{Connection, ConnectionId, Link, Protocol, Tuple, status};
use weir_offload_core::ports::{plans, xdp};
use weir_offload_core::{
    Action, Core, Device, FlowId, Hook, Millis, PAIRS, PortFacts, PortPlan, Reading, Settings,
};

pub const UP: u32 = status::CONFIRMED | status::SEEN_REPLY | status::ASSURED;

pub fn tuple(protocol: Protocol, source: &str, destination: &str) -> Tuple {
    let split = |text: &str| {
        let socket: std::net::SocketAddr = text.parse().unwrap();
        (socket.ip(), socket.port())
    };
    let ((source, source_port), (destination, destination_port)) =
        (split(source), split(destination));
    Tuple {
        protocol,
        source,
        source_port,
        destination,
        destination_port,
    }
}

/// An established TCP connection without translation.
pub fn tcp(id: u32, source: &str, destination: &str) -> Connection {
    connection(id, tuple(Protocol::Tcp, source, destination))
}

/// A UDP connection with an answer, without translation.
pub fn udp(id: u32, source: &str, destination: &str) -> Connection {
    connection(id, tuple(Protocol::Udp, source, destination))
}

pub fn connection(id: u32, original: Tuple) -> Connection {
    Connection {
        id: ConnectionId {
            id,
            original,
            zone: 0,
        },
        reply: original.reversed(),
        status: Some(UP),
        mark: 0,
        timeout: Some(if original.protocol == Protocol::Tcp {
            432_000
        } else {
            30
        }),
        tcp_state: (original.protocol == Protocol::Tcp).then_some(3),
        window_scales: None,
        helper: false,
        sequence_adjusted: false,
    }
}

pub fn link(index: u32, name: &str) -> Link {
    Link {
        index,
        name: name.to_owned(),
        hardware: 1,
        up: true,
        mac: Some([2, 0, 0, 0, 0, index as u8]),
        mtu: 1500,
        tx_queues: 4,
        qdisc: "mq".to_owned(),
        ..Link::default()
    }
}

/// Returns the plan of a device alone.
pub fn plan(link: &Link, facts: &PortFacts, settings: &Settings) -> PortPlan {
    let device = Device {
        link,
        facts: Some(facts),
        own_xdp: false,
    };
    plans(&[device], settings).ports.remove(0)
}

/// Removes the actions that report the numbers of devices.
pub fn apart_from_stacks(mut actions: Vec<Action>) -> Vec<Action> {
    actions.retain(|action| !matches!(action, Action::Stacks(_)));
    actions
}

pub fn facts() -> PortFacts {
    PortFacts {
        driver: "ice".to_owned(),
        xdp_features: Some(xdp::BASIC | xdp::REDIRECT | xdp::NDO_XMIT),
        forwarding_v4: true,
        ..PortFacts::default()
    }
}

/// A core, and the effects of its actions.
pub struct Rig {
    pub core: Core,
    pub now: Millis,
    pub installed: HashMap<FlowId, (Tuple, Tuple)>,
    /// Numbers and the tick of their last install or remove.
    touched: HashMap<FlowId, u64>,
    ticks: u64,
    relaxed: HashSet<ConnectionId>,
    /// Originals of connections that were renewed.
    renewed: HashSet<Tuple>,
    pub stacks: Vec<(u32, u32)>,
    /// Events answer a dump.
    pub answering: bool,
}

impl Rig {
    pub fn new(settings: Settings) -> Self {
        Self {
            core: Core::new(settings),
            now: 1_000,
            installed: HashMap::new(),
            touched: HashMap::new(),
            ticks: 0,
            relaxed: HashSet::new(),
            renewed: HashSet::new(),
            stacks: Vec::new(),
            answering: false,
        }
    }

    pub fn tell(&mut self, event: kernel::Event) -> Vec<Action> {
        let mut out = Vec::new();
        match self.answering {
            true => self.core.on_dump_event(event, self.now, &mut out),
            false => self.core.on_event(event, self.now, &mut out),
        }
        self.core.flush(&mut out);
        self.replay(&out);
        out
    }

    pub fn connection(&mut self, connection: &Connection) -> Vec<Action> {
        self.tell(kernel::Event::Connection(connection.clone()))
    }

    /// Lets time pass, with nothing moving.
    pub fn pass(&mut self, millis: Millis) -> Vec<Action> {
        self.pass_reading(millis, &mut |_| [Reading::default(); 2])
    }

    pub fn pass_reading(
        &mut self,
        millis: Millis,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
    ) -> Vec<Action> {
        self.now += millis;
        self.ticks += 1;
        let mut out = Vec::new();
        let installed = self.installed.clone();
        let mut honest = |flow: FlowId| {
            assert!(
                installed.contains_key(&flow),
                "read of {flow:?}, which is not installed"
            );
            read(flow)
        };
        self.core.tick(self.now, &mut honest, &mut out);
        self.replay(&out);
        out
    }

    pub fn reload(&mut self, settings: Settings) -> Vec<Action> {
        let mut out = Vec::new();
        self.core.reload(settings, self.now, &mut out);
        self.replay(&out);
        out
    }

    pub fn facts(&mut self, link: u32, facts: PortFacts) -> Vec<Action> {
        let mut out = Vec::new();
        self.core.facts(link, facts, self.now, &mut out);
        self.core.flush(&mut out);
        self.replay(&out);
        out
    }

    pub fn refused(&mut self, flow: FlowId, reason: weir_offload_core::DeclineReason) {
        self.core.refused(flow, reason);
        self.installed.remove(&flow);
    }

    /// Applies actions in order; panics where one breaks a promise.
    fn replay(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Install {
                    flow,
                    original,
                    reply,
                    ..
                } => {
                    assert!(
                        !self.installed.contains_key(flow),
                        "{flow:?} is installed already"
                    );
                    if let Some(tick) = self.touched.get(flow) {
                        assert!(
                            self.ticks > tick + 1,
                            "{flow:?} is reused while it may be under way"
                        );
                    }
                    for (own, other) in self.installed.values() {
                        for tuple in [original, reply] {
                            assert!(
                                tuple != own && tuple != other,
                                "{tuple} is installed already"
                            );
                        }
                    }
                    if original.protocol == Protocol::Tcp {
                        let relaxed = self
                            .relaxed
                            .iter()
                            .copied()
                            .find(|id| id.original == *original);
                        let id = relaxed.unwrap_or_else(|| {
                            panic!("{original} was not relaxed before its install")
                        });
                        self.relaxed.remove(&id);
                    }
                    self.installed.insert(*flow, (*original, *reply));
                    self.touched.insert(*flow, self.ticks);
                }
                // Pairs of stations: `pairs.rs` tests them itself.
                Action::InstallPair { .. } => {}
                Action::Remove { flow } | Action::Invalidate { flow } if flow.0 & PAIRS != 0 => {}
                Action::Remove { flow } => {
                    assert!(
                        self.installed.remove(flow).is_some(),
                        "{flow:?} is not installed"
                    );
                    self.touched.insert(*flow, self.ticks);
                }
                Action::Relax(id) => {
                    assert_eq!(id.original.protocol, Protocol::Tcp);
                    self.relaxed.insert(*id);
                }
                Action::Invalidate { flow } => assert!(
                    self.installed.contains_key(flow),
                    "{flow:?} is not installed"
                ),
                Action::Query(id) | Action::Poll(id) | Action::Refresh { id, .. } => {
                    let mut installed = self.installed.values();
                    // A connection that weir renewed on returning it, after it closed.
                    let again = matches!(action, Action::Refresh { .. })
                        && !self.renewed.insert(id.original);
                    assert!(
                        again || installed.any(|(original, _)| *original == id.original),
                        "{id:?} is not installed"
                    );
                }
                Action::Port(plan) => assert_ne!(plan.hook, Hook::Auto),
                Action::Stacks(stacks) => {
                    let mut devices: Vec<u32> = stacks.iter().map(|(device, _)| *device).collect();
                    devices.dedup();
                    assert_eq!(devices.len(), stacks.len(), "each device once, in order");
                    assert_ne!(self.stacks, *stacks, "told again without a change");
                    self.stacks.clone_from(stacks);
                }
                Action::InvalidateAll(_)
                | Action::InvalidateHops { .. }
                | Action::Dump(_)
                | Action::Probe(_) => {}
            }
        }
    }

    /// The original tuples installed, sorted.
    pub fn known(&self) -> Vec<Tuple> {
        let mut known: Vec<Tuple> = self
            .installed
            .values()
            .map(|(original, _)| *original)
            .collect();
        known.sort();
        known
    }

    /// The reason of the one connection with this id.
    pub fn reason(&self, id: &ConnectionId) -> Option<weir_offload_core::DeclineReason> {
        self.core
            .flows()
            .find(|(_, flow)| flow.id == *id)
            .expect("tracked")
            .1
            .declined
    }
}

pub fn bumps(actions: &[Action]) -> usize {
    actions
        .iter()
        .filter(|action| matches!(action, Action::InvalidateAll(_)))
        .count()
}
