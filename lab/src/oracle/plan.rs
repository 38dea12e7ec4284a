//! Plan and report of an oracle run.

use std::collections::BTreeMap;

use super::rules::Difference;
use crate::arrangement::{Arrangement, Wan};
use crate::gateway::{Ipv6, Options};
use crate::generate::{Kind, Mix, Recipe, Server, Workload};
use crate::{Error, Lab};

/// Waits until that many connections, the oracle's own one included, are settled: handed over, if B
/// hands over. Called after all connections are open, and again after an ordinary packet each way.
/// Dropping this closure stops the programs that [`Start`] started.
pub type Settle = Box<dyn FnMut(usize) -> Result<(), Error>>;

/// Turns a fresh lab into router B. Called once for the run and once for each attempt to shrink a
/// mismatch.
pub type Start<'a> = &'a dyn Fn(&Lab) -> Result<Settle, Error>;

/// Use of a flowtable in both routers. An nftables flowtable forwards without the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flowtable {
    /// No flowtable.
    #[default]
    Never,
    /// A flowtable from the start, which gets every connection once established.
    First,
    /// A flowtable after router B took over the connections, which enter with their next packet.
    Later,
}

/// Parameters of an oracle run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Interfaces of the routers below IP.
    pub arrangement: Arrangement,
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of flows.
    pub flows: usize,
    /// Number of packets after the opening.
    pub packets: usize,
    /// Most packets sent before waiting for the output; at least 1.
    pub batch: usize,
    /// Kinds of changed packets, with their frequency.
    pub mix: Mix,
    /// Translates IPv4 addresses.
    pub nat: bool,
    /// IPv6 mode.
    pub ipv6: Ipv6,
    /// Use of the kernel's own fast path.
    pub flowtable: Flowtable,
    /// Most fresh pairs of labs for shrinking a mismatch; 0 turns shrinking off.
    pub attempts: usize,
}

impl Plan {
    /// Returns a plan with NAT for IPv4, plain routing for IPv6, batches of 8 and the usual mix.
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

    /// Returns a plan for an arrangement; the mix includes the kinds specific to its wires.
    ///
    /// An emulated machine (`scripts/vm` sets `VM`) gets a third of the flows and packets, because
    /// emulation takes at least three times as long.
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

    /// Returns the options of both labs. The WAN's MTU is below the LAN's, so that some packets are
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

/// Returns the server's addresses.
pub(super) fn server(arrangement: &Arrangement) -> Server {
    Server {
        own: [false, true].map(|ipv6| arrangement.server(ipv6)),
        reached: [false, true].map(|ipv6| arrangement.reached(ipv6)),
    }
}

/// Starts a plain kernel as router B. Tests of the oracle itself use this function.
pub fn plain(_: &Lab) -> Result<Settle, Error> {
    Ok(Box::new(|_| Ok(())))
}

/// Counters of a run without mismatches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Packets sent into each router.
    pub sent: usize,
    /// Frames that came out of router A.
    pub received: usize,
    /// Occurrences of each natural difference.
    pub differences: BTreeMap<Difference, usize>,
    /// Steps by kind.
    pub kinds: BTreeMap<Kind, usize>,
}
