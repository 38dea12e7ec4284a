//! Filter, order and limit of a list of flows.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use api::Response;
use api::problem::{Problem, clipped};
use api::query::{self, Pairs, Query, number};
use api::server::{ResponseBody, json_body};

use super::expression::parse_protocol;
use super::flow::{Flow, FlowId, FlowState, Protocol, StationPair};

/// A filter of flows. `None` does not filter; a flow must match all other conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowFilter {
    /// Matches if any of the four ports, translated or not, is this one.
    pub port: Option<u16>,
    /// Matches if any of the four addresses is in this prefix.
    pub address: Option<AddressFilter>,
    /// Layer 4 protocol.
    pub protocol: Option<Protocol>,
    /// State of the flow.
    pub state: Option<FlowState>,
    /// Device that a direction comes in at or leaves by. Only proven directions have one.
    pub device: Option<String>,
    /// Order. `None`: the order of the table.
    pub sort: Option<Sort>,
    /// Largest number of listed flows.
    pub limit: Option<u32>,
}

const FILTERS: &str = "the filters are port, address, protocol, state, device, sort and limit";

/// Orders of a listing; the largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// By bytes forwarded, both directions.
    Bytes,
    /// By packets forwarded, both directions.
    Packets,
    /// By age.
    Age,
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Packets => "packets",
            Self::Age => "age",
        })
    }
}

impl Sort {
    fn key(self, flow: &Flow) -> u64 {
        match self {
            Self::Bytes => flow.bytes(),
            Self::Packets => flow.packets(),
            Self::Age => flow.age_seconds,
        }
    }
}

/// An address or a prefix. Unlike a kernel prefix, the text may have brackets and bits beyond the
/// length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressFilter {
    address: IpAddr,
    length: u8,
}

/// The text is not an [`AddressFilter`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither an address nor a prefix such as 192.168.1.0/24 or 2001:db8::/32")]
pub struct NoAddresses(String);

impl AddressFilter {
    /// Returns true if the address is in the prefix; false if the families differ.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros() >= u32::from(self.length)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros() >= u32::from(self.length)
            }
            _ => false,
        }
    }

    /// Returns the address as it was given, with the bits beyond the length.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns the number of significant leading bits.
    pub fn length(&self) -> u8 {
        self.length
    }

    fn full_length(address: IpAddr) -> u8 {
        if address.is_ipv4() { 32 } else { 128 }
    }
}

impl FromStr for AddressFilter {
    type Err = NoAddresses;

    fn from_str(text: &str) -> Result<Self, NoAddresses> {
        let wrong = || NoAddresses(clipped(text));
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        // Listings show an IPv6 address in brackets.
        let address = address
            .strip_prefix('[')
            .and_then(|inner| inner.strip_suffix(']'))
            .unwrap_or(address);
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let full = Self::full_length(address);
        let length = match length {
            None => full,
            Some(digits) => number(digits).ok_or_else(wrong)?,
        };
        if length > full {
            return Err(wrong());
        }
        Ok(Self { address, length })
    }
}

impl fmt::Display for AddressFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.length == Self::full_length(self.address) {
            self.address.fmt(f)
        } else {
            write!(f, "{}/{}", self.address, self.length)
        }
    }
}

/// A query parameter that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The parameter does not exist.
    #[error("unknown filter `{0}`")]
    Unknown(String),
    /// The parameter does not take this value.
    #[error("invalid value `{value}` of `{name}`: {allowed}")]
    Value {
        /// The parameter.
        name: &'static str,
        /// The given value.
        value: String,
        /// Allowed values.
        allowed: &'static str,
    },
}

impl Query for FlowFilter {
    /// A parameter given twice counts the last time.
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        Self::read(pairs).map_err(|error| match &error {
            FilterError::Unknown(_) => {
                Problem::new(400, "unknown_filter", error.to_string(), FILTERS)
            }
            FilterError::Value { allowed, .. } => Problem::new(
                400,
                "wrong_filter",
                error.to_string(),
                format!("give {allowed}"),
            ),
        })
    }

    /// Returns an empty text if the filter has no condition.
    fn to_query(&self) -> String {
        let pairs = [
            ("port", self.port.map(|port| port.to_string())),
            ("address", self.address.map(|prefix| prefix.to_string())),
            (
                "protocol",
                self.protocol.map(|protocol| protocol.to_string()),
            ),
            ("state", self.state.map(|state| state.to_string())),
            ("device", self.device.clone()),
            ("sort", self.sort.map(|sort| sort.to_string())),
            ("limit", self.limit.map(|limit| limit.to_string())),
        ];
        query::encode(pairs)
    }
}

impl FlowFilter {
    pub(crate) fn read(pairs: &Pairs) -> Result<Self, FilterError> {
        let mut filter = Self::default();
        for (name, value) in pairs {
            let wrong = |name, allowed| FilterError::Value {
                name,
                value: clipped(value),
                allowed,
            };
            match name.as_str() {
                "port" => {
                    filter.port = Some(number(value).ok_or_else(|| wrong("port", "0 to 65535"))?)
                }
                "address" => {
                    let allowed = "an address, or a prefix such as 192.168.1.0/24";
                    filter.address = Some(value.parse().map_err(|_| wrong("address", allowed))?);
                }
                "protocol" => {
                    filter.protocol =
                        Some(parse_protocol(value).map_err(|_| wrong("protocol", "tcp, udp"))?);
                }
                "state" => {
                    filter.state = Some(match value.as_str() {
                        "forwarded" => FlowState::Forwarded,
                        "known" => FlowState::Known,
                        "declined" => FlowState::Declined,
                        _ => return Err(wrong("state", "forwarded, known, declined")),
                    });
                }
                "device" => filter.device = Some(value.clone()),
                "sort" => {
                    filter.sort = Some(match value.as_str() {
                        "bytes" => Sort::Bytes,
                        "packets" => Sort::Packets,
                        "age" => Sort::Age,
                        _ => return Err(wrong("sort", "bytes, packets, age")),
                    });
                }
                "limit" => {
                    filter.limit = Some(number(value).ok_or_else(|| wrong("limit", "a number"))?)
                }
                other => return Err(FilterError::Unknown(clipped(other))),
            }
        }
        Ok(filter)
    }
}

impl FlowFilter {
    /// Returns true if the flow matches the filter.
    pub fn matches(&self, flow: &Flow) -> bool {
        let ends = [&flow.original, &flow.reply];
        let directions = [&flow.directions.original, &flow.directions.reply];
        self.protocol
            .is_none_or(|protocol| protocol == flow.protocol)
            && self.state.is_none_or(|state| state == flow.state)
            && self.port.is_none_or(|port| {
                ends.iter()
                    .any(|end| end.source_port == port || end.destination_port == port)
            })
            && self.address.is_none_or(|prefix| {
                ends.iter()
                    .any(|end| prefix.contains(end.source) || prefix.contains(end.destination))
            })
            && self.device.as_deref().is_none_or(|device| {
                directions.iter().any(|way| {
                    way.port_in.as_deref() == Some(device)
                        || way.port_out.as_deref() == Some(device)
                })
            })
    }

    /// Filters, sorts and limits. Keeps only 16 bytes of each matching flow, so that a listing of a
    /// full table needs little memory.
    pub fn select(&self, flows: impl IntoIterator<Item = Flow>) -> Selection {
        let mut fitting: Vec<(u64, FlowId)> = flows
            .into_iter()
            .filter(|flow| self.matches(flow))
            .map(|flow| (self.sort.map_or(0, |sort| sort.key(&flow)), flow.id))
            .collect();
        if self.sort.is_some() {
            // The id decides between equals, so that a refreshed list does not jump.
            fitting.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        let matched = u64::try_from(fitting.len()).unwrap_or(u64::MAX);
        if let Some(limit) = self.limit {
            fitting.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        Selection {
            matched,
            ids: fitting.into_iter().map(|(_, id)| id).collect(),
        }
    }
}

/// Result of a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Number of matching flows, before the limit.
    pub matched: u64,
    /// Ids of the flows to list, in order.
    pub ids: Vec<FlowId>,
}

impl Selection {
    /// Returns a [`FlowList`](super::FlowList). Looks each flow up as the client reads, and leaves
    /// out flows that have ended.
    pub fn answer(
        self,
        bridged: &[StationPair],
        flow: impl Fn(FlowId) -> Option<Flow> + 'static,
    ) -> Response<ResponseBody> {
        let head = format!(r#"{{"matched":{},"flows":["#, self.matched);
        let tail = match serde_json::to_string(bridged) {
            Ok(text) if !bridged.is_empty() => format!(r#"],"bridged":{text}}}"#),
            _ => "]}".to_owned(),
        };
        json_body(ResponseBody::list(
            head,
            self.ids.into_iter().filter_map(flow),
            tail,
        ))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Direction, Directions, Endpoints, Translation};
    use super::*;

    fn flow(id: u64, bytes: u64) -> Flow {
        let original = Endpoints {
            source: "192.168.1.2".parse().expect("an address"),
            source_port: 40000,
            destination: "1.1.1.1".parse().expect("an address"),
            destination_port: 443,
        };
        let reply = Endpoints {
            source: original.destination,
            source_port: 443,
            destination: "203.0.113.7".parse().expect("an address"),
            destination_port: 61000,
        };
        let out = Direction {
            bytes,
            port_out: Some("wan".into()),
            port_in: Some("lan".into()),
            ..Direction::default()
        };
        Flow {
            id: FlowId(id),
            protocol: Protocol::Tcp,
            original,
            reply,
            translated: Translation {
                snat: true,
                dnat: false,
            },
            state: FlowState::Forwarded,
            reason: None,
            directions: Directions {
                original: out,
                reply: Direction::default(),
            },
            mark: 0,
            zone: 0,
            age_seconds: id,
        }
    }

    fn pairs(text: &str) -> Vec<(String, String)> {
        query::decode(text).expect("well formed")
    }

    #[test]
    fn every_filter_takes_and_leaves() {
        for (query, fits) in [
            ("", true),
            ("port=443", true),
            ("port=61000", true),
            ("port=80", false),
            ("address=203.0.113.0/24", true),
            ("address=0.0.0.0/0", true),
            ("address=::/0", false),
            ("address=192.168.1.3", false),
            ("protocol=TCP", true),
            ("protocol=udp", false),
            ("state=forwarded", true),
            ("state=declined", false),
            ("device=wan", true),
            ("device=lan", true),
            ("device=eth9", false),
            ("port=443&device=eth9", false),
        ] {
            let filter = FlowFilter::from_pairs(&pairs(query)).expect("a filter");
            assert_eq!(filter.matches(&flow(1, 0)), fits, "{query}");
        }
    }

    #[test]
    fn sorts_the_largest_first_and_counts_what_the_limit_hides() {
        let flows = || [flow(1, 5), flow(2, 9), flow(3, 5), flow(4, 0)];
        let filter = FlowFilter {
            sort: Some(Sort::Bytes),
            limit: Some(3),
            ..FlowFilter::default()
        };
        let selection = filter.select(flows());
        assert_eq!(
            selection,
            Selection {
                matched: 4,
                ids: vec![FlowId(2), FlowId(1), FlowId(3)]
            }
        );
        let filter = FlowFilter {
            sort: Some(Sort::Age),
            limit: Some(1),
            ..FlowFilter::default()
        };
        assert_eq!(filter.select(flows()).ids, [FlowId(4)]);
    }

    #[test]
    fn names_what_can_be_given() {
        for (query, error) in [
            ("colour=red", "unknown filter `colour`"),
            ("port=x", "invalid value `x` of `port`: 0 to 65535"),
            (
                "state=new",
                "invalid value `new` of `state`: forwarded, known, declined",
            ),
            ("limit=-1", "invalid value `-1` of `limit`: a number"),
            ("limit=%2B1", "invalid value `+1` of `limit`: a number"),
        ] {
            assert_eq!(
                FlowFilter::read(&pairs(query)).map_err(|error| error.to_string()),
                Err(error.to_owned())
            );
        }
    }

    #[test]
    fn prefixes_are_strict() {
        for good in [
            "10.0.0.0/8",
            "0.0.0.0/0",
            "::/0",
            "2001:db8::1",
            "[2001:db8::1]",
        ] {
            assert!(good.parse::<AddressFilter>().is_ok(), "{good}");
        }
        for wrong in [
            "",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/+8",
            "10.0.0/8",
            "10.0.0.0/",
            "10.0.0.0/999",
        ] {
            assert!(wrong.parse::<AddressFilter>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_filter_survives_its_query(
            port: Option<u16>, device in proptest::option::of("\\PC{1,20}"), limit: Option<u32>, bits: u128, length in 0..=128u8
        ) {
            let address = Some(AddressFilter { address: std::net::Ipv6Addr::from(bits).into(), length });
            let filter = FlowFilter { port, address, device, limit, sort: Some(Sort::Packets), ..FlowFilter::default() };
            prop_assert_eq!(FlowFilter::from_pairs(&pairs(&filter.to_query())), Ok(filter));
        }

        #[test]
        fn never_panics(name in "\\PC*", value in "\\PC*") {
            let _ = FlowFilter::from_pairs(&[(name, value)]);
        }
    }
}
