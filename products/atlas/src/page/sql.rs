//! Free queries: the form, the answer as table and picture, and the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::layout::{Page, lay};
use super::places::{hidden, own};
use super::table::written;
use super::{Reader, To, escape, format};
use crate::chart_query::{PictureStyle, Span};
use crate::figure::{Bar, Cell, Figure, Lines, Plot, Series, Style, Table};
use crate::german::Book;
use crate::sql::{self, Answer, Engine};
use crate::svg;
use crate::text::Language;
use crate::time::Unit;

/// Maximum number of rows on a page; the files have all rows.
const ROWS: usize = 400;
/// Maximum number of lines, and points of each, in a picture.
const LINES: usize = 8;
const POINTS: usize = 2000;
/// Maximum number of bars in a picture.
const BARS: usize = 30;

/// A query and its result.
pub(crate) struct QueryPage<'a> {
    pub query: &'a str,
    pub engine: Engine,
    /// `None`: no query. An error has its reason.
    pub answer: Option<Result<&'a Answer, &'a str>>,
}

/// Returns the page.
pub(crate) fn page(reader: &Reader, asked: &QueryPage<'_>) -> String {
    let path = path(reader);
    let mut main = format!(
        "<div class=\"title\"><h1>{}</h1><p class=\"muted lead\">{}</p></div>\n\
         <section class=\"card\">\n",
        reader.say("Free queries", "Freie Abfragen"),
        reader.say(
            "SQL over all that is known: an answer is a link, a table, a picture and a file",
            "SQL über alles, was bekannt ist: eine Antwort ist ein Link, eine Tabelle, ein Bild \
             und eine Datei",
        ),
    );
    form(reader, asked, &path, &mut main);
    match &asked.answer {
        Some(Ok(answer)) => {
            main.push_str("</section>\n");
            result(reader, asked, answer, &path, &mut main);
        }
        Some(Err(error)) => {
            let _ = writeln!(
                main,
                "<p class=\"notice bad\" role=\"alert\"><span>{}</span></p>\n</section>",
                reader.prose(Book::Errors, error)
            );
        }
        None => main.push_str("</section>\n"),
    }
    examples(reader, &path, &mut main);
    schema(reader, &mut main);
    lay(
        reader,
        &Page {
            title: reader.say("Free queries", "Freie Abfragen").to_owned(),
            current: "sql",
            path,
            pairs: match asked.query {
                "" => Vec::new(),
                query => vec![("q".to_owned(), query.to_owned())],
            },
            head: "<meta name=\"robots\" content=\"noindex\">\n".to_owned(),
            main,
        },
    )
}

fn path(reader: &Reader) -> String {
    let here = reader.places.address(reader, &To::Sql);
    here.split('?').next().unwrap_or_default().to_owned()
}

fn form(reader: &Reader, asked: &QueryPage<'_>, path: &str, html: &mut String) {
    let _ = write!(
        html,
        "<form class=\"sql\" method=\"get\" action=\"{}\">\n<div class=\"field\">\
         <label for=\"q\">SQL</label><textarea class=\"code\" id=\"q\" name=\"q\" rows=\"6\" \
         spellcheck=\"false\" autocapitalize=\"off\" required>{}</textarea></div>\n\
         <div class=\"controls\"><div class=\"field\"><label for=\"engine\">{}</label>\
         <select id=\"engine\" name=\"engine\">",
        escape(path),
        // A browser takes the first line end of a text area away.
        escape(&match asked.query {
            "" => String::new(),
            query => format!("\n{query}"),
        }),
        reader.say("Engine", "Maschine"),
    );
    for (engine, name) in [(Engine::Sqlite, "SQLite"), (Engine::Duckdb, "DuckDB")] {
        let value = match engine {
            Engine::Sqlite => "",
            Engine::Duckdb => engine.word(),
        };
        let selected = if engine == asked.engine {
            " selected"
        } else {
            ""
        };
        let _ = write!(html, "<option value=\"{value}\"{selected}>{name}</option>");
    }
    html.push_str("</select></div>\n");
    html.push_str(&hidden(reader));
    let _ = writeln!(
        html,
        "<button class=\"button primary\">{}</button></div>\n</form>",
        reader.say("Ask", "Fragen"),
    );
}

fn result(reader: &Reader, asked: &QueryPage<'_>, answer: &Answer, path: &str, html: &mut String) {
    let title = reader.say("Answer", "Antwort");
    let rows = reader.language.whole(answer.rows.len() as i64);
    let _ = write!(
        html,
        "<section class=\"card\" data-part=\"answer\">\n<h2>{title}</h2>\n\
         <p class=\"muted small\" role=\"status\">{rows} {}, {} ms</p>\n",
        match answer.rows.len() {
            1 => reader.say("row", "Zeile"),
            _ => reader.say("rows", "Zeilen"),
        },
        format::real(reader.language, answer.took_ms),
    );
    if answer.truncated {
        let _ = writeln!(
            html,
            "<p class=\"notice warn\">{}</p>",
            reader.say(
                "There is more than an answer may have: the rest was left out.",
                "Es gibt mehr, als eine Antwort haben darf: der Rest wurde weggelassen.",
            )
        );
    }
    if let Some(figure) = figure(answer, title, reader.language) {
        let draw = |width, height| {
            let look = PictureStyle {
                width,
                height,
                theme: reader.theme,
                ..PictureStyle::default()
            };
            svg::without_sheet(&svg::draw(&figure, "sql", &look, reader.language, None))
        };
        let _ = write!(
            html,
            "<div class=\"drawn wide\">{}</div>\n<div class=\"drawn narrow\">{}</div>\n",
            draw(960, 400),
            draw(400, 420)
        );
    }
    table(reader, answer, html);
    html.push_str("<p class=\"links\">");
    for (format, name) in [("csv", "CSV"), ("json", "JSON")] {
        let engine = match asked.engine {
            Engine::Sqlite => None,
            Engine::Duckdb => Some(asked.engine.word().to_owned()),
        };
        let query = api::query::encode([
            ("q", Some(asked.query.to_owned())),
            ("format", Some(format.to_owned())),
            ("engine", engine),
        ]);
        let address = escape(&format!("{path}?{query}"));
        let _ = write!(html, "<a class=\"button\" href=\"{address}\">{name}</a> ");
    }
    html.push_str("</p>\n</section>\n");
}

fn table(reader: &Reader, answer: &Answer, html: &mut String) {
    let _ = write!(
        html,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\
         <table class=\"table\"><thead><tr>",
        reader.say("Answer", "Antwort")
    );
    let first = answer.rows.first();
    for (at, column) in answer.columns.iter().enumerate() {
        let class = first.and_then(|row| row.get(at)).map_or("", class);
        let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escape(column));
    }
    html.push_str("</tr></thead><tbody>\n");
    for row in answer.rows.iter().take(ROWS) {
        html.push_str("<tr>");
        for cell in row {
            let text = escape(&written(reader, Unit::Hour, cell));
            let _ = write!(html, "<td{}>{text}</td>", class(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    if answer.rows.len() > ROWS {
        let more = reader.language.whole((answer.rows.len() - ROWS) as i64);
        let _ = writeln!(
            html,
            "<p class=\"muted small\">{more} {}</p>",
            match answer.rows.len() - ROWS {
                1 => reader.say(
                    "more row is in the files.",
                    "weitere Zeile steht in den Dateien.",
                ),
                _ => reader.say(
                    "more rows are in the files.",
                    "weitere Zeilen stehen in den Dateien.",
                ),
            }
        );
    }
}

/// Returns the class that aligns numbers to the right.
fn class(cell: &Cell) -> &'static str {
    match cell {
        Cell::Whole(_) | Cell::Real(_) => " class=\"number\"",
        _ => "",
    }
}

/// Returns lines at these times, and their first and last hour.
fn over_time(at: Vec<i64>, by: Unit, series: Vec<Series>) -> Option<(i64, i64, Unit, Plot)> {
    let (from, last) = (*at.first()?, *at.last()?);
    let to = by.begin(by.number(last).saturating_add(1));
    let lines = Lines {
        at,
        series,
        stacked: false,
        unit: String::new(),
        odd: Vec::new(),
    };
    Some((from, to, by, Plot::Time(lines.with_pauses(by))))
}

/// Draws an answer: as lines if the first column is a time, as bars if it is a name, with numbers
/// in the next column.
fn figure(answer: &Answer, title: &str, language: Language) -> Option<Figure> {
    let first = answer.rows.first()?;
    let number = |cell: &Cell| match cell {
        Cell::Whole(number) => Some(*number as f64),
        Cell::Real(number) if number.is_finite() => Some(*number),
        _ => None,
    };
    if answer.rows.len() < 2 {
        return None;
    }
    let named = by_name(answer);
    if named.is_none() && first.get(1).is_none_or(|cell| number(cell).is_none()) {
        return None;
    }
    let mut notes = Vec::new();
    let mut note = |shown: usize, all: usize, which: Which| {
        notes.extend((all > shown).then(|| part(language, shown, all, which)));
    };
    let (from, to, by, plot) = match (named, times(answer)) {
        (Some((at, by, mut series)), _) => {
            note(LINES, series.len(), Which::Names);
            series.truncate(LINES);
            over_time(at, by, series)?
        }
        (None, Some((at, by))) => {
            let columns = answer.columns.iter().enumerate().skip(1);
            let numeric = columns.filter(|(column, _)| {
                let cells = answer.rows.iter().filter_map(|row| row.get(*column));
                let mut known = cells
                    .filter(|cell| !matches!(cell, Cell::Nothing))
                    .peekable();
                known.peek().is_some() && known.all(|cell| number(cell).is_some())
            });
            let series = numeric.map(|(column, name)| Series {
                key: name.clone(),
                name: name.clone(),
                values: answer
                    .rows
                    .iter()
                    .take(POINTS)
                    .map(|row| row.get(column).and_then(number))
                    .collect(),
                style: Style::Line,
            });
            let mut series: Vec<Series> = series.collect();
            note(LINES, series.len(), Which::Columns);
            note(POINTS, answer.rows.len(), Which::Rows);
            series.truncate(LINES);
            over_time(at, by, series)?
        }
        (None, None) => {
            note(BARS, answer.rows.len(), Which::Rows);
            let bars = answer.rows.iter().take(BARS).map(|row| {
                let name = match row.first()? {
                    Cell::Text(name) => name.clone(),
                    Cell::Whole(number) => number.to_string(),
                    _ => return None,
                };
                let value = number(row.get(1)?)?;
                Some(Bar {
                    key: name.clone(),
                    name,
                    value,
                })
            });
            let bars = bars.collect::<Option<Vec<Bar>>>()?;
            (0, 0, Unit::Month, Plot::Bars(bars))
        }
    };
    Some(Figure {
        title: title.to_owned(),
        name: title.to_owned(),
        notes,
        odd: 0,
        from,
        to,
        by,
        plot,
        table: Table::default(),
    })
}

/// Elements of which a picture shows a part.
enum Which {
    Names,
    Columns,
    Rows,
}

/// Returns a note on the part of an answer in a picture.
fn part(language: Language, shown: usize, all: usize, which: Which) -> String {
    let [shown, all] = [shown, all].map(|count| language.whole(count as i64));
    match (language, which) {
        (Language::English, Which::Names) => {
            format!("The picture has the {shown} largest of {all} names.")
        }
        (Language::English, Which::Columns) => {
            format!("The picture has the first {shown} of {all} columns.")
        }
        (Language::English, Which::Rows) => {
            format!("The picture has the first {shown} of {all} rows.")
        }
        (Language::German, Which::Names) => {
            format!("Das Bild hat die {shown} größten von {all} Namen.")
        }
        (Language::German, Which::Columns) => {
            format!("Das Bild hat die ersten {shown} von {all} Spalten.")
        }
        (Language::German, Which::Rows) => {
            format!("Das Bild hat die ersten {shown} von {all} Zeilen.")
        }
    }
}

/// Reads rows of a time, a name and a number, in any order, as a line for each name: the times,
/// their unit, and the lines, the largest first. `None`: other rows.
fn by_name(answer: &Answer) -> Option<(Vec<i64>, Unit, Vec<Series>)> {
    let span = |row: &[Cell], at: usize| match row.get(at)? {
        Cell::Text(text) => Span::read(text),
        _ => None,
    };
    let first = answer.rows.first()?;
    let (time, name) = match (span(first, 0), span(first, 1)) {
        (Some(_), None) => (0, 1),
        (None, Some(_)) => (1, 0),
        _ => return None,
    };
    let mut by = Unit::Month;
    let mut at = BTreeSet::new();
    let mut named = BTreeMap::<&str, BTreeMap<i64, f64>>::new();
    for row in &answer.rows {
        let span = span(row, time)?;
        let (Cell::Text(name), Some(value)) = (row.get(name)?, row.get(2)) else {
            return None;
        };
        let value = match value {
            Cell::Whole(number) => *number as f64,
            Cell::Real(number) if number.is_finite() => *number,
            Cell::Nothing => continue,
            _ => return None,
        };
        by = by.min(unit(span));
        at.insert(span.begin);
        // Two numbers with one name and time need another chart.
        if named
            .entry(name)
            .or_default()
            .insert(span.begin, value)
            .is_some()
        {
            return None;
        }
    }
    if at.is_empty() || at.len() > POINTS {
        return None;
    }
    let mut named: Vec<(&str, BTreeMap<i64, f64>)> = named.into_iter().collect();
    named.sort_by(|(_, one), (_, other)| {
        let sum = |values: &BTreeMap<i64, f64>| values.values().sum::<f64>();
        sum(other).total_cmp(&sum(one))
    });
    let series = named.into_iter().map(|(name, values)| Series {
        key: name.to_owned(),
        name: name.to_owned(),
        values: at.iter().map(|at| values.get(at).copied()).collect(),
        style: Style::Line,
    });
    let series = series.collect();
    Some((at.into_iter().collect(), by, series))
}

fn unit(span: Span) -> Unit {
    match span.end - span.begin {
        1 => Unit::Hour,
        24 => Unit::Day,
        _ => Unit::Month,
    }
}

/// Reads the first column as hours, if all of it are increasing times.
fn times(answer: &Answer) -> Option<(Vec<i64>, Unit)> {
    let mut at = Vec::new();
    let mut by = Unit::Month;
    for row in answer.rows.iter().take(POINTS) {
        let Cell::Text(text) = row.first()? else {
            return None;
        };
        let span = Span::read(text)?;
        by = by.min(unit(span));
        if at.last().is_some_and(|last| *last >= span.begin) {
            return None;
        }
        at.push(span.begin);
    }
    Some((at, by))
}

fn examples(reader: &Reader, path: &str, html: &mut String) {
    let _ = write!(
        html,
        "<section class=\"card\">\n<h2>{}</h2>\n<ul class=\"examples\">",
        reader.say("Examples", "Beispiele")
    );
    for example in sql::EXAMPLES {
        let query = [("q", Some(example.sql.to_owned()))];
        let query = api::query::encode(query.into_iter().chain(own(reader)));
        let _ = write!(
            html,
            "<li><a href=\"{}\">{}</a></li>",
            escape(&format!("{path}?{query}")),
            escape(example.title(reader.language)),
        );
    }
    html.push_str("</ul>\n</section>\n");
}

fn schema(reader: &Reader, html: &mut String) {
    let _ = write!(
        html,
        "<section class=\"card\">\n<h2>{}</h2>\n<dl class=\"schema\">\n",
        reader.say("What there is to ask", "Was gefragt werden kann")
    );
    for table in sql::schema() {
        let _ = write!(
            html,
            "<dt>{}</dt><dd>{}<details><summary>{}</summary><ul>",
            escape(&table.name),
            reader.prose(Book::Schema, &table.about),
            reader.say("Columns", "Spalten"),
        );
        for column in &table.columns {
            let _ = write!(html, "<li><code>{}</code>", escape(&column.name));
            if !column.about.is_empty() {
                let _ = write!(html, " {}", reader.prose(Book::Schema, &column.about));
            }
            html.push_str("</li>");
        }
        html.push_str("</ul></details></dd>\n");
    }
    html.push_str("</dl>\n</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[(&str, &str, Cell)]) -> Answer {
        let text = |text: &str| Cell::Text(text.to_owned());
        Answer {
            columns: ["month", "name", "nodes"].map(str::to_owned).to_vec(),
            rows: rows
                .iter()
                .map(|(one, other, value)| vec![text(one), text(other), value.clone()])
                .collect(),
            ..Answer::default()
        }
    }

    fn lines(answer: &Answer) -> Option<Vec<(String, Vec<Option<f64>>)>> {
        let Plot::Time(lines) = figure(answer, "a", Language::English)?.plot else {
            return None;
        };
        let series = lines.series.into_iter();
        Some(series.map(|one| (one.name, one.values)).collect())
    }

    #[test]
    fn rows_of_a_time_a_name_and_a_number_are_lines() {
        let whole = Cell::Whole;
        let rows = [
            ("2019-10", "Ulm", whole(3)),
            ("2019-10", "Aachen", whole(5)),
            ("2019-11", "Ulm", whole(4)),
            ("2019-12", "Aachen", Cell::Real(6.5)),
            ("2019-12", "Ulm", Cell::Nothing),
        ];
        let expected = vec![
            ("Aachen".to_owned(), vec![Some(5.0), None, Some(6.5)]),
            ("Ulm".to_owned(), vec![Some(3.0), Some(4.0), None]),
        ];
        assert_eq!(lines(&answer(&rows)), Some(expected.clone()));
        // Sorted by name and then by time, with the name column first.
        let mut other = rows.clone();
        other.sort_by_key(|row| row.1);
        assert_eq!(lines(&answer(&other)), Some(expected.clone()));
        let turned = rows.clone().map(|(time, name, value)| (name, time, value));
        assert_eq!(lines(&answer(&turned)), Some(expected));
        // Two numbers of one name and month, and a text in place of a number.
        let twice = [rows[0].clone(), rows[0].clone()];
        assert_eq!(lines(&answer(&twice)), None);
        let text = [rows[0].clone(), ("2019-11", "Ulm", Cell::Text("x".into()))];
        assert_eq!(lines(&answer(&text)), None);
    }
}
