//! Measures the cost of the history: bytes written a day, size after a year, memory, time of a
//! flush. Prints the figures of docs/how-to/history.md.
//!
//! `cargo run --release -p weir-history-core --example cost DIRECTORY` measures days on the disk of
//! that directory; with `year` behind it, years and large flushes: there a directory in memory
//! saves time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use monitor_core::count::{Count, Counts, Traffic};
use weir_history_core::{By, Calendar, Error, Mac, Query, Settings, Store, Unit};

const START: i64 = 1_795_176_000;
const WORDS: [&str; 6] = ["web", "video", "dns", "mail", "games", "other"];

fn main() -> ExitCode {
    let directory = std::env::args()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = directory.join(format!("weir{}-cost", std::process::id()));
    let done = measure(&directory);
    // An error message names files that remain.
    let _ = fs::remove_dir_all(&directory);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cost: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(directory: &Path) -> Result<(), Error> {
    if std::env::args().nth(2).as_deref() == Some("year") {
        year(directory)
    } else {
        days(directory)
    }
}

fn calendar() -> Calendar {
    Calendar::new(weir_history_core::zone::system().zone)
}

fn days(directory: &Path) -> Result<(), Error> {
    let path = directory.join("history.db");
    let (mut store, _) = Store::open(&path, Settings::default(), calendar(), START)?;
    for day in 0..2i64 {
        let (handed, stored) = (written(), field("/proc/self/io", "write_bytes:"));
        let mut times = Vec::new();
        for flush in 0..144 {
            let now = START + day * 86_400 + flush * 600;
            fill(&mut store, now, 30);
            let begun = Instant::now();
            store.flush(now)?;
            times.push(begun.elapsed().as_micros());
        }
        times.sort_unstable();
        println!(
            "day {day}: {} bytes handed to the kernel, {} to the disk; a flush took {} us, the \
                longest {} us",
            written() - handed,
            field("/proc/self/io", "write_bytes:") - stored,
            times[72],
            times[143]
        );
    }
    println!(
        "memory: {} KiB resident, of it {} KiB the process's own",
        status("VmRSS:"),
        status("RssAnon:")
    );
    Ok(())
}

fn year(directory: &Path) -> Result<(), Error> {
    let path = directory.join("year.db");
    let (mut store, _) = Store::open(&path, Settings::default(), calendar(), START)?;
    let memory = status("RssAnon:");
    for hour in 0..365 * 24i64 {
        let now = START + hour * 3600;
        fill(&mut store, now, 30);
        // Flushes in between, or the clock would seem to jump and no data would expire.
        store.flush(now)?;
        for look in 1..6 {
            store.flush(now + look * 600)?;
        }
    }
    let now = START + 365 * 86_400;
    println!(
        "after a year: {} bytes; memory grew by {} KiB",
        length(&path),
        status("RssAnon:") - memory
    );
    for unit in Unit::ALL {
        let begun = Instant::now();
        let query = Query {
            unit,
            from: 0,
            to: now,
            device: None,
            by: By::Device,
            parts: 64,
        };
        let told = store.query(&query)?.len();
        println!(
            "  {told} {unit}s told in {} us",
            begun.elapsed().as_micros()
        );
    }
    let begun = Instant::now();
    drop(store);
    let (mut store, _) = Store::open(&path, Settings::default(), calendar(), now)?;
    println!("  opened and checked in {} us", begun.elapsed().as_micros());
    let begun = Instant::now();
    store.usage(now)?;
    println!(
        "  usage of all periods read in {} us",
        begun.elapsed().as_micros()
    );

    for devices in [167, 1667] {
        let begun = Instant::now();
        fill(&mut store, now, devices);
        let added = begun.elapsed().as_micros();
        let (begun, before) = (Instant::now(), written());
        store.flush(now)?;
        println!(
            "a flush of {} rows: {} us to add, {} us to write, {} bytes",
            devices * 6,
            added,
            begun.elapsed().as_micros(),
            written() - before
        );
    }
    println!("memory: {} KiB resident at most", status("VmHWM:"));
    Ok(())
}

/// Adds some traffic of each device and application.
fn fill(store: &mut Store, now: i64, devices: u32) {
    for device in 0..devices {
        let [a, b, c, d] = device.wrapping_mul(0x9e37_79b1).to_be_bytes();
        let mac: Mac = [0x3c, 0x52, a, b, c, d];
        for (number, word) in WORDS.into_iter().enumerate() {
            let octets = 1000 + u64::from(device) * 7919 * 10u64.pow(number as u32);
            let count = |octets| Count {
                packets: octets / 900 + 1,
                bytes: octets,
            };
            let both = Counts {
                received: count(octets),
                sent: count(octets / 12),
            };
            let traffic = Traffic::new(both, true);
            store.add(now, Some(mac), word, &traffic);
        }
    }
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

/// Returns the bytes passed to write calls so far.
fn written() -> u64 {
    field("/proc/self/io", "wchar:")
}

fn status(name: &str) -> u64 {
    field("/proc/self/status", name)
}

fn field(path: &str, name: &str) -> u64 {
    fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .find_map(|line| {
            line.strip_prefix(name)?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .unwrap_or(0)
}
