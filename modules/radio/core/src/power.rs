//! An access point that sends no louder than necessary leaves air for others. Only the stations can
//! show the necessary power: by the frames that arrive.
//!
//! - [`Reading`]: the kernel's counters of each station, and [`Tally`]: the effect of one power
//!   over a while, from the differences of two readings.
//! - [`Controller`]: weir's own search. It compares a tally with one of another power only after
//!   frames queued at that power have been sent.
//! - [`StationControllers`]: a search for each station, if a driver has a power per station.
//! - [`Predecessor`]: the earlier logic, unchanged, for comparison.
//! - [`Log`]: each step with its reason, as lines, as JSON and as a plot.

mod controller;
mod levels;
mod log;
mod per_station;
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
pub use levels::{NoPowers, PowerLevels};
pub use log::{Entry, Log, Reason};
pub use per_station::StationControllers;
pub use plot::plot;
pub use predecessor::Predecessor;
pub use prior::{DamagedPriors, Prior, Priors};
pub use reading::{Counters, Mac, Reading, Station};
pub use settings::Settings;
pub use tally::{Estimate, Tally, Verdict};
