//! What the oracle runs, and what it finds equal.

use std::collections::BTreeMap;

use super::rules::Difference;
use crate::arrangement::{Arrangement, Wan};
use crate::gateway::{Ipv6, Options};
use crate::generate::{Kind, Mix, Recipe, Server, Workload};
use crate::{Error, Lab};

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
    pub(super) fn options(&self) -> Options {
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

    pub(super) fn workload(&self) -> Workload {
        Workload::from_recipe(&Recipe {
            seed: self.seed,
            flows: self.flows,
            packets: self.packets,
            ipv6: self.ipv6 != Ipv6::Off,
            mtu: self.options().wan_mtu,
            mix: self.mix.clone(),
            server: server(&self.arrangement),
        })
    }
}

/// Where the server is.
pub(super) fn server(arrangement: &Arrangement) -> Server {
    Server {
        own: [false, true].map(|ipv6| arrangement.server(ipv6)),
        reached: [false, true].map(|ipv6| arrangement.reached(ipv6)),
    }
}

/// The start hook for a router B that is a plain kernel too; tests of the oracle itself use it.
pub fn plain(_: &Lab) -> Result<Settle, Error> {
    Ok(Box::new(|_| Ok(())))
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
