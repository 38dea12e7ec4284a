//! An answer as rows, and as a worker writes it.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use crate::figure::Cell;

/// A query's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Names of the columns, of which two may be the same.
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`. No cell is a `Time`: times are texts here.
    #[serde(deserialize_with = "read_rows")]
    pub rows: Vec<Vec<Cell>>,
    /// True if rows are missing.
    pub truncated: bool,
    /// Milliseconds that the query took.
    pub took_ms: f64,
}

/// Message of a worker.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WorkerMessage {
    Answer(Answer),
    /// The query is at fault.
    Refused(String),
    /// The query exceeded its time, or its memory.
    Long,
    Large,
    /// The copy cannot be read.
    Damaged(String),
    /// The server is at fault.
    Failed(String),
}

struct Read(Cell);

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OfCell;
        impl Visitor<'_> for OfCell {
            type Value = Cell;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a number, a text or nothing")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Cell, E> {
                Ok(Cell::Nothing)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Cell, E> {
                Ok(Cell::Whole(number))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Cell, E> {
                Ok(i64::try_from(number).map_or(Cell::Real(number as f64), Cell::Whole))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Cell, E> {
                Ok(Cell::Real(number))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Cell, E> {
                Ok(Cell::Text(text.to_owned()))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Cell, E> {
                Ok(Cell::Text(text))
            }
        }
        from.deserialize_any(OfCell).map(Read)
    }
}

fn read_rows<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<Cell>>, D::Error> {
    let rows = Vec::<Vec<Read>>::deserialize(from)?;
    let row = |row: Vec<Read>| row.into_iter().map(|cell| cell.0).collect();
    Ok(rows.into_iter().map(row).collect())
}

impl Answer {
    /// Returns the approximate bytes in memory.
    pub(super) fn weight(&self) -> usize {
        let cells = self.rows.iter().flatten();
        let texts: usize = cells
            .map(|cell| match cell {
                Cell::Text(text) => text.len() + 16,
                _ => 0,
            })
            .sum();
        texts + self.rows.len() * (24 + self.columns.len() * size_of::<Cell>()) + 256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_the_same() {
        let said = WorkerMessage::Answer(Answer {
            columns: vec!["a".into(), "a".into()],
            rows: vec![
                vec![Cell::Nothing, Cell::Whole(i64::MIN)],
                vec![Cell::Real(2.5), Cell::Text("\u{0}<b>\"".into())],
                vec![Cell::Real(0.1), Cell::Whole(i64::MAX)],
            ],
            truncated: true,
            took_ms: 1.5,
        });
        let text = serde_json::to_string(&said).expect("JSON");
        assert_eq!(
            serde_json::from_str::<WorkerMessage>(&text).expect("read"),
            said
        );
    }
}
