//! Measures several paths together while one path is lost and restored.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use crate::counters::Bytes;
use crate::goodput::{Demand, Goodput};
use crate::series::{SLOT, Series};
use crate::uplinks::Cut;
use crate::{Error, Uplinks};

/// Cut of a path, with its times.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Number of the path.
    pub path: usize,
    /// Kind of the cut.
    pub cut: Cut,
    /// Times before the cut, during the cut and after it.
    pub times: [Duration; 3],
}

/// Result of an experiment. Times count from the start of the first flow; the other flows start
/// some milliseconds later.
#[derive(Clone, Debug)]
pub struct ExperimentResult {
    /// Arrivals of each flow.
    pub flows: Vec<Series>,
    /// Bytes on the router's device of each path in the flows' direction, headers included, by the
    /// kernel's counters.
    pub paths: Vec<Series>,
    /// Time of the cut.
    pub lost: Range<Duration>,
    /// End of the experiment.
    pub end: Duration,
}

impl Experiment {
    /// Runs the experiment with flows between client and server, all in one direction.
    ///
    /// # Errors
    /// Fails if a flow cannot start or breaks off.
    pub fn run(&self, uplinks: &Uplinks, demands: &[Demand]) -> Result<ExperimentResult, Error> {
        let start = |demand| Goodput::start(uplinks.client(), uplinks.server(), demand);
        let flows = demands
            .iter()
            .map(start)
            .collect::<Result<Vec<_>, Error>>()?;
        let (Some(first), Some(demand)) = (flows.first(), demands.first()) else {
            return Err(Error::Unexpected("an experiment needs a flow".into()));
        };
        let over = AtomicBool::new(false);
        let ([before, during, after], path) = (self.times, self.path);
        let (told, watched) = scope(|scope| {
            let watcher = scope.spawn(|| watch(uplinks, demand.down, first, &over));
            let course = || -> Result<_, Error> {
                sleep(before);
                let begin = first.now();
                uplinks.cut(path, self.cut)?;
                sleep(during);
                let end = first.now();
                uplinks.heal(path)?;
                sleep(after);
                Ok((begin..end, first.now()))
            };
            let told = course();
            over.store(true, Ordering::Relaxed);
            (told, watcher.join())
        });
        let (lost, end) = told?;
        let paths = watched.map_err(|_| Error::Unexpected("the watcher panicked".into()))??;
        let flows: Result<Vec<_>, _> = flows.into_iter().map(Goodput::stop).collect();
        Ok(ExperimentResult {
            flows: flows?,
            paths,
            lost,
            end,
        })
    }
}

/// Reads the devices' counters in each slot.
fn watch(
    uplinks: &Uplinks,
    down: bool,
    clock: &Goodput,
    over: &AtomicBool,
) -> Result<Vec<Series>, Error> {
    let count = |path| -> Result<u64, Error> {
        let octets = Bytes::of(uplinks.router(), &uplinks.device(path))?;
        Ok(if down { octets.received } else { octets.sent })
    };
    let paths = 0..uplinks.paths();
    let mut last = paths
        .clone()
        .map(count)
        .collect::<Result<Vec<_>, Error>>()?;
    let mut found = vec![Series::default(); paths.len()];
    while !over.load(Ordering::Relaxed) {
        // Reads at the end of a slot, so that new bytes belong to this slot.
        let slot = (clock.now().as_nanos() / SLOT.as_nanos()) as u32;
        sleep((SLOT * (slot + 1)).saturating_sub(clock.now()));
        for path in paths.clone() {
            let now = count(path)?;
            found[path].add(SLOT * slot + SLOT / 2, now - last[path]);
            last[path] = now;
        }
    }
    Ok(found)
}

impl ExperimentResult {
    /// Returns the sum of all flows in bit/s, as [`Series::rate`].
    pub fn rate(&self, time: Range<Duration>) -> f64 {
        self.flows.iter().map(|flow| flow.rate(time.clone())).sum()
    }

    /// Returns the longest silence of a flow.
    pub fn silence(&self, time: Range<Duration>) -> Duration {
        let silences = self.flows.iter().map(|flow| flow.silence(time.clone()));
        silences.max().unwrap_or_default()
    }
}
