//! The page about the atlas, with instructions for use elsewhere.

use std::fmt::Write as _;

use rusqlite::Connection;

use super::layout::{Page, lay};
use super::{Reader, Shape, To, escape};
use crate::chart::{self, Parameter};
use crate::error::Error;

/// Returns the page.
pub(crate) fn page(reader: &Reader, store: &Connection) -> Result<String, Error> {
    let mut main = format!(
        "<div class=\"title\"><h1>{}</h1></div>\n<section class=\"card\">\n<h2>{}</h2>\n<p>{}</p>\n\
         <p>{}</p>\n",
        reader.say("About", "Über"),
        reader.say("What is shown", "Was gezeigt wird"),
        reader.say(
            "Communities of free networks publish a file about themselves; a directory collects \
             these files. Its snapshots are the data here. A number counts as live up to two \
             days after its community told it, as stale from then on or where the last fetch \
             failed, and as frozen after 90 days. Numbers below zero and above 100,000 are odd: \
             they are listed, and never counted. Where a metacommunity and its parts both tell \
             numbers, nodes are counted once: the larger of its own number and the sum of its \
             parts'. Times are UTC; a month's number is the mean of its hours.",
            "Gemeinschaften freier Netze veröffentlichen eine Datei über sich; ein Verzeichnis \
             sammelt diese Dateien. Seine Schnappschüsse sind die Daten hier. Eine Zahl gilt als \
             aktuell bis zwei Tage, nachdem ihre Gemeinschaft sie gemeldet hat, danach oder nach \
             einem gescheiterten Abruf als veraltet, und nach 90 Tagen als eingefroren. Zahlen unter \
             null und über 100.000 sind seltsam: sie werden aufgeführt, aber nie gezählt. Wo eine \
             Metagemeinschaft und ihre Teile Zahlen melden, werden Knoten einmal gezählt: die \
             größere aus ihrer eigenen Zahl und der Summe ihrer Teile. Zeiten sind UTC; die Zahl \
             eines Monats ist das Mittel seiner Stunden.",
        ),
        reader.say(
            "Everything that was not as it should be is in the ledger, with how it was read all \
             the same.",
            "Alles, was nicht war, wie es sein sollte, steht im Fehlerbuch, samt dem, wie es \
             trotzdem gelesen wurde.",
        ),
    );
    record(reader, store, &mut main)?;
    main.push_str("</section>\n");
    if reader.places.answers() {
        addresses(reader, &mut main);
    }
    let here = reader.places.address(reader, &To::About);
    Ok(lay(
        reader,
        &Page {
            title: reader.say("About", "Über").to_owned(),
            current: "about",
            path: here.split('?').next().unwrap_or_default().to_owned(),
            pairs: Vec::new(),
            head: String::new(),
            main,
        },
    ))
}

/// Writes the size of the record.
fn record(reader: &Reader, store: &Connection, html: &mut String) -> Result<(), Error> {
    let count = |query: &str| -> Result<String, Error> {
        let count: i64 = store.query_row(query, [], |row| row.get(0))?;
        Ok(reader.language.whole(count))
    };
    html.push_str("<dl class=\"figures\">");
    for (name, value) in [
        (
            reader.say("Snapshots", "Schnappschüsse"),
            "SELECT count(*) FROM hour_totals",
        ),
        (
            reader.say("Entries", "Einträge"),
            "SELECT coalesce(sum(listed), 0) FROM month_totals",
        ),
        (
            reader.say("Communities", "Gemeinschaften"),
            "SELECT count(*) FROM communities",
        ),
    ] {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{}</dd></div>", count(value)?);
    }
    html.push_str("</dl>\n");
    Ok(())
}

/// Lists all charts as addresses.
fn addresses(reader: &Reader, html: &mut String) {
    let _ = write!(
        html,
        "<section class=\"card\">\n<h2>{}</h2>\n<p>{}</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\
         <table class=\"table\"><thead><tr>\
         <th scope=\"col\">{}</th><th scope=\"col\">{}</th><th scope=\"col\">{}</th></tr></thead>\
         <tbody>\n",
        reader.say("Addresses", "Adressen"),
        reader.say(
            "Each chart is an address, and its state is what stands behind the question mark. \
             .svg, .csv and .json give it as a file, which other pages may use too; /embed/ gives \
             it alone, for frames; /oembed tells programs how to embed it.",
            "Jedes Diagramm ist eine Adresse, und sein Zustand ist, was hinter dem Fragezeichen \
             steht. .svg, .csv und .json geben es als Datei, die auch andere Seiten benutzen \
             dürfen; /embed/ gibt es allein, für Rahmen; /oembed sagt Programmen, wie es \
             einzubetten ist.",
        ),
        reader.say("Address", "Adresse"),
        reader.say("What", "Was"),
        reader.say("Can be asked", "Kann gefragt werden"),
    );
    let asked = reader.asks();
    for chart in chart::ALL {
        let address = To::Chart(chart.name(), Shape::Page, &asked);
        let _ = writeln!(
            html,
            "<tr><th scope=\"row\"><a href=\"{}\"><code>/chart/{}</code></a></th><td>{}</td>\
             <td><code>{}</code></td></tr>",
            reader.href(&address),
            chart.name(),
            escape(chart.about(reader.language)),
            parameters(*chart),
        );
    }
    html.push_str("</tbody></table></div>\n</section>\n");
}

/// Returns the parameters of a chart, as words of addresses.
pub(crate) fn parameters(chart: &dyn chart::Chart) -> String {
    let own = chart.parameters().iter().map(|parameter| match parameter {
        Parameter::At => "at",
        Parameter::Count => "n",
        Parameter::Key => "key",
        Parameter::Group => "group=meta",
        Parameter::Share => "share=1",
    });
    let all = ["from", "to", "by", "only"].into_iter().chain(own);
    all.collect::<Vec<_>>().join(" ")
}
