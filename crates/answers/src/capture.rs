//! Parameters of a capture, and its summary at the end.

use std::fmt;
use std::time::Duration;

use api::Problem;
use api::query::{self, Pairs, Query, number, unknown, wrong};
use serde::{Deserialize, Serialize};

use crate::offload::expression::{EXPRESSION_HINT, FlowQuery};
use crate::offload::filter::{FilterError, FlowFilter};

/// Default number of bytes kept of a packet: all headers, and the start of the payload.
pub const DEFAULT_OCTETS: u32 = 256;
/// Allowed numbers of bytes to keep of a packet.
pub const OCTETS: std::ops::RangeInclusive<u32> = 64..=2048;
/// Default packets per second: a few percent of a weak processor.
pub const DEFAULT_RATE: u32 = 2000;
/// Allowed packets per second.
pub const RATE: std::ops::RangeInclusive<u32> = 1..=50_000;
/// Longest allowed duration, in seconds.
pub const LONGEST: u32 = 30 * 24 * 3600;

const PARAMETERS: &str = "the parameters are flow, address, port, protocol, device, side, \
    snaplen, rate, count and seconds";

/// Selects packets and limits their size, rate, number and duration. `None` does not filter; a
/// packet must match all other conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureQuery {
    /// Selects one connection, in both directions, before or after translation.
    pub flow: Option<FlowQuery>,
    /// Address, port, protocol and device; a capture ignores the rest of a [`FlowFilter`].
    pub filter: FlowFilter,
    /// Captures packets as they come in, or as they leave; `None`: both.
    pub side: Option<CaptureSide>,
    /// Bytes of each packet to keep: [`OCTETS`].
    pub snaplen: u32,
    /// Packets a second: [`RATE`].
    pub rate: u32,
    /// Ends the capture after this many records. A packet captured on both sides has two records.
    pub count: Option<u64>,
    /// Ends the capture after this many seconds, [`LONGEST`] at most.
    pub seconds: Option<u32>,
}

impl Default for CaptureQuery {
    fn default() -> Self {
        Self {
            flow: None,
            filter: FlowFilter::default(),
            side: None,
            snaplen: DEFAULT_OCTETS,
            rate: DEFAULT_RATE,
            count: None,
            seconds: None,
        }
    }
}

/// Side of the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureSide {
    /// Packets as they come in.
    In,
    /// Packets as they leave.
    Out,
}

impl fmt::Display for CaptureSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::In => "in",
            Self::Out => "out",
        })
    }
}

impl Query for CaptureQuery {
    /// A parameter given twice counts the last time.
    fn from_pairs(pairs: &Pairs) -> Result<Self, Problem> {
        let mut query = Self::default();
        let mut filters = Vec::new();
        for (name, value) in pairs {
            let within = |range: std::ops::RangeInclusive<u32>| {
                let allowed = format!("{} to {}", range.start(), range.end());
                let number = number(value).filter(|n| range.contains(n));
                number.ok_or_else(|| wrong(name, value, &allowed))
            };
            match name.as_str() {
                "flow" => {
                    let flow = value.parse().map_err(|error| {
                        Problem::new(400, "not_a_flow", format!("{error}"), EXPRESSION_HINT)
                    })?;
                    query.flow = Some(flow);
                }
                "side" => {
                    query.side = match value.as_str() {
                        "in" => Some(CaptureSide::In),
                        "out" => Some(CaptureSide::Out),
                        "both" => None,
                        _ => return Err(wrong(name, value, "in, out, both")),
                    }
                }
                "snaplen" => query.snaplen = within(OCTETS)?,
                "rate" => query.rate = within(RATE)?,
                "seconds" => query.seconds = Some(within(1..=LONGEST)?),
                "count" => {
                    let count = number(value).filter(|count| *count > 0);
                    query.count = Some(count.ok_or_else(|| wrong(name, value, "a number from 1"))?);
                }
                "address" | "port" | "protocol" | "device" => {
                    filters.push((name.clone(), value.clone()));
                }
                other => return Err(unknown("/v1/capture", other, PARAMETERS)),
            }
        }
        query.filter = FlowFilter::read(&filters).map_err(|error| match error {
            FilterError::Value {
                name,
                value,
                allowed,
            } => wrong(name, &value, allowed),
            FilterError::Unknown(_) => {
                Problem::new(400, "unknown_parameter", error.to_string(), PARAMETERS)
            }
        })?;
        let FlowFilter {
            address,
            port,
            protocol,
            ..
        } = &query.filter;
        if query.flow.is_some() && (address.is_some() || port.is_some() || protocol.is_some()) {
            let detail = "a flow already includes addresses, ports and protocol";
            let hint = "omit address, port and protocol, or omit the flow";
            return Err(Problem::new(400, "wrong_parameters", detail, hint));
        }
        Ok(query)
    }

    /// Omits parameters that have their default.
    fn to_query(&self) -> String {
        let or_default = |value: u32, default: u32| (value != default).then(|| value.to_string());
        let own = [
            ("flow", self.flow.map(|flow| flow.to_string())),
            ("side", self.side.map(|side| side.to_string())),
            ("snaplen", or_default(self.snaplen, DEFAULT_OCTETS)),
            ("rate", or_default(self.rate, DEFAULT_RATE)),
            ("count", self.count.map(|count| count.to_string())),
            ("seconds", self.seconds.map(|seconds| seconds.to_string())),
        ];
        let own = query::encode(own);
        let filter = self.filter.to_query();
        match (own.is_empty(), filter.is_empty()) {
            (true, _) => filter,
            (_, true) => own,
            _ => format!("{own}&{filter}"),
        }
    }
}

impl CaptureQuery {
    /// Longest duration of the capture.
    pub fn time_limit(&self) -> Option<Duration> {
        self.seconds
            .map(|seconds| Duration::from_secs(seconds.into()))
    }
}

/// Counters of a capture. Packets that the filter rejects are in none of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureSummary {
    /// Records written: one for each side of a packet.
    pub captured: u64,
    /// Records lost because the ring between the packet path and the daemon was full.
    pub ring_lost: u64,
    /// Records that the client did not take in time.
    pub client_lost: u64,
    /// Packets beyond the rate limit.
    pub over_rate: u64,
}

/// Trailer of the response (RFC 9110, section 6.5) that carries the [`CaptureSummary`], as JSON.
pub const SUMMARY_TRAILER: &str = "weir-capture-summary";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        query::decode(text).expect("well formed")
    }

    #[test]
    fn nothing_said_is_everything_within_bounds() {
        assert_eq!(CaptureQuery::from_pairs(&[]), Ok(CaptureQuery::default()));
        assert_eq!(CaptureQuery::default().to_query(), "");
        assert!(OCTETS.contains(&DEFAULT_OCTETS) && RATE.contains(&DEFAULT_RATE));
    }

    #[test]
    fn says_what_is_wrong() {
        for (query, error) in [
            ("snaplen=63", "invalid value `63` of `snaplen`"),
            ("snaplen=2049", "invalid value `2049` of `snaplen`"),
            ("rate=0", "invalid value `0` of `rate`"),
            ("count=0", "invalid value `0` of `count`"),
            ("seconds=-1", "invalid value `-1` of `seconds`"),
            ("side=left", "invalid value `left` of `side`"),
            ("port=http", "invalid value `http` of `port`"),
            ("flow=x", "`x` does not name a flow"),
            ("state=known", "`state` is not a parameter of /v1/capture"),
            (
                "flow=1f00c2aa&port=1",
                "a flow already includes addresses, ports and protocol",
            ),
            ("limit=1", "`limit` is not a parameter of /v1/capture"),
        ] {
            let problem = CaptureQuery::from_pairs(&pairs(query)).expect_err(query);
            assert_eq!(problem.detail, error);
            assert!(problem.status == 400 && !problem.hint.is_empty(), "{query}");
        }
    }

    proptest! {
        #[test]
        fn a_query_survives_its_text(
            octets in OCTETS, rate in RATE, count in proptest::option::of(1..u64::MAX), seconds in proptest::option::of(1..LONGEST),
            port: Option<u16>, device in proptest::option::of("\\PC{1,20}"), side in 0..3u8, id: Option<u64>
        ) {
            let query = CaptureQuery {
                flow: id.map(|id| FlowQuery::Id(crate::offload::FlowId(id))),
                filter: FlowFilter { port: port.filter(|_| id.is_none()), device, ..FlowFilter::default() },
                side: [None, Some(CaptureSide::In), Some(CaptureSide::Out)][usize::from(side)],
                snaplen: octets, rate, count, seconds,
            };
            prop_assert_eq!(CaptureQuery::from_pairs(&pairs(&query.to_query())), Ok(query));
        }

        #[test]
        fn never_panics(name in "\\PC*", value in "\\PC*") {
            let _ = CaptureQuery::from_pairs(&[(name, value)]);
        }
    }
}
