//! All keys: one table, from which the file is read, the effective configuration shown and the manual written.

mod sections;

use api::{Config, ConfigEntry};
use serde_json::Value;
use toml::de::DeValue;

pub(super) use self::sections::{HINT, PORT, QUOTA, SECTIONS};
use super::settings::{Effective, Origin, Setting};
use super::values::{FileValue, Wrong};

/// One key of a section, which is kept in a type `S`.
pub(super) struct Key<S: 'static> {
    pub(super) name: &'static str,
    pub(super) read: fn(&mut S, &DeValue<'_>, Origin) -> Result<(), Wrong>,
    show: fn(&S) -> (Value, &Origin),
    allowed: &'static str,
    about: &'static str,
}

fn set<T: FileValue>(
    setting: &mut Setting<T>,
    value: &DeValue<'_>,
    origin: Origin,
) -> Result<(), Wrong> {
    *setting = Setting {
        value: T::from_file(value)?,
        origin,
    };
    Ok(())
}

/// Name of the section that holds one table a device.
pub(super) const PORTS: &str = "ports";
/// Name of the section that holds one table for each uplink of which something is said.
pub(super) const HINTS: &str = "multipath.paths";
/// Name of the section that holds one table for each device that has a quota.
pub(super) const QUOTAS: &str = "quotas";

/// What the manual says of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyHelp {
    /// Section: `offload`, or `ports.NAME`.
    pub section: &'static str,
    /// Key in it.
    pub name: &'static str,
    /// What it does, one sentence or two.
    pub about: &'static str,
    /// What can be written, in words.
    pub allowed: &'static str,
    /// What it is when nothing is written.
    pub default: Value,
}

/// Every key, in the order of the manual.
pub fn help() -> Vec<KeyHelp> {
    fn of<S: Default>(
        section: &'static str,
        keys: &'static [Key<S>],
    ) -> impl Iterator<Item = KeyHelp> {
        keys.iter().map(move |key| KeyHelp {
            section,
            name: key.name,
            about: key.about,
            allowed: key.allowed,
            default: (key.show)(&S::default()).0,
        })
    }
    let mut all = Vec::new();
    for (section, keys) in &SECTIONS {
        all.extend(of(section, keys));
        match *section {
            "offload" => all.extend(of("ports.NAME", &PORT)),
            "multipath" => all.extend(of("multipath.paths.NAME", &HINT)),
            _ => {}
        }
    }
    all.extend(of("quotas.NAME", &QUOTA));
    all
}

impl Effective {
    /// As `GET /v1/config` answers it.
    pub fn to_api(&self) -> Config {
        Config {
            entries: self.entries(),
        }
    }

    /// Every key with its value and its origin, in the order of the manual.
    pub fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |key: String, (value, origin): (Value, &Origin)| ConfigEntry {
            key,
            value,
            origin: origin.to_string(),
        };
        let mut entries = Vec::new();
        for (section, keys) in &SECTIONS {
            entries.extend(
                keys.iter()
                    .map(|key| entry(format!("{section}.{}", key.name), (key.show)(self))),
            );
            if *section == "offload" {
                for (name, settings) in &self.ports {
                    entries.extend(
                        PORT.iter().map(|key| {
                            entry(named_key(PORTS, name, key.name), (key.show)(settings))
                        }),
                    );
                }
            }
            if *section == "multipath" {
                for (name, settings) in &self.multipath.paths {
                    entries.extend(
                        HINT.iter().map(|key| {
                            entry(named_key(HINTS, name, key.name), (key.show)(settings))
                        }),
                    );
                }
            }
        }
        for (name, settings) in &self.quotas {
            entries.extend(
                QUOTA
                    .iter()
                    .map(|key| entry(named_key(QUOTAS, name, key.name), (key.show)(settings))),
            );
        }
        entries
    }
}

/// Dotted key of a setting in a table of a device's; the name is quoted where TOML wants it quoted (`ports."eth0.10".hook`).
pub(super) fn named_key(section: &str, device: &str, key: &str) -> String {
    let bare = !device.is_empty()
        && device
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if bare {
        format!("{section}.{device}.{key}")
    } else {
        format!("{section}.{}.{key}", Value::from(device))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_listed_once() {
        let help = help();
        assert_eq!(help.len(), 56);
        let entries = Effective::default().entries();
        assert_eq!(entries.len(), 47, "no device has settings of its own");
        assert!(
            entries
                .iter()
                .all(|entry| entry.origin == "default" && !entry.value.is_null())
        );
        for entry in entries {
            let (section, name) = entry.key.rsplit_once('.').expect("dotted");
            let found = help
                .iter()
                .find(|key| key.section == section && key.name == name)
                .expect("in the manual");
            assert_eq!(found.default, entry.value);
        }
    }

    #[test]
    fn odd_names_are_quoted() {
        assert_eq!(named_key(PORTS, "eth0", "hook"), "ports.eth0.hook");
        assert_eq!(
            named_key(PORTS, "eth0.10", "hook"),
            "ports.\"eth0.10\".hook"
        );
    }
}
