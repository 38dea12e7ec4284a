//! A mismatch, for people.

use std::fmt;

use crate::generate::{Kind, Side};
use crate::view::hex;
use crate::wire::Frame;

/// One packet sent when the routers differed.
#[derive(Clone, Debug)]
pub struct Involved {
    /// Number of the step in the workload.
    pub step: usize,
    /// Its flow.
    pub flow: usize,
    /// Where it was injected.
    pub side: Side,
    /// What was done to it.
    pub kind: Kind,
    /// The frame as sent.
    pub frame: Frame,
}

/// Two routers made different things of the same packets.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// Seed of the workload.
    pub seed: u64,
    /// The packets, after the opening of their flows, that it takes; before shrinking, the whole batch.
    pub steps: Vec<Involved>,
    /// By flow, in the order sent: the side it came out at, the frames of router A and those of router B. Identifications of the
    /// routers' own packets are taken out.
    pub differing: Vec<(Side, Vec<Frame>, Vec<Frame>)>,
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
                "  step {}: {:?} of flow {}, sent at {:?}, {} octets:",
                step.step,
                step.kind,
                step.flow,
                step.side,
                step.frame.len()
            )?;
            f.write_str(&hex(&step.frame))?;
        }
        for (side, a, b) in &self.differing {
            for (name, frames) in [("A", a), ("B", b)] {
                if frames.is_empty() {
                    writeln!(f, "  router {name} sent nothing at {side:?}")?;
                }
                for frame in frames {
                    writeln!(
                        f,
                        "  router {name} sent at {side:?}, {} octets:",
                        frame.len()
                    )?;
                    f.write_str(&hex(frame))?;
                }
            }
        }
        Ok(())
    }
}
