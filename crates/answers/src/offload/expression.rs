//! Names of a flow: five values, or an id from a listing.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use api::problem::{Problem, clipped};
use api::query::{self, Pairs, Query};

use super::flow::{Endpoints, FlowId, Protocol};

/// A flow, as a user or a program asks for it.
///
/// Text: `tcp 192.168.1.2:40000 > 1.1.1.1:443`. Protocol and `>` may be left out; IPv6 addresses
/// are in brackets. Or an id: `1f00c2aa00000007`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowQuery {
    /// Id, as `weir flows` showed it.
    Id(FlowId),
    /// Addresses and ports of its packets, of either direction, before or after translation.
    Tuple {
        /// Protocol; `None`: any.
        protocol: Option<Protocol>,
        /// Source and destination.
        endpoints: Endpoints,
    },
}

/// The text does not name a flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// The text is empty.
    #[error("no flow given")]
    Empty,
    /// The text is one word that is not an id, or has too many or too few words.
    #[error("`{0}` does not name a flow")]
    Shape(String),
    /// The protocol is not TCP or UDP.
    #[error("`{0}` is not a protocol that weir forwards (tcp, udp)")]
    Protocol(String),
    /// The text is not ADDRESS:PORT.
    #[error("`{0}` is not ADDRESS:PORT (IPv6: [ADDRESS]:PORT)")]
    Endpoint(String),
    /// The addresses are of different families.
    #[error("one address is IPv4, the other IPv6")]
    Families,
}

/// Hint for any [`ExpressionError`].
pub const EXPRESSION_HINT: &str = "write it as in: tcp 192.168.1.2:40000 > 1.1.1.1:443 (in \
    quotes, because the shell interprets >), tcp [2001:db8::2]:40000 > [2001:db8::1]:443, or \
    take an id from `weir flows`";

impl FromStr for FlowQuery {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        let words: Vec<&str> = text
            .split_whitespace()
            .flat_map(around_arrow)
            .filter(|word| !word.is_empty() && *word != ">")
            .collect();
        match words[..] {
            [] => Err(ExpressionError::Empty),
            [id] => id
                .parse()
                .map(Self::Id)
                .map_err(|_| ExpressionError::Shape(clipped(text))),
            [source, destination] => Self::tuple(None, source, destination),
            [protocol, source, destination] => {
                Self::tuple(Some(parse_protocol(protocol)?), source, destination)
            }
            _ => Err(ExpressionError::Shape(clipped(text))),
        }
    }
}

/// Splits `a>b` and `a->b` like `a > b`.
fn around_arrow(word: &str) -> impl Iterator<Item = &str> {
    word.split('>').map(|part| part.trim_end_matches('-'))
}

/// Reads the required parameter `flow`.
impl Query for FlowQuery {
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        let [(name, text)] = pairs else {
            let detail = "this path takes one parameter, `flow`";
            return Err(Problem::new(
                400,
                "wrong_parameters",
                detail,
                EXPRESSION_HINT,
            ));
        };
        if name != "flow" {
            let detail = format!("`{}` is not a parameter of this path", clipped(name));
            return Err(Problem::new(
                400,
                "unknown_parameter",
                detail,
                "the parameter is `flow`",
            ));
        }
        text.parse().map_err(|error: ExpressionError| {
            Problem::new(400, "not_a_flow", error.to_string(), EXPRESSION_HINT)
        })
    }

    fn to_query(&self) -> String {
        query::encode([("flow", Some(self.to_string()))])
    }
}

impl FlowQuery {
    fn tuple(
        protocol: Option<Protocol>,
        source: &str,
        destination: &str,
    ) -> Result<Self, ExpressionError> {
        let (source, destination) = (parse_endpoint(source)?, parse_endpoint(destination)?);
        if source.is_ipv4() != destination.is_ipv4() {
            return Err(ExpressionError::Families);
        }
        let endpoints = Endpoints {
            source: source.ip(),
            source_port: source.port(),
            destination: destination.ip(),
            destination_port: destination.port(),
        };
        Ok(Self::Tuple {
            protocol,
            endpoints,
        })
    }
}

impl fmt::Display for FlowQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Tuple {
                protocol: Some(protocol),
                endpoints,
            } => write!(f, "{protocol} {endpoints}"),
            Self::Tuple {
                protocol: None,
                endpoints,
            } => endpoints.fmt(f),
        }
    }
}

/// Reads `tcp` or `udp`, in any case.
pub fn parse_protocol(text: &str) -> Result<Protocol, ExpressionError> {
    match text.to_ascii_lowercase().as_str() {
        "tcp" => Ok(Protocol::Tcp),
        "udp" => Ok(Protocol::Udp),
        _ => Err(ExpressionError::Protocol(clipped(text))),
    }
}

fn parse_endpoint(text: &str) -> Result<SocketAddr, ExpressionError> {
    text.parse()
        .ok()
        .filter(|address| !scoped(address))
        .ok_or_else(|| ExpressionError::Endpoint(clipped(text)))
}

/// Returns true for an address with a link-local scope (`%2`): forwarded packets have none.
fn scoped(address: &SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(six) if six.scope_id() != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> String {
        text.parse::<FlowQuery>()
            .map_or_else(|error| format!("error: {error}"), |query| query.to_string())
    }

    #[test]
    fn accepts_what_listings_show() {
        let full = "tcp 192.168.1.2:40000 > 1.1.1.1:443";
        assert_eq!(parsed(full), full);
        assert_eq!(parsed("TCP 192.168.1.2:40000 -> 1.1.1.1:443"), full);
        assert_eq!(parsed("tcp 192.168.1.2:40000>1.1.1.1:443"), full);
        assert_eq!(
            parsed("192.168.1.2:40000 1.1.1.1:443"),
            "192.168.1.2:40000 > 1.1.1.1:443"
        );
        assert_eq!(
            parsed("udp [2001:db8::2]:5 > [2001:db8::1]:6"),
            "udp [2001:db8::2]:5 > [2001:db8::1]:6"
        );
        assert_eq!(parsed("1f00c2aa"), "000000001f00c2aa");
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, error) in [
            ("", "no flow given"),
            (" > ", "no flow given"),
            ("hello", "`hello` does not name a flow"),
            (
                "tcp 1.1.1.1:1 > 2.2.2.2:2 3.3.3.3:3",
                "`tcp 1.1.1.1:1 > 2.2.2.2:2 3.3.3.3:3` does not name a flow",
            ),
            (
                "icmp 1.1.1.1:1 2.2.2.2:2",
                "`icmp` is not a protocol that weir forwards (tcp, udp)",
            ),
            (
                "1.1.1.1 2.2.2.2:2",
                "`1.1.1.1` is not ADDRESS:PORT (IPv6: [ADDRESS]:PORT)",
            ),
            (
                "1.1.1.1:1 2.2.2.2:70000",
                "`2.2.2.2:70000` is not ADDRESS:PORT (IPv6: [ADDRESS]:PORT)",
            ),
            (
                "[fe80::1%2]:1 [fe80::2]:2",
                "`[fe80::1%2]:1` is not ADDRESS:PORT (IPv6: [ADDRESS]:PORT)",
            ),
            ("1.1.1.1:1 [::1]:2", "one address is IPv4, the other IPv6"),
        ] {
            assert_eq!(parsed(text), format!("error: {error}"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = text.parse::<FlowQuery>();
        }

        #[test]
        fn every_ipv6_tuple_comes_back(
            source: u128, source_port: u16, destination: u128, destination_port: u16, protocol in 0..3u8
        ) {
            let query = FlowQuery::Tuple {
                protocol: match protocol { 0 => None, 1 => Some(Protocol::Tcp), _ => Some(Protocol::Udp) },
                endpoints: Endpoints {
                    source: std::net::Ipv6Addr::from(source).into(),
                    source_port,
                    destination: std::net::Ipv6Addr::from(destination).into(),
                    destination_port,
                },
            };
            prop_assert_eq!(query.to_string().parse::<FlowQuery>(), Ok(query));
        }
    }
}
