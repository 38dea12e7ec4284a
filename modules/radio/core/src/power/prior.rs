//! Sufficient power by hour of the day, from earlier days.

use std::collections::BTreeMap;
use std::fmt;

/// Hours of a day.
const HOURS: usize = 24;
/// Weight of the newest hour.
const NEWEST: f64 = 0.3;

/// For each hour of the day, the power that was enough, dBm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prior {
    hours: [Option<f64>; HOURS],
    /// The current hour, and a count of each power in it.
    present: Option<(usize, BTreeMap<i32, u32>)>,
}

impl Prior {
    /// Adds a sufficient power at this hour. Call at even intervals: the value that sufficed for
    /// most of the hour counts. Returns true if the stored value changed.
    pub fn learn(&mut self, hour: u8, power: i32) -> bool {
        let hour = usize::from(hour);
        if hour >= HOURS {
            return false;
        }
        if self
            .present
            .as_ref()
            .is_some_and(|present| present.0 != hour)
        {
            self.end();
        }
        let before = self.known(hour);
        let present = self.present.get_or_insert_with(|| (hour, BTreeMap::new()));
        *present.1.entry(power).or_default() += 1;
        before != self.known(hour)
    }

    /// Ends the hour: later values for the same hour belong to another day.
    pub fn end(&mut self) {
        if let Some((hour, _)) = self.present {
            self.hours[hour] = self.known(hour);
            self.present = None;
        }
    }

    /// Returns the power of an hour, including the values of the current hour.
    fn known(&self, hour: usize) -> Option<f64> {
        let present = self.present.as_ref().filter(|present| present.0 == hour);
        let most = present.and_then(|(_, told)| for_most(told));
        let newest = |most: f64, before: f64| before + NEWEST * (most - before);
        match (self.hours[hour], most) {
            (Some(before), Some(most)) => Some(newest(most, before)),
            (before, most) => most.or(before),
        }
    }

    /// Returns the sufficient power at this hour: from the same hour, otherwise from the one before
    /// it.
    pub fn at(&self, hour: u8) -> Option<i32> {
        let hour = usize::from(hour) % HOURS;
        let found = self
            .known(hour)
            .or_else(|| self.known((hour + HOURS - 1) % HOURS));
        // Rounded up: too loud is the lesser mistake.
        found.map(|power| power.ceil() as i32)
    }
}

/// Returns the least power that was sufficient for more than half of the time.
fn for_most(told: &BTreeMap<i32, u32>) -> Option<f64> {
    let all: u64 = told.values().map(|&times| u64::from(times)).sum();
    let mut enough = 0;
    let found = told.iter().find(|(_, times)| {
        enough += u64::from(**times);
        2 * enough > all
    });
    found.map(|(power, _)| f64::from(*power))
}

/// Devices that are remembered at most.
const DEVICES: usize = 64;
/// No radio sends with more, or less, dBm.
const POSSIBLE: std::ops::RangeInclusive<f64> = -50.0..=100.0;

/// Priors by device, as text with a line for each hour: `DEVICE HOUR POWER`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Priors(BTreeMap<String, Prior>);

/// Number of the first malformed line, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedPriors(usize);

impl fmt::Display for DamagedPriors {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "line {} is not `DEVICE HOUR POWER`", self.0)
    }
}

impl std::error::Error for DamagedPriors {}

impl Priors {
    /// Parses the output of [`text`](Self::text).
    ///
    /// # Errors
    /// Names the first malformed line.
    pub fn read(text: &str) -> Result<Self, DamagedPriors> {
        let mut priors = Self::default();
        for (number, line) in text.lines().enumerate() {
            let (device, hour, power) = said(line).ok_or(DamagedPriors(number + 1))?;
            if let Some(prior) = priors.of(device) {
                prior.hours[hour] = Some(power);
            }
        }
        Ok(priors)
    }

    /// Returns all priors as text.
    pub fn text(&self) -> String {
        let lines = self.0.iter().flat_map(|(device, prior)| {
            (0..HOURS).filter_map(move |hour| {
                let power = prior.known(hour)?;
                Some(format!("{device} {hour} {power:.2}\n"))
            })
        });
        lines.collect()
    }

    /// Handles the end of the hour.
    pub fn end(&mut self) {
        self.0.values_mut().for_each(Prior::end);
    }

    /// Returns the prior of a device. `None`: there are too many devices.
    pub fn of(&mut self, device: &str) -> Option<&mut Prior> {
        if self.0.len() >= DEVICES && !self.0.contains_key(device) {
            return None;
        }
        Some(self.0.entry(device.to_owned()).or_default())
    }
}

fn said(line: &str) -> Option<(&str, usize, f64)> {
    let mut words = line.split(' ');
    let device = words.next().filter(|device| !device.is_empty())?;
    let hour = words.next()?.parse().ok().filter(|&hour| hour < HOURS)?;
    let power = words.next()?.parse().ok()?;
    (words.next().is_none() && POSSIBLE.contains(&power)).then_some((device, hour, power))
}
