//! The list of what was written into a folder: so what is no longer written can go, and nothing of
//! others ever does.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use crate::error::Error;
use crate::page::asset::tag;

/// Lies in a folder that was made here: what is in it may be written over.
const MARK: &str = ".weir-atlas-site";

/// Its first line.
const ABOUT: &str = "This folder is written by `weir-atlas site`. Its files, by content and name:";

/// The list of a folder.
pub(super) struct Owned {
    root: PathBuf,
    /// Of earlier ones: a file's contents, by its name.
    before: HashMap<String, HashSet<String>>,
    /// Of this one: lines of the list.
    now: String,
    names: HashSet<String>,
    list: File,
}

impl Owned {
    /// Makes the folder its own; one with files from elsewhere is refused, unless `force`.
    pub fn claim(root: &Path, force: bool) -> Result<Self, Error> {
        fs::create_dir_all(root).map_err(Error::file(root))?;
        let mark = root.join(MARK);
        let mut there = fs::read_dir(root).map_err(Error::file(root))?;
        if !force && !mark.exists() && there.next().is_some() {
            let what = "the folder has files that `weir-atlas site` did not write; \
                        give an empty one, or --force to write over what has the same names";
            return Err(Error::Asked(format!("{}: {what}", root.display())));
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
        let mut list = File::options()
            .append(true)
            .create(true)
            .open(&mark)
            .map_err(Error::file(&mark))?;
        // The last line of one that was interrupted may have no end.
        let begin = match old.is_empty() {
            true => format!("{ABOUT}\n"),
            false => "\n".to_owned(),
        };
        list.write_all(begin.as_bytes())
            .map_err(Error::file(&mark))?;
        Ok(Self {
            root: root.to_owned(),
            before,
            now: String::new(),
            names: HashSet::new(),
            list,
        })
    }

    /// Notes a file that is to be written: before it is, so that the list has it whatever happens.
    pub fn note(&mut self, name: &str, octets: &[u8]) -> Result<(), Error> {
        let line = format!("{} {name}\n", tag(octets));
        self.list
            .write_all(line.as_bytes())
            .map_err(Error::file(self.root.join(MARK)))?;
        self.now.push_str(&line);
        self.names.insert(name.to_owned());
        Ok(())
    }

    /// Removes what earlier ones wrote and this one did not, where its content is still what was
    /// written, and folders that are empty then; how many files.
    pub fn tidy(self) -> Result<u64, Error> {
        let mut removed = 0;
        let gone = self.before.iter();
        for (name, tags) in gone.filter(|(name, _)| !self.names.contains(*name)) {
            if is_within(name) && self.remove(name, tags)? {
                removed += 1;
            }
        }
        let mark = self.root.join(MARK);
        let new = mark.with_added_extension("new");
        fs::write(&new, format!("{ABOUT}\n{}", self.now)).map_err(Error::file(&new))?;
        fs::rename(&new, &mark).map_err(Error::file(&mark))?;
        Ok(removed)
    }

    fn remove(&self, name: &str, tags: &HashSet<String>) -> Result<bool, Error> {
        let path = self.root.join(name);
        // What is no file, or not there any more, is not what was written.
        let own = fs::read(&path).is_ok_and(|octets| tags.contains(&tag(&octets)));
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

/// Whether a name of the list leads nowhere else.
fn is_within(name: &str) -> bool {
    let plain = |part| matches!(part, Component::Normal(_));
    !name.is_empty() && Path::new(name).components().all(plain)
}
