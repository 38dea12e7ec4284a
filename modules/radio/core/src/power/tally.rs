//! Effect of one power on one station over a while.

use super::reading::{Counters, Station};

/// Bytes of the frame for which throughput is given, as minstrel does (`AVG_PKT_SIZE`,
/// net/mac80211/rc80211_minstrel_ht.c).
const FRAME: f64 = 1200.0;
/// Overhead of a frame, ms: contention, preamble, acknowledgement, at 11a's times (SIFS 16 µs, slot
/// 9 µs, half of 15 slots, preambles of 20 µs, an acknowledgement of 28 µs).
const BESIDE: f64 = 0.18;

/// Largest weight of earlier samples, relative to the new ones.
const FORMER: u32 = 8;

/// An estimate of the throughput, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// kbit/s of a radio that sends to this station alone, all the time.
    pub throughput: f64,
    /// Standard error, kbit/s.
    pub error: f64,
    /// Frames that it is of.
    pub frames: u32,
}

/// Result of a comparison of two estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The estimate keeps the share.
    Keeps,
    /// The estimate loses more.
    Loses,
    /// More has to be seen.
    Open,
}

impl Estimate {
    /// Returns the share of `reference`; 1 if the reference is 0.
    pub fn share(&self, reference: &Self) -> f64 {
        match reference.throughput > 0.0 {
            true => self.throughput / reference.throughput,
            false => 1.0,
        }
    }

    /// Combines two estimates that differ by at most `certainty` standard errors: weighted by
    /// frames, of which the earlier has at most [`FORMER`] times those of the later.
    pub fn with(&self, later: &Self, certainty: f64) -> Option<Self> {
        let differ = (self.throughput - later.throughput).abs();
        if differ > certainty * self.error.hypot(later.error) {
            return None;
        }
        let frames = self.frames.min(later.frames.saturating_mul(FORMER));
        let all = f64::from(frames) + f64::from(later.frames);
        let share = f64::from(frames) / all.max(1.0);
        Some(Self {
            throughput: share * self.throughput + (1.0 - share) * later.throughput,
            error: (share * self.error).hypot((1.0 - share) * later.error),
            frames: frames.saturating_add(later.frames),
        })
    }

    /// Compares with the share `keep` of `reference`, at `certainty` standard errors.
    pub fn against(&self, reference: &Self, keep: f64, certainty: f64) -> Verdict {
        let margin = self.throughput - keep * reference.throughput;
        let error = self.error.hypot(keep * reference.error) * certainty;
        if margin >= error {
            Verdict::Keeps
        } else if margin <= -error {
            Verdict::Loses
        } else {
            Verdict::Open
        }
    }
}

/// Sums up transmissions between readings of a station. Only differences count, so earlier
/// transmissions have no effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    last: Option<Counters>,
    sum: Counters,
    /// Per sample: airtime, ms, and arrived frames.
    looks: Vec<(f64, f64)>,
}

/// Maximum number of samples; beyond it, pairs are merged.
const MOST_LOOKS: usize = 64;

impl Tally {
    /// Adds the transmissions since the last reading. The first reading only marks the begin.
    pub fn look(&mut self, station: &Station) {
        let now = station.counters;
        let more = self.last.replace(now).and_then(|last| now.since(last));
        let Some(more) = more.filter(|more| more.frames > 0) else {
            return;
        };
        self.sum.frames = self.sum.frames.saturating_add(more.frames);
        self.sum.retries = self.sum.retries.saturating_add(more.retries);
        self.sum.failed = self.sum.failed.saturating_add(more.failed);
        let tries = f64::from(more.frames) + f64::from(more.retries);
        let arrived = f64::from(more.frames.saturating_sub(more.failed));
        let Some(rate) = station.rate.filter(|&rate| rate > 0) else {
            return;
        };
        let airtime = tries * (BESIDE + FRAME * 8.0 / f64::from(rate));
        if self.looks.len() == MOST_LOOKS {
            let pairs = self.looks.chunks(2);
            self.looks = pairs
                .map(|pair| pair.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1)))
                .collect();
        }
        self.looks.push((airtime, arrived));
    }

    /// Returns an empty tally that continues from the last reading.
    pub fn onward(&self) -> Self {
        Self {
            last: self.last,
            ..Self::default()
        }
    }

    /// Returns the sum of all samples.
    pub fn sum(&self) -> Counters {
        self.sum
    }

    /// Returns true if no frame arrived: all were given up.
    pub fn unheard(&self) -> bool {
        self.sum.frames > 0 && self.sum.failed >= self.sum.frames
    }

    /// Estimates the throughput. `None`: no frame was sent, or the driver reports no rate.
    ///
    /// The estimate is a ratio of sums, arrived frames by airtime, so that long samples weigh more;
    /// its error is the deviation of the samples, or of chance alone, whichever is greater.
    pub fn estimate(&self) -> Option<Estimate> {
        let airtime: f64 = self.looks.iter().map(|look| look.0).sum();
        let arrived: f64 = self.looks.iter().map(|look| look.1).sum();
        if airtime <= 0.0 {
            return None;
        }
        // Bits of a frame by ms are kbit/s.
        let bits = FRAME * 8.0;
        let ratio = arrived / airtime;
        let tries = f64::from(self.sum.frames) + f64::from(self.sum.retries);
        // A try arrives or does not: one more of each, so that all of few is not certainty.
        let chance = (arrived + 1.0) / (tries + 2.0);
        let by_chance = ratio.max(1.0 / airtime) * ((1.0 - chance) / (chance * tries)).sqrt();
        let count = self.looks.len() as f64;
        let by_looks = if self.looks.len() > 1 {
            let spread: f64 = self
                .looks
                .iter()
                .map(|look| (look.1 - ratio * look.0).powi(2))
                .sum();
            (spread * count / (count - 1.0)).sqrt() / airtime
        } else {
            0.0
        };
        Some(Estimate {
            throughput: ratio * bits,
            error: by_chance.max(by_looks) * bits,
            frames: self.sum.frames,
        })
    }
}
