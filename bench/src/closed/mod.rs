//! `weir bench lab`: all scenarios in turn, round after round, and what came of it.

pub mod bulk;
pub mod chart;
pub mod lines;
pub mod page;
pub mod series;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use lab::{Lab, Options};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::circuit::{Circuit, Path, Run};
use crate::load::{Load, Wires};
use crate::machine::{Machine, Processor, Undisturbed, has_memory_for_tcp, most_connections};
use crate::rounds::{Plan, Spread, median};
pub use bulk::Bulk;
pub use series::{At, By, Series};

use crate::verdict::{Verdict, compare, noise};

/// Of the report: another number where a field means something else.
pub const SCHEMA: &str = "weir-bench-lab/1";

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
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Where.
    pub machine: Machine,
    /// Rounds that were asked for.
    pub rounds: u32,
    /// Seconds of each measurement.
    pub seconds: f64,
    /// What was sent.
    #[serde(flatten)]
    pub load: Load,
    /// Relative difference up to which nothing is decided: see [`noise`](crate::verdict::noise).
    pub noise: f64,
    /// Whether all rounds were made: a person may have had enough.
    pub complete: bool,
    /// What was measured, in the order in which it was.
    pub scenarios: Vec<Scenario>,
    /// What was not.
    pub left_out: Vec<LeftOut>,
    /// The same at several lengths, numbers of flows and so on.
    #[serde(default)]
    pub series: Vec<Series>,
    /// TCP between whole hosts.
    #[serde(default)]
    pub tcp: Option<Bulk>,
}

/// What forwards, and how fast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// [`Path::name`].
    pub name: String,
    /// The same in words.
    pub text: String,
    /// Packets per second.
    pub pps: Spread,
    /// Nanoseconds per packet, generator and sink included.
    pub ns_per_packet: Spread,
    /// Processors that were busy.
    pub cpu: Spread,
    /// Shares of the time of each processor: the medians.
    #[serde(default)]
    pub processors: Vec<Processor>,
    /// The least share of the packets that weir forwarded; none where it is not there.
    pub forwarded: Option<f64>,
    /// Packets per second of each round, in order.
    pub each: Vec<f64>,
}

impl Scenario {
    /// Processors that were busy with softirqs, all of them together.
    pub fn softirq(&self) -> f64 {
        self.processors.iter().map(|one| one.softirq).sum()
    }

    /// Whether nothing is forwarded in it.
    pub fn drops(&self) -> bool {
        let dropping = Path::ALL.into_iter().filter(|path| path.drops());
        dropping.into_iter().any(|path| path.name() == self.name)
    }
}

/// A scenario, or a point of a series, that this machine cannot do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// [`Path::name`], or what the point is.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl LeftOut {
    /// Tells of it, once.
    fn add(self, all: &mut Vec<Self>) {
        if !all.contains(&self) {
            all.push(self);
        }
    }
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

impl Report {
    /// That of a name.
    pub fn find(&self, path: Path) -> Option<&Scenario> {
        let mut all = self.scenarios.iter();
        all.find(|scenario| scenario.name == path.name())
    }

    /// What the kernel does of the same kind: it translates, or drops by a rule.
    pub fn against(&self, scenario: &Scenario) -> Option<&Scenario> {
        match scenario.drops() {
            true => self.find(Path::Drop),
            false => self.find(Path::Masquerade),
        }
    }

    /// What can be said of two scenarios of this report.
    pub fn compare(&self, first: &Scenario, second: &Scenario) -> Verdict {
        compare(&first.each, &second.each, self.noise)
    }

    /// The scenarios in groups, the fastest first: those of one group cannot be told from the first of it.
    pub fn ranking(&self) -> Vec<Vec<&Scenario>> {
        let mut all: Vec<_> = self.scenarios.iter().collect();
        all.sort_by(|a, b| b.pps.median.total_cmp(&a.pps.median));
        let mut groups: Vec<Vec<&Scenario>> = Vec::new();
        for scenario in all {
            match groups.last_mut() {
                Some(group) if self.compare(group[0], scenario) == Verdict::Undecided => {
                    group.push(scenario);
                }
                _ => groups.push(vec![scenario]),
            }
        }
        groups
    }
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
        "this kernel follows at most {most} connections, too few for {flows} flows: raise net.netfilter.nf_conntrack_max"
    ))
}

fn expected_time(settings: &Settings) -> Duration {
    let tcp = match settings.tcp {
        true => bulk::expected_time(settings),
        false => Duration::ZERO,
    };
    expected(settings.scenarios.len(), settings.plan) + series::expected_time(settings) + tcp
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
        let Self {
            settings,
            clock,
            stop,
            complete,
        } = self;
        let mut tell = |doing, takes| {
            clock.tell(doing);
            clock.done += takes;
        };
        let mut stopped = || {
            *complete &= !stop();
            !*complete
        };
        bulk::measure(settings, &mut tell, &mut stopped, left_out)
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

/// What one circuit gave so far.
struct Row {
    path: Path,
    rates: Vec<f64>,
    busy: Vec<f64>,
    /// Of each round.
    processors: Vec<Vec<Processor>>,
    share: Option<f64>,
}

impl Row {
    fn of(path: Path) -> Self {
        Self {
            path,
            rates: Vec::new(),
            busy: Vec::new(),
            processors: Vec::new(),
            share: None,
        }
    }

    fn add(&mut self, run: &Run) {
        self.rates.push(run.rate());
        self.busy.push(run.busy());
        self.processors.push(run.processors.clone());
        let share = run.share;
        self.share = share.map(|share| self.share.map_or(share, |least| least.min(share)));
    }

    /// `None` before there is a round.
    fn scenario(self) -> Option<Scenario> {
        let took: Vec<_> = self.rates.iter().map(|rate| 1e9 / rate).collect();
        Some(Scenario {
            name: self.path.name().into(),
            text: self.path.text().into(),
            pps: Spread::of(&self.rates)?,
            ns_per_packet: Spread::of(&took)?,
            cpu: Spread::of(&self.busy)?,
            processors: middle(&self.processors),
            forwarded: self.share,
            each: self.rates,
        })
    }
}

/// The medians over rounds, processor by processor.
fn middle(rounds: &[Vec<Processor>]) -> Vec<Processor> {
    let count = rounds.iter().map(Vec::len).min().unwrap_or(0);
    let of = |index: usize, what: fn(&Processor) -> f64| {
        let values: Vec<_> = rounds.iter().map(|round| what(&round[index])).collect();
        median(&sorted(&values))
    };
    let one = |index| Processor {
        busy: of(index, |one| one.busy),
        softirq: of(index, |one| one.softirq),
    };
    (0..count).map(one).collect()
}

/// The same scenario in two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// [`Path::name`].
    pub name: String,
    /// Packets per second, before and after.
    pub pps: [Spread; 2],
    /// Of the second to the first.
    pub verdict: Verdict,
}

/// What became faster or slower from one report to another. Nothing was measured in turn here, so that more has to be different: all rounds of one have to be
/// beyond all rounds of the other, and the medians apart by more than the noise of both.
pub fn changes(before: &Report, after: &Report) -> Vec<Change> {
    let noise = before.noise.max(after.noise);
    let both = after.scenarios.iter().filter_map(|now| {
        let mut was = before.scenarios.iter();
        was.find(|was| was.name == now.name).map(|was| (was, now))
    });
    both.map(|(was, now)| {
        let apart = was.pps.min > now.pps.max || now.pps.min > was.pps.max;
        let enough = was.each.len().min(now.each.len()) >= 2;
        let middle = |scenario: &Scenario| median(&sorted(&scenario.each));
        Change {
            name: now.name.clone(),
            pps: [was.pps, now.pps],
            verdict: match apart && enough {
                true => compare(&[middle(now)], &[middle(was)], noise),
                false => Verdict::Undecided,
            },
        }
    })
    .collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn report(noise: f64, rates: &[(Path, &[f64])]) -> Report {
        let rows = rates.iter().map(|(path, rates)| Row {
            rates: rates.to_vec(),
            busy: vec![1.0; rates.len()],
            processors: vec![vec![Processor::default()]; rates.len()],
            ..Row::of(*path)
        });
        Report {
            schema: SCHEMA.into(),
            machine: Machine::this(),
            rounds: 5,
            seconds: 1.0,
            load: Load::default(),
            noise,
            complete: true,
            scenarios: rows.filter_map(Row::scenario).collect(),
            left_out: Vec::new(),
            series: Vec::new(),
            tcp: None,
        }
    }

    #[test]
    fn what_cannot_be_told_apart_has_one_rank() {
        let found = report(
            0.03,
            &[
                (Path::Masquerade, &[1.0, 1.01, 0.99]),
                (Path::Ceiling, &[4.0, 4.1, 3.9]),
                (Path::WeirXdp, &[3.6, 3.7, 3.5]),
                (Path::HashNat, &[3.58, 3.65, 3.55]),
            ],
        );
        let names: Vec<Vec<_>> = found
            .ranking()
            .iter()
            .map(|group| group.iter().map(|one| one.name.as_str()).collect())
            .collect();
        assert_eq!(
            names,
            [
                vec!["xdp-static"],
                vec!["weir-xdp", "xdp-hash"],
                vec!["kernel-nat"]
            ]
        );
    }

    #[test]
    fn of_two_reports() {
        let before = report(
            0.02,
            &[
                (Path::Ceiling, &[4.0, 4.05, 3.95]),
                (Path::WeirXdp, &[3.6, 3.65, 3.55]),
            ],
        );
        let after = report(
            0.02,
            &[
                (Path::Ceiling, &[3.96, 4.0, 3.92]),
                (Path::WeirXdp, &[2.88, 2.9, 2.85]),
            ],
        );
        let found = changes(&before, &after);
        assert_eq!(found[0].verdict, Verdict::Undecided, "1 %");
        assert!(
            matches!(found[1].verdict, Verdict::Slower(ratio) if (0.79..0.81).contains(&ratio)),
            "20 %"
        );
        assert!(changes(&before, &report(0.0, &[])).is_empty());
    }

    #[test]
    fn flows_have_to_be_followed() {
        assert_eq!(too_many(1_000_000, None), None, "it follows none yet");
        assert_eq!(too_many(64, Some(262_144)), None);
        for (flows, most) in [(262_000, 262_144), (1_000_000, 65_536)] {
            let reason = too_many(flows, Some(most)).expect("a reason");
            assert!(reason.contains("nf_conntrack_max") && reason.contains(&most.to_string()));
        }
    }

    #[test]
    fn pictures_hold_no_markup_of_others() {
        let mut one = report(
            0.02,
            &[
                (Path::Ceiling, &[4e6, 4.05e6]),
                (Path::Masquerade, &[5e5, 5.1e5]),
            ],
        );
        one.machine.processor = "<script>alert(1)</script>\u{1b}[31m".into();
        for text in [chart::draw(&one), page::page(&one)] {
            assert!(
                !text.contains("<script") && !text.contains('\u{1b}'),
                "{text}"
            );
            assert!(
                text.contains("XDP, static rewrite: the ceiling")
                    && text.contains("8.0 × kernel NAT"),
                "{text}"
            );
        }
    }

    #[test]
    fn is_read_as_it_was_written() {
        let one = report(0.02, &[(Path::Ceiling, &[4.0, 8.0])]);
        let text = serde_json::to_string(&one).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Report>(&text).expect("a report"),
            one
        );
    }
}
