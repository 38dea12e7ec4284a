//! Checks of each request before it is handled: client address, host name and origin.

use std::net::IpAddr;

use api::Problem;
use hyper::HeaderMap;
use hyper::Uri;
use hyper::header::{CONTENT_TYPE, COOKIE, HOST, HeaderName, ORIGIN};

use crate::host::{AcceptedHosts, Authority, same_origin};
use crate::settings::is_loopback;
use crate::token::Token;

/// Header that each changing request must have.
pub(crate) const CSRF_HEADER: &str = "x-weir-csrf";

/// Headers that reveal a proxy in between.
const PROXIED: [&str; 6] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];

/// Largest number of cookies of this name to read: other programs of this host may have set some.
const COOKIES: usize = 4;

/// Ends of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientConnection {
    /// Address of the client.
    pub address: IpAddr,
    /// Address of this router that the client connected to.
    pub local: IpAddr,
    /// True if the connection uses TLS.
    pub tls: bool,
}

impl ClientConnection {
    /// Returns a peer on this machine, without TLS.
    pub fn loopback() -> Self {
        let address = IpAddr::from([127, 0, 0, 1]);
        Self {
            address,
            local: address,
            tls: false,
        }
    }

    /// Returns the name of the session's cookie. Browsers take a `__Host-` cookie over TLS only,
    /// for one host and all of its paths (RFC 6265bis section 4.1.3.2).
    pub(crate) fn cookie(&self) -> &'static str {
        match self.tls {
            true => "__Host-weir",
            false => "weir",
        }
    }

    /// Returns the name of the cookie of a device that logged in before.
    pub(crate) fn device_cookie(&self) -> &'static str {
        match self.tls {
            true => "__Host-weir-device",
            false => "weir-device",
        }
    }
}

/// Returns the host that the client asked for, if it is one of ours. An absolute request target
/// goes before the header (RFC 9112 section 3.2.2).
pub fn authority(
    headers: &HeaderMap,
    uri: &Uri,
    peer: &ClientConnection,
    hosts: &AcceptedHosts,
) -> Result<Authority, Problem> {
    let text = match uri.authority() {
        Some(authority) => Some(authority.as_str()),
        None => only(headers, HOST),
    };
    let Some(authority) = text.and_then(Authority::parse) else {
        return Err(Problem::new(
            400,
            "no_host",
            "the request has no valid Host header",
            "send one Host header",
        ));
    };
    if hosts.admit(&authority.host, peer.local) {
        return Ok(authority);
    }
    Err(Problem::new(
        403,
        "wrong_host",
        "this router does not know the host name in the request",
        "use the router's address, or add the name to `hosts` in the configuration",
    ))
}

/// Refuses requests from another site's page. Browsers report the origin of a request
/// (`Sec-Fetch-Site`; `Origin` on each POST), and a page cannot change that. Other clients need not
/// send either header.
pub fn same_site(
    headers: &HeaderMap,
    own: &Authority,
    peer: &ClientConnection,
    changes: bool,
) -> Result<(), Problem> {
    let refused = || {
        Err(Problem::new(
            403,
            "other_site",
            "the request comes from another site's page",
            "open the page directly; a reverse proxy must pass on the Host header unchanged",
        ))
    };
    for site in headers.get_all("sec-fetch-site") {
        match site.to_str() {
            Ok("same-origin") => {}
            // The user typed the address or used a bookmark.
            Ok("none") if !changes => {}
            _ => return refused(),
        }
    }
    for origin in headers.get_all(ORIGIN) {
        if !origin
            .to_str()
            .is_ok_and(|origin| same_origin(origin, own, peer.tls))
        {
            return refused();
        }
    }
    Ok(())
}

/// Returns true if the client is on this machine or comes through `ssh -L`, without a visible proxy
/// in between.
pub(crate) fn is_local(headers: &HeaderMap, own: &Authority, peer: &ClientConnection) -> bool {
    is_loopback(peer.address)
        && own.host.is_local()
        && PROXIED.iter().all(|name| !headers.contains_key(*name))
}

/// Accepts only JSON: a form of another site's page cannot send it without preflight.
pub fn is_json(headers: &HeaderMap) -> Result<(), Problem> {
    let is = only(headers, CONTENT_TYPE).is_some_and(|value| {
        let media = value.split(';').next().unwrap_or_default();
        media.trim().eq_ignore_ascii_case("application/json")
    });
    match is {
        true => Ok(()),
        false => Err(Problem::new(
            415,
            "not_json",
            "the request's Content-Type is not JSON",
            "send Content-Type: application/json",
        )),
    }
}

/// Returns the tokens in cookies of this name.
pub(crate) fn tokens(headers: &HeaderMap, cookie: &str) -> Vec<Token> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == cookie)
        .take(COOKIES)
        .filter_map(|(_, value)| Token::parse(value))
        .collect()
}

/// Returns a header's value if the header occurs once and is text.
pub fn only(
    headers: &HeaderMap,
    name: impl hyper::header::AsHeaderName + Into<HeaderName>,
) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    match values.next() {
        None => value.to_str().ok(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn comes_by(lines: &[(&'static str, &'static str)], uri: &'static str) -> Result<(), u16> {
        let uri = Uri::from_static(uri);
        authority(
            &headers(lines),
            &uri,
            &ClientConnection::loopback(),
            &AcceptedHosts::new(["router.lan"]),
        )
        .map(|_| ())
        .map_err(|problem| problem.status)
    }

    #[test]
    fn one_host_that_is_ours() {
        assert_eq!(comes_by(&[("host", "localhost")], "/"), Ok(()));
        assert_eq!(comes_by(&[("host", "router.lan:80")], "/"), Ok(()));
        assert_eq!(comes_by(&[("host", "evil.example")], "/"), Err(403));
        assert_eq!(comes_by(&[], "/"), Err(400));
        assert_eq!(comes_by(&[("host", "")], "/"), Err(400));
        let twice = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(comes_by(&twice, "/"), Err(400));
        let hidden = "http://evil.example/";
        assert_eq!(comes_by(&[("host", "localhost")], hidden), Err(403));
        assert_eq!(
            comes_by(&[("host", "localhost")], "http://user@localhost/"),
            Err(400)
        );
    }

    #[test]
    fn other_sites_are_refused() {
        let own = Authority::parse("localhost:9347").expect("a host");
        let mut tls = ClientConnection::loopback();
        let ask = |lines: &[(&'static str, &'static str)], changes, peer: &ClientConnection| {
            same_site(&headers(lines), &own, peer, changes).is_ok()
        };
        let plain = tls;
        assert!(ask(&[], true, &plain), "curl");
        assert!(ask(&[("origin", "http://localhost:9347")], true, &plain));
        assert!(ask(&[("sec-fetch-site", "same-origin")], true, &plain));
        assert!(ask(&[("sec-fetch-site", "none")], false, &plain));
        for (name, value) in [
            ("sec-fetch-site", "none"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "SAME-ORIGIN"),
            ("origin", "null"),
            ("origin", "http://localhost:80"),
            ("origin", "http://evil.example"),
        ] {
            assert!(!ask(&[(name, value)], true, &plain), "{name}: {value}");
        }
        for value in ["same-site", "cross-site"] {
            assert!(!ask(&[("sec-fetch-site", value)], false, &plain), "{value}");
        }
        let two = [
            ("origin", "http://localhost:9347"),
            ("origin", "http://evil.example"),
        ];
        assert!(!ask(&two, true, &plain));
        tls.tls = true;
        assert!(!ask(&[("origin", "http://localhost:9347")], true, &tls));
        assert!(ask(&[("origin", "https://localhost:9347")], true, &tls));
    }

    #[test]
    fn local_means_no_proxy_between() {
        let local = Authority::parse("localhost:9347").expect("a host");
        let named = Authority::parse("router.lan").expect("a host");
        let (none, peer) = (HeaderMap::new(), ClientConnection::loopback());
        assert!(is_local(&none, &local, &peer));
        assert!(!is_local(&none, &named, &peer));
        for name in PROXIED {
            assert!(!is_local(&headers(&[(name, "x")]), &local, &peer), "{name}");
        }
        let far = ClientConnection {
            address: IpAddr::from([192, 168, 1, 9]),
            ..peer
        };
        assert!(!is_local(&none, &local, &far));
    }

    #[test]
    fn json_is_json() {
        for fine in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/json ;x",
        ] {
            assert!(is_json(&headers(&[("content-type", fine)])).is_ok());
        }
        for other in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/jsonp",
            "",
        ] {
            assert!(is_json(&headers(&[("content-type", other)])).is_err());
        }
        assert!(is_json(&HeaderMap::new()).is_err());
    }

    #[test]
    fn cookies() {
        let token = "ab".repeat(32);
        let line: &'static str = format!("a=b; weir={token};weir=x; xweir={token}").leak();
        let found = tokens(&headers(&[("cookie", line)]), "weir");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text(), token);
        let many: &'static str = format!("weir={token};").repeat(1000).leak();
        assert_eq!(tokens(&headers(&[("cookie", many)]), "weir").len(), COOKIES);
        assert!(tokens(&headers(&[("cookie", ";;==;weir")]), "weir").is_empty());
    }
}
