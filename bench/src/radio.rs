//! `weir bench radio`: measures transmit power and throughput on simulated radios.

pub mod chart;
mod control;
pub mod report;
pub mod scenario;

use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::goodput::Goodput;
use lab::medium::{Cells, Counts};
use lab::radios::{RADIO, are_there, can_be_had, unload};

use crate::Error;
use crate::local::Progress;
use crate::machine::Machine;
use control::Control;
pub use report::{Figures, Report, Run, ScenarioResult, Step};
use report::{SCHEMA, reaction};
pub use scenario::{Driver, Scenario};

/// Time for rate control and power search to get going.
const WARM: Duration = Duration::from_secs(3);
/// Estimated time to set up radios and stations.
const BUILD: Duration = Duration::from_secs(10);
/// Interval at which the scene is updated.
const MOVES: Duration = Duration::from_millis(50);
/// Idle time around each exchange that is not airtime, in s: DIFS, half of 15 slots, SIFS (IEEE
/// 802.11-2020, 17.4.4 and 10.3.2.3).
const BESIDE: f64 = 117.5e-6;

/// Settings of a measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Scenarios, in this order.
    pub scenarios: Vec<Scenario>,
    /// Drivers, in this order, each in all scenarios.
    pub drivers: Vec<Driver>,
    /// Length of each measurement.
    pub time: Duration,
    /// Seed of the medium's random numbers; each later round adds 1.
    pub seed: u64,
    /// Number of rounds.
    pub repeat: u32,
}

/// Returns why this machine cannot measure, and a hint, if so.
pub fn lacks() -> Option<(&'static str, &'static str)> {
    if are_there() {
        return Some((
            "mac80211_hwsim is loaded already, and the measurement would remove its radios",
            "run `modprobe -r mac80211_hwsim`, if the radios are unused",
        ));
    }
    let lacks = !can_be_had();
    lacks.then_some((
        "this kernel has no mac80211_hwsim, which simulates the radios",
        "use Debian's kernel (linux-image-amd64): scripts/vm starts it in a virtual machine",
    ))
}

/// Measures until done, or until `stop` returns true before a step; reports the steps made.
///
/// # Errors
/// The kernel refuses, or has no such radios.
pub fn run(
    settings: &Settings,
    told: &mut dyn FnMut(&Progress),
    stop: &dyn Fn() -> bool,
) -> Result<Report, Error> {
    let _gone = Gone;
    let each = BUILD + WARM + settings.time;
    let all = (settings.scenarios.len() * settings.drivers.len()) as u32 * settings.repeat;
    let mut done = 0;
    let mut report = Report {
        schema: SCHEMA.into(),
        machine: Machine::this(),
        seconds: settings.time.as_secs_f64(),
        seed: settings.seed,
        repeat: settings.repeat,
        complete: true,
        scenarios: Vec::new(),
    };
    for scenario in &settings.scenarios {
        let mut rounds = vec![(Vec::new(), Vec::new()); settings.drivers.len()];
        // Drivers take turns within a round, so that other load on the machine affects all alike.
        for round in 0..settings.repeat {
            for (driver, (figures, steps)) in settings.drivers.iter().zip(&mut rounds) {
                if stop() {
                    report.complete = false;
                    break;
                }
                told(&Progress {
                    doing: format!("{}: {}", scenario.name(), driver.name()),
                    done: f64::from(done) / f64::from(all.max(1)),
                    left: each * (all - done),
                });
                let seed = settings.seed.wrapping_add(round.into());
                let (found, set) = measure(*scenario, *driver, seed, settings.time)?;
                figures.push(found);
                if round == 0 {
                    *steps = set;
                }
                done += 1;
            }
        }
        let all = settings.drivers.iter().zip(rounds);
        let runs: Vec<Run> = all
            .filter_map(|(driver, (figures, steps))| Run::of(*driver, figures, steps))
            .collect();
        if !runs.is_empty() {
            report.scenarios.push(ScenarioResult {
                name: scenario.name().into(),
                text: scenario.text().into(),
                runs,
            });
        }
    }
    Ok(report)
}

/// Unloads the module at the end: it was not loaded before.
struct Gone;

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = unload();
    }
}

fn measure(
    scenario: Scenario,
    driver: Driver,
    seed: u64,
    long: Duration,
) -> Result<(Figures, Vec<Step>), Error> {
    let pairs = scenario.pairs();
    let (frequency, hostapd) = scenario.channel();
    let cells = Cells::begin(pairs, scenario.scene(0.0), seed, frequency, hostapd)?;
    let mut controls = Vec::new();
    for [access_point, _] in pairs {
        let node = cells.node(access_point)?;
        if driver == Driver::Slow {
            let band = if frequency < 4000 { "2.4 1" } else { "5 6" };
            node.run(&format!("iw dev {RADIO} set bitrates legacy-{band}"))?;
        }
        controls.push(Control::begin(driver, node)?);
    }
    let loads = pairs.iter().map(|pair| cells.load(*pair, scenario.rate()));
    let loads = loads.collect::<Result<Vec<_>, _>>()?;
    sleep(WARM);
    let begun = Instant::now();
    let from: Vec<Duration> = loads.iter().map(Goodput::now).collect();
    let before = cells.medium().told()?;
    let mut wall = None;
    while begun.elapsed() < long {
        if scenario.changes() {
            let share = begun.elapsed().as_secs_f64() / long.as_secs_f64();
            let scene = scenario.scene(share);
            if wall.is_none() && scenario.wall().is_some_and(|begin| share >= begin) {
                wall = Some(begun.elapsed().as_secs_f64() * 1000.0);
            }
            cells.medium().change(move |now| *now = scene)?;
        }
        sleep(MOVES.min(long.saturating_sub(begun.elapsed())));
    }
    let after = cells.medium().told()?;
    let rates = loads.iter().zip(&from).map(|(load, from)| {
        let until = load.now();
        load.series().rate(*from..until)
    });
    let arrived: f64 = rates.sum();
    for load in loads {
        load.stop()?;
    }
    let mut steps = Vec::new();
    for control in controls {
        steps.push(control.end()?);
    }
    let since = |at: Instant| match at.checked_duration_since(begun) {
        Some(later) => later.as_secs_f64() * 1000.0,
        None => -(begun - at).as_secs_f64() * 1000.0,
    };
    let steps: Vec<Step> = steps
        .first()
        .into_iter()
        .flatten()
        .map(|(at, power, reason)| Step {
            at_ms: since(*at),
            power_dbm: *power,
            reason: reason.map(|reason| reason.word().into()),
        })
        .collect();
    let more = |role: &str, of: fn(&Counts) -> f64| {
        let of = |report: &lab::medium::Report| report.radios.get(role).map_or(0.0, of);
        of(&after) - of(&before)
    };
    let airtime = |counts: &Counts| counts.airtime as f64 / 1e9;
    let sum = |roles: &[&str], of: fn(&Counts) -> f64| -> f64 {
        roles.iter().map(|role| more(role, of)).sum()
    };
    let senders: Vec<&str> = pairs.iter().map(|pair| pair[0]).collect();
    let all = pairs.as_flattened();
    let time = (after.time - before.time).as_secs_f64();
    let taken = sum(all, airtime) + BESIDE * sum(all, |counts| counts.exchanges as f64);
    let energy = sum(&senders, |counts| counts.energy);
    let figures = Figures {
        arrived_mbit: arrived / 1e6,
        carries_mbit: arrived * time / 1e6 / taken.max(f64::MIN_POSITIVE),
        on_air_mw: energy / sum(&senders, airtime).max(f64::MIN_POSITIVE),
        radiated_mw: energy / time,
        reaction_ms: wall.and_then(|wall| reaction(&steps, wall)),
    };
    Ok((figures, steps))
}
