//! `[devices.MAC]`: settings of devices, for modules that show or judge devices.

use std::collections::BTreeMap;

use kernel::Mac;
use monitor_core::names::NameEntry;
use net::mac::{is_station, parse_short as mac};
use serde_json::Value;
use toml::de::DeValue;

use runtime::config::{Effective, FileValue, Naming, ValueError, near, table};

table! {
    /// `[devices.MAC]`: a device, by its hardware address.
    DeviceSettings {
        /// Name of the device, overriding the name that the device reports.
        Live name: LabelText = LabelText(None);
        /// Owner or location of the device.
        Live owner: LabelText = LabelText(None);
        /// Kind of the device, for its picture on the page.
        Live icon: Icon = Icon(None);
    }
}

impl DeviceSettings {
    /// Sections are named by hardware address.
    pub const NAMING: Naming = Naming {
        fits: |name| mac(name).is_some_and(|mac| is_station(&mac)),
        what: "the hardware address of a device",
        hint: "write one in quotes, such as [devices.\"02:00:5e:10:00:01\"]",
        any_case: true,
    };
}

/// A text on one line; `None`: no text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelText(pub Option<String>);

impl LabelText {
    /// Valid values, in words.
    pub const ALLOWED: &'static str = "a text in quotes, on one line, of 63 bytes at most";

    /// Parses a text; empty means no value. Text that a terminal would obey or reorder is invalid.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = monitor_core::names::text::device(text.as_bytes());
        match (text, plain) {
            ("", _) => Some(Self(None)),
            (text, Some(plain)) if plain == text => Some(Self(Some(plain))),
            _ => None,
        }
    }
}

impl FileValue for LabelText {
    const ALLOWED: &'static str = Self::ALLOWED;

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        Self::of(value.as_str().ok_or(None)?).ok_or(None)
    }

    fn show(&self) -> Value {
        self.0.as_deref().map_or(Value::Null, Value::from)
    }
}

/// An icon, by its name; `None`: no icon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Icon(pub Option<&'static str>);

impl Icon {
    /// All that there are.
    pub const WORDS: [&'static str; 14] = [
        "computer",
        "laptop",
        "phone",
        "tablet",
        "watch",
        "tv",
        "speaker",
        "console",
        "camera",
        "printer",
        "lamp",
        "appliance",
        "server",
        "router",
    ];

    /// Parses a word; an empty one means no icon.
    pub fn of(word: &str) -> Option<Self> {
        match word {
            "" | "none" => Some(Self(None)),
            word => {
                let found = Self::WORDS.into_iter().find(|known| *known == word)?;
                Some(Self(Some(found)))
            }
        }
    }
}

impl FileValue for Icon {
    const ALLOWED: &'static str = "\"computer\", \"laptop\", \"phone\", \"tablet\", \"watch\", \
        \"tv\", \"speaker\", \"console\", \"camera\", \"printer\", \"lamp\", \"appliance\", \
        \"server\", \"router\", or \"\" for none";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        let word = value.as_str().ok_or(None)?;
        Self::of(word).ok_or_else(|| near(value, word, &Self::WORDS, Self::ALLOWED))
    }

    fn show(&self) -> Value {
        self.0.map_or(Value::Null, Value::from)
    }
}

/// Label of a device, given by people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Name of the device.
    pub name: Option<String>,
    /// Owner of the device.
    pub owner: Option<String>,
    /// Kind of device: one of [`Icon::WORDS`].
    pub icon: Option<&'static str>,
}

/// Returns the labels in a configuration. If one address is written in two ways, both labels apply,
/// the first one first.
pub fn labels(effective: &Effective) -> BTreeMap<Mac, Label> {
    let mut all: BTreeMap<Mac, Label> = BTreeMap::new();
    for (address, said) in effective.named::<DeviceSettings>() {
        let Some(mac) = mac(address) else { continue };
        let label = all.entry(mac).or_default();
        label.name = label.name.take().or_else(|| said.name.0.clone());
        label.owner = label.owner.take().or_else(|| said.owner.0.clone());
        label.icon = label.icon.or(said.icon.0);
    }
    all.retain(|_, label| *label != Label::default());
    all
}

/// Returns the devices with this name in the configuration, in any case.
pub fn macs_named<'a>(effective: &'a Effective, name: &str) -> impl Iterator<Item = Mac> + 'a {
    let name = name.to_lowercase();
    let devices = effective.named::<DeviceSettings>().iter();
    devices.filter_map(move |(address, said)| {
        let own = said.name.0.as_ref()?.to_lowercase();
        mac(address).filter(|_| own == name)
    })
}

/// Returns the names in the labels.
pub fn name_entries(labels: &BTreeMap<Mac, Label>) -> Vec<NameEntry> {
    let named = labels.iter().filter(|(_, label)| label.name.is_some());
    let known = |(mac, label): (&Mac, &Label)| NameEntry {
        mac: Some(*mac),
        address: None,
        name: label.name.clone(),
    };
    named.map(known).collect()
}

#[cfg(test)]
mod tests {
    use runtime::config::{Section, parse};

    use super::*;

    #[test]
    fn a_device_that_is_written_in_two_ways_is_one() {
        let section = Section::named::<DeviceSettings>("devices", DeviceSettings::NAMING);
        let text = "[devices.\"02-00-5E-10-00-01\"]\nowner = \"Anna\"\n\
             [devices.\"02:00:5e:10:00:01\"]\nname = \"tv\"\n";
        let read = parse(&[section], text, "weir.toml").expect("good");
        let label = &labels(&read)[&[2, 0, 0x5e, 0x10, 0, 1]];
        let said = [&label.name, &label.owner].map(|text| text.as_deref());
        assert_eq!(said, [Some("tv"), Some("Anna")]);
        let group = "[devices.\"ff:ff:ff:ff:ff:ff\"]\nname = \"all\"\n";
        assert!(parse(&[section], group, "weir.toml").is_err());
    }

    #[test]
    fn what_may_be_an_icon_is_said() {
        for word in Icon::WORDS {
            assert!(<Icon as FileValue>::ALLOWED.contains(&format!("\"{word}\"")));
        }
    }
}
