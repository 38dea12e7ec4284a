//! The folder of configuration files, and the folder of uncommitted changes.

mod disk;
mod open_package;
mod uncommitted;

use crate::{
    change::{Change, Verb},
    error::Error,
    names::is_file,
    package::{Package, Strictness},
};
use disk::{Hold, failed, lock, lock_changes, sweep, trusted, write};
pub use open_package::OpenPackage;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::ffi::OsStrExt,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Folders of configuration files and of uncommitted changes.
#[derive(Clone, Debug)]
pub struct Store {
    config: PathBuf,
    /// Folder of files that override those of their names in `config`, if any.
    overrides: Option<PathBuf>,
    /// Folders of changes, in the order of application; new changes are written to the last one.
    changes: Vec<PathBuf>,
    /// Treatment of malformed lines.
    pub strictness: Strictness,
}

impl Default for Store {
    /// Uses `/etc/config`, overrides in `/var/run/uci`, and `/tmp/.uci`, as libuci since 2025.
    fn default() -> Store {
        let mut store = Store::new("/etc/config", "/tmp/.uci");
        store.set_overrides("/var/run/uci");
        store
    }
}

impl Store {
    /// Uses these two folders, which need not exist yet, without overrides.
    pub fn new(config: impl Into<PathBuf>, changes: impl Into<PathBuf>) -> Store {
        Store {
            config: config.into(),
            overrides: None,
            changes: vec![changes.into()],
            strictness: Strictness::Strict,
        }
    }

    /// Sets the folder of configuration files.
    pub fn set_config(&mut self, config: impl Into<PathBuf>) {
        self.config = config.into();
    }

    /// Sets the folder whose packages override others of the same name; commits go there. An empty
    /// path means no folder.
    pub fn set_overrides(&mut self, overrides: impl Into<PathBuf>) {
        let overrides = overrides.into();
        self.overrides = (!overrides.as_os_str().is_empty()).then_some(overrides);
    }

    /// Returns the file that overrides a package, if any.
    pub fn overriding(&self, name: &str) -> Option<PathBuf> {
        let path = self.overrides.as_ref()?.join(name);
        path.exists().then_some(path)
    }

    /// Sets the folder for new changes. Changes in the former folders count, too.
    pub fn set_changes(&mut self, changes: impl Into<PathBuf>) {
        let changes = changes.into();
        self.changes.retain(|known| *known != changes);
        self.changes.push(changes);
    }

    /// Reads changes from one more folder.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if the folder is in use already.
    pub fn add_changes(&mut self, changes: impl Into<PathBuf>) -> Result<(), Error> {
        let changes = changes.into();
        if self.changes.contains(&changes) {
            return Err(Error::Duplicate(format!(
                "folder of changes {}",
                changes.display()
            )));
        }
        self.changes.insert(self.changes.len() - 1, changes);
        Ok(())
    }

    /// Returns the names of all packages, sorted.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the folder does not exist, [`Error::Io`].
    pub fn list(&self) -> Result<Vec<String>, Error> {
        let folder = match fs::read_dir(&self.config) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.nothing()),
            Err(error) => return Err(failed(&self.config)(error)),
        };
        let mut names = Vec::new();
        for entry in folder {
            let entry = entry.map_err(failed(&self.config))?;
            let name = entry.file_name();
            if let Some(name) = name.to_str().filter(|name| is_file(name.as_bytes()))
                && !entry.path().is_dir()
            {
                names.push(name.to_owned());
            }
        }
        if names.is_empty() {
            return Err(self.nothing());
        }
        names.sort();
        Ok(names)
    }

    fn nothing(&self) -> Error {
        Error::NotFound(format!("configuration in {}", self.config.display()))
    }

    /// Reads a package: its file, and the uncommitted changes. A name that begins with `/` or `./`
    /// is a path.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Syntax`], [`Error::Io`].
    pub fn open(&self, name: &str) -> Result<OpenPackage, Error> {
        let (path, waits) = self.path(name)?;
        if !path.is_file() {
            return Err(absent(&path));
        }
        // Locked until the changes are read: a commit in between would remove them, or they would
        // apply twice.
        let file = lock(&path, OpenOptions::new().read(true), Hold::Shared)?;
        let file = file.ok_or_else(|| absent(&path))?;
        let package = self.read(&path, &file)?;
        let (opened, _) = self.with_changes(package, path, waits, Hold::Shared)?;
        Ok(opened)
    }

    fn path(&self, name: &str) -> Result<(PathBuf, bool), Error> {
        let waits = !(name.starts_with('/') || name.starts_with("./"));
        let file = Path::new(name).file_name().unwrap_or_default().as_bytes();
        if !is_file(if waits { name.as_bytes() } else { file }) {
            return Err(Error::Invalid(format!(
                "invalid package name `{name}`: printable ASCII without blanks, / and ."
            )));
        }
        let path = if waits {
            let overriding = self.overriding(name);
            overriding.unwrap_or_else(|| self.config.join(name))
        } else {
            PathBuf::from(name)
        };
        Ok((path, waits))
    }

    fn read(&self, path: &Path, mut file: &File) -> Result<Package, Error> {
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed(path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Package::read_as(&name, &text, self.strictness)
    }

    /// Applies the uncommitted changes. Returns the last folder's file of changes too, locked.
    fn with_changes(
        &self,
        mut package: Package,
        path: PathBuf,
        waits: bool,
        hold: Hold,
    ) -> Result<(OpenPackage, Option<File>), Error> {
        let mut changes = Vec::new();
        let mut last = None;
        if waits {
            let name = package.name();
            let (folder, others) = self.changes.split_last().expect("there is always one");
            for folder in others {
                if let Some((found, _)) = uncommitted::read(folder, name, Hold::Shared)? {
                    changes.extend(found);
                }
            }
            if let Some((found, file)) = uncommitted::read(folder, name, hold)? {
                changes.extend(found);
                last = Some(file);
            }
            // Changes that no longer apply, because others changed the file, are skipped, as in
            // libuci.
            for change in &changes {
                let _ = change.apply(&mut package);
            }
        }
        let opened = OpenPackage {
            package,
            changes,
            path,
            waits,
        };
        Ok((opened, last))
    }

    /// Applies a change, and stores it as uncommitted; a file given by path is written at once.
    ///
    /// # Errors
    /// Those of the edit, [`Error::Io`].
    pub fn change(&self, opened: &mut OpenPackage, change: &Change) -> Result<(), Error> {
        change.apply(&mut opened.package)?;
        if opened.waits {
            self.store_changes(opened, std::slice::from_ref(change))
        } else {
            opened.write()
        }
    }

    /// Adds an unnamed section, and returns its generated name.
    ///
    /// # Errors
    /// As [`Store::change`].
    pub fn add(&self, opened: &mut OpenPackage, kind: &str) -> Result<String, Error> {
        let section = opened.package.add(kind)?.to_owned();
        let change = Change {
            verb: Verb::Add,
            section: section.clone(),
            option: None,
            value: Some(kind.into()),
        };
        if opened.waits {
            self.store_changes(opened, &[change])?;
        } else {
            opened.write()?;
        }
        Ok(section)
    }

    /// Stores applied changes as uncommitted.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn store_changes(&self, opened: &OpenPackage, changes: &[Change]) -> Result<(), Error> {
        let folder = self.changes.last().expect("there is always one");
        if fs::symlink_metadata(folder).is_err() {
            // Same mode as the configuration, which may hold secrets.
            let mode = fs::metadata(&self.config).map_or(0o700, |data| data.mode() & 0o777);
            DirBuilder::new()
                .mode(mode)
                .create(folder)
                .map_err(failed(folder))?;
        }
        trusted(folder)?;
        let path = folder.join(opened.package.name());
        let mode = fs::metadata(&opened.path).map_or(0o600, |data| data.mode() & 0o777);
        let mut open = OpenOptions::new();
        open.read(true).append(true).create(true).mode(mode);
        let name = opened.package.name();
        let lines: Vec<u8> = changes
            .iter()
            .flat_map(|change| change.line(name))
            .collect();
        uncommitted::append(&path, &mut open, &lines)
    }

    /// Writes uncommitted changes to the file, atomically.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Syntax`], [`Error::Io`].
    pub fn commit(&self, name: &str) -> Result<(), Error> {
        let (path, waits) = self.path(name)?;
        let mut open = OpenOptions::new();
        open.read(true).write(true);
        let file = lock(&path, &open, Hold::Exclusive)?.ok_or_else(|| absent(&path))?;
        let package = self.read(&path, &file)?;
        let (opened, last) = self.with_changes(package, path, waits, Hold::Exclusive)?;
        if opened.changes.is_empty() {
            return Ok(());
        }
        opened.package.check()?;
        sweep(&opened.path);
        opened.write()?;
        // Only now: a process stopped in between has written the file, and finds the changes
        // uncommitted once more. Locked since reading: changes of others come behind.
        if let Some(file) = last {
            let folder = self.changes.last().expect("there is always one");
            let path = folder.join(name);
            file.set_len(0).map_err(failed(&path))?;
        }
        Ok(())
    }

    /// Reverts uncommitted changes: of the package, of a section, or of an option.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a file given by path, [`Error::Io`].
    pub fn revert(
        &self,
        opened: &OpenPackage,
        section: Option<&str>,
        option: Option<&str>,
    ) -> Result<(), Error> {
        if !opened.waits {
            return Err(Error::Invalid(format!(
                "changes of {} are written at once",
                opened.path.display()
            )));
        }
        let name = opened.package.name();
        let folder = self.changes.last().expect("there is always one");
        let path = folder.join(name);
        if !path.exists() {
            return Ok(());
        }
        trusted(folder)?;
        let mut open = OpenOptions::new();
        open.read(true).write(true);
        let Some(mut file) = lock_changes(&path, &mut open, Hold::Exclusive)? else {
            return Ok(());
        };
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed(&path))?;
        let kept = Change::read(name, &text).into_iter().filter(|change| {
            section.is_some_and(|name| name != change.section)
                || option.is_some_and(|name| Some(name) != change.option.as_deref())
        });
        let kept: Vec<u8> = kept.flat_map(|change| change.line(name)).collect();
        file.rewind()
            .and_then(|()| file.set_len(0))
            .and_then(|()| file.write_all(&kept))
            .map_err(failed(&path))
    }

    /// Merges another package, as uncommitted changes: sections of the same name are changed,
    /// elements are added to lists.
    ///
    /// # Errors
    /// As [`Store::change`].
    pub fn merge(&self, opened: &mut OpenPackage, other: &Package) -> Result<(), Error> {
        let mut changes = Vec::new();
        for section in other.sections() {
            let value = Some(section.kind.clone().into_bytes());
            let name = if section.anonymous {
                let name = opened.package.add(&section.kind)?.to_owned();
                changes.push(Change {
                    verb: Verb::Add,
                    section: name.clone(),
                    option: None,
                    value,
                });
                name
            } else {
                let change = Change {
                    verb: Verb::Set,
                    section: section.name.clone(),
                    option: None,
                    value,
                };
                change.apply(&mut opened.package)?;
                changes.push(change);
                section.name.clone()
            };
            for element in &section.options {
                for value in element.values() {
                    let verb = if element.list {
                        Verb::AddList
                    } else {
                        Verb::Set
                    };
                    let (option, value) = (Some(element.name.clone()), Some(value.to_vec()));
                    let change = Change {
                        verb,
                        section: name.clone(),
                        option,
                        value,
                    };
                    change.apply(&mut opened.package)?;
                    changes.push(change);
                }
            }
        }
        if opened.waits {
            self.store_changes(opened, &changes)
        } else {
            opened.write()
        }
    }

    /// Replaces the package of this name, if any, in libuci's format.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn replace(&self, package: &Package) -> Result<(), Error> {
        let path = self.config.join(package.name());
        write(
            &path,
            &crate::export(package, false, crate::NameStyle::Extended),
        )
    }
}

fn absent(path: &Path) -> Error {
    Error::NotFound(format!("file {}", path.display()))
}
