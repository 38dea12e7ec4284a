//! Pages: HTML for people with and without script. Classes and `data-part` are those of
//! `web/atlas/README.md`.

pub(crate) mod about;
pub(crate) mod asset;
pub(crate) mod chart;
pub(crate) mod communities;
pub(crate) mod failed;
mod form;
mod format;
mod html;
mod layout;
pub(crate) mod ledger;
pub(crate) mod overview;
mod places;
pub(crate) mod snippets;
pub(crate) mod sql;
mod table;

pub(crate) use html::escape;
pub(crate) use layout::needs_key;
pub(crate) use places::{Places, Shape, To, stem};

use std::sync::Arc;

use rusqlite::Connection;

use crate::asked::{Asked, Span, Theme};
use crate::chart::{Chart, Parameter};
use crate::error::Error;
use crate::german::{Book, Piece};
use crate::text::Language;

/// For whom a page is written.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub places: Arc<Places>,
    pub language: Language,
    /// The language stands in the address, and so in those of links.
    pub told: bool,
    pub theme: Theme,
}

impl Reader {
    /// One of two texts.
    pub fn say(&self, english: &'static str, german: &'static str) -> &'static str {
        self.language.of(english, german)
    }

    /// What the program says in English alone, for an element: what is in no book is marked as
    /// English.
    pub fn prose(&self, book: Book, text: &str) -> String {
        if self.language == Language::English {
            return escape(text);
        }
        let pieces = book.german(text).into_iter().map(|piece| match piece {
            Piece::German(text) => escape(text),
            Piece::Value(text) => escape(text),
            Piece::English(text) => format!("<span lang=\"en\">{}</span>", escape(text)),
        });
        pieces.collect()
    }

    /// Nothing in particular, in this reader's language and colours.
    pub fn asks(&self) -> Asked {
        let mut asked = Asked {
            language: self.language,
            ..Asked::default()
        };
        asked.look.theme = self.theme;
        asked
    }

    /// The address of something, escaped for an attribute.
    pub fn href(&self, to: &To<'_>) -> String {
        escape(&self.places.address(self, to))
    }
}

#[cfg(test)]
impl Reader {
    /// One who asks a server of this address, in English, for nothing in particular.
    pub(crate) fn of_server(base: &str) -> Self {
        Self {
            places: Arc::new(Places::server(base)),
            language: Language::English,
            told: false,
            theme: Theme::Auto,
        }
    }
}

/// The years that the store knows something of.
pub(crate) fn recorded_years(store: &Connection) -> Result<Vec<i16>, Error> {
    let ends = "SELECT min(hour), max(hour) FROM hour_totals";
    let (first, last): (Option<i64>, Option<i64>) =
        store.query_row(ends, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let year = |hour| crate::time::day(hour).year();
    Ok(match (first, last) {
        (Some(first), Some(last)) => (year(first)..=year(last)).collect(),
        _ => Vec::new(),
    })
}

/// A chart's question for a year.
pub(crate) fn of_year(reader: &Reader, chart: &dyn Chart, year: i16) -> Asked {
    let hour = |year| jiff::civil::Date::new(year, 1, 1).map_or(0, crate::time::hour_of);
    let span = Some(Span {
        begin: hour(year),
        end: hour(year.saturating_add(1)),
    });
    let asked = reader.asks();
    match chart.parameters().contains(&Parameter::At) {
        true => Asked { at: span, ..asked },
        false => Asked {
            from: span,
            to: span,
            ..asked
        },
    }
}
