//! The largest communities at a time.

use rusqlite::Connection;

use super::helpers::{column, text};
use super::range::Period;
use super::{Chart, Parameter, rank};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::{Figure, Plot};
use crate::text::Language;

const USUAL: usize = 10;

/// See the module.
pub struct Top;

impl Chart for Top {
    fn name(&self) -> &'static str {
        "top"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Largest communities", "Größte Gemeinschaften")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "The communities, or metacommunities, with the most nodes at a time",
            "Die Gemeinschaften oder Metagemeinschaften mit den meisten Knoten zu einer Zeit",
        )
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter::At, Parameter::Count, Parameter::Group]
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let period = Period::of(store, asked)?;
        let mut ranking = rank::of(store, asked, &period)?;
        let mut shown = ranking.ranked;
        shown.truncate(asked.n.unwrap_or(USUAL));
        ranking.notes.extend(rank::within_others(&shown, language));
        let meta = column(
            "metacommunity",
            language.of("metacommunity", "Metagemeinschaft"),
        );
        Ok(Figure {
            title: period.titled(self.title(language), language),
            name: self.title(language).into(),
            notes: ranking.notes,
            odd: ranking.odd,
            from: period.range.from(),
            to: period.range.to(),
            by: period.range.by,
            plot: Plot::Bars(shown.iter().map(rank::RankedCommunity::bar).collect()),
            table: rank::table(&shown, language, vec![meta], |one| {
                vec![text(one.profile.metacommunity.as_deref())]
            }),
        })
    }
}
