//! Interprets an entry's values.

use super::mapping::Mapping;
use super::remarks::Remarks;
use super::timestamp;
use super::tree::{Field, Slots};
use super::value::{Value, clean, short};
use crate::snapshot::Profile;
use crate::text::spelling;

/// Entries that a file may have.
pub(super) const ENTRIES: usize = 50_000;
pub(super) const TOO_MANY: &str =
    "the file has more than 50,000 entries: that is not a directory of communities";

/// Characters of names, keys and the like; and of addresses.
const TEXT: usize = 200;
const URL: usize = 500;
/// Protocols of a community.
const PROTOCOLS: usize = 20;
/// Numbers from here on are inexact in JSON and vary between tables and pictures.
const INEXACT: u64 = 1 << 53;
/// Reading of an unusable value.
pub(crate) const LEFT_OUT: &str = "left out";
/// Defect of a text that has `\ud800` without its other half, and its reading.
const HALVED: &str = "has half a surrogate";
const HALF: &str = "the text with \u{fffd} in its place";

/// An entry before the time of the snapshot is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) key: String,
    pub(crate) nodes: Option<i64>,
    /// Time of the fetch, and time of the community's last update: seconds since 1970.
    pub(crate) fetched: Option<i64>,
    /// `fetched` names its zone of time.
    pub(crate) zoned: bool,
    pub(crate) changed: Option<i64>,
    /// The last fetch failed.
    pub(crate) failed: bool,
    pub(crate) profile: Profile,
}

/// Reads the values of an entry.
pub(crate) struct EntryReader<'r, 'a> {
    pub(crate) mapping: &'r Mapping,
    pub(crate) slots: &'r Slots<'a>,
    pub(crate) remarks: &'r mut Remarks,
    pub(crate) key: String,
}

/// Returns a key in stored form; `None` if invalid. `half`: the text had half a surrogate.
pub(crate) fn key(
    mapping: &Mapping,
    text: &str,
    half: bool,
    remarks: &mut Remarks,
) -> Option<String> {
    let most = TEXT - mapping.key_prefix.len();
    let (text, done) = clean(text, most);
    let key = match mapping.key_prefix.as_str() {
        "" => text,
        _ if text.is_empty() => text,
        prefix => format!("{prefix}{text}"),
    };
    if key.is_empty() {
        remarks.file("an entry has no key", LEFT_OUT);
        return None;
    }
    if let Some(done) = done {
        remarks.of(&key, "the key is long, or has control characters", done);
    } else if half {
        remarks.of(&key, format!("the key {HALVED}"), HALF);
    }
    Some(key)
}

impl EntryReader<'_, '_> {
    pub(crate) fn draft(mut self) -> Draft {
        for (path, kind) in &self.slots.wrong {
            let what = match path.as_str() {
                "" => format!("the entry is {kind}"),
                path => format!("{path} is {kind}"),
            };
            self.remarks.of(&self.key, what, LEFT_OUT);
        }
        let values = self.slots.twice.iter();
        let values = values.map(|slot| self.mapping.tree.path(*slot));
        for path in values.chain(self.slots.again.iter().map(String::as_str)) {
            let what = format!("{path} comes twice");
            self.remarks.of(&self.key, what, "the last one");
        }
        for slot in &self.slots.halved {
            let what = format!("{} {HALVED}", self.mapping.tree.path(*slot));
            self.remarks.of(&self.key, what, HALF);
        }
        let nodes = self.nodes();
        let fetched = self.time(Field::Fetched);
        let changed = self.time(Field::Changed);
        let failed = self.failed();
        let profile = self.profile();
        let zoned = match self.mapping.tree.value(self.slots, Field::Fetched) {
            Some((Value::Text(text), _)) => timestamp::names_zone(text),
            _ => true,
        };
        Draft {
            zoned,
            key: self.key,
            nodes,
            fetched,
            changed,
            failed,
            profile,
        }
    }

    fn profile(&mut self) -> Profile {
        let name = match self.text(Field::Name, TEXT) {
            Some(name) => name,
            None => {
                if self.mapping.tree.has(Field::Name) {
                    self.remarks.of(&self.key, "it has no name", "its key");
                }
                self.key.clone()
            }
        };
        let (latitude, longitude) = self.position().unzip();
        Profile {
            name,
            metacommunity: self.text(Field::Metacommunity, TEXT),
            city: self.text(Field::City, TEXT),
            country: self.text(Field::Country, TEXT).map(|text| {
                let code = crate::country::code(&text);
                code.map_or(text, str::to_owned)
            }),
            latitude,
            longitude,
            api: self.text(Field::Api, TEXT),
            routing: self.routing(),
            url: self.url(),
        }
    }

    fn nodes(&mut self) -> Option<i64> {
        let (value, path) = self.mapping.tree.value(self.slots, Field::Nodes)?;
        let mut told = |read_as: String| {
            let what = format!("{path} is {}", value.described());
            self.remarks.of(&self.key, what, read_as);
        };
        let (number, text) = match value {
            Value::Number(number) => (*number, false),
            Value::Text(text) => (text.trim(), true),
            _ => {
                told(LEFT_OUT.to_owned());
                return None;
            }
        };
        let read = match number.parse::<i64>().map_err(|_| number.parse::<f64>()) {
            Ok(nodes) => Some((nodes, true)),
            Err(Ok(real)) if !text || real.fract() == 0.0 => {
                let whole = half_up(real);
                Some((whole as i64, whole == real))
            }
            Err(_) => None,
        };
        let Some((nodes, exact)) = read.filter(|(nodes, _)| nodes.unsigned_abs() < INEXACT) else {
            told(LEFT_OUT.to_owned());
            return None;
        };
        let odd = odd(nodes);
        if text || !exact || odd {
            let odd = if odd { ", shown but not counted" } else { "" };
            told(format!("the number {nodes}{odd}"));
        }
        Some(nodes)
    }

    fn time(&mut self, field: Field) -> Option<i64> {
        let (value, path) = self.mapping.tree.value(self.slots, field)?;
        let time = match value {
            Value::Number(text) => self.moment(text),
            Value::Text(text) => self.moment(text),
            _ => None,
        };
        if time.is_none() {
            let what = format!("{path} is {}, which is not a time", value.described());
            self.remarks.of(&self.key, what, LEFT_OUT);
        }
        time
    }

    fn moment(&self, text: &str) -> Option<i64> {
        timestamp::of_text(text, &self.mapping.entry_zone, &self.mapping.formats)
    }

    fn failed(&self) -> bool {
        match self.mapping.tree.value(self.slots, Field::Failed) {
            None | Some((Value::Truth(false), _)) => false,
            Some((Value::Text(text), _)) => !text.trim().is_empty(),
            Some(_) => true,
        }
    }

    fn text(&mut self, field: Field, most: usize) -> Option<String> {
        let (value, path) = self.mapping.tree.value(self.slots, field)?;
        let items;
        let (text, list) = match value {
            Value::Text(text) => (text.as_ref(), false),
            Value::Number(number) => (*number, false),
            Value::List(_) => {
                items = value.items(1);
                match items.first() {
                    Some(Value::Text(text)) => (text.as_ref(), true),
                    Some(Value::Number(number)) => (*number, true),
                    _ => ("", true),
                }
            }
            Value::Nothing | Value::Truth(_) | Value::Object => ("", true),
        };
        let (text, done) = clean(text, most);
        let read_as = match done {
            _ if text.is_empty() && list => Some(LEFT_OUT),
            _ if list => Some("its first"),
            done => done,
        };
        if let Some(read_as) = read_as {
            let what = match list {
                true => format!("{path} is {}", value.described()),
                false => format!(
                    "{path} is {}, too long or with control characters",
                    value.described()
                ),
            };
            self.remarks.of(&self.key, what, read_as);
        }
        (!text.is_empty()).then_some(text)
    }

    /// Readers follow it: nothing that a browser would run.
    fn url(&mut self) -> Option<String> {
        let url = self.text(Field::Url, URL)?;
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        let fine = scheme.is_some_and(|scheme| {
            scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
        });
        if !fine {
            let what = format!("the address {:?} is not of the web", short(&url));
            self.remarks.of(&self.key, what, LEFT_OUT);
        }
        fine.then_some(url)
    }

    fn position(&mut self) -> Option<(f64, f64)> {
        let latitude = self.degrees(Field::Latitude);
        let longitude = self.degrees(Field::Longitude);
        let (latitude, longitude) = match (latitude?, longitude?) {
            (Some(latitude), Some(longitude)) => (latitude, longitude),
            _ => return None,
        };
        let within = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
        if !within || (latitude == 0.0 && longitude == 0.0) {
            let what =
                format!("the position {latitude}, {longitude} is not a community's location");
            self.remarks.of(&self.key, what, LEFT_OUT);
            return None;
        }
        Some((latitude, longitude))
    }

    /// Returns degrees. `None`: missing; `Some(None)`: not a number, which gives a remark.
    fn degrees(&mut self, field: Field) -> Option<Option<f64>> {
        let (value, path) = self.mapping.tree.value(self.slots, field)?;
        let (degrees, text) = match value {
            Value::Number(number) => (number.parse::<f64>().ok(), false),
            Value::Text(text) if text.trim().is_empty() => return None,
            Value::Text(text) => (text.trim().replacen(',', ".", 1).parse().ok(), true),
            _ => (None, true),
        };
        let degrees = degrees.filter(|degrees| degrees.is_finite());
        if text || degrees.is_none() {
            let read_as = degrees.map_or(LEFT_OUT.to_owned(), |d| format!("the number {d}"));
            let what = format!("{path} is {}", value.described());
            self.remarks.of(&self.key, what, read_as);
        }
        Some(degrees)
    }

    fn routing(&mut self) -> Vec<String> {
        let Some((value, path)) = self.mapping.tree.value(self.slots, Field::Routing) else {
            return Vec::new();
        };
        let mut routing = Vec::new();
        for item in value.items(PROTOCOLS) {
            match item {
                Value::Text(text) => protocols(self.mapping, &text, &mut routing),
                Value::Nothing => {}
                other => {
                    let what = format!("{path} has {}", other.described());
                    self.remarks.of(&self.key, what, LEFT_OUT);
                }
            }
        }
        routing.sort_unstable();
        routing.dedup();
        routing.truncate(PROTOCOLS);
        routing
    }
}

/// Returns a protocol without its version: "batman-adv 2019.4 (compat 15)".
fn without_version(text: &str) -> &str {
    let mut rest = text.split('(').next().unwrap_or_default().trim();
    while let Some((before, last)) = rest.rsplit_once(char::is_whitespace) {
        let number = last.trim_start_matches(['v', 'V']);
        if !number.starts_with(|c: char| c.is_ascii_digit()) {
            break;
        }
        rest = before.trim_end();
    }
    rest
}

/// Rounds, a half up: -0.5 is 0.
fn half_up(number: f64) -> f64 {
    let below = number.floor();
    match number - below >= 0.5 {
        true => below + 1.0,
        false => below,
    }
}

/// Splits a text into its protocols: one, or several with separators.
fn protocols(mapping: &Mapping, text: &str, into: &mut Vec<String>) {
    let known = |text: &str| {
        let of = |text: &str| mapping.protocols.get(text);
        // Most are written as they are called.
        let name = of(text).or_else(|| of(&spelling(text)));
        name.or_else(|| of(&spelling(without_version(text))))
            .cloned()
    };
    if let Some(name) = known(text) {
        into.push(name);
        return;
    }
    for part in text.split([',', ';', '/', '+', '&', '|']).take(PROTOCOLS) {
        let name = known(part).unwrap_or_else(|| clean(part, 40).0);
        if !name.is_empty() {
            into.push(name);
        }
    }
}

/// Returns true for a disbelieved number of nodes.
pub(crate) fn odd(nodes: i64) -> bool {
    !(0..=100_000).contains(&nodes)
}
