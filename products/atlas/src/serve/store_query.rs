//! Questions to the store, and their answers.

use rusqlite::Connection;

use super::figures::Figures;
use super::oembed;
use super::reply::{CachePolicy, Frame, HTML, JSON, Reply};
use super::request::{Refusal, Visit};
use super::route::Route;
use crate::answer;
use crate::chart::Chart;
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::page::{self, Places, Reader, Shape};
use crate::store;

/// A question to the store, with all that its answer depends on.
pub(super) struct Question {
    what: What,
    reader: Reader,
}

enum What {
    Overview,
    Chart(&'static dyn Chart, Shape, ChartQuery),
    Embed(&'static dyn Chart, ChartQuery),
    Communities(String),
    Ledger(page::ledger::LedgerQuery),
    About,
    Oembed(oembed::OembedRequest),
}

impl Question {
    pub fn read(visit: &Visit<'_>, route: Route<'_>) -> Result<Self, Refusal> {
        let reader = visit.reader();
        let asked = || -> Result<ChartQuery, Error> {
            let mut asked = ChartQuery::read(visit.query)?;
            asked.language = reader.language;
            Ok(asked)
        };
        let what = match route {
            Route::Chart(chart, shape) => What::Chart(chart, shape, asked()?),
            Route::Embed(chart) => What::Embed(chart, asked()?),
            Route::Communities => {
                let [search] = values(visit.query, ["q"], WORDS)?;
                What::Communities(search)
            }
            Route::Ledger => {
                let [search, after] = values(visit.query, ["q", "after"], WORDS)?;
                let after = match after.as_str() {
                    "" => 0,
                    text => api::query::number(text).ok_or_else(|| {
                        let error = "`after` must be a number, as in the link to further lines";
                        Error::Asked(error.into())
                    })?,
                };
                What::Ledger(page::ledger::LedgerQuery { search, after })
            }
            Route::Oembed => What::Oembed(oembed::read(&reader, visit.query)?),
            Route::About => {
                let [] = values(visit.query, [], WORDS)?;
                What::About
            }
            _ => {
                let [] = values(visit.query, [], WORDS)?;
                What::Overview
            }
        };
        Ok(Self { what, reader })
    }

    /// Returns the cache key: equal keys have equal answers.
    pub fn key(&self, visit: &Visit<'_>) -> String {
        let asked = match &self.what {
            What::Chart(_, _, asked) | What::Embed(_, asked) => asked.query(),
            What::Communities(search) => search.clone(),
            What::Ledger(wanted) => format!("{}\n{}", wanted.after, wanted.search),
            What::Oembed(_) => visit.query.to_owned(),
            What::Overview | What::About => String::new(),
        };
        // Numbers are the same wherever they are asked for.
        let base = match (&self.what, &*self.reader.places) {
            (What::Chart(_, Shape::Json | Shape::Csv, _), _) => "",
            (_, Places::Server { base, .. }) => base,
            _ => "",
        };
        format!(
            "{}\n{base}\n{asked}\n{}\n{}\n{:?}",
            visit.path,
            self.reader.language.word(),
            self.reader.told,
            self.reader.theme
        )
    }

    /// Answers the query. `version`: the store's, for its `figures`.
    pub fn answer(
        &self,
        store: &Connection,
        version: i64,
        figures: &Figures,
    ) -> Result<Reply, Error> {
        let reader = &self.reader;
        let html = |text: String| Reply::new(HTML, text, CachePolicy::Minutes, Frame::Page);
        Ok(match &self.what {
            What::Overview => html(page::overview::page(reader, store)?),
            What::Communities(search) => {
                html(page::communities::page(reader, store, Some(search))?)
            }
            What::Ledger(wanted) => {
                let page = page::ledger::page(reader, store, wanted);
                html(page.map_err(|error| of_the_ledger(store, error))?)
            }
            What::Oembed(wanted) => {
                let figure = figures.of(version, wanted.chart, store, &wanted.asked)?;
                let (media, text) = oembed::write(reader, wanted, &figure);
                Reply::new(media, text, CachePolicy::Minutes, Frame::Public)
            }
            What::About => html(page::about::page(reader, store)?),
            What::Embed(chart, asked) => {
                let figure = figures.of(version, *chart, store, asked)?;
                let text = page::chart::embed(reader, *chart, asked, &figure);
                Reply::new(HTML, text, CachePolicy::Minutes, Frame::Embed)
            }
            What::Chart(chart, Shape::Page, asked)
                if asked.key.is_none() && page::needs_key(*chart) =>
            {
                html(page::communities::page(reader, store, None)?)
            }
            What::Chart(chart, shape, asked) => {
                let figure = figures.of(version, *chart, store, asked)?;
                let (media, text) = match shape {
                    Shape::Page => {
                        let text = page::chart::page(reader, *chart, store, asked, &figure);
                        return Ok(html(text));
                    }
                    Shape::Svg => {
                        let picture = page::chart::picture(reader, *chart, &figure, asked);
                        ("image/svg+xml", picture)
                    }
                    Shape::Csv => ("text/csv; charset=utf-8", answer::csv(&figure)?),
                    _ => (JSON, answer::json(chart.name(), &figure)?),
                };
                Reply::new(media, text, CachePolicy::Minutes, Frame::Public)
            }
        })
    }
}

/// Limits damage of the ledger to the requests for it, as charts never read the ledger.
fn of_the_ledger(store: &Connection, error: Error) -> Error {
    if !store::is_damage(&error) {
        return error;
    }
    // The next request must not get cached pages of the file.
    let _ = store.execute_batch("PRAGMA shrink_memory");
    Error::Unready(format!("the ledger is damaged ({error}): charts are right"))
}

/// Largest search text, in bytes.
const WORDS: usize = 200;

/// Returns the values of these parameters, besides language and colours; others are errors that
/// name them.
pub(super) fn values<const N: usize>(
    query: &str,
    names: [&str; N],
    longest: usize,
) -> Result<[String; N], Error> {
    let mut values = [const { String::new() }; N];
    let pairs = api::query::decode(query).ok_or_else(|| {
        Error::Asked("the address is not percent-encoded behind the question mark".into())
    })?;
    for (name, value) in pairs {
        if name == "lang" || name == "theme" {
            continue;
        }
        let Some(at) = names.iter().position(|known| *known == name) else {
            let name = api::problem::clipped(&name);
            let known = ["lang", "theme"].iter().chain(&names);
            let known: Vec<&str> = known.copied().collect();
            let known = known.join(", ");
            return Err(Error::Asked(format!(
                "`{name}` is not a parameter here; use {known}"
            )));
        };
        if value.len() > longest {
            return Err(Error::Asked(format!(
                "`{name}` is longer than {longest} octets"
            )));
        }
        values[at] = value;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_is_named() {
        assert!(values("q=a&lang=de&theme=dark", ["q"], WORDS).is_ok());
        let error = values("lang=de&x=1", ["q"], WORDS)
            .expect_err("refused")
            .to_string();
        assert!(error.contains("`x`") && error.contains("q"), "{error}");
        assert!(values("q=%zz", ["q"], WORDS).is_err());
        assert!(values(&format!("q={}", "a".repeat(201)), ["q"], WORDS).is_err());
    }
}
