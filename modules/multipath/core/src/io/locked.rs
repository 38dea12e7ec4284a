//! The lock's file and its table. The file says that the table is to be there: at the boot, by a
//! unit of the system's, and whenever somebody took it away.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kernel::io::{forget_marked, load_rules, read_tables, try_rules};
use tracing::{info, warn};

use super::changes::Changes;
use crate::lock::{LOCK_TABLE, Lock, remove};
use crate::nft::TUNNEL_MARK;

/// It cannot be locked, or unlocked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The file cannot be written or removed.
    #[error("{}: {source}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The firewall does not take it.
    #[error("the firewall does not take the rules: {0}")]
    Rules(String),
}

/// Locks, from now on and at each boot. `text`: of [`Lock::file`]. What had begun directly ends.
///
/// # Errors
/// Nothing is locked, or as it was before.
pub async fn lock(file: &Path, text: &str) -> Result<(), LockError> {
    let failed = |source| LockError::File {
        file: file.to_owned(),
        source,
    };
    // Where they are not taken, nothing is promised for the next boot.
    try_rules(text).await.map_err(LockError::Rules)?;
    let written = file.with_extension("nft.new");
    let stored = fs::write(&written, text)
        .and_then(|()| fs::File::open(&written)?.sync_all())
        .and_then(|()| fs::rename(&written, file));
    stored.map_err(failed)?;
    // Who hears of the rules finds the file.
    load_rules(text).await.map_err(LockError::Rules)?;
    // A flow table of the kernel's forwards its packets without a look at the rules, for as long as
    // conntrack knows them.
    if let Err(error) = forget_marked(0, TUNNEL_MARK) {
        warn!(%error, "connections that a flow table forwards may go on directly until they end");
    }
    Ok(())
}

/// Takes the lock away. Whether there was one.
///
/// # Errors
/// It is still there.
pub async fn unlock(file: &Path) -> Result<bool, LockError> {
    // The file first: who finds the table gone puts it back for as long as there is one.
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

/// What is locked; `None`: nothing. A file that cannot be read is told of.
pub(super) fn read(file: &Path) -> Option<Lock> {
    Lock::read(&text(file)?)
}

fn text(file: &Path) -> Option<String> {
    match fs::read_to_string(file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            warn!(%error, file = %file.display(), "cannot be read: the lock is not put back where \
                somebody takes it away");
            None
        }
    }
}

/// Keeps the table there for as long as there is a file; `told` hears of which devices clients are
/// at, none where nothing is locked.
pub(super) async fn keep(file: &Path, told: impl Fn(Vec<String>)) {
    let mut changes = Changes::of(LOCK_TABLE);
    let mut known = None;
    loop {
        let now = text(file);
        if let Some(text) = &now
            && !changes.there()
        {
            match load_rules(text).await {
                Ok(()) => info!("locked: what clients send leaves by the partner alone"),
                Err(error) => warn!(error, "the firewall does not take the lock"),
            }
        }
        if known.as_ref() != Some(&now) {
            let lock = now.as_deref().map(Lock::read);
            if lock == Some(None) {
                warn!(file = %file.display(), "does not say what is locked: `weir multipath lock` \
                    writes it anew");
            }
            told(lock.flatten().map(|lock| lock.lan).unwrap_or_default());
            known = Some(now);
        }
        changes.any().await;
    }
}
