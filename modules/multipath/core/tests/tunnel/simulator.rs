//! Two ends of a tunnel, wires between them, and flows: all in virtual time, from a seed.

use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddr;

use weir_multipath_core::tunnel::{
    DatagramKeys, Event, Micros, PathSettings, Role, Settings, State, Tunnel, datagram,
};

use super::flows::{Flow, Packet};

pub const SECOND: Micros = 1_000_000;
/// UDP and IPv4 around a datagram, bytes.
const OUTER: u64 = 28;
/// Lead of the partner's clock.
const AHEAD: Micros = 1 << 41;

/// Megabits per second, in bytes.
pub const fn mbit(rate: u64) -> u64 {
    rate * 125_000
}

/// Small and repeatable: xorshift.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Real properties of a path, equal both ways.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Bytes per second, from a time on.
    pub rates: Vec<(Micros, u64)>,
    /// Delay in one direction, microseconds.
    pub delay: Micros,
    /// Longest queue, microseconds.
    pub room: Micros,
    /// Per mille.
    pub loss: u64,
    /// Outages, in these `ways`: 0 from the router, 1 to the router.
    pub holes: Vec<(Micros, Micros)>,
    pub ways: [bool; 2],
    pub settings: PathSettings,
    free: [Micros; 2],
    /// Bytes that passed, by way and 100 ms.
    pub passed: [BTreeMap<u64, u64>; 2],
    /// Longest wait on the way from the router, by 100 ms of arrival.
    queues: BTreeMap<u64, Micros>,
}

impl Wire {
    pub fn new(rate: u64, delay: Micros) -> Wire {
        Wire {
            rates: vec![(0, rate)],
            delay,
            room: 200_000,
            loss: 0,
            holes: Vec::new(),
            ways: [true; 2],
            settings: PathSettings {
                remote: address(9),
                longest: 1472,
                weight: 100,
                backup: false,
                metered: false,
                rate_out: None,
                rate_in: None,
            },
            free: [0; 2],
            passed: Default::default(),
            queues: BTreeMap::new(),
        }
    }

    pub fn hole(mut self, from: Micros, to: Micros) -> Wire {
        self.holes.push((from, to));
        self
    }

    /// Returns the longest wait since a time, on the way from the router.
    pub fn waited(&self, from: Micros) -> Micros {
        let queues = self.queues.range(from / 100_000..);
        queues.map(|(_, queue)| *queue).max().unwrap_or(0)
    }

    /// Returns the arrival, unless the datagram is lost.
    fn carry(
        &mut self,
        way: usize,
        octets: usize,
        now: Micros,
        random: &mut Random,
    ) -> Option<Micros> {
        let cut = |(from, to): &(Micros, Micros)| (*from..*to).contains(&now);
        if self.ways[way] && self.holes.iter().any(cut) {
            return None;
        }
        let rate = self.rates.iter().rev().find(|(from, _)| *from <= now)?.1;
        let begin = self.free[way].max(now);
        let queue = begin - now;
        if queue > self.room || random.below(1000) < self.loss {
            return None;
        }
        if way == 0 {
            let longest = self.queues.entry(now / 100_000).or_default();
            *longest = queue.max(*longest);
        }
        self.free[way] = begin + (octets as u64 + OUTER) * SECOND / rate;
        *self.passed[way].entry(now / 100_000).or_default() += octets as u64;
        Some(self.free[way] + self.delay)
    }
}

pub fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 9347))
}

pub fn ends(settings: Settings) -> [Tunnel; 2] {
    let keys = |seal, open| DatagramKeys {
        seal: [seal; 32],
        open: [open; 32],
    };
    [
        Tunnel::new(Role::Router, 42, &keys(1, 2), settings),
        Tunnel::new(Role::Partner, 42, &keys(2, 1), settings),
    ]
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A datagram arrives at an end, by a path.
    Arrives(usize, u8, Vec<u8>),
    /// Time of an end.
    Wakes(usize),
    /// Time of a flow.
    Flows(usize),
}

pub struct Simulator {
    pub now: Micros,
    pub ends: [Tunnel; 2],
    pub wires: Vec<Wire>,
    pub flows: Vec<Flow>,
    /// Time, end, and event.
    pub events: Vec<(Micros, usize, Event)>,
    /// Datagrams as they arrived at the partner, if wanted.
    pub kept: Option<Vec<(u8, Vec<u8>)>>,
    queue: BinaryHeap<std::cmp::Reverse<(Micros, u64, What)>>,
    order: u64,
    /// Next time of waking of each end.
    wakes: [Micros; 2],
    random: Random,
    buffer: Vec<u8>,
}

impl Simulator {
    pub fn new(settings: Settings, wires: Vec<Wire>, flows: Vec<Flow>, seed: u64) -> Simulator {
        let mut simulator = Simulator {
            now: 0,
            ends: ends(settings),
            wires,
            flows,
            events: Vec::new(),
            kept: None,
            queue: BinaryHeap::new(),
            order: 0,
            wakes: [0, Micros::MAX],
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            buffer: vec![0; datagram::LONGEST],
        };
        for index in 0..simulator.wires.len() {
            let settings = simulator.wires[index].settings;
            simulator.ends[0]
                .add_path(index as u8, settings, 0)
                .unwrap();
        }
        simulator.push(0, What::Wakes(0));
        for flow in 0..simulator.flows.len() {
            let begins = simulator.flows[flow].begins;
            simulator.push(begins, What::Flows(flow));
        }
        simulator
    }

    fn push(&mut self, at: Micros, what: What) {
        self.order += 1;
        self.queue.push(std::cmp::Reverse((at, self.order, what)));
    }

    fn clock(&self, end: usize) -> Micros {
        self.now + end as u64 * AHEAD
    }

    /// Runs until a time.
    pub fn run(&mut self, until: Micros) {
        while let Some(std::cmp::Reverse((at, ..))) = self.queue.peek()
            && *at <= until
        {
            let Some(std::cmp::Reverse((at, _, what))) = self.queue.pop() else {
                break;
            };
            self.now = at;
            match what {
                What::Wakes(end) if at == self.wakes[end] => {
                    self.wakes[end] = Micros::MAX;
                    self.pump(end);
                }
                What::Wakes(_) => {}
                What::Arrives(end, path, octets) => self.arrives(end, path, octets),
                What::Flows(flow) => {
                    let next = self.flows[flow].tick(at);
                    self.emit(flow);
                    if let Some(next) = next {
                        self.push(next.max(at + 1), What::Flows(flow));
                    }
                }
            }
        }
        self.now = until;
    }

    /// Passes the packets of a flow to the router's end.
    fn emit(&mut self, flow: usize) {
        while let Some(octets) = self.flows[flow].send(flow, self.now) {
            // A refused packet is lost.
            let _ = self.ends[0].packet_in(&octets, self.clock(0));
        }
        self.pump(0);
    }

    fn arrives(&mut self, end: usize, path: u8, mut octets: Vec<u8>) {
        if end == 1
            && let Some(kept) = &mut self.kept
        {
            kept.push((path, octets.clone()));
        }
        let clock = self.clock(end);
        let from = address(if end == 0 { 9 } else { path });
        let mut given = Vec::new();
        let deliver = &mut |packet: &[u8]| given.push(packet.to_vec());
        // The partner may not know a path yet.
        let _ = self.ends[end].datagram_in(from, &mut octets, clock, deliver);
        self.given(end, given);
        self.pump(end);
    }

    fn given(&mut self, end: usize, given: Vec<Vec<u8>>) {
        for octets in given {
            let packet = Packet::read(&octets);
            let flow = packet.flow;
            if end == 1 {
                let answer = self.flows[flow].received(&packet, self.now);
                if let Some(answer) = answer {
                    let _ = self.ends[1].packet_in(&answer, self.clock(1));
                }
            } else {
                self.flows[flow].acknowledged(&packet, self.now);
                self.emit(flow);
            }
        }
    }

    /// Runs all due work of an end.
    fn pump(&mut self, end: usize) {
        let clock = self.clock(end);
        let mut given = Vec::new();
        self.ends[end].tick(clock, &mut |packet| given.push(packet.to_vec()));
        while let Some(send) = self.ends[end].send(clock, &mut self.buffer) {
            let wire = &mut self.wires[usize::from(send.path)];
            if let Some(at) = wire.carry(end, send.length, self.now, &mut self.random) {
                let octets = self.buffer[..send.length].to_vec();
                self.push(at, What::Arrives(1 - end, send.path, octets));
            }
        }
        while let Some(event) = self.ends[end].event() {
            self.events.push((self.now, end, event));
        }
        if let Some(next) = self.ends[end].next(clock) {
            let at = next.saturating_sub(end as u64 * AHEAD).max(self.now + 1);
            if at < self.wakes[end] {
                self.wakes[end] = at;
                self.push(at, What::Wakes(end));
            }
        }
        if !given.is_empty() {
            self.given(end, given);
            self.pump(1 - end);
            self.pump(end);
        }
    }

    pub fn state(&self, end: usize, path: u8) -> Option<State> {
        let mut paths = self.ends[end].paths();
        Some(paths.find(|report| report.path == path)?.state)
    }

    /// Bytes per second of packets that all flows received, between two times.
    pub fn goodput(&self, from: Micros, to: Micros) -> u64 {
        let flows = self.flows.iter();
        flows.map(|flow| flow.goodput(from, to)).sum()
    }

    pub fn changes(&self, end: usize) -> usize {
        let verdict = |event: &Event| matches!(event, Event::Up(_) | Event::Down(_));
        let events = self.events.iter();
        events
            .filter(|(_, at, event)| *at == end && verdict(event))
            .count()
    }
}
