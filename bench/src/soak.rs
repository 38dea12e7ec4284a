//! Lets conversations begin and end for an hour, and watches the daemon's memory. At the end of
//! each period, with no packet under way, compares its sums with those of the devices at the other
//! ends of the wires.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use lab::counters::processor_time;
use lab::transfer::Echo;
use lab::{Ipv6, Lab, Options};
use serde::Serialize;

use crate::Error;
use crate::daemon::Daemon;
use crate::meter_daemon::memory;
use crate::report::{Table, table};

/// Port of the server.
const ECHO: u16 = 7;
/// Interval between batches of conversations of each generator.
const TICK: Duration = Duration::from_millis(20);
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Ports of the router, and the devices at the other ends of their wires.
const WIRES: [(&str, &str); 2] = [("lan0", "client"), ("wan0", "server")];
/// Bytes of an Ethernet header: a veth counts bytes at the receiving end, after the header is
/// removed.
const ETHERNET: u64 = 14;

/// Observation at the end of a period.
#[derive(Clone, Debug, Serialize)]
pub struct SoakSample {
    /// Seconds since the start.
    pub at: u64,
    /// Conversations begun and ended per second.
    pub rate: f64,
    /// Conversations without an answer in time, or that could not begin.
    pub failed: u64,
    /// Conversations that the daemon reported at the end.
    pub conversations: u64,
    /// Packets without a record, since the start.
    pub unplaced: u64,
    /// Processor time of the daemon, percent of a single processor.
    pub processor: f64,
    /// Resident memory of the daemon, MB.
    pub resident: f64,
    /// Anonymous part of the resident memory, MB.
    pub own: f64,
    /// Bytes that the daemon wrote to files since the start.
    pub written: u64,
    /// Frames that crossed both wires since the start, counted by the devices at the other ends.
    pub frames: u64,
    /// Frames and bytes that the daemon is off, summed without signs over ports and directions. The
    /// equation holds if both are 0.
    pub off: (u64, u64),
}

/// Client of a protocol and family: its conversations follow each other, each with an answer.
struct Generator {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), lab::Error>>,
}

#[derive(Debug, Default)]
struct Told {
    rest: AtomicBool,
    done: AtomicU64,
    failed: AtomicU64,
}

fn tcp(to: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&[b'w'; 2000])?;
    stream.shutdown(Shutdown::Write)?;
    match stream.read_to_end(&mut Vec::new())? {
        2000 => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn udp(to: SocketAddr) -> io::Result<()> {
    let any = if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let socket = UdpSocket::bind(any)?;
    socket.connect(to)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    for _ in 0..2 {
        socket.send(&[b'w'; 200])?;
        socket.recv(&mut [0; 300])?;
    }
    Ok(())
}

fn generate(
    lab: &Lab,
    to: SocketAddr,
    stream: bool,
    each: u32,
    told: &Arc<Told>,
) -> Result<Generator, Error> {
    let (stop, told) = (Arc::new(AtomicBool::new(false)), told.clone());
    let end = stop.clone();
    let thread = lab.node("client")?.background(move || {
        let mut due = Instant::now();
        while !end.load(Ordering::Relaxed) {
            if told.rest.load(Ordering::Relaxed) {
                sleep(TICK);
                due = Instant::now();
                continue;
            }
            for _ in 0..each {
                let asked = if stream { tcp(to) } else { udp(to) };
                let counter = if asked.is_ok() {
                    &told.done
                } else {
                    &told.failed
                };
                counter.fetch_add(1, Ordering::Relaxed);
            }
            due += TICK;
            sleep(due.saturating_duration_since(Instant::now()));
        }
    })?;
    Ok(Generator { stop, thread })
}

/// Returns frames, and bytes with Ethernet headers, that a device sent, and received.
fn wire(lab: &Lab, role: &str) -> Result<[(u64, u64); 2], Error> {
    let text = lab
        .node(role)?
        .enter(|| fs::read_to_string("/proc/thread-self/net/dev"))?
        .map_err(Error::system("read the counters of devices"))?;
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("eth0:"));
    let words: Vec<u64> = line
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    match words[..] {
        [received, incoming, _, _, _, _, _, _, sent, outgoing, ..] => {
            Ok([(outgoing, sent), (incoming, received)]
                .map(|(frames, octets)| (frames, octets + frames * ETHERNET)))
        }
        _ => Err(Error::Wrong(format!("no counters of eth0: {text}"))),
    }
}

/// Sums by the daemon or by the wires: frames and bytes, for both directions of each wire.
type Sums = Vec<(u64, u64)>;

fn sums(lab: &Lab, weir: &Daemon) -> Result<(Sums, Sums, u64), Error> {
    let devices = weir.devices()?;
    let (mut told, mut there, mut unplaced) = (Vec::new(), Vec::new(), 0);
    for (port, role) in WIRES {
        let known = devices.ports.iter().find(|known| known.name == port);
        let known = known.ok_or_else(|| Error::Wrong(format!("{port} is not counted")))?;
        for way in [&known.incoming, &known.outgoing] {
            told.push((
                way.conversations.packets + way.unplaced.packets + way.other.packets,
                way.conversations.bytes + way.unplaced.bytes + way.other.bytes + way.link,
            ));
            unplaced += way.unplaced.packets;
        }
        there.extend(wire(lab, role)?);
    }
    Ok((told, there, unplaced))
}

/// Returns the sums once no packet is under way.
fn at_rest(lab: &Lab, weir: &Daemon) -> Result<(Sums, Sums, u64), Error> {
    let mut before = sums(lab, weir)?;
    for _ in 0..30 {
        // This pause is longer than the daemon's interval between readings of its records.
        sleep(Duration::from_millis(1500));
        let now = sums(lab, weir)?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
    Err(Error::Wrong("the router never becomes quiet".into()))
}

fn grown(before: &Sums, now: &Sums) -> Sums {
    let both = before.iter().zip(now);
    both.map(|(before, now)| (now.0 - before.0, now.1 - before.1))
        .collect()
}

/// Returns the frames and bytes between two sums, without signs.
fn off(told: &Sums, there: &Sums) -> (u64, u64) {
    told.iter().zip(there).fold((0, 0), |off, (told, there)| {
        (
            off.0 + told.0.abs_diff(there.0),
            off.1 + told.1.abs_diff(there.1),
        )
    })
}

/// Returns the bytes that a process caused to be written to files.
fn written(id: u32) -> Result<u64, Error> {
    let text = fs::read_to_string(format!("/proc/{id}/io"))
        .map_err(Error::system("read what the daemon wrote"))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(line.and_then(|word| word.parse().ok()).unwrap_or(0))
}

/// Runs the whole daemon, with forwarding and a history, while `rate` conversations begin and end
/// each second. A quarter each are TCP and UDP over IPv4 (translated) and IPv6. Pauses every
/// `seconds` for an observation, until `length` is over.
pub fn soak(
    binary: &Path,
    rate: u32,
    length: Duration,
    seconds: u32,
    mut progress: impl FnMut(&[SoakSample]) -> Result<(), Error>,
) -> Result<Vec<SoakSample>, Error> {
    datapath::bench::unpin()?;
    let lab = Lab::gateway(&Options {
        plain_offloads: true,
        ipv6: Ipv6::Routed,
        ..Options::default()
    })?;
    let router = lab.node("router")?;
    let file = std::env::temp_dir().join(router.name()).join("history.db");
    let config = format!("[history]\nfile = \"{}\"\n", file.display());
    let weir = Daemon::whole(router, binary, &config, WIRES.len())?;
    let (told, there, _) = at_rest(&lab, &weir)?;
    let (server, arrangement) = (lab.node("server")?, lab.arrangement());
    let (mut echoes, mut generators) = (Vec::new(), Vec::new());
    let counted = Arc::new(Told::default());
    let each = rate * TICK.as_millis() as u32 / 1000 / 4;
    for ipv6 in [false, true] {
        echoes.push(Echo::serve(
            server,
            SocketAddr::new(arrangement.server(ipv6), ECHO),
        )?);
        let to = SocketAddr::new(arrangement.reached(ipv6), ECHO);
        for stream in [false, true] {
            generators.push(generate(&lab, to, stream, each.max(1), &counted)?);
        }
    }
    let mut looks = Vec::new();
    let (begun, mut before) = (Instant::now(), processor_time(weir.id())?.as_secs_f64());
    while begun.elapsed() < length {
        let (begin, done) = (Instant::now(), counted.done.load(Ordering::Relaxed));
        counted.rest.store(false, Ordering::Relaxed);
        sleep(Duration::from_secs(seconds.into()));
        let rate =
            (counted.done.load(Ordering::Relaxed) - done) as f64 / begin.elapsed().as_secs_f64();
        let conversations = weir
            .devices()?
            .devices
            .iter()
            .map(|device| device.conversations)
            .sum();
        let processor = processor_time(weir.id())?.as_secs_f64();
        let (resident, own) = memory(weir.id())?;
        counted.rest.store(true, Ordering::Relaxed);
        let (now, wires, unplaced) = at_rest(&lab, &weir)?;
        let (now, wires) = (grown(&told, &now), grown(&there, &wires));
        let look = SoakSample {
            at: begun.elapsed().as_secs(),
            rate,
            failed: counted.failed.load(Ordering::Relaxed),
            conversations,
            unplaced,
            processor: (processor - before) / begin.elapsed().as_secs_f64() * 100.0,
            resident,
            own,
            written: written(weir.id())?,
            frames: wires.iter().map(|way| way.0).sum(),
            off: off(&now, &wires),
        };
        before = processor_time(weir.id())?.as_secs_f64();
        looks.push(look);
        progress(&looks)?;
    }
    for generator in generators {
        generator.stop.store(true, Ordering::Relaxed);
        let _ = generator.thread.join();
    }
    Ok(looks)
}

/// Formats at most some dozen observations as a table, with the last one.
pub fn report(looks: &[SoakSample]) -> Table {
    let step = looks.len().div_ceil(12).max(1);
    let shown = looks
        .iter()
        .enumerate()
        .filter(|(nth, _)| nth % step == 0 || nth + 1 == looks.len());
    let lines: Vec<_> = shown
        .map(|(_, look)| {
            vec![
                format!("{}:{:02}", look.at / 60, look.at % 60),
                format!("{:.0}", look.rate),
                look.failed.to_string(),
                look.conversations.to_string(),
                look.unplaced.to_string(),
                format!("{:.2} %", look.processor),
                format!("{:.1}", look.resident),
                format!("{:.1}", look.own),
                format!("{:.2}", look.written as f64 / 1e6),
                look.frames.to_string(),
                format!("{} / {}", look.off.0, look.off.1),
            ]
        })
        .collect();
    let headings = [
        "after",
        "begun and ended a second",
        "failed",
        "conversations known",
        "unplaced",
        "processor",
        "resident, MB",
        "of it own, MB",
        "written, MB",
        "frames",
        "off: frames / bytes",
    ];
    table(&headings, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_here_is_not_made_good_by_what_is_too_much_there() {
        let (told, there) = (vec![(5, 500), (7, 700)], vec![(6, 500), (6, 710)]);
        assert_eq!(off(&told, &there), (2, 10));
        assert_eq!(off(&told, &told), (0, 0));
    }
}
