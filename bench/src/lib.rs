//! Tools that measure weir: `weir bench`, `bench` and `demo`. docs/performance.md explains how to
//! read the figures.

pub mod books;
pub mod cable;
pub mod changes;
pub mod circuit;
pub mod closed;
pub mod crowd;
pub mod daemon;
pub mod daily;
pub mod day;
pub mod error;
pub mod gate;
pub mod lemon;
pub mod load;
pub mod machine;
pub mod meter;
pub mod meter_daemon;
pub mod meter_offload;
pub mod meter_path;
pub mod multipath;
pub mod path;
pub mod paths;
pub mod portal;
pub mod programs;
pub mod radio;
pub mod record;
pub mod redirects;
pub mod report;
pub mod rounds;
pub mod soak;
pub mod traffic;
pub mod trust;
pub mod verdict;
pub mod verifier;
pub mod wires;

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
