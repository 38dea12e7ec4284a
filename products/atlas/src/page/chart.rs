//! A chart's page, and the same for other people's frames.

use std::fmt::Write as _;

use rusqlite::Connection;

use super::form::form;
use super::layout::{Page, head, lay, needs_key};
use super::snippets::{NARROW, discovery, snippets};
use super::table::table;
use super::{Reader, Shape, To, escape, format, ledger};
use crate::chart::{Chart, Parameter};
use crate::chart_query::{ChartQuery, PictureStyle, Span};
use crate::figure::Figure;
use crate::svg;
use crate::time::Unit;

/// Returns a chart's page.
pub(crate) fn page(
    reader: &Reader,
    chart: &dyn Chart,
    store: &Connection,
    asked: &ChartQuery,
    figure: &Figure,
) -> String {
    let name = chart.name();
    let mut main = format!(
        "<div class=\"title\" data-part=\"title\"><h1>{}</h1><p class=\"muted lead\">{}</p></div>\n\
         <section class=\"card\">\n",
        escape(&figure.title),
        escape(chart.about(reader.language)),
    );
    match reader.places.answers() {
        true => main.push_str(&form(reader, chart, asked)),
        false => years(reader, chart, store, &mut main),
    }
    main.push_str(&drawn(reader, chart, figure, asked, ChartPosition::Main));
    notes(reader, figure, asked, &mut main);
    if reader.places.answers() {
        nearest(reader, chart, store, asked, figure, &mut main);
    }
    main.push_str("</section>\n");
    let _ = write!(
        main,
        "<section class=\"card\" data-part=\"table\">\n<h2>{}</h2>\n{}</section>\n",
        reader.say("As a table", "Als Tabelle"),
        table(reader, figure)
    );
    files(reader, name, asked, &mut main);
    if reader.places.answers() {
        snippets(reader, name, figure, asked, &mut main);
    }
    let pairs = api::query::decode(&asked.query()).unwrap_or_default();
    let pairs = pairs
        .into_iter()
        .filter(|(name, _)| name != "lang" && name != "theme");
    // On a server the question is in `pairs`, in a folder in the file's name.
    let nothing = ChartQuery::default();
    let whole = match reader.places.answers() {
        true => &nothing,
        false => asked,
    };
    let path = reader
        .places
        .address(reader, &To::Chart(name, Shape::Page, whole));
    lay(
        reader,
        &Page {
            title: figure.title.clone(),
            current: name,
            path: path.split('?').next().unwrap_or_default().to_owned(),
            pairs: pairs.collect(),
            head: discovery(reader, name, figure, asked),
            main,
        },
    )
}

/// Returns the chart alone, for frames.
pub(crate) fn embed(
    reader: &Reader,
    chart: &dyn Chart,
    asked: &ChartQuery,
    figure: &Figure,
) -> String {
    let mut html = String::new();
    head(reader, &figure.title, "", &mut html);
    let _ = write!(
        html,
        "<body class=\"embed\">\n<main>\n{}<p class=\"source\"><a href=\"{}\" target=\"_blank\" \
         rel=\"noopener\">{} · atlas</a></p>\n</main>\n</body>\n</html>\n",
        drawn(reader, chart, figure, asked, ChartPosition::Frame),
        escape(
            &reader
                .places
                .absolute(reader, &To::Chart(chart.name(), Shape::Page, asked))
        ),
        escape(&figure.title),
    );
    html
}

/// Place of a chart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChartPosition {
    /// Alone on its page; [`notes`] follow.
    Main,
    /// In a frame of fixed height.
    Frame,
    /// Among other charts.
    Among,
}

/// Draws the picture, for wide windows and for narrow ones.
pub(super) fn drawn(
    reader: &Reader,
    chart: &dyn Chart,
    figure: &Figure,
    asked: &ChartQuery,
    stands: ChartPosition,
) -> String {
    let link = |only: &[String]| {
        let asked = filtered(asked, only);
        let to = To::Chart(chart.name(), Shape::Page, &asked);
        reader.places.address(reader, &to)
    };
    let links = links(reader, &link);
    // The page's own style sheet has the dark colours.
    let draw = |look: &PictureStyle| {
        svg::without_sheet(&svg::draw(
            figure,
            chart.name(),
            look,
            reader.language,
            links,
        ))
    };
    let wide = PictureStyle {
        notes: stands != ChartPosition::Main,
        fit: stands == ChartPosition::Frame,
        ..asked.look
    };
    let narrow = PictureStyle {
        width: NARROW.0,
        height: NARROW.1.min(asked.look.height),
        ..wide
    };
    let pictures = format!(
        "<div class=\"drawn wide\">{}</div>\n<div class=\"drawn narrow\">{}</div>\n",
        draw(&wide),
        draw(&narrow),
    );
    if !reader.places.answers() {
        return pictures;
    }
    format!(
        "<weir-chart src=\"{}\"{}>\n{pictures}</weir-chart>\n",
        reader.href(&To::Chart(chart.name(), Shape::Page, asked)),
        match stands {
            ChartPosition::Main => " data-main",
            ChartPosition::Frame => " data-frame",
            ChartPosition::Among => "",
        },
    )
}

/// Writes the notes of a figure.
fn notes(reader: &Reader, figure: &Figure, asked: &ChartQuery, html: &mut String) {
    html.push_str("<ul class=\"notes\" data-part=\"notes\">");
    let unbelieved = crate::chart::unbelieved(figure.odd, reader.language);
    for note in &figure.notes {
        let _ = write!(html, "<li>{}", escape(note));
        if reader.places.answers() && unbelieved.as_ref() == Some(note) {
            let key = asked.key.as_deref().filter(|key| !key.contains(','));
            let key = key.unwrap_or_default();
            let _ = write!(
                html,
                " {}",
                ledger::doubts(reader, key, ledger::seen(reader))
            );
        }
        html.push_str("</li>");
    }
    html.push_str("</ul>\n");
}

/// Writes a link from an empty range to the nearest day with a snapshot.
fn nearest(
    reader: &Reader,
    chart: &dyn Chart,
    store: &Connection,
    asked: &ChartQuery,
    figure: &Figure,
    html: &mut String,
) {
    // The script takes it from the page of another state, so it is there, be it empty.
    html.push_str("<p class=\"links\" data-part=\"nearest\">");
    let empty = figure.table.rows.is_empty();
    let found = empty.then(|| crate::chart::nearest(store, figure.from, figure.to));
    let Some(Ok(Some(hour))) = found else {
        html.push_str("</p>\n");
        return;
    };
    let day = Some(Span::of(Unit::Day, Unit::Day.number(hour)));
    let asked = match chart.parameters().contains(&Parameter::At) {
        true => ChartQuery {
            at: day,
            ..asked.clone()
        },
        false => ChartQuery {
            from: day,
            to: day,
            by: None,
            ..asked.clone()
        },
    };
    let _ = writeln!(
        html,
        "<a class=\"button\" href=\"{}\">{}: {}</a></p>",
        reader.href(&To::Chart(chart.name(), Shape::Page, &asked)),
        reader.say("The nearest snapshot", "Die nächste Aufnahme"),
        format::time(Unit::Hour, hour),
    );
}

/// Writes links to the years, for pages without a server.
fn years(reader: &Reader, chart: &dyn Chart, store: &Connection, html: &mut String) {
    if needs_key(chart) {
        return;
    }
    let Ok(years) = super::recorded_years(store) else {
        return;
    };
    let _ = write!(
        html,
        "<p class=\"links\"><a class=\"button\" href=\"{}\">{}</a>",
        reader.href(&To::Chart(chart.name(), Shape::Page, &reader.asks())),
        reader.say("All", "Alles"),
    );
    for year in years {
        let asked = super::of_year(reader, chart, year);
        let _ = write!(
            html,
            " <a class=\"button\" href=\"{}\">{year}</a>",
            reader.href(&To::Chart(chart.name(), Shape::Page, &asked)),
        );
    }
    html.push_str("</p>\n");
}

fn files(reader: &Reader, name: &str, asked: &ChartQuery, html: &mut String) {
    let _ = write!(
        html,
        "<section class=\"card\" data-part=\"files\">\n<h2>{}</h2><p class=\"links\">",
        reader.say("As files", "Als Dateien"),
    );
    for (shape, title) in [
        (Shape::Svg, "SVG"),
        (Shape::Csv, "CSV"),
        (Shape::Json, "JSON"),
    ] {
        let _ = write!(
            html,
            "<a class=\"button\" href=\"{}\" download>{title}</a> ",
            reader.href(&To::Chart(name, shape, asked)),
        );
    }
    html.push_str("</p>\n</section>\n");
}

/// Draws the picture as a file of its own.
pub(crate) fn picture(
    reader: &Reader,
    chart: &dyn Chart,
    figure: &Figure,
    asked: &ChartQuery,
) -> String {
    let link = |only: &[String]| {
        let asked = filtered(asked, only);
        let to = To::Chart(chart.name(), Shape::Page, &asked);
        reader.places.absolute(reader, &to)
    };
    let links = links(reader, &link);
    svg::draw(figure, chart.name(), &asked.look, reader.language, links)
}

/// Returns the question restricted to these series.
fn filtered(asked: &ChartQuery, only: &[String]) -> ChartQuery {
    ChartQuery {
        only: only.to_vec(),
        ..asked.clone()
    }
}

/// Returns the links of a legend on a server; none in a folder of files.
fn links<'a>(reader: &Reader, link: svg::Links<'a>) -> Option<svg::Links<'a>> {
    reader.places.answers().then_some(link)
}
