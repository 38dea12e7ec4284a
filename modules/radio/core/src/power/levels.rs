//! The powers that the search tries.

/// A radio has at least one power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPowers;

impl std::fmt::Display for NoPowers {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a radio without any power cannot be controlled")
    }
}

impl std::error::Error for NoPowers {}

/// Powers of a radio, dBm, from the least to the greatest; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerLevels(Vec<i32>);

impl PowerLevels {
    /// Sorts powers in any order, with duplicates.
    ///
    /// # Errors
    /// The list of powers is empty.
    pub fn new(mut powers: Vec<i32>) -> Result<Self, NoPowers> {
        powers.sort_unstable();
        powers.dedup();
        match powers.is_empty() {
            true => Err(NoPowers),
            false => Ok(Self(powers)),
        }
    }

    /// Returns levels from `most` down to `least` in steps of `step` dB; `most` is always included.
    pub fn between(least: i32, most: i32, step: u32) -> Self {
        let step = step.clamp(1, 100) as usize;
        let mut powers: Vec<i32> = (least.min(most)..=most).rev().step_by(step).collect();
        powers.reverse();
        Self(powers)
    }

    /// Returns the index of the greatest power.
    pub fn top(&self) -> usize {
        self.0.len() - 1
    }

    /// Returns the first level of a search: the one below the greatest.
    pub fn second(&self) -> usize {
        self.top().saturating_sub(1)
    }

    /// Returns the power at an index; beyond the last index, the last power.
    pub fn power(&self, place: usize) -> i32 {
        self.0[place.min(self.top())]
    }

    /// Returns the index of the least power that is not below this value.
    pub fn place(&self, power: i32) -> usize {
        let place = self.0.partition_point(|&one| one < power);
        place.min(self.top())
    }

    /// Returns all powers, from the least.
    pub fn powers(&self) -> &[i32] {
        &self.0
    }
}
