//! Cuts a cable in the middle of a transfer: measures the silence, and the time from the cable's
//! return until both paths carry traffic again.

use std::net::SocketAddr;
use std::path::Path as File;
use std::thread;
use std::time::Duration;

use lab::Uplinks;
use lab::goodput::{Demand, Goodput, Transport};
use lab::uplinks::{Cut, Options, SERVER};
use serde::Serialize;

use super::Spread;
use super::router_and_partner::{Encryption, Sides};
use crate::Error;
use crate::report::{Table, table};

/// Mbit/s of each of the two paths.
const RATE: u64 = 20;
/// Time before the cut.
const BEFORE: Duration = Duration::from_secs(3);
/// Time after the return.
const AFTER: Duration = Duration::from_secs(5);
/// Rate in bit/s from which both paths count as used: three quarters of their sum.
const BOTH: f64 = 2.0 * RATE as f64 * 1e6 * 0.75;
const PORT: u16 = 5001;

/// Kind of outage of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The link goes down for 3 s.
    Link,
    /// All packets are lost for 3 s.
    Hole,
    /// All packets are lost for 7 s.
    LongHole,
}

impl Loss {
    const ALL: [Self; 3] = [Self::Link, Self::Hole, Self::LongHole];

    fn text(self) -> &'static str {
        match self {
            Self::Link => "link down, 3 s",
            Self::Hole => "black hole, 3 s",
            Self::LongHole => "black hole, 7 s",
        }
    }

    /// Returns the cut, and its length in seconds.
    fn cut(self) -> (Cut, u64) {
        match self {
            Self::Link => (Cut::Link, 3),
            Self::Hole => (Cut::Hole, 3),
            Self::LongHole => (Cut::Hole, 7),
        }
    }

    /// Returns the longest acceptable silence in seconds.
    fn goal(self) -> f64 {
        match self {
            Self::Link => 0.3,
            _ => 0.5,
        }
    }
}

/// Result of an outage.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Kind of outage.
    pub loss: Loss,
    /// Set for a download from the server.
    pub down: bool,
    /// Longest silence from the cut on, in seconds.
    pub silence: Spread,
    /// Seconds from the return until both paths carry traffic.
    pub back: Spread,
}

/// Cuts each path in turn, with all methods, round after round. A lost connection is an error.
pub fn all(
    binary: &File,
    rounds: u32,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Figure>, Error> {
    datapath::bench::unpin()?;
    let uplinks = Uplinks::build(&Options::mbit(&[RATE, RATE]))?;
    let _sides = Sides::start(&uplinks, binary, Encryption::All)?;
    let cases: Vec<_> = Loss::ALL
        .into_iter()
        .flat_map(|loss| [(loss, false), (loss, true)])
        .collect();
    let mut found = vec![Vec::new(); cases.len()];
    for round in 1..=rounds {
        for ((loss, down), found) in cases.iter().zip(&mut found) {
            let path = round as usize % uplinks.paths();
            let (silence, back) = cut(&uplinks, path, *loss, *down)?;
            progress(&format!(
                "round {round} of {rounds}: {}, {}: silence {silence:.2} s, both again after \
                    {back:.2} s",
                loss.text(),
                direction(*down)
            ));
            found.push((silence, back));
        }
    }
    let figures = cases.into_iter().zip(found).map(|((loss, down), found)| {
        let (silence, back) = found.into_iter().unzip();
        Figure {
            loss,
            down,
            silence: Spread::of(silence),
            back: Spread::of(back),
        }
    });
    Ok(figures.collect())
}

fn cut(uplinks: &Uplinks, path: usize, loss: Loss, down: bool) -> Result<(f64, f64), Error> {
    let demand = Demand {
        down,
        ..Demand::up(Transport::Tcp, SocketAddr::new(SERVER, PORT))
    };
    let running = Goodput::start(uplinks.client(), uplinks.server(), &demand)?;
    thread::sleep(BEFORE);
    let (how, seconds) = loss.cut();
    let gone = running.now();
    uplinks.cut(path, how)?;
    thread::sleep(Duration::from_secs(seconds));
    uplinks.heal(path)?;
    let healed = running.now();
    thread::sleep(AFTER);
    let end = running.now();
    let series = running.stop()?;
    let back = series.reaches(BOTH, healed);
    Ok((
        series.silence(gone..end).as_secs_f64(),
        // Never is worse than the whole wait.
        back.map_or(f64::INFINITY, |at| at.saturating_sub(healed).as_secs_f64()),
    ))
}

fn direction(down: bool) -> &'static str {
    if down { "down" } else { "up" }
}

/// Formats the results as a table.
pub fn report(figures: &[Figure]) -> Table {
    let lines: Vec<_> = figures
        .iter()
        .map(|figure| {
            let [silence, silences] = figure.silence.cells(2);
            let [back, backs] = figure.back.cells(2);
            vec![
                figure.loss.text().to_owned(),
                direction(figure.down).to_owned(),
                silence,
                silences,
                format!("{:.1}", figure.loss.goal()),
                back,
                backs,
                "1.0".to_owned(),
            ]
        })
        .collect();
    let headings = [
        "20 + 20 Mbit/s, one lost",
        "",
        "silence, s",
        "least to most",
        "goal",
        "both again after, s",
        "least to most",
        "goal",
    ];
    table(&headings, &lines)
}
