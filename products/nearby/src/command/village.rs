//! Options for a village, and the file with its secret.

use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::Failure;
use crate::daemon::village::{NodeAddress, Settings};
use crate::village::Secret;

/// Bytes of the file at most: its line has fewer.
const LONGEST: u64 = 1024;

/// Peers that are reached by IP.
#[derive(Debug, Args)]
#[group(id = "village-arguments")]
pub struct Arguments {
    /// Join the village whose secret is in this file; `weir-nearby village` makes a secret
    #[arg(long, value_name = "FILE")]
    village: Option<PathBuf>,
    /// Address for other nodes to connect to [default: port 9351 on all addresses]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "village")]
    listen: Vec<SocketAddr>,
    /// Node to connect to; the default port is 9351
    #[arg(long = "node", value_name = "HOST:PORT", requires = "village")]
    nodes: Vec<NodeAddress>,
}

impl Arguments {
    /// Returns the settings of the village, if there is one.
    pub fn settings(&self) -> Result<Option<Settings>, Failure> {
        let Some(path) = &self.village else {
            return Ok(None);
        };
        Ok(Some(Settings {
            secret: read(path)?,
            listen: self.listen.clone(),
            nodes: self.nodes.clone(),
        }))
    }
}

/// Reads the file.
fn read(path: &Path) -> Result<Secret, Failure> {
    let name = path.display();
    let wrong = |error: std::io::Error| {
        Failure(
            format!("cannot read the village's secret from {name}: {error}"),
            "create one by `weir-nearby village > FILE`, or copy that of another node".to_owned(),
        )
    };
    let file = File::open(path).map_err(wrong)?;
    let mode = file.metadata().map_err(wrong)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(Failure(
            format!(
                "others may read or change the village's secret in {name} (mode {:03o})",
                mode & 0o777
            ),
            format!(
                "run `chmod 600 {name}`, and create another secret if others may have read this one"
            ),
        ));
    }
    let mut text = String::new();
    file.take(LONGEST)
        .read_to_string(&mut text)
        .map_err(wrong)?;
    text.parse().map_err(|error| {
        Failure(
            format!("no valid village secret in {name}: {error}"),
            "copy the file from another node".to_owned(),
        )
    })
}

/// Prints a new secret. A file that it is written to is its owner's alone from then on.
pub fn make() -> Result<(), Failure> {
    let mut octets = [0; 32];
    getrandom::fill(&mut octets).map_err(|error| {
        Failure(
            format!("cannot read random numbers: {error}"),
            String::new(),
        )
    })?;
    let mut out = std::io::stdout();
    let file = File::from(out.as_fd().try_clone_to_owned()?);
    if file.metadata()?.is_file() {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    writeln!(out, "{}", Secret::new(octets).line())?;
    Ok(())
}
