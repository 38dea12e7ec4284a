//! Requests of the portal's process to weir.

use std::net::IpAddr;

use api::client::exchange;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use web::channel::ServerEnd;
use web::throttle::Client;
use web::{Device, DeviceQuery};

/// Weir did not answer, or not this.
pub struct NoAnswer;

/// Asks weir.
pub async fn ask<T: DeserializeOwned>(
    theirs: &ServerEnd,
    path: &str,
    said: &impl Serialize,
) -> Result<T, NoAnswer> {
    let body = serde_json::to_vec(said).map_err(|_| NoAnswer)?;
    let request = Request::post(path).body(Full::new(Bytes::from(body)));
    request_json(theirs, request.map_err(|_| NoAnswer)?).await
}

/// Sends a request to weir and parses the JSON response.
pub async fn request_json<T: DeserializeOwned>(
    theirs: &ServerEnd,
    request: Request<Full<Bytes>>,
) -> Result<T, NoAnswer> {
    let octets = answer_to(theirs, request).await?;
    serde_json::from_slice(&octets).map_err(|_| NoAnswer)
}

/// Sends a request to weir and returns the body of the response.
pub async fn answer_to(
    theirs: &ServerEnd,
    request: Request<Full<Bytes>>,
) -> Result<Bytes, NoAnswer> {
    let stream = theirs.connect().map_err(|_| NoAnswer)?;
    let answer = exchange(stream, request).await.map_err(|_| NoAnswer)?;
    if !answer.status().is_success() {
        return Err(NoAnswer);
    }
    let octets = answer.into_body().collect().await.map_err(|_| NoAnswer)?;
    Ok(octets.to_bytes())
}

/// Finds the client with an address: a guest's device, if weir knows it. `None`: the daemon does
/// not answer.
pub async fn device(theirs: &ServerEnd, address: IpAddr) -> Option<Client> {
    let device: Result<Device, NoAnswer> =
        ask(theirs, "/portal/device", &DeviceQuery { address }).await;
    device.ok().map(|device| device.or(address))
}
