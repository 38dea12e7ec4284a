//! `[multipath]` and `[multipath.paths.NAME]`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use kernel::Prefix;
use multipath_core::hints::{Hint, Hints, Use};
use multipath_core::{Clients, Encrypt, Forward, Pairing, PairingError, Ports, TrafficPolicy};
use toml::de::DeValue;

use runtime::config::{DeviceName, Form, Origin, Rate, Section, ValueError, list, table, words};

/// Sections of this module in the configuration.
pub const SECTIONS: [Section; 2] = [
    Section::of::<Multipath>("multipath"),
    Section::named::<PathSettings>("multipath.paths", DeviceName::NAMING),
];

table! {
    /// `[multipath]`: clients get the sum of all uplinks, by way of a partner.
    Multipath {
        /// Partner through which clients get the sum of all uplinks: the line that `weir multipath
        /// pair` printed there. Keep this file secret.
        Live partner: Option<Pairing> as PARTNER = None;
        /// Other partners, used while the first is not reached: lines like that of `partner`.
        Live standby: Vec<Pairing> as STANDBY = Vec::new();
        /// Treatment of connections while the partner is not reached: "direct" sends them directly,
        /// "stop" blocks them.
        Live fallback: Fallback = Fallback::Direct;
        /// Move traffic other than TCP that began directly, while the tunnel was down, into the
        /// tunnel as soon as it is up. The address of the traffic changes.
        Live returns: bool = true;
        /// Encryption on the way to the partner: "all" encrypts each connection, so that no
        /// provider sees server names in TLS; "auto" encrypts all but TLS, for less work; "none"
        /// encrypts nothing.
        Live encrypt: Encrypt as ENCRYPT = Encrypt::default();
        /// Lifetime of the keys of a session with the partner. A new session is made before the old
        /// one ends, without interruption.
        Live renew: Duration = Duration::from_secs(3600), Duration::from_secs(2) =>
            Duration::from_secs(86_400);
        /// Networks that are reached directly, in addition to private ones.
        Live direct: Vec<Prefix> as NETWORKS = Vec::new();
        /// Destination ports that are reached directly.
        Live direct_ports: Vec<Ports> as PORTS = Vec::new();
        /// Clients that reach everything directly, by MAC address, address or network.
        Live direct_devices: Vec<Clients> as CLIENTS = Vec::new();
        /// Destinations in the LAN of the partner's ports that lead to this router.
        Live forward: Vec<Forward> as FORWARDS = Vec::new();
    }
}

table! {
    /// `[multipath.paths.NAME]`: hints about a path.
    PathSettings {
        /// Use of the uplink; NAME is its device. "metered": only while no uplink with "always"
        /// works; "backup": only while no other uplink works; "never": not as a path.
        Live used as "use": Use as USE = Use::default();
        /// Share of new conversations other than TCP, in percent of the share that the uplink's
        /// rate alone would give.
        Live weight: u8 = Hint::default().weight, 1 => 100;
        /// Largest rate of traffic other than TCP to the partner; "none": determined automatically.
        Live up: Option<Rate> = None;
        /// Largest rate of traffic other than TCP from the partner; "none": determined
        /// automatically.
        Live down: Option<Rate> = None;
    }
}

impl Multipath {
    /// Returns the partners, in the order in which they are tried; empty: none configured.
    pub fn pairings(&self) -> Vec<Pairing> {
        let Some(first) = &self.partner.value else {
            return Vec::new();
        };
        let others = self.standby.value.iter().filter(|it| *it != first);
        std::iter::once(first).chain(others).cloned().collect()
    }

    /// Returns a problem of the standby partners, and its remedy.
    pub fn doubts(&self) -> Option<(&'static str, &'static str)> {
        let (first, others) = (&self.partner.value, &self.standby.value);
        match first {
            None if !others.is_empty() => Some((
                "`standby` is set without `partner`: multipath does not run",
                "move the first line of `standby` to `partner`",
            )),
            Some(first) if others.contains(first) => Some((
                "`standby` also has the line of `partner`, which cannot take over from itself",
                "pair with another partner, and put its line there",
            )),
            _ => None,
        }
    }

    /// Returns the rules of direct traffic and forwarded ports.
    pub fn choice(&self) -> TrafficPolicy {
        TrafficPolicy {
            networks: self.direct.value.clone(),
            ports: self.direct_ports.value.clone(),
            clients: self.direct_devices.value.clone(),
            forwards: self.forward.value.clone(),
        }
    }

    /// Returns the file with the partner's secret, and its mode, if others can read it.
    pub fn exposed(&self) -> Option<(&str, u32)> {
        let Origin::File { name, .. } = &self.partner.origin else {
            return None;
        };
        self.partner.as_ref()?;
        let mode = fs::metadata(name).ok()?.permissions().mode() & 0o777;
        (mode & 0o044 != 0).then_some((name, mode))
    }
}

/// Returns the hints about paths, by device.
pub fn hints(paths: &BTreeMap<String, PathSettings>) -> Hints {
    let hint = |(name, path): (&String, &PathSettings)| {
        let hint = Hint {
            used: *path.used,
            weight: *path.weight,
            up: path.up.map(|rate| rate.0),
            down: path.down.map(|rate| rate.0),
        };
        (name.clone(), hint)
    };
    paths.iter().map(hint).collect()
}

/// Treatment of connections while the partner is not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// Connections go by the best uplink.
    #[default]
    Direct,
    /// Connections wait: all traffic leaves by the partner.
    Stop,
}

/// Parses a pairing line. The line is a secret: errors do not show it.
fn line(value: &DeValue<'_>) -> Result<Pairing, Option<ValueError>> {
    let wrong = |what: String| ValueError {
        what,
        hint: "copy the whole line that `weir multipath pair ADDRESS` prints at the partner"
            .to_owned(),
    };
    match value.as_str().map(str::parse) {
        Some(Ok(pairing)) => Ok(pairing),
        Some(Err(error)) => {
            let error: PairingError = error;
            Err(Some(wrong(format!("is not a valid line: {error}"))))
        }
        None => Err(Some(wrong("has to be text in quotes".to_owned()))),
    }
}

const PARTNER: Form<Option<Pairing>> = Form {
    allowed: "\"none\", or the line that `weir multipath pair ADDRESS` printed at the partner, in quotes",
    read: |value, _| match value.as_str() {
        Some("none") => Ok(None),
        _ => line(value).map(Some),
    },
    // Without the secret: `weir config` and the API show it to all their users.
    show: |partner| match partner {
        Some(pairing) => pairing.redacted().into(),
        None => "none".into(),
    },
};

const STANDBY: Form<Vec<Pairing>> = Form {
    allowed: "a list of lines that `weir multipath pair ADDRESS` printed at partners, each in quotes",
    read: |value, _| {
        let lines = value.as_array().ok_or(None)?;
        let read = lines.iter().map(|value| line(value.get_ref()));
        let read: Vec<_> = read.collect::<Result<_, _>>()?;
        for (place, pairing) in read.iter().enumerate() {
            if read[..place].contains(pairing) {
                return Err(Some(ValueError {
                    what: format!("has the line of {} twice", pairing.redacted()),
                    hint: "remove one of them".to_owned(),
                }));
            }
        }
        Ok(read)
    },
    // As for a single partner.
    show: |all| all.iter().map(Pairing::redacted).collect(),
};

const NETWORKS: Form<Vec<Prefix>> = Form::list(
    "a list of networks, each in quotes, such as [\"198.51.100.0/24\", \"2001:db8::/32\"]",
);

const PORTS: Form<Vec<Ports>> = Form::list(
    "a list of ports, each with its protocol and in quotes, such as [\"tcp/25\", \"udp/5060-5090\"]",
);

const CLIENTS: Form<Vec<Clients>> = Form::list(
    "a list of MAC addresses, addresses and networks of clients, each in quotes, such as \
     [\"02:00:5e:10:00:07\", \"192.168.1.7\", \"192.168.2.0/24\"]",
);

const FORWARDS: Form<Vec<Forward>> = Form {
    allowed: "a list of the partner's ports and where they lead, each in quotes, such as \
        [\"tcp/8022 = 192.168.1.2:22\", \"udp/8000-8099 = 192.168.1.3\"]",
    read: |value, allowed| {
        let read: Vec<Forward> = list(value, allowed, |text| text.parse().ok())?;
        for (place, forward) in read.iter().enumerate() {
            let same = |other: &&Forward| {
                other.ports.overlap(&forward.ports)
                    && other.host.is_ipv4() == forward.host.is_ipv4()
            };
            if let Some(other) = read[..place].iter().find(same) {
                return Err(Some(ValueError {
                    what: format!("has \"{other}\" and \"{forward}\", which overlap"),
                    hint: "let each port lead to one host".to_owned(),
                }));
            }
        }
        Ok(read)
    },
    show: |all| all.iter().map(ToString::to_string).collect(),
};

words!(const ENCRYPT: Encrypt, "\"auto\", \"all\" or \"none\"",
    "auto" => Encrypt::Auto, "all" => Encrypt::All, "none" => Encrypt::None);
words!(const USE: Use, "\"always\", \"metered\", \"backup\" or \"never\"",
    "always" => Use::Always, "metered" => Use::Metered, "backup" => Use::Backup,
    "never" => Use::Never);
words!(Fallback, "\"direct\" or \"stop\"", "direct" => Self::Direct, "stop" => Self::Stop);
