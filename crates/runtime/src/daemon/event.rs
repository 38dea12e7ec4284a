//! Events: the daemon reports them to the modules.

use std::cell::Cell;

use answers::{Explanation, FlowQuery};
use datapath::{Hop, TrafficDelta};
use kernel::{SetEvent, Source};

use super::ruleset::RulesetText;
use crate::config::Effective;

/// Something that a module receives. Events come in the order in which they happen.
#[derive(Clone, Copy)]
pub enum Event<'a> {
    /// Privileges are dropped: threads that begin now have no more of them.
    Started(&'a Effective),
    /// The kernel reports a change; the packet path does not know it yet.
    Kernel(&'a kernel::Event),
    /// A batch of the kernel's events was processed, and the affected proofs have ended.
    Settled,
    /// Sets of addresses or rules changed.
    Sets(&'a [SetEvent]),
    /// The daemon requests all state from the kernel again.
    Dump(Source),
    /// The daemon begins to read the ruleset.
    RulesetReading,
    /// The ruleset, or the reason why it is unknown.
    Ruleset(Result<&'a RulesetText, &'a str>),
    /// Packets were forwarded since the last event of this kind.
    Forwarded(&'a [ForwardedFlow<'a>]),
    /// Packets of this second were reported by [`Event::Forwarded`], all of them.
    Counted,
    /// Read the counters now: a client requests them, or the counted devices are about to change.
    Count,
    /// A quarter of a second has passed.
    Tick,
    /// A second has passed. Packets forwarded during it are reported afterwards.
    Second,
    /// A user queries packets without a flow. The first answer ends the event.
    Explain(&'a FlowQuery, &'a Cell<Option<Explanation>>),
}

/// A part of the packets that a flow forwarded.
#[derive(Clone, Copy, Debug)]
pub struct ForwardedFlow<'a> {
    /// Amount of traffic, and its flow.
    pub growth: &'a TrafficDelta,
    /// Ingress device.
    pub ingress_device: Option<u32>,
    /// Last hop of the traffic.
    pub egress_hop: Option<&'a Hop>,
}
