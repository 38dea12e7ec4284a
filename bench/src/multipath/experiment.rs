//! Two bridges of 20 Mbit/s, one of which loses its cable for a while: measures and draws the
//! traffic that arrives at an unaware client.

mod picture;

use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use lab::Uplinks;
use lab::experiment::{Experiment, ExperimentResult};
use lab::goodput::{Demand, Transport};
use lab::series::SLOT;
use lab::uplinks::{Cut, Options, SERVER};
use serde::Serialize;

use crate::Error;
use crate::multipath::router_and_partner::{Encryption, Sides};
use crate::report::{Table, table};

pub use picture::draw;

/// Mbit/s of each bridge.
const RATE: u64 = 20;
/// Streams of datagrams, and Mbit/s of all together.
const STREAMS: u16 = 6;
const OFFERED: u64 = 36;
/// Seconds with both bridges, one, both.
const TIMES: [u64; 3] = [6, 6, 8];
/// Slots averaged for the picture: single slots vary with bursts and scheduling.
const WINDOW: usize = 10;
/// Time after the start and each change that does not count for rates.
const SETTLES: Duration = Duration::from_secs(2);
const PORT: u16 = 5001;

/// Result for a kind of traffic.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the traffic.
    pub name: String,
    /// Mbit/s that arrived, slot by slot, averaged.
    pub goodput: Vec<f64>,
    /// Mbit/s at the router's device of each path, including headers.
    pub paths: Vec<Vec<f64>>,
    /// Seconds from the start to the cut.
    pub lost: f64,
    /// Seconds from the start to the link's return.
    pub back: f64,
    /// Mean Mbit/s with both bridges, with one, with both.
    pub rates: [f64; 3],
    /// Longest silence of a stream, in milliseconds.
    pub silence: f64,
    /// Seconds from the link's return to the end of the first half second with three quarters of
    /// the rate before the cut.
    pub again: Option<f64>,
}

/// Runs the experiment: with a TCP download, then with streams of datagrams.
pub fn all(binary: &Path, mut progress: impl FnMut(&str)) -> Result<Vec<Row>, Error> {
    datapath::bench::unpin()?;
    let tcp = Demand::down(Transport::Tcp, SocketAddr::new(SERVER, PORT));
    let stream = |number| {
        let to = SocketAddr::new(SERVER, PORT + number);
        Demand::down(Transport::Udp, to).with_rate(OFFERED * 1_000_000 / u64::from(STREAMS))
    };
    let cases = [
        ("One TCP download, Mbit/s".to_owned(), vec![tcp]),
        (
            format!("{STREAMS} streams of datagrams by UDP, {OFFERED} Mbit/s together"),
            (0..STREAMS).map(stream).collect(),
        ),
    ];
    let mut rows = Vec::new();
    for (name, demands) in cases {
        progress(&name);
        rows.push(row(name, &course(binary, &demands)?));
    }
    Ok(rows)
}

fn course(binary: &Path, demands: &[Demand]) -> Result<ExperimentResult, Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[RATE; 2]))?;
    let _sides = Sides::start(&uplinks, binary, Encryption::All)?;
    let experiment = Experiment {
        path: 1,
        cut: Cut::Link,
        times: TIMES.map(Duration::from_secs),
    };
    Ok(experiment.run(&uplinks, demands)?)
}

fn row(name: String, course: &ExperimentResult) -> Row {
    let (lost, back) = (course.lost.start, course.lost.end);
    let both = SETTLES..lost;
    let phases = [
        both.clone(),
        lost + SETTLES..back,
        back + SETTLES..course.end,
    ];
    let slots = (course.end.as_nanos() / SLOT.as_nanos()) as usize;
    let average = |rate: &dyn Fn(Range<Duration>) -> f64| -> Vec<f64> {
        let window = |slot: usize| {
            let begin = SLOT * slot as u32;
            rate(begin..begin + SLOT * WINDOW as u32) / 1e6
        };
        (0..slots.saturating_sub(WINDOW)).map(window).collect()
    };
    let goodput = average(&|time| course.rate(time));
    let enough = course.rate(both) / 1e6 * 0.75;
    let first = back.as_nanos().div_ceil(SLOT.as_nanos()) as usize;
    let again = goodput
        .iter()
        .enumerate()
        .skip(first)
        .find(|(_, rate)| **rate >= enough);
    Row {
        name,
        paths: course
            .paths
            .iter()
            .map(|path| average(&|time| path.rate(time)))
            .collect(),
        lost: lost.as_secs_f64(),
        back: back.as_secs_f64(),
        rates: phases.map(|time| course.rate(time) / 1e6),
        silence: course.silence(SETTLES..course.end).as_secs_f64() * 1e3,
        again: again
            .map(|(slot, _)| (SLOT * (slot + WINDOW) as u32).as_secs_f64() - back.as_secs_f64()),
        goodput,
    }
}

/// Formats the results as a table.
pub fn report(rows: &[Row]) -> Table {
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            let mut line = vec![row.name.clone()];
            line.extend(row.rates.map(|rate| format!("{rate:.1}")));
            line.push(format!("{:.0}", row.silence));
            let again = row.again.map(|again| format!("{again:.2}"));
            line.push(again.unwrap_or("–".into()));
            line
        })
        .collect();
    let headings = [
        "Mbit/s that arrive",
        "both",
        "one",
        "both",
        "longest silence, ms",
        "three quarters again after, s",
    ];
    table(&headings, &lines)
}

#[cfg(test)]
mod tests {
    use lab::series::Series;

    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// 4 Mbit/s, then 2, and 4 again from 0.5 s after the return on, in steps of 10 ms.
    fn local_mac() -> ExperimentResult {
        let (mut flow, mut path) = (Series::default(), Series::default());
        for step in 0..2000 {
            let now = seconds(f64::from(step) / 100.0 + 0.001);
            let slow = (600..1250).contains(&step);
            flow.add(now, if slow { 2500 } else { 5000 });
            path.add(now, 2600);
        }
        flow.end(seconds(20.0));
        ExperimentResult {
            flows: vec![flow],
            paths: vec![path],
            lost: seconds(6.0)..seconds(12.0),
            end: seconds(20.0),
        }
    }

    #[test]
    fn a_row_tells_what_arrived() {
        let row = row("made up".into(), &local_mac());
        let rates = row.rates.map(|rate| (rate * 10.0).round() / 10.0);
        assert_eq!(rates, [4.0, 2.0, 4.0]);
        // Half of the window is full.
        let again = row.again.expect("it is reached");
        assert!((0.7..1.0).contains(&again), "{again}");
        assert!(row.silence < 15.0, "{}", row.silence);
        let told = report(std::slice::from_ref(&row)).to_string();
        assert!(told.contains("made up"), "{told}");
        let drawn = draw(&[row]);
        assert!(drawn.contains("made up") && drawn.ends_with("</svg>\n"));
        assert!(!drawn.contains("NaN"), "{drawn}");
    }
}
