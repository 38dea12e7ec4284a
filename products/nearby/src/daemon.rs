//! `weir-nearby run`: an adapter, the room around it, and the socket for clients.

mod adapter_keeper;
mod error_chain;
mod links;
mod listeners;
mod mailbox;
mod metrics;
mod names;
mod page;
mod recent;
mod routes;
mod settings;
mod state;
pub mod village;
mod wire;

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use api::server::SocketError;
use api::{Limits, Listener};
use page::Page;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tracing::info;

use error_chain::whole;
pub use settings::{PageSettings, Settings};
use state::State;
pub use wire::{Message, Notification, PeerInfo, Peers, RecentMessages, Say, SendResult};

use crate::bluetooth::{Bluetooth, ConnectionIds, LocalDevice};
use crate::envelope::Key;

/// The room's clock.
const TICK: Duration = Duration::from_millis(100);
/// Interval of the check for closed connections.
const LOOK: Duration = Duration::from_secs(2);
/// The name of no adapter.
pub const NO_ADAPTER: &str = "none";
/// Capacity of the event queue of an adapter.
const AHEAD: usize = 64;

/// Runs until a signal ends the program.
///
/// # Errors
/// The daemon cannot start: the reason in a sentence.
pub async fn run(settings: &Settings) -> Result<(), String> {
    let key = Arc::new(key(&settings.state)?);
    let _alone = alone(&settings.state)?;
    let own = key.node().id();
    let page = settings.page.as_ref().map(Page::open).transpose()?;
    let (told, mut telling) = mpsc::channel(AHEAD);
    let numbers = ConnectionIds::default();
    let speaks = LocalDevice {
        own,
        formats: settings.formats.clone(),
        channels: settings.channels,
        power: settings.power,
    };
    let open = async |may_switch| {
        let (adapter, told) = (&settings.adapter, told.clone());
        Bluetooth::open(adapter, may_switch, speaks.clone(), numbers.clone(), told).await
    };
    let is_deaf = settings.adapter == NO_ADAPTER;
    let bluetooth = match is_deaf {
        true => None,
        false => Some(open(true).await.map_err(|error| error.to_string())?),
    };
    let listener = Listener::bind(&settings.socket).map_err(|error| no_socket(&error))?;
    let (links, mut linking) = mpsc::channel(AHEAD);
    if let Some(village) = &settings.village {
        village::begin(village, Arc::clone(&key), numbers.clone(), links)?;
    }
    let state = State::new(key, settings, bluetooth);
    info!(%own, adapter = settings.adapter, "searching for others");
    if let Some(address) = page.as_ref().and_then(Page::address) {
        info!("the page is at http://{address}/");
    }
    let mut page = std::pin::pin!(page::serve(page, &state));
    let routes = routes::routes(&state);
    let serve = api::serve(Rc::new(listener), &routes, Limits::default());
    let mut serve = std::pin::pin!(serve);
    let wrong = |error: std::io::Error| error.to_string();
    let mut terminate = signal(SignalKind::terminate()).map_err(wrong)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(wrong)?;
    let mut clock = tokio::time::interval(TICK);
    // Runs separately, so that a slow BlueZ delays nothing else.
    let mut kept = std::pin::pin!(adapter_keeper::keep(&state, open));
    let mut looks = std::pin::pin!(async {
        loop {
            tokio::time::sleep(LOOK).await;
            state.look().await;
        }
    });
    loop {
        tokio::select! {
            () = &mut serve => break,
            Err(error) = &mut page => return Err(wrong(error)),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            never = &mut kept, if !is_deaf => match never {},
            () = &mut looks => {}
            Some(told) = telling.recv() => state.told(told),
            Some(told) = linking.recv() => state.linked(told),
            _ = clock.tick() => state.tick(),
        }
    }
    state.leave().await;
    Ok(())
}

/// Locks the state folder against a second daemon until the returned file is dropped.
fn alone(state: &Path) -> Result<std::fs::File, String> {
    let path = state.join("lock");
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).open(&path);
    let file = file.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(format!(
            "another weir-nearby uses its key and queue in {}: end it, or name another --state",
            state.display()
        )),
        Err(std::fs::TryLockError::Error(error)) => {
            Err(format!("cannot lock {}: {error}", path.display()))
        }
    }
}

/// Reads the bytes of the key's file, which only its owner may read.
fn read_key(path: &Path) -> Result<Vec<u8>, std::io::Error> {
    use std::io::Read;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let wrong = |what: String| std::io::Error::other(what);
    let mut options = std::fs::OpenOptions::new();
    // Opening a pipe does not block.
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let file = options.read(true).custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    let mode = about.permissions().mode() & 0o777;
    if !about.is_file() {
        return Err(wrong("not a regular file".to_owned()));
    }
    if mode & 0o077 != 0 {
        let what = format!("others can read or change it (mode {mode:03o}): run `chmod 600` on it");
        return Err(wrong(what));
    }
    let mut seed = Vec::new();
    file.take(64).read_to_end(&mut seed)?;
    Ok(seed)
}

/// Returns the node's key: created at the first start.
fn key(state: &Path) -> Result<Key, String> {
    use std::io::Write;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    let path = state.join("key");
    let wrong =
        |what: &str, error: std::io::Error| format!("cannot {what} {}: {error}", path.display());
    let seed = match read_key(&path) {
        Ok(seed) => seed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut seed = [0; 32];
            getrandom::fill(&mut seed)
                .map_err(|error| format!("cannot read random numbers: {error}"))?;
            let mut folder = std::fs::DirBuilder::new();
            let made = folder.recursive(true).mode(0o700).create(state);
            made.map_err(|error| wrong("make", error))?;
            // Whole, or not at all.
            let new = state.join("key.new");
            let mut options = std::fs::OpenOptions::new();
            let file = options
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&new);
            let written = file.and_then(|mut file| {
                file.write_all(&seed)?;
                file.sync_all()
            });
            written.map_err(|error| wrong("write", error))?;
            std::fs::rename(&new, &path).map_err(|error| wrong("write", error))?;
            seed.to_vec()
        }
        Err(error) => return Err(wrong("read", error)),
    };
    let seed = <[u8; 32]>::try_from(seed);
    let key = seed.ok().and_then(|seed| Key::from_seed(&seed));
    key.ok_or_else(|| {
        let path = path.display();
        format!("{path} is not a key of 32 bytes: move it away, and another one is created")
    })
}

/// Returns the error for a socket that cannot be opened, with a hint.
fn no_socket(error: &SocketError) -> String {
    match error {
        SocketError::InUse(path) => format!(
            "another weir-nearby listens at {}: end it, or name another --socket",
            path.display()
        ),
        SocketError::NotASocket(_) => format!("{error}: move it away, or name another --socket"),
        error => whole(error),
    }
}
