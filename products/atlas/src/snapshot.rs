//! What a directory said at one time.

/// A directory at one time: what [`crate::read`] makes of a file, and [`crate::store`] keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The file's name, for the ledger.
    pub file: String,
    /// Hours since 1970, UTC: by the times in the file where it has any, else by its name. 0: not
    /// known, and then there are no entries.
    pub hour: i64,
    /// Each key once. None at all: the file could not be read, nothing is known of the hour (it is
    /// no hour with a snapshot), and the remarks say why.
    pub entries: Vec<Entry>,
    /// What was not as it should be, and how it was read all the same.
    pub remarks: Vec<Remark>,
}

/// What the directory said of one community.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Names the community for ever, whatever it is called.
    pub key: String,
    /// As reported, however absurd; `None`: not reported.
    pub nodes: Option<i64>,
    /// How far the number can be believed.
    pub status: Status,
    /// When it was fetched: seconds since 1970, UTC.
    pub fetched: i64,
    /// What it says of itself.
    pub profile: Profile,
}

/// How far a number can be believed. The order is that of `status` in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// At most two days old.
    #[default]
    Live,
    /// Older, or the last fetch failed.
    Stale,
    /// The community itself has said nothing new for 90 days.
    Frozen,
    /// Negative, or more than any community has: shown, marked, never summed up.
    Odd,
}

/// What changes seldom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// What it calls itself.
    pub name: String,
    /// The community that this one is part of, by its name.
    pub metacommunity: Option<String>,
    /// As it writes it.
    pub city: Option<String>,
    /// As it writes it, mostly a code: "DE".
    pub country: Option<String>,
    /// Degrees, WGS 84; both or none.
    pub latitude: Option<f64>,
    /// See `latitude`.
    pub longitude: Option<f64>,
    /// Version of the format.
    pub api: Option<String>,
    /// Protocols by the names of [`crate::read`]'s mapping ("batman-adv"), sorted, each once.
    pub routing: Vec<String>,
    /// Its page.
    pub url: Option<String>,
}

/// A line of the ledger: something that was not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// The entry's key; `None`: the file as a whole.
    pub key: Option<String>,
    /// What, in a few words, without a full stop: "state.nodes is the text \"194\"".
    pub what: String,
    /// How it was read all the same: "the number 194"; "left out".
    pub read_as: String,
}
