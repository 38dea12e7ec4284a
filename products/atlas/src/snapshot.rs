//! Snapshot of a directory at one time.

/// A directory at one time: made by [`crate::read`] from a file, and stored by [`crate::store`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The file's name, for the ledger.
    pub file: String,
    /// Hours since 1970, UTC: by the times in the file if any, otherwise by its name. 0: unknown,
    /// without entries.
    pub hour: i64,
    /// Entries with unique keys. Empty: the file was unreadable, the hour is unknown and does not
    /// count, and the remarks have the reason.
    pub entries: Vec<Entry>,
    /// Defects of the file, and their readings.
    pub remarks: Vec<Remark>,
}

/// Entry of one community in the directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Permanent key of the community, whatever its name.
    pub key: String,
    /// Reported number, however absurd; `None`: not reported.
    pub nodes: Option<i64>,
    /// Reliability of the number.
    pub status: Status,
    /// Time of the fetch: seconds since 1970, UTC.
    pub fetched: i64,
    /// Profile of the community.
    pub profile: Profile,
}

/// Reliability of a number. The order is that of `status` in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Number at most two days old.
    #[default]
    Live,
    /// Older, or the last fetch failed.
    Stale,
    /// The community has not updated its entry for 90 days.
    Frozen,
    /// Negative, or more than any community has: shown, marked, never summed up.
    Odd,
}

/// Properties of a community that seldom change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Name that the community uses.
    pub name: String,
    /// Name of the community that this one is part of.
    pub metacommunity: Option<String>,
    /// City, as the community writes it.
    pub city: Option<String>,
    /// Country, as the community writes it, mostly a code: "DE".
    pub country: Option<String>,
    /// Degrees, WGS 84; both or none.
    pub latitude: Option<f64>,
    /// See `latitude`.
    pub longitude: Option<f64>,
    /// Version of the format.
    pub api: Option<String>,
    /// Protocols by the names of [`crate::read`]'s mapping ("batman-adv"), sorted, each once.
    pub routing: Vec<String>,
    /// Web page of the community.
    pub url: Option<String>,
}

/// A line of the ledger: a defect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// The entry's key; `None`: the file as a whole.
    pub key: Option<String>,
    /// The defect, in a few words, without a full stop: "state.nodes is the text \"194\"".
    pub what: String,
    /// Reading of the defect: "the number 194"; "left out".
    pub read_as: String,
}
