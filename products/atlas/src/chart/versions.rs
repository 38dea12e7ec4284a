//! Versions of the directory's format that communities write, over time.

use rusqlite::Connection;

use super::groups::{Groups, Measure, Order, Shape};
use super::{Chart, Parameter};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::Figure;
use crate::text::Language;

/// See the module.
pub struct Versions;

impl Chart for Versions {
    fn name(&self) -> &'static str {
        "versions"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Versions of the API", "Versionen der API")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "How many communities write which version of the API's format, also those without a number \
             of nodes",
            "Wie viele Gemeinschaften welche Version des API-Formats schreiben, auch die ohne Zahl der \
             Knoten",
        )
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter::Share]
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let groups = Groups::of_profiles(store, asked, false, |profile| {
            let version = profile.api.as_deref().map_or("", str::trim);
            [version]
                .into_iter()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
                .collect()
        })?;
        let shape = Shape {
            title: self.title(language),
            column: ("version", language.of("version", "Version")),
            measure: Measure::Communities,
            order: Order::Key,
            stacked: true,
        };
        Ok(groups.figure(asked, &shape))
    }
}
