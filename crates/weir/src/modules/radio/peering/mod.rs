//! Peers of one access point, in the kernel and on the air. What is decided is decided in
//! [`::radio::peering`]; here it is done.

mod attach;
pub mod config;
mod hostapd;
mod kept;
mod session;
pub mod show;

use std::cell::{Cell, RefCell};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ::radio::peering::attach::{LOOP, Mesh};
use ::radio::peering::{Instance, NodeKey, Secret};
use answers::RadioPeers;
use kernel::Mac;
use kernel::io::Device;
use kernel::route::attach::Bridging;
use tracing::{info, warn};

use crate::Error;
use crate::secret::{first_line, seed};
use attach::Carrier;
use config::Peering;
use hostapd::Hostapd;
use session::Session;

/// After something failed, until it is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// Peers at most.
const MOST: usize = 8;

/// Peers of one access point.
pub struct Peered {
    device: String,
    mesh: Mesh,
    carrier: Option<Carrier>,
    allow: Vec<Mac>,
    deny: Vec<Mac>,
    directory: PathBuf,
    secret: Secret,
    node: NodeKey,
    shown: RefCell<RadioPeers>,
    stopped: Cell<bool>,
}

impl Peered {
    /// Those of a device. Reads what is secret; the node's key is made where there is none. To be
    /// called with all rights.
    ///
    /// # Errors
    /// One of them cannot be read or made, or is none.
    pub fn open(device: &str, config: &Peering) -> Result<Self, Error> {
        let hint = "write 16 octets or more into the first line of a file, the same at every \
            access point, and name that as `secret` under [radio.peering]";
        let Some(file) = config.secret.0.as_deref() else {
            let what = "access points that peer without a secret would let anybody in";
            return Err(Error::new(what, hint));
        };
        let what = format!("the secret in {} cannot be used", file.display());
        let failed = |error: &dyn std::error::Error| Error::because(&what, error, hint);
        let secret = first_line(file).map_err(|error| failed(&error))?;
        let secret = Secret::new(&secret).map_err(|error| failed(&error))?;
        let key = seed(&config.key).map_err(|error| {
            let what = format!("{} cannot be read or made", config.key.display());
            let hint = "see `key` under [radio.peering]; without the file, a new key is made";
            Error::because(&what, &error, hint)
        })?;
        Ok(Self {
            device: device.to_owned(),
            mesh: *config.mesh,
            carrier: config.into.as_ref().map(|device| Carrier {
                mesh: *config.mesh,
                device: device.0.clone(),
            }),
            allow: config.allow.0.clone(),
            deny: config.deny.0.clone(),
            directory: (*config.hostapd).clone(),
            secret,
            node: NodeKey::from_seed(key),
            shown: RefCell::default(),
            stopped: Cell::new(false),
        })
    }

    /// All that are known.
    pub fn shown(&self) -> RadioPeers {
        let mut shown = self.shown.borrow().clone();
        shown.device.clone_from(&self.device);
        shown
    }

    /// Has peers for as long as there is an access point, and waits for one else.
    pub async fn run(&self) {
        let mut told = String::new();
        while !self.stopped.get() {
            let why = match Session::open(self) {
                Ok(mut session) => {
                    info!(device = self.device, "looks for peers");
                    session.run(&self.shown, &self.stopped).await
                }
                Err(error) => error,
            };
            let why = why.to_string();
            if !self.stopped.get() && why != told {
                warn!(device = self.device, why, "no peers");
                told.clone_from(&why);
            }
            let notices = vec![why];
            self.shown.replace(RadioPeers {
                notices,
                ..RadioPeers::default()
            });
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// The end: nobody is told of us any more. What is in the kernel goes with its socket.
    pub fn stop(&self) {
        self.stopped.set(true);
        // hostapd may be gone already.
        let _ = self.hostapd().say(&[]);
    }

    fn hostapd(&self) -> Hostapd {
        Hostapd::of(&self.directory, &self.device)
    }

    /// Peers at most, and what is to be said of that.
    fn most(&self, link: u32) -> (usize, Option<&'static str>) {
        let bridging = |link| Device::open(link).and_then(|mut device| device.bridging());
        let bridge = match &self.carrier {
            Some(carrier) => nix::net::if_::if_nametoindex(carrier.device.as_str()).ok(),
            None => bridging(link).ok().and_then(|own: Bridging| own.master),
        };
        let tree = |bridge| bridging(bridge).is_ok_and(|bridge| bridge.tree);
        let most = self.mesh.most(MOST, bridge.is_some_and(tree));
        (most, (most < MOST).then_some(LOOP))
    }
}

/// One that was never used before.
fn instance() -> io::Result<Instance> {
    let mut octets = [0; 8];
    getrandom::fill(&mut octets).map_err(io::Error::other)?;
    Ok(Instance(octets))
}
