//! Files that may be missing.

use std::io;
use std::path::Path;

use runtime::Error;

/// Reads a file. `None`: the file does not exist.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match std::fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let what = format!("cannot read {}", path.display());
            Err(Error::with_cause(what, &error, "run it as root"))
        }
    }
}
