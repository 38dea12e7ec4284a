//! Format of a directory, described in a file: `docs/reference/atlas-format.md`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::file::whole_file;
use super::pattern::Pattern;
use super::tree::{Tree, segments};
use crate::error::Error;
use crate::text;

/// Built-in mappings, by name.
pub const BUILT_IN: [(&str, &str); 2] = [
    ("freifunk", include_str!("../../mappings/freifunk.toml")),
    (
        "guifi-zones",
        include_str!("../../mappings/guifi-zones.toml"),
    ),
];

/// Bytes of a file with a mapping.
const FILE: u64 = 1 << 20;

/// Format of a directory.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// Name of the directory, for people.
    pub title: String,
    pub(crate) format: Format,
    pub(crate) files: Vec<Pattern>,
    /// Time zone of times in names.
    pub(crate) zone: TimeZone,
    /// Path of members to the entries.
    pub(crate) entries: Vec<String>,
    pub(crate) key_prefix: String,
    pub(crate) parents: Parents,
    pub(crate) leave_out: Vec<LeaveOut>,
    pub(crate) tree: Tree,
    /// Time zone of entries without one. If the mapping names none, this is UTC, and `fetched` is
    /// by `zone`.
    pub(crate) entry_zone: TimeZone,
    /// The mapping names `entry_zone`.
    pub(crate) entry_zone_given: bool,
    pub(crate) formats: Vec<String>,
    /// Names of protocols by themselves and by other spellings, in the form of [`spelling`].
    pub(crate) protocols: HashMap<String, String>,
}

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    /// Text with this separator of cells.
    Csv(u8),
}

/// Reference of an entry to its parent: by name or key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Parents {
    #[default]
    Name,
    Key,
}

/// Pattern of keys that are not communities if without nodes: `{key}#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaveOut {
    /// True if the key begins with that of another entry.
    pub(crate) of_other: bool,
    pub(crate) before: String,
    /// True if digits follow.
    pub(crate) digits: bool,
    pub(crate) after: String,
}

/// Content of a mapping's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    format: FormatWord,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default = "utc")]
    zone: String,
    #[serde(default)]
    entries: String,
    delimiter: Option<char>,
    #[serde(default)]
    key_prefix: String,
    #[serde(default)]
    parents: Parents,
    #[serde(default)]
    leave_out: Vec<String>,
    fields: Fields,
    #[serde(default)]
    times: Times,
    #[serde(default)]
    protocols: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum FormatWord {
    Json,
    Csv,
}

/// Paths of each field, in order of preference.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fields {
    key: Vec<String>,
    name: Vec<String>,
    nodes: Vec<String>,
    fetched: Vec<String>,
    changed: Vec<String>,
    failed: Vec<String>,
    metacommunity: Vec<String>,
    city: Vec<String>,
    country: Vec<String>,
    latitude: Vec<String>,
    longitude: Vec<String>,
    api: Vec<String>,
    routing: Vec<String>,
    url: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Times {
    zone: Option<String>,
    #[serde(default)]
    formats: Vec<String>,
}

fn utc() -> String {
    "UTC".to_owned()
}

impl Mapping {
    /// Returns one of [`BUILT_IN`] by name, or the mapping of a file.
    pub fn named(name: &str) -> Result<Self, Error> {
        if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Self::parse(text, &format!("the mapping {name}"));
        }
        let path = Path::new(name);
        if !path.exists() {
            let known = BUILT_IN.map(|(name, _)| name).join(", ");
            let why = format!("no mapping {name:?}: there are {known}, or give a file");
            return Err(Error::Asked(why));
        }
        let text = String::from_utf8(whole_file(path, FILE)?)
            .map_err(|_| Error::Asked(format!("{name}: it is not UTF-8, as TOML is")))?;
        Self::parse(&text, name)
    }

    /// Reads a mapping; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self, Error> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| {
                let before = &text.as_bytes()[..span.start.min(text.len())];
                before.iter().filter(|o| **o == b'\n').count() + 1
            });
            let what = error.message();
            Error::Asked(format!("{origin}, line {line}: {what}"))
        })?;
        Self::of(file).map_err(|error| Error::Asked(format!("{origin}: {error}")))
    }

    fn of(file: File) -> Result<Self, String> {
        let format = match (&file.format, file.delimiter) {
            (FormatWord::Json, None) => Format::Json,
            (FormatWord::Json, Some(_)) => {
                return Err("delimiter: only with format \"csv\"".to_owned());
            }
            (FormatWord::Csv, delimiter) => {
                let delimiter = delimiter.unwrap_or(',');
                let octet = u8::try_from(delimiter).ok().filter(u8::is_ascii);
                Format::Csv(
                    octet.ok_or("delimiter: use one ASCII character, such as \";\" or \"\\t\"")?,
                )
            }
        };
        let csv = format != Format::Json;
        if csv && !file.entries.is_empty() {
            return Err("entries: only with format \"json\"".to_owned());
        }
        let fields = &file.fields;
        if fields.nodes.is_empty() {
            return Err("fields.nodes: missing place of the number of nodes".to_owned());
        }
        if csv && fields.key.is_empty() {
            return Err("fields.key: a table needs a column that names its rows".to_owned());
        }
        if fields.latitude.is_empty() != fields.longitude.is_empty() {
            return Err("fields.latitude and fields.longitude: give both or neither".to_owned());
        }
        let places = fields.in_order();
        for (name, paths) in places {
            if paths.len() > 16 || paths.iter().any(|path| path.is_empty() || path.len() > 200) {
                let most = "at most 16 places, each of 1 to 200 characters";
                return Err(format!("fields.{name}: {most}"));
            }
        }
        let prefix = &file.key_prefix;
        if prefix.len() > 50 || prefix.chars().any(char::is_control) {
            return Err("key_prefix: at most 50 octets, without control characters".to_owned());
        }
        let tree = Tree::of(places.map(|(_, paths)| paths.as_slice()), !csv)?;
        let files = file.files.iter().map(|text| Pattern::read(text));
        let files = files.collect::<Result<_, _>>();
        let mut protocols = HashMap::new();
        for (name, spellings) in &file.protocols {
            for spelling in spellings.iter().chain([name]) {
                let before = protocols.insert(text::spelling(spelling), name.clone());
                if let Some(other) = before.filter(|other| other != name) {
                    let both = format!("of both {other:?} and {name:?}");
                    return Err(format!("protocols: {spelling:?} is a spelling {both}"));
                }
            }
        }
        // Most are written as they are called: these need not be folded.
        for name in file.protocols.keys() {
            protocols.insert(name.clone(), name.clone());
        }
        for format in &file.times.formats {
            let any = TimeZone::UTC.to_zoned(jiff::civil::date(2019, 1, 2).at(3, 4, 5, 6));
            any.and_then(|any| jiff::fmt::strtime::format(format, &any))
                .map_err(|error| format!("times.formats: {format:?}: {error}"))?;
        }
        Ok(Self {
            title: file.title,
            format,
            files: files.map_err(|error| format!("files: {error}"))?,
            zone: zone(&file.zone, "zone")?,
            entries: segments(&file.entries),
            key_prefix: file.key_prefix,
            parents: file.parents,
            leave_out: file
                .leave_out
                .iter()
                .map(|text| LeaveOut::read(text))
                .collect::<Result<_, _>>()?,
            tree,
            entry_zone_given: file.times.zone.is_some(),
            entry_zone: match &file.times.zone {
                Some(name) => zone(name, "times.zone")?,
                None => TimeZone::UTC,
            },
            formats: file.times.formats,
            protocols,
        })
    }

    /// Returns the time in a file's name, if it has one, and `None` for a file of another kind.
    pub(crate) fn time_of(&self, name: &str) -> Option<Option<i64>> {
        let mut times = self
            .files
            .iter()
            .map(|pattern| pattern.time(name, &self.zone));
        times.find(Option::is_some).flatten()
    }

    /// Returns true if a name fits a pattern but has an invalid time.
    pub(crate) fn mistimed(&self, name: &str) -> bool {
        self.time_of(name).is_none() && self.files.iter().any(|pattern| pattern.fits(name))
    }

    /// Returns the directory's name for a file of now, in seconds since 1970; `None`: names have no
    /// time.
    pub(crate) fn name_at(&self, now: i64) -> Option<String> {
        let now = Timestamp::from_second(now)
            .ok()?
            .to_zoned(self.zone.clone());
        self.files.iter().find_map(|pattern| pattern.name(&now))
    }
}

fn zone(name: &str, key: &str) -> Result<TimeZone, String> {
    TimeZone::get(name)
        .map_err(|_| format!("{key}: no time zone {name:?}; write it as \"Europe/Berlin\""))
}

impl LeaveOut {
    fn read(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("{key}");
        let (before, after) = match rest.unwrap_or(text).split_once('#') {
            Some((before, after)) => (before, Some(after)),
            None => (rest.unwrap_or(text), None),
        };
        if [before, after.unwrap_or("")]
            .iter()
            .any(|part| part.contains(['{', '}', '#', '*']))
        {
            let can = "an optional {key} at its begin, then text with one # for digits";
            return Err(format!("leave_out: {text:?} is not {can}"));
        }
        Ok(Self {
            of_other: rest.is_some(),
            before: before.to_owned(),
            digits: after.is_some(),
            after: after.unwrap_or("").to_owned(),
        })
    }

    /// Returns true if a key fits; `known` returns true for the key of an entry.
    pub(crate) fn fits(&self, key: &str, known: impl Fn(&str) -> bool) -> bool {
        let Some(rest) = key.strip_suffix(&self.after) else {
            return false;
        };
        let digits = |o: char| o.is_ascii_digit();
        let least = rest.trim_end_matches(digits);
        // The other's key may end in digits itself: one digit at least is not its own.
        let first = if self.digits { least.len() } else { rest.len() };
        let last = if self.digits {
            (rest.len() - 1).max(first)
        } else {
            first
        };
        if self.digits && least.len() == rest.len() {
            return false;
        }
        (first..=last).any(|at| {
            let begin = rest[..at].strip_suffix(&self.before);
            begin.is_some_and(|begin| match self.of_other {
                true => known(begin),
                false => begin.is_empty(),
            })
        })
    }
}

impl Fields {
    fn in_order(&self) -> [(&'static str, &Vec<String>); 14] {
        [
            ("key", &self.key),
            ("name", &self.name),
            ("nodes", &self.nodes),
            ("fetched", &self.fetched),
            ("changed", &self.changed),
            ("failed", &self.failed),
            ("metacommunity", &self.metacommunity),
            ("city", &self.city),
            ("country", &self.country),
            ("latitude", &self.latitude),
            ("longitude", &self.longitude),
            ("api", &self.api),
            ("routing", &self.routing),
            ("url", &self.url),
        ]
    }
}
