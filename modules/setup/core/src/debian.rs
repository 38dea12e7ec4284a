//! Debian's services by OpenWrt's configuration: files of systemd-networkd, hostapd,
//! wpa_supplicant, dnsmasq, pppd and nftables, made of UCI packages. This module reads and writes
//! no file.
//!
//! Permitted characters of a value depend on its place. An invalid value is a [`Fault`]; an option
//! that is not rendered is a [`Note`], and nothing is left out without a note.

/// Adds a line.
macro_rules! line {
    ($text:expr, $($format:tt)+) => {{
        use std::fmt::Write as _;
        // Writing to a String never fails.
        let _ = writeln!($text, $($format)+);
    }};
}

mod addresses;
mod channel;
mod dhcp;
mod firewall;
mod hostapd;
mod links;
mod network;
mod ppp;
mod radio;
mod reader;
mod rendered;
mod rules;
mod service;
mod static_leases;
mod supplicant;
mod system;
mod tunnels;
mod value;
mod wireless;
mod zones;

use std::collections::BTreeMap;

use uci::Package;

pub use rendered::{Access, Content, Fault, Hardware, Note, Radio, RenderedFile};
pub use service::{Machine, Service, commands, is_ours};

use network::Network;
use reader::Diagnostics;

/// The packages that are rendered, in the order of OpenWrt's documentation.
pub const PACKAGES: [&str; 5] = ["network", "wireless", "dhcp", "firewall", "system"];

/// Packages of the configuration, by name. A missing one is empty.
pub type Packages = BTreeMap<String, Package>;

/// Result of rendering a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendering {
    /// All files, by path.
    pub files: Vec<RenderedFile>,
    /// Options that are not rendered.
    pub notes: Vec<Note>,
}

impl Rendering {
    /// Returns the services that have a file.
    pub fn services(&self) -> std::collections::BTreeSet<Service> {
        let paths = self.files.iter().map(|file| file.path.as_str());
        paths.filter_map(Service::of).collect()
    }
}

/// Renders packages as files.
///
/// # Errors
/// All values that do not fit where they would go.
pub fn render(packages: &Packages, facts: &Hardware) -> Result<Rendering, Vec<Fault>> {
    let ledger = Diagnostics::default();
    let empty = PACKAGES.map(|name| (name, Package::empty(name)));
    let package = |n: usize| packages.get(empty[n].0).unwrap_or(&empty[n].1);
    let mut files = Vec::new();
    let mut network = Network::read(package(0), &ledger);
    let wireless = wireless::read(package(1), facts, &mut network, &ledger);
    network.lonely(&ledger);
    wireless::render(&wireless, &mut network, &mut files);
    let zones = zones::read(package(3), &network, &ledger);
    if packages.contains_key("dhcp") {
        files.push(dhcp::render(package(2), &network, &zones, &ledger));
    }
    files.push(firewall::render(package(3), &zones, &ledger));
    if packages.contains_key("network") {
        network.render(&mut files);
    }
    system::render(package(4), &mut files, &ledger);
    let (notes, faults) = ledger.end();
    if !faults.is_empty() {
        return Err(faults);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Rendering { files, notes })
}
