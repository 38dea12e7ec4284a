//! An open package.

use super::disk::write;
use crate::{change::Change, error::Error, package::Package};
use std::path::{Path, PathBuf};

/// A package with its uncommitted changes.
#[derive(Debug)]
pub struct OpenPackage {
    /// The package, with the changes applied.
    pub package: Package,
    /// The uncommitted changes.
    pub changes: Vec<Change>,
    pub(super) path: PathBuf,
    /// True if changes wait for a commit. Files given by path are written at once.
    pub(super) waits: bool,
}

impl OpenPackage {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the package into its file, if the text can be read again.
    pub(super) fn write(&self) -> Result<(), Error> {
        self.package.check()?;
        write(&self.path, &self.package.text())
    }
}
