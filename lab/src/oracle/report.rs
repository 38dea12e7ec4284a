//! A mismatch, for people.

use std::fmt;

use crate::frame::Frame;
use crate::generate::{Kind, Side};
use crate::view::hex;

/// One packet sent when the routers differed.
#[derive(Clone, Debug)]
pub struct Involved {
    /// Number of the step in the workload.
    pub step: usize,
    /// Its flow.
    pub flow: usize,
    /// The side whose packet it is.
    pub side: Side,
    /// Where it was injected: `role:device`.
    pub at: String,
    /// What was done to it.
    pub kind: Kind,
    /// The frame as sent.
    pub frame: Frame,
}

/// What came out of a flow at the end of a wire, in the order sent. Identifications of the routers'
/// own packets are taken out.
#[derive(Clone, Debug)]
pub struct Differing {
    /// The side it came out at.
    pub side: Side,
    /// The end of the wire: `role:device`.
    pub at: String,
    /// Of router A.
    pub a: Vec<Frame>,
    /// Of router B.
    pub b: Vec<Frame>,
}

/// Two routers made different things of the same packets.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// Seed of the workload.
    pub seed: u64,
    /// The packets, after the opening of their flows, that it takes; before shrinking, the whole
    /// batch.
    pub steps: Vec<Involved>,
    /// By flow and wire.
    pub differing: Vec<Differing>,
    /// The packets were reduced by running them again. Otherwise it did not occur again.
    pub shrunk: bool,
    /// Why shrinking was given up, where a lab failed.
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
