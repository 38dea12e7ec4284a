//! Goodput over time: a sender and a receiver in namespaces, and the receiver's bytes per slot. The
//! content is not checked; [`crate::transfer`] checks content.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::series::Series;
use crate::{Error, Namespace};

/// Longest wait for a connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest time until a thread notices the end.
const NOTICE: Duration = Duration::from_millis(20);
/// Bytes per read or write.
const CHUNK: usize = 64 << 10;
/// Default bytes per datagram: the datagram still fits through a tunnel.
const DATAGRAM: usize = 1200;
/// Longest UDP payload on Ethernet.
const LONGEST: usize = 1472;
/// Limit of a delayed sender's catch-up: a longer one would be a burst that applications do not
/// send.
const ARREARS: Duration = Duration::from_millis(20);

/// Transport protocol of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A TCP connection.
    Tcp,
    /// An MPTCP connection, requested by both ends.
    Mptcp,
    /// Numbered datagrams; needs a rate.
    Udp,
}

/// Parameters of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Address of the server.
    pub to: SocketAddr,
    /// Transport protocol.
    pub transport: Transport,
    /// Makes the server send. The client connects in both cases.
    pub down: bool,
    /// Limit in bit/s; `None` means full speed.
    pub rate: Option<u64>,
    /// Bytes of a datagram: 4 to 1472.
    pub length: usize,
}

impl Demand {
    /// Sends from client to server at full speed.
    pub fn up(transport: Transport, to: SocketAddr) -> Self {
        Self {
            to,
            transport,
            down: false,
            rate: None,
            length: DATAGRAM,
        }
    }

    /// Sends from server to client at full speed.
    pub fn down(transport: Transport, to: SocketAddr) -> Self {
        Self {
            down: true,
            ..Self::up(transport, to)
        }
    }

    /// Limits the rate to this many bit/s.
    pub fn with_rate(self, rate: u64) -> Self {
        Self {
            rate: Some(rate),
            ..self
        }
    }
}

type End = JoinHandle<Result<io::Result<()>, Error>>;

/// A running measurement.
#[derive(Debug)]
pub struct Goodput {
    shared: Arc<Shared>,
    ends: Vec<(&'static str, End)>,
}

#[derive(Debug)]
struct Shared {
    begun: Instant,
    stopping: AtomicBool,
    series: Mutex<Series>,
}

impl Goodput {
    /// Starts a measurement and returns once the client is connected.
    pub fn start(client: &Namespace, server: &Namespace, demand: &Demand) -> Result<Self, Error> {
        let to = demand.to;
        let shared = Arc::new(Shared {
            begun: Instant::now(),
            stopping: AtomicBool::new(false),
            series: Mutex::default(),
        });
        let (near, far) = (shared.clone(), shared.clone());
        let demand = *demand;
        let listening = || Error::system(format!("listen at {to}"));
        let calling = || Error::system(format!("connect to {to}"));
        let (serving, called) = if demand.transport == Transport::Udp {
            if demand.rate.is_none() {
                let text = "datagrams need a rate: see Demand::with_rate";
                return Err(Error::Unexpected(text.into()));
            }
            let socket = server.enter(|| UdpSocket::bind(to))?.map_err(listening())?;
            let caller = client.enter(|| call(&demand))?.map_err(calling())?;
            (
                server.background(move || match demand.down {
                    true => send_answers(&socket, &demand, &far),
                    false => hear(&socket, &far, false),
                })?,
                client.background(move || match demand.down {
                    true => hear(&caller, &near, true),
                    false => send_datagrams(&caller, &demand, &near),
                })?,
            )
        } else {
            let listener = server.enter(|| listen(&demand))?.map_err(listening())?;
            let stream = client.enter(|| connect(&demand))?.map_err(calling())?;
            (
                server.background(move || {
                    let Some(stream) = accept(&listener, &far)? else {
                        return Ok(());
                    };
                    carry(stream, demand.down, demand.rate, &far)
                })?,
                client.background(move || carry(stream, !demand.down, demand.rate, &near))?,
            )
        };
        Ok(Self {
            shared,
            ends: vec![("server", serving), ("client", called)],
        })
    }

    /// Measures for a time and returns the series.
    pub fn measure(
        client: &Namespace,
        server: &Namespace,
        demand: &Demand,
        time: Duration,
    ) -> Result<Series, Error> {
        let goodput = Self::start(client, server, demand)?;
        thread::sleep(time);
        goodput.stop()
    }

    /// Returns the present time within the series.
    pub fn now(&self) -> Duration {
        self.shared.begun.elapsed()
    }

    /// Returns the series so far.
    pub fn series(&self) -> Series {
        let mut series = self.shared.series().clone();
        series.end(self.now());
        series
    }

    /// Ends the measurement. Errors name the end that broke off before, with the reason.
    pub fn stop(mut self) -> Result<Series, Error> {
        let series = self.series();
        self.shared.stopping.store(true, Ordering::Relaxed);
        for (name, end) in self.ends.drain(..) {
            let ended = end
                .join()
                .map_err(|_| Error::Unexpected(format!("the {name} of a measurement panicked")))?;
            ended?.map_err(Error::system(format!("the {name} of a measurement")))?;
        }
        Ok(series)
    }
}

impl Drop for Goodput {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        for (_, end) in self.ends.drain(..) {
            let _ = end.join();
        }
    }
}

impl Shared {
    fn series(&self) -> MutexGuard<'_, Series> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn goes_on(&self) -> bool {
        !self.stopping.load(Ordering::Relaxed)
    }
}

/// Limits a rate.
struct Pacer {
    rate: Option<u64>,
    next: Instant,
}

impl Pacer {
    fn new(rate: Option<u64>) -> Self {
        Self {
            rate,
            next: Instant::now(),
        }
    }

    /// Waits until `octets` bytes may be sent.
    fn wait(&mut self, octets: usize) {
        let Some(rate) = self.rate else { return };
        let now = Instant::now();
        self.next = self.next.max(now.checked_sub(ARREARS).unwrap_or(now));
        thread::sleep(self.next.saturating_duration_since(now));
        self.next += Duration::from_secs_f64(octets as f64 * 8.0 / rate.max(1) as f64);
    }
}

fn stream_socket(demand: &Demand) -> io::Result<Socket> {
    let protocol = match demand.transport {
        Transport::Mptcp => Protocol::MPTCP,
        _ => Protocol::TCP,
    };
    Socket::new(Domain::for_address(demand.to), Type::STREAM, Some(protocol))
}

fn listen(demand: &Demand) -> io::Result<TcpListener> {
    let socket = stream_socket(demand)?;
    socket.set_reuse_address(true)?;
    socket.bind(&demand.to.into())?;
    socket.listen(1)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn connect(demand: &Demand) -> io::Result<TcpStream> {
    let socket = stream_socket(demand)?;
    socket.connect_timeout(&demand.to.into(), PATIENCE)?;
    Ok(socket.into())
}

fn call(demand: &Demand) -> io::Result<UdpSocket> {
    let any: IpAddr = match demand.to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(demand.to)?;
    Ok(socket)
}

/// Returns the connection, or `None` if the measurement ends before.
fn accept(listener: &TcpListener, shared: &Shared) -> io::Result<Option<TcpStream>> {
    while shared.goes_on() {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(Some(stream));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if shared.begun.elapsed() > PATIENCE {
                    return Err(io::Error::new(ErrorKind::TimedOut, "nobody connected"));
                }
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Runs one end of a stream.
fn carry(mut stream: TcpStream, sends: bool, rate: Option<u64>, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(NOTICE))?;
    stream.set_write_timeout(Some(NOTICE))?;
    // Data in transit at the end is useless.
    SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
    let mut chunk = vec![0; CHUNK];
    // A slow sender writes small chunks, or it would send bursts.
    let length = rate.map_or(CHUNK, |rate| ((rate / 800) as usize).clamp(1000, CHUNK));
    let mut pacer = Pacer::new(rate);
    while shared.goes_on() {
        let done = match sends {
            true => {
                pacer.wait(length);
                stream.write(&chunk[..length])
            }
            false => stream.read(&mut chunk),
        };
        match done {
            Ok(0) => {
                return match shared.goes_on() {
                    true => Err(io::Error::new(
                        ErrorKind::UnexpectedEof,
                        "the peer closed the connection",
                    )),
                    false => Ok(()),
                };
            }
            Ok(octets) if !sends => shared.series().add(shared.begun.elapsed(), octets as u64),
            Ok(_) => {}
            Err(error) if passing(&error) => {}
            // The other end noticed the end first.
            Err(_) if !shared.goes_on() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns true for errors that end a single wait.
fn passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// A datagram with a number at the start.
struct Datagram {
    octets: [u8; LONGEST],
    length: usize,
}

impl Datagram {
    fn new(length: usize) -> Self {
        Self {
            octets: [0; LONGEST],
            length: length.clamp(4, LONGEST),
        }
    }

    fn numbered(&mut self, number: u32) -> &[u8] {
        self.octets[..4].copy_from_slice(&number.to_be_bytes());
        &self.octets[..self.length]
    }
}

/// Sends regardless of errors: an unsent datagram counts as lost.
fn send_datagrams(socket: &UdpSocket, demand: &Demand, shared: &Shared) -> io::Result<()> {
    let (mut pacer, mut number) = (Pacer::new(demand.rate), 0);
    let mut datagram = Datagram::new(demand.length);
    while shared.goes_on() {
        pacer.wait(datagram.length);
        let _ = socket.send(datagram.numbered(number));
        number += 1;
    }
    Ok(())
}

/// Sends to the source of the last datagram.
fn send_answers(socket: &UdpSocket, demand: &Demand, shared: &Shared) -> io::Result<()> {
    let (mut pacer, mut number, mut to) = (Pacer::new(demand.rate), 0, None);
    let mut datagram = Datagram::new(demand.length);
    socket.set_nonblocking(true)?;
    while shared.goes_on() {
        pacer.wait(datagram.length);
        if let Ok((_, from)) = socket.recv_from(&mut [0]) {
            to = Some(from);
        }
        if let Some(to) = to {
            let _ = socket.send_to(datagram.numbered(number), to);
            number += 1;
        }
    }
    Ok(())
}

/// Receives datagrams. With `asks`, sends requests over and over, so that the server learns each
/// new source address.
fn hear(socket: &UdpSocket, shared: &Shared, asks: bool) -> io::Result<()> {
    socket.set_read_timeout(Some(NOTICE))?;
    let mut buffer = [0; LONGEST + 1];
    let mut asked: Option<Instant> = None;
    while shared.goes_on() {
        if asks && asked.is_none_or(|asked| asked.elapsed() > NOTICE) {
            asked = Some(Instant::now());
            let _ = socket.send(&[]);
        }
        // Ignores errors: an ICMP error does not stop the sender.
        if let Ok(octets @ 4..) = socket.recv(&mut buffer) {
            let number = u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
            let mut series = shared.series();
            series.add(shared.begun.elapsed(), octets as u64);
            series.number(number);
        }
    }
    Ok(())
}
