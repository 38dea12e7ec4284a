//! Messages between weir and the process that guests speak to.

use std::net::IpAddr;

use answers::{PortalClient, PortalHours};
use api::Body;
use portal_core::page::Trouble;
use serde::{Deserialize, Serialize};

/// First message to the process.
#[derive(Serialize, Deserialize)]
pub struct Opening {
    /// True if guests may log in with an account.
    pub accounts: bool,
    /// Name of the page, if there is HTTPS, too.
    pub host: Option<String>,
    /// Secret that signs the tokens of forms.
    pub secret: [u8; 32],
}

/// Client of a request.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visitor {
    /// Source address of the request.
    pub address: IpAddr,
    /// Pass that the browser has stored.
    #[serde(default)]
    pub pass: Option<String>,
    /// The password that was typed.
    #[serde(default)]
    pub password: String,
}

impl Body for Visitor {
    const EXPECTED: &'static str = "a JSON object with `address`";
}

/// State of a client.
#[derive(Serialize, Deserialize)]
pub struct Visited {
    /// The device.
    pub client: PortalClient,
    /// Seconds of free access, and true if free access needs a password.
    pub free: Option<(u64, bool)>,
    /// True if the browser's pass admits the device.
    #[serde(default)]
    pub again: bool,
    /// Present hours.
    pub hours: PortalHours,
    /// Version of the page's contents.
    pub welcome: u64,
}

/// Log-in with a code.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knock {
    /// Source address of the request.
    pub address: IpAddr,
    /// Code that the guest typed.
    pub code: String,
    /// Pass that the browser has stored.
    #[serde(default)]
    pub pass: Option<String>,
}

impl Body for Knock {
    const EXPECTED: &'static str = "a JSON object with `address` and `code`";
}

/// Log-in with an account.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Source address of the request.
    pub address: IpAddr,
    /// Name that the guest typed.
    pub name: String,
    /// Password that the guest typed.
    pub password: String,
}

impl Body for Named {
    const EXPECTED: &'static str = "a JSON object with `address`, `name` and `password`";
}

/// Result of a log-in, sent when it is in effect.
#[derive(Serialize, Deserialize)]
pub struct Came {
    /// Reason for a refusal.
    pub trouble: Option<Trouble>,
    /// Pass for the browser to store.
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
