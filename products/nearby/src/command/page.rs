//! Options of `run` for the page.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::daemon::PageSettings;

/// As options.
#[derive(Debug, clap::Args)]
#[group(id = "page-arguments")]
pub struct Arguments {
    /// Serve a page, and figures for Prometheus at /metrics, such as at 127.0.0.1:9348
    #[arg(long, value_name = "ADDRESS:PORT")]
    page: Option<SocketAddr>,
    /// Require the token in this file before the page is shown: necessary if other machines reach
    /// the page
    #[arg(long, requires = "page", value_name = "FILE")]
    page_token: Option<PathBuf>,
}

impl Arguments {
    /// Returns the settings of the page, if there is to be one.
    pub fn settings(&self) -> Option<PageSettings> {
        self.page.map(|listen| PageSettings {
            listen,
            token: self.page_token.clone(),
        })
    }
}
