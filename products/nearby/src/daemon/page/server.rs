//! Handling of requests, from the head to the answer.

use std::cell::RefCell;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use api::server::{ResponseBody, json, problem_response, read_body};
use api::{AccessLevel, Body, Problem, Refusal, Routes};
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderValue, SET_COOKIE};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use serde::Deserialize;
use web::host::AcceptedHosts;
use web::throttle::{Client, LOGIN_ALL, LOGIN_EACH, Throttle};
use web::{ClientConnection, HttpService, Limits, RequestBody, request_checks};

use super::auth::TokenAuth;
use super::files;
use crate::daemon::metrics;
use crate::daemon::routes::routes;
use crate::daemon::state::State;

/// Largest body of a login, in bytes.
const LONGEST_TOKEN: usize = 4096;

/// Limits of a client.
pub fn limits() -> Limits {
    Limits {
        connections: 64,
        per_address: 12,
        body: LONGEST_TOKEN,
        ..Limits::default()
    }
}

/// Target of a request.
enum Wanted {
    Metrics,
    Login,
    /// A path of the socket's.
    Api(&'static str),
}

/// A login with a token.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    token: String,
}

impl Body for Given {
    const EXPECTED: &'static str = "a JSON object with \"token\"";
}

/// Access control of requests.
pub struct PageServer {
    state: State,
    routes: Routes,
    entry: Option<TokenAuth>,
    hosts: AcceptedHosts,
    tries: RefCell<Throttle>,
    begun: Instant,
    limits: Limits,
}

impl PageServer {
    /// Creates the front of a daemon. Without an entry no token is required.
    pub fn new(state: State, entry: Option<TokenAuth>, limits: Limits) -> Self {
        Self {
            routes: routes(&state),
            state,
            entry,
            hosts: AcceptedHosts::new([]),
            tries: RefCell::new(Throttle::new(LOGIN_EACH, LOGIN_ALL)),
            begun: Instant::now(),
            limits,
        }
    }

    async fn decide(
        &self,
        parts: &Parts,
        body: RequestBody,
        peer: ClientConnection,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let headers = &parts.headers;
        let own = request_checks::authority(headers, &parts.uri, &peer, &self.hosts);
        let own = own.map_err(as_here)?;
        let path = parts.uri.path();
        if let Some(file) = files::find(path) {
            takes(&parts.method, &[Method::GET]).map_err(|it| *it)?;
            return Ok(file);
        }
        let (wanted, methods): (_, &[Method]) = match path {
            "/metrics" => (Wanted::Metrics, &[Method::GET]),
            "/api/login" => (Wanted::Login, &[Method::POST]),
            "/api/peers" => (Wanted::Api("/v1/peers"), &[Method::GET]),
            "/api/past" => (Wanted::Api("/v1/past"), &[Method::GET]),
            "/api/messages" => (Wanted::Api("/v1/messages"), &[Method::GET, Method::POST]),
            _ => return Err(nothing(path).into()),
        };
        takes(&parts.method, methods).map_err(|it| *it)?;
        let changes = parts.method != Method::GET;
        request_checks::same_site(headers, &own, &peer, changes)?;
        if changes {
            request_checks::is_json(headers)?;
        }
        match wanted {
            Wanted::Login => self.login(body, peer).await,
            Wanted::Metrics => {
                self.admit(headers)?;
                let text = metrics::text(&self.state.figures());
                Ok(files::answer(api::metrics::CONTENT_TYPE, text.into()))
            }
            Wanted::Api(path) => {
                self.admit(headers)?;
                self.ask(parts, path, body).await
            }
        }
    }

    /// Answers as the socket does.
    async fn ask(
        &self,
        parts: &Parts,
        path: &str,
        body: RequestBody,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let found = self
            .routes
            .find(parts.method.as_str(), path, AccessLevel::Root);
        let found = found.map_err(|refusal| *refusal)?;
        let octets = match found.longest_body(self.limits.body) {
            Some(longest) => read_body(body, longest, self.limits.request_time).await?,
            None => Bytes::new(),
        };
        let query = parts.uri.query().unwrap_or_default();
        Ok(found.respond(query, &octets).await?)
    }

    /// Refuses a request without the token, where one is required.
    fn admit(&self, headers: &HeaderMap) -> Result<(), Problem> {
        match &self.entry {
            Some(entry) if !entry.admits(headers) => Err(Problem::new(
                401,
                "no_token",
                "missing token",
                "enter the token from the file of --page-token",
            )),
            _ => Ok(()),
        }
    }

    async fn login(
        &self,
        body: RequestBody,
        peer: ClientConnection,
    ) -> Result<Response<ResponseBody>, Refusal> {
        let Some(entry) = &self.entry else {
            return Err(nothing("/api/login").into());
        };
        let now = self.begun.elapsed();
        let tried = self.tries.borrow_mut().take(peer.address, now);
        tried.map_err(|wait| {
            let detail = "too many wrong tokens";
            Problem::new(429, "too_many", detail, "wait a few seconds").with_retry_after(wait)
        })?;
        let octets = read_body(body, self.limits.body, self.limits.request_time).await?;
        let given: Given = serde_json::from_slice(&octets).map_err(|error| {
            let detail = format!("malformed body of the request: {error}");
            let hint = format!("send {}", Given::EXPECTED);
            Problem::new(400, "malformed_body", detail, hint)
        })?;
        if !entry.is_token(given.token.trim()) {
            let hint = "compare it with the file of --page-token";
            return Err(Problem::new(401, "wrong_token", "wrong token", hint).into());
        }
        self.tries.borrow_mut().refund(peer.address);
        let mut response = json(&serde_json::json!({}))?;
        if let Ok(mut cookie) = HeaderValue::from_str(&entry.cookie()) {
            cookie.set_sensitive(true);
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        Ok(response)
    }
}

impl HttpService for PageServer {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    async fn client(&self, address: IpAddr) -> Option<Client> {
        Some(neighbour(address).map_or(address.into(), Client::Device))
    }

    async fn respond(
        &self,
        request: Request<RequestBody>,
        peer: ClientConnection,
    ) -> Response<ResponseBody> {
        let (parts, body) = request.into_parts();
        let decided = self.decide(&parts, body, peer).await;
        let mut response = decided.unwrap_or_else(|refusal| problem_response(&refusal));
        web::protect(response.headers_mut());
        response
    }
}

/// Returns the hardware address of a neighbour, which the kernel shows in a file for IPv4 only.
fn neighbour(address: IpAddr) -> Option<[u8; 6]> {
    mac_of(address, &std::fs::read_to_string("/proc/net/arp").ok()?)
}

/// Returns the hardware address in a line of `/proc/net/arp` (proc_net(5)): `IP HWtype Flags
/// HWaddress …`.
fn mac_of(address: IpAddr, table: &str) -> Option<[u8; 6]> {
    table.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let found: IpAddr = words.next()?.parse().ok()?;
        let (_, flags, text) = (words.next()?, words.next()?, words.next()?);
        if found != address || flags == "0x0" {
            return None;
        }
        net::mac::parse(text)
    })
}

/// Adapts a problem: the router's page has a configuration for names; this page is reached by
/// addresses.
fn as_here(problem: Problem) -> Problem {
    match problem.error.as_str() {
        "wrong_host" => Problem::new(
            403,
            "wrong_host",
            "this page has another name than the one in the request",
            "use the address, or localhost on this machine",
        ),
        _ => problem,
    }
}

fn takes(method: &Method, methods: &[Method]) -> Result<(), Box<Refusal>> {
    if methods.contains(method) {
        return Ok(());
    }
    let allowed: Vec<&str> = methods.iter().map(Method::as_str).collect();
    let detail = "the path does not take this method";
    let hint = format!("use {}", allowed.join(" or "));
    Err(Box::new(Refusal {
        problem: Problem::new(405, "wrong_method", detail, hint),
        allow: Some(allowed.join(", ")),
    }))
}

fn nothing(path: &str) -> Problem {
    let detail = format!("nothing at {}", api::problem::clipped(path));
    Problem::new(404, "unknown_path", detail, "the page is at /")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_found_where_the_kernel_has_their_hardware_address() {
        let table = "IP address       HW type     Flags       HW address            Mask     Device\n\
            192.0.2.7        0x1         0x2         02:00:00:00:00:07     *        lan0\n\
            192.0.2.8        0x1         0x0         00:00:00:00:00:00     *        lan0\n\
            192.0.2.9        0x1         0x2         nonsense              *        lan0\n";
        let of = |last: u8| mac_of(IpAddr::from([192, 0, 2, last]), table);
        assert_eq!(of(7), Some([2, 0, 0, 0, 0, 7]));
        assert_eq!([8, 9, 10].map(of), [None; 3]);
    }
}
