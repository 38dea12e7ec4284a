//! Bodies of requests: bounded in length and in time.

use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};

use crate::problem::Problem;

/// Reads a request's body, within limits of bytes and of time.
pub async fn read_body<B>(body: B, limit: usize, time: Duration) -> Result<Bytes, Problem>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let length = match body.size_hint().exact() {
        Some(length) => format!("has {length} bytes"),
        None => "has more".to_owned(),
    };
    let body = Limited::new(body, limit).collect();
    match tokio::time::timeout(time, body).await {
        Err(_) => Err(Problem::new(
            408,
            "too_slow",
            "the request's body did not arrive in time",
            "send the body without pauses, and no longer than Content-Length",
        )),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::new(
            413,
            "too_long",
            format!("the request's body {length}, more than the limit of {limit}"),
            "send less: most calls take no body, or {}",
        )),
        Ok(Err(error)) => Err(Problem::new(
            400,
            "malformed_body",
            format!("cannot read the request's body: {error}"),
            "send as many bytes as Content-Length says, or complete chunks",
        )),
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}
