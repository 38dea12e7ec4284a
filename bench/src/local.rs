//! `weir bench lab`: measures all scenarios in turn, round after round, and reports.

pub mod bulk;
pub mod chart;
pub mod flame;
pub mod lines;
pub mod page;
pub mod profile;
pub mod report;
mod row;
pub mod series;
mod settings;

use std::time::{Duration, Instant};

use crate::Error;
use crate::circuit::{Circuit, Path};
use crate::load::Load;
use crate::machine::{Machine, Undisturbed, has_memory_for_tcp};
use crate::rounds::Plan;
use crate::verdict::noise;
pub use bulk::Bulk;
pub use profile::Profile;
pub use report::{Change, Report, SCHEMA, changes};
use row::Row;
pub use row::{Scenario, SkippedScenario};
use series::Point;
pub use series::{PointValue, Series, Variable};
pub use settings::Settings;
use settings::{BUILD, expected, lacks};

/// Progress of a measurement.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Step under way.
    pub doing: String,
    /// Share done, 0 to 1.
    pub done: f64,
    /// Estimated time left.
    pub left: Duration,
}

/// Adds up steps of known length.
struct Clock<'a> {
    told: &'a mut dyn FnMut(&Progress),
    done: Duration,
    all: Duration,
}

impl Clock<'_> {
    /// Removes the time of a step that is left out.
    fn less(&mut self, time: Duration) {
        self.all = self.all.saturating_sub(time);
    }

    /// Replaces the estimated time of a step by the real time.
    fn took(&mut self, thought: Duration, time: Duration) {
        self.all = (self.all + time).saturating_sub(thought);
        self.done += time;
    }

    fn tell(&mut self, doing: String) {
        let done = self.done.as_secs_f64() / self.all.as_secs_f64();
        (self.told)(&Progress {
            doing,
            done: done.min(1.0),
            left: self.all.saturating_sub(self.done),
        });
    }
}

/// Measures until done, or until `stop` returns true before a step; reports the steps made.
pub fn run(
    settings: &Settings,
    told: &mut dyn FnMut(&Progress),
    stop: &dyn Fn() -> bool,
) -> Result<Report, Error> {
    let (plan, load) = (settings.plan, settings.load);
    if let Some(reason) = lacks(&load) {
        return Err(Error::Wrong(reason));
    }
    let mut run = Session {
        settings,
        clock: Clock {
            told,
            done: Duration::ZERO,
            all: expected_time(settings),
        },
        stop,
        complete: true,
    };
    let main = run.measure(&settings.scenarios, load, plan, "")?;
    let mut left_out = main.left_out;
    let series = run.series(&mut left_out)?;
    let tcp = match run.tcp(&mut left_out) {
        Ok(tcp) => tcp,
        Err(error) => {
            let (name, reason) = ("TCP".into(), error.to_string());
            left_out.push(SkippedScenario { name, reason });
            None
        }
    };
    let profiles = run.profiles(&mut left_out)?;
    Ok(Report {
        schema: SCHEMA.into(),
        machine: Machine::this(),
        rounds: plan.rounds,
        seconds: plan.seconds,
        load,
        noise: noise(&main.twins),
        complete: run.complete,
        scenarios: main.scenarios,
        left_out,
        series,
        tcp,
        profiles,
    })
}

fn expected_time(settings: &Settings) -> Duration {
    let tcp = match settings.tcp {
        true => bulk::expected_time(settings),
        false => Duration::ZERO,
    };
    let profile = match settings.profile {
        true => profile::expected_time(),
        false => Duration::ZERO,
    };
    expected(settings.scenarios.len(), settings.plan) + series_time(settings) + tcp + profile
}

/// Plan of a point: shorter than the main measurement, as there are many points. Still long enough
/// that the few packets with which each flow proves anew do not matter.
fn series_plan(settings: &Settings) -> Plan {
    Plan {
        rounds: settings.plan.rounds.min(3),
        seconds: (settings.plan.seconds * 0.2).max(0.05),
        warm: (settings.plan.warm * 0.2).max(0.02),
    }
}

fn point_time(settings: &Settings, by: Variable) -> Duration {
    expected(by.scenarios().len(), series_plan(settings))
}

/// Returns the estimated time of all series.
fn series_time(settings: &Settings) -> Duration {
    let all = settings.series.iter().map(|by| {
        let points = by.loads(settings.load, settings.most_flows).len();
        point_time(settings, *by) * points as u32
    });
    all.sum()
}

/// State of a running measurement.
struct Session<'a> {
    settings: &'a Settings,
    clock: Clock<'a>,
    stop: &'a dyn Fn() -> bool,
    /// Unset once `stop` has returned true.
    complete: bool,
}

/// Result of scenarios measured in turn.
struct Measured {
    scenarios: Vec<Scenario>,
    left_out: Vec<SkippedScenario>,
    /// Pairs of rates of the same scenario, measured twice in a row.
    twins: Vec<(f64, f64)>,
}

impl Session<'_> {
    fn stopped(&mut self) -> bool {
        self.complete &= !(self.stop)();
        !self.complete
    }

    /// Measures TCP between whole hosts, if requested.
    fn tcp(&mut self, left_out: &mut Vec<SkippedScenario>) -> Result<Option<Bulk>, Error> {
        if !self.settings.tcp || self.stopped() {
            return Ok(None);
        }
        if let Err(error) = has_memory_for_tcp() {
            left_out.push(SkippedScenario {
                name: "TCP".into(),
                reason: error.to_string(),
            });
            return Ok(None);
        }
        let (settings, mut tell, mut stopped) = self.apart();
        bulk::measure(settings, &mut tell, &mut stopped, left_out)
    }

    /// Profiles where the time goes, if requested.
    fn profiles(&mut self, left_out: &mut Vec<SkippedScenario>) -> Result<Vec<Profile>, Error> {
        if !self.settings.profile || self.stopped() {
            return Ok(Vec::new());
        }
        let (settings, mut tell, mut stopped) = self.apart();
        profile::measure(settings, &mut tell, &mut stopped, left_out)
    }

    /// Splits the session into the settings, a function that announces a step and its length, and a
    /// function that asks whether to stop.
    fn apart(
        &mut self,
    ) -> (
        &Settings,
        impl FnMut(String, Duration),
        impl FnMut() -> bool,
    ) {
        let Self {
            settings,
            clock,
            stop,
            complete,
        } = self;
        let tell = |doing, takes| {
            clock.tell(doing);
            clock.done += takes;
        };
        let stopped = || {
            *complete &= !stop();
            !*complete
        };
        (settings, tell, stopped)
    }

    /// Measures the requested series; leaves out a series that was cut short. Adds scenarios that
    /// this machine cannot measure to `left_out`.
    fn series(&mut self, left_out: &mut Vec<SkippedScenario>) -> Result<Vec<Series>, Error> {
        let plan = series_plan(self.settings);
        let mut all = Vec::new();
        for by in self.settings.series.clone() {
            let mut points = Vec::new();
            for (at, load) in by.loads(self.settings.load, self.settings.most_flows) {
                if self.stopped() {
                    return Ok(all);
                }
                if let Some(reason) = lacks(&load) {
                    self.clock.less(point_time(self.settings, by));
                    left_out.push(SkippedScenario {
                        name: at.to_string(),
                        reason,
                    });
                    continue;
                }
                let note = format!("by {}, {at}: ", by.text());
                // A failed point must not discard the results so far.
                let measured = match self.measure(&by.scenarios(), load, plan, &note) {
                    Ok(measured) => measured,
                    Err(error) => {
                        datapath::bench::unpin()?;
                        left_out.push(SkippedScenario {
                            name: format!("{} by {}", at, by.text()),
                            reason: error.to_string(),
                        });
                        continue;
                    }
                };
                for lacking in measured.left_out {
                    lacking.add(left_out);
                }
                points.push(Point {
                    at,
                    scenarios: measured.scenarios,
                });
            }
            // A series needs two points.
            if !self.stopped() && points.len() > 1 {
                all.push(Series { by, points });
            }
        }
        Ok(all)
    }

    /// Builds circuits, measures them in turn, and removes them. `note` is for the progress line.
    fn measure(
        &mut self,
        scenarios: &[Path],
        load: Load,
        plan: Plan,
        note: &str,
    ) -> Result<Measured, Error> {
        let (mut circuits, left_out) = self.build(scenarios, load, plan, note)?;
        // The pin comes last, so that no other process or thread inherits it.
        datapath::bench::pin(self.settings.cpu)?;
        let undisturbed = Undisturbed::by_interrupts()?;
        let mut rows: Vec<_> = circuits
            .iter()
            .map(|circuit| Row::of(circuit.path()))
            .collect();
        let mut twins = Vec::new();
        'rounds: for round in 0..plan.rounds as usize {
            let twice = round % circuits.len().max(1);
            for (index, (circuit, row)) in circuits.iter_mut().zip(&mut rows).enumerate() {
                let mut rates = Vec::new();
                for again in if index == twice {
                    &["", ", again"][..]
                } else {
                    &[""]
                } {
                    if self.stopped() {
                        break 'rounds;
                    }
                    self.clock.tell(format!(
                        "{note}round {} of {}: {}{again}",
                        round + 1,
                        plan.rounds,
                        circuit.path().text()
                    ));
                    // Ctrl-C ends the daemon, too, which makes this call fail.
                    let run = match circuit.measure(plan.warm, plan.seconds) {
                        Err(_) if self.stopped() => break 'rounds,
                        run => run?,
                    };
                    self.clock.done += plan.piece();
                    if rates.is_empty() {
                        row.add(&run);
                    }
                    rates.push(run.rate());
                }
                if let [one, other] = rates[..] {
                    twins.push((one, other));
                }
                circuit.check_wire()?;
            }
        }
        drop(undisturbed);
        datapath::bench::unpin()?;
        Ok(Measured {
            scenarios: rows.into_iter().filter_map(Row::scenario).collect(),
            left_out,
            twins,
        })
    }

    fn build(
        &mut self,
        scenarios: &[Path],
        load: Load,
        plan: Plan,
        note: &str,
    ) -> Result<(Vec<Circuit>, Vec<SkippedScenario>), Error> {
        let (mut circuits, mut left_out) = (Vec::new(), Vec::new());
        for path in scenarios {
            if self.stopped() {
                break;
            }
            self.clock.tell(format!("{note}building: {}", path.text()));
            let begun = Instant::now();
            match path.lacks(load.wires) {
                None => circuits.push(Circuit::build(*path, load, &self.settings.weir)?),
                Some(reason) => {
                    self.clock.less(plan.piece() * plan.rounds);
                    left_out.push(SkippedScenario {
                        name: path.name().into(),
                        reason,
                    });
                }
            }
            self.clock.took(BUILD, begun.elapsed());
        }
        Ok((circuits, left_out))
    }
}
