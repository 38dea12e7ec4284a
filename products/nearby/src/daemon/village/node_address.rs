use std::fmt;
use std::str::FromStr;

use crate::village::PORT;

/// Host and port of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddress {
    /// A name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// The text is not a node address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid name of a node: {0:?}; write HOST, HOST:PORT or [ADDRESS]:PORT")]
pub struct InvalidNodeAddress(String);

impl FromStr for NodeAddress {
    type Err = InvalidNodeAddress;

    fn from_str(text: &str) -> Result<Self, InvalidNodeAddress> {
        let wrong = || InvalidNodeAddress(text.to_owned());
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(wrong)?;
                let port = match port {
                    "" => None,
                    port => Some(port.strip_prefix(':').ok_or_else(wrong)?),
                };
                (host, port)
            }
            None => match text.rsplit_once(':') {
                // An address of IPv6.
                Some((host, _)) if host.contains(':') => (text, None),
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let port = port.map_or(Ok(PORT), |it| it.parse().map_err(|_| wrong()))?;
        let is_name = |it: char| !it.is_whitespace() && !it.is_control();
        match !host.is_empty() && host.chars().all(is_name) && port != 0 {
            true => Ok(Self {
                host: host.to_owned(),
                port,
            }),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for NodeAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(out, "[{}]:{}", self.host, self.port),
            false => write!(out, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_named_with_or_without_a_port() {
        for (text, shown) in [
            ("node.example", "node.example:9351"),
            ("node.example:77", "node.example:77"),
            ("192.0.2.1", "192.0.2.1:9351"),
            ("2001:db8::1", "[2001:db8::1]:9351"),
            ("[2001:db8::1]", "[2001:db8::1]:9351"),
            ("[fe80::1%eth0]:77", "[fe80::1%eth0]:77"),
        ] {
            let name = text.parse::<NodeAddress>().map(|it| it.to_string());
            assert_eq!(name.as_deref(), Ok(shown));
        }
        for wrong in [
            "", ":77", "a:", "a:0", "a:65536", "[::1]77", "[::1", "a b", "[]:7",
        ] {
            assert!(wrong.parse::<NodeAddress>().is_err(), "{wrong}");
        }
    }
}
