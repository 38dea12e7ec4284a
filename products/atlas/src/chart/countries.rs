//! Countries over time.

use rusqlite::Connection;

use super::groups::{Groups, Measure, Order, Shape};
use super::{Chart, Parameter};
use crate::chart_query::ChartQuery;
use crate::country;
use crate::error::Error;
use crate::figure::Figure;
use crate::text::Language;

/// See the module.
pub struct Countries;

impl Chart for Countries {
    fn name(&self) -> &'static str {
        "countries"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Countries", "Länder")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "Nodes by the country that their community names",
            "Knoten nach dem Land, das ihre Gemeinschaft nennt",
        )
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter::Share]
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let groups = Groups::of_profiles(store, asked, false, |profile| {
            // Stores of earlier imports have it as it was written.
            let country = profile.country.as_deref().map_or("", str::trim);
            let code = country::code(country).map(str::to_owned);
            [code.unwrap_or_else(|| country.to_uppercase())]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect()
        })?;
        let shape = Shape {
            title: self.title(language),
            column: ("country", language.of("country", "Land")),
            measure: Measure::Nodes,
            order: Order::Size,
            stacked: true,
        };
        Ok(groups.figure(asked, &shape))
    }
}
