//! Parameters of the search.

/// Numbers of the search; the defaults are for a few stations on a router of any age. Times are
/// milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A lower power is kept where this share of the greatest power's throughput stays.
    pub keep: f64,
    /// Time for frames queued at the old power to leave: counting starts afterwards.
    pub settle: u64,
    /// Shortest watch of a power.
    pub watch: u64,
    /// Longest watch, if too few frames were sent for a verdict.
    pub longest: u64,
    /// Minimum duration of a measurement of the greatest power.
    pub reference: u64,
    /// Number of watches between two measurements of the greatest power.
    pub every: u32,
    /// Minimum number of frames to a station for a result.
    pub frames: u32,
    /// Distance of a comparison from [`keep`](Self::keep), in standard errors.
    pub certainty: f64,
    /// Time until a failed level is tried again; doubles with each further failure. After an
    /// inconclusive trial, a quarter of that.
    pub back_off: u64,
    /// But at least this often.
    pub back_off_most: u64,
    /// A station with weaker acknowledgements, dBm, is at the edge: full power.
    pub floor: i8,
    /// A station that just came gets all of the power for this long.
    pub newcomer: u64,
    /// A station with traffic that is silent for this long gets it, too.
    pub silent: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            keep: 0.95,
            settle: 40,
            watch: 140,
            longest: 1500,
            reference: 60,
            every: 10,
            frames: 20,
            certainty: 1.6,
            back_off: 4000,
            back_off_most: 600_000,
            floor: -82,
            newcomer: 2000,
            silent: 1500,
        }
    }
}
