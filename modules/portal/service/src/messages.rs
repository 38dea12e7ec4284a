//! Messages between weir and the process that guests speak to.

use std::net::IpAddr;

use answers::{PortalClient, PortalHours};
use api::Body;
use portal_core::page::Trouble;
use serde::{Deserialize, Serialize};

/// What the process is told first.
#[derive(Serialize, Deserialize)]
pub struct Opening {
    /// Somebody may come with an account.
    pub accounts: bool,
    /// The page's name, where it goes by HTTPS, too.
    pub host: Option<String>,
    /// What tokens of forms are made with.
    pub secret: [u8; 32],
}

/// Who asks, of whom something is asked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visitor {
    /// Where the request came from.
    pub address: IpAddr,
    /// What its browser had from before.
    #[serde(default)]
    pub pass: Option<String>,
    /// The password that was typed.
    #[serde(default)]
    pub password: String,
}

impl Body for Visitor {
    const EXPECTED: &'static str = "a JSON object with `address`";
}

/// Who it is.
#[derive(Serialize, Deserialize)]
pub struct Visited {
    /// The device.
    pub client: PortalClient,
    /// Seconds for which anybody is let in without a voucher, and whether that takes a password.
    pub free: Option<(u64, bool)>,
    /// Whether what the browser had from before lets it in.
    #[serde(default)]
    pub again: bool,
    /// Which hours it is.
    pub hours: PortalHours,
    /// Which welcome the page shows now.
    pub welcome: u64,
}

/// Who came with a code.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knock {
    /// Where the request came from.
    pub address: IpAddr,
    /// What was typed.
    pub code: String,
    /// What its browser had from before.
    #[serde(default)]
    pub pass: Option<String>,
}

impl Body for Knock {
    const EXPECTED: &'static str = "a JSON object with `address` and `code`";
}

/// Who came with an account.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Where the request came from.
    pub address: IpAddr,
    /// What was typed.
    pub name: String,
    /// What was typed.
    pub password: String,
}

impl Body for Named {
    const EXPECTED: &'static str = "a JSON object with `address`, `name` and `password`";
}

/// What came of it; told when it holds.
#[derive(Serialize, Deserialize)]
pub struct Came {
    /// Why somebody is not let in, if so.
    pub trouble: Option<Trouble>,
    /// What his browser is to keep.
    pub pass: Option<String>,
}

impl From<Option<Trouble>> for Came {
    fn from(trouble: Option<Trouble>) -> Self {
        Self {
            trouble,
            pass: None,
        }
    }
}
