//! A figure as JSON and as CSV.
//!
//! Spreadsheets take a cell that begins with `=`, `+`, `-` or `@` for a formula: in CSV such a text
//! gets an apostrophe in front, as OWASP advises ("CSV injection"), and so does the name of a
//! column. Numbers stay unchanged.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::error::Error;
use crate::figure::{Cell, Column, Figure, Table};
use crate::time::iso;

/// Returns `{"chart", "title", "from", "to", "by", NAME: [{COLUMN: value}], "columns": [{"key",
/// "title"}], "notes"}`, `NAME` from [`crate::figure::Table::name`], members and columns in that
/// order.
pub fn json(chart: &str, figure: &Figure) -> Result<String, Error> {
    let answer = Answer { chart, figure };
    serde_json::to_string(&answer).map_err(|error| Error::Other(format!("writing JSON: {error}")))
}

struct Answer<'a> {
    chart: &'a str,
    figure: &'a Figure,
}

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let figure = self.figure;
        let mut map = to.serialize_map(Some(8))?;
        map.serialize_entry("chart", self.chart)?;
        map.serialize_entry("title", &figure.title)?;
        map.serialize_entry("from", &iso(figure.from))?;
        map.serialize_entry("to", &iso(figure.to))?;
        map.serialize_entry("by", figure.by.word())?;
        map.serialize_entry(figure.table.name, &Rows(&figure.table))?;
        map.serialize_entry("columns", &Columns(&figure.table.columns))?;
        map.serialize_entry("notes", &figure.notes)?;
        map.end()
    }
}

struct Columns<'a>(&'a [Column]);

impl Serialize for Columns<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let texts = |column: &Column| {
            [
                ("key", column.key.to_owned()),
                ("title", column.title.clone()),
            ]
        };
        to.collect_seq(self.0.iter().map(|column| BTreeMap::from(texts(column))))
    }
}

struct Rows<'a>(&'a Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.rows.iter().map(|row| Row(&self.0.columns, row)))
    }
}

struct Row<'a>(&'a [Column], &'a [Cell]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|column| column.key).zip(self.1))
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => to.serialize_none(),
            Self::Text(text) => to.serialize_str(text),
            Self::Whole(number) => to.serialize_i64(*number),
            Self::Real(number) => match whole(*number) {
                Some(whole) => to.serialize_i64(whole),
                // JSON has no value for NaN and infinity.
                None => to.serialize_f64(*number),
            },
            Self::Time(hour) => to.serialize_str(&iso(*hour)),
        }
    }
}

/// Returns a number without a fraction as an integer.
fn whole(number: f64) -> Option<i64> {
    // Above it not each whole number is one of these.
    let exact = number.fract() == 0.0 && number.abs() < 9e15;
    exact.then_some(number as i64)
}

/// Returns CSV (RFC 4180), with the columns' keys as the first line.
pub fn csv(figure: &Figure) -> Result<String, Error> {
    let keys = figure.table.columns.iter().map(|column| column.key);
    csv_of(keys, &figure.table.rows)
}

/// Writes any rows as CSV.
pub(crate) fn csv_of<'a>(
    columns: impl IntoIterator<Item = &'a str>,
    rows: &[Vec<Cell>],
) -> Result<String, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Other(format!("writing CSV: {error}"));
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    let columns = columns.into_iter().map(no_formula);
    let columns = columns.map(|name| name.into_owned());
    writer
        .write_record(columns)
        .map_err(|error| failed(&error))?;
    for row in rows {
        let cells = row.iter().map(text);
        writer.write_record(cells).map_err(|error| failed(&error))?;
    }
    let octets = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(octets).map_err(|error| failed(&error))
}

/// Returns a text that a spreadsheet does not take for a formula.
pub(crate) fn no_formula(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Nothing => String::new(),
        Cell::Text(text) => no_formula(text).into_owned(),
        Cell::Whole(number) => number.to_string(),
        Cell::Real(number) if number.is_finite() => number.to_string(),
        Cell::Real(_) => String::new(),
        Cell::Time(hour) => iso(*hour),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::figure::Plot;
    use crate::time::Unit;

    fn figure(rows: Vec<Vec<Cell>>) -> Figure {
        let columns = ["t", "name", "nodes"].map(|key| Column {
            key,
            title: key.to_uppercase(),
        });
        Figure {
            title: "A \"title\"".into(),
            name: "A \"title\"".into(),
            notes: vec!["one".into()],
            odd: 0,
            from: 0,
            to: 24,
            by: Unit::Hour,
            plot: Plot::Bars(Vec::new()),
            table: Table {
                name: "things",
                columns: columns.into(),
                rows,
            },
        }
    }

    fn name(text: &str) -> Cell {
        Cell::Text(text.into())
    }

    #[test]
    fn json_has_what_it_promises() {
        let rows = vec![
            vec![Cell::Time(1), name("</script>"), Cell::Whole(-3)],
            vec![Cell::Nothing, name(""), Cell::Real(2.0)],
            vec![Cell::Nothing, name(""), Cell::Real(0.5)],
            vec![Cell::Nothing, name(""), Cell::Real(f64::NAN)],
        ];
        let answer = super::json("top", &figure(rows)).expect("JSON");
        let read = serde_json::from_str::<Value>(&answer).expect("JSON");
        assert_eq!(
            read,
            json!({
                "chart": "top", "title": "A \"title\"", "by": "hour", "notes": ["one"],
                "columns": [
                    {"key": "t", "title": "T"}, {"key": "name", "title": "NAME"},
                    {"key": "nodes", "title": "NODES"},
                ],
                "from": "1970-01-01T00:00:00Z", "to": "1970-01-02T00:00:00Z",
                "things": [
                    {"t": "1970-01-01T01:00:00Z", "name": "</script>", "nodes": -3},
                    {"t": null, "name": "", "nodes": 2},
                    {"t": null, "name": "", "nodes": 0.5},
                    {"t": null, "name": "", "nodes": null},
                ],
            })
        );
        let row = "{\"t\":null,\"name\":\"\",\"nodes\":2}";
        assert!(answer.contains(row), "{answer}");
    }

    #[test]
    fn csv_is_quoted_and_no_formula() {
        let rows = vec![
            vec![Cell::Time(0), name("a \"b\", c\nd"), Cell::Whole(-3)],
            vec![Cell::Nothing, name("=1+1"), Cell::Real(-0.25)],
            vec![Cell::Nothing, name("@x"), Cell::Real(f64::INFINITY)],
            vec![Cell::Nothing, name("\n=1+1"), Cell::Nothing],
        ];
        let text = csv(&figure(rows)).expect("CSV");
        let lines = [
            "t,name,nodes",
            "1970-01-01T00:00:00Z,\"a \"\"b\"\", c\nd\",-3",
            ",'=1+1,-0.25",
            ",'@x,",
            ",\"'\n=1+1\",",
            "",
        ];
        assert_eq!(text, lines.join("\r\n"));
        let named = csv_of(["=1+1", "\n@x", "a"], &[]).expect("CSV");
        assert_eq!(named, "'=1+1,\"'\n@x\",a\r\n");
    }
}
