//! Address of a collector, as written in the configuration.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use net::digits::decimal;

/// Address of a collector: `HOST:PORT`, HOST being a name, an IPv4 address or an IPv6 address in
/// brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub(super) host: String,
    pub(super) port: u16,
}

/// Error in the address of a collector.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// The text has no colon, or starts with one.
    #[error(
        "{0:?} is not HOST:PORT: write, for instance, \"192.0.2.1:4739\" or \"collector.lan:4739\""
    )]
    Form(String),
    /// The port is missing or out of range.
    #[error("{0:?} does not end in a port from 1 to 65535: the default of IPFIX is 4739")]
    Port(String),
    /// An IPv6 address without brackets, or brackets around another text.
    #[error("{0:?}: put the IPv6 address in brackets, as in \"[2001:db8::1]:4739\"")]
    Brackets(String),
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let form = || TargetError::Form(text.into());
        let brackets = || TargetError::Brackets(text.into());
        let (host, port) = text.rsplit_once(':').ok_or_else(form)?;
        let port = decimal(port).filter(|port| *port > 0);
        let host = match host.strip_prefix('[') {
            Some(rest) => {
                let host = rest.strip_suffix(']').ok_or_else(brackets)?;
                // A scope, as in fe80::1%eth0, is part of the address for the resolver.
                let address = host.split('%').next().unwrap_or(host);
                address
                    .parse::<std::net::Ipv6Addr>()
                    .map_err(|_| brackets())?;
                host
            }
            None if host.contains(':') => return Err(brackets()),
            None => host,
        };
        let fits = |c: char| !c.is_whitespace() && !c.is_control();
        if host.is_empty() || host.len() > 255 || !host.chars().all(fits) {
            return Err(form());
        }
        let port = port.ok_or_else(|| TargetError::Port(text.into()))?;
        Ok(Self {
            host: host.into(),
            port,
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_written() {
        for good in [
            "192.0.2.1:4739",
            "[2001:db8::1]:9995",
            "collector.lan:1",
            "[fe80::1%lo]:2",
        ] {
            let target: Target = good.parse().unwrap();
            assert_eq!(target.to_string(), good);
        }
        let error = |text: &str| text.parse::<Target>().unwrap_err();
        for text in ["", "host", ":4739", "a b:1", "a\u{7}:1"] {
            assert_eq!(error(text), TargetError::Form(text.into()), "{text:?}");
        }
        for text in ["host:", "host:0", "host:65536", "host:x", "host:+1"] {
            assert_eq!(error(text), TargetError::Port(text.into()), "{text:?}");
        }
        for text in ["2001:db8::1:4739", "[host]:1", "[::1:2"] {
            assert_eq!(error(text), TargetError::Brackets(text.into()), "{text:?}");
        }
    }
}
