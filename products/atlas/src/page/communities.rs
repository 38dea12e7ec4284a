//! The list of communities, with a search.

use std::fmt::Write as _;

use rusqlite::Connection;

use super::layout::{Page, lay};
use super::{Reader, To, escape, format};
use crate::error::Error;
use crate::text::folded;
use crate::time::Unit;

/// Longest list: a directory has some hundred.
const MOST: usize = 2000;

/// A community, in the list.
struct Line {
    key: String,
    name: String,
    city: String,
    country: String,
    nodes: Option<i64>,
    /// Disbelieved number of the last hour.
    odd: Option<i64>,
    first: i64,
    last: i64,
}

/// Returns the list; `search` is part of a name, a key or a place.
pub(crate) fn page(
    reader: &Reader,
    store: &Connection,
    search: Option<&str>,
) -> Result<String, Error> {
    let search = search.unwrap_or_default().trim();
    let lines = read(store, search)?;
    let mut main = format!(
        "<div class=\"title\"><h1>{}</h1><p class=\"muted lead\">{}</p></div>\n\
         <section class=\"card\">\n",
        reader.say("Communities", "Gemeinschaften"),
        reader.say(
            "All communities that were ever in the directory, and the nodes last reported",
            "Wer je im Verzeichnis stand, und die zuletzt gemeldeten Knoten",
        ),
    );
    if reader.places.answers() {
        form(reader, search, &mut main);
    }
    let _ = write!(
        main,
        "<p class=\"muted small\" role=\"status\">{} {}</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\
         <table class=\"table\"><thead><tr>",
        reader.language.whole(lines.len() as i64),
        match lines.len() {
            1 => reader.say("community", "Gemeinschaft"),
            _ => reader.say("communities", "Gemeinschaften"),
        },
        reader.say("Communities", "Gemeinschaften"),
    );
    for (title, number) in [
        (reader.say("Name", "Name"), false),
        (reader.say("Place", "Ort"), false),
        (reader.say("Nodes", "Knoten"), true),
        (reader.say("First told", "Zuerst gemeldet"), false),
        (reader.say("Last told", "Zuletzt gemeldet"), false),
    ] {
        let class = if number { " class=\"number\"" } else { "" };
        let _ = write!(main, "<th scope=\"col\"{class}>{title}</th>");
    }
    main.push_str("</tr></thead><tbody>\n");
    for line in &lines {
        let place: Vec<&str> = [line.city.as_str(), line.country.as_str()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        let nodes = told(reader, line);
        let _ = writeln!(
            main,
            "<tr><th scope=\"row\"><a href=\"{}\">{}</a></th><td>{}</td>\
             <td class=\"number\">{nodes}</td><td>{}</td><td>{}</td></tr>",
            reader.href(&To::Community(&line.key)),
            escape(if line.name.is_empty() {
                &line.key
            } else {
                &line.name
            }),
            escape(&place.join(", ")),
            format::time(Unit::Day, line.first),
            format::time(Unit::Day, line.last),
        );
    }
    main.push_str("</tbody></table></div>\n</section>\n");
    let pairs = match search {
        "" => Vec::new(),
        search => vec![("q".to_owned(), search.to_owned())],
    };
    Ok(lay(
        reader,
        &Page {
            title: reader.say("Communities", "Gemeinschaften").to_owned(),
            current: "communities",
            path: path(reader),
            pairs,
            head: String::new(),
            main,
        },
    ))
}

/// Returns a community's nodes, with a note if they are missing or not the latest.
fn told(reader: &Reader, line: &Line) -> String {
    let whole = |nodes| reader.language.whole(nodes);
    let nodes = line.nodes.map(whole);
    let why = match line.odd {
        Some(odd) => {
            let why = reader.say("not believed", "nicht glaubhaft");
            let why = format!("{why}: {}", whole(odd));
            match reader.places.answers() {
                true => super::ledger::doubts(reader, &line.key, &why),
                false => why,
            }
        }
        None if nodes.is_none() => {
            let why = reader.say("no number was reported", "keine Zahl gemeldet");
            why.to_owned()
        }
        None => String::new(),
    };
    let nodes = nodes.as_deref().unwrap_or("–");
    match why.is_empty() {
        true => nodes.to_owned(),
        false => format!("{nodes}<br><span class=\"muted small\">{why}</span>"),
    }
}

/// Returns all keys, the largest community first.
pub(crate) fn keys(store: &Connection) -> Result<Vec<String>, Error> {
    Ok(read(store, "")?.into_iter().map(|line| line.key).collect())
}

fn path(reader: &Reader) -> String {
    let here = reader.places.address(reader, &To::Communities);
    here.split('?').next().unwrap_or_default().to_owned()
}

fn form(reader: &Reader, search: &str, html: &mut String) {
    let _ = write!(
        html,
        "<form class=\"controls search\" method=\"get\" action=\"{}\" role=\"search\">\
         <div class=\"field\"><label for=\"q\">{}</label>\
         <input id=\"q\" name=\"q\" type=\"search\" value=\"{}\"></div>",
        escape(&path(reader)),
        reader.say("Name or place", "Name oder Ort"),
        escape(search),
    );
    html.push_str(&super::places::hidden(reader));
    let _ = writeln!(
        html,
        "<button class=\"button primary\">{}</button></form>",
        reader.say("Search", "Suchen")
    );
}

/// Reads the communities. The nodes are those of the last day with any; a disbelieved number is
/// that of the last hour.
fn read(store: &Connection, search: &str) -> Result<Vec<Line>, Error> {
    let mut query = store.prepare_cached(
        "SELECT c.key, p.name, p.city, p.country, \
                (SELECT (d.nodes + d.hours / 2) / d.hours FROM days d \
                 WHERE d.community = c.id AND d.hours > 0 ORDER BY d.day DESC LIMIT 1) AS told, \
                c.first_hour, c.last_hour, \
                (SELECT o.nodes FROM observations o \
                 WHERE o.hour = c.last_hour AND o.community = c.id AND o.status = 3) \
         FROM communities c LEFT JOIN profiles p ON p.id = c.profile \
         WHERE c.last_hour IS NOT NULL AND (?1 = '' OR instr(lower(c.key), ?1) > 0 \
               OR instr(lower(p.name), ?1) > 0 OR instr(lower(p.city), ?1) > 0 \
               OR instr(lower(p.country), ?1) > 0) \
         ORDER BY told DESC NULLS LAST, c.key LIMIT ?2",
    )?;
    let rows = query.query_map(rusqlite::params![folded(search), MOST as i64], |row| {
        let text = |at| {
            row.get::<_, Option<String>>(at)
                .map(Option::unwrap_or_default)
        };
        Ok(Line {
            key: row.get(0)?,
            name: text(1)?,
            city: text(2)?,
            country: text(3)?,
            nodes: row.get(4)?,
            first: row.get::<_, Option<i64>>(5)?.unwrap_or_default(),
            last: row.get::<_, Option<i64>>(6)?.unwrap_or_default(),
            odd: row.get(7)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
