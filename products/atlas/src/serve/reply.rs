//! An answer, before it is adapted to the client.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Bytes;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use crate::page::asset::tag;

/// Media types of frequent answers.
pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const JSON: &str = "application/json";

/// Below this, gzip makes answers longer.
const SMALL: usize = 400;

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub status: StatusCode,
    pub media: &'static str,
    pub body: Bytes,
    /// Compressed body, if shorter.
    pub gzip: Option<Bytes>,
    /// Tag of the content.
    pub tag: String,
    pub kept: CachePolicy,
    pub frame: Frame,
    /// Target of a redirect.
    pub location: Option<String>,
    /// True if rows are missing: `X-Truncated` reports this.
    pub truncated: bool,
}

/// Lifetime in other caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CachePolicy {
    No,
    /// For answers from the store, which changes at most each hour.
    Minutes,
    /// For files with a version in the address, which change with the program.
    Ever,
    /// For files without a version, as named by other pages.
    Hour,
}

/// Framing and loading policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A page: in no frame.
    Page,
    /// A page for frames of other pages.
    Embed,
    /// A picture or data, for everyone.
    Public,
}

impl Frame {
    /// Returns the policy: all content from this server, nothing inline. A separate picture has its
    /// own style.
    fn policy(self) -> &'static str {
        match self {
            Self::Page => {
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                 connect-src 'self'; form-action 'self'; base-uri 'none'; \
                 frame-ancestors 'none'"
            }
            Self::Embed => {
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                 connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *"
            }
            Self::Public => {
                "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                 form-action 'none'; frame-ancestors *"
            }
        }
    }
}

impl Reply {
    /// Creates an answer, compressed and named by its content.
    pub fn new(
        media: &'static str,
        body: impl Into<Bytes>,
        kept: CachePolicy,
        frame: Frame,
    ) -> Self {
        let body = body.into();
        Self {
            status: StatusCode::OK,
            media,
            gzip: compressed(&body),
            tag: tag(&body),
            body,
            kept,
            frame,
            location: None,
            truncated: false,
        }
    }

    /// Creates a short answer that is not cached.
    pub fn plain(status: StatusCode, text: impl Into<String>) -> Self {
        let body = Bytes::from(text.into());
        let media = "text/plain; charset=utf-8";
        let reply = Self::new(media, body, CachePolicy::No, Frame::Page);
        Self { status, ..reply }
    }

    /// Creates a redirect.
    pub fn redirect(to: String) -> Self {
        let reply = Self::plain(StatusCode::FOUND, "");
        Self {
            location: Some(to),
            ..reply
        }
    }

    /// Returns the bytes in memory.
    pub fn weight(&self) -> usize {
        self.body.len() + self.gzip.as_ref().map_or(0, Bytes::len) + 200
    }

    /// Returns the response, with gzip if accepted, or 304 if `known` matches.
    pub fn respond(&self, takes_gzip: bool, known: Option<&str>) -> Response<Bytes> {
        let packed = self.gzip.as_ref().filter(|_| takes_gzip);
        let tag = match packed {
            Some(_) => format!("\"{}-gz\"", self.tag),
            None => format!("\"{}\"", self.tag),
        };
        let cached = self.status == StatusCode::OK && self.kept != CachePolicy::No;
        let same = cached && known.is_some_and(|known| is_among(&tag, known));
        let octets = match (same, packed) {
            (true, _) => Bytes::new(),
            (false, Some(packed)) => packed.clone(),
            (false, None) => self.body.clone(),
        };
        let mut response = Response::new(octets);
        *response.status_mut() = match same {
            true => StatusCode::NOT_MODIFIED,
            false => self.status,
        };
        let headers = response.headers_mut();
        let mut put = |name: HeaderName, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        put(X_CONTENT_TYPE_OPTIONS, "nosniff");
        put(REFERRER_POLICY, "strict-origin-when-cross-origin");
        put(CONTENT_SECURITY_POLICY, self.frame.policy());
        put(VARY, "Accept-Encoding, Accept-Language");
        put(
            CACHE_CONTROL,
            match self.kept {
                CachePolicy::No => "no-store",
                CachePolicy::Minutes => "public, max-age=120, stale-while-revalidate=3600",
                CachePolicy::Ever => "public, max-age=31536000, immutable",
                CachePolicy::Hour => "public, max-age=3600, stale-while-revalidate=86400",
            },
        );
        put(
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=()",
        );
        put(
            HeaderName::from_static("cross-origin-resource-policy"),
            match self.frame {
                Frame::Page => "same-origin",
                Frame::Embed | Frame::Public => "cross-origin",
            },
        );
        match self.frame {
            Frame::Page => put(HeaderName::from_static("x-frame-options"), "DENY"),
            Frame::Embed => {}
            Frame::Public => put(ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        }
        if !same {
            put(CONTENT_TYPE, self.media);
            if packed.is_some() {
                put(CONTENT_ENCODING, "gzip");
            }
        }
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => put(RETRY_AFTER, "2"),
            // The maximum time of a query.
            StatusCode::TOO_MANY_REQUESTS => put(RETRY_AFTER, "5"),
            _ => {}
        }
        if self.truncated {
            put(HeaderName::from_static("x-truncated"), "true");
        }
        if let (true, Ok(tag)) = (cached, HeaderValue::from_str(&tag)) {
            headers.insert(ETAG, tag);
        }
        let location = self.location.as_deref().map(HeaderValue::from_str);
        if let Some(Ok(location)) = location {
            headers.insert(LOCATION, location);
        }
        response
    }
}

/// Returns true if `If-None-Match` names this tag.
fn is_among(tag: &str, known: &str) -> bool {
    known
        .split(',')
        .map(|one| one.trim().trim_start_matches("W/"))
        .any(|one| one == tag || one == "*")
}

fn compressed(body: &[u8]) -> Option<Bytes> {
    if body.len() < SMALL {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::new(5));
    // Into memory, which does not fail.
    encoder.write_all(body).ok()?;
    let packed = encoder.finish().ok()?;
    (packed.len() < body.len()).then(|| packed.into())
}

/// Returns true if `Accept-Encoding` allows gzip (RFC 9110 section 12.5.3). Weights only mean yes
/// or no here.
pub(crate) fn takes_gzip(header: &str) -> bool {
    let (mut gzip, mut any) = (None, None);
    for item in header.split(',') {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let refused = parts.any(|part| {
            let weight = part.split_once('=').filter(|(name, _)| name.trim() == "q");
            let zero = |text: &str| text.trim().bytes().all(|b| matches!(b, b'0' | b'.'));
            weight.is_some_and(|(_, value)| zero(value))
        });
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            gzip = Some(!refused);
        } else if name == "*" {
            any = Some(!refused);
        }
    }
    gzip.or(any).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_gzip() {
        for (header, takes) in [
            ("", false),
            ("identity", false),
            ("gzip, deflate, br", true),
            ("GZIP;q=0.1", true),
            ("gzip;q=0", false),
            ("gzip; q = 0.000", false),
            ("*", true),
            ("*, gzip;q=0", false),
            (",,;;q=,", false),
        ] {
            assert_eq!(takes_gzip(header), takes, "{header}");
        }
    }

    #[test]
    fn what_is_known_is_not_sent_again() {
        let text = "a ".repeat(SMALL);
        let reply = Reply::new("text/plain", text, CachePolicy::Minutes, Frame::Public);
        for (gzip, known, status) in [
            (true, None, 200),
            (true, Some(format!("\"{}-gz\"", reply.tag)), 304),
            (true, Some(format!("W/\"x\", W/\"{}-gz\"", reply.tag)), 304),
            (false, Some(format!("\"{}-gz\"", reply.tag)), 200),
            (false, Some("*".to_owned()), 304),
            (false, Some(reply.tag.clone()), 200),
        ] {
            let response = reply.respond(gzip, known.as_deref());
            assert_eq!(response.status(), status, "{known:?}");
            assert!(response.headers().contains_key(ETAG));
        }
        let failed = Reply::plain(StatusCode::NOT_FOUND, "no");
        assert_eq!(failed.respond(true, Some("*")).status(), 404);
    }
}
