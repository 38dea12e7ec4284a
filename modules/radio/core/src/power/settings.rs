//! Parameters of the search.

/// Numbers of the search; the defaults are for a few stations on a router of any age. Times are
/// milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A lower power is kept where this share of the greatest power's throughput stays.
    pub keep: f64,
    /// Frames that were queued at the former power go out first: what is counted after a change
    /// begins this late.
    pub settle: u64,
    /// Shortest watch of a power.
    pub watch: u64,
    /// Longest watch, if too few frames were sent for a verdict.
    pub longest: u64,
    /// The greatest power is looked at for this long, at least.
    pub reference: u64,
    /// Number of watches between two looks at the greatest power.
    pub every: u32,
    /// Fewer frames to a station tell nothing of it.
    pub frames: u32,
    /// Distance of a comparison from [`keep`](Self::keep), in standard errors.
    pub certainty: f64,
    /// A level that failed is tried again after this; after each more time that it failed, after
    /// twice as long. Where a trial told little, after a quarter of that.
    pub back_off: u64,
    /// But at least this often.
    pub back_off_most: u64,
    /// A station whose acknowledgements are less loud, dBm, is at the edge: all of the power.
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
