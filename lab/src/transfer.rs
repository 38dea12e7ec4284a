//! A long TCP transfer that checks, byte for byte, that a connection survives changes to the
//! router; and echo servers.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::namespace::wait_until;
use crate::random::Random;
use crate::{Error, Namespace};

/// Longest silence of a live transfer: after an interruption of 20 seconds, as on a busy emulated
/// machine, TCP may wait for as long before the next segment.
const SILENCE: Duration = Duration::from_secs(75);
/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(30);
/// Longest wait for the start or end of an endpoint.
const PATIENCE: Duration = Duration::from_secs(90);
/// Bytes per write.
const CHUNK: usize = 16 << 10;

/// A running transfer of a seeded stream of bytes from one namespace to another.
#[derive(Debug)]
pub struct Transfer {
    stopping: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    sender: Option<JoinHandle<Result<io::Result<u64>, Error>>>,
    receiver: Option<JoinHandle<Result<io::Result<u64>, Error>>>,
}

impl Transfer {
    /// Listens at `to` in `server`, connects from `client`, and sends at most `rate` bytes/s until
    /// stopped; `None` means full speed.
    pub fn start(
        client: &Namespace,
        server: &Namespace,
        to: SocketAddr,
        seed: u64,
        rate: Option<u64>,
    ) -> Result<Self, Error> {
        let listener = server
            .enter(|| TcpListener::bind(to))?
            .map_err(Error::system(format!("listen at {to}")))?;
        let stopping = Arc::new(AtomicBool::new(false));
        let received = Arc::new(AtomicU64::new(0));
        let counter = received.clone();
        let receiver = server.background(move || receive(&listener, seed, &counter))?;
        let stop = stopping.clone();
        let sender = client.background(move || send(to, seed, rate, &stop))?;
        Ok(Self {
            stopping,
            received,
            sender: Some(sender),
            receiver: Some(receiver),
        })
    }

    /// Returns the received and checked bytes so far.
    pub fn progress(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Returns true if the client's end has given up.
    pub fn broke(&self) -> bool {
        self.sender.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until `octets` more bytes have arrived, at most `limit`. Fails at once if an end gives
    /// up.
    pub fn advance(&self, octets: u64, limit: Duration) -> Result<(), Error> {
        let goal = self.progress() + octets;
        wait_until(
            &format!("the transfer to reach {goal} bytes"),
            limit,
            || {
                let ended = [&self.sender, &self.receiver]
                    .into_iter()
                    .flatten()
                    .any(JoinHandle::is_finished);
                match self.progress() >= goal {
                    false if ended => Err(Error::Unexpected("the transfer was interrupted".into())),
                    reached => Ok(reached),
                }
            },
        )
    }

    /// Ends the transfer in order and returns the number of bytes, all sent and all right. Errors
    /// name the failure.
    pub fn stop(mut self) -> Result<u64, Error> {
        self.stopping.store(true, Ordering::Relaxed);
        let sender = end("sender", self.sender.take());
        // The receiver's error explains more than the sender's broken connection.
        let received = end("receiver", self.receiver.take())?;
        let sent = sender?;
        if sent != received {
            return Err(Error::Unexpected(format!(
                "{sent} bytes sent, {received} received"
            )));
        }
        Ok(received)
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // The threads stop by themselves; a join could last as long as a dead connection.
        self.stopping.store(true, Ordering::Relaxed);
    }
}

fn end(
    name: &str,
    thread: Option<JoinHandle<Result<io::Result<u64>, Error>>>,
) -> Result<u64, Error> {
    let thread =
        thread.ok_or_else(|| Error::Unexpected(format!("the {name} has ended already")))?;
    wait_until(&format!("the {name} to end"), PATIENCE, || {
        Ok(thread.is_finished())
    })?;
    let ended = thread
        .join()
        .map_err(|_| Error::Unexpected(format!("the {name} panicked")))?;
    ended?.map_err(Error::system(format!("the {name} of the transfer")))
}

fn send(to: SocketAddr, seed: u64, rate: Option<u64>, stop: &AtomicBool) -> io::Result<u64> {
    let mut stream = TcpStream::connect_timeout(&to, SILENCE)?;
    stream.set_write_timeout(Some(SILENCE))?;
    stream.set_read_timeout(Some(SILENCE))?;
    let mut random = Random::new(seed);
    let mut chunk = vec![0; CHUNK];
    let mut sent = 0u64;
    let begun = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let ahead =
            rate.is_some_and(|rate| sent as f64 > begun.elapsed().as_secs_f64() * rate as f64);
        if ahead {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        random.fill(&mut chunk);
        stream.write_all(&chunk)?;
        sent += chunk.len() as u64;
    }
    stream.shutdown(Shutdown::Write)?;
    // The receiver closes after the last byte; only then is the transfer complete.
    stream.read_to_end(&mut Vec::new())?;
    Ok(sent)
}

fn receive(listener: &TcpListener, seed: u64, counter: &AtomicU64) -> io::Result<u64> {
    let mut stream = accept(listener)?;
    stream.set_read_timeout(Some(SILENCE))?;
    let mut random = Random::new(seed);
    let (mut expected, mut chunk) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut total = 0u64;
    loop {
        // The sender writes whole chunks, and the generator must run in equal portions.
        let mut filled = 0;
        while filled < CHUNK {
            match stream.read(&mut chunk[filled..]) {
                Ok(0) if filled == 0 => return Ok(total),
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        format!("ended after {} bytes", total + filled as u64),
                    ));
                }
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        random.fill(&mut expected);
        if let Some(at) = chunk
            .iter()
            .zip(&expected)
            .position(|(found, right)| found != right)
        {
            let place = total + at as u64;
            let belongs = home(seed, &chunk[at..], total);
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("byte {place} is wrong: {belongs}"),
            ));
        }
        total += CHUNK as u64;
        counter.store(total, Ordering::Relaxed);
    }
}

/// Finds the right position of misplaced bytes, to explain the failure.
fn home(seed: u64, found: &[u8], total: u64) -> String {
    let sample = &found[..found.len().min(32)];
    let mut random = Random::new(seed);
    let mut stream = vec![0; usize::try_from(total).unwrap_or(0) + (8 << 20)];
    stream
        .chunks_mut(CHUNK)
        .for_each(|chunk| random.fill(chunk));
    match stream.windows(sample.len()).position(|part| part == sample) {
        Some(place) => format!("here is what belongs at {place}"),
        None => format!("no part of the stream is {sample:02x?}"),
    }
}

/// Accepts one connection within a time limit.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + SILENCE;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline =>
            {
                thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns every TCP stream and every UDP datagram sent to an address, until dropped.
#[derive(Debug)]
pub struct Echo {
    stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

impl Echo {
    /// Listens at `at` in the namespace, on TCP and UDP.
    pub fn serve(namespace: &Namespace, at: SocketAddr) -> Result<Self, Error> {
        let what = || Error::system(format!("listen at {at}"));
        let listener = namespace.enter(|| TcpListener::bind(at))?.map_err(what())?;
        let socket = namespace.enter(|| UdpSocket::bind(at))?.map_err(what())?;
        listener.set_nonblocking(true).map_err(what())?;
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .map_err(what())?;
        let stopping = Arc::new(AtomicBool::new(false));
        let (stop_tcp, stop_udp) = (stopping.clone(), stopping.clone());
        let threads = vec![
            namespace.background(move || echo_tcp(&listener, &stop_tcp))?,
            namespace.background(move || echo_udp(&socket, &stop_udp))?,
        ];
        Ok(Self { stopping, threads })
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn echo_tcp(listener: &TcpListener, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                // Ends with the connection or after a long silence, without a join.
                thread::spawn(move || echo_stream(stream));
            }
            Err(_) => thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn echo_stream(stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(ANSWER))?;
    let mut reader = stream.try_clone()?;
    io::copy(&mut reader, &mut &stream)?;
    stream.shutdown(Shutdown::Write)
}

fn echo_udp(socket: &UdpSocket, stop: &AtomicBool) {
    let mut buffer = vec![0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        if let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..length], from);
        }
    }
}

/// Sends `payload` over TCP from a namespace to an [`Echo`] and returns what comes back.
pub fn ask_tcp(from: &Namespace, to: SocketAddr, payload: &[u8]) -> Result<Vec<u8>, Error> {
    let ask = || -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&to, ANSWER)?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.write_all(payload)?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    from.enter(ask)?.map_err(Error::system(format!("ask {to}")))
}

/// A UDP socket in a namespace, connected to an [`Echo`]: one flow for repeated requests.
#[derive(Debug)]
pub struct Datagrams(UdpSocket);

impl Datagrams {
    /// Opens a socket on any free port.
    pub fn open(from: &Namespace, to: SocketAddr) -> Result<Self, Error> {
        let any = if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
        let open = || -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind(any)?;
            socket.connect(to)?;
            Ok(socket)
        };
        let socket = from
            .enter(open)?
            .map_err(Error::system(format!("open a socket to {to}")))?;
        Ok(Self(socket))
    }

    /// Sends `payload`; returns true if the echo arrives within `limit`.
    pub fn ask(&self, payload: &[u8], limit: Duration) -> Result<bool, Error> {
        let deadline = Instant::now() + limit;
        let failed = || Error::system("ask by UDP");
        self.0.send(payload).map_err(failed())?;
        let mut buffer = vec![0; 65_536];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.0.set_read_timeout(Some(left)).map_err(failed())?;
            match self.0.recv(&mut buffer) {
                Ok(length) if buffer[..length] == *payload => return Ok(true),
                Ok(_) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        // A signal, such as a child's end, interrupts a timed read; the deadline
                        // stays.
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::TimedOut
                            | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(failed()(error)),
            }
        }
    }

    /// Returns the local address and port.
    pub fn local(&self) -> Result<SocketAddr, Error> {
        self.0
            .local_addr()
            .map_err(Error::system("look at a socket"))
    }
}
