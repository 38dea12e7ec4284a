//! Cached drops: what weir drops early because netfilter, or a route, does.

use serde::{Deserialize, Serialize};

use crate::offload::{Endpoints, Protocol};

/// Answer to `GET /v1/drops`. Of many prefixes and tuples only the busiest are told, see the
/// counters for the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// Learned from the kernel.
    pub learned: LearnedDrops,
    /// nftables sets that the configuration names.
    pub sets: Vec<DropSet>,
    /// Blackhole, unreachable and prohibit routes.
    pub routes: DropRoutes,
}

/// Whether something drops, and why not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropState {
    /// It does.
    pub active: bool,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What was learned from netfilter's drops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedDrops {
    /// Whether drops are learned.
    #[serde(flatten)]
    pub state: DropState,
    /// Packets dropped since the start.
    pub dropped: u64,
    /// Tuples known that netfilter drops.
    pub known: u32,
    /// Of these, dropped by weir now.
    pub cached: u32,
    /// Room for tuples.
    pub capacity: u32,
    /// Tuples that found no room.
    pub crowded: u64,
    /// The busiest.
    pub tuples: Vec<LearnedDrop>,
}

/// One 5-tuple that netfilter drops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedDrop {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// As its packets come in.
    #[serde(flatten)]
    pub endpoints: Endpoints,
    /// Name of the device at which they come in.
    pub device: String,
    /// Weir drops them now; else the kernel does, and weir counts.
    pub cached: bool,
    /// Packets that weir dropped.
    pub dropped: u64,
    /// Packets let through as samples.
    pub sampled: u64,
    /// Packets let through since the row of drops began…
    pub tried: u64,
    /// … and how many of them netfilter was seen to drop.
    pub confirmed: u64,
}

/// A set of sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropSet {
    /// Family, table and name.
    pub name: String,
    /// Whether packets are dropped by it.
    #[serde(flatten)]
    pub state: DropState,
    /// Prefixes in it.
    pub prefixes: u64,
    /// Elements that are left to the kernel.
    pub left_out: u64,
    /// Packets that weir dropped by it.
    pub dropped: u64,
    /// Packets let through as samples.
    pub sampled: u64,
    /// Packets from it that netfilter was seen to drop; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<u64>,
    /// The busiest.
    pub busiest: Vec<DropPrefix>,
}

/// Routes that drop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropRoutes {
    /// Whether packets are dropped by them.
    #[serde(flatten)]
    pub state: DropState,
    /// Prefixes that routes drop, without the holes in them.
    pub prefixes: u64,
    /// Packets that weir dropped by them.
    pub dropped: u64,
    /// The busiest.
    pub busiest: Vec<DropPrefix>,
}

/// A prefix, with what happened under it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropPrefix {
    /// `192.0.2.0/24`.
    pub prefix: String,
    /// Packets that weir dropped.
    pub dropped: u64,
    /// Packets let through as samples.
    pub sampled: u64,
}

/// Packets dropped early, in [`Status`](crate::Status).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropCounts {
    /// As netfilter was seen to do.
    pub learned: u64,
    /// By a set of sources.
    pub sets: u64,
    /// By a route.
    pub routes: u64,
}

impl DropCounts {
    /// All together.
    pub fn all(&self) -> u64 {
        self.learned
            .saturating_add(self.sets)
            .saturating_add(self.routes)
    }
}
