//! Debian's services by OpenWrt's configuration: files of systemd-networkd, hostapd,
//! wpa_supplicant, dnsmasq, pppd and nftables, made of UCI packages. Nothing here reads or writes a
//! file.
//!
//! What a value may hold depends on where it goes. A value that does not fit is a [`Fault`]; what
//! this back end does not render is a [`Note`], and nothing is left out without one.

/// Adds a line.
macro_rules! line {
    ($text:expr, $($format:tt)+) => {{
        use std::fmt::Write as _;
        // A String takes whatever is written into it.
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
mod reader;
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
use std::fmt;

use uci::Package;

pub use service::{Machine, Service, commands, is_ours};

use network::Network;
use reader::Ledger;

/// The packages that are rendered, in the order of OpenWrt's documentation.
pub const PACKAGES: [&str; 5] = ["network", "wireless", "dhcp", "firewall", "system"];

/// What the configuration says: the packages, by name. One that is not there says nothing.
pub type Packages = BTreeMap<String, Package>;

/// What the machine has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its radios.
    pub radios: Vec<Radio>,
}

/// A radio, as the kernel names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Radio {
    /// `phy0`.
    pub phy: String,
    /// Its device, `wlan0`.
    pub device: String,
    /// Where it is plugged in, below `/sys/devices`: what `option path` of a `wifi-device` ends in.
    pub path: String,
    /// `02:00:00:00:00:00`.
    pub mac: String,
}

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody: 0644.
    All,
    /// Root: 0600.
    Root,
    /// Root and the group `systemd-network`, without whose rights networkd cannot read it: 0640.
    Network,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A file.
    Text(String),
    /// A symbolic link.
    Link(String),
}

/// A file as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Where, relative to the root of the file system.
    pub path: String,
    /// What is in it.
    pub content: Content,
    /// Who may read it.
    pub access: Access,
}

impl Rendered {
    /// What is in it, without secrets: for people to look at.
    pub fn shown(&self) -> String {
        let text = match &self.content {
            Content::Link(to) => return format!("-> {to}\n"),
            Content::Text(text) => text,
        };
        let mut shown = String::new();
        for line in text.lines() {
            let key = line.trim_start();
            let key = &key[..key.find([' ', '=']).unwrap_or(key.len())];
            match SECRETS.contains(&key) {
                true => line!(shown, "{key} (secret)"),
                false => line!(shown, "{line}"),
            }
        }
        shown
    }
}

/// The words before what nobody is to see.
const SECRETS: [&str; 9] = [
    "PrivateKey",
    "PresharedKey",
    "password",
    "wpa_passphrase",
    "wpa_psk",
    "psk",
    "sae_password",
    "r0kh",
    "r1kh",
];

/// A value that cannot be rendered: what it is, and what it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// `network.wan.username`.
    pub at: String,
    /// What is expected there.
    pub expected: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}", self.at, self.expected)
    }
}

/// Something that this back end does not render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `network.lan.igmp_snooping`.
    pub at: String,
    /// Why, or what is done instead.
    pub what: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

/// What becomes of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// All files, by path.
    pub files: Vec<Rendered>,
    /// What is not in them.
    pub notes: Vec<Note>,
}

impl Outcome {
    /// The services that have a file.
    pub fn services(&self) -> std::collections::BTreeSet<Service> {
        let paths = self.files.iter().map(|file| file.path.as_str());
        paths.filter_map(Service::of).collect()
    }
}

/// Makes files of packages.
///
/// # Errors
/// All values that do not fit where they would go.
pub fn render(packages: &Packages, facts: &Facts) -> Result<Outcome, Vec<Fault>> {
    let ledger = Ledger::default();
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
    Ok(Outcome { files, notes })
}

/// The first line of every file.
const HEAD: &str = "# Made by `weir setup`; what is written here by hand is lost.\n";

/// A file of text.
fn file(path: String, access: Access, text: &str) -> Rendered {
    Rendered {
        path,
        content: Content::Text(format!("{HEAD}{text}")),
        access,
    }
}
