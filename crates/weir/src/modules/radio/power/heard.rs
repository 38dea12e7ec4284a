//! What is told of stations.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kernel::nl80211::Station;
use radio::power::{Mac, Reading, Tally};

use super::Heard;

/// How often what arrives is told anew, and stations are read where nothing is changed.
pub const WATCHES: Duration = Duration::from_secs(1);

/// What arrives at each station, second by second, for those who look.
#[derive(Default)]
pub struct Tallies {
    all: BTreeMap<Mac, (Tally, Instant, Option<f64>)>,
}

impl Tallies {
    /// What is told of them.
    pub fn heard(
        &mut self,
        stations: Vec<Station>,
        power: impl Fn(Mac) -> Option<i32>,
    ) -> Vec<Heard> {
        let read = Reading::of(&stations).stations;
        self.all
            .retain(|mac, _| read.iter().any(|it| it.mac == *mac));
        let each = stations.into_iter().zip(read);
        each.map(|(station, read)| {
            let fresh = || (Tally::default(), Instant::now(), None);
            let (tally, since, last) = self.all.entry(read.mac).or_insert_with(fresh);
            tally.look(&read);
            if since.elapsed() >= WATCHES {
                *last = tally.estimate().map(|it| it.throughput);
                (*tally, *since) = (tally.onward(), Instant::now());
            }
            Heard {
                station,
                power: power(read.mac),
                throughput: *last,
            }
        })
        .collect()
    }
}
