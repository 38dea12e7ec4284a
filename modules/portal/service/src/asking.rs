//! Requests of the portal's process to weir.

use std::net::IpAddr;

use api::client::exchange;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use web::channel::Theirs;
use web::throttle::Client;
use web::{Device, Sought};

/// Weir did not answer, or not this.
pub struct Silent;

/// Asks weir.
pub async fn ask<T: DeserializeOwned>(
    theirs: &Theirs,
    path: &str,
    said: &impl Serialize,
) -> Result<T, Silent> {
    let body = serde_json::to_vec(said).map_err(|_| Silent)?;
    let request = Request::post(path).body(Full::new(Bytes::from(body)));
    told(theirs, request.map_err(|_| Silent)?).await
}

/// Sends a request to weir and parses the JSON response.
pub async fn told<T: DeserializeOwned>(
    theirs: &Theirs,
    request: Request<Full<Bytes>>,
) -> Result<T, Silent> {
    let octets = answer_to(theirs, request).await?;
    serde_json::from_slice(&octets).map_err(|_| Silent)
}

/// Sends a request to weir and returns the body of the response.
pub async fn answer_to(theirs: &Theirs, request: Request<Full<Bytes>>) -> Result<Bytes, Silent> {
    let stream = theirs.connect().map_err(|_| Silent)?;
    let answer = exchange(stream, request).await.map_err(|_| Silent)?;
    if !answer.status().is_success() {
        return Err(Silent);
    }
    let octets = answer.into_body().collect().await.map_err(|_| Silent)?;
    Ok(octets.to_bytes())
}

/// Finds the client with an address: a guest's device, if weir knows it. `None`: the daemon does
/// not answer.
pub async fn device(theirs: &Theirs, address: IpAddr) -> Option<Client> {
    let device: Result<Device, Silent> = ask(theirs, "/portal/device", &Sought { address }).await;
    device.ok().map(|device| device.or(address))
}
