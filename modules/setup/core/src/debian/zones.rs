//! Zones of the package `firewall`: groups of devices. Their meaning is that of OpenWrt's fw4
//! (package `firewall4`).

use uci::Package;

use super::network::Network;
use super::reader::{Diagnostics, Reader, sections};
use super::value;

/// Verdict about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    Accept,
    #[default]
    Reject,
    Drop,
}

impl Verdict {
    /// Returns the word of nft(8); `handle_reject` is a chain of weir.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "jump handle_reject",
            Self::Drop => "drop",
        }
    }
}

/// Policies for input, output and forwarded packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policies {
    pub input: Verdict,
    pub output: Verdict,
    pub forward: Verdict,
}

/// Reads `input`, `output` and `forward`.
pub fn policies(reader: &Reader<'_>, default: Policies) -> Policies {
    let read = |text: &str| match text.to_ascii_uppercase().as_str() {
        "ACCEPT" => Some(Verdict::Accept),
        "REJECT" => Some(Verdict::Reject),
        "DROP" => Some(Verdict::Drop),
        _ => None,
    };
    let verdict = |option, default| {
        let read = reader.one(option, read, "ACCEPT, REJECT or DROP");
        read.unwrap_or(default)
    };
    Policies {
        input: verdict("input", default.input),
        output: verdict("output", default.output),
        forward: verdict("forward", default.forward),
    }
}

/// Reads `config defaults`, and its policies.
pub fn defaults(package: &Package, ledger: &Diagnostics) -> Policies {
    let found = sections(package, ledger).find(|reader| reader.kind() == "defaults");
    // Defaults of fw4.
    let default = Policies {
        input: Verdict::Drop,
        output: Verdict::Drop,
        forward: Verdict::Drop,
    };
    found.map_or(default, |reader| policies(&reader, default))
}

/// A zone.
#[derive(Clone, Debug)]
pub struct Zone {
    pub name: String,
    pub devices: Vec<String>,
    pub policies: Policies,
    /// True to masquerade IPv4, and IPv6, that leaves by the zone.
    pub masquerades: [bool; 2],
    /// True to clamp the segment size of TCP to the path.
    pub clamps: bool,
}

impl Zone {
    /// Returns the zone's devices as a set of nft(8); `None` if the zone has no device.
    pub fn set(&self) -> Option<String> {
        let quoted: Vec<String> = self
            .devices
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect();
        (!quoted.is_empty()).then(|| format!("{{ {} }}", quoted.join(", ")))
    }
}

/// Reads the zones.
pub fn read(package: &Package, network: &Network, ledger: &Diagnostics) -> Vec<Zone> {
    let all = || sections(package, ledger).filter(|reader| reader.kind() == "zone");
    // The zones need the default policies first, without notes: notes come once.
    let default = match all().next() {
        Some(_) => {
            let quiet = Diagnostics::default();
            defaults(package, &quiet)
        }
        None => Policies::default(),
    };
    let mut zones: Vec<Zone> = Vec::new();
    for reader in all() {
        if !reader.flag("enabled", true) {
            reader.leave_out("not rendered: it is switched off");
            continue;
        }
        let expected = "a name of letters, digits and _, that no other zone has";
        let unique = |text: &str| {
            let name = value::label(text).filter(|name| name.len() <= 32)?;
            (!zones.iter().any(|zone| zone.name == name)).then_some(name)
        };
        let Some(name) = reader.one("name", unique, expected) else {
            if !reader.has("name") {
                reader.fault("name", expected);
            }
            continue;
        };
        let mut devices = reader.many("device", value::device, super::reader::DEVICE);
        for name in reader.many("network", value::label, "the name of an interface") {
            match network.interfaces.get(&name) {
                Some(found) => devices.extend(found.device.clone()),
                None => reader.note("network", format!("no interface {name}, or it is off")),
            }
        }
        devices.sort();
        devices.dedup();
        for option in [
            "subnet",
            "masq_src",
            "masq_dest",
            "family",
            "extra",
            "helper",
        ] {
            if reader.has(option) {
                reader.fault(option, "no effect: no rule is rendered from it");
            }
        }
        let zone = Zone {
            devices,
            policies: policies(&reader, default),
            masquerades: [reader.flag("masq", false), reader.flag("masq6", false)],
            clamps: reader.flag("mtu_fix", false),
            name,
        };
        reader.ignore(&[
            "subnet",
            "masq_src",
            "masq_dest",
            "family",
            "extra",
            "helper",
        ]);
        reader.end();
        zones.push(zone);
    }
    zones
}
