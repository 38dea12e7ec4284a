//! Messages between weir and the process that guests speak to.

use std::net::IpAddr;

use answers::{PortalClient, PortalHours};
use api::Body;
use portal_core::page::GuestProblem;
use serde::{Deserialize, Serialize};

/// First message to the process.
#[derive(Serialize, Deserialize)]
pub struct OpeningMessage {
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
pub struct GuestStatusRequest {
    /// Source address of the request.
    pub address: IpAddr,
    /// Pass that the browser has stored.
    #[serde(default)]
    pub pass: Option<String>,
    /// The password that was typed.
    #[serde(default)]
    pub password: String,
}

impl Body for GuestStatusRequest {
    const EXPECTED: &'static str = "a JSON object with `address`";
}

/// State of a client.
#[derive(Serialize, Deserialize)]
pub struct GuestStatus {
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
pub struct CodeLogin {
    /// Source address of the request.
    pub address: IpAddr,
    /// Code that the guest typed.
    pub code: String,
    /// Pass that the browser has stored.
    #[serde(default)]
    pub pass: Option<String>,
}

impl Body for CodeLogin {
    const EXPECTED: &'static str = "a JSON object with `address` and `code`";
}

/// Log-in with an account.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountLogin {
    /// Source address of the request.
    pub address: IpAddr,
    /// Name that the guest typed.
    pub name: String,
    /// Password that the guest typed.
    pub password: String,
}

impl Body for AccountLogin {
    const EXPECTED: &'static str = "a JSON object with `address`, `name` and `password`";
}

/// Result of a log-in, sent when it is in effect.
#[derive(Serialize, Deserialize)]
pub struct LoginResult {
    /// Reason for a refusal.
    pub trouble: Option<GuestProblem>,
    /// Pass for the browser to store.
    pub pass: Option<String>,
}

impl From<Option<GuestProblem>> for LoginResult {
    fn from(trouble: Option<GuestProblem>) -> Self {
        Self {
            trouble,
            pass: None,
        }
    }
}
