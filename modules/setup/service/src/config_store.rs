//! Files of the configuration, pending changes, and the reload of services.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ::uci::{OpenPackage, Package, Store};
use setup_core::messages::SetupClientFile;
use setup_core::openvpn::{Server, keep_out};
use setup_core::plan::Config;
use setup_core::{Bounds, Change, FileChange, Journal, JournalError, Line, difference};

use super::ca::CertificateAuthority;
use super::clients;
use super::config::Setup;
use super::file::read;
use super::ruleset::{Ruleset, concerns};
use runtime::Error;

/// Folder of OpenVPN, relative to the parent of the configuration.
pub const OPENVPN: &str = "openvpn/weir";
/// Folder of files that override those of the configuration, below the root.
const OVERRIDES: &str = "var/run/uci";

/// Packages that the wizard reads and writes. Any other file may be one that is not UCI at all.
const PACKAGES: [&str; 9] = [
    "dhcp",
    "firewall",
    "https-dns-proxy",
    "lime-node",
    "luci",
    "network",
    "openvpn",
    "system",
    "wireless",
];

/// A router's configuration.
pub struct ConfigStore {
    root: PathBuf,
    changes: PathBuf,
    reload: PathBuf,
    pub journal: Journal,
}

/// Changes to put into the files.
pub struct StagedChanges {
    pub files: Vec<FileChange>,
    pub lines: Vec<Line>,
    /// Files of clients, shown only once: they are stored nowhere.
    pub once: Vec<SetupClientFile>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl ConfigStore {
    pub fn new(setup: &Setup) -> Self {
        let (root, changes) = (setup.root.to_path_buf(), setup.changes.to_path_buf());
        let etc = root.parent().unwrap_or(Path::new("/"));
        let openvpn = etc.join(OPENVPN);
        let clients = openvpn.join("clients");
        let folders = [root.clone(), changes.clone(), openvpn, clients];
        let bounds = Bounds::new(folders, [etc.join("shadow")]);
        Self {
            reload: setup.reload.to_path_buf(),
            journal: Journal::new(setup.state.to_path_buf(), bounds),
            root,
            changes,
        }
    }

    /// Returns the folder above the configuration: `/etc`.
    pub fn etc(&self) -> &Path {
        self.root.parent().unwrap_or(Path::new("/"))
    }

    /// Returns uncommitted changes of `uci`.
    pub fn staged_changes(&self) -> Result<StagedChanges, Error> {
        let store = Store::new(&self.root, &self.changes);
        let names = store.list().map_err(no_configuration)?;
        let mut waiting = StagedChanges {
            files: Vec::new(),
            lines: Vec::new(),
            once: Vec::new(),
            notes: Vec::new(),
        };
        for name in names {
            let Some(opened) = open(&store, &name)? else {
                continue;
            };
            if opened.changes.is_empty() {
                continue;
            }
            self.not_overridden(&name)?;
            let before = read(opened.path())?.unwrap_or_default();
            let former = Package::read(&name, &before)
                .map_err(|error| Error::with_cause(format!("cannot read {name}"), &error, ""))?;
            waiting.lines.extend(difference(&former, &opened.package));
            waiting.files.push(FileChange {
                path: opened.path().to_path_buf(),
                before: Some(before),
                after: Some(opened.package.text()),
            });
            // The uncommitted change is part of the change, and returns if that is undone.
            let path = self.changes.join(&name);
            let before = read(&path)?;
            waiting.files.push(FileChange {
                path,
                before,
                after: None,
            });
        }
        Ok(waiting)
    }

    /// Returns a package with uncommitted changes of `uci`.
    pub fn uncommitted(&self) -> Result<Option<String>, Error> {
        if !self.root.is_dir() {
            return Ok(None);
        }
        let store = Store::new(&self.root, &self.changes);
        for name in store.list().unwrap_or_default() {
            if open(&store, &name)?.is_some_and(|opened| !opened.changes.is_empty()) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Returns all packages.
    ///
    /// # Errors
    /// A package cannot be read, or has uncommitted changes of `uci`, which a new file would lose.
    pub fn config(&self) -> Result<Config, Error> {
        let store = Store::new(&self.root, &self.changes);
        // A folder with nothing in it is a machine that was never set up.
        let names = match store.list() {
            Err(_) if self.root.is_dir() => Vec::new(),
            listed => listed.map_err(no_configuration)?,
        };
        let mut packages = Vec::new();
        for name in names {
            let Some(opened) = open(&store, &name)? else {
                continue;
            };
            if !opened.changes.is_empty() {
                return Err(Error::new(
                    format!("uncommitted changes of `uci` in {name}"),
                    "apply or revert them where they were made, and try again (in a terminal: \
                     `weir setup apply`, `weir uci revert`)",
                ));
            }
            packages.push(opened.package);
        }
        Ok(Config::new(packages))
    }

    /// Refuses a package that libuci takes from elsewhere: a change here would have no effect.
    fn not_overridden(&self, name: &str) -> Result<(), Error> {
        let mut store = Store::new(&self.root, &self.changes);
        let root = self.etc().parent().unwrap_or(Path::new("/"));
        store.set_overrides(root.join(OVERRIDES));
        let Some(path) = store.overriding(name) else {
            return Ok(());
        };
        let file = self.root.join(name);
        let what = format!(
            "cannot change {}: {} overrides that file",
            file.display(),
            path.display()
        );
        let hint = "change it at the source of the other file, or remove that file";
        Err(Error::new(what, hint))
    }

    /// Returns the differences of two configurations, as files.
    pub fn files(&self, before: &Config, after: &Config) -> Result<Vec<FileChange>, Error> {
        let mut files = Vec::new();
        for package in after.packages() {
            let former = before.package(package.name()).map(Package::text);
            let text = package.text();
            if former.as_ref() == Some(&text) || former.is_none() && text.is_empty() {
                continue;
            }
            self.not_overridden(package.name())?;
            let path = self.root.join(package.name());
            if path.is_symlink() && !path.exists() {
                let what = format!("cannot change {}: it is a broken link", path.display());
                let hint = "remove the link, or create its target";
                return Err(Error::new(what, hint));
            }
            files.push(FileChange {
                before: read(&path)?,
                path,
                after: Some(text),
            });
        }
        Ok(files)
    }

    /// Returns the changes that restore the files as they were before a change.
    pub fn former(&self, number: u64) -> Result<StagedChanges, Error> {
        // Some of OpenVPN's files follow from the configuration. Its keys do not: with old keys no
        // present client could connect.
        let ours = |path: &Path| path.starts_with(&self.root);
        let mut files = self.journal.before(number, ours).map_err(trouble)?;
        let (server, notes) = self.keep_out(&mut files)?;
        let mut lines = Vec::new();
        for file in &files {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            let package = |text: &Option<Vec<u8>>| {
                let text = text.as_deref().unwrap_or_default();
                Package::read_as(&name, text, ::uci::Strictness::Lenient)
            };
            if let (Ok(before), Ok(after)) = (package(&file.before), package(&file.after)) {
                lines.extend(difference(&before, &after));
            }
        }
        let folder = self.etc().join(OPENVPN);
        files.extend(clients::following(&folder, server.as_ref())?);
        Ok(StagedChanges {
            files,
            lines,
            once: Vec::new(),
            notes,
        })
    }

    /// Removes clients from old files that are no longer permitted in OpenVPN. Returns the
    /// resulting server, and notes.
    fn keep_out(
        &self,
        files: &mut Vec<FileChange>,
    ) -> Result<(Option<Server>, Vec<String>), Error> {
        let (mut now, mut former) = (Vec::new(), Vec::new());
        for name in ["network", "openvpn"] {
            let path = self.root.join(name);
            let text = read(&path)?;
            let file = files.iter().find(|file| file.path == path);
            let after = file.map_or(&text, |file| &file.after);
            let package = |text: &Option<Vec<u8>>| {
                let text = text.as_deref().unwrap_or_default();
                Package::read_as(name, text, ::uci::Strictness::Lenient).ok()
            };
            former.extend(package(after));
            now.extend(package(&text));
        }
        let (now, mut former) = (Config::new(now), Config::new(former));
        let before = former.clone();
        let folder = self.etc().join(OPENVPN);
        let authority = Server::of(&former).and_then(|_| CertificateAuthority::open(&folder).ok());
        let keys = authority.map_or_else(String::new, |authority| authority.mark);
        let gone = keep_out(&now, &mut former, &keys);
        for changed in self.files(&before, &former)? {
            files.retain(|file| file.path != changed.path);
            files.push(changed);
        }
        files.retain(|file| file.before != file.after);
        let note = |name: String| {
            format!(
                "leaving out {name}: it is not an OpenVPN client now, and its file is no longer \
                 valid. Add it on the page, which shows a new file"
            )
        };
        Ok((Server::of(&former), gone.into_iter().map(note).collect()))
    }

    /// Restores the old files if a change was not confirmed in time, and reloads services: the
    /// watchdog does not, if this method is faster.
    pub fn recover(&self) -> Result<Option<Change>, Error> {
        match self.put_back_late().transpose() {
            Some(back) => Ok(Some(self.reload_back(back)?.0)),
            None => Ok(None),
        }
    }

    /// Restores the old files if a change was not confirmed in time; does not reload services. The
    /// error carries the change, if a file stays as it is.
    pub fn put_back_late(&self) -> Result<Option<Change>, JournalError> {
        self.journal.recover(&setup_core::now()?)
    }

    /// Takes back the change that waits, and reloads services.
    pub fn undo(&self) -> Result<(Change, Option<String>), Error> {
        self.reload_back(self.journal.undo())
    }

    /// Reloads services for a change that was undone, as far as it was.
    fn reload_back(
        &self,
        back: Result<Change, JournalError>,
    ) -> Result<(Change, Option<String>), Error> {
        match back {
            Ok(change) => {
                let note = self.reload(&change)?;
                Ok((change, note))
            }
            Err(refused) => {
                if let JournalError::Refused { change, .. } = &refused {
                    self.reload(change)?;
                }
                Err(trouble(refused))
            }
        }
    }

    /// Returns the copies of files that another program wrote during an undone change.
    pub fn foreign_copies(&self, number: u64) -> Vec<PathBuf> {
        let begin = format!("found-{number}-");
        let entries = std::fs::read_dir(self.journal.folder())
            .into_iter()
            .flatten();
        let mut found: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&begin))
            .map(|entry| entry.path())
            .collect();
        found.sort();
        found
    }

    /// Returns true if a change removes uncommitted changes of `uci`. Until then the firewall reads
    /// those, too.
    pub fn is_staged(&self, waiting: &StagedChanges) -> bool {
        let mut files = waiting.files.iter();
        files.any(|file| file.after.is_none() && file.path.starts_with(&self.changes))
    }

    /// Returns OpenWrt's firewall, if it exists and reads these files.
    pub fn ruleset<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> Option<Ruleset> {
        if !concerns(&self.root, paths) {
            return None;
        }
        Ruleset::of(self.etc().parent().unwrap_or(Path::new("/")))
    }

    /// Reloads services. Returns a note if the system has no program for that.
    pub fn reload(&self, change: &Change) -> Result<Option<String>, Error> {
        if !self.reload.exists() {
            let reload = self.reload.display();
            return Ok(Some(format!(
                "missing {reload}: services were not reloaded"
            )));
        }
        if self.regenerate(change)? {
            run(&self.lime("lime-apply"), [])?;
        }
        let names = change
            .files
            .iter()
            .filter(|entry| entry.path.starts_with(&self.root))
            .filter_map(|entry| entry.path.file_name());
        run(&self.reload, names).map(|()| None)
    }

    /// Makes LibreMesh rewrite its files, if their source changed. Returns true if it did.
    pub fn regenerate(&self, change: &Change) -> Result<bool, Error> {
        let node = self.root.join("lime-node");
        if !change.files.iter().any(|entry| entry.path == node) {
            return Ok(false);
        }
        run(&self.lime("lime-config"), []).map(|()| true)
    }

    fn lime(&self, program: &str) -> PathBuf {
        let root = self.etc().parent().unwrap_or(Path::new("/"));
        root.join("usr/bin").join(program)
    }
}

/// Runs a program that reloads services.
fn run<'a>(program: &Path, words: impl IntoIterator<Item = &'a OsStr>) -> Result<(), Error> {
    let done = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    let what = format!("{} failed", program.display());
    let hint = "check `reload` under [setup] (in a terminal: run it by hand for its output)";
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::with_cause(
            what,
            &io::Error::other(status.to_string()),
            hint,
        )),
        Err(error) => Err(Error::with_cause(what, &error, hint)),
    }
}

fn no_configuration(error: ::uci::Error) -> Error {
    let hint = "name the folder: `root` under [setup]";
    Error::with_cause("no configuration", &error, hint)
}

/// Opens a package. `None`: the file is not UCI, and stays as it is. A link to no file is a missing
/// package, as for libuci.
fn open(store: &Store, name: &str) -> Result<Option<OpenPackage>, Error> {
    match store.open(name) {
        Ok(opened) => Ok(Some(opened)),
        Err(::uci::Error::NotFound(_)) => Ok(None),
        Err(_) if !PACKAGES.contains(&name) => Ok(None),
        Err(error) => Err(unreadable(name, &error)),
    }
}

fn unreadable(name: &str, error: &::uci::Error) -> Error {
    let what = format!("cannot read {name}");
    Error::with_cause(what, error, "fix the file, or remove it from the folder")
}

/// Beginning of a hint's last part, which is only of use in a terminal: the page does not show it.
pub const IN_A_TERMINAL: &str = " (in a terminal: ";

/// Converts a journal's error for people.
pub fn trouble(trouble: JournalError) -> Error {
    let hint = match &trouble {
        JournalError::Waits(_) => {
            "confirm or revert it, and try again (in a terminal: `weir setup confirm`, `weir setup \
             revert`)"
        }
        JournalError::Unfinished(_) => {
            "wait a moment, or revert it (in a terminal: `weir setup revert`)"
        }
        JournalError::Nothing => "see the list of changes (in a terminal: `weir setup show`)",
        JournalError::NoState(_) => "choose one from the list (in a terminal: `weir setup show`)",
        JournalError::Changed(_) => {
            "check the difference, and apply it again (in a terminal: `weir setup diff`)"
        }
        JournalError::Damaged { .. } => {
            "check the configuration, and repeat the settings that are wrong (in a terminal: `ls` \
             of that folder)"
        }
        JournalError::Outside(_) | JournalError::Refused { .. } => {
            "check that it is not a link, and that no other user can write to its folder (in a \
             terminal: `ls -la`, `chown root FOLDER`)"
        }
        JournalError::Io { .. } => {
            "check whether the flash is full or read-only (in a terminal: run it as root)"
        }
    };
    let what = match &trouble {
        JournalError::Refused { .. } => "a change is reverted only in part",
        _ => "nothing was changed",
    };
    Error::with_cause(what, &trouble, hint)
}

#[cfg(test)]
mod tests {
    use super::{ConfigStore, Setup};
    use std::fs;

    #[test]
    fn files_that_are_not_uci_are_left_alone() {
        let folder = std::env::temp_dir().join(format!("weir-place-{}", std::process::id()));
        let root = folder.join("config");
        fs::create_dir_all(&root).expect("a folder");
        let write = |name: &str, text: &[u8]| fs::write(root.join(name), text).expect("a file");
        write("system", b"config system\n\toption hostname 'OpenWrt'\n");
        write("vendor_blob", b"{\"not\": \"uci\"}\n\0\xff");
        let mut setup = Setup::default();
        setup.root.value.clone_from(&root);
        setup.changes.value = folder.join("changes");
        setup.state.value = folder.join("state");
        let place = ConfigStore::new(&setup);
        let config = place.config().expect("the rest can be read");
        let names: Vec<&str> = config.packages().map(::uci::Package::name).collect();
        assert_eq!(names, ["system"]);
        assert!(place.uncommitted().expect("nothing waits").is_none());
        assert!(
            place
                .staged_changes()
                .expect("nothing waits")
                .files
                .is_empty()
        );
        assert!(place.files(&config, &config).expect("files").is_empty());
        // The wizard has to read the files whole that it writes itself.
        write("network", b"{\"not\": \"uci\"}\n");
        assert!(place.config().is_err());
        fs::remove_dir_all(&folder).expect("the folder goes");
    }
}
