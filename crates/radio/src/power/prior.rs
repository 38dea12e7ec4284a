//! What was right at this hour of former days.

use std::collections::BTreeMap;
use std::fmt;

/// Hours of a day.
const HOURS: usize = 24;
/// How much the newest hour counts.
const NEWEST: f64 = 0.3;

/// For each hour of the day, the power that was enough, dBm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prior {
    hours: [Option<f64>; HOURS],
}

impl Prior {
    /// At this hour, that power was held.
    pub fn learn(&mut self, hour: u8, power: i32) {
        let Some(slot) = self.hours.get_mut(usize::from(hour)) else {
            return;
        };
        let power = f64::from(power);
        *slot = Some(slot.map_or(power, |before| before + NEWEST * (power - before)));
    }

    /// What is enough at this hour: of the same hour, else of the one before it.
    pub fn at(&self, hour: u8) -> Option<i32> {
        let hour = usize::from(hour) % HOURS;
        let found = self.hours[hour].or(self.hours[(hour + HOURS - 1) % HOURS]);
        // Rounded up: too loud is the lesser mistake.
        found.map(|power| power.ceil() as i32)
    }
}

/// Devices that are remembered at most.
const DEVICES: usize = 64;
/// No radio sends with more, or less, dBm.
const POSSIBLE: std::ops::RangeInclusive<f64> = -50.0..=100.0;

/// What was right, by device: a text with a line for each hour, `DEVICE HOUR POWER`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Priors(BTreeMap<String, Prior>);

/// A line of that is none; the first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedPriors(usize);

impl fmt::Display for DamagedPriors {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "line {} is not `DEVICE HOUR POWER`", self.0)
    }
}

impl std::error::Error for DamagedPriors {}

impl Priors {
    /// Reads what [`text`](Self::text) wrote.
    ///
    /// # Errors
    /// Names the first line that is none.
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

    /// All that is known.
    pub fn text(&self) -> String {
        let lines = self.0.iter().flat_map(|(device, prior)| {
            let hours = prior.hours.iter().enumerate();
            hours.filter_map(move |(hour, power)| {
                Some(format!("{device} {hour} {:.2}\n", (*power)?))
            })
        });
        lines.collect()
    }

    /// What is known of a device. `None`: there are too many.
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
