//! Streams of datagrams between client and server, driven by the client.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lab::gateway::SERVER;
use lab::namespace::wait_until;
use lab::{Error, Lab};
use weir_tests::LIMIT;

/// Port of an echo server.
pub const BOTH: u16 = 7001;
/// Port that the client sends to, and gets no further answer from.
pub const UP: u16 = 7002;
/// Port that the client receives from, and sends nothing more to.
pub const DOWN: u16 = 7003;
/// Pause between two datagrams of the client.
const PACE: Duration = Duration::from_millis(2);

/// Three streams of datagrams between client and server, which go on until dropped.
pub struct Streams {
    stopping: Arc<AtomicBool>,
    /// Datagrams sent by the client; those received from the echo, and from the downward stream.
    sent: Arc<AtomicU64>,
    heard: [Arc<AtomicU64>; 2],
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

impl Streams {
    /// Starts the streams.
    pub fn start(lab: &Lab) -> Result<Self, Error> {
        let (client, server) = (lab.node("client")?, lab.node("server")?);
        let any = |port: u16| -> std::io::Result<UdpSocket> {
            let socket = UdpSocket::bind(("0.0.0.0", port))?;
            socket.set_read_timeout(Some(Duration::from_millis(50)))?;
            Ok(socket)
        };
        let at_client = client
            .enter(|| -> std::io::Result<_> { Ok([any(BOTH)?, any(UP)?, any(DOWN)?]) })?
            .map_err(Error::system("open sockets of the client"))?;
        let at_server = server
            .enter(|| -> std::io::Result<_> { Ok([any(BOTH)?, any(UP)?, any(DOWN)?]) })?
            .map_err(Error::system("open sockets of the server"))?;
        let [both, up, down] = at_client;
        let [echo, sink, source] = at_server;
        // Each flow gets an answer at first: otherwise weir would not forward the connection.
        let mut seen = Vec::new();
        for (one, other, port) in [(&up, &sink, UP), (&down, &source, DOWN)] {
            let from = greet(one, other, port).map_err(Error::system("greet the server"))?;
            seen.push(from);
        }
        let stopping = Arc::new(AtomicBool::new(false));
        let counters: [Arc<AtomicU64>; 3] = Default::default();
        let mut threads = Vec::new();
        let stop = stopping.clone();
        threads.push(server.background(move || {
            let mut buffer = [0; 2048];
            while !stop.load(Ordering::Relaxed) {
                if let Ok((length, from)) = echo.recv_from(&mut buffer) {
                    let _ = echo.send_to(&buffer[..length], from);
                    let _ = source.send_to(&buffer[..length], seen[1]);
                }
            }
            drop(sink);
        })?);
        let [sent, ..] = &counters;
        let (stop, count) = (stopping.clone(), sent.clone());
        let sender = both.try_clone().map_err(Error::system("share a socket"))?;
        threads.push(client.background(move || {
            let to = |port| SocketAddr::new(SERVER, port);
            while !stop.load(Ordering::Relaxed) {
                // The upward stream comes first: this packet may be all that teaches the bridge.
                let _ = up.send_to(&[7; 200], to(UP));
                let _ = sender.send_to(&[7; 200], to(BOTH));
                count.fetch_add(1, Ordering::Relaxed);
                thread::sleep(PACE);
            }
        })?);
        for (socket, counter) in [(both, &counters[1]), (down, &counters[2])] {
            let (stop, count) = (stopping.clone(), counter.clone());
            threads.push(client.background(move || {
                let mut buffer = [0; 2048];
                while !stop.load(Ordering::Relaxed) {
                    if socket.recv(&mut buffer).is_ok() {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })?);
        }
        let [sent, echoed, down] = counters;
        Ok(Self {
            stopping,
            sent,
            heard: [echoed, down],
            threads,
        })
    }

    /// Returns the datagrams sent so far, and those received of each kind.
    pub fn counts(&self) -> [u64; 3] {
        [&self.sent, &self.heard[0], &self.heard[1]].map(|count| count.load(Ordering::Relaxed))
    }

    /// Asserts that both kinds still arrive.
    pub fn live(&self, after: &str) -> Result<(), Error> {
        let before = self.counts();
        wait_until(&format!("{after}: the client hears"), LIMIT, || {
            let now = self.counts();
            Ok((1..3).all(|kind| now[kind] > before[kind] + 50))
        })
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Exchanges datagrams until the client has its answer; returns the source that the server sees.
pub fn greet(client: &UdpSocket, server: &UdpSocket, port: u16) -> std::io::Result<SocketAddr> {
    let end = Instant::now() + LIMIT;
    loop {
        let mut buffer = [0; 64];
        client.send_to(b"hello", SocketAddr::new(SERVER, port))?;
        if let Ok((length, from)) = server.recv_from(&mut buffer) {
            server.send_to(&buffer[..length], from)?;
            if client.recv(&mut buffer).is_ok() {
                return Ok(from);
            }
        }
        if Instant::now() > end {
            return Err(std::io::Error::from(ErrorKind::TimedOut));
        }
    }
}
