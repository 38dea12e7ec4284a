//! Tools that measure weir: `weir bench`, `bench` and `demo`. docs/performance.md explains how to
//! read the figures.

pub mod cable;
pub mod changes;
pub mod circuit;
pub mod daemon;
pub mod daily;
pub mod day;
pub mod error;
pub mod gate;
pub mod load;
pub mod local;
pub mod machine;
pub mod many_flows;
pub mod meter;
pub mod meter_daemon;
pub mod meter_offload;
pub mod meter_path;
pub mod monitor_loss;
pub mod multipath;
pub mod path;
pub mod paths;
pub mod port_equation;
pub mod portal;
pub mod programs;
pub mod radio;
pub mod record;
pub mod redirects;
pub mod remote;
pub mod report;
pub mod rounds;
pub mod soak;
pub mod traffic;
pub mod trust;
pub mod verdict;
pub mod verifier;

pub use error::Error;
pub use lab::{asked_to_end, end_gently};

/// Removes the leftovers of a bench that was killed.
///
/// # Errors
/// The kernel refuses.
pub fn sweep() -> Result<(), Error> {
    lab::sweep()?;
    Ok(())
}
