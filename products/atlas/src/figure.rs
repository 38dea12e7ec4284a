//! Result of a chart: something to draw, and its values as a table. All charts share the addresses,
//! JSON, CSV, SVG and pages made from it.

use crate::time::Unit;

/// A chart's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Title in the reader's language, as all texts here.
    pub title: String,
    /// Title without the time, for references that outlast the range.
    pub name: String,
    /// Notes for the reader: "2 numbers were not believed, and are not counted".
    pub notes: Vec<String>,
    /// Number of disbelieved numbers; one of `notes` mentions them.
    pub odd: i64,
    /// First hour of the range, since 1970.
    pub from: i64,
    /// First hour after the range.
    pub to: i64,
    /// Unit of a point.
    pub by: Unit,
    /// Drawing.
    pub plot: Plot,
    /// Table.
    pub table: Table,
}

impl Figure {
    /// Returns the approximate memory of the figure, in bytes.
    pub(crate) fn octets(&self) -> usize {
        let bars = |bars: &[Bar]| {
            let words = |bar: &Bar| bar.key.len() + bar.name.len();
            size_of_val(bars) + bars.iter().map(words).sum::<usize>()
        };
        let plot = match &self.plot {
            Plot::Time(lines) => {
                let values = |series: &Series| size_of_val(&*series.values);
                size_of_val(&*lines.at)
                    + size_of_val(&*lines.odd)
                    + size_of_val(&*lines.series)
                    + lines.series.iter().map(values).sum::<usize>()
            }
            Plot::Bars(of) | Plot::Words(of) => bars(of),
            Plot::Map { points, .. } => {
                let words = |point: &Point| point.key.len() + point.name.len();
                size_of_val(&**points) + points.iter().map(words).sum::<usize>()
            }
        };
        let text = |cell: &Cell| match cell {
            Cell::Text(text) => text.len(),
            _ => 0,
        };
        let row = |row: &Vec<Cell>| {
            size_of_val(row) + size_of_val(&**row) + row.iter().map(text).sum::<usize>()
        };
        let table = self.table.rows.iter().map(row).sum::<usize>();
        let notes = self.notes.iter().map(String::len).sum::<usize>();
        size_of_val(self) + plot + table + notes
    }
}

/// Drawing of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// Values over time.
    Time(Lines),
    /// Bars, the largest first.
    Bars(Vec<Bar>),
    /// Words, sized by their values.
    Words(Vec<Bar>),
    /// Places with values.
    Map {
        /// Places.
        points: Vec<Point>,
        /// As density if set, otherwise as circles. Its steps follow the largest value of a place
        /// at any time, given here, rather than the shown values, so each colour has one meaning at
        /// all times.
        heat: Option<f64>,
    },
}

/// Values over time. Points that follow each other are joined, unless one of them has no value.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Begin of each point: hours since 1970, ascending.
    pub at: Vec<i64>,
    /// Series, from the bottom up if stacked.
    pub series: Vec<Series>,
    /// True if the series are stacked.
    pub stacked: bool,
    /// Unit of the values: "nodes", "%".
    pub unit: String,
    /// Disbelieved numbers, in order of time: marks in a band of their own, without a scale.
    pub odd: Vec<Odd>,
}

/// Disbelieved numbers of one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Odd {
    /// Begin of the point: hours since 1970.
    pub at: i64,
    /// First of them; `None`: they are of several communities, and the sum lacks them.
    pub value: Option<i64>,
    /// Number of them: one for each hour of each community.
    pub count: i64,
}

/// A line or a band.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Names it in addresses (`only=`), and gives it its colour for ever.
    pub key: String,
    /// Name for readers.
    pub name: String,
    /// Values, as many as `at`; `None`: unknown.
    pub values: Vec<Option<f64>>,
    /// Style.
    pub style: Style,
}

/// Style of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// A line.
    #[default]
    Line,
    /// An area down to the series below.
    Area,
    /// A hatched area: old numbers.
    Hatched,
    /// Bars, for points that count events; below zero too.
    Columns,
    /// Left out by `only=`: named in the legend, but not drawn.
    Hidden,
}

/// A bar, or a word.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Names it in addresses, as [`Series::key`].
    pub key: String,
    /// Name for readers, and source of the colour, so that a metacommunity matches the community of
    /// the same name.
    pub name: String,
    /// Value.
    pub value: f64,
}

/// A place.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Key, as [`Series::key`].
    pub key: String,
    /// Name for readers.
    pub name: String,
    /// Degrees, WGS 84.
    pub latitude: f64,
    /// Degrees, WGS 84.
    pub longitude: f64,
    /// Value.
    pub value: f64,
}

/// Values of a figure, for JSON, CSV and the table next to a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The member of the JSON answer that has the rows: `series`, `communities`.
    pub name: &'static str,
    /// Columns, from left to right.
    pub columns: Vec<Column>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Names it in JSON and CSV: `t`, `nodes`.
    pub key: &'static str,
    /// Names it for readers.
    pub title: String,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Unknown.
    Nothing,
    /// A text, unchanged.
    Text(String),
    /// A number.
    Whole(i64),
    /// A number with parts.
    Real(f64),
    /// Hours since 1970: ISO 8601 in JSON and CSV.
    Time(i64),
}
