//! Communities by size over time.

use rusqlite::Connection;

use super::groups::{Groups, Measure, Order, Shape};
use super::helpers::mean;
use super::range::{Range, RowScope};
use super::{Chart, Parameter, sums};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::Figure;
use crate::text::Language;

/// The least of each class, its key and its name.
const CLASSES: [(i64, &str, &str); 6] = [
    (0, "0", "0"),
    (1, "1-9", "1–9"),
    (10, "10-49", "10–49"),
    (50, "50-99", "50–99"),
    (100, "100-499", "100–499"),
    (500, "500+", "500+"),
];

/// See the module.
pub struct Sizes;

impl Chart for Sizes {
    fn name(&self) -> &'static str {
        "sizes"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Sizes", "Größen")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "How many communities have how many nodes, of those that tell a number",
            "Wie viele Gemeinschaften wie viele Knoten haben, von denen mit einer Zahl",
        )
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter::Share]
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let range = Range::of(store, asked, RowScope::All)?;
        let (by, numbers) = (range.by, range.numbers());
        let mut groups = Groups::new(store, range)?;
        let classes = CLASSES.map(|(least, key, name)| (least, groups.group(key, name)));
        sums::each(store, by, numbers, |sum| {
            // Missing and odd numbers have no size.
            if sum.hours == 0 {
                return Ok(());
            }
            let nodes = mean(sum.nodes, sum.hours);
            let class = classes.iter().rev().find(|(least, _)| nodes >= *least);
            if let Some((_, group)) = class {
                groups.add(*group, sum.number, sum.counted() as f64, sum.hours);
            }
            Ok(())
        })?;
        let shape = Shape {
            title: self.title(language),
            column: ("size", language.of("size", "Größe")),
            measure: Measure::Communities,
            order: Order::Key,
            stacked: true,
        };
        Ok(groups.figure(asked, &shape))
    }
}
