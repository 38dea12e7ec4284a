//! Deterministic traffic: flows through a gateway, ordinary and mangled packets in both directions.
//!
//! Steps do not depend on the arrival of other steps, except for the flow's opening. All sequence
//! numbers lie within the first window, and no data is acknowledged. So conntrack never takes a
//! segment for out of window. Any subset of the steps is a valid run, which shrinking needs.

mod flow;
mod kind;
mod mangle;

use crate::random::Random;

pub use flow::{Flow, Server, Side, Translation};
pub use kind::{Kind, Mix};
pub use mangle::Step;

/// Most flows of a workload. Each flow has its own ports, so that masquerading never changes a
/// port.
pub const FLOWS_MAX: usize = 16_000;
/// First port of the clients.
const CLIENT_PORTS: u16 = 20_000;
/// First port of the servers.
const SERVER_PORTS: u16 = 2_000;

/// A sequence of steps. Equal arguments give equal workloads.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Seed of the workload.
    pub seed: u64,
    /// Flows of the workload.
    pub flows: Vec<Flow>,
    /// Steps that establish all flows, then one ordinary packet each way.
    pub opening: Vec<Step>,
    /// Steps after the opening.
    pub steps: Vec<Step>,
    /// MTU of the WAN, bytes.
    pub mtu: u16,
}

/// Parameters of a workload.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of flows, at most [`FLOWS_MAX`].
    pub flows: usize,
    /// Number of steps after the opening.
    pub packets: usize,
    /// Every third flow is IPv6.
    pub ipv6: bool,
    /// MTU of the WAN, bytes: some packets have exactly this length, some are longer.
    pub mtu: u16,
    /// Weights of the kinds.
    pub mix: Mix,
    /// Addresses of the server.
    pub server: Server,
}

impl Workload {
    /// Returns a workload with the usual mix.
    pub fn new(seed: u64, flows: usize, packets: usize) -> Self {
        Self::from_recipe(&Recipe {
            seed,
            flows,
            packets,
            ipv6: true,
            mtu: 1400,
            mix: Mix::default(),
            server: Server::default(),
        })
    }

    /// Returns a workload from a recipe.
    pub fn from_recipe(recipe: &Recipe) -> Self {
        let mut random = Random::new(recipe.seed);
        let count = recipe.flows.clamp(1, FLOWS_MAX);
        let flows: Vec<_> = (0..count)
            .map(|number| flow(number, recipe, &mut random))
            .collect();
        let mut workload = Self {
            seed: recipe.seed,
            opening: opening(&flows, &mut random),
            flows,
            steps: Vec::new(),
            mtu: recipe.mtu,
        };
        workload.fill(recipe, &mut random);
        workload
    }

    /// Returns a step's frame. `translation` is the client's socket as the server sees it; before
    /// the translation is known, only the client can send.
    pub fn frame(&self, step: &Step, translation: Translation) -> Vec<u8> {
        step.frame(&self.flows[step.flow], self.mtu, translation)
    }

    /// Returns all steps, in order.
    pub fn all(&self) -> impl Iterator<Item = &Step> {
        self.opening.iter().chain(&self.steps)
    }

    fn fill(&mut self, recipe: &Recipe, random: &mut Random) {
        let mut open: Vec<usize> = (0..self.flows.len()).collect();
        let mut ended = vec![false; self.flows.len()];
        let end = self.opening.len() + recipe.packets;
        let mut number = self.opening.len();
        while number < end {
            let flow = random.pick(&open);
            let mut kind = recipe.mix.pick(&self.flows[flow], random);
            // Half of the flows stay, however long the run is. A SYN after a FIN may reopen the
            // connection, which no other step expects.
            let last = kind == Kind::Rst && open.len() * 2 <= self.flows.len();
            if last || kind == Kind::Syn && ended[flow] {
                kind = Kind::Data;
            }
            ended[flow] |= kind == Kind::Fin;
            if kind == Kind::Rst {
                open.retain(|other| *other != flow);
            }
            let side = match kind {
                Kind::Syn => Side::Client,
                _ => random.pick(&[Side::Client, Side::Server]),
            };
            let mut step = Step {
                number,
                flow,
                side,
                kind,
                seed: random.next_u64(),
                id: number as u16,
            };
            self.steps.push(step.clone());
            number += 1;
            if kind == Kind::FragmentFirst && number < end && !random.one_in(4) {
                step.number = number;
                step.kind = Kind::FragmentLast;
                self.steps.push(step);
                number += 1;
            }
        }
    }
}

fn flow(number: usize, recipe: &Recipe, random: &mut Random) -> Flow {
    let tcp = number.is_multiple_of(2);
    Flow {
        number,
        ipv6: recipe.ipv6 && number % 3 == 2,
        tcp,
        client_port: CLIENT_PORTS + number as u16,
        server_port: SERVER_PORTS + number as u16,
        isn: [random.next_u64() as u32, random.next_u64() as u32],
        ttl: [(); 2].map(|()| random.pick(&[64, 128, 255, 57, 33])),
        timestamps: random.one_in(2),
        dont_fragment: tcp || random.one_in(2),
        server: recipe.server,
    }
}

/// Returns rounds, so that neighbouring steps belong to different flows. TCP: SYN, SYN and ACK,
/// ACK. UDP: a datagram each way, then another. Both end with data each way.
fn opening(flows: &[Flow], random: &mut Random) -> Vec<Step> {
    let rounds = [
        (Kind::Open, Side::Client),
        (Kind::Open, Side::Server),
        (Kind::Confirm, Side::Client),
        (Kind::Data, Side::Client),
        (Kind::Data, Side::Server),
    ];
    let mut steps = Vec::with_capacity(rounds.len() * flows.len());
    for (kind, side) in rounds {
        for flow in flows {
            steps.push(Step {
                number: steps.len(),
                flow: flow.number,
                side,
                kind,
                seed: random.next_u64(),
                id: steps.len() as u16,
            });
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::View;

    fn frames(seed: u64) -> Vec<Vec<u8>> {
        let workload = Workload::new(seed, 20, 3000);
        let frame = |step: &Step| {
            let flow = &workload.flows[step.flow];
            let translation = Translation {
                address: flow.client(),
                port: flow.client_port,
            };
            workload.frame(step, translation)
        };
        workload.all().map(frame).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_frames() {
        assert_eq!(frames(7), frames(7));
        assert_ne!(frames(7), frames(8));
    }

    #[test]
    fn most_packets_are_ordinary_and_all_kinds_occur() {
        let workload = Workload::new(3, 60, 20_000);
        let data = workload
            .steps
            .iter()
            .filter(|step| step.kind == Kind::Data)
            .count();
        assert!((10_000..16_000).contains(&data), "{data}");
        for (kind, _) in Mix::default().weights() {
            assert!(
                workload.steps.iter().any(|step| step.kind == *kind),
                "{kind:?} never occurs"
            );
        }
    }

    /// Ordinary packets have right checksums and never the TTL that marks the router's own packets.
    #[test]
    fn ordinary_packets_are_right() {
        let workload = Workload::new(5, 40, 5000);
        for step in workload
            .all()
            .filter(|step| matches!(step.kind, Kind::Open | Kind::Confirm | Kind::Data))
        {
            let flow = &workload.flows[step.flow];
            let translation = Translation {
                address: flow.client(),
                port: flow.client_port,
            };
            let frame = workload.frame(step, translation);
            let view = View::of(&frame).expect("IP");
            assert_eq!(view.residue(&frame), Some(0xffff), "step {}", step.number);
            assert!(view.ttl != 65 && frame.len() <= 14 + 1400);
        }
    }
}
