//! The report of `weir check`: the features that this machine has, and the problems in the way.
//!
//! Features are found by trying, not from the version: distributions backport features and remove
//! them. Devices and firewall are inspected with the daemon's own code.

mod collect;
mod devices;
mod features;
mod firewall;
mod netfilter;
mod print;
mod report;

pub use collect::{Options, collect};
pub use features::privileged;
pub use print::print;
pub use report::{Check, Feature};
