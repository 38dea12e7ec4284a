//! What the daemon answers. Every type is one JSON object; field names are the interface and are
//! only ever added to.
//!
//! Counters start at 0 when the daemon starts and only rise. *Packets* are IP packets as the fast
//! path saw them; *bytes* count from the first byte of the IP header, so link-layer headers and
//! padding are not in them. Only those of a [`Port`] are what a device counts.

mod drops;
mod flow;
mod monitor;
mod paths;
mod probes;
mod settings;
mod status;
mod tables;

pub use drops::{
    DropCounts, DropPrefix, DropRoutes, DropSet, DropState, Drops, LearnedDrop, LearnedDrops,
};
pub use flow::{
    Bridged, Direction, Directions, Endpoints, Explanation, Flow, FlowId, FlowList, FlowState,
    Hook, Protocol, Reason, Translated, TtlRange, Witness, WitnessName,
};
pub use monitor::{
    Count, Device, Devices, History, Latency, Metered, MeteredPort, Part, Period, QuotaState, Rate,
    Talk, Talks, Wifi,
};
pub use paths::{Carriage, Forward, PartnerState, Path, PathUse, Paths, PathsStatus, Twin};
pub use probes::{Probe, ProbeKind, ProbeRecord, Probes};
pub use settings::{Config, ConfigChange, ConfigEntry, Reloaded};
pub use status::{
    EachPacket, FamilyFlows, FlowCounts, Heartbeat, HopCounts, Mode, PacketCounts, RuleCost,
    ShadowCounts, Status,
};
pub use tables::{Hop, Port, PortLimit, PortStack, PortUse, Traffic};
