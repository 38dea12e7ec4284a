//! Times each chart at several zooms, and the same questions to other databases.

use std::io::Write;
use std::time::{Duration, Instant};

use atlas::chart::{self, Chart, Parameter};
use atlas::chart_query::ChartQuery;
use atlas::{answer, svg};
use flate2::Compression;
use flate2::write::GzEncoder;
use nix::sys::resource::{UsageWho, getrusage};
use rusqlite::Connection;

use crate::Result;
use crate::engines::Engines;
use crate::made::Maker;

/// A repeated question.
pub struct Case {
    /// Name of the case, and its zoom or engine.
    pub name: String,
    pub how: String,
    pub kind: Kind,
    pub took: Vec<Took>,
    /// Compressed sizes of JSON and picture.
    pub octets: [usize; 2],
    /// Instead of a figure.
    pub refused: Option<String>,
}

/// Wall-clock time and processor time of a run.
#[derive(Clone, Copy)]
pub struct Took {
    pub clock: Duration,
    pub busy: Duration,
}

impl Took {
    /// Runs it.
    pub fn of<T>(run: impl FnOnce() -> Result<T>) -> Result<(T, Self)> {
        let (begin, before) = (Instant::now(), processor()?);
        let done = run()?;
        let busy = processor()? - before;
        let clock = begin.elapsed();
        Ok((done, Self { clock, busy }))
    }
}

pub enum Kind {
    Chart(&'static dyn Chart, String),
    Sqlite(String),
    Engine(&'static str, String),
}

/// Returns the processor time of this process.
pub fn processor() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let seconds = |time: nix::sys::time::TimeVal| {
        Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1000)
    };
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

fn case(name: &str, how: &str, kind: Kind) -> Case {
    Case {
        name: name.into(),
        how: how.into(),
        kind,
        took: Vec::new(),
        octets: [0; 2],
        refused: None,
    }
}

/// Returns every chart, at every zoom.
pub fn charts(maker: &Maker) -> Vec<Case> {
    let (first, last) = (
        atlas::time::day(maker.begin()),
        atlas::time::day(maker.end() - 1),
    );
    let all = format!("from={}&to={}", first.year(), last.year());
    let middle = (first.year() + last.year()) / 2;
    let ranges = [
        ("all", all),
        ("a year", format!("from={middle}&to={middle}")),
        ("a year by day", format!("from={middle}&to={middle}&by=day")),
        (
            "a month by hour",
            format!("from={middle}-10&to={middle}-10&by=hour"),
        ),
        ("a day", format!("from={middle}-10-17&to={middle}-10-17")),
    ];
    let moments = [
        ("a month", format!("at={middle}-10")),
        ("a day", format!("at={middle}-10-17")),
        ("an hour", format!("at={middle}-10-17T22")),
    ];
    let mut cases = Vec::new();
    for chart in chart::ALL {
        let takes = |parameter| chart.parameters().contains(&parameter);
        let zooms = if takes(Parameter::At) {
            &moments[..]
        } else {
            &ranges[..]
        };
        for (how, query) in zooms {
            let mut query = query.clone();
            if takes(Parameter::Key) {
                query = format!("{query}&key={}", maker.key());
            }
            cases.push(case(chart.name(), how, Kind::Chart(*chart, query)));
        }
    }
    cases
}

/// Three questions of charts, for databases without rollups. `$table` is their table.
const QUESTIONS: [(&str, &str, &str); 3] = [
    (
        "growth, all by month",
        "SELECT strftime('%Y-%m', hour * 3600, 'unixepoch') AS month, avg(nodes)
         FROM (SELECT hour, sum(iif(counted, nodes, 0)) AS nodes FROM observations GROUP BY hour)
         GROUP BY month ORDER BY month",
        "SELECT year(t) * 12 + month(t) AS month, avg(nodes)
         FROM (SELECT t, sum(CASE WHEN counted THEN nodes ELSE 0 END) AS nodes
               FROM $table GROUP BY t) AS hours
         GROUP BY month ORDER BY month",
    ),
    (
        "ten largest of a month",
        "SELECT community, sum(nodes) AS nodes FROM observations
         WHERE counted AND hour >= $begin AND hour < $end
         GROUP BY community ORDER BY nodes DESC LIMIT 10",
        "SELECT key, sum(nodes) AS nodes FROM $table
         WHERE counted AND t >= TIMESTAMP '$from' AND t < TIMESTAMP '$to'
         GROUP BY key ORDER BY nodes DESC LIMIT 10",
    ),
    (
        "one community, all by month",
        "SELECT strftime('%Y-%m', hour * 3600, 'unixepoch') AS month, avg(nodes) AS nodes
         FROM observations WHERE community = (SELECT id FROM communities WHERE key = '$key')
         GROUP BY month ORDER BY month",
        "SELECT year(t) * 12 + month(t) AS month, avg(nodes) AS nodes
         FROM $table WHERE key = '$key' GROUP BY month ORDER BY month",
    ),
];

/// The engines, and their names of the table.
pub const ENGINES: [(&str, &str, &str); 3] = [
    ("duckdb", "DuckDB, its own table", "observations"),
    (
        "duckdb",
        "DuckDB, Parquet",
        "read_parquet('$parquet/observations-*.parquet')",
    ),
    (
        "clickhouse",
        "ClickHouse, Parquet",
        "file('$parquet/observations-*.parquet')",
    ),
];

/// Times other engines with the same questions.
pub fn comparisons(maker: &Maker) -> Vec<Case> {
    let year =
        (atlas::time::day(maker.begin()).year() + atlas::time::day(maker.end() - 1).year()) / 2;
    let month = i64::from(year) * 12 + 9;
    let hour = |month| atlas::time::Unit::Month.begin(month);
    let day = |month| atlas::time::day(hour(month)).to_string();
    let fill = |sql: &str| {
        sql.replace("$begin", &hour(month).to_string())
            .replace("$end", &hour(month + 1).to_string())
            .replace("$from", &format!("{} 00:00:00", day(month)))
            .replace("$to", &format!("{} 00:00:00", day(month + 1)))
            .replace("$key", maker.key())
    };
    let mut cases = Vec::new();
    for (name, sqlite, other) in QUESTIONS {
        cases.push(case(
            name,
            "SQLite without sums",
            Kind::Sqlite(fill(sqlite)),
        ));
        for (engine, how, table) in ENGINES {
            let sql = fill(other).replace("$table", table);
            cases.push(case(name, how, Kind::Engine(engine, sql)));
        }
    }
    cases
}

impl Case {
    /// Runs it once.
    pub fn run(&mut self, store: &Connection, engines: &mut Engines) -> Result<()> {
        let took = match &self.kind {
            Kind::Chart(chart, query) => {
                let asked = ChartQuery::read(query)?;
                let (figure, took) = Took::of(|| Ok(chart.figure(store, &asked)))?;
                let figure = match figure {
                    Ok(figure) => figure,
                    Err(error) => {
                        self.refused = Some(error.to_string());
                        return Ok(());
                    }
                };
                if self.took.is_empty() {
                    let json = answer::json(chart.name(), &figure)?;
                    let picture =
                        svg::draw(&figure, chart.name(), &asked.look, asked.language, None);
                    self.octets = [packed(&json)?, packed(&picture)?];
                }
                took
            }
            Kind::Sqlite(sql) => {
                let run = || {
                    let mut query = store.prepare(sql)?;
                    let mut rows = query.query([])?;
                    while rows.next()?.is_some() {}
                    Ok(())
                };
                Took::of(run)?.1
            }
            Kind::Engine(engine, sql) => engines.ask(engine, sql)?,
        };
        self.took.push(took);
        Ok(())
    }

    /// Returns the least, median and largest wall-clock time, and the median processor time.
    pub fn spread(&self) -> Option<[Duration; 4]> {
        let sorted = |of: fn(&Took) -> Duration| {
            let mut sorted: Vec<_> = self.took.iter().map(of).collect();
            sorted.sort();
            sorted
        };
        let (clock, busy) = (sorted(|took| took.clock), sorted(|took| took.busy));
        let middle = clock.len() / 2;
        Some([*clock.first()?, clock[middle], *clock.last()?, busy[middle]])
    }
}

fn packed(text: &str) -> Result<usize> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(text.as_bytes())?;
    Ok(packer.finish()?.len())
}
