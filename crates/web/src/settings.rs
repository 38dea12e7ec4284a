//! Settings of the page, and checks of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::WebError;

/// Default file of the password's hash. Its folder holds nothing else, as the daemon may write
/// there.
pub const DEFAULT_PASSWORD_FILE: &str = "/etc/weir/page/password";

/// Former file of the password's hash: next to the configuration.
pub(crate) const FORMER_PASSWORD_FILE: &str = "/etc/weir/password";

/// Returns the file of the password's hash. The former default, written out in a configuration or
/// on a command line, is the default: what was there is moved, and the daemon must not write in the
/// former folder.
pub fn password_file(named: &Path) -> &Path {
    match named == Path::new(FORMER_PASSWORD_FILE) {
        true => Path::new(DEFAULT_PASSWORD_FILE),
        false => named,
    }
}

/// Default address to listen on. 9347 is how a telephone spells WEIR.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9347);

/// Settings of the web page's server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses and TCP ports to listen on.
    pub listen: Vec<SocketAddr>,
    /// Source of the TLS certificate, if any.
    pub tls: Tls,
    /// Names, and addresses, by which browsers reach the page besides `localhost` and the address
    /// of the connection, also those of a reverse proxy.
    pub hosts: Vec<String>,
    /// File of the password's hash.
    pub password_file: PathBuf,
    /// Access to `/metrics`.
    pub metrics: Metrics,
    /// True to listen without TLS even if others on the network could read along.
    pub insecure: bool,
    /// Limits of clients.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: vec![DEFAULT_LISTEN],
            tls: Tls::Off,
            hosts: Vec::new(),
            password_file: DEFAULT_PASSWORD_FILE.into(),
            metrics: Metrics::Off,
            insecure: false,
            limits: Limits::default(),
        }
    }
}

/// Source of the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Plain HTTP.
    Off,
    /// PEM files, read again when they change.
    Files {
        /// The certificate chain.
        certificate: PathBuf,
        /// Private key: PKCS #8, SEC 1 or PKCS #1.
        key: PathBuf,
    },
    /// A self-signed certificate, created once and stored as `certificate.pem` and `key.pem` in
    /// this directory.
    Own {
        /// The directory. weir creates it, with mode 0700, if it does not exist.
        directory: PathBuf,
    },
}

/// Access to `/metrics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metrics {
    /// No access: the path does not exist.
    Off,
    /// Clients on this machine.
    Loopback,
    /// Clients that send `Authorization: MetricsRequest …` with the token in this file: owned by root, mode
    /// 0600, at least 16 characters, one line.
    Token(PathBuf),
}

/// Settings that the network-facing server needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrontendSettings {
    /// True to speak HTTPS.
    pub tls: bool,
    /// [`Settings::hosts`].
    pub hosts: Vec<String>,
    /// Access to figures.
    pub figures: MetricsAccess,
    /// Limits of clients.
    pub limits: Limits,
}

/// [`Metrics`], without the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricsAccess {
    /// [`Metrics::Off`].
    Nobody,
    /// [`Metrics::Loopback`].
    Loopback,
    /// [`Metrics::Token`].
    Token,
}

/// Limits of clients.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Connections at once. A further connection is closed at once, because a waiting one would
    /// take a descriptor too.
    pub connections: usize,
    /// Connections from one address other than this machine's. A quarter of all is reserved for
    /// this machine.
    pub per_address: usize,
    /// Bytes of a request's head. Not less than 8192.
    pub head: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Time for a TLS handshake, for a request's head and for its body to arrive; also the longest
    /// idle time of a connection between requests.
    pub request_time: Duration,
    /// Longest time in which a client takes nothing of the answer.
    pub stall_time: Duration,
    /// Sessions at once. A further session ends the longest idle one.
    pub sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            per_address: 12,
            head: 16 * 1024,
            body: 16 * 1024,
            request_time: Duration::from_secs(10),
            stall_time: Duration::from_secs(30),
            sessions: 32,
        }
    }
}

impl Settings {
    /// Returns the settings that the network-facing server needs.
    pub fn frontend(&self) -> FrontendSettings {
        FrontendSettings {
            tls: self.tls != Tls::Off,
            hosts: self.hosts.clone(),
            figures: match self.metrics {
                Metrics::Off => MetricsAccess::Nobody,
                Metrics::Loopback => MetricsAccess::Loopback,
                Metrics::Token(_) => MetricsAccess::Token,
            },
            limits: self.limits,
        }
    }

    /// Refuses settings that would let others on the network read passwords.
    pub fn check(&self) -> Result<(), WebError> {
        if self.listen.is_empty() {
            return Err(WebError::NoAddress);
        }
        if self.tls == Tls::Off
            && !self.insecure
            && let Some(open) = self
                .listen
                .iter()
                .find(|address| !is_loopback(address.ip()))
        {
            return Err(WebError::Unprotected(*open));
        }
        if cfg!(not(feature = "tls")) && self.tls != Tls::Off {
            return Err(WebError::NoTls);
        }
        Ok(())
    }
}

/// Returns true if an address is this machine's own, IPv4 in IPv6 included.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening(address: &str) -> Settings {
        Settings {
            listen: vec![address.parse().expect("an address")],
            ..Settings::default()
        }
    }

    #[test]
    fn without_tls_only_this_machine() {
        for fine in ["127.0.0.1:80", "127.9.9.9:1", "[::1]:9347"] {
            assert!(listening(fine).check().is_ok(), "{fine}");
        }
        for open in [
            "0.0.0.0:80",
            "[::]:80",
            "192.168.1.1:80",
            "[fe80::1]:80",
            "[::ffff:10.0.0.1]:80",
        ] {
            let mut settings = listening(open);
            let error = settings.check().expect_err(open);
            assert!(matches!(error, WebError::Unprotected(_)), "{open}");
            assert!(error.hint().contains("insecure"), "{}", error.hint());
            settings.insecure = true;
            assert!(settings.check().is_ok(), "{open}: as told");
            settings.insecure = false;
            settings.tls = Tls::Own {
                directory: "x".into(),
            };
            assert_eq!(settings.check().is_ok(), cfg!(feature = "tls"), "{open}");
        }
    }

    #[test]
    fn the_former_file_of_the_password_is_the_new_one() {
        for (named, file) in [
            ("/etc/weir/password", "/etc/weir/page/password"),
            ("/etc/weir/page/password", "/etc/weir/page/password"),
            ("/srv/password", "/srv/password"),
        ] {
            assert_eq!(password_file(Path::new(named)), Path::new(file));
        }
    }

    #[test]
    fn one_open_address_among_others_is_found() {
        let mut settings = Settings::default();
        settings
            .listen
            .push("192.0.2.1:80".parse().expect("an address"));
        assert!(settings.check().is_err());
        settings.listen.clear();
        assert!(matches!(settings.check(), Err(WebError::NoAddress)));
    }
}
