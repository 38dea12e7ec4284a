//! The differential oracle: the same packets through two routers, and what comes out must be the
//! same, byte for byte.
//!
//! Router A is the plain kernel; router B is whatever the caller makes of an identical lab. Both
//! get the workload in small batches, in lockstep. A batch has several packets of one flow only if
//! all are ordinary and of one direction: those must keep their order. Across flows the order is
//! free.

mod compare;
mod fragments;
mod mischief;
mod report;
mod rig;
mod rules;
mod shrink;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Error;
use crate::arrangement::{Arrangement, Wan};
use crate::gateway::{Ipv6, Options};
use crate::generate::{Kind, Mix, Recipe, Server, Step, Workload};
use crate::topology::Lab;

use compare::Pair;
pub use report::{Differing, Involved, Mismatch};
pub use rules::Difference;

/// Waits until that many connections (the workload's and one of the oracle's own) are as settled as
/// they get: handed over, where B hands over. Called after all have been opened, and again after an
/// ordinary packet has gone each way. Dropping it stops what [`Start`] started.
pub type Settle = Box<dyn FnMut(usize) -> Result<(), Error>>;

/// Makes router B from a fresh lab. Called once for the run, and once more for each attempt to
/// shrink a mismatch.
pub type Start<'a> = &'a dyn Fn(&Lab) -> Result<Settle, Error>;

/// Whether both routers have an nftables flowtable, which forwards without asking the rules again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flowtable {
    /// They have none.
    #[default]
    Never,
    /// From the start: it gets every connection as it is established.
    First,
    /// Once router B has taken the connections over: it gets them with their next packet.
    Later,
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the routers are like below IP.
    pub arrangement: Arrangement,
    /// Of everything random.
    pub seed: u64,
    /// Number of flows.
    pub flows: usize,
    /// Number of packets after the opening.
    pub packets: usize,
    /// Most packets sent before waiting for what comes out; at least 1.
    pub batch: usize,
    /// What is done to packets, and how often.
    pub mix: Mix,
    /// IPv4 translation.
    pub nat: bool,
    /// IPv6.
    pub ipv6: Ipv6,
    /// The kernel's own fast path.
    pub flowtable: Flowtable,
    /// Most fresh pairs of labs made to shrink a mismatch; 0 to leave it as it is.
    pub attempts: usize,
}

impl Plan {
    /// NAT for IPv4, plain routing for IPv6, batches of 8, the usual mix.
    pub fn new(seed: u64, flows: usize, packets: usize) -> Self {
        Self {
            arrangement: Arrangement::PLAIN,
            seed,
            flows,
            packets,
            batch: 8,
            mix: Mix::default(),
            nat: true,
            ipv6: Ipv6::Routed,
            flowtable: Flowtable::Never,
            attempts: 12,
        }
    }

    /// The same for an arrangement, with what only its wires can carry added to the mix.
    ///
    /// In an emulated machine (`scripts/vm` sets `VM`) a third of the flows and packets, as it
    /// takes that much longer and more.
    pub fn over(arrangement: Arrangement, seed: u64, flows: usize, packets: usize) -> Self {
        let (flows, packets) = match std::env::var_os("VM") {
            None => (flows, packets),
            Some(_) => (flows.div_ceil(3), packets.div_ceil(3)),
        };
        let mut mix = Mix::default().with(Kind::Tags, 8).with(Kind::Priority, 8);
        if arrangement.wan.dials() {
            mix = mix.with(Kind::Session, 10).with(Kind::SessionLength, 8);
        }
        if arrangement.wan != Wan::WireGuard {
            mix = mix.with(Kind::Elsewhere, 3);
        }
        Self {
            arrangement,
            mix,
            ..Self::new(seed, flows, packets)
        }
    }

    /// The lab both routers stand in. The WAN's MTU is below the LAN's, so that some packets are
    /// too long.
    fn options(&self) -> Options {
        Options {
            arrangement: self.arrangement,
            nat: self.nat,
            ipv6: self.ipv6,
            plain_offloads: true,
            second_path: false,
            raw: true,
            wan_mtu: 1400,
        }
    }

    fn workload(&self) -> Workload {
        Workload::from_recipe(&Recipe {
            seed: self.seed,
            flows: self.flows,
            packets: self.packets,
            ipv6: self.ipv6 != Ipv6::Off,
            mtu: self.options().wan_mtu,
            mix: self.mix.clone(),
            server: self.options().server(),
        })
    }
}

impl Options {
    /// Where the server is.
    fn server(&self) -> Server {
        let both = |address: fn(&Arrangement, bool) -> std::net::IpAddr| {
            [false, true].map(|ipv6| address(&self.arrangement, ipv6))
        };
        Server {
            own: both(Arrangement::server),
            reached: both(Arrangement::reached),
        }
    }
}

/// What was found equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Packets sent into each router.
    pub sent: usize,
    /// Frames that came out of router A.
    pub received: usize,
    /// How often each natural difference occurred.
    pub differences: BTreeMap<Difference, usize>,
    /// Steps by kind.
    pub kinds: BTreeMap<Kind, usize>,
}

/// The seed to use: WEIR_SEED from the environment, else `default`. Printed, so that a failure can
/// be run again.
pub fn seed(default: u64) -> u64 {
    let told = std::env::var("WEIR_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = told.unwrap_or(default);
    println!("WEIR_SEED={seed}");
    seed
}

/// The start hook for a router B that is a plain kernel too; tests of the oracle itself use it.
pub fn plain(_: &Lab) -> Result<Settle, Error> {
    Ok(Box::new(|_| Ok(())))
}

/// Runs the plan. A mismatch is [`Error::Differs`], shrunk as far as the plan allows.
pub fn compare(plan: &Plan, start: Start) -> Result<Report, Error> {
    let workload = plan.workload();
    let opening: Vec<_> = workload.opening.iter().collect();
    let steps: Vec<_> = workload.steps.iter().collect();
    match run(plan, start, &workload, &opening, &steps, plan.batch) {
        Err(Error::Differs(found)) => Err(shrink::shrink(plan, start, &workload, *found)),
        other => other,
    }
}

/// Runs a part of the workload through fresh labs.
fn run(
    plan: &Plan,
    start: Start,
    workload: &Workload,
    opening: &[&Step],
    steps: &[&Step],
    size: usize,
) -> Result<Report, Error> {
    let mut pair = Pair::new(plan, start, workload)?;
    let mut connections: Vec<_> = opening.iter().map(|step| step.flow).collect();
    connections.sort_unstable();
    connections.dedup();
    let (handshakes, proving): (Vec<&Step>, Vec<&Step>) =
        opening.iter().partition(|step| step.kind != Kind::Data);
    for part in [handshakes, proving] {
        for batch in batches(&part, size) {
            pair.batch(batch)?;
        }
        // The barrier's own flow is one more.
        pair.settle(connections.len() + 1)?;
    }
    if plan.flowtable == Flowtable::Later {
        pair.flowtables()?;
    }
    if size == 1 {
        pair.remember();
    }
    for batch in batches(steps, size) {
        pair.batch(batch)?;
    }
    pair.finish(Duration::from_millis(100))
}

/// Cuts the steps into batches, in order.
fn batches<'a, 'b>(steps: &'b [&'a Step], size: usize) -> Vec<&'b [&'a Step]> {
    let mut batches = Vec::new();
    let mut rest = steps;
    while !rest.is_empty() {
        let fits = |length: usize| {
            rest[..length]
                .iter()
                .all(|step| together(step, rest[length]))
        };
        let mut length = 1;
        while length < rest.len().min(size.max(1)) && fits(length) {
            length += 1;
        }
        let (batch, more) = rest.split_at(length);
        batches.push(batch);
        rest = more;
    }
    batches
}

/// Whether two steps may be under way at once: their order, where it counts, is then certain for
/// any router.
fn together(a: &Step, b: &Step) -> bool {
    // What comes in elsewhere may change the way of all that follows.
    if [a, b].iter().any(|step| step.kind == Kind::Elsewhere) {
        return false;
    }
    a.flow != b.flow || a.side == b.side && a.kind == Kind::Data && b.kind == Kind::Data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_order_and_never_mix_what_must_wait() {
        let workload = Workload::new(9, 4, 500);
        let steps: Vec<_> = workload.all().collect();
        let batches = batches(&steps, 8);
        let numbers: Vec<_> = batches
            .iter()
            .flat_map(|batch| batch.iter().map(|step| step.number))
            .collect();
        assert!(numbers.iter().copied().eq(0..steps.len()));
        for batch in batches {
            assert!(batch.len() <= 8);
            for (index, a) in batch.iter().enumerate() {
                assert!(batch[index + 1..].iter().all(|b| together(a, b)));
            }
        }
    }
}
