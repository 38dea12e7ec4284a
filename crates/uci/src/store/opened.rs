//! A package that was opened.

use super::disk::write;
use crate::{change::Change, error::Error, package::Package};
use std::path::{Path, PathBuf};

/// A package with the changes that are not committed.
#[derive(Debug)]
pub struct Opened {
    /// The package, changed.
    pub package: Package,
    /// What is not committed.
    pub changes: Vec<Change>,
    pub(super) path: PathBuf,
    /// Whether changes of it wait for a commit. Those of files elsewhere are written at once.
    pub(super) waits: bool,
}

impl Opened {
    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the package into its file, if that can be read again.
    pub(super) fn put(&self) -> Result<(), Error> {
        self.package.check()?;
        write(&self.path, &self.package.text())
    }
}
