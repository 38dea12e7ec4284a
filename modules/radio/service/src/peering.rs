//! Peers of one access point, in the kernel and on the air. [`radio_core::peering`] decides; this
//! module acts.

mod attach;
pub mod check;
pub mod config;
mod devices;
mod hostapd;
mod session;
pub mod show;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use answers::RadioPeers;
use caps::Capability;
use kernel::Mac;
use kernel::io::Device;
use kernel::route::attach::Bridging;
use radio_core::peering::attach::{LOOP, Mesh};
use radio_core::peering::{Instance, NodeKey, Secret};
use tracing::{info, warn};

use attach::Carrier;
use config::Compat;
use hostapd::{Denied, Hostapd};
use runtime::Error;
use runtime::daemon::{CompanionThread, Work};
use runtime::secret::{first_line, seed};
use session::Session;

/// After something failed, until it is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// Peers at most.
const MOST: usize = 8;

/// Hint for a missing secret.
pub const SECRET_HINT: &str = "write 16 or more bytes into the first line of a file, the same at \
    every access point, and name that file as `secret` under [radio.peering]";
/// Reason why compat = "apup" is insecure.
pub const ANYBODY: &str = "compat = \"apup\" is INSECURE: peers in clear prove nothing, their \
    traffic can be read and changed, and any sender of a beacon with this network's name and an \
    address that may be a peer's gets a port";
/// Hint for an empty allow list.
pub const ALLOW_HINT: &str = "list your own access points in `allow` under [radio.peering]";

/// Notice when the search for peers has failed.
const BROKE_OFF: &str = "the search for peers failed by a fault of weir: see the log, and restart \
    weir";

/// Capabilities for stations and devices, and for the packet socket that receives frames of unknown
/// nodes.
const KEPT: &[Capability] = &[Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW];

/// Peers of one access point, as the daemon has them: all is done by a thread.
pub struct Peering {
    device: String,
    shown: Shown,
    thread: RefCell<Option<CompanionThread>>,
}

/// Last report on the peers.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<RadioPeers>>);

impl Shown {
    fn set(&self, peers: RadioPeers) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = peers;
    }

    fn get(&self) -> RadioPeers {
        let shown = self.0.lock();
        shown.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Peering {
    /// Begins the search for peers of a device. Call this with all privileges.
    ///
    /// # Errors
    /// A secret or key cannot be read or created, or is invalid; or no thread can be started.
    pub fn begin(device: &str, config: &config::Peering) -> Result<Self, Error> {
        let peered = Peered::open(device, config)?;
        let shown = Shown::default();
        let told = shown.clone();
        let hostapd = peered.hostapd();
        let work = move || async move { peered.run(&told).await };
        // If hostapd is still there, its beacon no longer names us, and it denies no client for us.
        // The state in the kernel ends with its socket.
        let after = move || {
            if let Some(mut hostapd) = hostapd {
                let _ = hostapd.say(&[]).and_then(|()| hostapd.deny_nobody());
            }
        };
        let thread = CompanionThread::begin("radio-peering", KEPT, work, after)?;
        Ok(Self {
            device: device.to_owned(),
            shown,
            thread: RefCell::new(Some(thread)),
        })
    }

    /// Returns the report on all nodes.
    pub fn shown(&self) -> RadioPeers {
        let mut shown = self.shown.get();
        shown.device.clone_from(&self.device);
        let thread = self.thread.borrow();
        if thread.as_ref().is_some_and(CompanionThread::broke_off) {
            // The last report is outdated.
            (shown.peers, shown.notices) = (Vec::new(), vec![BROKE_OFF.to_owned()]);
        }
        shown
    }

    /// Ends the search, and waits for the restoration.
    pub fn stop(&self) -> Option<Work> {
        Some(self.thread.take()?.end())
    }
}

/// Setup of an access point with peers.
struct Peered {
    device: String,
    mesh: Mesh,
    carrier: Option<Carrier>,
    allow: Vec<Mac>,
    deny: Vec<Mac>,
    directory: PathBuf,
    secret: Secret,
    /// True if other nodes have the secret, too: otherwise the beacon announces nothing.
    proves: bool,
    /// Prefix of devices of peers in clear, if those are allowed.
    clear: Option<String>,
    /// Nodes that proved the secret at earlier access points.
    proven: RefCell<BTreeSet<Mac>>,
    /// Clients that hostapd denies.
    denied: Denied,
    node: NodeKey,
}

impl Peered {
    /// Reads the secret and the node's key; the key is made if missing.
    fn open(device: &str, config: &config::Peering) -> Result<Self, Error> {
        let hint = SECRET_HINT;
        let clear = *config.compat == Compat::Apup;
        let file = config.secret.0.as_deref();
        let secret = match file {
            Some(file) => {
                let what = format!("cannot use the secret in {}", file.display());
                let failed = |error: &dyn std::error::Error| Error::with_cause(&what, error, hint);
                let secret = first_line(file).map_err(|error| failed(&error))?;
                Secret::new(&secret).map_err(|error| failed(&error))?
            }
            // A random secret: any node that claims to prove one is refused.
            None if clear => unknown()?,
            None => {
                let what = "access points that peer without a secret would admit anyone";
                let hint = format!(
                    "{hint}; compat = \"apup\" works without a secret, in clear, and admits anyone"
                );
                return Err(Error::new(what, hint));
            }
        };
        let key = seed(&config.key).map_err(|error| {
            let what = format!("cannot read or create {}", config.key.display());
            let hint = "see `key` under [radio.peering]; without the file, a new key is made";
            Error::with_cause(&what, &error, hint)
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
            proves: file.is_some(),
            clear: clear.then(|| config.prefix.beside(device)),
            proven: RefCell::default(),
            denied: Denied::default(),
            node: NodeKey::from_seed(key),
        })
    }

    /// Runs the peering while the access point exists, and waits for one otherwise.
    async fn run(&self, shown: &Shown) {
        let mut told = String::new();
        loop {
            let why = match Session::open(self) {
                Ok(mut session) => {
                    info!(device = self.device, "looking for peers");
                    if let Some(why) = self.insecure() {
                        warn!(device = self.device, why, "insecure");
                    }
                    told.clear();
                    let why = session.run(shown).await;
                    self.proven.replace(session.proven());
                    why
                }
                Err(error) => error,
            };
            let why = why.to_string();
            if why != told {
                warn!(device = self.device, why, "no peers");
                told.clone_from(&why);
            }
            let notices = vec![why];
            shown.set(RadioPeers {
                notices,
                ..RadioPeers::default()
            });
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Returns the connection to hostapd. `None`: this node has nothing to announce.
    fn hostapd(&self) -> Option<Hostapd> {
        let hostapd = || Hostapd::of(&self.directory, &self.device, self.denied.clone());
        self.proves.then(hostapd)
    }

    /// Returns a warning about peers in clear, if those are allowed.
    fn insecure(&self) -> Option<String> {
        self.clear.as_ref().map(|_| match self.allow.is_empty() {
            true => format!("{ANYBODY}; {ALLOW_HINT}"),
            false => ANYBODY.to_owned(),
        })
    }

    /// Returns the maximum number of peers, and a notice about it.
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

/// Makes a random secret that no other node has.
fn unknown() -> Result<Secret, Error> {
    let mut octets = [0; 32];
    let made = getrandom::fill(&mut octets).map_err(io::Error::other);
    let made = made.and_then(|()| Secret::new(&octets).map_err(io::Error::other));
    let hint = "start weir again; if that does not help, see the kernel's log";
    made.map_err(|error| {
        Error::with_cause("cannot read random numbers from the system", &error, hint)
    })
}

/// Makes an instance that was never used before.
fn instance() -> io::Result<Instance> {
    let mut octets = [0; 8];
    getrandom::fill(&mut octets).map_err(io::Error::other)?;
    Ok(Instance(octets))
}
