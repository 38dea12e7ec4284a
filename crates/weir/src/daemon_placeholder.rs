//! Placeholder of the daemon: has its signatures, and says that it is not here.

use std::path::PathBuf;

use crate::Error;
use crate::config::{ConfigError, Effective};

/// Reads the configuration anew.
pub type Source = Box<dyn Fn() -> Result<Effective, Vec<ConfigError>>>;

/// How `weir run` was started.
pub struct RunOptions {
    /// Where the configuration comes from, for a reload.
    pub source: Source,
    /// Where the API listens.
    pub socket: PathBuf,
    /// Let the kernel forward, and compare.
    pub shadow: bool,
}

/// Runs the daemon until it is told to stop.
pub fn run(_config: Effective, _options: RunOptions) -> Result<(), Error> {
    Err(Error::new(
        "this build has no daemon",
        "use a build that has one",
    ))
}
