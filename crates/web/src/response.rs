//! Answers, and their common headers.

use api::Problem;
use api::server::ResponseBody;
use http_body_util::BodyExt;
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderName, HeaderValue, REFERRER_POLICY, SET_COOKIE, VARY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::accept::Encoding;
use crate::assets::Asset;

/// Refusal of a request.
pub(crate) enum Rejection {
    /// The request is not valid or not allowed.
    Problem(Problem),
    /// The daemon refused the request, with this answer.
    Told(Response<ResponseBody>),
}

impl From<Problem> for Rejection {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Policy: everything from this server, nothing inline, no framing, and no script may turn text
/// into markup or script.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors \
    'none'; object-src 'none'; \
                      require-trusted-types-for 'script'";

/// Adds the headers of every answer. A document that the daemon made, such as a sheet to be
/// printed, keeps a policy of its own.
pub fn protect(headers: &mut HeaderMap) {
    let policy = headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(POLICY));
    // For browsers without support for `frame-ancestors`.
    let framed = match policy.to_str() {
        Ok(policy) if policy.contains("frame-ancestors 'self'") => "SAMEORIGIN",
        _ => "DENY",
    };
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, framed),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=()",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

pub(crate) fn json(value: &impl Serialize) -> Response<ResponseBody> {
    // Plain structs of strings and flags: serializing cannot fail.
    let octets = serde_json::to_vec(value).unwrap_or_default();
    body("application/json", octets.into())
}

pub(crate) fn body(media: &'static str, octets: Bytes) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(octets));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

/// Returns a refusal: a problem object for scripts, plain text for people.
pub(crate) fn rejection_response(
    problem: Problem,
    script: bool,
    allow: Option<&str>,
) -> Response<ResponseBody> {
    let mut response = match script {
        true => api::server::problem_response(&problem.into()),
        false => {
            let text = format!("{}\n\n{}\n", problem.detail, problem.hint);
            let status = StatusCode::from_u16(problem.status);
            let mut response = body("text/plain; charset=utf-8", text.into());
            *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            response
        }
    };
    if let Some(Ok(allow)) = allow.map(HeaderValue::from_str) {
        response.headers_mut().insert(ALLOW, allow);
    }
    response
}

/// Returns the problem in the daemon's answer.
pub(crate) async fn problem(answer: Response<ResponseBody>) -> Problem {
    parse_response(answer)
        .await
        .unwrap_or_else(|problem| problem)
}

/// Converts the daemon's figures for a reader without OpenMetrics.
pub(crate) async fn plain_figures(
    answer: Response<ResponseBody>,
) -> Result<Response<ResponseBody>, Problem> {
    let octets = whole(answer).await?;
    let text = api::metrics::to_plain_text(&String::from_utf8_lossy(&octets));
    Ok(body(api::metrics::PLAIN_TYPE, text.into()))
}

async fn whole(answer: Response<ResponseBody>) -> Result<Bytes, Problem> {
    let octets = answer.into_body().collect().await;
    octets.map(|all| all.to_bytes()).map_err(|_| broken())
}

fn broken() -> Problem {
    let detail = "the daemon's answer was incomplete";
    Problem::new(503, "no_daemon", detail, "try again in a few seconds")
}

/// Parses the daemon's answer.
pub(crate) async fn parse_response<T: DeserializeOwned>(
    answer: Response<ResponseBody>,
) -> Result<T, Problem> {
    serde_json::from_slice(&whole(answer).await?).map_err(|_| broken())
}

/// The file does not exist, or this client may not see it.
pub(crate) fn no_file() -> Problem {
    let hint = "the page is at /";
    Problem::new(404, "unknown_path", "page not found", hint)
}

/// The client is not logged in.
pub(crate) fn not_logged_in() -> Problem {
    let detail = "not logged in, or the session has ended";
    Problem::new(401, "log_in", detail, "log in")
}

/// Returns a file of the page, or the answer that it has not changed.
pub(crate) fn file(
    asset: &'static Asset,
    wanted: Encoding,
    known: Option<&str>,
) -> Response<ResponseBody> {
    let (octets, encoding) = asset.content(wanted);
    let suffix = match encoding {
        Encoding::Brotli => "-br",
        Encoding::Gzip => "-gz",
        Encoding::Plain => "",
    };
    let tag = format!("\"{}{suffix}\"", asset.tag);
    let same = known.is_some_and(|known| {
        known
            .split(',')
            .map(|one| one.trim().trim_start_matches("W/"))
            .any(|one| one == tag || one == "*")
    });
    let mut response = match same {
        true => {
            let mut response = Response::new(ResponseBody::whole(Bytes::new()));
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
        false => body(asset.media, octets),
    };
    let headers = response.headers_mut();
    let encoded = match encoding {
        Encoding::Brotli => Some("br"),
        Encoding::Gzip => Some("gzip"),
        Encoding::Plain => None,
    };
    if let (Some(encoded), false) = (encoded, same) {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoded));
    }
    if asset.varies() {
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    let cache = match asset.hashed {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// Longest lifetime of a cookie in browsers (RFC 6265bis): 400 days.
const LONGEST: &str = "; Max-Age=34560000";

/// Sets a cookie with that lifetime.
pub(crate) fn set_lasting_cookie(headers: &mut HeaderMap, name: &str, value: &str, secure: bool) {
    cookie(headers, name, value, secure, LONGEST);
}

/// Sets or removes the session's cookie.
pub(crate) fn set_cookie(headers: &mut HeaderMap, name: &str, value: Option<&str>, secure: bool) {
    match value {
        Some(value) => cookie(headers, name, value, secure, ""),
        None => cookie(headers, name, "", secure, "; Max-Age=0"),
    }
}

fn cookie(headers: &mut HeaderMap, name: &str, value: &str, secure: bool, age: &str) {
    let secure = if secure { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{age}");
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        headers.append(SET_COOKIE, cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only a document of the daemon may be framed by the page, and only if it says so.
    #[test]
    fn a_document_has_a_policy_of_its_own() {
        for (own, policy, framed) in [
            (None, POLICY, "DENY"),
            (Some("default-src 'none'"), "default-src 'none'", "DENY"),
            (
                Some("default-src 'none'; frame-ancestors 'self'"),
                "default-src 'none'; frame-ancestors 'self'",
                "SAMEORIGIN",
            ),
        ] {
            let mut headers = HeaderMap::new();
            let own = own.map(HeaderValue::from_static);
            headers.extend(own.map(|own| (CONTENT_SECURITY_POLICY, own)));
            protect(&mut headers);
            assert_eq!(headers[CONTENT_SECURITY_POLICY], policy);
            assert_eq!(headers[X_FRAME_OPTIONS], framed);
            assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        }
    }
}
