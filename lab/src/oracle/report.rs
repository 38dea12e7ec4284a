//! Human-readable report of a mismatch.

use std::fmt;

use crate::frame::Frame;
use crate::generate::{Kind, Side};
use crate::view::hex;

/// A packet sent when the routers differed.
#[derive(Clone, Debug)]
pub struct InvolvedStep {
    /// Number of the step in the workload.
    pub step: usize,
    /// Flow of the packet.
    pub flow: usize,
    /// Side that the packet belongs to.
    pub side: Side,
    /// Injection point: `role:device`.
    pub at: String,
    /// Change to the packet.
    pub kind: Kind,
    /// The frame as sent.
    pub frame: Frame,
}

/// Frames of a flow at the end of a wire, in the order sent. The identifications of the routers'
/// own packets are zeroed.
#[derive(Clone, Debug)]
pub struct DifferingOutput {
    /// Side of the wire's end.
    pub side: Side,
    /// The end of the wire: `role:device`.
    pub at: String,
    /// Frames of router A.
    pub a: Vec<Frame>,
    /// Frames of router B.
    pub b: Vec<Frame>,
}

/// Different outputs of two routers for identical packets.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// Seed of the workload.
    pub seed: u64,
    /// Packets, after the opening of their flows, that cause the mismatch. Before shrinking: the
    /// whole batch.
    pub steps: Vec<InvolvedStep>,
    /// Differences by flow and wire.
    pub differing: Vec<DifferingOutput>,
    /// True if smaller runs repeated the mismatch; false if the mismatch did not occur again.
    pub shrunk: bool,
    /// Error of the lab that ended shrinking early.
    pub trouble: Option<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.shrunk { "shrunk" } else { "not shrunk" };
        writeln!(f, "the routers differ (WEIR_SEED={}, {how})", self.seed)?;
        if let Some(trouble) = &self.trouble {
            writeln!(f, "  while shrinking: {trouble}")?;
        }
        for step in &self.steps {
            writeln!(
                f,
                "  step {}: {:?} of flow {}, of the {:?}, sent at {}, {} bytes:",
                step.step,
                step.kind,
                step.flow,
                step.side,
                step.at,
                step.frame.len()
            )?;
            f.write_str(&hex(&step.frame))?;
        }
        for found in &self.differing {
            for (name, frames) in [("A", &found.a), ("B", &found.b)] {
                if frames.is_empty() {
                    writeln!(f, "  router {name} sent nothing to {}", found.at)?;
                }
                for frame in frames {
                    writeln!(
                        f,
                        "  router {name} sent to {}, {} bytes:",
                        found.at,
                        frame.len()
                    )?;
                    f.write_str(&hex(frame))?;
                }
            }
        }
        Ok(())
    }
}
