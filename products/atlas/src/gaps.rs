//! Pauses in the data, at which a line over time is interrupted.

use crate::figure::Lines;
use crate::time::Unit;

/// Number of intervals before and after one that define the usual one: records change, from hourly
/// to weekly snapshots.
const AROUND: usize = 10;

impl Lines {
    /// Inserts a point without a value into each pause: an interval more than twice the usual one
    /// at that time.
    pub fn with_pauses(mut self, by: Unit) -> Self {
        let numbers: Vec<i64> = self.at.iter().map(|at| by.number(*at)).collect();
        let pauses = pauses(&numbers);
        for before in pauses.into_iter().rev() {
            let begin = by.begin(numbers[before] + 1);
            self.at.insert(before + 1, begin);
            for series in &mut self.series {
                series.values.insert(before + 1, None);
            }
        }
        self
    }
}

/// Points behind which there is a pause.
fn pauses(numbers: &[i64]) -> Vec<usize> {
    let steps: Vec<i64> = numbers.windows(2).map(|two| two[1] - two[0]).collect();
    let long = |at: &usize| {
        // Neighbours have no pause between them.
        steps[*at] > 1 && steps[*at] > usual(&steps, *at) * 2
    };
    (0..steps.len()).filter(long).collect()
}

/// Returns the median of the distances around one; of two in the middle the shorter.
fn usual(steps: &[i64], at: usize) -> i64 {
    let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(steps.len());
    let mut around = steps[around].to_vec();
    let middle = (around.len() - 1) / 2;
    *around.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(steps: &[i64]) -> Vec<usize> {
        let mut number = 0;
        let numbers = steps.iter().map(|step| {
            number += step;
            number
        });
        let numbers: Vec<i64> = [0].into_iter().chain(numbers).collect();
        pauses(&numbers)
    }

    #[test]
    fn what_is_usual_is_no_pause() {
        for steps in [
            &[][..],
            &[400],
            &[7; 52],
            &[14, 17, 14, 15, 17],
            &[1, 2, 1, 2],
        ] {
            assert_eq!(after(steps), [0; 0], "{steps:?}");
        }
        // From daily to weekly, and back.
        let mixed = [[1; 12], [7; 12], [1; 12]].concat();
        assert_eq!(after(&mixed), [0; 0]);
    }

    #[test]
    fn what_is_much_more_is_one() {
        assert_eq!(after(&[1, 100]), [1]);
        assert_eq!(after(&[7, 7, 60, 7, 15, 7]), [2, 4]);
        let mixed = [&[1; 12][..], &[3], &[1; 12], &[7; 12], &[60], &[7; 12]].concat();
        assert_eq!(after(&mixed), [12, 37]);
    }
}
