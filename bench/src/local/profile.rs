//! Profiles where the time of a packet goes, by `perf`: stacks for a flame graph, and the
//! processor's counters where it has any. Profiles are not measured in turn with the rest: a
//! profiler costs time itself.

mod folded;

use std::collections::BTreeMap;
use std::path::{Path as File, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::row::SkippedScenario;
use super::settings::Settings;
use crate::Error;
use crate::circuit::{Circuit, Path};

/// Profiled scenarios.
const SCENARIOS: [Path; 3] = [Path::Masquerade, Path::WeirTc, Path::WeirXdp];
/// Length of a profile, extra time for a profiler to begin and end, longest wait for its end.
/// Packets are sent all the while, in pieces.
const LOOK: Duration = Duration::from_secs(1);
const BESIDE: Duration = Duration::from_millis(700);
const PATIENCE: Duration = Duration::from_secs(30);
const PIECE: Duration = Duration::from_millis(200);
/// Estimated time to build a router.
const BUILD: Duration = Duration::from_millis(900);
/// Samples a second: not in step with the clock's ticks.
const RATE: u32 = 1999;
/// Counted events, in the order of [`Counts`].
const EVENTS: &str = "cycles,instructions,cache-misses";

/// Profile of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// [`Path::name`].
    pub name: String,
    /// Description of the scenario.
    pub text: String,
    /// Samples taken while packets were on their way.
    pub samples: u64,
    /// Functions from the outermost to the innermost, with semicolons between, and the number of
    /// samples: the folded format that flame graph programs read.
    pub stacks: Vec<(String, u64)>,
    /// Counts per packet, where the processor has counters.
    pub counts: Option<Counts>,
}

impl Profile {
    /// Returns functions by their own share of the time, without callees, the largest first.
    pub fn own(&self) -> Vec<(&str, f64)> {
        let mut own = BTreeMap::new();
        for (stack, samples) in &self.stacks {
            let innermost = stack.rsplit(';').next().unwrap_or_default();
            *own.entry(innermost).or_insert(0) += samples;
        }
        let share = |samples: u64| samples as f64 / self.samples.max(1) as f64;
        let mut own: Vec<_> = own.into_iter().map(|(name, n)| (name, share(n))).collect();
        own.sort_by(|a, b| b.1.total_cmp(&a.1));
        own
    }
}

/// Counts per packet, including generator and sink, and their preparation, which is little.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Cycles of the processor.
    pub cycles: f64,
    /// Instructions.
    pub instructions: f64,
    /// Memory accesses that missed all caches; unset where the processor does not count them.
    pub cache_misses: Option<f64>,
}

/// Returns the estimated time of all profiles.
pub(super) fn expected_time() -> Duration {
    (BUILD + LOOK + BESIDE) * SCENARIOS.len() as u32
}

/// Profiles, and asks `stopped` before each scenario. If the profiler does not work, adds the
/// reason to `left_out`.
pub(super) fn measure(
    settings: &Settings,
    tell: &mut dyn FnMut(String, Duration),
    stopped: &mut dyn FnMut() -> bool,
    left_out: &mut Vec<SkippedScenario>,
) -> Result<Vec<Profile>, Error> {
    let mut found = Vec::new();
    for path in SCENARIOS {
        if stopped() {
            break;
        }
        let takes = BUILD + LOOK + BESIDE;
        tell(format!("profile: {}", path.text()), takes);
        match one(path, settings)? {
            Ok(profile) => found.push(profile),
            Err(reason) => {
                let name = "where the time goes".into();
                SkippedScenario { name, reason }.add(left_out);
                break;
            }
        }
    }
    Ok(found)
}

/// Profiles a scenario; the inner error says why the profiler does not work.
fn one(path: Path, settings: &Settings) -> Result<Result<Profile, String>, Error> {
    let mut circuit = Circuit::build(path, settings.load, &settings.weir)?;
    let folder = Folder::make()?;
    let data = folder.0.join("perf.data");
    // The profilers start before this thread is pinned: they would inherit the pin.
    let started = recorder(settings.cpu, &data).and_then(|record| {
        let count = counter(settings.cpu)?;
        Ok((record, count))
    });
    let mut both = match started {
        Ok(both) => both,
        Err(error) => return Ok(Err(format!("cannot start perf: {error}"))),
    };
    datapath::bench::pin(settings.cpu)?;
    let fed = feed(&mut circuit, &mut both);
    datapath::bench::unpin()?;
    let (recorded, counted) = (ended(both.0)?, ended(both.1)?);
    let Some(rate) = fed? else {
        return Ok(Err(format!(
            "perf did not end within {} s",
            PATIENCE.as_secs()
        )));
    };
    if !recorded.status.success() {
        return Ok(Err(said("perf record", &recorded)));
    }
    let script = Command::new("perf")
        .args(["script", "-F", "comm,ip,sym", "-i"])
        .arg(&data)
        .output();
    let script = script.map_err(Error::system("run perf script"))?;
    if !script.status.success() {
        return Ok(Err(said("perf script", &script)));
    }
    let stacks = folded::of(&String::from_utf8_lossy(&script.stdout));
    let samples = stacks.iter().map(|(_, samples)| samples).sum();
    if samples == 0 {
        return Ok(Err("perf took no sample of packets on their way".into()));
    }
    Ok(Ok(Profile {
        name: path.name().into(),
        text: path.text().into(),
        samples,
        stacks,
        // `perf stat` writes its counts to standard error.
        counts: counts(&String::from_utf8_lossy(&counted.stderr), rate),
    }))
}

/// Sends until both profilers have ended. Returns packets per second of wall-clock time, or `None`
/// if the profilers had to be stopped.
fn feed(circuit: &mut Circuit, both: &mut (Child, Child)) -> Result<Option<f64>, Error> {
    let begun = Instant::now();
    let (mut packets, mut seconds) = (0, 0.0);
    let (mut sent, mut ended) = (Ok(()), true);
    while sent.is_ok() {
        let runs = |child: &mut Child| child.try_wait().is_ok_and(|status| status.is_none());
        if !runs(&mut both.0) && !runs(&mut both.1) {
            break;
        }
        if begun.elapsed() > PATIENCE {
            ended = false;
            break;
        }
        sent = circuit.measure(0.0, PIECE.as_secs_f64()).map(|run| {
            packets += run.packets;
            seconds += run.seconds;
        });
    }
    if sent.is_err() || !ended {
        let _ = (both.0.kill(), both.1.kill());
    }
    sent.map(|()| ended.then_some(packets as f64 / seconds))
}

fn recorder(cpu: usize, data: &File) -> std::io::Result<Child> {
    let mut command = Command::new("perf");
    command.args(["record", "-q", "-g", "-F", &RATE.to_string()]);
    command.args(["-C", &cpu.to_string(), "-o"]).arg(data);
    watching(command)
}

fn counter(cpu: usize) -> std::io::Result<Child> {
    let mut command = Command::new("perf");
    command.args(["stat", "-x", ",", "-e", EVENTS, "-C", &cpu.to_string()]);
    watching(command)
}

/// Makes the profiler run for [`LOOK`].
fn watching(mut command: Command) -> std::io::Result<Child> {
    let seconds = LOOK.as_secs_f64().to_string();
    command.args(["--", "sleep", &seconds]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).spawn()
}

fn ended(child: Child) -> Result<Output, Error> {
    child
        .wait_with_output()
        .map_err(Error::system("wait for perf"))
}

/// Joins the error output of a program into a line.
fn said(program: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let words: Vec<_> = text.split_whitespace().collect();
    format!("{program} reports: {}", words.join(" "))
}

/// Parses `perf stat -x ,`: a line for each event, its count first, `<not supported>` without a
/// counter. `rate` is in packets per second.
fn counts(text: &str, rate: f64) -> Option<Counts> {
    let packets = rate * LOOK.as_secs_f64();
    let count = |event: &str| -> Option<f64> {
        let line = text.lines().find(|line| {
            let name = line.split(',').nth(2).unwrap_or_default();
            name.split(':').next() == Some(event)
        })?;
        let count: f64 = line.split(',').next()?.parse().ok()?;
        Some(count / packets)
    };
    Some(Counts {
        cycles: count("cycles")?,
        instructions: count("instructions")?,
        cache_misses: count("cache-misses"),
    })
}

/// Folder that is removed with its content.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self, Error> {
        let name = format!("weir-profile-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)
            .map_err(Error::system(format!("make {}", folder.display())))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_of_a_packet() {
        let text = "6000000000,,cycles:k,1000000000,100.00,,\n8000000000,,instructions,1000000000,100.00,1.33,insn per cycle\n\
                    <not supported>,,cache-misses,0,100.00,,\n";
        let found = counts(text, 2e6).expect("counts");
        assert_eq!((found.cycles, found.instructions), (3000.0, 4000.0));
        assert_eq!(found.cache_misses, None);
        for none in [
            "<not supported>,,cycles,0,100.00,,\n<not supported>,,instructions,0,100.00,,\n",
            "",
            "perf: command not found",
        ] {
            assert_eq!(counts(none, 2e6), None, "{none}");
        }
    }
}
