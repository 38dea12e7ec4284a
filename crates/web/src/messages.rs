//! Messages between the page's server, which network clients reach, and the daemon. The page's
//! server sends the requests:
//!
//! | request | answer |
//! |---|---|
//! | `POST /page/session` | [`ClientSession`], by the valid one of [`SessionTokens`] |
//! | `POST /page/client` | the [`Device`] of an address |
//! | `POST /page/login` | [`NewSession`], if the password is right |
//! | `POST /page/logout` | ends the sessions of [`SessionTokens`] |
//! | `POST /page/password` | [`NewSession`], after a change of the password |
//! | `GET /page/certificate` | a [`PemPair`], empty if the page is served without TLS |
//! | `POST /page/metrics` | metrics, for a client with the token if one is needed |
//! | `/v1/…` | the daemon's own, within a session, by [`SESSION_HEADER`] |

use std::net::IpAddr;

use api::Body;
use serde::{Deserialize, Serialize};

use crate::throttle::Client;
use crate::token::Token;

/// Header with the session of a request.
pub(crate) const SESSION_HEADER: &str = "x-weir-session";

/// Tokens in a client's cookies.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionTokens {
    pub(crate) tokens: Vec<Token>,
}

impl Body for SessionTokens {
    const EXPECTED: &'static str = "a JSON object with the list `tokens`";
}

/// Session state of a client.
#[derive(Serialize, Deserialize)]
pub(crate) struct ClientSession {
    /// Token of the session.
    pub(crate) token: Option<Token>,
    /// True if a password is set.
    pub(crate) password_set: bool,
}

/// Request for the device of an address.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceQuery {
    /// The address.
    pub address: IpAddr,
}

impl Body for DeviceQuery {
    const EXPECTED: &'static str = "a JSON object with `address`";
}

/// Device of an address.
#[derive(Serialize, Deserialize)]
pub struct Device {
    /// Hardware address; `None`: the device is not at a port of the router, or not known yet.
    pub mac: Option<[u8; 6]>,
}

impl Device {
    /// Returns the client: this device, or else an address.
    pub fn or(self, address: IpAddr) -> Client {
        self.mac.map_or(Client::Address(address), Client::Device)
    }
}

/// A certificate and its key, as PEM.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PemPair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Request for figures.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MetricsRequest {
    /// The token, if the client sent one.
    pub(crate) token: Option<String>,
}

impl Body for MetricsRequest {
    const EXPECTED: &'static str = "a JSON object with `token`";
}

/// A login.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginRequest {
    /// Address of the client.
    pub(crate) address: IpAddr,
    pub(crate) password: String,
    /// Sessions that end when the new one begins.
    pub(crate) former: Vec<Token>,
    /// The cookie of a device that logged in before.
    pub(crate) device: Option<Token>,
}

impl Body for LoginRequest {
    const EXPECTED: &'static str =
        "a JSON object with `address`, `password`, `former` and `device`";
}

/// A change of the password.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PasswordChange {
    /// Address of the client.
    pub(crate) address: IpAddr,
    /// True if the client is on this machine: it may set the first password.
    pub(crate) local: bool,
    /// Code from the router's console: as good as local.
    pub(crate) claim: Option<String>,
    pub(crate) old: Option<String>,
    pub(crate) new: String,
    /// Session of the request. The session and the `former` ones end.
    pub(crate) session: Option<Token>,
    pub(crate) former: Vec<Token>,
    /// Cookie of a device that logged in before.
    pub(crate) device: Option<Token>,
}

impl Body for PasswordChange {
    const EXPECTED: &'static str = "a JSON object with `address`, `local`, `claim`, `old`, `new`, \
        `session`, `former` and `device`";
}

/// A new session.
#[derive(Serialize, Deserialize)]
pub(crate) struct NewSession {
    pub(crate) token: Token,
    /// Cookie for this device; `None`: it has one.
    pub(crate) device: Option<Token>,
}
