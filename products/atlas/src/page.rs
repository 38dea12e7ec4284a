//! Pages: HTML for people with and without script. Classes and `data-part` are those of
//! `products/atlas/web/README.md`.

pub(crate) mod about;
pub(crate) mod asset;
pub(crate) mod chart;
pub(crate) mod communities;
pub(crate) mod failed;
mod form;
mod format;
mod layout;
pub(crate) mod ledger;
pub(crate) mod overview;
mod places;
pub(crate) mod snippets;
pub(crate) mod sql;
mod table;

pub(crate) use layout::needs_key;
pub(crate) use net::markup::escape_xml as escape;
pub(crate) use places::{Places, Reader, Shape, To, stem};

use rusqlite::Connection;

use crate::chart::{Chart, Parameter};
use crate::chart_query::{ChartQuery, Span};
use crate::error::Error;

/// Returns the years with data in the store.
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

/// Returns a chart's query for a year.
pub(crate) fn of_year(reader: &Reader, chart: &dyn Chart, year: i16) -> ChartQuery {
    let hour = |year| jiff::civil::Date::new(year, 1, 1).map_or(0, crate::time::hour_of);
    let span = Some(Span {
        begin: hour(year),
        end: hour(year.saturating_add(1)),
    });
    let asked = reader.asks();
    match chart.parameters().contains(&Parameter::At) {
        true => ChartQuery { at: span, ..asked },
        false => ChartQuery {
            from: span,
            to: span,
            ..asked
        },
    }
}
