//! Protocols of routing over time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::Connection;

use super::groups::{Groups, Measure, Order, Shape, UNKNOWN};
use super::range::{Range, Reads};
use super::sums::{self, Profiles};
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
        let range = Range::of(store, asked, Reads::All)?;
        let mut sums = Vec::new();
        sums::each(store, range.by, range.numbers(), |sum| sums.push(sum))?;
        let mut groups = Groups::new(store, range)?;
        let mut profiles = Profiles::new(store)?;
        let mut known = HashMap::<i64, Vec<usize>>::new();
        let silent = language.of("not said", "keine Angabe");
        for sum in &sums {
            if let Entry::Vacant(new) = known.entry(sum.profile) {
                let profile = profiles.get(sum.profile)?;
                let mut indices = Vec::new();
                for protocol in &profile.routing {
                    indices.push(groups.group(protocol, protocol));
                }
                if indices.is_empty() {
                    indices.push(groups.group(UNKNOWN, silent));
                }
                new.insert(indices);
            }
            let of = &known[&sum.profile];
            let parts = if asked.share { of.len() } else { 1 };
            for &group in of {
                let nodes = sum.counted() as f64 / parts as f64;
                groups.add(group, sum.number, nodes, sum.listed);
            }
        }
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
