//! `weir bench lab`: all scenarios in turn, round after round, and what came of it.

pub mod bulk;
pub mod chart;
pub mod flame;
pub mod lines;
pub mod page;
pub mod profile;
pub mod report;
mod row;
pub mod series;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use lab::{Lab, Options};

use crate::Error;
use crate::circuit::{Circuit, Path};
use crate::load::{Load, Wires};
use crate::machine::{Machine, Undisturbed, has_memory_for_tcp, most_connections};
use crate::rounds::Plan;
use crate::verdict::noise;
pub use bulk::Bulk;
pub use profile::Profile;
pub use report::{Change, LeftOut, Report, SCHEMA, Scenario, changes};
use row::Row;
pub use series::{At, By, Series};

/// How long a scenario takes to be built, before one was.
const BUILD: Duration = Duration::from_millis(900);

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long and how often.
    pub plan: Plan,
    /// In this order.
    pub scenarios: Vec<Path>,
    /// What is sent.
    pub load: Load,
    /// The processor on which everything runs.
    pub cpu: usize,
    /// The binary of weir.
    pub weir: PathBuf,
    /// What is measured beside, at several lengths, numbers of flows and so on.
    pub series: Vec<By>,
    /// Flows of the last point of that by flows, at most.
    pub most_flows: u32,
    /// Whether TCP between whole hosts is measured too.
    pub tcp: bool,
    /// Whether a profiler looks where the time goes.
    pub profile: bool,
}

/// How far it is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// What is being done.
    pub doing: String,
    /// Of the whole, 0 to 1.
    pub done: f64,
    /// About so long to go.
    pub left: Duration,
}

/// Counts pieces of known length.
struct Clock<'a> {
    told: &'a mut dyn FnMut(&Progress),
    done: Duration,
    all: Duration,
}

impl Clock<'_> {
    /// Something will not be done.
    fn less(&mut self, time: Duration) {
        self.all = self.all.saturating_sub(time);
    }

    /// Something took another time than was thought.
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

/// Measures. `stop` is asked before each piece; what was measured by then is what is reported.
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
            left_out.push(LeftOut { name, reason });
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

/// Why this machine cannot send that.
fn lacks(load: &Load) -> Option<String> {
    let tried = || {
        let arrangement = load.wires.arrangement();
        Lab::gateway(&Options {
            arrangement,
            ..Options::default()
        })
    };
    match (too_many(load.flows, most_connections()), load.wires) {
        (Some(reason), _) => Some(reason),
        (None, Wires::Plain) => None,
        (None, wires) => tried().err().map(|error| {
            let error = error.to_string();
            let words: Vec<_> = error.split_whitespace().collect();
            let error = words.join(" ");
            format!(
                "it cannot be made here (it takes {}): {error}",
                wires.takes()
            )
        }),
    }
}

/// Why a kernel that follows so many connections at most cannot follow these flows.
fn too_many(flows: u32, most: Option<u64>) -> Option<String> {
    // What a machine has besides.
    const OTHERS: u64 = 1024;
    let most = most.filter(|most| u64::from(flows) + OTHERS > *most)?;
    Some(format!(
        "this kernel follows at most {most} connections, too few for {flows} flows: raise \
            net.netfilter.nf_conntrack_max"
    ))
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
    expected(settings.scenarios.len(), settings.plan)
        + series::expected_time(settings)
        + tcp
        + profile
}

/// How long so many scenarios take.
fn expected(scenarios: usize, plan: Plan) -> Duration {
    let count = scenarios as u32;
    BUILD * count + plan.piece() * ((count + 1) * plan.rounds)
}

/// What is under way.
struct Session<'a> {
    settings: &'a Settings,
    clock: Clock<'a>,
    stop: &'a dyn Fn() -> bool,
    /// Nobody has had enough.
    complete: bool,
}

/// Scenarios that were measured in turn.
struct Measured {
    scenarios: Vec<Scenario>,
    left_out: Vec<LeftOut>,
    /// Rates of the same, measured twice in a row.
    twins: Vec<(f64, f64)>,
}

impl Session<'_> {
    fn stopped(&mut self) -> bool {
        self.complete &= !(self.stop)();
        !self.complete
    }

    /// TCP between whole hosts, where that was asked for.
    fn tcp(&mut self, left_out: &mut Vec<LeftOut>) -> Result<Option<Bulk>, Error> {
        if !self.settings.tcp || self.stopped() {
            return Ok(None);
        }
        if let Err(error) = has_memory_for_tcp() {
            left_out.push(LeftOut {
                name: "TCP".into(),
                reason: error.to_string(),
            });
            return Ok(None);
        }
        let (settings, mut tell, mut stopped) = self.apart();
        bulk::measure(settings, &mut tell, &mut stopped, left_out)
    }

    /// Where the time goes, where that was asked for.
    fn profiles(&mut self, left_out: &mut Vec<LeftOut>) -> Result<Vec<Profile>, Error> {
        if !self.settings.profile || self.stopped() {
            return Ok(Vec::new());
        }
        let (settings, mut tell, mut stopped) = self.apart();
        profile::measure(settings, &mut tell, &mut stopped, left_out)
    }

    /// The settings, how to tell what is begun and about how long it takes, and how to ask whether
    /// somebody had enough.
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

    /// Builds circuits, measures them in turn, and takes them away. `note`: for whoever watches.
    fn measure(
        &mut self,
        scenarios: &[Path],
        load: Load,
        plan: Plan,
        note: &str,
    ) -> Result<Measured, Error> {
        let (mut circuits, left_out) = self.build(scenarios, load, plan, note)?;
        // After everything else that runs has been started, so that none of it inherits the pin.
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
                    // Ctrl-C reaches the daemon too.
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
    ) -> Result<(Vec<Circuit>, Vec<LeftOut>), Error> {
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
                    left_out.push(LeftOut {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_have_to_be_followed() {
        assert_eq!(too_many(1_000_000, None), None, "it follows none yet");
        assert_eq!(too_many(64, Some(262_144)), None);
        for (flows, most) in [(262_000, 262_144), (1_000_000, 65_536)] {
            let reason = too_many(flows, Some(most)).expect("a reason");
            assert!(reason.contains("nf_conntrack_max") && reason.contains(&most.to_string()));
        }
    }
}
