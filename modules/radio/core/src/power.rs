//! Who sends no louder than he must leaves air for others. How loud that is only the stations can
//! tell: by what arrives.
//!
//! - [`Reading`]: what the kernel counts of each station, and [`Tally`]: what one power did in a
//!   while, from the differences of two readings.
//! - [`Controller`]: weir's own search. It never compares a tally with one of another power before
//!   what was queued at that has gone.
//! - [`Each`]: one of these for each station, where a driver sends to each with a power of its own.
//! - [`Predecessor`]: the logic that was before it, as it was, to be measured beside it.
//! - [`Log`]: what was tried, and why, as lines, as JSON and as a picture.

mod controller;
mod each;
mod ladder;
mod log;
mod plot;
mod predecessor;
mod prior;
mod reading;
mod settings;
mod stations;
mod tally;

#[cfg(test)]
mod tests;

pub use controller::Controller;
pub use each::Each;
pub use ladder::{Ladder, NoLadder};
pub use log::{Entry, Log, Reason};
pub use plot::plot;
pub use predecessor::Predecessor;
pub use prior::{DamagedPriors, Prior, Priors};
pub use reading::{Counters, Mac, Reading, Station};
pub use settings::Settings;
pub use tally::{Estimate, Tally, Verdict};
