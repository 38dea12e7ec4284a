//! Sources of files: folders, names and addresses.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::address::{fetch, is_address};
use super::archive::{self, ArchiveItem, Limits, Visit, wanted};
use super::request::Pace;
use crate::error::Error;

/// Folders within folders.
const DEEP: usize = 16;

/// Visits the files at `place`, a file, a folder or an address. Files of a folder are in the order
/// of names, those of an archive in its own.
pub fn walk(place: &str, limits: &Limits, visit: &mut Visit) -> Result<ControlFlow<()>, Error> {
    if is_address(place) {
        return fetch(place, limits, Pace::default(), visit);
    }
    if place.is_empty() {
        let what = "the path is empty: name a folder, a file, an archive or an address";
        return Err(Error::Asked(what.to_owned()));
    }
    let path = Path::new(place);
    let name = path
        .file_name()
        .map_or(place.into(), |name| name.to_string_lossy());
    let kind = path.metadata().map_err(Error::file(path))?;
    if kind.is_dir() {
        return folder(path, "", 0, limits, visit);
    }
    if !kind.is_file() {
        let what = format!("{place}: neither a file nor a folder");
        return Err(Error::Asked(what));
    }
    let mut file = File::open(path).map_err(Error::file(path))?;
    archive::open(&name, &mut file, limits, visit)
}

/// Reads a folder. `inner`: the folder's name relative to the given folder.
fn folder(
    path: &Path,
    inner: &str,
    deep: usize,
    limits: &Limits,
    visit: &mut Visit,
) -> Result<ControlFlow<()>, Error> {
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(Error::file(path))? {
        found.push(entry.map_err(Error::file(path))?.path());
    }
    found.sort_unstable();
    for path in found {
        let own = path.file_name().unwrap_or_default().to_string_lossy();
        let name = match inner {
            "" => own.clone().into_owned(),
            inner => format!("{inner}/{own}"),
        };
        let wrong = |error: std::io::Error| ArchiveItem::Wrong {
            name: &name,
            what: error.to_string(),
        };
        // A link to a folder may lead back: it is not followed.
        let linked = path.is_symlink();
        let way = match path.metadata() {
            Ok(kind) if kind.is_dir() && !own.starts_with('.') && !linked && deep < DEEP => {
                folder(&path, &name, deep + 1, limits, visit)?
            }
            Ok(kind) if kind.is_file() && wanted(&own) => match File::open(&path) {
                Ok(mut file) => archive::open(&name, &mut file, limits, visit)?,
                Err(error) => visit(wrong(error))?,
            },
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => visit(wrong(error))?,
        };
        if way.is_break() {
            return Ok(way);
        }
    }
    Ok(ControlFlow::Continue(()))
}
