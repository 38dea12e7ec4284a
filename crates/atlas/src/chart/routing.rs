//! Protocols of routing over time.

use rusqlite::Connection;

use super::groups::{Groups, Measure, Order, Shape};
use super::{Chart, Parameter};
use crate::asked::Asked;
use crate::error::Error;
use crate::figure::Figure;
use crate::text::Language;

/// See the module.
pub struct Routing;

impl Chart for Routing {
    fn name(&self) -> &'static str {
        "routing"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Routing protocols", "Routing-Protokolle")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "Nodes by the protocols that their communities name, each in full for each of them; as \
             a share, divided among them",
            "Knoten nach den Protokollen, die ihre Gemeinschaften nennen, bei jedem ganz gezählt; \
             als Anteil unter ihnen aufgeteilt",
        )
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter::Share]
    }

    fn figure(&self, store: &Connection, asked: &Asked) -> Result<Figure, Error> {
        let language = asked.language;
        let groups =
            Groups::of_profiles(store, asked, asked.share, |profile| profile.routing.clone())?;
        let shape = Shape {
            title: self.title(language),
            column: ("protocol", language.of("protocol", "Protokoll")),
            measure: Measure::Nodes,
            order: Order::Size,
            stacked: false,
        };
        Ok(groups.figure(asked, &shape))
    }
}
