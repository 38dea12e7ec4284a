//! Slow, silent or numerous clients: a client that sends a request is still served.

use std::io::{Read, Write};
use std::time::Duration;

use weir_api::Limits;

use crate::support::Server;

/// Short time limits: slow clients are soon dropped.
fn quick() -> Limits {
    Limits {
        request_time: Duration::from_millis(300),
        stall_time: Duration::from_millis(600),
        ..Limits::default()
    }
}

#[test]
fn a_body_that_never_comes_is_given_up() {
    let server = Server::start(0, quick());
    let mut stream = server.connect();
    stream
        .write_all(b"POST /v1/reload HTTP/1.1\r\nHost: weir\r\nContent-Length: 5\r\n\r\n{")
        .expect("sent");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("an answer, and the end");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[test]
fn slow_and_silent_clients_lose_their_slots() {
    let limits = Limits {
        answers: 1,
        waiting: 1,
        ..quick()
    };
    let server = Server::start(0, limits);
    let mut slow = server.connect();
    slow.write_all(b"GET /v1/status HTTP/1.1\r\nHo")
        .expect("sent");
    let silent = server.connect();
    // Both slots are taken: this answer comes only because they are taken back.
    assert!(
        server
            .request("GET", "/v1/status")
            .starts_with("HTTP/1.1 200 ")
    );
    let mut answer = Vec::new();
    let _ = slow.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
    drop(silent);
}

#[test]
fn a_client_that_does_not_read_loses_its_slot() {
    // More than the socket holds, so the server has to wait for the client.
    let server = Server::start(
        20_000,
        Limits {
            answers: 1,
            ..quick()
        },
    );
    let mut stream = server.connect();
    stream
        .write_all(b"GET /v1/flows HTTP/1.1\r\nHost: weir\r\n\r\n")
        .expect("sent");
    assert!(
        server
            .request("GET", "/v1/status")
            .starts_with("HTTP/1.1 200 ")
    );
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(
        !answer.ends_with("0\r\n\r\n"),
        "what is cut off does not look complete"
    );
}

/// Limits longer than any test: an answer did not wait for a time limit.
fn patient() -> Limits {
    Limits {
        request_time: Duration::from_secs(3600),
        stall_time: Duration::from_secs(3600),
        ..Limits::default()
    }
}

#[test]
fn nobody_waits_for_those_who_say_nothing() {
    let server = Server::start(0, patient());
    let half: Vec<_> = (0..200)
        .map(|number| {
            let mut stream = server.connect();
            if number % 2 == 0 {
                stream.write_all(b"GET /v1/sta").expect("sent");
            }
            stream
        })
        .collect();
    assert!(
        server
            .request("GET", "/v1/status")
            .starts_with("HTTP/1.1 200 ")
    );
    // The newest connections are still there, and can send requests.
    let mut last = half.last().expect("one");
    last.write_all(b"GET /v1/status HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut answer = String::new();
    last.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn nobody_waits_for_those_who_do_not_read() {
    let server = Server::start(2_000, patient());
    let held: Vec<_> = (0..Limits::default().answers + 8)
        .map(|_| {
            let mut stream = server.connect();
            stream
                .write_all(b"GET /v1/flows HTTP/1.1\r\nHost: weir\r\n\r\n")
                .expect("sent");
            stream
        })
        .collect();
    assert!(
        server
            .request("GET", "/v1/status")
            .starts_with("HTTP/1.1 200 ")
    );
    drop(held);
}

#[test]
fn a_body_that_does_not_come_takes_nobodys_turn() {
    let limits = Limits {
        answers: 1,
        ..patient()
    };
    let server = Server::start(0, limits);
    let mut stream = server.connect();
    stream
        .write_all(b"POST /v1/reload HTTP/1.1\r\nHost: weir\r\nContent-Length: 5\r\n\r\n{")
        .expect("sent");
    assert!(
        server
            .request("GET", "/v1/status")
            .starts_with("HTTP/1.1 200 ")
    );
    drop(stream);
}

#[test]
fn many_clients_are_all_served() {
    let server = Server::start(
        0,
        Limits {
            answers: 4,
            ..Limits::default()
        },
    );
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..64)
            .map(|_| scope.spawn(|| server.request("GET", "/v1/status")))
            .collect();
        for client in clients {
            assert!(
                client
                    .join()
                    .expect("no panic")
                    .starts_with("HTTP/1.1 200 ")
            );
        }
    });
}
