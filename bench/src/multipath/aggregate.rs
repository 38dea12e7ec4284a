//! Measures the aggregate of paths with a rate, as a share of the kernel's rate on a single path: a
//! TCP connection, and datagrams by the tunnel. Two labs for each arrangement, with and without
//! weir, are measured in turn.

use std::net::SocketAddr;
use std::path::Path as File;
use std::thread;
use std::time::Duration;

use lab::Uplinks;
use lab::goodput::{Demand, Goodput, Transport};
use lab::relay::Impairment;
use lab::uplinks::{Options, Path, SERVER};
use serde::Serialize;

use super::Spread;
use super::router_and_partner::{Encryption, PartnerAddress, Sides};
use crate::Error;
use crate::report::{Table, table};

/// Time for streams to get going.
const WARM: Duration = Duration::from_secs(2);
/// First port of the streams.
const PORT: u16 = 5001;
/// Bytes of a datagram, for packets of 1400: about the most that a tunnel takes.
const LENGTH: usize = 1372;
const MBIT: f64 = 1e6;

/// Traffic of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// A single connection.
    Tcp,
    /// Streams of datagrams, which offer a tenth more than the paths carry.
    Udp(u16),
}

/// Paths, and the traffic on them.
#[derive(Clone, Copy, Debug)]
struct Arrangement {
    text: &'static str,
    /// Mbit/s of each path, and its milliseconds one way.
    paths: &'static [(u64, u64)],
    /// Factor from the first path's own rate to the whole that `share` refers to.
    whole: usize,
    /// Share of the whole to reach by TCP.
    goal: f64,
    loads: &'static [Load],
    reached: PartnerAddress,
}

const ARRANGEMENTS: [Arrangement; 7] = [
    Arrangement {
        text: "20 + 20",
        paths: &[(20, 0), (20, 0)],
        whole: 2,
        goal: 0.97,
        loads: &[Load::Tcp, Load::Udp(1), Load::Udp(4)],
        reached: PartnerAddress::Plainly,
    },
    Arrangement {
        text: "40 + 40",
        paths: &[(40, 0), (40, 0)],
        whole: 2,
        goal: 0.97,
        loads: &[Load::Tcp, Load::Udp(1), Load::Udp(4)],
        reached: PartnerAddress::Plainly,
    },
    Arrangement {
        text: "20 + 20 + 20",
        paths: &[(20, 0), (20, 0), (20, 0)],
        whole: 3,
        goal: 0.95,
        loads: &[Load::Tcp],
        reached: PartnerAddress::Plainly,
    },
    Arrangement {
        text: "40 + 4, 100 ms longer",
        paths: &[(40, 0), (4, 50)],
        whole: 1,
        goal: 0.98,
        loads: &[Load::Tcp],
        reached: PartnerAddress::Plainly,
    },
    Arrangement {
        text: "20 + 20, partner's address on lo",
        paths: &[(20, 0), (20, 0)],
        whole: 2,
        goal: 0.95,
        loads: &[Load::Tcp, Load::Udp(4)],
        reached: PartnerAddress::OnLo,
    },
    Arrangement {
        text: "20 + 20, partner behind a translation",
        paths: &[(20, 0), (20, 0)],
        whole: 2,
        goal: 0.95,
        loads: &[Load::Tcp, Load::Udp(4)],
        reached: PartnerAddress::Translated,
    },
    Arrangement {
        text: "20 + 20, partner by IPv6, of several",
        paths: &[(20, 0), (20, 0)],
        whole: 2,
        goal: 0.95,
        loads: &[Load::Tcp, Load::Udp(4)],
        reached: PartnerAddress::ByIpv6,
    },
];

impl Arrangement {
    fn options(&self) -> Options {
        let path = |(rate, delay): &(u64, u64)| match delay {
            0 => Path::mbit(*rate),
            _ => Path::mbit(*rate).with_relay(Impairment::delay(Duration::from_millis(*delay))),
        };
        Options {
            paths: self.paths.iter().map(path).collect(),
            ipv6: self.reached == PartnerAddress::ByIpv6,
        }
    }

    /// Returns the bit/s of the first `paths` paths together.
    fn rate(&self, paths: usize) -> u64 {
        self.paths
            .iter()
            .take(paths)
            .map(|(rate, _)| rate * 1_000_000)
            .sum()
    }

    fn goal(&self, load: Load) -> f64 {
        match load {
            Load::Tcp => self.goal,
            Load::Udp(_) => 0.95,
        }
    }
}

/// Result of an arrangement.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Mbit/s of the paths.
    pub paths: String,
    /// Traffic.
    pub load: Load,
    /// Set for a download from the server.
    pub down: bool,
    /// Payload in Mbit/s of the kernel on the first path.
    pub one: Spread,
    /// Payload in Mbit/s by all paths.
    pub sum: Spread,
    /// The sum as a share of the whole, computed with `one` of the same round.
    pub share: Spread,
    /// Share to reach.
    pub goal: f64,
}

/// Measures arrangements whose name contains `of` in turn, round after round.
pub fn all(
    binary: &File,
    rounds: u32,
    seconds: f64,
    of: &str,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Figure>, Error> {
    datapath::bench::unpin()?;
    let mut figures = Vec::new();
    for arrangement in ARRANGEMENTS.iter().filter(|it| it.text.contains(of)) {
        let (alone, joined) = (
            Uplinks::build(&arrangement.options())?,
            Uplinks::build(&arrangement.options())?,
        );
        let reached = arrangement.reached;
        let _sides = Sides::reached(&joined, binary, Encryption::All, reached)?;
        let cases: Vec<_> = arrangement
            .loads
            .iter()
            .flat_map(|load| [(*load, false), (*load, true)])
            .collect();
        let mut found = vec![Vec::new(); cases.len()];
        for round in 1..=rounds {
            for ((load, down), found) in cases.iter().zip(&mut found) {
                let one = measure(&alone, *load, *down, arrangement.rate(1), seconds)?;
                let all = arrangement.rate(arrangement.paths.len());
                let sum = measure(&joined, *load, *down, all, seconds)?;
                progress(&format!(
                    "round {round} of {rounds}: {}, {}: {one:.1}, {sum:.1} Mbit/s",
                    arrangement.text,
                    text(*load, *down)
                ));
                found.push((one, sum));
            }
        }
        for ((load, down), found) in cases.into_iter().zip(found) {
            let whole = arrangement.whole as f64;
            let spread =
                |of: &dyn Fn(&(f64, f64)) -> f64| Spread::of(found.iter().map(of).collect());
            figures.push(Figure {
                paths: arrangement.text.to_owned(),
                load,
                down,
                one: spread(&|found| found.0),
                sum: spread(&|found| found.1),
                share: spread(&|(one, sum)| sum / (one * whole)),
                goal: arrangement.goal(load),
            });
        }
    }
    Ok(figures)
}

/// Returns the received payload in Mbit/s; `rate` is that of the paths in bit/s.
fn measure(
    uplinks: &Uplinks,
    load: Load,
    down: bool,
    rate: u64,
    seconds: f64,
) -> Result<f64, Error> {
    let (transport, streams, each) = match load {
        Load::Tcp => (Transport::Tcp, 1, None),
        Load::Udp(streams) => (
            Transport::Udp,
            streams,
            Some(rate * 11 / 10 / u64::from(streams)),
        ),
    };
    let running: Result<Vec<_>, _> = (0..streams)
        .map(|stream| {
            let demand = Demand {
                down,
                rate: each,
                length: LENGTH,
                ..Demand::up(transport, SocketAddr::new(SERVER, PORT + stream))
            };
            Goodput::start(uplinks.client(), uplinks.server(), &demand)
        })
        .collect();
    let (running, end) = (running?, WARM + Duration::from_secs_f64(seconds));
    thread::sleep(end);
    let mut sum = 0.0;
    for one in running {
        sum += one.stop()?.rate(WARM..end) / MBIT;
    }
    match sum > 0.0 {
        true => Ok(sum),
        false => Err(Error::Wrong(format!(
            "{}: no data arrived",
            text(load, down)
        ))),
    }
}

fn text(load: Load, down: bool) -> String {
    let load = match load {
        Load::Tcp => "TCP".to_owned(),
        Load::Udp(1) => "UDP, 1 stream".to_owned(),
        Load::Udp(streams) => format!("UDP, {streams} streams"),
    };
    format!("{load}, {}", if down { "down" } else { "up" })
}

/// Formats the results as a table.
pub fn report(figures: &[Figure]) -> Table {
    let lines: Vec<_> = figures
        .iter()
        .map(|figure| {
            let [one, _] = figure.one.cells(1);
            let [sum, sums] = figure.sum.cells(1);
            let [share, _] = figure.share.cells(3);
            vec![
                figure.paths.clone(),
                text(figure.load, figure.down),
                one,
                sum,
                sums,
                share,
                format!("{:.2}", figure.goal),
            ]
        })
        .collect();
    let headings = [
        "paths, Mbit/s",
        "load",
        "one, by the kernel",
        "all, by weir",
        "least to most",
        "of the whole",
        "goal",
    ];
    table(&headings, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_paths_have() {
        let unequal = ARRANGEMENTS[3];
        assert_eq!((unequal.rate(1), unequal.rate(2)), (40_000_000, 44_000_000));
        let options = unequal.options();
        assert!(options.paths[0].relay.is_none() && options.paths[1].relay.is_some());
        assert_eq!(ARRANGEMENTS[0].goal(Load::Tcp), 0.97);
        assert_eq!(ARRANGEMENTS[0].goal(Load::Udp(1)), 0.95);
    }
}
