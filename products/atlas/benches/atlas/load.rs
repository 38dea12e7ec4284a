//! Measures the server's answers per second: mixed charts, at all zooms, over persistent
//! connections, from this machine, whose processors the clients share.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atlas::chart::{self, Parameter};

use crate::Result;

/// Number of concurrent clients.
const CONNECTIONS: u64 = 16;
/// Duration of each kind of load.
const TIME: Duration = Duration::from_secs(10);
/// Forms of a chart, in turn: pictures are requested most, because other pages embed them.
const FORMS: [&str; 5] = [".svg", ".json", "", ".svg", ".csv"];

/// Result of one kind of load.
pub struct Load {
    pub what: &'static str,
    /// Time of each answer, sorted.
    pub times: Vec<Duration>,
    /// Processor time of the server for one answer.
    pub busy: Duration,
    /// An answer's length with its head, packed: the mean.
    pub octets: usize,
    /// Failed answers.
    pub failed: usize,
    /// Memory of the server afterwards, without the mapped store.
    pub memory: u64,
}

impl Load {
    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.times.len() as f64 / TIME.as_secs_f64()
    }

    /// Returns the time of the given percentile.
    pub fn within(&self, part: usize) -> Duration {
        let place = self.times.len().saturating_sub(1) * part / 100;
        self.times.get(place).copied().unwrap_or_default()
    }
}

/// Loads a server of the store in `data`, first with cached answers, then with new ones.
pub fn run(data: &Path, years: std::ops::Range<u64>) -> Result<Vec<Load>> {
    let server = Server::start(data)?;
    let mut loads = Vec::new();
    for (what, fresh) in [("known", false), ("new", true)] {
        eprintln!("load: answers that are {what}");
        let before = server.busy()?;
        let threads: Vec<_> = (0..CONNECTIONS)
            .map(|asker| {
                let (address, years) = (server.address, years.clone());
                thread::spawn(move || ask(address, asker, &years, fresh))
            })
            .collect();
        let mut all = Done::default();
        for thread in threads {
            let done = thread.join().map_err(|_| "an asker ended")??;
            all.times.extend(done.times);
            all.octets += done.octets;
            all.failed += done.failed;
        }
        all.times.sort_unstable();
        let answers = all.times.len().max(1);
        loads.push(Load {
            what,
            busy: (server.busy()? - before) / answers as u32,
            octets: all.octets / answers,
            failed: all.failed,
            memory: server.memory()?,
            times: all.times,
        });
    }
    Ok(loads)
}

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(data: &Path) -> Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir-atlas"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let said = child.stdout.take().ok_or("no pipe")?;
        BufReader::new(said).read_line(&mut line)?;
        let address = line
            .split_once("http://")
            .and_then(|(_, rest)| rest.trim_end().trim_end_matches('/').parse().ok())
            .ok_or_else(|| format!("no address in {line:?}"));
        match address {
            Ok(address) => Ok(Self { child, address }),
            Err(error) => {
                let _ = (child.kill(), child.wait());
                Err(error.into())
            }
        }
    }

    /// Returns the processor time of the server (proc(5), fields 14 and 15, in 1/100 s).
    fn busy(&self) -> Result<Duration> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = text.rsplit_once(')').ok_or("no name in stat")?;
        let ticks: u64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|field| field.parse::<u64>().unwrap_or_default())
            .sum();
        Ok(Duration::from_millis(ticks * 10))
    }

    fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        Ok(kilobytes.ok_or("no RssAnon")? * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Default)]
struct Done {
    times: Vec<Duration>,
    octets: usize,
    failed: usize,
}

fn ask(
    address: SocketAddr,
    asker: u64,
    years: &std::ops::Range<u64>,
    fresh: bool,
) -> io::Result<Done> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut done = Done::default();
    let begin = Instant::now();
    for turn in 0.. {
        if begin.elapsed() >= TIME {
            break;
        }
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {address}\r\nAccept-Encoding: gzip\r\n\r\n",
            path(
                turn + asker * 7,
                years,
                fresh.then_some(turn * 1000 + asker)
            )
        );
        let asked = Instant::now();
        stream.write_all(request.as_bytes())?;
        let (good, octets) = answer(&mut stream)?;
        done.times.push(asked.elapsed());
        done.octets += octets;
        done.failed += usize::from(!good);
    }
    Ok(done)
}

/// Returns the path of a chart, at one of several zooms; `new`: with an unused width.
fn path(turn: u64, years: &std::ops::Range<u64>, new: Option<u64>) -> String {
    // A community's chart needs its key.
    let charts: Vec<_> = chart::ALL
        .iter()
        .filter(|chart| !chart.parameters().contains(&Parameter::Key))
        .collect();
    let chart = charts[(turn % charts.len() as u64) as usize];
    let form = FORMS[(turn % FORMS.len() as u64) as usize];
    let year = years.start + turn % (years.end - years.start);
    let query = match (chart.parameters().contains(&Parameter::At), turn % 3) {
        (_, 0) => String::new(),
        (true, _) => format!("at={year}-06"),
        (false, 1) => format!("from={year}&to={year}"),
        (false, _) => format!("from={year}-06&to={year}-06"),
    };
    let size = new.map_or(String::new(), |new| {
        let (width, height) = (400 + new % 1999, 200 + new / 1999 % 1399);
        format!("&width={width}&height={height}")
    });
    format!("/chart/{}{form}?{query}{size}", chart.name())
}

/// Reads one answer: whether it was one, and its length.
fn answer(stream: &mut TcpStream) -> io::Result<(bool, usize)> {
    let (mut held, mut head) = (Vec::new(), None);
    let mut buffer = [0; 1 << 14];
    loop {
        if head.is_none() {
            let end = held.windows(4).position(|four| four == b"\r\n\r\n");
            head = end.map(|at| at + 4);
        }
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&held[..head]);
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
            if held.len() >= head + length {
                return Ok((text.starts_with("HTTP/1.1 200"), head + length));
            }
        }
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        held.extend_from_slice(&buffer[..read]);
    }
}
