//! Growth: nodes of all communities over time.

use rusqlite::Connection;

use super::Chart;
use crate::asked::Asked;
use crate::error::Error;
use crate::figure::{Figure, Lines, Plot, Table};
use crate::text::Language;
use crate::time::Unit;

/// See the module.
pub struct Growth;

impl Chart for Growth {
    fn name(&self) -> &'static str {
        "growth"
    }

    fn title(&self, language: Language) -> &'static str {
        match language {
            Language::English => "Growth",
            Language::German => "Wachstum",
        }
    }

    fn about(&self, language: Language) -> &'static str {
        match language {
            Language::English => "Nodes of all communities, month by month or hour by hour",
            Language::German => {
                "Knoten aller Gemeinschaften, Monat für Monat oder Stunde für Stunde"
            }
        }
    }

    fn figure(&self, _store: &Connection, asked: &Asked) -> Result<Figure, Error> {
        Ok(Figure {
            title: self.title(asked.language).into(),
            notes: Vec::new(),
            from: 0,
            to: 0,
            by: Unit::Month,
            plot: Plot::Time(Lines {
                at: Vec::new(),
                series: Vec::new(),
                stacked: true,
                unit: "nodes".into(),
            }),
            table: Table::default(),
        })
    }
}
