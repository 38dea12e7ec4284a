//! Hardware addresses as a value of the file.

use kernel::Mac;
use portal_core::voucher::{mac_text, station_of};
use serde_json::Value;
use toml::de::DeValue;

use super::values::{FileValue, Wrong, list};

/// Hardware addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Macs(pub Vec<Mac>);

impl FileValue for Macs {
    const ALLOWED: &'static str =
        "a list of hardware addresses of devices, each in quotes, such as [\"02:00:00:00:00:01\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        list(value, Self::ALLOWED, station_of).map(Self)
    }

    fn show(&self) -> Value {
        self.0.iter().map(mac_text).collect()
    }
}
