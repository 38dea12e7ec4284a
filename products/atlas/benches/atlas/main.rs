//! Measures the atlas on ten years of hourly data, together with other databases in the same run.
//! `make atlas-bench` runs this and writes docs/reference/atlas-performance.md.
//!
//!     atlas [--folder FOLDER] [--years 10] [--communities 300] [--rounds 7] [--write FILE]
//!
//! The program does not use this code.

mod engines;
mod load;
mod made;
mod report;
mod timed;

use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use atlas::read::{Mapping, import};
use atlas::store::{self, Writer};
use atlas::{export, time};
use made::Maker;
use report::Report;
use timed::Took;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Snapshots between two commits: a week.
const BATCH: usize = 7 * 24;
/// Snapshots as JSON.
const FILES: usize = 300;

struct Options {
    folder: PathBuf,
    years: i64,
    communities: usize,
    rounds: usize,
    write: Option<PathBuf>,
}

fn options() -> Result<Options> {
    let mut options = Options {
        folder: std::env::temp_dir().join("weir-atlas-bench"),
        years: 10,
        communities: 300,
        rounds: 7,
        write: None,
    };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        // cargo passes this to each benchmark.
        if name == "--bench" {
            continue;
        }
        let value = given
            .next()
            .ok_or_else(|| format!("{name} wants a value"))?;
        match name.as_str() {
            "--folder" => options.folder = value.into(),
            "--years" => options.years = value.parse()?,
            "--communities" => options.communities = value.parse()?,
            "--rounds" => options.rounds = value.parse()?,
            "--write" => options.write = Some(value.into()),
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    Ok(options)
}

fn main() -> Result<()> {
    let options = options()?;
    std::fs::create_dir(&options.folder).map_err(|error| {
        let folder = options.folder.display();
        format!("{folder}: {error}; the benchmark makes that folder, and removes it afterwards")
    })?;
    let done = run(&options);
    std::fs::remove_dir_all(&options.folder)?;
    let report = done?;
    print!("{}", report.text());
    match &options.write {
        Some(file) => report.write(file),
        None => Ok(()),
    }
}

fn run(options: &Options) -> Result<Report> {
    let folder = &options.folder;
    let mut report = Report::default();
    let real = folder.join("real");
    real_data(&real)?;
    let mut maker = Maker::new(&store::open(&real)?, options.communities, options.years)?;

    read_json(&mut maker, folder, &mut report)?;
    let data = folder.join("made");
    fill(&mut maker, &data, &mut report)?;
    let parquet = folder.join("parquet");
    let (written, took) = Took::of(|| Ok(export::parquet(&data, &parquet, false)?))?;
    let octets: u64 = written.iter().map(|file| file.octets).sum();
    let rows: u64 = written.iter().map(|file| file.rows).sum();
    report.fact("Parquet, written", rows, took.busy, octets);

    let mut engines = engines::Engines::start(&parquet, &folder.join("duckdb.db"))?;
    report.table = engines.prepared();
    let store = store::open(&data)?;
    let mut cases = timed::charts(&maker);
    cases.extend(timed::comparisons(&maker));
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        for case in &mut cases {
            case.run(&store, &mut engines)?;
        }
    }
    report.memory()?;
    report.cases = cases;
    let year = |hour| time::day(hour).year() as u64;
    report.loads = load::run(&data, year(maker.begin())..year(maker.end() - 1) + 1)?;
    report.span = format!(
        "{} to {}",
        time::iso(maker.begin()),
        time::iso(maker.end() - 1)
    );
    Ok(report)
}

/// Imports the real data, whose shapes are multiplied.
fn real_data(data: &Path) -> Result<()> {
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/data/freifunk.tar.xz");
    let mut writer = Writer::open(data)?;
    let mapping = Mapping::named("freifunk")?;
    let mut go_on = |_: &_| ControlFlow::Continue(());
    import(&[archive.into()], &mapping, &mut writer, &mut go_on)?;
    Ok(())
}

/// Imports snapshots as JSON, in the form of a directory.
fn read_json(maker: &mut Maker, folder: &Path, report: &mut Report) -> Result<()> {
    let files = folder.join("json");
    maker.write_json(&files, FILES)?;
    let mut writer = Writer::open(&folder.join("imported"))?;
    let mapping = Mapping::named("freifunk")?;
    let mut go_on = |_: &_| ControlFlow::Continue(());
    let place = files.display().to_string();
    let (done, took) = Took::of(|| Ok(import(&[place], &mapping, &mut writer, &mut go_on)?))?;
    if done.left_out > 0 || done.entries != (FILES * maker.communities()) as u64 {
        return Err(format!("not all was read: {done:?}").into());
    }
    report.fact("Import of JSON", done.entries, took.busy, done.octets);
    std::fs::remove_dir_all(&files)?;
    Ok(())
}

/// Makes the store.
fn fill(maker: &mut Maker, data: &Path, report: &mut Report) -> Result<()> {
    let mut writer = Writer::open(data)?;
    let mut rows = 0;
    let mut busy = std::time::Duration::ZERO;
    for hour in maker.begin()..maker.end() {
        let (snapshot, digest) = maker.snapshot(hour);
        rows += snapshot.entries.len() as u64;
        let before = timed::processor()?;
        writer.add(snapshot, &digest)?;
        if (hour - maker.begin()) as usize % BATCH == BATCH - 1 || hour == maker.end() - 1 {
            writer.commit()?;
            if hour % 1000 < BATCH as i64 {
                eprintln!("{} {rows} rows", time::iso(hour));
            }
        }
        busy += timed::processor()? - before;
    }
    drop(writer);
    let octets = data.join(store::FILE).metadata()?.len();
    report.fact("Store, written with its sums", rows, busy, octets);
    Ok(())
}
