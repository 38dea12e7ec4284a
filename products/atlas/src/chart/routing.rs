//! Protocols of routing over time.

use std::collections::HashMap;

use rusqlite::Connection;

use super::groups::{Groups, Measure, Order, Shape};
use super::{Chart, Parameter};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::Figure;
use crate::text::{Language, spelling};

/// See the module.
pub struct Routing;

/// Protocols by their spelling. Of those that no mapping names, the least way of writing counts:
/// "OSPF" and "ospf" are one.
fn names(store: &Connection) -> Result<HashMap<String, String>, Error> {
    let mut read = store.prepare_cached("SELECT DISTINCT protocol FROM profile_routing")?;
    let all = read.query_map([], |row| row.get::<_, String>(0))?;
    let mut names = HashMap::new();
    for protocol in all {
        let protocol = protocol?;
        let name = names
            .entry(spelling(&protocol))
            .or_insert_with(|| protocol.clone());
        if protocol < *name {
            *name = protocol;
        }
    }
    Ok(names)
}

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

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let names = names(store)?;
        let groups = Groups::of_profiles(store, asked, asked.share, |profile| {
            let named = |protocol: &String| {
                let name = names.get(&spelling(protocol));
                name.unwrap_or(protocol).clone()
            };
            let mut all: Vec<String> = profile.routing.iter().map(named).collect();
            all.sort_unstable();
            all.dedup();
            all
        })?;
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
