//! Detection of the uplink: requests and answers.

mod answer;
pub mod command;
pub mod detection;

use ::detect::Network;

pub use answer::{answer, evidence};

use super::config::Setup;
use super::interfaces::Interfaces;
use runtime::Error;
use runtime::uplink::{Found, ProbeOptions, devices, run};

/// Returns the port, and the networks of the LAN: the given ones, otherwise those of the
/// configuration.
///
/// # Errors
/// No port is given or configured.
pub fn choose(
    port: Option<String>,
    lan: Option<Network>,
    setup: &Setup,
) -> Result<(String, Vec<Network>), Error> {
    let configured = Interfaces::read(&setup.root, &setup.changes);
    let Some(port) = port.or(configured.wan) else {
        let root = setup.root.display();
        let what = format!("no uplink port found: {root} has no network.wan.device");
        return Err(Error::new(what, devices()?));
    };
    Ok((port, lan.or(configured.lan).into_iter().collect()))
}
