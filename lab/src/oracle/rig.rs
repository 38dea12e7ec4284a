//! A rig is one of the two labs: injects and captures packets, and detects the end of the output.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::frame::{Body, Frame, Mac, Packet};
use crate::generate::{Flow, Kind, Server, Side, Step, Translation, Workload};
use crate::test_port::{CapturedFrame, TestPort, is_chatter, outlets};
use crate::view::View;
use crate::wire::Tap;
use crate::{Error, Lab, Namespace, Options, gateway};

use super::bad_encapsulation;
use super::plan::{Settle, Start, server};

/// Start of the payload of barrier packets, which show the router's progress.
const BARRIER: &[u8] = b"weir lab barrier";
/// Ports of the barrier's flow, outside the ports of any workload.
const BARRIER_PORTS: (u16, u16) = (65_000, 65_001);
/// Longest wait for a packet from the router, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time until a program receives the kernel's event about a moved station.
pub(super) const HEARSAY: Duration = Duration::from_millis(100);

/// A running lab with a tap at the end of each wire.
pub(super) struct Rig {
    // Drop order: the router under test ends before its namespace.
    settle: Settle,
    ends: Vec<(TestPort, Tap)>,
    /// MACs of the router.
    routers: Vec<Mac>,
    barrier: u32,
    barrier_translation: Option<Translation>,
    learned: BTreeMap<usize, Learned>,
    server: Server,
    lab: Lab,
}

/// The router's handling of a flow, from the flow's first packet that left the router.
#[derive(Clone, Copy, Debug)]
struct Learned {
    translation: Translation,
    /// Index of the wire on which the flow leaves.
    end: usize,
}

/// Captured frames by end, in order of arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Output(BTreeMap<usize, Vec<CapturedFrame>>);

impl Output {
    pub(super) fn at(&self, end: usize) -> &[CapturedFrame] {
        self.0.get(&end).map_or(&[], Vec::as_slice)
    }

    pub(super) fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    pub(super) fn add(&mut self, more: Self) {
        for (end, frames) in more.0 {
            self.0.entry(end).or_default().extend(frames);
        }
    }

    fn push(&mut self, end: usize, arrival: CapturedFrame) {
        self.0.entry(end).or_default().push(arrival);
    }

    /// Returns the position of the first frame that matches.
    pub(super) fn find(
        &self,
        ends: &[usize],
        matches: impl Fn(&Frame) -> bool,
    ) -> Option<(usize, usize)> {
        ends.iter().find_map(|end| {
            let at = self.at(*end).iter().position(|a| matches(&a.frame))?;
            Some((*end, at))
        })
    }

    pub(super) fn remove(&mut self, (end, at): (usize, usize)) {
        if let Some(frames) = self.0.get_mut(&end) {
            frames.remove(at);
        }
    }
}

impl Rig {
    pub(super) fn new(options: &Options, start: Start) -> Result<Self, Error> {
        let lab = Lab::gateway(options)?;
        let mut ends = Vec::new();
        for outlet in outlets(&lab)? {
            let tap = Tap::open(lab.node(outlet.role)?, outlet.device)?;
            ends.push((outlet, tap));
        }
        let routers = lab.macs("router")?;
        let settle = start(&lab)?;
        let mut rig = Self {
            settle,
            ends,
            routers,
            barrier: 0,
            barrier_translation: None,
            learned: BTreeMap::new(),
            server: server(&options.arrangement),
            lab,
        };
        // Opens the barrier's own flow, out and back.
        rig.barrier()?;
        Ok(rig)
    }

    pub(super) fn router(&self) -> Result<&Namespace, Error> {
        self.lab.node("router")
    }

    /// Adds a flowtable to the router.
    pub(super) fn flowtable(&self) -> Result<(), Error> {
        self.lab.flowtable()
    }

    pub(super) fn outlet(&self, end: usize) -> &TestPort {
        &self.ends[end].0
    }

    /// Returns the ends on a side.
    pub(super) fn ends(&self, side: Side) -> Vec<usize> {
        let all = 0..self.ends.len();
        all.filter(|end| self.outlet(*end).side == side).collect()
    }

    /// Waits until the router under test reports `connections` as settled.
    pub(super) fn settle(&mut self, connections: usize) -> Result<(), Error> {
        (self.settle)(connections)
    }

    /// Injects a batch.
    pub(super) fn send(&self, workload: &Workload, batch: &[&Step]) -> Result<(), Error> {
        for step in batch {
            let (end, frame) = self.sealed(workload, step);
            self.ends[end].1.send(&frame)?;
        }
        Ok(())
    }

    /// Returns the output of a batch, up to the barriers behind the batch.
    pub(super) fn receive(
        &mut self,
        workload: &Workload,
        batch: &[&Step],
    ) -> Result<Output, Error> {
        let output = self.barrier()?;
        self.learn(workload, batch, &output);
        Ok(output)
    }

    /// Returns a step's frame in this lab, on a plain wire. Before the translation is known, the
    /// server sends to the client's own address.
    pub(super) fn frame(&self, workload: &Workload, step: &Step) -> Frame {
        let flow = &workload.flows[step.flow];
        let translation = self.translation(flow.number);
        workload.frame(step, translation.unwrap_or(untranslated(flow)))
    }

    /// Returns the end for a step's frame, and the frame as sealed for that wire.
    pub(super) fn sealed(&self, workload: &Workload, step: &Step) -> (usize, Frame) {
        let frame = self.frame(workload, step);
        let mut random = step.random();
        let home = self.home(step.side, step.flow);
        if step.kind != Kind::Elsewhere {
            let outlet = self.outlet(home);
            return (
                home,
                match step.kind.is_about_the_wire() {
                    true => bad_encapsulation::seal(step.kind, outlet, &frame, &mut random),
                    false => outlet.seal(&frame),
                },
            );
        }
        let others: Vec<_> = (0..self.ends.len()).filter(|end| *end != home).collect();
        let end = random.pick(&others);
        let outlet = self.outlet(end);
        (end, outlet.seal(&from_elsewhere(frame, step.side, outlet)))
    }

    /// Returns the flow's translation; `None` until the flow's first packet has left the router.
    pub(super) fn translation(&self, flow: usize) -> Option<Translation> {
        self.learned.get(&flow).map(|learned| learned.translation)
    }

    /// Returns further output until no frame arrives for `quiet`.
    pub(super) fn drain(&mut self, quiet: Duration) -> Result<Output, Error> {
        let mut output = Output::default();
        for end in 0..self.ends.len() {
            for frame in self.ends[end].1.drain(quiet)? {
                let arrival = self.outlet(end).open(&frame);
                if barrier_number(&arrival.frame).is_none() {
                    self.note(end, &frame, arrival, &mut output)?;
                }
            }
        }
        Ok(output)
    }

    /// Returns the end at which a side's packets of a flow enter.
    fn home(&self, side: Side, flow: usize) -> usize {
        let learned = self.learned.get(&flow);
        let way = learned.filter(|_| side == Side::Server).map(|way| way.end);
        way.or_else(|| self.ends(side).first().copied())
            .unwrap_or_default()
    }

    /// Records a frame, except for the router's own chatter.
    fn note(
        &self,
        end: usize,
        frame: &[u8],
        arrival: CapturedFrame,
        output: &mut Output,
    ) -> Result<(), Error> {
        if is_chatter(frame, &arrival, &self.routers) {
            return Ok(());
        }
        let outlet = self.outlet(end);
        if !outlet.may_leave(&arrival) {
            return Err(Error::Unexpected(format!(
                "a packet left at {} in an unexpected envelope, not one of {:x?}:\n{}",
                outlet.name(),
                outlet.leaving,
                crate::view::hex(frame)
            )));
        }
        output.push(end, arrival);
        Ok(())
    }

    /// Sends a packet each way and waits for both: earlier packets on the path are then through.
    /// Two rounds are needed, because the router may handle the first barrier in one round with
    /// slower packets. The client sends first, because the client's packet also shows bridges the
    /// client's port.
    fn barrier(&mut self) -> Result<Output, Error> {
        let mut output = Output::default();
        for _ in 0..2 {
            self.barrier += 1;
            let number = self.barrier;
            let client = (gateway::CLIENT, BARRIER_PORTS.0);
            let reached = (self.server.reached[0], BARRIER_PORTS.1);
            let out = barrier_frame(Side::Client, client, reached, number);
            self.inject(Side::Client, &out)?;
            let frame = self.collect(Side::Server, number, &mut output)?;
            let translation = *self.barrier_translation.get_or_insert(
                source(&frame).ok_or_else(|| Error::Unexpected("a barrier without IP".into()))?,
            );
            let server = (self.server.own[0], BARRIER_PORTS.1);
            let to = (translation.address, translation.port);
            let back = barrier_frame(Side::Server, server, to, number);
            self.inject(Side::Server, &back)?;
            self.collect(Side::Client, number, &mut output)?;
        }
        Ok(output)
    }

    fn inject(&self, side: Side, frame: &[u8]) -> Result<(), Error> {
        let end = self.home(side, usize::MAX);
        self.ends[end].1.send(&self.outlet(end).seal(frame))
    }

    /// Receives at the first end of `side` until the router sends barrier `number` there. Other
    /// frames, also from other ends, go to `output`.
    fn collect(&mut self, side: Side, number: u32, output: &mut Output) -> Result<Frame, Error> {
        let deadline = Instant::now() + PATIENCE;
        let home = self.home(side, usize::MAX);
        let found = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(frame) = self.ends[home].1.receive(left)? else {
                let router = self.router()?.name();
                return Err(Error::Timeout(format!(
                    "barrier {number} at {side:?} through {router}: it does not forward"
                )));
            };
            let arrival = self.outlet(home).open(&frame);
            match barrier_number(&arrival.frame) {
                Some(found) if found == number => break arrival,
                Some(_) => {}
                None => self.note(home, &frame, arrival, output)?,
            }
        };
        if !self.outlet(home).may_leave(&found) {
            return Err(Error::Unexpected(format!(
                "barrier {number} left in {:x?}",
                found.envelope
            )));
        }
        for end in (0..self.ends.len()).filter(|end| *end != home) {
            while let Some(frame) = self.ends[end].1.receive(Duration::ZERO)? {
                let arrival = self.outlet(end).open(&frame);
                if barrier_number(&arrival.frame).is_none() {
                    self.note(end, &frame, arrival, output)?;
                }
            }
        }
        Ok(found.frame)
    }

    fn learn(&mut self, workload: &Workload, batch: &[&Step], output: &Output) {
        let servers = self.ends(Side::Server);
        for step in batch.iter().filter(|step| step.side == Side::Client) {
            let flow = &workload.flows[step.flow];
            if self.learned.contains_key(&flow.number) {
                continue;
            }
            let to_server = |frame: &Frame| {
                View::of(frame).is_some_and(|view| {
                    view.to == flow.server()
                        && view.ports.is_some_and(|ports| ports.1 == flow.server_port)
                })
            };
            let Some((end, at)) = output.find(&servers, to_server) else {
                continue;
            };
            if let Some(translation) = source(&output.at(end)[at].frame) {
                self.learned
                    .insert(flow.number, Learned { translation, end });
            }
        }
    }
}

/// Returns a side's packet as injected at another end. At an end of the sender's own side the frame
/// stays unchanged: the station has moved. At the other side the MACs are forged.
fn from_elsewhere(mut frame: Frame, side: Side, outlet: &TestPort) -> Frame {
    if outlet.side != side && frame.len() >= 12 {
        frame[..6].copy_from_slice(&outlet.side.router_mac());
        frame[6..12].copy_from_slice(&outlet.side.host_mac());
    }
    frame
}

fn untranslated(flow: &Flow) -> Translation {
    Translation {
        address: flow.client(),
        port: flow.client_port,
    }
}

fn source(frame: &[u8]) -> Option<Translation> {
    let view = View::of(frame)?;
    Some(Translation {
        address: view.from,
        port: view.ports?.0,
    })
}

type Socket = (std::net::IpAddr, u16);

fn barrier_frame(side: Side, from: Socket, to: Socket, number: u32) -> Frame {
    let mut payload = BARRIER.to_vec();
    payload.extend(number.to_be_bytes());
    let body = Body::Udp(from.1, to.1, payload);
    Packet::new((side.host_mac(), from.0), (side.router_mac(), to.0), body).bytes()
}

fn barrier_number(frame: &[u8]) -> Option<u32> {
    // Ethernet, IPv4 without options, UDP.
    let payload = frame.get(14 + 20 + 8..)?.strip_prefix(BARRIER)?;
    Some(u32::from_be_bytes(payload.get(..4)?.try_into().ok()?))
}
