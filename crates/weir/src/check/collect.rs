//! Looks at the machine. Placeholder: the probes belong here.

use super::CheckReport;
use crate::Error;
use crate::config::Effective;

/// Looks at kernel, devices and firewall, with this configuration in mind. Changes nothing.
pub fn collect(_config: &Effective) -> Result<CheckReport, Error> {
    Err(Error::new(
        "this build cannot look at the kernel",
        "use a build that can",
    ))
}
