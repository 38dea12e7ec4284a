//! The packet path: loads `bpf/`, owns its maps, and holds all of weir's unsafe code.
//!
//! [`Datapath`] is the daemon's interface: the daemon installs flows ([`Datapath::install`]), ends
//! their proofs ([`Heartbeat::invalidate_all`], [`Datapath::invalidate`],
//! [`Datapath::invalidate_hops`]), attaches programs to devices ([`Datapath::attach`]) and reads
//! counters. Only the programs of `bpf/` decide if a packet is forwarded.

#[cfg(feature = "bench")]
pub mod bench;
mod bridge;
pub mod cable;
mod capture;
mod clock;
mod control;
mod drops;
mod error;
mod heartbeat;
mod hook;
mod hops;
mod ingress;
pub mod libbpf_log;
mod load;
mod mapped;
pub mod meter;
mod netfilter;
pub mod object;
mod path;
mod port;
pub mod probe;
pub mod process;
mod program;
pub mod recorder;
mod ring;
mod run;
mod sizes;
mod table;
mod tcx;
mod timing;
mod traffic;
mod translate;
mod try_load;
pub mod tun;
mod view;

/// The generated loader, with the types of the C headers.
#[allow(clippy::all, missing_docs, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/weir.skel.rs"));
}

/// Numbers of the C headers, under their C names.
#[allow(
    dead_code,
    missing_docs,
    unused_parens,
    reason = "as C has them; which ones Rust needs is seen where it does"
)]
mod headers {
    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}

/// Reasons, shared with the C side.
mod reason {
    include!(concat!(env!("OUT_DIR"), "/reason.rs"));
}

pub use bridge::Bridges;
pub use capture::{
    Capture, CaptureCounts, CaptureEnd, CaptureFilter, CapturedPacket, Captures,
    OCTETS as CAPTURE_OCTETS, Side,
};
pub use drops::{
    DROP_PREFIXES, DropCount, DropEntry, DropKinds, DropList, Drops, Learned, LearnedTotals,
    ListedTotals,
};
pub use error::Error;
pub use heartbeat::Heartbeat;
pub use hook::Hook;
pub use hops::{Hop, MAX as HOPS};
pub use ingress::{Encapsulation, Ingress, Tag};
pub use load::Options;
pub use netfilter::{NetfilterProgram, netfilter_programs};
pub use path::Datapath;
pub use port::{Port, STACK_PPP, Tagger, VLAN_MACS};
pub use program::TC_PROGRAMS;
pub use reason::Reason;
pub use run::SkbFields;
pub use sizes::Sizes;
pub use table::{PAIRS, Reading};
pub use tcx::foreign_tcx;
pub use timing::{RoundTrip, TIMERS};
pub use traffic::TrafficDelta;
pub use translate::FlowEndpoints;
pub use try_load::try_load;
pub use view::{Difference, FlowDirection, Totals};
