//! The lock's file and its table. While the file exists, the table must exist: a system unit loads
//! it at boot, and weir puts it back if another program removes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kernel::io::{delete_marked, load_rules, read_tables, try_rules};
use tracing::{info, warn};

use super::changes::Changes;
use crate::lock::{LOCK_TABLE, Lock, remove};
use crate::nft::TUNNEL_MARK;

/// Failure to lock or to unlock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The file cannot be written or removed.
    #[error("{}: {source}", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The firewall refuses the rules.
    #[error("the firewall refuses the rules: {0}")]
    Rules(String),
}

/// Locks the clients, from now on and at each boot. `text`: from [`Lock::file`]. Direct connections
/// end.
///
/// # Errors
/// After an error, no device is locked, or the old lock stays.
pub async fn lock(file: &Path, text: &str) -> Result<(), LockError> {
    let failed = |source| LockError::File {
        file: file.to_owned(),
        source,
    };
    // If the firewall refuses the rules, the file for the next boot stays as it was.
    try_rules(text).await.map_err(LockError::Rules)?;
    let written = file.with_extension("nft.new");
    let stored = fs::write(&written, text)
        .and_then(|()| fs::File::open(&written)?.sync_all())
        .and_then(|()| fs::rename(&written, file));
    stored.map_err(failed)?;
    // A process that receives the event of the new rules finds the file.
    load_rules(text).await.map_err(LockError::Rules)?;
    // A flow table of the kernel forwards its packets past the rules, for as long as conntrack
    // knows them.
    if let Err(error) = delete_marked(0, TUNNEL_MARK) {
        warn!(%error, "cannot end direct connections: those in a flow table may stay direct until they end");
    }
    Ok(())
}

/// Removes the lock. Returns true if there was one.
///
/// # Errors
/// The lock is still there.
pub async fn unlock(file: &Path) -> Result<bool, LockError> {
    // The file first: while there is one, a daemon that misses the table puts it back.
    let was = match fs::remove_file(file) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(source) => {
            return Err(LockError::File {
                file: file.to_owned(),
                source,
            });
        }
    };
    let tables = read_tables().unwrap_or_default();
    let table = tables.iter().any(|table| table.name == LOCK_TABLE);
    load_rules(&remove()).await.map_err(LockError::Rules)?;
    Ok(was || table)
}

/// Reads the lock; `None`: nothing is locked. A file that cannot be read is logged.
pub(super) fn read(file: &Path) -> Option<Lock> {
    Lock::read(&text(file)?)
}

fn text(file: &Path) -> Option<String> {
    match fs::read_to_string(file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            warn!(%error, file = %file.display(), "cannot read the lock: it is not restored if \
                another program removes it");
            None
        }
    }
}

/// Keeps the table in place while the file exists; `told` receives the clients' devices, an empty
/// list if no device is locked.
pub(super) async fn keep(file: &Path, told: impl Fn(Vec<String>)) {
    let mut changes = Changes::of(LOCK_TABLE);
    let mut known = None;
    loop {
        let now = text(file);
        if let Some(text) = &now
            && !changes.there()
        {
            match load_rules(text).await {
                Ok(()) => info!("locked: clients' traffic leaves only through the partner"),
                Err(error) => warn!(error, "the firewall does not take the lock"),
            }
        }
        if known.as_ref() != Some(&now) {
            let lock = now.as_deref().map(Lock::read);
            if lock == Some(None) {
                warn!(file = %file.display(), "no valid lock in this file: run `weir multipath \
                    lock` to write it again");
            }
            told(lock.flatten().map(|lock| lock.lan).unwrap_or_default());
            known = Some(now);
        }
        changes.any().await;
    }
}
