//! Measures the reading of files: entries and bytes a second, on one processor.
//!
//! `cargo run --release -p weir-atlas --example read-speed -- FILE...`

use std::time::{Duration, Instant};

use atlas::read::{Mapping, snapshot};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mapping = Mapping::named("freifunk")?;
    let files: Vec<(String, Vec<u8>)> = std::env::args()
        .skip(1)
        .map(|path| Ok((path.clone(), std::fs::read(path)?)))
        .collect::<std::io::Result<_>>()?;
    let octets: usize = files.iter().map(|(_, octets)| octets.len()).sum();
    let mut best = Duration::MAX;
    let mut entries = 0;
    for _ in 0..20 {
        let begin = Instant::now();
        let read = files
            .iter()
            .map(|(name, octets)| snapshot(name, octets, &mapping));
        entries = read.map(|snapshot| snapshot.entries.len()).sum();
        best = best.min(begin.elapsed());
    }
    let second = best.as_secs_f64();
    println!(
        "{entries} entries of {} octets: {:.0} entries, {:.0} MB a second",
        octets / entries.max(1),
        entries as f64 / second,
        octets as f64 / second / 1e6
    );
    Ok(())
}
