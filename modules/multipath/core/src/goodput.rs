//! Goodput monitor: all paths together should carry at least as much as the best path alone. Pure.
//!
//! The kernel's scheduler puts bytes on a distant path, and all bytes of the other paths have to
//! wait for them: a fast path together with a slow path may carry less than alone. An observer
//! cannot know whether a connection is slow for that reason, or because its ends send no more. So
//! the monitor tries: if all paths together carry less than one path has carried before, the path
//! with the longest round trip is paused for a moment, which the best path can compensate. If more
//! bytes arrive during the pause, the path is paused for longer. If not, the next path is paused as
//! well. If no path was the cause, all are used again, and no trial follows soon.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Time over which compared rates are taken.
const WINDOW: Duration = Duration::from_secs(2);
/// Time over which a path's capacity is measured: long enough to level bursts. Only samples before
/// the two compared windows count.
const STEADY: Duration = Duration::from_millis(900);
/// A rate that rises by this factor from one window to the next is ignored: a new connection.
const RISES: f64 = 1.1;
/// Time in which the bytes in flight on a path arrive after the path is paused.
const DRAINS: Duration = Duration::from_secs(2);
/// Latest end of a trial in which the path keeps receiving. The partner may not learn at once that
/// the path is paused ([`crate::backup_reminders`]).
const LONGEST: Duration = Duration::from_secs(12);
/// With more than this part of the best path's own rate all is well.
const ENOUGH: f64 = 0.9;
/// Factor by which a trial has to raise the rate.
const BETTER: f64 = 1.1;
/// Below this part of the best path's rate there is little demand, and a trial shows nothing.
const WANTED: f64 = 0.05;
/// A path with a smaller part of the best path's rate than this slows nothing down.
const TAKES_PART: f64 = 0.002;
/// Bytes a second below which the guard changes nothing.
const WORTH: f64 = 125_000.0;
/// A path with a round trip longer than the best path's by this factor, and by so many
/// microseconds, may slow others down.
const FARTHER: f64 = 2.0;
const FARTHER_BY: u32 = 50_000;
/// Decay of a path's best rate: after this time it counts for a third.
const FORGETS: Duration = Duration::from_secs(600);
/// Rest of a path: the first, and the longest.
const REST: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(600));
/// Pause after a trial that showed nothing: the first, and the longest.
const WAIT: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(1800));
/// Time in use, with bytes to carry and without doubt, after which a path has regained trust.
const PROVES: Duration = Duration::from_secs(120);

/// State of a path at a time. Bytes are sums since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The path's own address.
    pub address: IpAddr,
    /// Bytes sent by the path.
    pub sent: u64,
    /// Bytes received by the path.
    pub received: u64,
    /// Smoothed round trip of the path, µs, if bytes moved recently.
    pub rtt: Option<u32>,
}

/// Decision of the guard. Rates are bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// The path is to wait until others fail, to measure their rate without it.
    Try {
        /// The path.
        address: IpAddr,
        /// Rate of all paths together.
        together: f64,
        /// Rate of the best path alone.
        best: f64,
    },
    /// The path stays paused: without it more bytes arrived.
    Rest {
        /// The path.
        address: IpAddr,
        /// Rate of all paths together.
        together: f64,
        /// Rate without the path.
        without: f64,
        /// Duration of the pause.
        rest: Duration,
    },
    /// The path is used again.
    Use {
        /// The path.
        address: IpAddr,
        /// True after a trial that showed nothing.
        tried: bool,
    },
}

/// Bytes of clients in both directions, and those of each path.
#[derive(Clone, Debug)]
struct Look {
    at: Duration,
    all: [u64; 2],
    paths: BTreeMap<IpAddr, [u64; 2]>,
}

#[derive(Clone, Debug)]
struct Trial {
    /// Paths that are paused for the trial.
    addresses: Vec<IpAddr>,
    direction: usize,
    since: Duration,
    together: f64,
    best: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Path {
    /// Best rate seen, sent and received, bytes a second.
    best: [f64; 2],
    /// End of the pause.
    until: Option<Duration>,
    /// Duration of the next pause.
    rest: Duration,
    /// Earliest time of the next trial, and the pause after it.
    not_before: Duration,
    wait: Duration,
    /// Time for which the path was used without doubt since it rested.
    proved: Duration,
}

/// See the module. Times are of any clock that does not go back.
#[derive(Debug, Default)]
pub struct GoodputMonitor {
    looks: Vec<Look>,
    paths: BTreeMap<IpAddr, Path>,
    trial: Option<Trial>,
}

impl GoodputMonitor {
    /// Returns true if a path is to wait until others fail.
    pub fn is_paused(&self, address: IpAddr) -> bool {
        let mut tried = self.trial.iter().flat_map(|trial| &trial.addresses);
        let path = self.paths.get(&address);
        tried.any(|tried| *tried == address) || path.is_some_and(|path| path.until.is_some())
    }

    /// Takes the clients' bytes `[sent, received]`, and the working paths that are used first; to
    /// be called about twice a second.
    pub fn update(&mut self, all: [u64; 2], samples: &[Sample], now: Duration) -> Vec<Action> {
        self.note(all, samples, now);
        let mut actions = self.wake(now);
        match self.trial.take() {
            Some(trial) => actions.extend(self.judge(trial, samples, now)),
            None => actions.extend(self.doubt(samples, now)),
        }
        actions
    }

    fn note(&mut self, all: [u64; 2], samples: &[Sample], now: Duration) {
        let known = |address: &IpAddr| samples.iter().any(|path| path.address == *address);
        self.paths.retain(|address, _| known(address));
        if let Some(trial) = &self.trial
            && !trial.addresses.iter().all(known)
        {
            self.trial = None;
        }
        let passed = self.looks.last().map(|look| now.saturating_sub(look.at));
        let paths = samples
            .iter()
            .map(|path| (path.address, [path.sent, path.received]));
        self.looks.push(Look {
            at: now,
            all,
            paths: paths.collect(),
        });
        let keeps = 3 * WINDOW;
        self.looks.retain(|look| look.at + keeps >= now);
        for sample in samples {
            let carries = [0, 1].map(|direction| {
                self.rate_before(2 * WINDOW, STEADY, |look| {
                    look.paths.get(&sample.address).map(|o| o[direction])
                })
            });
            let path = self.paths.entry(sample.address).or_default();
            let kept = (-passed.unwrap_or_default().as_secs_f64() / FORGETS.as_secs_f64()).exp();
            for (best, carries) in path.best.iter_mut().zip(carries) {
                *best = (*best * kept).max(carries.unwrap_or(0.0));
            }
        }
    }

    /// Returns bytes per second over the last `time`, if the samples reach back that far.
    fn rate(&self, time: Duration, of: impl Fn(&Look) -> Option<u64>) -> Option<f64> {
        self.rate_before(Duration::ZERO, time, of)
    }

    /// Returns the bytes per second over the `time` that ended `ago`.
    fn rate_before(
        &self,
        ago: Duration,
        time: Duration,
        of: impl Fn(&Look) -> Option<u64>,
    ) -> Option<f64> {
        let now = self.looks.last()?.at;
        let at = |ago: Duration| self.looks.iter().rev().find(|look| look.at + ago <= now);
        let end = at(ago)?;
        let begin = at(now - end.at + time)?;
        let octets = of(end)?.saturating_sub(of(begin)?);
        Some(octets as f64 / (end.at - begin.at).as_secs_f64())
    }

    fn rate_of(&self, address: IpAddr, direction: usize, time: Duration) -> Option<f64> {
        self.rate(time, |look| {
            look.paths.get(&address).map(|octets| octets[direction])
        })
    }

    fn wake(&mut self, now: Duration) -> Vec<Action> {
        let mut woken = Vec::new();
        for (address, path) in &mut self.paths {
            if path.until.is_some_and(|until| until <= now) {
                path.until = None;
                path.proved = Duration::ZERO;
                woken.push(Action::Use {
                    address: *address,
                    tried: false,
                });
            }
        }
        woken
    }

    /// Finds a path that may hold the others up.
    fn doubt(&mut self, samples: &[Sample], now: Duration) -> Option<Action> {
        for direction in [1, 0] {
            let all = |look: &Look| Some(look.all[direction]);
            let together = self.rate(WINDOW, all)?;
            let before = self.rate_before(WINDOW, WINDOW, all)?;
            let fastest = self.fastest(samples, direction)?;
            let best = self.paths.get(&fastest.address)?.best[direction];
            if best < WORTH || together < best * WANTED {
                continue;
            }
            if together >= best * ENOUGH {
                self.prove(samples, now);
                continue;
            }
            if together > before * RISES || before >= best * ENOUGH {
                continue;
            }
            let fits = |path: &IpAddr| self.paths.get(path).is_none_or(|p| now >= p.not_before);
            let Some(far) = self
                .far(fastest, samples, direction, best)
                .filter(|far| fits(far))
            else {
                continue;
            };
            self.trial = Some(Trial {
                addresses: vec![far],
                direction,
                since: now,
                together,
                best,
            });
            return Some(Action::Try {
                address: far,
                together,
                best,
            });
        }
        None
    }

    /// Returns the farthest used path that is much farther than the fastest and carries bytes.
    fn far(
        &self,
        fastest: &Sample,
        samples: &[Sample],
        direction: usize,
        best: f64,
    ) -> Option<IpAddr> {
        let near = fastest.rtt.unwrap_or(0);
        let far = samples.iter().filter(|path| {
            let rtt = path.rtt.unwrap_or(0);
            path.address != fastest.address
                && !self.is_paused(path.address)
                && rtt >= near.saturating_add(FARTHER_BY)
                && f64::from(rtt) >= f64::from(near) * FARTHER
                && self.takes_part(path.address, direction, best)
        });
        far.max_by_key(|path| path.rtt).map(|path| path.address)
    }

    fn takes_part(&self, address: IpAddr, direction: usize, best: f64) -> bool {
        let carries = self.rate_of(address, direction, WINDOW);
        carries.is_some_and(|carries| carries >= best * TAKES_PART)
    }

    fn fastest<'a>(&self, samples: &'a [Sample], direction: usize) -> Option<&'a Sample> {
        let best = |path: &Sample| {
            let path = self.paths.get(&path.address);
            path.map_or(0.0, |path| path.best[direction])
        };
        let used = samples.iter().filter(|path| !self.is_paused(path.address));
        used.max_by(|one, other| best(one).total_cmp(&best(other)))
    }

    /// Handles used paths that carry enough: each gains trust.
    fn prove(&mut self, samples: &[Sample], now: Duration) {
        let last = self.looks.iter().rev().nth(1);
        let passed = last.map_or(Duration::ZERO, |look| now.saturating_sub(look.at));
        for sample in samples {
            let Some(path) = self.paths.get_mut(&sample.address) else {
                continue;
            };
            if path.until.is_none() {
                path.proved += passed;
                if path.proved >= PROVES {
                    (path.rest, path.wait) = (Duration::ZERO, Duration::ZERO);
                }
            }
        }
    }

    /// Evaluates a trial.
    fn judge(&mut self, mut trial: Trial, samples: &[Sample], now: Duration) -> Vec<Action> {
        let direction = trial.direction;
        let without = self.rate(WINDOW, |look| Some(look.all[direction]));
        let mut tried = trial.addresses.iter();
        let goes_on = tried.any(|tried| self.takes_part(*tried, direction, trial.best));
        let time = if goes_on { LONGEST } else { DRAINS + WINDOW };
        let Some(without) = without.filter(|_| now >= trial.since + time) else {
            self.trial = Some(trial);
            return Vec::new();
        };
        if without >= trial.together * BETTER {
            return self.rest(&trial, without, now);
        }
        self.trial = Some(trial.clone());
        let next = self
            .fastest(samples, direction)
            .and_then(|fastest| self.far(fastest, samples, direction, trial.best));
        self.trial = None;
        if let Some(address) = next {
            trial.addresses.push(address);
            trial.since = now;
            let (together, best) = (trial.together, trial.best);
            self.trial = Some(trial);
            return vec![Action::Try {
                address,
                together,
                best,
            }];
        }
        // The other paths no longer carry their best rates, so those are lowered; unless demand has
        // ended.
        if without >= trial.best * WANTED {
            let others = samples.iter().map(|sample| sample.address);
            for other in others.filter(|other| !trial.addresses.contains(other)) {
                let carries = self.rate_of(other, direction, WINDOW);
                if let (Some(path), Some(carries)) = (self.paths.get_mut(&other), carries) {
                    path.best[direction] = carries;
                }
            }
        }
        let back = |address: IpAddr| {
            let path = self.paths.entry(address).or_default();
            path.wait = (path.wait * 2).clamp(WAIT.0, WAIT.1);
            path.not_before = now + path.wait;
            Action::Use {
                address,
                tried: true,
            }
        };
        trial.addresses.into_iter().map(back).collect()
    }

    fn rest(&mut self, trial: &Trial, without: f64, now: Duration) -> Vec<Action> {
        let rest = |address: &IpAddr| {
            let path = self.paths.entry(*address).or_default();
            let rest = (path.rest * 2).clamp(REST.0, REST.1);
            (path.rest, path.until) = (rest, Some(now + rest));
            (path.wait, path.not_before) = (Duration::ZERO, now);
            Action::Rest {
                address: *address,
                together: trial.together,
                without,
                rest,
            }
        };
        trial.addresses.iter().map(rest).collect()
    }
}

#[cfg(test)]
mod tests;
