//! The differential oracle sends identical packets through two routers. Both outputs must be equal,
//! byte for byte.
//!
//! Router A is the plain kernel; the caller turns an identical lab into router B. Both routers get
//! the workload in small batches, in lockstep. A batch has several packets of one flow only if all
//! are ordinary packets of one direction, whose order must stay. The order across flows is free.

mod bad_encapsulation;
mod compare;
mod fragments;
mod plan;
mod report;
mod rig;
mod rules;
mod run;
mod shrink;

use crate::Error;

pub use plan::{Flowtable, Plan, Report, Settle, Start, plain};
pub use report::{DifferingOutput, InvolvedStep, Mismatch};
pub use rules::Difference;
use run::run;

/// Returns the seed: WEIR_SEED from the environment, else `default`. Prints the seed, so that a
/// failed run can be repeated.
pub fn seed(default: u64) -> u64 {
    let told = std::env::var("WEIR_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = told.unwrap_or(default);
    println!("WEIR_SEED={seed}");
    seed
}

/// Runs the plan. A mismatch returns [`Error::Differs`], shrunk as far as the plan allows.
pub fn compare(plan: &Plan, start: Start) -> Result<Report, Error> {
    let workload = plan.workload();
    let opening: Vec<_> = workload.opening.iter().collect();
    let steps: Vec<_> = workload.steps.iter().collect();
    match run(plan, start, &workload, &opening, &steps, plan.batch) {
        Err(Error::Differs(found)) => Err(shrink::shrink(plan, start, &workload, *found)),
        other => other,
    }
}
