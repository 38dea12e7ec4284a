//! `weir multipath serve`: a partner, from its settings to its threads.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kernel::Prefix;
use nix::ifaddrs::getifaddrs;
use tracing::info;

use super::serve::{self, Serving};
use super::sessions::Sessions;
use super::store::{Store, StoreError};
use super::threads::{Threads, processors};
use super::tuned::Tuned;
use super::{limits, socket};
use crate::aead::Cipher;
use crate::reach::Reach;
use crate::welcome::{LEAST_MTU, Welcome};

/// What a partner is to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Folder of its key.
    pub state: PathBuf,
    /// Local networks that routers may reach through it.
    pub allowed: Vec<Prefix>,
    /// What it calls its version.
    pub version: String,
}

/// It could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The key or the list of routers.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A partner at work, until it is dropped.
pub struct Partner {
    _threads: Threads,
    _tuned: Tuned,
}

impl Partner {
    /// Begins to listen. From within an event loop, as the kernel is asked.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub fn start(settings: Settings) -> Result<Self, ServeError> {
        let sessions = Sessions::open(Store::open(&settings.state)?)?;
        let tuned = Tuned::new(&settings.state);
        limits::raise();
        let own: Vec<_> = addresses();
        let routable = |ipv4: bool| {
            let mut own = own.iter();
            own.any(|address| {
                address.is_ipv4() == ipv4 && !address.is_loopback() && !link_local(address)
            })
        };
        let welcome = Welcome {
            ipv4: routable(true),
            ipv6: routable(false),
            aes: Cipher::aes_is_fast(),
            tunnel4: None,
            tunnel6: None,
            mtu: LEAST_MTU,
            version: settings.version,
        };
        let reach = Reach {
            allowed: settings.allowed,
            own,
        };
        let serving = Arc::new(Serving::new(sessions, reach, welcome));
        let mut threads = Threads::new();
        for number in 0..processors() {
            let (serving, address) = (Arc::clone(&serving), settings.listen);
            threads
                .start(&format!("partner-{number}"), move |stop| {
                    let listener = socket::listen(address, true, false)?;
                    Ok(stop.during(serve::accept(listener, serving)))
                })
                .map_err(|source| ServeError::Listen { address, source })?;
        }
        info!(listen = %settings.listen, "serves routers");
        Ok(Self {
            _threads: threads,
            _tuned: tuned,
        })
    }
}

/// Addresses of this machine.
fn addresses() -> Vec<std::net::IpAddr> {
    let Ok(list) = getifaddrs() else {
        return Vec::new();
    };
    list.filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|a| a.ip().into());
        v4.or_else(|| address.as_sockaddr_in6().map(|a| a.ip().into()))
    })
    .collect()
}

fn link_local(address: &std::net::IpAddr) -> bool {
    match address {
        std::net::IpAddr::V4(address) => address.is_link_local(),
        std::net::IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}
