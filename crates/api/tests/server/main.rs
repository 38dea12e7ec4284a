//! The server over a real socket: its answers, and its protection against clients.

mod crowd;
mod support;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use answers::{Flow, FlowFilter, FlowList, Reloaded, Sort, Status};
use support::{Directory, Named, Server, body};
use weir_api::server::SocketError;
use weir_api::{Client, ClientError, Limits, Listener, Method, with_query};

/// Fields beside a listing.
#[derive(Debug, serde::Deserialize)]
struct Rest {
    matched: u64,
}

#[test]
fn every_path_answers() {
    let server = Server::start(3, Limits::default());
    for path in [
        "status",
        "flows",
        "hops",
        "ports",
        "explain?flow=00000001",
        "config",
    ] {
        let answer = server.request("GET", &format!("/v1/{path}"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        assert!(
            answer.contains("content-type: application/json\r\n"),
            "{path}: {answer}"
        );
    }
    assert_eq!(
        body(&server.request("GET", "/v1/status"))["version"],
        "paper"
    );
}

#[test]
fn refusals_are_problems() {
    let server = Server::start(0, Limits::default());
    for (method, path, status) in [
        ("GET", "/", 404),
        ("GET", "/v2/status", 404),
        ("DELETE", "/v1/status", 405),
        ("GET", "/v1/reload", 405),
        ("GET", "/v1/flows?port=many", 400),
        ("GET", "/v1/explain?flow=%FF", 400),
    ] {
        let answer = server.request(method, path);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{method} {path}: {answer}"
        );
        assert!(
            answer.contains("content-type: application/problem+json\r\n"),
            "{answer}"
        );
        let problem = body(&answer);
        assert_eq!(problem["status"], status);
        assert!(
            problem["hint"]
                .as_str()
                .is_some_and(|hint| !hint.is_empty()),
            "{problem}"
        );
    }
    assert!(
        server
            .request("GET", "/v1/reload")
            .contains("allow: POST\r\n")
    );
    let reloads = body(&server.request("GET", "/v1/config"));
    assert_eq!(reloads["entries"][0]["value"], 0, "no GET changes anything");
}

#[test]
fn a_daemon_without_a_monitor_says_so() {
    let server = Server::start(0, Limits::default());
    for path in ["devices", "conversations?limit=3", "history?unit=month"] {
        let answer = server.request("GET", &format!("/v1/{path}"));
        assert!(answer.starts_with("HTTP/1.1 409 "), "{path}: {answer}");
        let problem = body(&answer);
        assert_eq!(problem["error"], "no_monitor");
        assert!(
            problem["hint"]
                .as_str()
                .is_some_and(|hint| hint.contains("[monitor]"))
        );
    }
    let client = Client::new(server.socket()).expect("a client");
    for path in ["devices", "conversations", "history"] {
        let answer = client.get::<serde_json::Value>(&format!("/v1/{path}"));
        let Err(ClientError::Problem(problem)) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(
            (problem.status, problem.error.as_str()),
            (409, "no_monitor")
        );
    }
}

#[test]
fn reload_takes_nothing_or_an_empty_object() {
    let server = Server::start(0, Limits::default());
    let post = |text: &str| {
        let length = text.len();
        server.exchange(
            format!(
                "POST /v1/reload HTTP/1.1\r\nHost: weir\r\nConnection: \
                close\r\nContent-Length: {length}\r\n\r\n{text}"
            )
            .as_bytes(),
        )
    };
    for wrong in [
        "not JSON",
        "[1]",
        "\"text\"",
        "{\"force\":true}",
        "{}{}",
        "{",
    ] {
        assert!(post(wrong).starts_with("HTTP/1.1 400 "), "{wrong}");
    }
    assert!(post(&" ".repeat(20_000)).starts_with("HTTP/1.1 413 "));
    assert_eq!(body(&post("{}"))["changed"][0]["key"], "reloads");
    let again = post("");
    assert!(again.starts_with("HTTP/1.1 422 "), "{again}");
    assert_eq!(body(&again)["errors"][0], "weir.toml:1:1: no");
}

#[test]
fn a_body_is_sent_and_understood() {
    let server = Server::start(0, Limits::default());
    let client = Client::new(server.socket()).expect("a client");
    let named = Named {
        name: "a \"b\" ü".into(),
    };
    let put = |body: &serde_json::Value| {
        client.send::<serde_json::Value>(Method::PUT, "/v1/names/7", body)
    };
    let body = serde_json::to_value(&named).expect("JSON");
    let told = put(&body).expect("an answer");
    assert_eq!(told, serde_json::json!([["7"], named]));
    let refused = put(&serde_json::json!({}));
    let Err(ClientError::Problem(problem)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (problem.status, problem.error.as_str()),
        (400, "malformed_body")
    );
    assert_eq!(problem.hint, "send a JSON object with `name`");
}

#[test]
fn huge_heads_are_refused() {
    let server = Server::start(0, Limits::default());
    let long = "x".repeat(1024 * 1024);
    for request in [
        format!("GET /{long} HTTP/1.1\r\nHost: weir\r\n\r\n"),
        format!("GET /v1/status HTTP/1.1\r\nHost: weir\r\nX: {long}\r\n\r\n"),
        format!(
            "GET /v1/status HTTP/1.1\r\n{}\r\n",
            "X: y\r\n".repeat(100_000)
        ),
    ] {
        let answer = server.exchange(request.as_bytes());
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    assert!(
        server
            .request("GET", "/v1/status")
            .starts_with("HTTP/1.1 200 "),
        "the server is well"
    );
}

#[test]
fn rubbish_does_no_harm() {
    let server = Server::start(0, Limits::default());
    for rubbish in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01",
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"{}\r\n\r\n",
    ] {
        let answer = server.exchange(rubbish);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    assert!(
        server
            .request("GET", "/v1/status")
            .starts_with("HTTP/1.1 200 ")
    );
}

#[test]
fn a_full_table_is_listed_piece_by_piece() {
    const FLOWS: u64 = 100_000;
    let server = Server::start(FLOWS, Limits::default());
    let client = Client::new(server.socket()).expect("a client");
    let mut listed = 0;
    let mut last = u64::MAX;
    let filter = FlowFilter {
        sort: Some(Sort::Bytes),
        ..FlowFilter::default()
    };
    let rest: Rest = client
        .list(&with_query("/v1/flows", &filter), "flows", |flow: Flow| {
            assert!(flow.bytes() < last, "largest first");
            last = flow.bytes();
            listed += 1;
            Ok(())
        })
        .expect("a list");
    assert_eq!(rest.matched, FLOWS);
    assert_eq!(
        listed,
        FLOWS / 10 * 9,
        "those that ended meanwhile are left out"
    );

    let answer = server.request("GET", "/v1/flows?limit=10000");
    assert!(
        answer.contains("transfer-encoding: chunked\r\n"),
        "not gathered before it is sent"
    );
    // The length of each chunk is on a line of its own, in hexadecimal (RFC 9112 section 7.1); the
    // body is one line.
    let (_, mut rest) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let mut chunks = 0;
    while let Some((length, after)) = rest.split_once("\r\n").filter(|(length, _)| *length != "0") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        assert!(length < 64 * 1024, "a piece of {length} bytes");
        rest = after.get(length + 2..).expect("a whole chunk");
        chunks += 1;
    }
    assert!(chunks > 10, "{chunks} pieces");
}

#[test]
fn a_listing_is_one_document() {
    let server = Server::start(25, Limits::default());
    let client = Client::new(server.socket()).expect("a client");
    for (limit, expected) in [(None, 23), (Some(8), 7), (Some(0), 0)] {
        let mut text = Vec::new();
        let filter = FlowFilter {
            limit,
            ..FlowFilter::default()
        };
        client
            .copy(&with_query("/v1/flows", &filter), &mut text)
            .expect("a list");
        let list: FlowList = serde_json::from_slice(&text).expect("JSON");
        assert_eq!((list.matched, list.flows.len()), (25, expected));
        for flow in list.flows {
            assert_eq!(flow, support::flow(flow.id.0));
        }
    }
}

#[test]
fn the_client_says_what_is_wrong() {
    let directory = Directory::new();
    let client = Client::new(&directory.path().join("none.sock")).expect("a client");
    let error = client
        .get::<Status>("/v1/status")
        .expect_err("nobody there");
    assert!(matches!(error, ClientError::NotRunning(_)));
    assert!(
        error
            .to_string()
            .starts_with("weir is not running in this network namespace"),
        "{error}"
    );
    assert!(error.hint().contains("weir run"));

    let server = Server::start(0, Limits::default());
    let client = Client::new(server.socket()).expect("a client");
    let reload = || client.post::<Reloaded>("/v1/reload");
    assert_eq!(reload().expect("the first one works").changed.len(), 1);
    let Err(ClientError::Problem(problem)) = reload() else {
        panic!("the second one fails")
    };
    assert_eq!(problem.errors, ["weir.toml:1:1: no"]);

    let server = Server::start(3, Limits::default());
    let client = Client::new(server.socket()).expect("a client");
    let pipe = |_: Flow| Err(std::io::ErrorKind::BrokenPipe.into());
    let Err(ClientError::Output(error)) = client.list::<_, Rest>("/v1/flows", "flows", pipe) else {
        panic!("the writer's error")
    };
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn the_client_does_not_trust_the_server() {
    for (answer, malformed) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"[..], true),
        (b"HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\noops", true),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"matched\":1",
            false,
        ),
        (b"SSH-2.0-OpenSSH\r\n", false),
        (b"", false),
    ] {
        let directory = Directory::new();
        let socket = directory.path().join("weir.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("the client comes");
            let mut head = [0; 1024];
            let _ = stream.read(&mut head);
            let _ = stream.write_all(answer);
        });
        let error = Client::new(&socket)
            .expect("a client")
            .list::<Flow, Rest>("/v1/flows", "flows", |_| Ok(()))
            .expect_err("nothing of use");
        thread.join().expect("no panic");
        assert_eq!(
            matches!(error, ClientError::Malformed(_)),
            malformed,
            "{error:?}"
        );
        assert_eq!(
            matches!(error, ClientError::Broken(_)),
            !malformed,
            "{error:?}"
        );
    }
}

#[test]
fn one_daemon_a_socket() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let _inside = runtime.enter();
    let directory = Directory::new();
    let path = directory.path().join("new").join("weir.sock");
    let mode =
        |path: &std::path::Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;

    let first = Listener::bind(&path).expect("a socket");
    assert_eq!(
        (mode(&path), mode(path.parent().expect("a directory"))),
        (0o660, 0o700)
    );
    assert!(matches!(Listener::bind(&path), Err(SocketError::InUse(_))));
    assert!(path.exists(), "the loser leaves the winner's socket alone");
    drop(first);
    assert!(!path.exists());

    // Leaves a socket file like a killed daemon.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    assert!(path.exists());
    drop(Listener::bind(&path).expect("takes it over"));

    fs::write(&path, "precious").expect("a file");
    assert!(matches!(
        Listener::bind(&path),
        Err(SocketError::NotASocket(_))
    ));
    assert_eq!(fs::read(&path).expect("still there"), b"precious");

    let long = directory.path().join("x".repeat(120));
    assert!(matches!(
        Listener::bind(&long),
        Err(SocketError::BadPath(_))
    ));
    assert!(matches!(
        Listener::bind(std::path::Path::new("/")),
        Err(SocketError::BadPath(_))
    ));
}

const AS_NOBODY: &str = "WEIR_TEST_SOCKET_AS_NOBODY";

/// Not a test of its own: [`others_are_refused`] runs it as another user.
#[test]
fn speak_as_nobody() {
    let Some(socket) = std::env::var_os(AS_NOBODY) else {
        return;
    };
    let client = Client::new(std::path::Path::new(&socket)).expect("a client");
    match client.get::<Status>("/v1/status") {
        Err(ClientError::Problem(problem)) => assert_eq!(problem.status, 403),
        other => panic!("to be refused, not {other:?}"),
    }
}

#[test]
fn others_are_refused() {
    if !nix::unistd::geteuid().is_root() {
        // Only root can change the user; the rule itself has a unit test.
        return;
    }
    let server = Server::start(0, Limits::default());
    // Opens all permissions: the server itself has to check the peer.
    fs::set_permissions(server.directory.path(), fs::Permissions::from_mode(0o755))
        .expect("a mode");
    fs::set_permissions(server.socket(), fs::Permissions::from_mode(0o777)).expect("a mode");
    let copy = server.directory.path().join("nobody");
    fs::copy(std::env::current_exe().expect("this test"), &copy)
        .expect("a copy that nobody can run");
    let output = Command::new(&copy)
        .args(["--exact", "speak_as_nobody"])
        .env(AS_NOBODY, server.socket())
        .current_dir("/")
        .uid(65534)
        .gid(65534)
        .output()
        .expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}
