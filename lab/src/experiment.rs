//! What several paths carry together while one of them is lost and found again.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use crate::counters::Octets;
use crate::goodput::{Demand, Goodput};
use crate::series::{SLOT, Series};
use crate::uplinks::Cut;
use crate::{Error, Uplinks};

/// What is done to a path, and when.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Which one.
    pub path: usize,
    /// How it is lost.
    pub cut: Cut,
    /// How long all is well, the path is lost, and all is well again.
    pub times: [Duration; 3],
}

/// What came of it. Times count from the begin of the first flow; the others began some
/// milliseconds later.
#[derive(Clone, Debug)]
pub struct Course {
    /// What arrived of each flow.
    pub flows: Vec<Series>,
    /// What the router's device of each path carried in the direction of the flows, headers
    /// included, as the kernel counts.
    pub paths: Vec<Series>,
    /// While the path was lost.
    pub lost: Range<Duration>,
    /// The end.
    pub end: Duration,
}

impl Experiment {
    /// Does it, with flows between client and server which all go in one direction.
    ///
    /// # Errors
    /// A flow did not come about, or broke off.
    pub fn run(&self, uplinks: &Uplinks, demands: &[Demand]) -> Result<Course, Error> {
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
        Ok(Course {
            flows: flows?,
            paths,
            lost,
            end,
        })
    }
}

/// Looks at the devices' counters in each slot.
fn watch(
    uplinks: &Uplinks,
    down: bool,
    clock: &Goodput,
    over: &AtomicBool,
) -> Result<Vec<Series>, Error> {
    let count = |path| -> Result<u64, Error> {
        let octets = Octets::of(uplinks.router(), &uplinks.device(path))?;
        Ok(if down { octets.received } else { octets.sent })
    };
    let paths = 0..uplinks.paths();
    let mut last = paths
        .clone()
        .map(count)
        .collect::<Result<Vec<_>, Error>>()?;
    let mut found = vec![Series::default(); paths.len()];
    while !over.load(Ordering::Relaxed) {
        // At the end of a slot; what came since belongs to it.
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

impl Course {
    /// Bit/s of all flows together, as [`Series::rate`].
    pub fn rate(&self, time: Range<Duration>) -> f64 {
        self.flows.iter().map(|flow| flow.rate(time.clone())).sum()
    }

    /// The longest time that one of the flows was silent in.
    pub fn silence(&self, time: Range<Duration>) -> Duration {
        let silences = self.flows.iter().map(|flow| flow.silence(time.clone()));
        silences.max().unwrap_or_default()
    }
}
