//! The first page: an overview of the data.

use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension};

use super::layout::{Page, lay};
use super::{Reader, Shape, To, chart, escape, format, ledger};
use crate::chart::Chart;
use crate::chart_query::{ChartQuery, PictureStyle};
use crate::error::Error;
use crate::time::Unit;

/// The charts on it, and how many twelfths of its width they take. The others have links.
const SHOWN: &[(&str, u32)] = &[
    ("growth", 12),
    ("top", 6),
    ("heat", 6),
    ("routing", 6),
    ("cloud", 6),
];

/// Returns the page.
pub(crate) fn page(reader: &Reader, store: &Connection) -> Result<String, Error> {
    let mut main = format!(
        "<div class=\"title\"><h1>{}</h1><p class=\"muted lead\">{}</p></div>\n",
        reader.say("A community's data", "Daten einer Gemeinschaft"),
        reader.say(
            "What communities of free networks report about themselves, hour by hour, as charts",
            "Was Gemeinschaften freier Netze von sich erzählen, Stunde für Stunde, als Diagramme",
        ),
    );
    main.push_str("<div class=\"grid\">\n");
    figures(reader, store, &mut main)?;
    for (name, span) in SHOWN {
        if let Some(chart) = crate::chart::find(name) {
            card(reader, chart, store, *span, &mut main)?;
        }
    }
    let _ = write!(
        main,
        "<section class=\"card span-12\"><h2>{}</h2><ul class=\"examples\">",
        reader.say("More charts", "Weitere Diagramme")
    );
    let asked = reader.asks();
    let rest = crate::chart::ALL.iter();
    for chart in rest.filter(|chart| !SHOWN.iter().any(|(name, _)| *name == chart.name())) {
        let to = match super::layout::needs_key(*chart) {
            true => To::Communities,
            false => To::Chart(chart.name(), Shape::Page, &asked),
        };
        let _ = write!(
            main,
            "<li><a href=\"{}\">{}</a> <span class=\"muted\">{}</span></li>",
            reader.href(&to),
            escape(chart.title(reader.language)),
            escape(chart.about(reader.language)),
        );
    }
    main.push_str("</ul></section>\n</div>\n");
    let here = reader.places.address(reader, &To::Overview);
    Ok(lay(
        reader,
        &Page {
            title: reader.say("Overview", "Übersicht").to_owned(),
            current: "",
            path: here.split('?').next().unwrap_or_default().to_owned(),
            pairs: Vec::new(),
            head: String::new(),
            main,
        },
    ))
}

/// Writes the last hour in figures.
fn figures(reader: &Reader, store: &Connection, html: &mut String) -> Result<(), Error> {
    let last = "SELECT hour, live + stale + frozen, listed, odd FROM hour_totals \
                ORDER BY hour DESC LIMIT 1";
    let of = |row: &rusqlite::Row<'_>| <(i64, i64, i64, i64)>::try_from(row);
    let last = store.query_row(last, [], of).optional()?;
    let Some((hour, nodes, listed, odd)) = last else {
        let _ = writeln!(
            html,
            "<p class=\"notice warn span-12\">{} <code>weir-atlas import</code></p>",
            reader.say("No data imported yet:", "Es wurde noch nichts eingelesen:")
        );
        return Ok(());
    };
    let first: i64 = store.query_row("SELECT min(hour) FROM hour_totals", [], |row| row.get(0))?;
    html.push_str("<section class=\"card span-12\"><dl class=\"figures\">");
    let whole = |number| reader.language.whole(number);
    for (name, value) in [
        (reader.say("Nodes now", "Knoten jetzt"), whole(nodes)),
        (
            reader.say("Communities now", "Gemeinschaften jetzt"),
            whole(listed),
        ),
        (
            reader.say("Since", "Seit"),
            format::time(Unit::Month, first),
        ),
        (
            reader.say("Now is", "Jetzt ist"),
            format::time(Unit::Hour, hour),
        ),
    ] {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    html.push_str("</dl>");
    if let Some(note) = crate::chart::unbelieved(odd, reader.language) {
        let _ = write!(html, "<p class=\"muted small\">{}", escape(&note));
        if reader.places.answers() {
            let _ = write!(
                html,
                " {}",
                ledger::doubts(reader, "", ledger::seen(reader))
            );
        }
        html.push_str("</p>");
    }
    html.push_str("</section>\n");
    Ok(())
}

fn card(
    reader: &Reader,
    chart: &dyn Chart,
    store: &Connection,
    span: u32,
    html: &mut String,
) -> Result<(), Error> {
    let (width, height) = if span > 6 { (960, 400) } else { (560, 400) };
    let asked = ChartQuery {
        look: PictureStyle {
            width,
            height,
            theme: reader.theme,
            ..PictureStyle::default()
        },
        ..reader.asks()
    };
    let figure = chart.figure(store, &asked)?;
    let title = escape(chart.title(reader.language));
    let _ = write!(
        html,
        "<section class=\"card span-{span}\"><div class=\"card-head\"><h2 class=\"hidden\">{title}</h2>\
         <a href=\"{}\">{}<span class=\"hidden\">: {title}</span></a></div>\n{}</section>\n",
        reader.href(&To::Chart(chart.name(), Shape::Page, &reader.asks())),
        reader.say("More", "Mehr"),
        chart::drawn(reader, chart, &figure, &asked, chart::ChartPosition::Among),
    );
    Ok(())
}
