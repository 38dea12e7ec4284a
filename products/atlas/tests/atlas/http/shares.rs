//! Shares of one address among others, and the identity of clients.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::served::{Answer, Server};

/// Returns a query that runs up to its limit, different for each number.
fn endless(number: usize) -> String {
    format!(
        "/sql?format=json&q=WITH+RECURSIVE+c(x)+AS+(SELECT+{number}+UNION+ALL+SELECT+x%2B1+FROM+c)\
         +SELECT+count(*)+FROM+c"
    )
}

fn quick(number: usize) -> String {
    format!("/sql?format=json&q=SELECT+{number}")
}

/// Asks, and does not wait for the answer.
pub fn asked(mut stream: TcpStream, path: &str, headers: &str) -> TcpStream {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("asked");
    stream
}

pub fn answer(mut stream: TcpStream) -> Answer {
    let mut octets = Vec::new();
    stream.read_to_end(&mut octets).expect("an answer");
    Answer::of(&octets)
}

pub fn handed(address: &str) -> String {
    format!("X-Forwarded-For: {address}\r\n")
}

/// Another address of this machine.
pub fn connect_from(server: &Server, last: u8) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        let own = SocketAddr::new(IpAddr::from([127, 0, 0, last]), 0);
        socket.bind(own).expect("bound");
        let stream = socket.connect(server.address).await.expect("connected");
        stream.into_std().expect("a stream")
    });
    stream.set_nonblocking(false).expect("set");
    let patience = Some(Duration::from_secs(30));
    stream.set_read_timeout(patience).expect("set");
    stream
}

/// Returns the answers that arrive at once.
fn answered_at_once(streams: Vec<TcpStream>) -> Vec<Answer> {
    let mut answers = Vec::new();
    for mut stream in streams {
        let short = Some(Duration::from_millis(50));
        stream.set_read_timeout(short).expect("set");
        let mut octets = Vec::new();
        if stream.read_to_end(&mut octets).is_ok() {
            answers.push(Answer::of(&octets));
        }
    }
    answers
}

fn waits_until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..100 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("never: {what}");
}

/// Returns true if this number of queries was refused for a client's share.
fn sent_away(server: &Server, number: usize) -> bool {
    let line = format!("weir_atlas_queries_total{{result=\"share\"}} {number}\n");
    server.get("/metrics").text().contains(&line)
}

#[test]
fn one_address_that_asks_all_it_can_keeps_no_other_from_an_answer() {
    let server = Server::start(&[]);
    // The copy that queries ask is made by the first one.
    assert_eq!(server.get(&quick(0)).status, 200);
    let greedy: Vec<_> = (0..20)
        .map(|number| asked(connect_from(&server, 1), &endless(number), ""))
        .collect();
    waits_until("its share is met", || sent_away(&server, 15));
    let others: Vec<_> = (2..8)
        .map(|last| asked(connect_from(&server, last), &quick(last.into()), ""))
        .collect();
    for (number, other) in others.into_iter().enumerate() {
        let answer = answer(other);
        assert_eq!(answer.status, 200, "{number}: {}", answer.text());
    }
    let refused = answered_at_once(greedy);
    assert_eq!(refused.len(), 15);
    for answer in refused {
        assert_eq!(answer.status, 429, "{}", answer.text());
        assert!(answer.header("retry-after").is_some(), "{}", answer.headers);
        let json = answer.json();
        let said = json["error"].as_str().expect("a sentence");
        assert!(said.contains("your address"), "{said}");
    }
}

#[test]
fn who_fills_the_line_from_many_addresses_is_told_of_a_full_server() {
    let server = Server::start(&["--trusted-proxy", "127.0.0.1"]);
    assert_eq!(server.get(&quick(0)).status, 200);
    let many: Vec<_> = (0..19)
        .map(|number| {
            let from = handed(&format!("192.0.2.{number}"));
            asked(server.connect(), &endless(number), &from)
        })
        .collect();
    let busy = "weir_atlas_queries_total{result=\"busy\"} 1\n";
    waits_until("one is sent away", || {
        server.get("/metrics").text().contains(busy)
    });
    let refused = answered_at_once(many);
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].status, 503);
    assert!(refused[0].header("retry-after").is_some());
}

#[test]
fn behind_a_trusted_proxy_each_client_has_a_share() {
    let server = Server::start(&["--trusted-proxy", "127.0.0.1"]);
    assert_eq!(server.get(&quick(0)).status, 200);
    // Addresses before the one that the proxy reports may be forged.
    let greedy: Vec<_> = (0..20)
        .map(|number| {
            let from = handed(&format!("198.51.100.{number}, 192.0.2.1"));
            asked(server.connect(), &endless(number), &from)
        })
        .collect();
    waits_until("its share is met", || sent_away(&server, 15));
    let other = server.ask("GET", &quick(1), &handed("192.0.2.2"));
    assert_eq!(other.status, 200, "{}", other.text());
    drop(greedy);
}

#[test]
fn a_proxy_that_has_no_address_is_refused_with_the_fix() {
    let done = std::process::Command::new(crate::served::PROGRAM)
        .args(["serve", "--trusted-proxy", "nginx"])
        .output()
        .expect("the program");
    assert_eq!(done.status.code(), Some(2));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("an address, such as 127.0.0.1"), "{said}");
}
