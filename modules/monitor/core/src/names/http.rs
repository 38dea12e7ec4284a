//! The host that a plain HTTP/1 request is for (RFC 9112, 3.2).

use super::{Outcome, text};

const METHODS: [&[u8]; 9] = [
    b"GET ",
    b"POST ",
    b"HEAD ",
    b"PUT ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"CONNECT ",
    b"PROPFIND ",
];

/// Parses the first bytes from a TCP client, up to the `Host` field of the first request.
///
/// [`Outcome::Foreign`]: not HTTP/1. [`Outcome::Nothing`]: a complete header without a host name.
pub fn read(first: &[u8]) -> Outcome<String> {
    let begins = |method: &&[u8]| {
        let length = method.len().min(first.len());
        method[..length] == first[..length]
    };
    if !METHODS.iter().any(begins) {
        return Outcome::Foreign;
    }
    let mut lines = first.split_inclusive(|&octet| octet == b'\n');
    let whole = |line: &&[u8]| line.ends_with(b"\n");
    let Some(request) = lines.next().filter(whole) else {
        return Outcome::NeedMore;
    };
    if !matches!(
        request.trim_ascii_end().last_chunk(),
        Some(b" HTTP/1.0" | b" HTTP/1.1")
    ) {
        return Outcome::Foreign;
    }
    for line in lines {
        if !whole(&line) {
            return Outcome::NeedMore;
        }
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return Outcome::Nothing;
        }
        let Some(colon) = line.iter().position(|&octet| octet == b':') else {
            return Outcome::Foreign;
        };
        if line[..colon].eq_ignore_ascii_case(b"host") {
            return match text::host(without_port(line[colon + 1..].trim_ascii_start())) {
                Some(name) => Outcome::Found(name),
                None => Outcome::Nothing,
            };
        }
    }
    Outcome::NeedMore
}

/// Returns `example.org` for `example.org:8080`.
fn without_port(host: &[u8]) -> &[u8] {
    match host.iter().rposition(|&octet| octet == b':') {
        Some(colon) if host[colon + 1..].iter().all(u8::is_ascii_digit) => &host[..colon],
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Outcome<String> {
        Outcome::Found(name.to_owned())
    }

    #[test]
    fn requests() {
        let request = b"GET /a?b HTTP/1.1\r\nUser-Agent: x:y\r\nHOST: Www.Example.org:8080\r\n\r\n";
        assert_eq!(read(request), found("www.example.org"));
        let enough = request.len() - 2;
        for length in 0..enough {
            assert_eq!(read(&request[..length]), Outcome::NeedMore, "{length}");
        }
        assert_eq!(read(&request[..enough]), found("www.example.org"));
        assert_eq!(read(b"POST / HTTP/1.0\nhost:a\n"), found("a"));
        assert_eq!(
            read(b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n"),
            found("a.example")
        );
    }

    #[test]
    fn no_name() {
        for host in [
            "",
            "192.0.2.1",
            "192.0.2.1:80",
            "[2001:db8::1]:80",
            "a b",
            "<b>",
            "a\u{1b}[0m",
        ] {
            let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(read(request.as_bytes()), Outcome::Nothing, "{host}");
        }
        assert_eq!(read(b"GET / HTTP/1.0\r\n\r\nHost: a\r\n"), Outcome::Nothing);
    }

    #[test]
    fn something_else() {
        for other in [
            &b"SSH-2.0-x\r\n"[..],
            b"get / HTTP/1.1\r\n",
            b"GETX",
            b"\x16\x03",
            b"GET /\r\n",
            b"GET / SIP/2.0\r\n",
            b"PRI * HTTP/2.0\r\n",
            b"GET / HTTP/1.1\r\nno colon\r\n",
        ] {
            assert_eq!(read(other), Outcome::Foreign, "{other:?}");
        }
    }
}
