//! Measures how many connections fit: the memory of idle ones, the new ones in a second, and the
//! extra time to the first byte with a distant partner.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path as File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lab::relay::Impairment;
use lab::uplinks::{self, Options, SERVER};
use lab::{Error as LabError, Uplinks};
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use socket2::{Domain, Socket, Type};

use super::Spread;
use super::router_and_partner::{Encryption, PATIENCE, Sides, spent};
use crate::Error;
use crate::meter_daemon::memory;
use crate::report::{Table, table};

const PORT: u16 = 5001;
/// Threads that begin connections, and threads that accept them.
const THREADS: u32 = 8;
/// Delay one way from a provider to the Internet, for the measurement of the first byte.
const DELAY: Duration = Duration::from_millis(20);
/// Connections in a round of the first-byte measurement.
const ASKED: u32 = 20;
/// Interval at which the server checks idle connections for a byte.
const NOTICE: Duration = Duration::from_millis(500);

/// Result for idle connections.
#[derive(Clone, Debug, Serialize)]
pub struct Idle {
    /// Number of connections.
    pub connections: u32,
    /// Memory of router and partner before, in MB.
    pub before: [f64; 2],
    /// Memory of router and partner with the connections, in MB.
    pub with: [f64; 2],
    /// Sampled connections that were asked for a byte afterwards, and those that answered.
    pub asked: [u32; 2],
}

/// Result for connections that begin, exchange a byte each way, and end.
#[derive(Clone, Debug, Serialize)]
pub struct New {
    /// Connections begun in a second.
    pub rate: u32,
    /// Set if the connections go by the partner.
    pub partner: bool,
    /// Connections that received their byte.
    pub served: u32,
    /// Connections that did not receive their byte.
    pub failed: u32,
    /// Milliseconds to that byte: median, 99th percentile, maximum.
    pub milliseconds: [f64; 3],
    /// Processors that router and partner kept busy.
    pub busy: Option<[f64; 2]>,
}

/// Time to the first byte with the partner 40 ms away.
#[derive(Clone, Debug, Serialize)]
pub struct First {
    /// Milliseconds without a partner: medians of the rounds.
    pub direct: Spread,
    /// Milliseconds with a partner.
    pub partner: Spread,
    /// Additional milliseconds, within a round.
    pub later: Spread,
}

/// Results of all measurements.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionResults {
    /// Idle connections.
    pub idle: Idle,
    /// New connections, direct and by the partner.
    pub new: Vec<New>,
    /// First byte with a distant partner.
    pub first: First,
}

/// Measures `idle` idle connections, and `rate` new ones a second for `seconds` seconds.
pub fn all(
    binary: &File,
    idle: u32,
    rate: u32,
    seconds: u32,
    rounds: u32,
    mut progress: impl FnMut(&str),
) -> Result<ConnectionResults, Error> {
    datapath::bench::unpin()?;
    let room = room(idle)?;
    if room < idle {
        progress(&format!(
            "{room} idle connections instead of {idle}: no more descriptors per process, see \
                ulimit -Hn"
        ));
    }
    let idle = room;
    let plain = || Options {
        paths: vec![uplinks::Path::default(); 2],
        ipv6: false,
    };
    let idle = idle_ones(&plain(), binary, idle)?;
    progress(&format!("{idle:?}"));
    let mut new = Vec::new();
    for partner in [false, true] {
        let found = new_ones(&plain(), partner.then_some(binary), rate, seconds)?;
        progress(&format!("{found:?}"));
        new.push(found);
    }
    let far = uplinks::Path::default().with_relay(Impairment::delay(DELAY));
    let options = Options {
        paths: vec![far; 2],
        ipv6: false,
    };
    let first = first_octet(&options, binary, rounds)?;
    Ok(ConnectionResults { idle, new, first })
}

/// Returns the number of idle connections that descriptors allow: the router needs six for each. A
/// quarter of that, as a client gets at most half of the router's share, which is half of the
/// partner's room.
fn room(idle: u32) -> Result<u32, Error> {
    const EACH: u64 = 4 * 6;
    const OTHERS: u64 = 1000;
    let failed =
        |error: Errno| Error::Wrong(format!("too few descriptors: {error}; see ulimit -Hn"));
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    let wanted = most.max(u64::from(idle) * EACH + OTHERS);
    let raised = setrlimit(Resource::RLIMIT_NOFILE, wanted, wanted).map(|()| wanted);
    let now = raised
        .or_else(|_| setrlimit(Resource::RLIMIT_NOFILE, most, most).map(|()| most))
        .map_err(failed)?;
    let room = now.saturating_sub(OTHERS) / EACH;
    Ok(idle.min(u32::try_from(room).unwrap_or(idle)))
}

/// Server that answers a byte with a byte, until dropped.
struct Server {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), LabError>>>,
}

impl Server {
    /// Starts the server with this many threads. If `kept`, all connections stay open; else each
    /// thread finishes a connection before the next.
    fn start(uplinks: &Uplinks, threads: u32, kept: bool) -> Result<Self, Error> {
        let listener = uplinks.server().enter(listen)?;
        let listener = listener.map_err(Error::system("listen"))?;
        let ends = Arc::new(AtomicBool::new(false));
        let threads: io::Result<Vec<_>> = (0..threads)
            .map(|_| {
                let (listener, ends) = (listener.try_clone()?, ends.clone());
                Ok(thread::spawn(move || {
                    serve(&listener, &ends, kept);
                    Ok(())
                }))
            })
            .collect();
        Ok(Self {
            ends,
            threads: threads.map_err(Error::system("serve"))?,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn server() -> SocketAddr {
    SocketAddr::new(SERVER, PORT)
}

fn listen() -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&server().into())?;
    socket.listen(4096)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn serve(listener: &TcpListener, ends: &AtomicBool, kept: bool) {
    let (mut all, mut looked) = (Vec::new(), Instant::now());
    while !ends.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((mut stream, _)) => {
                if answer(&mut stream).is_ok() && kept {
                    all.push(stream);
                }
            }
            // Idle connections may speak again.
            Err(_) if kept && looked.elapsed() > NOTICE => {
                for stream in &mut all {
                    let _ = stream.set_nonblocking(true);
                    if matches!(stream.read(&mut [0; 1]), Ok(1)) {
                        let _ = stream.write_all(b"y");
                    }
                }
                looked = Instant::now();
            }
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn answer(stream: &mut TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.read_exact(&mut [0; 1])?;
    stream.write_all(b"y")
}

/// Opens a connection, exchanges a byte each way, and returns the connection and the time.
fn ask() -> io::Result<(TcpStream, Duration)> {
    let begun = Instant::now();
    let mut stream = TcpStream::connect_timeout(&server(), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    again(&mut stream)?;
    Ok((stream, begun.elapsed()))
}

fn again(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"x")?;
    stream.read_exact(&mut [0; 1])
}

fn idle_ones(options: &Options, binary: &File, connections: u32) -> Result<Idle, Error> {
    let uplinks = Uplinks::build(options)?;
    let sides = Sides::start(&uplinks, binary, Encryption::All)?;
    let megabytes = || -> Result<[f64; 2], Error> {
        let [router, partner] = sides.ids();
        Ok([memory(router)?.0, memory(partner)?.0])
    };
    let _server = Server::start(&uplinks, 1, true)?;
    let before = megabytes()?;
    let open = || (0..connections).map(|_| ask().map(|(stream, _)| stream));
    let opened: io::Result<Vec<_>> = uplinks.client().enter(|| open().collect())?;
    let mut opened = opened.map_err(Error::system("open so many connections"))?;
    thread::sleep(Duration::from_secs(5));
    let with = megabytes()?;
    // Only a sample, as each waits for the server's interval.
    let mut asked = [0; 2];
    for stream in opened.iter_mut().step_by(connections.div_ceil(20) as usize) {
        asked[0] += 1;
        asked[1] += u32::from(again(stream).is_ok());
    }
    Ok(Idle {
        connections,
        before,
        with,
        asked,
    })
}

fn new_ones(
    options: &Options,
    binary: Option<&File>,
    rate: u32,
    seconds: u32,
) -> Result<New, Error> {
    let uplinks = Uplinks::build(options)?;
    let sides = binary
        .map(|binary| Sides::start(&uplinks, binary, Encryption::All))
        .transpose()?;
    let _server = Server::start(&uplinks, THREADS, false)?;
    let burden = || sides.as_ref().map(|sides| spent(sides.ids())).transpose();
    let (before, begun) = (burden()?, Instant::now());
    let each = rate * seconds / THREADS;
    let pause = Duration::from_secs(1) * THREADS / rate;
    let clients: Result<Vec<_>, _> = (0..THREADS)
        .map(|thread| {
            uplinks.client().background(move || {
                let first = Instant::now() + pause / THREADS * thread;
                let asked = (0..each).map(|number| {
                    thread::sleep(
                        (first + pause * number).saturating_duration_since(Instant::now()),
                    );
                    ask().ok().map(|(_, took)| took.as_secs_f64() * 1e3)
                });
                asked.collect::<Vec<_>>()
            })
        })
        .collect();
    let mut asked = Vec::new();
    for client in clients? {
        let told = client
            .join()
            .map_err(|_| Error::Wrong("a client panicked".into()))?;
        asked.extend(told?);
    }
    let (after, took) = (burden()?, begun.elapsed().as_secs_f64());
    let all = asked.len() as u32;
    let mut times: Vec<_> = asked.into_iter().flatten().collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (times.len() as f64 * share) as usize;
        times
            .get(index.min(times.len().saturating_sub(1)))
            .copied()
            .unwrap_or(f64::NAN)
    };
    Ok(New {
        rate,
        partner: binary.is_some(),
        served: times.len() as u32,
        failed: all - times.len() as u32,
        milliseconds: [at(0.5), at(0.99), at(1.0)],
        busy: before
            .zip(after)
            .map(|(before, after)| [(after[0] - before[0]) / took, (after[1] - before[1]) / took]),
    })
}

fn first_octet(options: &Options, binary: &File, rounds: u32) -> Result<First, Error> {
    let (alone, joined) = (Uplinks::build(options)?, Uplinks::build(options)?);
    let _sides = Sides::start(&joined, binary, Encryption::All)?;
    let _servers = [
        Server::start(&alone, 1, false)?,
        Server::start(&joined, 1, false)?,
    ];
    let median = |uplinks: &Uplinks| -> Result<f64, Error> {
        let asked: io::Result<Vec<_>> = uplinks.client().enter(|| {
            (0..ASKED)
                .map(|_| ask().map(|(_, took)| took.as_secs_f64() * 1e3))
                .collect()
        })?;
        Ok(Spread::of(asked.map_err(Error::system("ask the server"))?).median)
    };
    let mut found = Vec::new();
    for _ in 0..rounds {
        found.push((median(&alone)?, median(&joined)?));
    }
    let spread = |of: &dyn Fn(&(f64, f64)) -> f64| Spread::of(found.iter().map(of).collect());
    Ok(First {
        direct: spread(&|found| found.0),
        partner: spread(&|found| found.1),
        later: spread(&|(direct, partner)| partner - direct),
    })
}

/// Formats the results as tables.
pub fn report(found: &ConnectionResults) -> [(&'static str, Table); 3] {
    let idle = &found.idle;
    let sides = ["router", "partner"].into_iter().enumerate();
    let mut lines: Vec<_> = sides
        .map(|(side, name)| {
            vec![
                name.to_owned(),
                format!("{:.1}", idle.before[side]),
                format!("{:.1}", idle.with[side]),
            ]
        })
        .collect();
    let with = format!("with {} idle connections", idle.connections);
    let [asked, alive] = idle.asked;
    let alive = format!("{alive} of {asked}");
    lines.push(vec!["that carry a byte then".into(), "–".into(), alive]);
    let memory = table(&["memory, MB", "before", &with], &lines);
    let lines: Vec<_> = found
        .new
        .iter()
        .map(|new| {
            let [median, most, all] = new.milliseconds.map(|ms| format!("{ms:.1}"));
            let busy = |side: usize| {
                new.busy
                    .map_or("–".into(), |busy| format!("{:.0} %", busy[side] * 100.0))
            };
            vec![
                if new.partner {
                    "by the partner"
                } else {
                    "direct"
                }
                .to_owned(),
                new.served.to_string(),
                new.failed.to_string(),
                median,
                most,
                all,
                busy(0),
                busy(1),
            ]
        })
        .collect();
    let rate = found.new.first().map_or(0, |new| new.rate);
    let begun = format!("{rate} new ones a second");
    let headings = [
        &*begun,
        "served",
        "failed",
        "first byte, ms",
        "99 %",
        "all",
        "router, of a processor",
        "partner",
    ];
    let new = table(&headings, &lines);
    let lines: Vec<_> = [
        ("direct", found.first.direct),
        ("by the partner", found.first.partner),
        ("later by", found.first.later),
    ]
    .into_iter()
    .map(|(name, spread)| {
        let [median, spread] = spread.cells(2);
        vec![name.to_owned(), median, spread]
    })
    .collect();
    let headings = ["first byte, partner 40 ms away", "ms", "least to most"];
    [
        ("connections-idle", memory),
        ("connections-new", new),
        ("connections-first", table(&headings, &lines)),
    ]
}
