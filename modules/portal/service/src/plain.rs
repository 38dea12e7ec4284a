//! In place of [`super::secure`] where weir is built without TLS.

use std::convert::Infallible;
use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;

use api::server::Answer;
use hyper::{Request, Response};
use web::throttle::Client;
use web::{Limits, Pair, Peer, RequestBody, Served};

use super::config::Portal;
use super::door::Door;
use runtime::Error;

/// There is none.
///
/// # Errors
/// There is to be one.
pub fn certificate(config: &Portal) -> Result<Option<Certificate>, Error> {
    match config.host.0 {
        None => Ok(None),
        Some(_) => {
            let hint = "build weir with the feature `tls`, or take `host` out of [portal]";
            Err(Error::new("this weir is built without TLS", hint))
        }
    }
}

/// None.
pub fn folders(_: &Portal) -> Vec<PathBuf> {
    Vec::new()
}

/// There is none.
pub struct Certificate(Infallible);

impl Certificate {
    /// Never asked for.
    pub fn pair(&self) -> Pair {
        match self.0 {}
    }
}

/// Never served.
pub struct SecureDoor(Rc<Door>);

impl SecureDoor {
    pub fn new(door: Rc<Door>) -> Self {
        Self(door)
    }
}

impl Served for SecureDoor {
    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn now(&self) -> std::time::Duration {
        self.0.now()
    }

    async fn client(&self, address: IpAddr) -> Option<Client> {
        self.0.client(address).await
    }

    async fn answer(&self, request: Request<RequestBody>, peer: Peer) -> Response<Answer> {
        self.0.answer(request, peer).await
    }
}
