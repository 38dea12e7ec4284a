//! TCP connections through the router, between hosts with their own stacks, with frames as on a
//! wire. The hosts take most of the time, on all processors: this shows how much a difference
//! matters where a router is not alone. A host of this machine sends skbs, which veth copies for
//! XDP, but not for TC. Network cards behave the other way round.

use std::net::SocketAddr;
use std::path::Path as File;
use std::time::{Duration, Instant};

use lab::gateway::SERVER;
use lab::goodput::{Demand, Goodput, Transport};
use lab::{Ipv6, Lab, Namespace, Options};
use serde::{Deserialize, Serialize};

use super::row::SkippedScenario;
use super::settings::Settings;
use crate::Error;
use crate::circuit::Path;
use crate::daemon::Daemon;
use crate::load::Encapsulation;
use crate::machine::{Processor, inside, processor_times, received};
use crate::rounds::Spread;

/// Scenarios, measured in turn.
pub const SCENARIOS: [Path; 4] = [
    Path::Masquerade,
    Path::Flowtable,
    Path::WeirTc,
    Path::WeirXdp,
];
/// Parallel connections.
pub const CONNECTIONS: u16 = 4;
/// Port of the first connection.
const PORT: u16 = 5001;
/// Time for congestion control to find its pace, and for weir to take over the connections.
const WARM: Duration = Duration::from_millis(300);
/// Estimated time to build a router.
const BUILD: Duration = Duration::from_millis(900);

/// Result of the TCP measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bulk {
    /// Parallel connections.
    pub connections: u16,
    /// Seconds of each measurement.
    pub seconds: f64,
    /// Scenarios, in the order measured.
    pub scenarios: Vec<Transfer>,
}

/// Scenario and its throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// [`Path::name`].
    pub name: String,
    /// Description of the scenario.
    pub text: String,
    /// Bits that the server's programs read, of all connections.
    pub bits_per_second: Spread,
    /// Busy processors, of hosts and router together.
    pub cpu: Spread,
    /// Lowest share of the router's received packets that weir forwarded; unset without weir.
    pub forwarded: Option<f64>,
    /// Bit/s of each round, in order.
    pub each: Vec<f64>,
}

/// Router between two hosts.
struct Scene {
    path: Path,
    weir: Option<Daemon>,
    rates: Vec<f64>,
    busy: Vec<f64>,
    share: Option<f64>,
    lab: Lab,
}

impl Scene {
    fn build(path: Path, weir: &File) -> Result<Self, Error> {
        let lab = Lab::gateway(&Options {
            nat: true,
            ipv6: Ipv6::Off,
            plain_offloads: true,
            ..Options::default()
        })?;
        if path == Path::Flowtable {
            lab.flowtable()?;
        }
        let router = lab.node("router")?;
        let weir = path.hook().map(|hook| Daemon::start(router, weir, hook));
        Ok(Self {
            path,
            weir: weir.transpose()?,
            rates: Vec::new(),
            busy: Vec::new(),
            share: None,
            lab,
        })
    }

    /// Returns the packets that weir forwarded, and all that the router received.
    fn forwarded(&self, router: &Namespace) -> Result<Option<(u64, u64)>, Error> {
        let Some(weir) = &self.weir else {
            return Ok(None);
        };
        let all = inside(router, || -> Result<u64, Error> {
            Ok(received("lan0")? + received("wan0")?)
        })??;
        Ok(Some((weir.status()?.packets.forwarded(), all)))
    }

    fn measure(&mut self, seconds: f64) -> Result<(), Error> {
        let (client, server) = (self.lab.node("client")?, self.lab.node("server")?);
        let router = self.lab.node("router")?;
        let start = |n| {
            let to = SocketAddr::new(SERVER, PORT + n);
            Goodput::start(client, server, &Demand::up(Transport::Tcp, to))
        };
        let all: Vec<_> = (0..CONNECTIONS).map(start).collect::<Result<_, _>>()?;
        let arrived = || all.iter().map(|one| one.series().total()).sum::<u64>();
        std::thread::sleep(WARM);
        let (before, worked) = (self.forwarded(router)?, processor_times());
        let (begun, octets) = (Instant::now(), arrived());
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let took = begun.elapsed().as_secs_f64();
        let octets = arrived() - octets;
        let busy = |now: &[Processor]| -> f64 {
            let both = now.iter().zip(&worked);
            both.map(|(now, then)| now.since(then, took).busy).sum()
        };
        self.busy.push(busy(&processor_times()));
        let after = self.forwarded(router)?;
        for one in all {
            one.stop()?;
        }
        if octets == 0 {
            let path = self.path.name();
            return Err(Error::Wrong(format!("{path}: no TCP data arrives")));
        }
        self.rates.push(octets as f64 * 8.0 / took);
        if let Some(((weir, all), (weir_now, all_now))) = before.zip(after) {
            // The two counters are not read at the same moment.
            let share = ((weir_now - weir) as f64 / (all_now - all).max(1) as f64).min(1.0);
            self.share = Some(self.share.map_or(share, |least| least.min(share)));
        }
        Ok(())
    }

    fn told(self) -> Option<Transfer> {
        Some(Transfer {
            name: self.path.name().into(),
            text: self.path.text().into(),
            bits_per_second: Spread::of(&self.rates)?,
            cpu: Spread::of(&self.busy)?,
            forwarded: self.share,
            each: self.rates,
        })
    }
}

fn rounds(settings: &Settings) -> u32 {
    settings.plan.rounds.min(3)
}

/// Returns the estimated time of the measurement.
pub(super) fn expected_time(settings: &Settings) -> Duration {
    let each = WARM + Duration::from_secs_f64(settings.plan.seconds);
    (BUILD + each * rounds(settings)) * SCENARIOS.len() as u32
}

/// Measures between plain wires, and asks `stopped` before each step. Adds scenarios that cannot be
/// measured to `left_out`. Returns `None` without a complete round.
pub(super) fn measure(
    settings: &Settings,
    tell: &mut dyn FnMut(String, Duration),
    stopped: &mut dyn FnMut() -> bool,
    left_out: &mut Vec<SkippedScenario>,
) -> Result<Option<Bulk>, Error> {
    let seconds = settings.plan.seconds;
    let mut scenes = Vec::new();
    for path in SCENARIOS {
        if stopped() {
            return Ok(None);
        }
        tell(format!("TCP: building: {}", path.text()), BUILD);
        match path.lacks(Encapsulation::Plain) {
            None => scenes.push(Scene::build(path, &settings.weir)?),
            Some(reason) => {
                let name = path.name().into();
                SkippedScenario { name, reason }.add(left_out);
            }
        }
    }
    'rounds: for round in 1..=rounds(settings) {
        for scene in &mut scenes {
            if stopped() {
                break 'rounds;
            }
            let each = WARM + Duration::from_secs_f64(seconds);
            tell(format!("TCP: round {round}: {}", scene.path.text()), each);
            scene.measure(seconds)?;
        }
    }
    let scenarios: Vec<_> = scenes.into_iter().filter_map(Scene::told).collect();
    Ok((!scenarios.is_empty()).then_some(Bulk {
        connections: CONNECTIONS,
        seconds,
        scenarios,
    }))
}
