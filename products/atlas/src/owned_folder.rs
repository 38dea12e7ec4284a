//! A folder with a list of the files written there: outdated ones are removed, foreign ones never.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// The list of a folder.
pub(crate) struct OwnedFolder {
    root: PathBuf,
    mark: PathBuf,
    /// First line of the list.
    about: String,
    /// Contents listed earlier, by file name.
    before: HashMap<String, HashSet<String>>,
    /// Lines of the new list.
    now: String,
    names: HashSet<String>,
    list: File,
    /// Lock of the folder: two exports at once would overwrite each other's files.
    _locked: File,
}

impl OwnedFolder {
    /// Makes the folder the own one of a command, which is to write files of these names. Before
    /// anything is written, links and folders in their way are refused, and, unless `force`, files
    /// from elsewhere.
    pub fn claim<'n>(
        root: &Path,
        command: &str,
        force: bool,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Self, Error> {
        fs::create_dir_all(root).map_err(Error::file(root))?;
        let locked = File::open(root).map_err(Error::file(root))?;
        locked.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Error::Other(format!(
                "another weir-atlas writes into {}: try again when it has finished",
                root.display()
            )),
            TryLockError::Error(error) => Error::file(root)(error),
        })?;
        // The list marks a folder of this command, whose files may be overwritten.
        let list = format!(".weir-atlas-{command}");
        let mark = root.join(&list);
        clear(root, &list)?;
        let mut there = fs::read_dir(root).map_err(Error::file(root))?;
        if !force && !mark.exists() && there.next().is_some() {
            return Err(Error::Asked(format!(
                "{}: the folder has files that `weir-atlas {command}` did not write; give an empty \
                 one, or --force to write over what has the same names",
                root.display()
            )));
        }
        let old = match fs::read(&mark) {
            Ok(octets) => String::from_utf8_lossy(&octets).into_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::file(&mark)(error)),
        };
        let mut before = HashMap::<String, HashSet<String>>::new();
        for (tag, name) in old.lines().skip(1).filter_map(|line| line.split_once(' ')) {
            let tags = before.entry(name.to_owned()).or_default();
            tags.insert(tag.to_owned());
        }
        for name in names {
            let there = clear(root, name)?;
            if there && !force && !before.contains_key(name) {
                return Err(Error::Asked(format!(
                    "{}: `weir-atlas {command}` did not write it; move it away, or give --force to \
                     write over it",
                    root.join(name).display()
                )));
            }
        }
        let mut list = File::options()
            .append(true)
            .create(true)
            .open(&mark)
            .map_err(Error::file(&mark))?;
        let about = format!(
            "This folder is written by `weir-atlas {command}`. Its files, by content and name:"
        );
        // The last line of one that was interrupted may have no end.
        let begin = match old.is_empty() {
            true => format!("{about}\n"),
            false => "\n".to_owned(),
        };
        list.write_all(begin.as_bytes())
            .map_err(Error::file(&mark))?;
        Ok(Self {
            root: root.to_owned(),
            mark,
            about,
            before,
            now: String::new(),
            names: HashSet::new(),
            list,
            _locked: locked,
        })
    }

    /// Writes a file with `fill`, first under a temporary name: readers see either the old file or
    /// the new one.
    pub fn place<T>(
        &mut self,
        name: &str,
        fill: impl FnOnce(&Path) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let path = self.root.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::file(folder))?;
        }
        let new = unfinished(&path);
        let placed = fill(&new).and_then(|filled| {
            self.note(name, &new)?;
            fs::rename(&new, &path).map_err(Error::file(&path))?;
            Ok(filled)
        });
        if placed.is_err() {
            let _ = fs::remove_file(&new);
        }
        placed
    }

    /// Lists a file before it gets its name, so that the list is complete after a crash.
    fn note(&mut self, name: &str, new: &Path) -> Result<(), Error> {
        let tag = tag(new).map_err(Error::file(new))?;
        let line = format!("{tag} {name}\n");
        self.list
            .write_all(line.as_bytes())
            .map_err(Error::file(&self.mark))?;
        self.now.push_str(&line);
        self.names.insert(name.to_owned());
        Ok(())
    }

    /// Removes files of earlier runs that are outdated and unchanged, and the folders empty
    /// afterwards; returns the number of files.
    pub fn tidy(self) -> Result<u64, Error> {
        let mut removed = 0;
        let gone = self.before.iter();
        for (name, tags) in gone.filter(|(name, _)| !self.names.contains(*name)) {
            if is_within(name) && self.remove(name, tags)? {
                removed += 1;
            }
        }
        let new = unfinished(&self.mark);
        fs::write(&new, format!("{}\n{}", self.about, self.now)).map_err(Error::file(&new))?;
        fs::rename(&new, &self.mark).map_err(Error::file(&self.mark))?;
        Ok(removed)
    }

    fn remove(&self, name: &str, tags: &HashSet<String>) -> Result<bool, Error> {
        let path = self.root.join(name);
        // A folder, a link or a missing file is not the written file.
        let own = way(&self.root, name).all(|part| !part.is_symlink())
            && tag(&path).is_ok_and(|tag| tags.contains(&tag));
        if !own {
            return Ok(false);
        }
        fs::remove_file(&path).map_err(Error::file(&path))?;
        let above = path.ancestors().skip(1);
        for folder in above.take_while(|folder| *folder != self.root) {
            // A folder that is not empty stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(true)
    }
}

/// Refuses obstacles to a file of this name; returns true if the file exists.
fn clear(root: &Path, name: &str) -> Result<bool, Error> {
    let path = root.join(name);
    for part in way(root, name).chain([unfinished(&path)]) {
        let Ok(there) = fs::symlink_metadata(&part) else {
            continue;
        };
        let is_above = path != part && path.starts_with(&part);
        let wrong = match there.file_type() {
            kind if kind.is_symlink() => "is a link, which would lead files elsewhere",
            kind if kind.is_dir() && !is_above => "is a folder, where a file must be written",
            kind if !kind.is_dir() && is_above => "is not a folder, where files must be written",
            _ => continue,
        };
        let part = part.display();
        let fix = "move it away, or give another folder";
        return Err(Error::Asked(format!("{part} {wrong}: {fix}")));
    }
    Ok(path.exists())
}

/// Returns the folders on the path to a file, and the file.
fn way(root: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    let parts = Path::new(name).components();
    parts.scan(root.to_owned(), |path, part| {
        path.push(part);
        Some(path.clone())
    })
}

/// Returns a file's name while it is being written.
fn unfinished(path: &Path) -> PathBuf {
    path.with_added_extension("new")
}

/// Returns sixteen hexadecimal digits that identify the content.
fn tag(path: &Path) -> io::Result<String> {
    let mut digits = digest(path)?;
    digits.truncate(16);
    Ok(digits)
}

/// Returns a hash of a file of any size.
pub(crate) fn digest(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Returns true if a listed name stays within the folder.
fn is_within(name: &str) -> bool {
    let plain = |part| matches!(part, Component::Normal(_));
    !name.is_empty() && Path::new(name).components().all(plain)
}
