//! Decides which of two rates is higher, if noise allows.
//!
//! Rates measured in turn are compared round by round: a neighbour of the virtual machine that
//! takes processor time slows both alike.

use serde::{Deserialize, Serialize};

use crate::rounds::median;

/// Smallest difference that counts: the position of tables in memory makes as much.
pub const LEAST: f64 = 0.02;

/// Verdict on two rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Ratio of the first rate to the second, above 1.
    Faster(f64),
    /// Ratio of the first rate to the second, below 1.
    Slower(f64),
    /// The difference is within the noise.
    Undecided,
}

/// Returns the noise, from pairs of rates of the same program measured in a row: twice the median
/// of their relative differences. With five rounds of equal programs and normal noise, the median
/// lies beyond it about once in sixty times. An outlier among the pairs changes little.
pub fn noise(twins: &[(f64, f64)]) -> f64 {
    let mut apart: Vec<_> = twins.iter().map(|(a, b)| (a / b).ln().abs()).collect();
    apart.sort_by(f64::total_cmp);
    match apart.is_empty() {
        true => 0.0,
        false => (2.0 * median(&apart)).exp_m1(),
    }
}

/// Compares rates of the same rounds, in order; `noise` is the relative difference of equal
/// programs.
pub fn compare(first: &[f64], second: &[f64], noise: f64) -> Verdict {
    let mut ratios: Vec<_> = first.iter().zip(second).map(|(a, b)| a / b).collect();
    ratios.sort_by(f64::total_cmp);
    let middle = median(&ratios);
    let above = ratios.iter().filter(|ratio| **ratio > 1.0).count();
    let below = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    // A single round in five may be an accident.
    let agree = above.max(below) * 5 >= ratios.len() * 4;
    let far = middle.ln().abs() > noise.max(LEAST).ln_1p();
    match agree && far {
        true if middle > 1.0 => Verdict::Faster(middle),
        true => Verdict::Slower(middle),
        false => Verdict::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns rates around a mean, with reproducible noise.
    fn rates(mean: f64, noise: f64, seed: u64) -> Vec<f64> {
        let mut random = lab::random::Random::new(seed);
        (0..5)
            .map(|_| {
                let unit = random.next_u64() as f64 / u64::MAX as f64;
                mean * (1.0 + noise * (2.0 * unit - 1.0))
            })
            .collect()
    }

    #[test]
    fn a_fifth_is_found_and_a_hundredth_is_not() {
        for seed in 0..200 {
            let (first, second) = (rates(1e6, 0.03, seed), rates(0.8e6, 0.03, seed + 1000));
            assert!(
                matches!(compare(&first, &second, 0.03), Verdict::Faster(ratio) if ratio > 1.15)
            );
            assert!(
                matches!(compare(&second, &first, 0.03), Verdict::Slower(ratio) if ratio < 0.9)
            );
            let close = rates(0.99e6, 0.005, seed + 2000);
            assert_eq!(
                compare(&rates(1e6, 0.005, seed), &close, 0.005),
                Verdict::Undecided
            );
        }
    }

    #[test]
    fn one_outlier_is_no_noise() {
        assert_eq!(noise(&[]), 0.0);
        let calm = [
            (1.0, 1.01),
            (1.0, 0.99),
            (1.0, 1.01),
            (1.0, 0.5),
            (1.0, 1.0),
        ];
        assert!((0.019..0.021).contains(&noise(&calm)), "{}", noise(&calm));
        let rough = [(1.0, 1.1), (1.0, 0.9), (1.0, 1.2)];
        assert!(noise(&rough) > 0.2, "{}", noise(&rough));
    }

    #[test]
    fn alike_is_seldom_called_different() {
        let mut wrong = 0;
        for seed in 0..2000 {
            let (first, second) = (rates(1e6, 0.1, seed), rates(1e6, 0.1, seed + 10_000));
            let [one, other] = [20_000, 30_000].map(|from| rates(1e6, 0.1, seed + from));
            let twins: Vec<_> = one.into_iter().zip(other).collect();
            wrong += u32::from(compare(&first, &second, noise(&twins)) != Verdict::Undecided);
        }
        assert!(wrong < 100, "{wrong} of 2000");
    }

    #[test]
    fn what_slows_both_decides_nothing() {
        let first = [10.0, 5.0, 10.0, 2.0, 9.0];
        let same: Vec<_> = first.iter().map(|rate| rate * 0.99).collect();
        assert_eq!(compare(&first, &same, 0.01), Verdict::Undecided);
        let less: Vec<_> = first.iter().map(|rate| rate * 0.8).collect();
        assert!(matches!(compare(&first, &less, 0.01), Verdict::Faster(_)));
    }

    #[test]
    fn rounds_that_do_not_agree_decide_nothing() {
        let first = [2.0, 1.0, 2.0, 1.0, 2.0];
        let second = [1.0, 2.0, 1.0, 2.0, 1.0];
        assert_eq!(compare(&first, &second, 0.01), Verdict::Undecided);
        assert_eq!(compare(&[], &[], 0.01), Verdict::Undecided);
    }
}
