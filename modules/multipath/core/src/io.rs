//! Sockets and threads of multipath. Decisions without them are in the other modules.

mod changes;
mod files;
mod kernel_settings;
mod limits;
mod locked;
mod observations;
mod ordering;
mod partner;
mod partner_session;
mod paths;
mod places;
mod proxy;
mod proxy_state;
mod pump;
mod router;
mod router_list;
mod sealed;
mod secret;
mod serve;
mod sessions;
mod socket;
mod state;
mod store;
mod threads;
mod traffic_settings;
mod tunnel;
mod unauthenticated;
mod wire;

use std::os::fd::OwnedFd;

/// A network device whose packets a process sends and receives, for the tunnel.
#[derive(Debug)]
pub struct TunDevice {
    /// The process's end; must not block.
    pub descriptor: OwnedFd,
    /// Name of the device.
    pub name: String,
    /// Index of the device.
    pub link: u32,
}

pub use locked::{LockError, lock, unlock};
pub use observations::{Observations, RouterCounters};
pub use partner::{Partner, ServeError, Settings as PartnerSettings};
pub use router::{Router, Settings as RouterSettings, StartError};
pub use router_list::RouterEntry;
pub use secret::{SecretError, identity};
pub use state::{Connection, State};
pub use store::{DEFAULT_STATE, Serves, Store, StoreError};
pub use traffic_settings::TrafficSettings;
