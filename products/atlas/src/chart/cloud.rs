//! Names of communities, as large as these are.

use rusqlite::Connection;

use super::range::Period;
use super::{Chart, Parameter, rank};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::{Figure, Plot};
use crate::text::Language;

const USUAL: usize = 60;

/// See the module.
pub struct Cloud;

impl Chart for Cloud {
    fn name(&self) -> &'static str {
        "cloud"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Word cloud", "Wortwolke")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "Names of communities, as large as the number of their nodes at a time",
            "Namen der Gemeinschaften, so groß wie die Zahl ihrer Knoten zu einer Zeit",
        )
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter::At, Parameter::Count, Parameter::Group]
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let period = Period::of(store, asked)?;
        let ranking = rank::of(store, asked, &period)?;
        let mut shown = ranking.ranked;
        // A word of size 0 is invisible.
        shown.retain(|one| one.nodes > 0);
        shown.truncate(asked.n.unwrap_or(USUAL));
        Ok(Figure {
            title: period.titled(self.title(language), language),
            name: self.title(language).into(),
            notes: ranking.notes,
            odd: ranking.odd,
            from: period.range.from(),
            to: period.range.to(),
            by: period.range.by,
            plot: Plot::Words(shown.iter().map(rank::RankedCommunity::bar).collect()),
            table: rank::table(&shown, language, Vec::new(), |_| Vec::new()),
        })
    }
}
