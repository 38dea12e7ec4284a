//! `[web]`.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::Value;
use toml::de::DeValue;

use runtime::config::{FileValue, Section, ValueError, absolute, table, words};

/// Configuration sections of this module.
pub const SECTIONS: [Section; 1] = [Section::of::<Web>("web")];

table! {
    /// `[web]`: the page, and figures for Prometheus.
    Web {
        /// Serve the web page.
        Restart enabled: bool = true;
        /// Addresses and ports of the page. Addresses beyond this machine need TLS.
        Restart listen: Vec<SocketAddr> = vec![web::DEFAULT_LISTEN];
        /// Names by which browsers reach the page, in addition to localhost and the address itself.
        Restart hosts: Vec<String> = Vec::new();
        /// HTTPS: "own" with a certificate that weir makes, "files" with your certificate.
        Restart tls: PageTls = PageTls::Off;
        /// With tls = "files": the certificate, with its intermediate certificates.
        Restart certificate: PathBuf = "/etc/weir/tls/fullchain.pem".into();
        /// With tls = "files": the private key of the certificate.
        Restart key: PathBuf = "/etc/weir/tls/privkey.pem".into();
        /// Listen without TLS even where others on the network can read the password.
        Restart insecure: bool = false;
        /// File of the password's hash, as `weir passwd` writes it.
        Restart password: PathBuf = web::DEFAULT_PASSWORD_FILE.into();
        /// Access to /metrics, for Prometheus: none, programs on this machine, or all clients with
        /// the token in a file.
        Restart metrics: MetricsAccess = MetricsAccess::Off;
    }
}

/// Source of the certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageTls {
    /// Plain HTTP.
    #[default]
    Off,
    /// A self-signed certificate, created once and stored in `/var/lib/weir/tls`.
    Own,
    /// [`Web::certificate`] and [`Web::key`].
    Files,
}

/// Access to `/metrics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MetricsAccess {
    /// No access.
    #[default]
    Off,
    /// Programs on this machine.
    Loopback,
    /// Clients with the token in this file.
    Token(PathBuf),
}

impl FileValue for MetricsAccess {
    const ALLOWED: &'static str =
        "\"off\", \"loopback\", or the file of a token, an absolute path in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        match value.as_str().ok_or(None)? {
            "off" => Ok(Self::Off),
            "loopback" => Ok(Self::Loopback),
            text => absolute(text).map(Self::Token).ok_or(None),
        }
    }

    fn show(&self) -> Value {
        match self {
            Self::Off => "off".into(),
            Self::Loopback => "loopback".into(),
            Self::Token(path) => path.to_string_lossy().into(),
        }
    }
}

words!(PageTls, "\"off\", \"own\" or \"files\"",
    "off" => Self::Off, "own" => Self::Own, "files" => Self::Files);
