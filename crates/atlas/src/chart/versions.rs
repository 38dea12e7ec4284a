//! Versions of the directory's format that communities write, over time.

use std::collections::HashMap;

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
            "How many communities write which version of the API's format",
            "Wie viele Gemeinschaften welche Version des API-Formats schreiben",
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
        let mut known = HashMap::<i64, usize>::new();
        for sum in &sums {
            let group = match known.get(&sum.profile) {
                Some(&group) => group,
                None => {
                    let profile = profiles.get(sum.profile)?;
                    let version = profile.api.as_deref().map_or("", str::trim);
                    let group = match version {
                        "" => groups.group(UNKNOWN, language.of("not said", "keine Angabe")),
                        _ => groups.group(version, version),
                    };
                    known.insert(sum.profile, group);
                    group
                }
            };
            groups.add(group, sum.number, sum.counted() as f64, sum.listed);
        }
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
