//! Answers: JSON, a problem, or a stream.

use hyper::body::Bytes;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, TRAILER};
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::{ResponseBody, StreamReceiver};
use crate::problem::{Problem, Refusal};

/// Returns a JSON document.
pub fn json(value: &impl Serialize) -> Result<Response<ResponseBody>, Problem> {
    let octets = serde_json::to_vec(value).map_err(|error| {
        Problem::new(
            500,
            "internal",
            format!("cannot encode the answer: {error}"),
            "report this: it is a bug in weir",
        )
    })?;
    Ok(json_body(ResponseBody::whole(Bytes::from(octets))))
}

/// Returns a JSON document from a given body.
pub fn json_body(body: ResponseBody) -> Response<ResponseBody> {
    respond(StatusCode::OK, "application/json", body)
}

/// Returns a stream, with a trailer of this name at its end.
pub fn stream_response(
    media_type: &'static str,
    drain: StreamReceiver,
    trailer: &'static str,
) -> Response<ResponseBody> {
    let mut response = respond(StatusCode::OK, media_type, ResponseBody::feed(drain));
    let trailer = HeaderValue::from_static(trailer);
    response.headers_mut().insert(TRAILER, trailer);
    response
}

/// Returns a problem as an answer, with its status.
pub fn problem_response(refusal: &Refusal) -> Response<ResponseBody> {
    let problem = &refusal.problem;
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // Strings and numbers only: serializing cannot fail.
    let octets = serde_json::to_vec(problem).unwrap_or_default();
    let mut response = respond(
        status,
        "application/problem+json",
        ResponseBody::whole(Bytes::from(octets)),
    );
    let methods = refusal.allow.as_deref().map(HeaderValue::from_str);
    if let Some(Ok(methods)) = methods {
        response.headers_mut().insert(ALLOW, methods);
    }
    if let Some(seconds) = problem.after {
        let seconds = HeaderValue::from(u32::from(seconds) + 1);
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
    response
}

/// Returns the answer, or the problem as an answer.
pub fn into_response(answer: Result<Response<ResponseBody>, Problem>) -> Response<ResponseBody> {
    answer.unwrap_or_else(|problem| problem_response(&problem.into()))
}

fn respond(
    status: StatusCode,
    media_type: &'static str,
    body: ResponseBody,
) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
