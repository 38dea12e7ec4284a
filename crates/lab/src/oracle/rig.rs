//! One of the two labs: injects, captures, and knows when everything has come out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::frame::{Body, Packet};
use crate::gateway;
use crate::generate::{Flow, Side, Step, Translation, Workload};
use crate::topology::{Lab, Options, mac};
use crate::view::View;
use crate::wire::{Frame, Tap};
use crate::{Error, Namespace};

use super::{Settle, Start};

/// Begins the payload of the packets that tell how far the router has come.
const BARRIER: &[u8] = b"weir lab barrier";
/// Ports of the barrier's flow, outside of those of any workload.
const BARRIER_PORTS: (u16, u16) = (65_000, 65_001);
/// How long the router may take for a packet, on a machine that does other things.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running lab with a tap on either side.
pub(super) struct Rig {
    // Dropped in this order: the router under test ends before its namespace does.
    settle: Settle,
    client: Tap,
    server: Tap,
    barrier: u32,
    barrier_translation: Option<Translation>,
    translations: BTreeMap<usize, Translation>,
    lab: Lab,
}

/// What came out, by side, in order of arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Output(BTreeMap<Side, Vec<Frame>>);

impl Output {
    pub(super) fn at(&self, side: Side) -> &[Frame] {
        self.0.get(&side).map_or(&[], Vec::as_slice)
    }

    pub(super) fn add(&mut self, more: Self) {
        for (side, frames) in more.0 {
            self.0.entry(side).or_default().extend(frames);
        }
    }

    pub(super) fn push(&mut self, side: Side, frame: Frame) {
        self.0.entry(side).or_default().push(frame);
    }

    pub(super) fn remove(&mut self, side: Side, at: usize) {
        if let Some(frames) = self.0.get_mut(&side) {
            frames.remove(at);
        }
    }
}

impl Rig {
    pub(super) fn new(options: &Options, start: Start) -> Result<Self, Error> {
        let lab = Lab::gateway(options)?;
        let client = Tap::open(lab.node("client")?, "eth0")?;
        let server = Tap::open(lab.node("server")?, "eth0")?;
        let settle = start(&lab)?;
        let mut rig = Self {
            settle,
            client,
            server,
            barrier: 0,
            barrier_translation: None,
            translations: BTreeMap::new(),
            lab,
        };
        // Opens the barrier's own flow, out and back.
        rig.barrier()?;
        Ok(rig)
    }

    pub(super) fn router(&self) -> Result<&Namespace, Error> {
        self.lab.node("router")
    }

    /// Waits until the router under test says that `connections` are settled.
    pub(super) fn settle(&mut self, connections: usize) -> Result<(), Error> {
        (self.settle)(connections)
    }

    /// Injects a batch and returns what came out until the barriers behind it have.
    pub(super) fn run(&mut self, workload: &Workload, batch: &[&Step]) -> Result<Output, Error> {
        for step in batch {
            let frame = self.frame(workload, step);
            self.tap(step.side).send(&frame)?;
        }
        let output = self.barrier()?;
        self.learn(workload, batch, &output);
        Ok(output)
    }

    /// The frame of a step in this lab. Before anything is learned, the server sends to where the client is by its own account.
    pub(super) fn frame(&self, workload: &Workload, step: &Step) -> Frame {
        let flow = &workload.flows[step.flow];
        let translation = self.translations.get(&flow.number).copied();
        workload.frame(step, translation.unwrap_or(untranslated(flow)))
    }

    /// What the router made of the flow's client; `None` until its first packet has come out.
    pub(super) fn translation(&self, flow: usize) -> Option<Translation> {
        self.translations.get(&flow).copied()
    }

    /// What still comes out until nothing has for `quiet`.
    pub(super) fn drain(&mut self, quiet: Duration) -> Result<Output, Error> {
        let mut output = Output::default();
        for side in [Side::Client, Side::Server] {
            for frame in self.tap_mut(side).drain(quiet)? {
                if barrier_number(&frame).is_none() && !is_chatter(&frame) {
                    output.push(side, frame);
                }
            }
        }
        Ok(output)
    }

    fn tap(&self, side: Side) -> &Tap {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    fn tap_mut(&mut self, side: Side) -> &mut Tap {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Sends a packet each way and waits for both: what was sent before is then through, if it went the same way. Twice, because the first may be
    /// handled within the same round of the router as packets before it that took longer.
    fn barrier(&mut self) -> Result<Output, Error> {
        let mut output = Output::default();
        for _ in 0..2 {
            self.barrier += 1;
            let number = self.barrier;
            self.client.send(&barrier_frame(
                Side::Client,
                gateway::SERVER,
                BARRIER_PORTS,
                number,
            ))?;
            if self.barrier_translation.is_none() {
                let frame = self.collect(Side::Server, number, &mut output)?;
                self.barrier_translation = source(&frame);
                let back = self.barrier_back(number);
                self.server.send(&back)?;
            } else {
                let back = self.barrier_back(number);
                self.server.send(&back)?;
                self.collect(Side::Server, number, &mut output)?;
            }
            self.collect(Side::Client, number, &mut output)?;
        }
        Ok(output)
    }

    fn barrier_back(&self, number: u32) -> Frame {
        let (address, port) = match self.barrier_translation {
            Some(translation) => (translation.address, translation.port),
            None => (gateway::CLIENT, BARRIER_PORTS.0),
        };
        barrier_frame(Side::Server, address, (BARRIER_PORTS.1, port), number)
    }

    /// Receives at `side` until barrier `number` has come; all else goes to `output`.
    fn collect(&mut self, side: Side, number: u32, output: &mut Output) -> Result<Frame, Error> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(frame) = self.tap_mut(side).receive(left)? else {
                let router = self.router()?.name();
                return Err(Error::Timeout(format!(
                    "barrier {number} at {side:?} through {router}: it does not forward"
                )));
            };
            match barrier_number(&frame) {
                Some(found) if found == number => return Ok(frame),
                Some(_) => {}
                None if is_chatter(&frame) => {}
                None => output.push(side, frame),
            }
        }
    }

    fn learn(&mut self, workload: &Workload, batch: &[&Step], output: &Output) {
        for step in batch.iter().filter(|step| step.side == Side::Client) {
            let flow = &workload.flows[step.flow];
            if self.translations.contains_key(&flow.number) {
                continue;
            }
            let to_server = |frame: &&Frame| {
                View::of(frame)
                    .and_then(|view| view.ports)
                    .is_some_and(|ports| ports.1 == flow.server_port)
            };
            let first = output.at(Side::Server).iter().find(to_server);
            if let Some(translation) = first.and_then(|frame| source(frame)) {
                self.translations.insert(flow.number, translation);
            }
        }
    }
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

fn barrier_frame(side: Side, to: std::net::IpAddr, ports: (u16, u16), number: u32) -> Frame {
    let from = match side {
        Side::Client => gateway::CLIENT,
        Side::Server => gateway::SERVER,
    };
    let mut payload = BARRIER.to_vec();
    payload.extend(number.to_be_bytes());
    let body = Body::Udp(ports.0, ports.1, payload);
    Packet::new((side.host_mac(), from), (side.router_mac(), to), body).bytes()
}

fn barrier_number(frame: &[u8]) -> Option<u32> {
    // Ethernet, IPv4 without options, UDP.
    let payload = frame.get(14 + 20 + 8..)?.strip_prefix(BARRIER)?;
    Some(u32::from_be_bytes(payload.get(..4)?.try_into().ok()?))
}

/// Multicast listener reports (RFC 3810), which a router with IPv6 sends whenever it likes: from the router itself, to a multicast MAC, behind a hop-by-hop
/// header with a router alert.
fn is_chatter(frame: &[u8]) -> bool {
    let own = [mac("router", "lan0"), mac("router", "wan0")];
    frame.starts_with(&[0x33, 0x33])
        && frame
            .get(6..12)
            .is_some_and(|from| own.iter().any(|mac| mac == from))
        && View::of(frame).is_some_and(|view| view.protocol == 0 && frame.get(62) == Some(&143))
}
