//! Sends ten thousand requests of valid and random pieces. Runs in its own process, because it
//! measures memory.

use crate::support;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use support::{Directory, Server, password_in};
use weir_web::Metrics;

/// Returns a piece of a request: a known word or random bytes.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = proptest::sample::select(vec![
        "GET ",
        "POST ",
        "HEAD ",
        "/",
        "/api/session",
        "/api/login",
        "/api/password",
        "/api/logout",
        "/api/v1/flows?port=",
        "/api/v1/reload",
        "/metrics",
        "/../..",
        "%00%2e%2e",
        "http://localhost",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        "Host: localhost\r\n",
        "Host: [::1]:\r\n",
        "Origin: http://localhost\r\n",
        "Sec-Fetch-Site: same-origin\r\n",
        "Content-Type: application/json\r\n",
        "Content-Length: 20\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Expect: 100-continue\r\n",
        "Upgrade: h2c\r\nConnection: Upgrade\r\n",
        "Accept-Encoding: br;q=,;;*\r\n",
        "If-None-Match: *,W/,\"\r\n",
        "Authorization: Bearer \r\n",
        "Cookie: weir=",
        "Cookie: ;=;weir=00;weir\r\n",
        "X-Weir-Csrf: \r\n",
        "\r\n",
        "\r\n\r\n",
        "{\"password\":\"",
        "{\"old\":null,\"new\":\"xxxxxxxx\"}",
        "14\r\n{\"password\":\"aaaaaa\"}\r\n0\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ])
    .prop_map(|text| text.as_bytes().to_vec());
    prop_oneof![8 => known, 1 => proptest::collection::vec(any::<u8>(), 0..40)]
}

fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("/proc");
    let pages = statm.split(' ').nth(1).expect("resident");
    pages.parse::<usize>().expect("a number") * 4096
}

#[test]
fn ten_thousand_bad_requests() {
    const APART: &str = "WEIR_TEST_FLOOD";
    if std::env::var_os(APART).is_none() {
        // The test measures memory and counts panics: other tests would disturb both.
        testing::apart("flood::ten_thousand_bad_requests", &[(APART, "".as_ref())]);
        return;
    }
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    // A panic in a connection's task would end only that connection, unnoticed.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        usual(panic);
    }));
    let directory = Directory::new();
    password_in(&directory);
    let server = Server::with(directory, |settings| settings.metrics = Metrics::Loopback);
    let mut runner = TestRunner::new(Config::default());
    let requests = proptest::collection::vec(piece(), 1..12);
    let mut before = 0;
    for number in 0..10_000 {
        let request = requests
            .new_tree(&mut runner)
            .expect("a request")
            .current()
            .concat();
        let answer = server.exchange(&request);
        let text = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || text.starts_with("HTTP/1."),
            "{request:?}: {text}"
        );
        assert!(
            !text.contains("paper"),
            "without a session nothing is told: {request:?}"
        );
        if number == 1000 {
            before = resident();
        }
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more after 9000 requests");
    assert_eq!(server.get("/").status, 200);
    assert_eq!(PANICS.load(Ordering::SeqCst), 0);
}
