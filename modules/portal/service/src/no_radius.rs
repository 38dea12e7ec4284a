//! In place of [`super::radius`] where weir is built without RADIUS.

use std::convert::Infallible;
use std::net::SocketAddr;

use portal_core::account::{Account, Verdict};

use super::config::Radius;
use super::guest_service::Accounts;
use runtime::Error;

/// Client that cannot exist.
pub struct Client(Infallible);

impl Client {
    /// Returns no client.
    ///
    /// # Errors
    /// The configuration names a server.
    pub fn open(config: &Radius) -> Result<Option<Self>, Error> {
        if config.servers.0.is_empty() {
            return Ok(None);
        }
        let hint = "build weir with the feature `radius`, or remove `servers` from [portal.radius]";
        Err(Error::new("this weir lacks RADIUS", hint))
    }

    /// Never called.
    pub fn accounts(&self) -> Accounts {
        match self.0 {}
    }

    /// Never called.
    pub async fn try_out(&self) -> Vec<(SocketAddr, Result<(), String>)> {
        match self.0 {}
    }

    /// Never called.
    pub async fn ask(&self, _: &Account<'_>) -> Option<Verdict> {
        match self.0 {}
    }
}
