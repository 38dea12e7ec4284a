//! Hardware addresses as a value of the file.

use net::Mac;
use net::mac::{parse_station, text};
use serde_json::Value;
use toml::de::DeValue;

use super::values::{FileValue, ValueError, list};

/// Hardware addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Macs(pub Vec<Mac>);

impl FileValue for Macs {
    const ALLOWED: &'static str =
        "a list of hardware addresses of devices, each in quotes, such as [\"02:00:00:00:00:01\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        list(value, Self::ALLOWED, parse_station).map(Self)
    }

    fn show(&self) -> Value {
        self.0.iter().map(text).collect()
    }
}
