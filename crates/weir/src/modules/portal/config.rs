//! `[portal]`.

use std::path::PathBuf;

use kernel::{Mac, Prefix};
use serde_json::Value;
use toml::de::DeValue;

use crate::config::{DeviceName, FileValue, Section, Wrong, list, table};

/// What this module has in the file.
pub const SECTIONS: [Section; 1] = [Section::of::<Portal>("portal")];

/// Bytes of the longest title.
const LONGEST: usize = 200;

table! {
    /// `[portal]`: who may use the network.
    Portal {
        /// Devices behind which guests are: they get no further before they log in. None: no
        /// portal.
        Restart devices: Vec<DeviceName> = Vec::new();
        /// What the page is headed with: whose network it is.
        Restart title: Title = Title::default();
        /// Addresses that everybody may reach.
        Live garden: Vec<Prefix> = Vec::new();
        /// Hardware addresses of devices that need no voucher.
        Live exempt: Macs = Macs::default();
        /// File in which vouchers are kept.
        Restart vouchers: PathBuf = "/var/lib/weir/vouchers".into();
    }
}

/// One line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Title(pub String);

impl FileValue for Title {
    const ALLOWED: &'static str = "one line of text in quotes, of 200 bytes at most";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        let text = value.as_str().ok_or(None)?;
        let fits = text.len() <= LONGEST && !text.chars().any(char::is_control);
        fits.then(|| Self(text.to_owned())).ok_or(None)
    }

    fn show(&self) -> Value {
        self.0.as_str().into()
    }
}

/// Hardware addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Macs(pub Vec<Mac>);

impl FileValue for Macs {
    const ALLOWED: &'static str =
        "a list of hardware addresses, each in quotes, such as [\"02:00:00:00:00:01\"]";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<Wrong>> {
        list(value, Self::ALLOWED, portal::voucher::mac_of).map(Self)
    }

    fn show(&self) -> Value {
        self.0.iter().map(portal::voucher::mac_text).collect()
    }
}
