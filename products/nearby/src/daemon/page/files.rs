//! Files for the browser, in the binary, found by exact path.

use api::server::ResponseBody;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};

macro_rules! built {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

/// Notice for a page that was not built.
const MISSING: &[u8] = b"<!doctype html><html lang=\"en\"><title>weir-nearby</title><p>This \
    weir-nearby was built without its page: run `make web build-nearby` to include it.";

/// Returns the file at a path.
pub fn find(path: &str) -> Option<Response<ResponseBody>> {
    let (media, octets): (_, &'static [u8]) = match path {
        "/" => ("text/html; charset=utf-8", built!("index.html")),
        "/page.js" => ("text/javascript; charset=utf-8", built!("page.js")),
        "/page.css" => ("text/css; charset=utf-8", built!("page.css")),
        "/icon.svg" => (
            "image/svg+xml",
            include_bytes!("../../../../../web/src/icon.svg"),
        ),
        _ => return None,
    };
    let octets = match octets {
        [] if path == "/" => MISSING,
        octets => octets,
    };
    Some(answer(media, Bytes::from_static(octets)))
}

/// Builds a whole answer.
pub fn answer(media: &'static str, octets: Bytes) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(octets));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}
