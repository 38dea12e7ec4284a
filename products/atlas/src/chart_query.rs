//! Parses the query of an address: `from=2019-01&to=2019-12&by=month`.
//!
//! In `only=a,b` a comma within a key is `%2C` and a percent sign `%25`, and the result is then
//! encoded as any value: so it survives `URLSearchParams` and forms, which encode commas
//! themselves. `only` may occur several times, as a form's checkboxes send it.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use api::query;

use crate::error::Error;
use crate::suggestions::meant;
use crate::text::Language;
use crate::time::Unit;

mod span;

pub use span::Span;

/// Points a time series may have.
pub const POINTS: i64 = 2000;

/// Bytes that an address may have behind `?`.
const LONGEST: usize = 8192;

/// Keys that `only` may have.
const KEYS: usize = 100;

/// Communities that one chart draws side by side.
pub const COMPARED: usize = 8;

/// Letters of a key.
const KEY_LETTERS: usize = 200;

const NUMBERS: RangeInclusive<usize> = 1..=100;
const WIDTHS: RangeInclusive<u32> = 240..=2400;
pub(crate) const HEIGHTS: RangeInclusive<u32> = 160..=1600;

/// All parameters, in canonical order.
const NAMES: [&str; 15] = [
    "from", "to", "by", "at", "n", "key", "group", "share", "only", "lang", "theme", "width",
    "height", "notes", "fit",
];

/// A question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChartQuery {
    /// Only its begin counts.
    pub from: Option<Span>,
    /// End of the range, inclusive: `to=2019-12` is up to the end of December.
    pub to: Option<Span>,
    /// Unit of a point; `None`: a fitting one.
    pub by: Option<Unit>,
    /// Single time instead of a range.
    pub at: Option<Span>,
    /// Number of items in a chart of the largest ones.
    pub n: Option<usize>,
    /// Key or name of a community; several have commas between them.
    pub key: Option<String>,
    /// Metacommunities instead of communities.
    pub group: bool,
    /// Parts of a hundred instead of numbers.
    pub share: bool,
    /// Keys of series that are shown; empty: all.
    pub only: Vec<String>,
    /// Language of all texts.
    pub language: Language,
    /// Appearance of the picture, without effect on numbers.
    pub look: PictureStyle,
}

/// Appearance of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PictureStyle {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Colours.
    pub theme: Theme,
    /// Adds the notes of the figure at the bottom; off if the notes are outside the picture.
    pub notes: bool,
    /// Omits bars that do not fit, as in a frame of fixed height.
    pub fit: bool,
}

/// Colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Theme {
    /// The reader's system decides.
    #[default]
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Default for PictureStyle {
    fn default() -> Self {
        Self {
            width: 960,
            height: 480,
            theme: Theme::Auto,
            notes: true,
            fit: false,
        }
    }
}

impl ChartQuery {
    /// Parses the query after `?`. Percent signs and `+` mean the same as in forms. An unknown,
    /// repeated or invalid parameter is an [`Error::Asked`] with its name, the allowed values and a
    /// suggestion. Empty values count as missing, because forms send them.
    pub fn read(query: &str) -> Result<Self, Error> {
        if query.len() > LONGEST {
            let error = format!("the address is longer than {LONGEST} octets behind `?`");
            return Err(Error::Asked(error));
        }
        let pairs = query::decode(query).ok_or_else(|| {
            let error = "the address is not percent-encoded text: write %XX with two hexadecimal \
                         digits, of UTF-8";
            Error::Asked(error.into())
        })?;
        let mut asked = Self::default();
        let mut seen = Vec::new();
        for (name, value) in &pairs {
            let Some(known) = NAMES.into_iter().find(|known| known == name) else {
                let name = clipped(name);
                let error = format!("`{name}` is not a parameter{}", meant(&name, NAMES));
                let all = NAMES.join(", ");
                return Err(Error::Asked(format!("{error} (parameters: {all})")));
            };
            if value.trim().is_empty() {
                continue;
            }
            if seen.contains(&known) && known != "only" {
                let error = format!("`{known}` occurs twice: give it once");
                return Err(Error::Asked(error));
            }
            seen.push(known);
            asked.take(known, value.trim())?;
        }
        asked.only.sort();
        asked.only.dedup();
        if asked.only.len() > KEYS {
            let error = format!("`only` has {} keys: give at most {KEYS}", asked.only.len());
            return Err(Error::Asked(error));
        }
        Ok(asked)
    }

    fn take(&mut self, name: &'static str, value: &str) -> Result<(), Error> {
        let time = || Span::read(value).ok_or_else(|| wrong(name, value, span::ALLOWED, ""));
        match name {
            // Only the begin of `from` counts, and only the end of `to`.
            "from" => self.from = Some(time()?.as_from()),
            "to" => self.to = Some(time()?.as_to()),
            "at" => self.at = Some(time()?),
            "by" => {
                let units = [Unit::Hour, Unit::Day, Unit::Month].map(|unit| (unit.word(), unit));
                self.by = Some(word(name, value, &units)?);
            }
            "n" => self.n = Some(number(name, value, NUMBERS)?),
            "key" => {
                let many = split(value).count();
                if many > COMPARED {
                    let error = format!("`key` has {many} keys: give at most {COMPARED}");
                    return Err(Error::Asked(error));
                }
                for part in split(value) {
                    key(name, part)?;
                }
                self.key = Some(value.to_owned());
            }
            "group" => self.group = word(name, value, &[("meta", true)])?,
            "share" => self.share = word(name, value, &[("1", true), ("0", false)])?,
            "only" => {
                for part in split(value) {
                    self.only.push(key(name, &plain(part))?);
                }
            }
            "lang" => {
                let all = [Language::English, Language::German];
                self.language = word(name, value, &all.map(|one| (one.word(), one)))?;
            }
            "theme" => {
                let all = [Theme::Auto, Theme::Light, Theme::Dark];
                self.look.theme = word(name, value, &all.map(|one| (one.word(), one)))?;
            }
            "width" => self.look.width = number(name, value, WIDTHS)?,
            "height" => self.look.height = number(name, value, HEIGHTS)?,
            "notes" => self.look.notes = word(name, value, &[("1", true), ("0", false)])?,
            _ => self.look.fit = word(name, value, &[("1", true), ("0", false)])?,
        }
        Ok(())
    }

    /// Returns the parts of `key`.
    pub fn keys(&self) -> Vec<String> {
        let whole = self.key.as_deref().unwrap_or_default();
        split(whole).map(plain).collect()
    }

    /// Returns true if the end is always that of the data.
    pub fn goes_on(&self) -> bool {
        self.at.is_none() && self.to.is_none()
    }

    /// Returns the question as a query in canonical order, without defaults: equivalent questions
    /// have the same query.
    pub fn query(&self) -> String {
        let flag = |on: bool, value: &str| on.then(|| value.to_owned());
        let mut only = self.only.clone();
        only.sort();
        only.dedup();
        let only = only
            .iter()
            .map(|key| key.replace('%', "%25").replace(',', "%2C"))
            .collect::<Vec<_>>()
            .join(",");
        let usual = Self::default();
        let PictureStyle {
            width,
            height,
            theme,
            notes,
            fit,
        } = self.look;
        let values = [
            self.from.map(|span| span.as_from().word()),
            self.to.map(|span| span.as_to().word()),
            self.by.map(|unit| unit.word().to_owned()),
            self.at.map(Span::word),
            self.n.map(|n| n.to_string()),
            self.key.clone(),
            flag(self.group, "meta"),
            flag(self.share, "1"),
            flag(!only.is_empty(), &only),
            flag(self.language != usual.language, self.language.word()),
            flag(theme != usual.look.theme, theme.word()),
            flag(width != usual.look.width, &width.to_string()),
            flag(height != usual.look.height, &height.to_string()),
            flag(!notes, "0"),
            flag(fit, "1"),
        ];
        query::encode(NAMES.into_iter().zip(values))
    }
}

impl Theme {
    /// Returns the word in addresses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// Splits keys separated by commas.
fn split(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').filter(|part| !part.trim().is_empty())
}

/// Decodes one of several keys. `%25` last: `%252C` is the text `%2C`.
fn plain(part: &str) -> String {
    let commas = part.replace("%2C", ",").replace("%2c", ",");
    commas.replace("%25", "%").trim().to_owned()
}

/// Parses one of some words.
fn word<T: Copy>(name: &str, value: &str, words: &[(&str, T)]) -> Result<T, Error> {
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == value) {
        return Ok(*meaning);
    }
    let names = words.iter().map(|(word, _)| *word);
    let allowed = names.clone().collect::<Vec<_>>().join(" or ");
    Err(wrong(name, value, &allowed, &meant(value, names)))
}

fn number<T>(name: &str, value: &str, allowed: RangeInclusive<T>) -> Result<T, Error>
where
    T: FromStr + PartialOrd + Display,
{
    let number = query::number(value).filter(|number| allowed.contains(number));
    number.ok_or_else(|| {
        let (least, most) = (allowed.start(), allowed.end());
        let allowed = format!("a whole number from {least} to {most}");
        wrong(name, value, &allowed, "")
    })
}

fn key(name: &str, value: &str) -> Result<String, Error> {
    let fits = value.chars().count() <= KEY_LETTERS && !value.contains(char::is_control);
    if fits && !value.is_empty() {
        return Ok(value.to_owned());
    }
    let allowed = format!("keys of at most {KEY_LETTERS} letters");
    Err(wrong(name, value, &allowed, ""))
}

fn wrong(name: &str, value: &str, allowed: &str, meant: &str) -> Error {
    let value = clipped(value);
    Error::Asked(format!(
        "`{value}` is not a value of `{name}`{meant} (give {allowed})"
    ))
}

/// Shortens the user's text for an error.
fn clipped(text: &str) -> String {
    let mut short = text.chars().take(40).collect::<String>();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
