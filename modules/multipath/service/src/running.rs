//! Multipath in the daemon: its companion threads begin and end with the configuration, and never
//! block the loop.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::{fs, thread};

use answers::PartnerState;
use multipath_core::Identity;
use multipath_core::io::{
    Connection, Router, RouterSettings, State, TrafficSettings, TunDevice, identity,
};
use tracing::{error, warn};

use super::commands;
use super::config::{self, Fallback, Multipath as Config};
use super::exposures::exposures;
use super::tun;
use runtime::config::Effective;
use runtime::daemon::{Privileges, Spawner};

/// The router's side of multipath, if it has a partner.
pub struct Running {
    folder: PathBuf,
    /// File of the lock.
    lock: PathBuf,
    /// The router's own key; `Err`: cause of a missing key.
    own: Result<Identity, String>,
    /// Thread that may still make the key, in this file; `None` once there was a partner.
    unpaired: Option<(Spawner, PathBuf)>,
    /// Settings that are to run: the latest.
    wanted: Arc<Mutex<Option<RouterSettings>>>,
    /// Locked for as long as a change takes.
    running: Arc<Mutex<Begun>>,
}

/// The running router, with its settings.
#[derive(Default)]
struct Begun {
    settings: Option<RouterSettings>,
    router: Option<Router>,
    /// Cause of a failed start.
    failed: Option<String>,
}

impl Begun {
    /// Begins, ends or restarts; or only updates, where that is enough.
    fn become_as(&mut self, wanted: Option<RouterSettings>) {
        if self.settings == wanted {
            return;
        }
        let before = std::mem::replace(&mut self.settings, wanted.clone());
        if let (Some(router), Some(before), Some(wanted)) = (&self.router, before, &wanted)
            && only_heeded(before, wanted)
        {
            router.conduct(wanted.conduct.clone());
            return router.hint(wanted.hints.clone());
        }
        // The old instance first removes its rules.
        (self.router, self.failed) = (None, None);
        let Some(settings) = wanted else { return };
        let device = device(settings.conduct.fall_back);
        match Router::start(settings, device) {
            Ok(router) => self.router = Some(router),
            Err(error) => {
                error!(%error, "cannot start multipath: uplinks are used as the routes say");
                self.failed = Some(format!("cannot start: {error}"));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Running {
    /// Creates the module, idle. `folder`: for the record of changed kernel settings; `lock`: file
    /// of the lock; `key`: file of the router's own key, which is made if missing, as soon as a
    /// partner is configured; `paired`: true if there is one now.
    pub fn new(folder: PathBuf, lock: PathBuf, key: PathBuf, paired: bool) -> Self {
        let (own, unpaired) = match Spawner::begin("weir-key") {
            // A reload may configure a partner when the daemon may no longer write there.
            Ok(spawner) if !paired => (Err("no partner".to_owned()), Some((spawner, key))),
            _ => (identity(&key).map_err(|error| error.to_string()), None),
        };
        Self {
            folder,
            lock,
            own,
            unpaired,
            wanted: Arc::default(),
            running: Arc::default(),
        }
    }

    /// Makes the key, if this is the first partner. Waits for the write of 32 bytes, once.
    fn make_key(&mut self) {
        if let Some((spawner, key)) = self.unpaired.take() {
            self.own = match run(spawner, move || identity(&key)) {
                Some(made) => made.map_err(|error| error.to_string()),
                None => Err("cannot make the key".to_owned()),
            };
        }
    }

    /// Begins, ends or restarts, as the configuration says. Open connections end when the partner
    /// changes, and go on if only hints or traffic rules change.
    pub fn configure(&mut self, effective: &Effective) {
        if let Some((file, mode)) = effective.of::<Config>().exposed() {
            warn!(
                file,
                mode = %format_args!("{mode:o}"),
                "others can read this file with the partner's secret: `chmod 600 {file}`"
            );
        }
        if let Some((what, hint)) = effective.of::<Config>().doubts() {
            warn!(hint, "{what}");
        }
        let doubts = commands::lock::doubts(&self.lock, effective.of::<Config>());
        for (what, hint) in doubts.unwrap_or_default() {
            warn!(hint, "the lock: {what}");
        }
        if !effective.of::<Config>().pairings().is_empty() {
            self.make_key();
        }
        let wanted = self.settings(effective);
        if std::mem::replace(&mut *lock(&self.wanted), wanted.clone()) == wanted {
            return;
        }
        let (running, wanted) = (Arc::clone(&self.running), Arc::clone(&self.wanted));
        // An ending router first removes its rules, which takes as long as `nft` does. Several
        // changes at once may run in any order: each applies the latest settings.
        let change = move || {
            let mut running = lock(&running);
            let wanted = lock(&wanted).clone();
            running.become_as(wanted);
        };
        if let Err(error) = thread::Builder::new().spawn(change) {
            error!(%error, "cannot start multipath: no thread for it");
        }
    }

    fn settings(&self, effective: &Effective) -> Option<RouterSettings> {
        let multipath = effective.of::<Config>();
        let pairings = multipath.pairings();
        if pairings.is_empty() {
            return None;
        }
        let own = match &self.own {
            Ok(own) => Some(own.clone()),
            Err(error) => {
                warn!(%error, "no key of its own: anyone with the pairing line can connect as this router");
                None
            }
        };
        Some(RouterSettings {
            pairings,
            own,
            conduct: TrafficSettings {
                fall_back: *multipath.fallback == Fallback::Direct,
                returns: *multipath.returns,
                encrypt: *multipath.encrypt,
                renew: *multipath.renew,
                choice: multipath.choice(),
            },
            hints: config::hints(effective.named()),
            folder: self.folder.clone(),
            lock: self.lock.clone(),
        })
    }

    /// Returns the cause of a failed start; `None` while a change is under way.
    pub fn failed(&self) -> Option<String> {
        self.running.try_lock().ok()?.failed.clone()
    }

    /// Returns the current state.
    pub fn to_api(&self) -> answers::Paths {
        // Locked for the duration of a change: no state is available meanwhile.
        let running = self.running.try_lock().ok();
        let state = running.as_ref().and_then(|running| running.router.as_ref());
        let wanted = lock(&self.wanted);
        let locked = self.lock.exists();
        let nothing = || answers::Paths {
            partner: wanted
                .as_ref()
                .and_then(|it| Some(it.pairings.first()?.address())),
            locked,
            ..answers::Paths::default()
        };
        let mut paths = match (state, &*wanted) {
            (Some(router), Some(wanted)) => told(router.state(), &wanted.conduct, locked),
            _ => nothing(),
        };
        let hints = wanted.iter().flat_map(|wanted| wanted.hints.keys());
        let leads = |name: &&String| paths.paths.iter().any(|path| path.device == **name);
        if wanted.is_some() {
            paths.keyless = self.own.as_ref().err().cloned();
        }
        paths.unmatched = hints.filter(|name| !leads(name)).cloned().collect();
        paths
    }

    /// Ends, and removes all rules.
    pub fn stop(&mut self) {
        *lock(&self.wanted) = None;
        lock(&self.running).become_as(None);
        if let Some((spawner, _)) = self.unpaired.take() {
            // There never was a partner: the folder is empty.
            let folder = self.folder.clone();
            let _ = run(spawner, move || fs::remove_dir(folder));
        }
    }
}

/// Runs a task with the rights over files that weir began with, and waits for the result.
fn run<T: Send + 'static>(by: Spawner, task: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (reply, answer) = mpsc::channel();
    let task = move || {
        let _ = reply.send(task());
    };
    by.run(Box::new(task)).ok()?;
    answer.recv().ok()
}

/// Converts a state for the API.
fn told(state: State, conduct: &TrafficSettings, locked: bool) -> answers::Paths {
    let stops = locked || !conduct.fall_back;
    let exposed = exposures(&state, conduct, stops);
    let (partner, version, problem) = match state.connection {
        Connection::Connecting => (PartnerState::Connecting, None, None),
        Connection::Connected { version, .. } => (PartnerState::Connected, Some(version), None),
        Connection::Failed { problem } => (PartnerState::Failed, None, Some(problem)),
    };
    answers::Paths {
        partner: Some(state.partner),
        partners: match state.partners.len() {
            0 | 1 => Vec::new(),
            _ => state.partners,
        },
        state: partner,
        version,
        problem,
        keyless: None,
        redirects: state.redirects,
        tunnel: state.tunnel,
        connections: state.counted,
        paths: state.paths,
        unmatched: Vec::new(),
        twins: state.duplicates,
        forwards: state.forwards,
        locked,
        stops,
        exposed,
    }
}

/// Opens the tunnel's device; without a device, no tunnel runs. `fall_back`: other traffic then
/// goes directly.
fn device(fall_back: bool) -> Option<TunDevice> {
    tun::open(tun::DEVICE)
        .inspect_err(|error| {
            let hint = tun::hint(error);
            match fall_back {
                true => warn!(%error, hint, "no tunnel: everything except TCP goes directly"),
                false => warn!(%error, hint, "no tunnel: everything except TCP is refused"),
            }
        })
        .ok()
}

/// Returns the paths that multipath writes: a folder next to the API's socket, and the kernel's
/// settings; and the device that it opens.
pub fn privileges(folder: &Path) -> Privileges {
    if let Err(error) = fs::create_dir_all(folder) {
        error!(%error, folder = %folder.display(), "cannot create the folder: multipath's changes \
            are not undone if weir is killed");
    }
    Privileges {
        write: vec![folder.to_owned(), "/proc/sys/net/mptcp".into()],
        devices: vec!["/dev/net/tun".into()],
        ..Privileges::default()
    }
}

/// Returns the path of the folder, next to the API's socket.
pub fn folder(socket: &Path) -> PathBuf {
    socket.with_extension("multipath")
}

/// Returns true if only settings changed that apply while running: traffic rules, and hints.
fn only_heeded(before: RouterSettings, now: &RouterSettings) -> bool {
    let same = RouterSettings {
        conduct: now.conduct.clone(),
        hints: now.hints.clone(),
        ..before
    };
    *now == same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_partner_nothing_is_stored() {
        let base = std::env::temp_dir().join(format!("weir-unpaired-{}", std::process::id()));
        let (folder, key) = (base.join("socket.multipath"), base.join("multipath.key"));
        let effective = runtime::config::parse(&config::SECTIONS, "", "weir.toml").expect("good");
        for paired in [false, true] {
            privileges(&folder);
            let mut running = Running::new(folder.clone(), base.join("lock"), key.clone(), false);
            running.configure(&effective);
            if paired {
                running.make_key();
            }
            running.stop();
            assert_eq!((key.exists(), folder.exists()), (paired, paired));
        }
        fs::remove_dir_all(&base).expect("removed");
    }
}
