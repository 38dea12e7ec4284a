//! The option that names the folder with the data.

use std::io;
use std::path::PathBuf;

use clap::Args;

/// Location of the data.
#[derive(Args, Clone, Debug)]
pub struct Data {
    /// Folder of the data; created by `import`
    #[arg(long, value_name = "FOLDER", default_value = "atlas-data", value_parser = absolute)]
    pub data: PathBuf,
}

/// Returns an absolute path, which is valid in every process: processes that answer queries start
/// in another folder.
fn absolute(path: &str) -> io::Result<PathBuf> {
    std::path::absolute(path)
}
