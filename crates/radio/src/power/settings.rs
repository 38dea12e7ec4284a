//! Every number of the search.

/// Numbers of the search; the defaults are for a few stations on a router of any age. Times are
/// milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A lower power is kept where this share of the greatest power's throughput stays.
    pub keep: f64,
    /// Frames that were queued at the former power go out first: what is counted after a change
    /// begins this late.
    pub settle: u64,
    /// How long a power is watched, at least.
    pub watch: u64,
    /// How long it is watched where too few frames were sent to tell.
    pub longest: u64,
    /// The greatest power is looked at for this long, at least.
    pub reference: u64,
    /// That look comes after so many watches.
    pub every: u32,
    /// Fewer frames to a station tell nothing of it.
    pub frames: u32,
    /// How many standard errors a comparison has to be away from [`keep`](Self::keep).
    pub certainty: f64,
    /// A level that failed is tried again after this; after each more time that it failed, after
    /// twice as long.
    pub back_off: u64,
    /// But at least this often.
    pub back_off_most: u64,
    /// A station whose acknowledgements are less loud, dBm, is at the edge: all of the power.
    pub floor: i8,
    /// A station that just came gets all of the power for this long.
    pub newcomer: u64,
    /// One that was sent to and was not heard for this long gets it, too.
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

/// A number that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Which.
    pub name: &'static str,
    /// What it has to be.
    pub wanted: &'static str,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}: {}", self.name, self.wanted)
    }
}

impl std::error::Error for Wrong {}

impl Settings {
    /// Whether they can be.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn check(&self) -> Result<(), Wrong> {
        let wrong = |name, wanted| Err(Wrong { name, wanted });
        if !(0.1..=1.0).contains(&self.keep) {
            return wrong("keep", "a share from 0.1 to 1");
        }
        if !(0.0..=10.0).contains(&self.certainty) {
            return wrong("certainty", "0 to 10 standard errors");
        }
        let hour = 3_600_000;
        let times = [
            ("watch", self.watch),
            ("longest", self.longest),
            ("reference", self.reference),
            ("back_off", self.back_off),
        ];
        for (name, time) in times {
            if !(1..=hour).contains(&time) {
                return wrong(name, "1 ms to an hour");
            }
        }
        if self.longest < self.watch {
            return wrong("longest", "no less than watch");
        }
        if self.back_off_most < self.back_off {
            return wrong("back_off_most", "no less than back_off");
        }
        if self.settle > hour || self.newcomer > hour || self.silent > hour {
            return wrong("settle, newcomer, silent", "an hour at most");
        }
        if self.every == 0 {
            return wrong("every", "1 or more");
        }
        Ok(())
    }
}
