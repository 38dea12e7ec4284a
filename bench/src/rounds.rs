//! Interleaved rounds, and what is made of them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Error;
use crate::circuit::{Circuit, Path};

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds over all rows.
    pub rounds: u32,
    /// Seconds for each measurement.
    pub seconds: f64,
    /// Seconds of warm-up before it.
    pub warm: f64,
}

/// One row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// [`Path::name`].
    pub path: &'static str,
    /// [`Path::text`].
    #[serde(skip)]
    pub text: &'static str,
    /// Packets per second: median, least, most.
    pub median: f64,
    /// See `median`.
    pub least: f64,
    /// See `median`.
    pub most: f64,
    /// Least share of the packets that weir forwarded.
    pub share: Option<f64>,
}

impl Row {
    /// Of the packets per second of one row's rounds.
    pub fn of(path: Path, mut rates: Vec<f64>, share: Option<f64>) -> Self {
        rates.sort_by(f64::total_cmp);
        let at = |index: usize| rates.get(index).copied().unwrap_or(f64::NAN);
        Self {
            path: path.name(),
            text: path.text(),
            median: median(&rates),
            least: at(0),
            most: at(rates.len().saturating_sub(1)),
            share,
        }
    }

    /// Nanoseconds per packet, at the median.
    pub fn nanoseconds(&self) -> f64 {
        1e9 / self.median
    }

    /// Difference between least and most, as a share of the median.
    pub fn spread(&self) -> f64 {
        (self.most - self.least) / self.median
    }
}

/// Of sorted values; NaN of none.
pub fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Measures all circuits in turn, round after round, and checks the wire beside it.
pub fn run(
    circuits: &mut [Circuit],
    plan: &Plan,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Row>, Error> {
    let mut rates: BTreeMap<usize, (Vec<f64>, Option<f64>)> = BTreeMap::new();
    for round in 1..=plan.rounds {
        for (index, circuit) in circuits.iter_mut().enumerate() {
            progress(&format!(
                "round {round} of {}: {}",
                plan.rounds,
                circuit.path().text()
            ));
            let run = circuit.measure(plan.warm, plan.seconds)?;
            circuit.check_wire()?;
            let entry = rates.entry(index).or_default();
            entry.0.push(run.rate());
            entry.1 = match (entry.1, run.share) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }
    Ok(rates
        .into_iter()
        .map(|(index, (rates, share))| Row::of(circuits[index].path(), rates, share))
        .collect())
}

/// A against A: the same circuit measured twice in a row, as often as there are rounds; the relative differences, sorted. What
/// is closer than the largest of them is a tie.
pub fn same_against_same(circuit: &mut Circuit, plan: &Plan) -> Result<Vec<f64>, Error> {
    let mut differences = Vec::new();
    for _ in 0..plan.rounds {
        let (a, b) = (
            circuit.measure(plan.warm, plan.seconds)?,
            circuit.measure(plan.warm, plan.seconds)?,
        );
        differences.push((a.rate() / b.rate() - 1.0).abs());
    }
    differences.sort_by(f64::total_cmp);
    Ok(differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
        assert!(median(&[]).is_nan());
        let row = Row::of(Path::Ceiling, vec![4.0, 1.0, 2.0], None);
        assert_eq!(
            (row.median, row.least, row.most, row.spread()),
            (2.0, 1.0, 4.0, 1.5)
        );
    }
}
