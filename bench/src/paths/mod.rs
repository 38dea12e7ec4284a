//! The whole way of a packet, in instructions: what a router costs in each arrangement, by whoever forwards.
//!
//! A generator feeds frames into one host's device as a driver would, the router forwards them, and a sink drops them at the other host: all on one
//! processor, within one call. Under `scripts/vm --icount` the guest's clock counts instructions, so time by packets is instructions per packet,
//! generator and sink included. What generator and the first wire take by themselves is measured with a drop at the router's port.

mod circuit;
mod report;

use std::path::Path;

use lab::Arrangement;
use lab::generate::Side;
use serde::Serialize;

use crate::rounds::median;
use crate::{Error, machine};

pub use circuit::Circuit;
pub use report::report;

/// Who forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarder {
    /// Nobody: the frames are dropped at the router's port, by XDP.
    Nobody,
    /// The kernel, conntrack not in use.
    Kernel,
    /// The kernel, masquerading.
    Masquerade,
    /// The kernel's nftables flowtable in software, masquerading.
    Flowtable,
    /// A rewrite at XDP that fits this one traffic and looks at nothing. Between plain wires only.
    Static,
    /// Weir at XDP, masquerading.
    WeirXdp,
    /// Weir at TC, masquerading.
    WeirTc,
}

impl Forwarder {
    /// In the order of the table, which is also the order of measuring: rules and programs are added and taken away from one to the next.
    pub const ALL: [Self; 7] = [
        Self::Nobody,
        Self::Kernel,
        Self::Masquerade,
        Self::Flowtable,
        Self::Static,
        Self::WeirTc,
        Self::WeirXdp,
    ];

    /// For the table.
    pub fn text(self) -> &'static str {
        match self {
            Self::Nobody => "(dropped at the port)",
            Self::Kernel => "kernel, no conntrack",
            Self::Masquerade => "kernel NAT",
            Self::Flowtable => "flowtable",
            Self::Static => "XDP static",
            Self::WeirXdp => "weir at XDP",
            Self::WeirTc => "weir at TC",
        }
    }

    /// Whether it can forward in this direction of this arrangement.
    fn fits(self, arrangement: &Arrangement, from: Side) -> bool {
        self != Self::Static || *arrangement == Arrangement::PLAIN && from == Side::Client
    }
}

/// The arrangements measured: plain wires, and each header that weir knows.
pub const ARRANGEMENTS: [Arrangement; 5] = [
    Arrangement::PLAIN,
    Arrangement::VLAN,
    Arrangement::QINQ,
    Arrangement::PPPOE,
    Arrangement::PPPOE_OVER_VLAN,
];

/// How much.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Packets in a batch.
    pub packets: u32,
    /// Batches, of which the median counts.
    pub batches: u32,
    /// Flows that take turns.
    pub flows: u32,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            packets: 12_800,
            batches: 5,
            flows: 64,
        }
    }
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// [`Arrangement::name`].
    pub arrangement: &'static str,
    /// From the client to the server, into the uplink's headers.
    pub upward: bool,
    /// Who forwards.
    pub forwarder: Forwarder,
    /// Instructions per packet, generator and sink included: the median of the batches.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Share of the packets that went the way that is measured, where somebody keeps count of it.
    pub share: Option<f64>,
}

/// Measures the arrangements, each with everybody who can forward there, in both directions.
pub fn measure(
    arrangements: &[Arrangement],
    effort: Effort,
    weir: &Path,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Cost>, Error> {
    // Neither pinned nor favoured, unlike elsewhere: weir and PPP's daemons are started in between, and would inherit that.
    if machine::processors() != 1 {
        return Err(Error::Wrong(
            "whole paths are measured where there is one processor: `make paths`".into(),
        ));
    }
    // While the machine waits for a file from outside its clock leaps on, and with it whoever waits for weir to start.
    std::fs::read(weir).map_err(Error::system(format!("read {}", weir.display())))?;
    let mut costs = Vec::new();
    for arrangement in arrangements {
        let mut circuit = Circuit::build(*arrangement, effort.flows)?;
        for forwarder in Forwarder::ALL {
            let sides: Vec<_> = [Side::Client, Side::Server]
                .into_iter()
                .filter(|from| forwarder.fits(arrangement, *from))
                .collect();
            if sides.is_empty() {
                continue;
            }
            circuit.forward_by(forwarder, weir)?;
            for from in sides {
                let cost = one(&mut circuit, forwarder, from, effort).map_err(|error| {
                    Error::Wrong(format!(
                        "{}, {}: {error}",
                        arrangement.name,
                        forwarder.text()
                    ))
                })?;
                progress(&format!(
                    "{}, {}, {}: {:.0} instructions a packet ({:.0} to {:.0})",
                    cost.arrangement,
                    if cost.upward { "up" } else { "down" },
                    forwarder.text(),
                    cost.median,
                    cost.least,
                    cost.most
                ));
                costs.push(cost);
            }
        }
    }
    Ok(costs)
}

fn one(
    circuit: &mut Circuit,
    forwarder: Forwarder,
    from: Side,
    effort: Effort,
) -> Result<Cost, Error> {
    circuit.listen(from)?;
    circuit.check_wire(from)?;
    let mut figures = Vec::new();
    let mut share: Option<f64> = None;
    for _ in 0..effort.batches {
        let run = circuit.run(from, effort.packets)?;
        figures.push(run.cost);
        share = match (share, run.share) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    circuit.check_wire(from)?;
    figures.sort_by(f64::total_cmp);
    Ok(Cost {
        arrangement: circuit.arrangement().name,
        upward: from == Side::Client,
        forwarder,
        median: median(&figures),
        least: figures.first().copied().unwrap_or(f64::NAN),
        most: figures.last().copied().unwrap_or(f64::NAN),
        share,
    })
}
