//! From a call to its answer: the same for every server, whatever it speaks over.

use std::rc::Rc;

use hyper::body::Bytes;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, TRAILER};
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::{Answer, Drain, Provider};
use crate::call::Call;
use crate::capture::SUMMARY_TRAILER;
use crate::types::Problem;

/// What the daemon answers to a call, as JSON or a [`Problem`]. [`Call::Capture`] begins a capture, whose answer lasts as long as that.
pub async fn answer(call: Call, provider: Rc<dyn Provider>) -> Response<Answer> {
    let answer = match call {
        Call::Capture(asked) => {
            return match provider.capture(&asked) {
                Ok(drain) => pcapng(drain),
                Err(problem) => refuse(&problem, None),
            };
        }
        Call::StopCapture => provider.stop_capture().and_then(|summary| json(&summary)),
        Call::Status => json(&provider.status()),
        Call::Flows(filter) => Ok(Answer::flows(
            provider.select(&filter),
            provider.bridged(&filter),
            provider,
        )),
        Call::Hops => json(&provider.hops()),
        Call::Drops => json(&provider.drops()),
        Call::Devices => provider.devices().and_then(|devices| json(&devices)),
        Call::Talks(asked) => provider.talks(&asked).and_then(|talks| json(&talks)),
        Call::History(asked) => provider
            .history(&asked)
            .await
            .and_then(|history| json(&history)),
        Call::Paths => json(&provider.paths()),
        Call::Probes => provider.probes().and_then(|probes| json(&probes)),
        Call::Ports => json(&provider.ports()),
        Call::Explain(asked) => provider
            .explain(&asked)
            .and_then(|explanation| json(&explanation)),
        Call::Config => json(&provider.config()),
        Call::Reload => provider.reload().and_then(|reloaded| json(&reloaded)),
    };
    match answer {
        Ok(body) => respond_with(StatusCode::OK, "application/json", body),
        Err(problem) => refuse(&problem, None),
    }
}

/// A call that takes a body has nothing to say in it yet: none, or an empty JSON object, so that there is room for options later.
pub fn nothing_in(body: &[u8]) -> Result<(), Problem> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    if body.is_empty() {
        return Ok(());
    }
    serde_json::from_slice::<Nothing>(body)
        .map(|_| ())
        .map_err(|error| {
            let detail = format!("the request's body is not what is expected: {error}");
            Problem::new(
                400,
                "malformed_body",
                detail,
                "send no body, or the JSON object {}",
            )
        })
}

fn json(value: &impl Serialize) -> Result<Answer, Problem> {
    serde_json::to_vec(value)
        .map(|octets| Answer::whole(Bytes::from(octets)))
        .map_err(|error| {
            Problem::new(
                500,
                "internal",
                format!("the answer cannot be written: {error}"),
                "report this: it is a fault in weir",
            )
        })
}

/// A problem as an answer, with its status. `allow` is the method that the path takes, told with status 405.
pub fn refuse(problem: &Problem, allow: Option<&'static str>) -> Response<Answer> {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // Strings and numbers only: writing it cannot fail.
    let octets = serde_json::to_vec(problem).unwrap_or_default();
    let mut response = respond_with(
        status,
        "application/problem+json",
        Answer::whole(Bytes::from(octets)),
    );
    if status == StatusCode::METHOD_NOT_ALLOWED
        && let Some(method) = allow
    {
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static(method));
    }
    response
}

fn pcapng(drain: Drain) -> Response<Answer> {
    let mut response = respond_with(StatusCode::OK, "application/x-pcapng", Answer::feed(drain));
    let trailer = HeaderValue::from_static(SUMMARY_TRAILER);
    response.headers_mut().insert(TRAILER, trailer);
    response
}

fn respond_with(status: StatusCode, media_type: &'static str, body: Answer) -> Response<Answer> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
