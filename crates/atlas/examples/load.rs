//! How many questions a second a server on this machine answers: mixed charts, of all zooms, over
//! connections that stay open.
//!
//!     weir-atlas serve --data DATA &
//!     cargo run --release -p weir-atlas --example load -- 127.0.0.1:9350 [SECONDS] [CONNECTIONS]
//!
//! Says it twice: where answers are known, and where each address is new.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, thread};

const CHARTS: [&str; 12] = [
    "growth",
    "top",
    "routing",
    "cloud",
    "heat",
    "map",
    "births",
    "versions",
    "sizes",
    "rate",
    "race",
    "countries",
];

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let address = arguments
        .next()
        .and_then(|text| text.parse::<SocketAddr>().ok());
    let mut number = |otherwise| {
        let given = arguments.next().and_then(|text| text.parse().ok());
        given.unwrap_or(otherwise)
    };
    let (seconds, connections) = (number(10), number(16));
    let Some(address) = address.filter(|address| address.ip().is_loopback()) else {
        eprintln!("load: name a server on this machine: 127.0.0.1:9350");
        return ExitCode::from(2);
    };
    let time = Duration::from_secs(seconds.clamp(1, 60));
    for (what, fresh) in [
        ("answers that are known", false),
        ("answers that are new", true),
    ] {
        let threads: Vec<_> = (0..connections.clamp(1, 128))
            .map(|thread| thread::spawn(move || ask(address, time, thread, fresh)))
            .collect();
        let mut times = Vec::new();
        let (mut octets, mut failed) = (0, 0);
        for thread in threads {
            match thread.join() {
                Ok(Ok(done)) => {
                    times.extend(done.times);
                    octets += done.octets;
                    failed += done.failed;
                }
                Ok(Err(error)) => eprintln!("load: {error}"),
                Err(_) => eprintln!("load: a thread ended"),
            }
        }
        times.sort_unstable();
        let at = |part: usize| {
            let place = times.len().saturating_sub(1) * part / 100;
            times.get(place).copied().unwrap_or_default()
        };
        println!(
            "{what}: {:.0} a second; median {:?}, 99 of 100 within {:?}; {} octets each; {failed} failed",
            times.len() as f64 / time.as_secs_f64(),
            at(50),
            at(99),
            octets / times.len().max(1),
        );
    }
    ExitCode::SUCCESS
}

#[derive(Default)]
struct Done {
    times: Vec<Duration>,
    octets: usize,
    failed: usize,
}

fn ask(address: SocketAddr, time: Duration, thread: u64, fresh: bool) -> io::Result<Done> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut done = Done::default();
    let (begin, mut buffer) = (Instant::now(), vec![0; 1 << 16]);
    for turn in 0.. {
        if begin.elapsed() >= time {
            break;
        }
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {address}\r\nAccept-Encoding: gzip\r\n\r\n",
            path(turn + thread * 7, fresh.then_some(turn * 1000 + thread))
        );
        let asked = Instant::now();
        stream.write_all(request.as_bytes())?;
        let (good, octets) = answer(&mut stream, &mut buffer)?;
        done.times.push(asked.elapsed());
        done.octets += octets;
        done.failed += usize::from(!good);
    }
    Ok(done)
}

/// A chart, at one of several zooms; `new`: with a width that nobody asked for yet.
fn path(turn: u64, new: Option<u64>) -> String {
    let name = CHARTS[(turn % CHARTS.len() as u64) as usize];
    let form = [".svg", ".json", "", ".svg", ".csv"][(turn % 5) as usize];
    let year = 2014 + turn % 12;
    let at_once = matches!(name, "top" | "cloud" | "heat" | "map" | "race");
    let query = match (at_once, turn % 3) {
        (_, 0) => String::new(),
        (true, _) => format!("at={year}-06"),
        (false, 1) => format!("from={year}&to={year}"),
        (false, _) => format!("from={year}-06&to={year}-06"),
    };
    let size = new.map_or(String::new(), |new| {
        format!(
            "width={}&height={}",
            400 + new % 1999,
            200 + new / 1999 % 1399
        )
    });
    let and = if query.is_empty() || size.is_empty() {
        ""
    } else {
        "&"
    };
    format!("/chart/{name}{form}?{query}{and}{size}")
}

/// Reads one answer: whether it was one, and its length.
fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<(bool, usize)> {
    let (mut held, mut head) = (Vec::new(), None);
    loop {
        if head.is_none() {
            head = held
                .windows(4)
                .position(|four| four == b"\r\n\r\n")
                .map(|at| at + 4);
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
        let read = stream.read(buffer)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        held.extend_from_slice(&buffer[..read]);
    }
}
