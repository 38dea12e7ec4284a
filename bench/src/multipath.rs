//! What a client's TCP loses by going by way of a partner: direct through the router, by the partner in the clear, and encrypted, in turn. No path
//! has a rate, so that what it costs is all that there is: client, router, partner and server share the machine's processors, and only ratios mean
//! something.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::counters::processor_time;
use lab::goodput::{Demand, Goodput, Transport};
use lab::namespace::{Process, wait_until};
use lab::uplinks::{self, Options, PARTNER, SERVER};
use lab::{Error as LabError, Namespace, Uplinks};
use nix::sys::socket::{setsockopt, sockopt::ReceiveTimeout};
use nix::sys::time::TimeVal;
use serde::Serialize;

use crate::daemon::Daemon;
use crate::report::table;
use crate::rounds::median;
use crate::{Error, machine};

/// How long streams take to get going.
const WARM: Duration = Duration::from_millis(500);
/// How long a partner may take to begin, and an answer to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// First port of the streams; below is that of connections whose first octet is waited for.
const PORT: u16 = 5001;
/// Connections of a round whose first octet is waited for.
const CONNECTIONS: usize = 40;

/// How a client's octets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Through the router, by its best uplink.
    Direct,
    /// By the partner, spliced.
    Clear,
    /// By the partner, AES-256-GCM; only where the processor has instructions for it.
    Aes,
    /// By the partner, ChaCha20-Poly1305.
    ChaCha,
}

impl Way {
    const ALL: [Self; 4] = [Self::Direct, Self::Clear, Self::Aes, Self::ChaCha];

    const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Clear => "partner, in the clear",
            Self::Aes => "partner, AES-256-GCM",
            Self::ChaCha => "partner, ChaCha20-Poly1305",
        }
    }

    fn is_there(self) -> bool {
        let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        self != Self::Aes || flags.split_whitespace().any(|flag| flag == "aes")
    }
}

/// Streams at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// From the server.
    pub down: bool,
    /// How many.
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

/// Median, least and most of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// In the middle.
    pub median: f64,
    /// See there.
    pub least: f64,
    /// See there.
    pub most: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |end: Option<&f64>| end.copied().unwrap_or(f64::NAN);
        Self {
            median: median(&values),
            least: at(values.first()),
            most: at(values.last()),
        }
    }
}

/// What one way did in one case.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The way.
    pub way: Way,
    /// The case.
    pub case: Case,
    /// Mbit/s, of all streams together.
    pub rate: Spread,
    /// Processor seconds per GB of weir at the router, without what the kernel does in interrupts; `None` where there is none.
    pub router: Option<Spread>,
    /// The same of the partner.
    pub partner: Option<Spread>,
}

/// From the first packet of a connection to the first octet that comes back.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// The way.
    pub way: Way,
    /// Milliseconds: of the medians of the rounds.
    pub milliseconds: Spread,
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Rates and processor time.
    pub figures: Vec<Figure>,
    /// First octets.
    pub latencies: Vec<Latency>,
}

/// A router with two uplinks, and its partner where it has one. Programs end before their namespaces.
struct Circuit {
    way: Way,
    sides: Option<(Daemon, Partner)>,
    server: TcpListener,
    uplinks: Uplinks,
}

struct Partner {
    process: Process,
    folder: PathBuf,
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.process.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Partner {
    fn start(namespace: &Namespace, binary: &Path, way: Way) -> Result<Self, Error> {
        let folder = std::env::temp_dir().join(format!("{}-partner", namespace.name()));
        let mut command = Command::new(binary);
        command.args(["multipath", "serve", "--state"]).arg(&folder);
        if way == Way::ChaCha {
            command.arg("--no-aes");
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = namespace.start(&mut command)?;
        let partner = Self { process, folder };
        wait_until("the partner to listen", PATIENCE, || {
            let listening = namespace.run(&format!("ss -Hltn sport = :{}", multipath::PORT))?;
            Ok(listening.contains("LISTEN"))
        })?;
        Ok(partner)
    }

    /// The line for a router.
    fn pair(&self, binary: &Path) -> Result<String, Error> {
        let told = Command::new(binary)
            .args(["multipath", "pair", &PARTNER.to_string(), "--state"])
            .arg(&self.folder)
            .output()
            .map_err(Error::system("pair"))?;
        match told.status.success() {
            true => Ok(String::from_utf8_lossy(&told.stdout).trim().to_owned()),
            false => Err(Error::Wrong(
                String::from_utf8_lossy(&told.stderr).into_owned(),
            )),
        }
    }
}

impl Circuit {
    fn build(way: Way, binary: &Path) -> Result<Self, Error> {
        let paths = vec![uplinks::Path::default(); 2];
        let uplinks = Uplinks::build(&Options { paths, ipv6: false })?;
        let server = uplinks.server().enter(listen)?;
        let server = server.map_err(Error::system("listen"))?;
        let sides = match way {
            Way::Direct => None,
            _ => Some(sides(&uplinks, binary, way)?),
        };
        Ok(Self {
            way,
            sides,
            server,
            uplinks,
        })
    }

    /// Processor seconds of router and partner so far.
    fn spent(&self) -> Result<Option<[f64; 2]>, Error> {
        let Some((router, partner)) = &self.sides else {
            return Ok(None);
        };
        let of = |process| processor_time(process).map(|time| time.as_secs_f64());
        Ok(Some([of(router.id())?, of(partner.process.id())?]))
    }

    /// Mbit/s, and processor seconds per GB of router and partner.
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
        let (before, spent, begun) = (octets(), self.spent()?, Instant::now());
        thread::sleep(Duration::from_secs_f64(seconds));
        let (moved, after, took) = (octets() - before, self.spent()?, begun.elapsed());
        streams
            .into_iter()
            .try_for_each(|one| one.stop().map(drop))?;
        if moved == 0 {
            let (way, case) = (self.way.name(), case.text());
            return Err(Error::Wrong(format!("{way}, {case}: nothing arrived")));
        }
        let each = |side: usize| Some((after?[side] - spent?[side]) / (moved as f64 / 1e9));
        let rate = moved as f64 * 8e-6 / took.as_secs_f64();
        Ok((rate, each(0).zip(each(1)).map(|(a, b)| [a, b])))
    }

    /// The median of the milliseconds to the first octet.
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

/// Whose `accept` does not wait for ever either.
fn listen() -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(server())?;
    let patience = TimeVal::new(PATIENCE.as_secs() as i64, 0);
    setsockopt(&listener, ReceiveTimeout, &patience)?;
    Ok(listener)
}

/// Both, connected.
fn sides(uplinks: &Uplinks, binary: &Path, way: Way) -> Result<(Daemon, Partner), Error> {
    let partner = Partner::start(uplinks.partner(), binary, way)?;
    let encrypt = if way == Way::Clear { "none" } else { "all" };
    let line = partner.pair(binary)?;
    let config = format!("[multipath]\npartner = \"{line}\"\nencrypt = \"{encrypt}\"\n");
    let router = Daemon::multipath(uplinks.router(), binary, &config, uplinks.paths())?;
    Ok((router, partner))
}

/// Measures all ways in turn, round after round.
pub fn all(
    binary: &Path,
    rounds: u32,
    seconds: f64,
    mut progress: impl FnMut(&str),
) -> Result<Found, Error> {
    machine::unpin()?;
    let ways = Way::ALL.into_iter().filter(|way| way.is_there());
    let circuits: Result<Vec<_>, _> = ways.map(|way| Circuit::build(way, binary)).collect();
    let circuits = circuits?;
    let mut latencies = vec![Vec::new(); circuits.len()];
    let mut measured = vec![Vec::new(); circuits.len() * Case::ALL.len()];
    for round in 0..rounds as usize {
        for (nth, case) in Case::ALL.into_iter().enumerate() {
            // Each is first in turn: a machine that gets slower wrongs nobody.
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
    Ok(Found {
        figures,
        latencies: latencies.collect(),
    })
}

fn figure(way: Way, case: Case, rounds: &[(f64, Option<[f64; 2]>)]) -> Figure {
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

/// For eyes.
pub fn report(found: &Found) -> String {
    let lines: Vec<_> = found
        .figures
        .iter()
        .map(|figure| {
            let same = |other: &&Figure| other.way == Way::Direct && other.case == figure.case;
            let direct = found.figures.iter().find(same);
            let share = direct.map(|direct| figure.rate.median / direct.rate.median);
            let cost = |spent: Option<Spread>| {
                spent.map_or("–".into(), |spent| format!("{:.2}", spent.median))
            };
            vec![
                figure.way.name().to_owned(),
                figure.case.text(),
                format!("{:.0}", figure.rate.median),
                format!("{:.0} to {:.0}", figure.rate.least, figure.rate.most),
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
            let of = latency.milliseconds;
            vec![
                latency.way.name().to_owned(),
                format!("{:.2}", of.median),
                format!("{:.2} to {:.2}", of.least, of.most),
            ]
        })
        .collect();
    let headings = ["first octet after", "ms", "least to most"];
    format!("{rates}\n{}", table(&headings, &lines))
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
        let clear = figure(Way::Clear, case, &rounds);
        let router = clear.router.expect("there is one");
        assert_eq!((router.median, router.least, router.most), (0.5, 0.1, 0.7));
        let direct = figure(Way::Direct, case, &[(1900.0, None)]);
        assert_eq!(direct.router, None);
        let found = Found {
            figures: vec![direct, clear],
            latencies: Vec::new(),
        };
        let text = report(&found);
        let line = text
            .lines()
            .find(|line| line.contains("clear"))
            .expect("it");
        assert!(line.contains("1 down") && line.contains(" 0.50 "), "{line}");
    }
}
