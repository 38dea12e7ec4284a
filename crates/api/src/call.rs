//! From a request line to what is asked: pure, so that it can be tried with anything.

use crate::capture::CaptureQuery;
use crate::expression::{EXPRESSION_MEND, FlowQuery, clipped};
use crate::filter::{FilterError, FlowFilter};
use crate::monitor::{HistoryQuery, TalksQuery};
use crate::percent;
use crate::types::Problem;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// `GET /v1/status`
    Status,
    /// `GET /v1/flows`
    Flows(FlowFilter),
    /// `GET /v1/hops`
    Hops,
    /// `GET /v1/ports`
    Ports,
    /// `GET /v1/drops`
    Drops,
    /// `GET /v1/devices`
    Devices,
    /// `GET /v1/talks`
    Talks(TalksQuery),
    /// `GET /v1/history`
    History(HistoryQuery),
    /// `GET /v1/paths`
    Paths,
    /// `GET /v1/probes`
    Probes,
    /// `GET /v1/explain`
    Explain(FlowQuery),
    /// `GET /v1/config`
    Config,
    /// `POST /v1/reload`
    Reload,
    /// `POST /v1/capture`
    Capture(Box<CaptureQuery>),
    /// `POST /v1/capture/stop`
    StopCapture,
}

const PATHS: &str = "/v1/status, /v1/flows, /v1/hops, /v1/ports, /v1/drops, /v1/devices, /v1/talks, /v1/history, /v1/paths, /v1/probes, /v1/explain, /v1/config, /v1/reload, /v1/capture, /v1/capture/stop";
const FILTERS: &str = "the filters are port, address, protocol, state, device, sort and limit";

impl Call {
    /// Reads method, path and query (without the question mark).
    pub fn parse(method: &str, path: &str, query: Option<&str>) -> Result<Self, Problem> {
        let wanted = Self::method_of(path).ok_or_else(|| unknown_path(path))?;
        if method != wanted {
            return Err(Problem::new(
                405,
                "wrong_method",
                format!("{} does not take {}", path, clipped(method)),
                format!("use {wanted}"),
            ));
        }
        let pairs = percent::decode_query(query.unwrap_or_default()).ok_or_else(|| {
            let mend = "encode it as in RFC 3986: %XX with two hexadecimal digits, of UTF-8 text";
            Problem::new(
                400,
                "malformed_query",
                "the query string is not percent-encoded text",
                mend,
            )
        })?;
        match path {
            "/v1/flows" => FlowFilter::from_pairs(&pairs)
                .map(Self::Flows)
                .map_err(|error| wrong_filter(&error)),
            "/v1/talks" => TalksQuery::from_pairs(&pairs).map(Self::Talks),
            "/v1/history" => HistoryQuery::from_pairs(&pairs).map(Self::History),
            "/v1/explain" => explain(&pairs),
            "/v1/capture" => {
                CaptureQuery::from_pairs(&pairs).map(|query| Self::Capture(Box::new(query)))
            }
            _ if !pairs.is_empty() => {
                let detail = format!("{path} takes no query parameters");
                Err(Problem::new(
                    400,
                    "unknown_parameter",
                    detail,
                    "leave away what follows the question mark",
                ))
            }
            "/v1/status" => Ok(Self::Status),
            "/v1/hops" => Ok(Self::Hops),
            "/v1/ports" => Ok(Self::Ports),
            "/v1/drops" => Ok(Self::Drops),
            "/v1/devices" => Ok(Self::Devices),
            "/v1/paths" => Ok(Self::Paths),
            "/v1/probes" => Ok(Self::Probes),
            "/v1/config" => Ok(Self::Config),
            "/v1/reload" => Ok(Self::Reload),
            "/v1/capture/stop" => Ok(Self::StopCapture),
            other => Err(unknown_path(other)),
        }
    }

    /// Whether a request for it may have a body.
    pub fn has_body(&self) -> bool {
        matches!(self, Self::Reload | Self::StopCapture)
    }

    /// The one method that a path takes; `None` where there is no such path.
    pub fn method_of(path: &str) -> Option<&'static str> {
        match path {
            "/v1/status" | "/v1/flows" | "/v1/hops" | "/v1/ports" | "/v1/drops" | "/v1/devices"
            | "/v1/talks" | "/v1/history" | "/v1/paths" | "/v1/probes" | "/v1/explain"
            | "/v1/config" => Some("GET"),
            // The calls that change anything.
            "/v1/reload" | "/v1/capture" | "/v1/capture/stop" => Some("POST"),
            _ => None,
        }
    }
}

fn explain(pairs: &[(String, String)]) -> Result<Call, Problem> {
    let [(name, text)] = pairs else {
        let detail = "/v1/explain takes one parameter, `flow`";
        return Err(Problem::new(
            400,
            "wrong_parameters",
            detail,
            EXPRESSION_MEND,
        ));
    };
    if name != "flow" {
        let detail = format!("`{}` is not a parameter of /v1/explain", clipped(name));
        return Err(Problem::new(
            400,
            "unknown_parameter",
            detail,
            "the parameter is `flow`",
        ));
    }
    text.parse()
        .map(Call::Explain)
        .map_err(|error| Problem::new(400, "not_a_flow", format!("{error}"), EXPRESSION_MEND))
}

fn wrong_filter(error: &FilterError) -> Problem {
    match error {
        FilterError::Unknown(_) => Problem::new(400, "unknown_filter", error.to_string(), FILTERS),
        FilterError::Value { allowed, .. } => Problem::new(
            400,
            "wrong_filter",
            error.to_string(),
            format!("give {allowed}"),
        ),
    }
}

fn unknown_path(path: &str) -> Problem {
    Problem::new(
        404,
        "unknown_path",
        format!("there is nothing at {}", clipped(path)),
        format!("there are {PATHS}"),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(method: &str, path: &str, query: Option<&str>) -> (u16, String) {
        let problem = Call::parse(method, path, query).expect_err("to be refused");
        assert!(
            !problem.detail.is_empty() && !problem.mend.is_empty(),
            "a problem teaches"
        );
        (problem.status, problem.error)
    }

    #[test]
    fn every_path_takes_one_method() {
        for path in PATHS.split(", ") {
            let right = Call::method_of(path).expect("listed paths exist");
            for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "get"] {
                if method == right {
                    let query = (path == "/v1/explain").then_some("flow=1f00c2aa");
                    assert!(Call::parse(method, path, query).is_ok(), "{method} {path}");
                } else {
                    assert_eq!(
                        refused(method, path, None),
                        (405, "wrong_method".to_owned()),
                        "{method} {path}"
                    );
                }
            }
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (path, query, status, error) in [
            ("/", None, 404, "unknown_path"),
            ("/v1/status/", None, 404, "unknown_path"),
            ("/v1/../v1/status", None, 404, "unknown_path"),
            ("/v1/status", Some("x=1"), 400, "unknown_parameter"),
            ("/v1/flows", Some("port=%zz"), 400, "malformed_query"),
            ("/v1/flows", Some("port=x"), 400, "wrong_filter"),
            ("/v1/flows", Some("x=1"), 400, "unknown_filter"),
            ("/v1/devices", Some("x=1"), 400, "unknown_parameter"),
            ("/v1/probes", Some("x=1"), 400, "unknown_parameter"),
            ("/v1/talks", Some("device=x"), 400, "wrong_parameter"),
            ("/v1/history", Some("x=1"), 400, "unknown_parameter"),
            ("/v1/explain", None, 400, "wrong_parameters"),
            ("/v1/explain", Some("f=1"), 400, "unknown_parameter"),
            ("/v1/explain", Some("flow=x"), 400, "not_a_flow"),
        ] {
            assert_eq!(
                refused("GET", path, query),
                (status, error.to_owned()),
                "{path} {query:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn never_panics(method in "\\PC*", path in "\\PC*", query in proptest::option::of("\\PC*")) {
            let _ = Call::parse(&method, &path, query.as_deref());
        }

        #[test]
        fn never_panics_where_there_is_something(path in "/v1/(flows|talks|history|explain|status|reload|capture)", query in "\\PC*") {
            let _ = Call::parse("GET", &path, Some(&query));
            let _ = Call::parse("GET", &path, Some(&format!("flow={query}")));
        }
    }
}
