//! In place of [`super::https`] where weir is built without TLS.

use std::convert::Infallible;
use std::path::PathBuf;
use std::rc::Rc;

use web::PemPair;

use super::config::Portal;
use super::guest_server::GuestServer;
use runtime::Error;

/// Returns no certificate.
///
/// # Errors
/// The configuration asks for a certificate.
pub fn certificate(config: &Portal) -> Result<Option<Certificate>, Error> {
    match config.host.0 {
        None => Ok(None),
        Some(_) => {
            let hint = "build weir with the feature `tls`, or remove `host` from [portal]";
            Err(Error::new("this weir lacks TLS", hint))
        }
    }
}

/// Returns no folders.
pub fn folders(_: &Portal) -> Vec<PathBuf> {
    Vec::new()
}

/// Certificate that cannot exist.
pub struct Certificate(Infallible);

impl Certificate {
    /// Never asked for.
    pub fn pair(&self) -> PemPair {
        match self.0 {}
    }
}

/// Never served.
pub fn secured(door: Rc<GuestServer>) -> Rc<GuestServer> {
    door
}
