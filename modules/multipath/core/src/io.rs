//! Sockets and threads of multipath. Decisions without them are in the other modules.

mod changes;
mod conduct;
mod files;
mod limits;
mod locked;
mod partner;
mod partnership;
mod paths;
mod places;
mod proxy;
mod pump;
mod roll;
mod router;
mod sealed;
mod secret;
mod seen;
mod serve;
mod sessions;
mod share;
mod socket;
mod state;
mod store;
mod strangers;
mod threads;
mod tuned;
mod tunnel;
mod turns;
mod wire;

use std::os::fd::OwnedFd;

/// A device whose packets a process sends and receives, for the tunnel.
#[derive(Debug)]
pub struct TunDevice {
    /// The process's end; must not block.
    pub descriptor: OwnedFd,
    /// Name of the device.
    pub name: String,
    /// Index of the device.
    pub link: u32,
}

pub use conduct::Conduct;
pub use locked::{LockError, lock, unlock};
pub use partner::{Partner, ServeError, Settings as PartnerSettings};
pub use roll::Paired;
pub use router::{Router, Settings as RouterSettings, StartError};
pub use secret::{SecretError, identity};
pub use seen::{Figures, Seen};
pub use state::{Connection, State};
pub use store::{DEFAULT_STATE, Serves, Store, StoreError};
