//! `[devices.MAC]`: what the configuration says of devices, for whoever shows or judges them.

use kernel::Mac;
use monitor::names::{Known, mac};
use serde_json::Value;
use toml::de::DeValue;

use super::section::table;
use super::{Effective, FileValue, Naming, Wrong};

table! {
    /// `[devices.MAC]`: a device, by its hardware address.
    DeviceSettings {
        /// What it is called, whatever it calls itself.
        Live name: Called = Called(None);
    }
}

impl DeviceSettings {
    /// By hardware address.
    pub const NAMING: Naming = Naming {
        fits: |name| mac(name).is_some(),
        what: "the hardware address of a device",
        hint: "write one in quotes, such as [devices.\"02:00:5e:10:00:01\"]",
        any_case: true,
    };
}

/// A name on one line, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Called(pub Option<String>);

impl FileValue for Called {
    const ALLOWED: &'static str = "a name in quotes, on one line, of 63 bytes at most";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        let text = value.as_str().ok_or(None)?.trim();
        // What a terminal would obey, or would show in another order, is no name.
        let plain = monitor::names::text::device(text.as_bytes());
        match (text, plain) {
            ("", _) => Ok(Self(None)),
            (text, Some(plain)) if plain == text => Ok(Self(Some(plain))),
            _ => Err(None),
        }
    }

    fn show(&self) -> Value {
        self.0.as_deref().map_or(Value::Null, Value::from)
    }
}

/// Devices of the configuration, with their names.
fn all(effective: &Effective) -> impl Iterator<Item = (Mac, &str)> {
    let devices = effective.named::<DeviceSettings>().iter();
    devices.filter_map(|(address, settings)| Some((mac(address)?, settings.name.0.as_deref()?)))
}

/// Who is called so in the configuration, small and capital letters alike.
pub fn called<'a>(effective: &'a Effective, name: &str) -> impl Iterator<Item = Mac> + 'a {
    let name = name.to_lowercase();
    all(effective).filter_map(move |(mac, own)| (own.to_lowercase() == name).then_some(mac))
}

/// Names of the configuration.
pub fn known(effective: &Effective) -> Vec<Known> {
    let known = |(mac, name): (Mac, &str)| Known {
        mac: Some(mac),
        address: None,
        name: Some(name.to_owned()),
    };
    all(effective).map(known).collect()
}
