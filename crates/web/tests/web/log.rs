//! Debug log: contains addresses of clients that tried, and no secret.

use crate::support;
use std::io;
use std::sync::{Arc, Mutex};

use support::{PASSWORD, Server};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("whole").extend_from_slice(octets);
        Ok(octets.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn no_secret_is_logged() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let server = Server::start();
    let wrong = "a wrong passphrase";
    assert_eq!(server.log_in(wrong).status, 401);
    let login = server.log_in(PASSWORD);
    let new = "another passphrase";
    let changed = server.post_json(
        "/api/password",
        &[("Cookie", &login.cookie()), ("X-Weir-Csrf", &login.csrf())],
        &serde_json::json!({"old": PASSWORD, "new": new}).to_string(),
    );
    assert_eq!(changed.status, 200);
    assert_eq!(server.post_json("/api/login", &[], wrong).status, 400);
    // Sends a request that is not HTTP, with a secret in it.
    server.exchange(format!("{}\r\n\r\n", login.cookie()).as_bytes());
    let text = String::from_utf8(log.0.lock().expect("whole").clone()).expect("text");
    assert!(
        text.contains("wrong password for the web page peer=127.0.0.1"),
        "{text}"
    );
    assert!(text.contains("a client logged in"), "{text}");
    let value = |cookie: String| cookie.trim_start_matches("weir=").to_owned();
    for secret in [
        wrong,
        PASSWORD,
        new,
        &value(login.cookie()),
        &value(changed.cookie()),
        &login.csrf(),
        &changed.csrf(),
    ] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}
