//! Measures the cost of a partner for a client's TCP: direct through the router, by the partner in
//! the clear, and encrypted, in turn. Compares with the smallest possible proxy, and with
//! shadowsocks. Paths have no rate limit: all hosts share the processors, and only ratios matter.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use lab::goodput::{Demand, Goodput, Transport};
use lab::uplinks::{self, Options, SERVER};
use lab::{Error as LabError, Uplinks};
use nix::sys::socket::{setsockopt, sockopt::ReceiveTimeout};
use nix::sys::time::TimeVal;
use serde::Serialize;

use super::Spread;
use super::plain_proxy::PlainProxy;
use super::router_and_partner::{Encryption, PATIENCE, Sides, spent};
use super::shadowsocks::{self, Shadowsocks};
use crate::Error;
use crate::report::{Table, table};

/// Time for streams to get going.
const WARM: Duration = Duration::from_millis(500);
/// First port of the streams; the port below it serves the first-byte measurement.
const PORT: u16 = 5001;
/// Connections in a round of the first-byte measurement.
const CONNECTIONS: usize = 40;

/// Path of a client's bytes; weir's unless another program is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Through the router, by its best uplink.
    Direct,
    /// By a partner, with the smallest possible proxy.
    Bare,
    /// By the partner, spliced.
    Clear,
    /// By the partner, AES-256-GCM; only on processors with AES instructions.
    Aes,
    /// By the partner, ChaCha20-Poly1305.
    ChaCha,
    /// shadowsocks-libev over MPTCP, ChaCha20-Poly1305; only if installed.
    Shadowsocks,
}

impl Method {
    /// All ways.
    pub const ALL: [Self; 6] = [
        Self::Direct,
        Self::Bare,
        Self::Clear,
        Self::Aes,
        Self::ChaCha,
        Self::Shadowsocks,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Bare => "a bare proxy",
            Self::Clear => "partner, in the clear",
            Self::Aes => "partner, AES-256-GCM",
            Self::ChaCha => "partner, ChaCha20-Poly1305",
            Self::Shadowsocks => "shadowsocks-libev, the same",
        }
    }

    /// Returns the missing requirement, if any.
    fn lacks(self) -> Option<&'static str> {
        let flags = || fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        match self {
            Self::Aes if !flags().split_whitespace().any(|flag| flag == "aes") => {
                Some("this processor has no instructions for AES")
            }
            Self::Shadowsocks if !shadowsocks::is_there() => {
                Some("shadowsocks-libev and mptcpize are not installed")
            }
            _ => None,
        }
    }
}

/// Direction and number of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// Set for downloads from the server.
    pub down: bool,
    /// Number of streams.
    pub flows: u16,
}

impl Case {
    const ALL: [Self; 4] = [
        Self::new(false, 1),
        Self::new(true, 1),
        Self::new(false, 4),
        Self::new(true, 4),
    ];

    const fn new(down: bool, flows: u16) -> Self {
        Self { down, flows }
    }

    fn text(self) -> String {
        let direction = if self.down { "down" } else { "up" };
        format!("{} {direction}", self.flows)
    }
}

/// Result of a method in a case.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Method.
    pub way: Method,
    /// Case.
    pub case: Case,
    /// Mbit/s of all streams together.
    pub rate: Spread,
    /// Processor seconds per GB of the proxy at the router, without kernel work in interrupts;
    /// `None` without a proxy.
    pub router: Option<Spread>,
    /// Processor seconds per GB of the proxy at the partner.
    pub partner: Option<Spread>,
}

/// Time from the first packet of a connection to the first byte that returns.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// Method.
    pub way: Method,
    /// Milliseconds: spread of the medians of the rounds.
    pub milliseconds: Spread,
}

/// Results of all measurements.
#[derive(Clone, Debug, Serialize)]
pub struct MethodResults {
    /// Rates and processor time.
    pub figures: Vec<Figure>,
    /// First bytes.
    pub latencies: Vec<Latency>,
}

/// Router with two uplinks, and a partner if the method has one. Field order makes programs end
/// before their namespaces.
struct Circuit {
    way: Method,
    programs: Programs,
    server: TcpListener,
    uplinks: Uplinks,
}

/// Programs that carry a client's bytes.
enum Programs {
    None,
    Weir(Sides),
    Bare(PlainProxy),
    Shadowsocks(Shadowsocks),
}

impl Programs {
    fn start(way: Method, uplinks: &Uplinks, binary: &Path) -> Result<Self, Error> {
        let weir = |encrypted| Sides::start(uplinks, binary, encrypted).map(Self::Weir);
        match way {
            Method::Direct => Ok(Self::None),
            Method::Bare => PlainProxy::start(uplinks).map(Self::Bare),
            Method::Clear => weir(Encryption::None),
            Method::Aes => weir(Encryption::All),
            Method::ChaCha => weir(Encryption::ChaCha),
            Method::Shadowsocks => Shadowsocks::start(uplinks).map(Self::Shadowsocks),
        }
    }

    /// Returns the processor seconds of router and partner so far.
    fn spent(&self) -> Result<Option<[f64; 2]>, Error> {
        let ids = match self {
            Self::None => return Ok(None),
            Self::Weir(sides) => sides.ids(),
            Self::Bare(bare) => bare.ids(),
            Self::Shadowsocks(shadowsocks) => shadowsocks.ids(),
        };
        spent(ids).map(Some)
    }
}

impl Circuit {
    fn build(way: Method, binary: &Path) -> Result<Self, Error> {
        let paths = vec![uplinks::Path::default(); 2];
        let uplinks = Uplinks::build(&Options { paths, ipv6: false })?;
        let server = uplinks.server().enter(listen)?;
        let server = server.map_err(Error::system("listen"))?;
        let programs = Programs::start(way, &uplinks, binary)?;
        Ok(Self {
            way,
            programs,
            server,
            uplinks,
        })
    }

    /// Returns Mbit/s, and processor seconds per GB of router and partner.
    fn measure(&self, case: Case, seconds: f64) -> Result<(f64, Option<[f64; 2]>), Error> {
        let (client, server) = (self.uplinks.client(), self.uplinks.server());
        let streams: Result<Vec<_>, LabError> = (0..case.flows)
            .map(|flow| {
                let to = SocketAddr::new(SERVER, PORT + flow);
                let up = Demand::up(Transport::Tcp, to);
                let demand = Demand {
                    down: case.down,
                    ..up
                };
                Goodput::start(client, server, &demand)
            })
            .collect();
        let streams = streams?;
        thread::sleep(WARM);
        let octets = || -> u64 { streams.iter().map(|one| one.series().total()).sum() };
        let (before, spent, begun) = (octets(), self.programs.spent()?, Instant::now());
        thread::sleep(Duration::from_secs_f64(seconds));
        let (moved, after, took) = (octets() - before, self.programs.spent()?, begun.elapsed());
        streams
            .into_iter()
            .try_for_each(|one| one.stop().map(drop))?;
        if moved == 0 {
            let (way, case) = (self.way.name(), case.text());
            return Err(Error::Wrong(format!("{way}, {case}: no data arrived")));
        }
        let each = |side: usize| Some((after?[side] - spent?[side]) / (moved as f64 / 1e9));
        let rate = moved as f64 * 8e-6 / took.as_secs_f64();
        Ok((rate, each(0).zip(each(1)).map(|(a, b)| [a, b])))
    }

    /// Returns the median of the milliseconds to the first byte.
    fn first_octet(&self) -> Result<f64, Error> {
        let ask = || -> std::io::Result<Vec<f64>> {
            (0..CONNECTIONS)
                .map(|_| {
                    let begun = Instant::now();
                    let mut near = TcpStream::connect_timeout(&server(), PATIENCE)?;
                    near.set_read_timeout(Some(PATIENCE))?;
                    near.write_all(b"x")?;
                    let (mut far, _) = self.server.accept()?;
                    far.set_read_timeout(Some(PATIENCE))?;
                    far.read_exact(&mut [0; 1])?;
                    far.write_all(b"y")?;
                    near.read_exact(&mut [0; 1])?;
                    Ok(begun.elapsed().as_secs_f64() * 1e3)
                })
                .collect()
        };
        let asked = self.uplinks.client().enter(ask)?;
        Ok(Spread::of(asked.map_err(Error::system("ask the server"))?).median)
    }
}

fn server() -> SocketAddr {
    SocketAddr::new(SERVER, PORT - 1)
}

/// Opens a listener whose `accept` has a time limit.
fn listen() -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(server())?;
    let patience = TimeVal::new(PATIENCE.as_secs() as i64, 0);
    setsockopt(&listener, ReceiveTimeout, &patience)?;
    Ok(listener)
}

/// Measures these methods in turn, round after round.
pub fn all(
    binary: &Path,
    ways: &[Method],
    rounds: u32,
    seconds: f64,
    mut progress: impl FnMut(&str),
) -> Result<MethodResults, Error> {
    datapath::bench::unpin()?;
    let ways = ways.iter().copied().filter(|way| match way.lacks() {
        None => true,
        Some(lack) => {
            progress(&format!("{}: not measured, because {lack}", way.name()));
            false
        }
    });
    let circuits: Result<Vec<_>, _> = ways.map(|way| Circuit::build(way, binary)).collect();
    let circuits = circuits?;
    let mut latencies = vec![Vec::new(); circuits.len()];
    let mut measured = vec![Vec::new(); circuits.len() * Case::ALL.len()];
    for round in 0..rounds as usize {
        for (nth, case) in Case::ALL.into_iter().enumerate() {
            // Each method is first in turn, so that a machine that slows down treats all alike.
            for step in 0..circuits.len() {
                let index = (round + step) % circuits.len();
                let circuit = &circuits[index];
                let (rate, spent) = circuit.measure(case, seconds)?;
                progress(&format!(
                    "round {} of {rounds}: {}, {}: {rate:.0} Mbit/s",
                    round + 1,
                    circuit.way.name(),
                    case.text()
                ));
                measured[index * Case::ALL.len() + nth].push((rate, spent));
            }
        }
        for (circuit, found) in circuits.iter().zip(&mut latencies) {
            found.push(circuit.first_octet()?);
        }
    }
    let mut measured = measured.into_iter();
    let mut figures = Vec::new();
    for circuit in &circuits {
        for (case, rounds) in Case::ALL.into_iter().zip(&mut measured) {
            figures.push(figure(circuit.way, case, &rounds));
        }
    }
    let latencies = circuits.iter().zip(latencies);
    let latencies = latencies.map(|(circuit, found)| Latency {
        way: circuit.way,
        milliseconds: Spread::of(found),
    });
    Ok(MethodResults {
        figures,
        latencies: latencies.collect(),
    })
}

fn figure(way: Method, case: Case, rounds: &[(f64, Option<[f64; 2]>)]) -> Figure {
    let spent = |side: usize| -> Option<Spread> {
        let each: Option<Vec<_>> = rounds
            .iter()
            .map(|(_, spent)| spent.map(|spent| spent[side]))
            .collect();
        each.map(Spread::of)
    };
    Figure {
        way,
        case,
        rate: Spread::of(rounds.iter().map(|(rate, _)| *rate).collect()),
        router: spent(0),
        partner: spent(1),
    }
}

/// Formats the results as tables.
pub fn report(found: &MethodResults) -> [(&'static str, Table); 2] {
    let lines: Vec<_> = found
        .figures
        .iter()
        .map(|figure| {
            let same = |other: &&Figure| other.way == Method::Direct && other.case == figure.case;
            let direct = found.figures.iter().find(same);
            let share = direct.map(|direct| figure.rate.median / direct.rate.median);
            let cost = |spent: Option<Spread>| {
                spent.map_or("–".into(), |spent| format!("{:.2}", spent.median))
            };
            let [rate, spread] = figure.rate.cells(0);
            vec![
                figure.way.name().to_owned(),
                figure.case.text(),
                rate,
                spread,
                share.map_or("–".into(), |share| format!("{share:.2}")),
                cost(figure.router),
                cost(figure.partner),
            ]
        })
        .collect();
    let headings = [
        "way",
        "streams",
        "Mbit/s",
        "least to most",
        "of direct",
        "router, CPU s/GB",
        "partner, CPU s/GB",
    ];
    let rates = table(&headings, &lines);
    let lines: Vec<_> = found
        .latencies
        .iter()
        .map(|latency| {
            let [median, spread] = latency.milliseconds.cells(2);
            vec![latency.way.name().to_owned(), median, spread]
        })
        .collect();
    let headings = ["first byte after", "ms", "least to most"];
    [
        ("multipath", rates),
        ("multipath-first", table(&headings, &lines)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_those_of_the_rounds() {
        let case = Case::ALL[1];
        let spent = |router| Some([router, 2.0]);
        let rounds = [
            (900.0, spent(0.5)),
            (1000.0, spent(0.7)),
            (950.0, spent(0.1)),
        ];
        let clear = figure(Method::Clear, case, &rounds);
        let router = clear.router.expect("there is one");
        assert_eq!((router.median, router.least, router.most), (0.5, 0.1, 0.7));
        let direct = figure(Method::Direct, case, &[(1900.0, None)]);
        assert_eq!(direct.router, None);
        let found = MethodResults {
            figures: vec![direct, clear],
            latencies: Vec::new(),
        };
        let [(_, rates), _] = report(&found);
        let mut lines = rates.lines.iter();
        let line = lines.find(|line| line[0].contains("clear")).expect("it");
        assert!(line[1] == "1 down" && line[5] == "0.50", "{line:?}");
    }
}
