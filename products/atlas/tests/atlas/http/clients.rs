//! Clients that are odd, slow, hostile, or gone.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::common::server;
use crate::served::{Answer, Server};

#[test]
fn hosts_that_are_none() {
    let server = server();
    let raw = |host: &str| {
        let request = format!("GET /chart/growth HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
        Answer::of(&server.raw(request.as_bytes()))
    };
    for host in [
        "Host: \"><script>\r\n",
        "Host: a b\r\n",
        "Host: a/b\r\n",
        "Host: \r\n",
    ] {
        assert_eq!(raw(host).status, 400, "{host}");
    }
    assert!(
        raw("Host: atlas.example\r\n")
            .text()
            .contains("http://atlas.example/chart/growth")
    );
}

#[test]
fn requests_that_are_too_large_or_none() {
    let server = server();
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(200_000));
    let many: String = (0..200)
        .map(|number| format!("X-{number}: a\r\n"))
        .collect();
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n");
    let wide = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "a".repeat(200_000)
    );
    let query = format!(
        "GET /chart/growth.json?only={} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "a,".repeat(6000)
    );
    for request in [long, many, wide, query] {
        let answer = server.raw(request.as_bytes());
        if !answer.is_empty() {
            let status = Answer::of(&answer).status;
            assert!(
                matches!(status, 400 | 413 | 414 | 431),
                "{status}: {}",
                &request[..60]
            );
        }
    }
    for nonsense in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let answer = server.raw(nonsense);
        assert!(answer.is_empty() || Answer::of(&answer).status >= 400);
    }
    assert_eq!(server.get("/healthz").status, 200, "goes on");
}

#[test]
fn the_same_connection_is_used_again() {
    let server = server();
    let mut stream = server.connect();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    for _ in 0..3 {
        stream.write_all(request.as_bytes()).expect("asked");
        let mut answer = [0; 4096];
        let length = stream.read(&mut answer).expect("answered");
        assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
    }
}

/// Silent connections keep no other client out.
#[test]
fn many_silent_clients() {
    let server = Server::start(&[]);
    let begin = Instant::now();
    // More than it lets in, but no more than wait to be let in.
    let silent: Vec<_> = (0..320)
        .map(|_| std::net::TcpStream::connect(server.address))
        .collect();
    assert_eq!(server.get("/healthz").status, 200);
    assert!(
        begin.elapsed() < Duration::from_secs(15),
        "{:?}",
        begin.elapsed()
    );
    drop(silent);
    assert_eq!(server.get("/healthz").status, 200);
    assert!(server.end());
}

#[test]
fn a_client_that_never_finishes_its_request_is_sent_away() {
    let server = Server::start(&[]);
    let mut slow = server.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHost:").expect("asked");
    let mut rest = Vec::new();
    let begin = Instant::now();
    let _ = slow.read_to_end(&mut rest);
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

/// An endless query of a client that disconnects: the query ends as well.
#[test]
fn a_client_that_goes_takes_its_query_with_it() {
    let server = Server::start(&[]);
    let endless = "WITH+RECURSIVE+c(x)+AS+(SELECT+1+UNION+ALL+SELECT+x%2B1+FROM+c)+\
                   SELECT+count(*)+FROM+c";
    let left = || {
        let figures = server.get("/metrics");
        let line = "weir_atlas_queries_total{result=\"left\"} ";
        let (_, behind) = figures.text().split_once(line).expect("the figure");
        behind.lines().next() == Some("1")
    };
    // The copy that queries ask is made by the first one.
    server.get("/sql?format=json&q=SELECT+1");
    let mut client = server.connect();
    let request = format!("GET /sql?format=json&q={endless} HTTP/1.1\r\nHost: x\r\n\r\n");
    client.write_all(request.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_millis(700));
    assert!(!left());
    drop(client);
    for _ in 0..20 {
        if left() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("its query goes on: {}", server.get("/metrics").text());
}
