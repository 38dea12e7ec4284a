//! Measures several uplinks as one: [`methods`] of TCP on paths without a rate, [`aggregate`] of
//! paths with a rate, and [`outages`] of a cable in the middle. Also an [`experiment`] with a
//! picture, and the number of [`connections`].

pub mod aggregate;
pub mod connections;
pub mod experiment;
pub mod methods;
pub mod outages;
mod plain_proxy;
mod router_and_partner;
mod shadowsocks;

use serde::Serialize;

use crate::rounds::median;

pub use plain_proxy::{Side, run as bare};

/// Median, least and most of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Lowest value.
    pub least: f64,
    /// Highest value.
    pub most: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |end: Option<&f64>| end.copied().unwrap_or(f64::NAN);
        Self {
            median: median(&values),
            least: at(values.first()),
            most: at(values.last()),
        }
    }

    /// Formats the median and the range for a table, with `digits` decimals.
    fn cells(self, digits: usize) -> [String; 2] {
        let Self {
            median,
            least,
            most,
        } = self;
        [
            format!("{median:.digits$}"),
            format!("{least:.digits$} to {most:.digits$}"),
        ]
    }
}
