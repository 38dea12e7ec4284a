//! Heads of requests and of answers: cookies, and where one is sent.

use std::fmt::Write;

use api::server::ResponseBody;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use portal_core::pass::Pass;

/// Name of the cookie, and seconds for which it is kept: a year.
const COOKIE: &str = "weir";
const KEPT: u32 = 31_536_000;

/// Returns the pass from the browser's cookies.
pub fn pass(headers: &HeaderMap) -> Option<Pass> {
    let cookies = header(headers, "cookie").split(';');
    let mut ours = cookies.filter_map(|one| one.trim().strip_prefix(COOKIE)?.strip_prefix('='));
    ours.find_map(|text| text.parse().ok())
}

/// Stores a pass in the browser, out of reach of scripts and other sites (RFC 6265 section 5.3;
/// `SameSite`: draft-ietf-httpbis-rfc6265bis).
pub fn keep(response: &mut Response<ResponseBody>, pass: &str) {
    let text = format!("{COOKIE}={pass}; Path=/; Max-Age={KEPT}; HttpOnly; SameSite=Lax");
    if let Ok(value) = HeaderValue::from_str(&text) {
        response
            .headers_mut()
            .insert(hyper::header::SET_COOKIE, value);
    }
}

pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

pub fn text(status: StatusCode, media: &'static str, text: String) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(text.into()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

pub fn moved(status: StatusCode, to: &str) -> Response<ResponseBody> {
    let mut body = String::new();
    let _ = write!(
        body,
        "<!doctype html><title>Log in</title><a href=\"{to}\">Log in</a>"
    );
    let mut response = text(status, "text/html; charset=utf-8", body);
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(hyper::header::LOCATION, to);
    }
    response
}
