//! What was right at this hour of former days.

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
