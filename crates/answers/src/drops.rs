//! Cached drops: packets that weir drops early because netfilter, or a route, drops them.

use serde::{Deserialize, Serialize};

use crate::offload::{Endpoints, Protocol};

/// Answer to `GET /v1/drops`. Lists only the busiest prefixes and tuples; the counters include all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// Learned from the kernel.
    pub learned: LearnedDrops,
    /// nftables sets that the configuration names.
    pub sets: Vec<DropSet>,
    /// Blackhole, unreachable and prohibit routes.
    pub routes: DropRoutes,
}

/// State of a source of drops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropState {
    /// True if weir drops packets for this source.
    pub active: bool,
    /// Reason why weir does not drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Drops learned from netfilter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedDrops {
    /// State of learning.
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
    /// Tuples that the full table could not take.
    pub crowded: u64,
    /// The busiest tuples.
    pub tuples: Vec<LearnedDrop>,
}

/// A 5-tuple that netfilter drops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedDrop {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Addresses and ports of the packets as they come in.
    #[serde(flatten)]
    pub endpoints: Endpoints,
    /// Name of the device at which they come in.
    pub device: String,
    /// True if weir drops the packets now; else the kernel drops them, and weir counts.
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
    /// State of the set.
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
    /// Packets from the set seen dropped by netfilter; absent if the kernel does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<u64>,
    /// The busiest prefixes.
    pub busiest: Vec<DropPrefix>,
}

/// Routes that drop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropRoutes {
    /// State of drops by routes.
    #[serde(flatten)]
    pub state: DropState,
    /// Prefixes that routes drop, without the holes in them.
    pub prefixes: u64,
    /// Packets that weir dropped by them.
    pub dropped: u64,
    /// The busiest prefixes.
    pub busiest: Vec<DropPrefix>,
}

/// A prefix and its counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropPrefix {
    /// Prefix, such as `192.0.2.0/24`.
    pub prefix: String,
    /// Packets that weir dropped.
    pub dropped: u64,
    /// Packets let through as samples.
    pub sampled: u64,
}

/// Packets dropped early, in [`Status`](crate::Status).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropCounts {
    /// Dropped because netfilter was seen to drop such packets.
    pub learned: u64,
    /// Dropped by a set of sources.
    pub sets: u64,
    /// Dropped by a route.
    pub routes: u64,
}

impl DropCounts {
    /// Returns the sum of all drops.
    pub fn all(&self) -> u64 {
        self.learned
            .saturating_add(self.sets)
            .saturating_add(self.routes)
    }
}
