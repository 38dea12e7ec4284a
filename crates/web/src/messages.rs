//! Messages between the page's server and the daemon. The page's server, which strangers speak to,
//! asks the daemon for each thing:
//!
//! | request | answer |
//! |---|---|
//! | `POST /page/session` | [`Whose`]: which of [`Tokens`] is a session's |
//! | `POST /page/client` | the [`Device`] that has an address |
//! | `POST /page/login` | [`Opened`], with the password |
//! | `POST /page/logout` | ends the sessions of [`Tokens`] |
//! | `POST /page/password` | [`Opened`], and another password |
//! | `GET /page/certificate` | a [`Pair`], empty where the page is served without TLS |
//! | `POST /page/metrics` | figures, for who has the token where one is needed |
//! | `/v1/…` | the daemon's own, for who has a session, by [`SESSION_HEADER`] |

use std::net::IpAddr;

use api::Body;
use serde::{Deserialize, Serialize};

use crate::throttle::Client;
use crate::token::Token;

/// Header by which the page's server says in whose session it asks.
pub(crate) const SESSION_HEADER: &str = "x-weir-session";

/// What a client's cookies hold.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tokens {
    pub(crate) tokens: Vec<Token>,
}

impl Body for Tokens {
    const EXPECTED: &'static str = "a JSON object with the list `tokens`";
}

/// Who somebody is.
#[derive(Serialize, Deserialize)]
pub(crate) struct Whose {
    /// The token that a session has.
    pub(crate) token: Option<Token>,
    /// There is a password.
    pub(crate) password_set: bool,
}

/// An address whose device is sought.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sought {
    /// The address.
    pub address: IpAddr,
}

impl Body for Sought {
    const EXPECTED: &'static str = "a JSON object with `address`";
}

/// The device that has an address.
#[derive(Serialize, Deserialize)]
pub struct Device {
    /// Its hardware address; `None`: it is not at a port of the router, or not known yet.
    pub mac: Option<[u8; 6]>,
}

impl Device {
    /// The client: this device, or else an address.
    pub fn or(self, address: IpAddr) -> Client {
        self.mac.map_or(Client::Address(address), Client::Device)
    }
}

/// A certificate and its key, as PEM.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Who asks for figures.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bearer {
    /// The token that was sent, if one was.
    pub(crate) token: Option<String>,
}

impl Body for Bearer {
    const EXPECTED: &'static str = "a JSON object with `token`";
}

/// Somebody wants in.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// From where.
    pub(crate) address: IpAddr,
    pub(crate) password: String,
    /// Whose sessions end where another begins.
    pub(crate) former: Vec<Token>,
    /// The cookie of a device that logged in before.
    pub(crate) device: Option<Token>,
}

impl Body for Login {
    const EXPECTED: &'static str =
        "a JSON object with `address`, `password`, `former` and `device`";
}

/// Somebody sets a password.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Password {
    /// From where.
    pub(crate) address: IpAddr,
    /// From this machine: the first password may be set.
    pub(crate) local: bool,
    /// The code that only the router's console tells: as good as local.
    pub(crate) claim: Option<String>,
    pub(crate) old: Option<String>,
    pub(crate) new: String,
    /// The session in which that is asked for. With `former`: those that end.
    pub(crate) session: Option<Token>,
    pub(crate) former: Vec<Token>,
    /// As for a [`Login`].
    pub(crate) device: Option<Token>,
}

impl Body for Password {
    const EXPECTED: &'static str = "a JSON object with `address`, `local`, `claim`, `old`, `new`, \
        `session`, `former` and `device`";
}

/// A session that was opened.
#[derive(Serialize, Deserialize)]
pub(crate) struct Opened {
    pub(crate) token: Token,
    /// The cookie of this device; `None`: it has one.
    pub(crate) device: Option<Token>,
}
