//! The table beside a chart.

use std::fmt::Write as _;

use super::{Reader, To, escape, format};
use crate::figure::{Cell, Figure};
use crate::time::Unit;

/// Rows that a page has; the rest is in the CSV file.
const ROWS: usize = 400;

/// HTML of a figure's table.
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

/// A cell as people write it; times by what a point covers.
pub(super) fn written(reader: &Reader, by: Unit, cell: &Cell) -> String {
    match cell {
        Cell::Nothing => "–".to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Whole(number) => reader.language.whole(*number),
        Cell::Real(number) => format::real(reader.language, *number),
        Cell::Time(hour) => format::time(by, *hour),
    }
}
