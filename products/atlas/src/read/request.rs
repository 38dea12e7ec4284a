//! Requests of files: addresses, patience, and errors in words.

use std::io;
use std::time::Duration;

use ureq::Timeout;

/// Environment variable with the file of trusted CAs, as in other programs.
pub(super) const AUTHORITIES: &str = "SSL_CERT_FILE";

/// Slowest accepted server.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time until the answer begins.
    pub answer: Duration,
    /// Least number of bytes within each `window` of waiting.
    pub least: u64,
    /// See `least`.
    pub window: Duration,
    /// Time until the answer is complete.
    pub whole: Duration,
}

impl Pace {
    /// Returns the longest silence.
    pub(super) fn silence(&self) -> Duration {
        self.answer.max(self.window)
    }

    /// Returns the reason of an incomplete answer.
    pub(super) fn broken(&self, error: &io::Error) -> String {
        let within = error.get_ref().and_then(|inner| inner.downcast_ref());
        match within {
            Some(ureq::Error::Timeout(Timeout::PerRead)) => {
                let seconds = self.silence().as_secs();
                format!("it breaks off: timeout: no data for {seconds} s")
            }
            Some(ureq::Error::Timeout(Timeout::Global)) => {
                let seconds = self.whole.as_secs();
                format!("it breaks off: timeout: it takes longer than {seconds} s")
            }
            _ => format!("it breaks off: {error}"),
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(60),
            // Slower than any line that a server has, and an archive would take days.
            least: 30 << 10,
            window: Duration::from_secs(30),
            whole: Duration::from_secs(3600),
        }
    }
}

/// Returns an address with its scheme in lower case, or the reason why it is invalid.
pub(super) fn proper(address: &str) -> Result<String, String> {
    let (scheme, rest) = address.split_once("://").unwrap_or_default();
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err("not a web address: write http://… or https://…".to_owned());
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    // An address of IPv6 has colons of its own, in brackets.
    let end = host.rfind(']').unwrap_or(0);
    let (name, port) = match host[end..].find(':') {
        Some(at) => (&host[..end + at], &host[end + at + 1..]),
        None => (host, ""),
    };
    if name.is_empty() {
        return Err("it contains no host".to_owned());
    }
    if !port.is_empty() && !port.parse::<u16>().is_ok_and(|port| port > 0) {
        return Err(format!("port {port}: they are 1 to 65535"));
    }
    Ok(format!("{scheme}://{rest}"))
}

/// Returns the reason of a missing answer.
pub(crate) fn plain(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(Timeout::Connect | Timeout::RecvResponse) => {
            "no answer in time".to_owned()
        }
        other => {
            let text = other.to_string();
            match text.contains("UnknownIssuer") {
                true => {
                    format!("{text}; for an authority of your own, {AUTHORITIES} names its file")
                }
                false => text,
            }
        }
    }
}

/// Returns an address without possible secrets: credentials and query.
pub(super) fn told(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}
