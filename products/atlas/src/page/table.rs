//! The table next to a chart.

use std::fmt::Write as _;

use super::{Reader, To, escape, format};
use crate::figure::{Cell, Figure};
use crate::time::Unit;

/// Maximum number of rows on a page; the CSV file has all rows.
const ROWS: usize = 400;

/// Returns HTML of a figure's table.
pub(super) fn table(reader: &Reader, figure: &Figure) -> String {
    let table = &figure.table;
    let key = table.columns.iter().position(|column| column.key == "key");
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\
         <table class=\"table\">\n<thead><tr>",
        escape(&figure.title)
    );
    // The first rows may have nothing there.
    let numbers = |at: usize| {
        table
            .rows
            .iter()
            .filter_map(|row| row.get(at))
            .any(is_number)
    };
    let numbers: Vec<bool> = (0..table.columns.len()).map(numbers).collect();
    for (column, numbers) in table.columns.iter().zip(&numbers) {
        let class = if *numbers { " class=\"number\"" } else { "" };
        let _ = write!(
            html,
            "<th scope=\"col\"{class}>{}</th>",
            escape(&column.title)
        );
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in table.rows.iter().take(ROWS) {
        html.push_str("<tr>");
        let own = key.and_then(|at| row.get(at));
        for (at, cell) in row.iter().enumerate() {
            let name = table
                .columns
                .get(at)
                .is_some_and(|column| column.key == "name");
            let text = match (cell, own, name) {
                (Cell::Text(name), Some(Cell::Text(key)), true) => format!(
                    "<a href=\"{}\">{}</a>",
                    reader.href(&To::Community(key)),
                    escape(name)
                ),
                _ => escape(&written(reader, figure.by, cell)),
            };
            let _ = match at {
                0 => write!(html, "<th scope=\"row\">{text}</th>"),
                _ if numbers.get(at) == Some(&true) => {
                    write!(html, "<td class=\"number\">{text}</td>")
                }
                _ => write!(html, "<td>{text}</td>"),
            };
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    if table.rows.len() > ROWS {
        let _ = writeln!(
            html,
            "<p class=\"muted small\">{} {}</p>",
            reader.language.whole((table.rows.len() - ROWS) as i64),
            match table.rows.len() - ROWS {
                1 => reader.say(
                    "more row is in the CSV file.",
                    "weitere Zeile steht in der CSV-Datei.",
                ),
                _ => reader.say(
                    "more rows are in the CSV file.",
                    "weitere Zeilen stehen in der CSV-Datei.",
                ),
            }
        );
    }
    html
}

fn is_number(cell: &Cell) -> bool {
    matches!(cell, Cell::Whole(_) | Cell::Real(_))
}

/// Returns a cell as text; times by their unit.
pub(super) fn written(reader: &Reader, by: Unit, cell: &Cell) -> String {
    match cell {
        Cell::Nothing => "–".to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Whole(number) => reader.language.whole(*number),
        Cell::Real(number) => format::real(reader.language, *number),
        Cell::Time(hour) => format::time(by, *hour),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Column, Plot, Table};

    #[test]
    fn a_page_has_no_more_rows_than_can_be_read() {
        let reader = Reader::of_server("https://example.org");
        for (rows, shown, more) in [(400, 400, None), (1600, 400, Some("1,200 more rows"))] {
            let column = |key| Column {
                key,
                title: key.into(),
            };
            let row = |nth: i64| match nth {
                0 => vec![
                    Cell::Text("k".into()),
                    Cell::Text("<n>".into()),
                    Cell::Nothing,
                ],
                _ => vec![Cell::Text("k".into()), Cell::Nothing, Cell::Whole(nth)],
            };
            let figure = Figure {
                title: "Table".into(),
                name: "Table".into(),
                odd: 0,
                notes: Vec::new(),
                from: 0,
                to: 1,
                by: Unit::Month,
                plot: Plot::Bars(Vec::new()),
                table: Table {
                    name: "communities",
                    columns: ["key", "name", "nodes"].map(column).into(),
                    rows: (0..rows).map(row).collect(),
                },
            };
            let html = table(&reader, &figure);
            assert_eq!(html.matches("<th scope=\"row\">").count(), shown);
            assert_eq!(
                html.contains("more rows are in the CSV file"),
                more.is_some()
            );
            assert!(html.contains(more.unwrap_or_default()), "{rows}");
            // The column is numeric, although the first row has no number; a name links to its
            // community.
            assert!(html.contains("<th scope=\"col\" class=\"number\">nodes</th>"));
            assert!(html.contains("<td><a href=\"/chart/community?key=k\">&lt;n&gt;</a></td>"));
            assert!(html.contains("<td class=\"number\">–</td>"));
        }
    }
}
