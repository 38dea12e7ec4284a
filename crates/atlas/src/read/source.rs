//! Where files are: in folders, by name, at addresses.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Agent;

use super::archive::{self, Found, Limits, Visit, wanted};
use crate::error::Error;

/// What servers are told who asks.
const AGENT: &str = concat!("weir-atlas/", env!("CARGO_PKG_VERSION"));
/// Folders within folders.
const DEEP: usize = 16;
/// Octets that an address may send.
const SENT: u64 = 4 << 30;
/// Time that it may take.
const TIME: Duration = Duration::from_secs(3600);

/// Goes through what is at `place`, a file, a folder or an address. Files of a folder come in
/// the order of their names, those of an archive as they are in it.
pub fn walk(place: &str, limits: &Limits, visit: &mut Visit) -> Result<ControlFlow<()>, Error> {
    if is_address(place) {
        return fetch(place, limits, visit);
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

/// Whether it is asked by HTTP.
pub fn is_address(place: &str) -> bool {
    place.starts_with("http://") || place.starts_with("https://")
}

/// `inner`: the folder's name from the one on that was given.
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
        let wrong = |error: std::io::Error| Found::Wrong {
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

/// What asks addresses.
pub(crate) fn agent(time: Duration) -> Agent {
    Agent::config_builder()
        .user_agent(AGENT)
        .timeout_global(Some(time))
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_per_read(Some(Duration::from_secs(60)))
        .max_redirects(5)
        .http_status_as_error(false)
        .build()
        .into()
}

/// The last part of an address's path, as a name of a file.
pub(crate) fn name_of(address: &str) -> &str {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((_, name)) => name,
        None => "index",
    }
}

/// An address without what may be a secret: who asks, and what stands behind `?`.
fn told(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

fn fetch(address: &str, limits: &Limits, visit: &mut Visit) -> Result<ControlFlow<()>, Error> {
    let failed = |why: String| Error::Other(format!("{}: {why}", told(address)));
    let answer = agent(TIME).get(address).call();
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    if !answer.status().is_success() {
        return Err(failed(format!("it answers {}", answer.status())));
    }
    let mut body = answer.into_body().into_reader().take(SENT);
    archive::open(name_of(address), &mut body, limits, visit)
}
