//! Files of people's own.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::Error;

/// Reads a file of at most `most` bytes. A device may be endless and has no length.
pub(super) fn whole_file(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let wrong = |why: String| Error::Asked(format!("{}: {why}", path.display()));
    if !path.metadata().map_err(Error::file(path))?.is_file() {
        return Err(wrong("not a regular file".to_owned()));
    }
    let file = File::open(path).map_err(Error::file(path))?;
    let mut octets = Vec::new();
    let mut file = file.take(most + 1);
    file.read_to_end(&mut octets).map_err(Error::file(path))?;
    match octets.len() as u64 > most {
        true => Err(wrong(format!("it has more than {} MiB", most >> 20))),
        false => Ok(octets),
    }
}
