//! Settings of the web page.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::Setting;

/// `[web]`: the page, and figures for Prometheus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Web {
    /// Serve it at all.
    pub enabled: Setting<bool>,
    /// Where it listens.
    pub listen: Setting<Vec<SocketAddr>>,
    /// Names by which browsers reach it, besides `localhost` and the address that they connect to.
    pub hosts: Setting<Vec<String>>,
    /// Whether, and with what certificate, it speaks HTTPS.
    pub tls: Setting<WebTls>,
    /// The certificate, and those between it and a root.
    pub certificate: Setting<PathBuf>,
    /// Its private key.
    pub key: Setting<PathBuf>,
    /// Listen without TLS even where others could read along.
    pub insecure: Setting<bool>,
    /// File of the password's hash.
    pub password: Setting<PathBuf>,
    /// Who gets `/metrics`.
    pub metrics: Setting<MetricsFor>,
}

impl Default for Web {
    fn default() -> Self {
        Self {
            enabled: Setting::default_value(true),
            listen: Setting::default_value(vec![web::DEFAULT_LISTEN]),
            hosts: Setting::default(),
            tls: Setting::default(),
            certificate: Setting::default_value("/etc/weir/tls/fullchain.pem".into()),
            key: Setting::default_value("/etc/weir/tls/privkey.pem".into()),
            insecure: Setting::default(),
            password: Setting::default_value(web::DEFAULT_PASSWORD_FILE.into()),
            metrics: Setting::default(),
        }
    }
}

/// Whence the certificate comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebTls {
    /// Plain HTTP.
    #[default]
    Off,
    /// One of weir's own, made once and kept in `/var/lib/weir/tls`.
    Own,
    /// [`Web::certificate`] and [`Web::key`].
    Files,
}

/// Who gets `/metrics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MetricsFor {
    /// Nobody.
    #[default]
    Off,
    /// Programs on this machine.
    Loopback,
    /// Whoever has the token that is in this file.
    Token(PathBuf),
}
