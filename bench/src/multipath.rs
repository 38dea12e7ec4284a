//! Several uplinks as one, measured: [`ways`] a client's TCP can go where no path has a rate,
//! [`sums`] of paths that have one, [`cuts`] of a cable in the middle, an [`experiment`] to look
//! at, and how many [`connections`] there is room for.

mod bare;
pub mod connections;
pub mod cuts;
pub mod experiment;
mod shadowsocks;
mod sides;
pub mod sums;
pub mod ways;

use serde::Serialize;

use crate::rounds::median;

pub use bare::{Side, run as bare};

/// Median, least and most of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// In the middle.
    pub median: f64,
    /// See there.
    pub least: f64,
    /// See there.
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

    /// For a table: the median, and from where to where, with so many digits behind the point.
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
