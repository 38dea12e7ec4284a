//! Clients that read their answers slowly, or send their requests slowly.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::shares::{answer, asked, connect_from, handed};
use crate::served::{Answer, Server};

/// Some 3.9 MB.
const LARGE: &str = "/sql?format=json&q=WITH+RECURSIVE+n(x)+AS+(SELECT+1+UNION+ALL+SELECT+x%2B1+FROM+n+WHERE+x%3C3900)+\
                     SELECT+printf(%27%25.*c%27,1000,char(65))+AS+t+FROM+n";

/// Takes a little of its answer at a time, but not as little as ends it.
struct Slow {
    ends: Arc<AtomicBool>,
    takes: JoinHandle<TcpStream>,
}

impl Slow {
    /// With the first bytes of the answer.
    fn begin(mut stream: TcpStream) -> (String, Self) {
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).expect("answered");
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let takes = thread::spawn(move || {
            let mut some = [0; 8 << 10];
            while !told.load(Ordering::Relaxed) {
                let _ = stream.read(&mut some);
                thread::sleep(Duration::from_millis(200));
            }
            stream
        });
        let begin = String::from_utf8_lossy(&begin).into_owned();
        (begin, Self { ends, takes })
    }

    fn end(self) -> TcpStream {
        self.ends.store(true, Ordering::Relaxed);
        self.takes.join().expect("no panic")
    }
}

#[test]
fn answers_on_their_way_are_bounded_together() {
    let server = Server::start(&[]);
    let large = |last| asked(connect_from(&server, last), LARGE, "");
    let mut slow = Vec::new();
    for last in [1, 1, 2, 2, 3, 3] {
        let (said, stream) = Slow::begin(large(last));
        assert_eq!(said, "HTTP/1.1 200", "{last}");
        slow.push(stream);
    }
    for (last, status) in [(1, 429), (4, 503)] {
        let refused = answer(large(last));
        assert_eq!(refused.status, status, "{}", refused.headers);
        assert!(refused.header("retry-after").is_some());
        let says = refused.json()["error"].to_string();
        assert!(says.contains("being sent"), "{says}");
    }
    // Small answers have room of their own.
    for path in ["/", "/chart/growth.json", "/healthz"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    let sending = "weir_atlas_sending_bytes ";
    let figures = server.get("/metrics").text().to_owned();
    let figure = figures.lines().find_map(|line| line.strip_prefix(sending));
    let figure = figure.and_then(|number| number.parse::<u64>().ok());
    assert!(figure.is_some_and(|octets| octets > 20 << 20), "{figures}");
    // A client that reads its whole answer, or disconnects, makes room.
    let mut rest = Vec::new();
    let mut first = slow.remove(0).end();
    first.read_to_end(&mut rest).expect("the rest");
    assert!(rest.len() > 100_000, "{}", rest.len());
    drop(slow.pop().map(Slow::end));
    for _ in 0..100 {
        let answer = answer(large(4));
        if answer.status == 200 {
            assert!(answer.body.len() > 3_000_000);
            slow.into_iter().for_each(|slow| drop(slow.end()));
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("no room: {}", server.get("/metrics").text());
}

/// More than it lets in, each as long as a request may take, were it not crowded.
#[test]
fn half_requests_keep_nobody_out_for_long() {
    for proxy in [&[][..], &["--trusted-proxy", "127.0.0.1"]] {
        let server = Server::start(proxy);
        let begin = Instant::now();
        let half: Vec<_> = (0..280)
            .map(|_| {
                let mut stream = server.connect();
                let head = b"GET /about HTTP/1.1\r\nHost: a\r\nX-Half:";
                stream.write_all(head).expect("asked");
                stream
            })
            .collect();
        let request = asked(server.connect(), "/healthz", &handed("192.0.2.1"));
        assert_eq!(answer(request).status, 200);
        // A request has 10 s to come.
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(9), "{took:?}");
        drop(half);
    }
}

/// A client with half a request among many others gets an answer if it continues within a second. A
/// machine without processor time for so long proves nothing, and tries again.
#[test]
fn a_request_that_comes_in_pieces_is_answered_when_it_is_crowded() {
    let server = Server::start(&[]);
    let answered = (0..10).any(|_| {
        let mut slow = server.connect();
        slow.write_all(b"GET /healthz HTTP/1.1\r\nHost:")
            .expect("asked");
        let silent: Vec<_> = (0..280).map(|_| server.connect()).collect();
        // The server has seen all of them.
        thread::sleep(Duration::from_millis(300));
        let mut octets = Vec::new();
        let asked = slow.write_all(b" a\r\nConnection: close\r\n\r\n");
        let answered = asked.and_then(|()| slow.read_to_end(&mut octets));
        drop(silent);
        answered.is_ok() && !octets.is_empty() && Answer::of(&octets).status == 200
    });
    assert!(answered);
}
