//! What was not as it should be, for people to look through.

use std::fmt::Write as _;

use rusqlite::Connection;

use super::layout::{Page, lay};
use super::places::own;
use super::{Reader, To, escape, format};
use crate::error::Error;
use crate::time;

/// Lines of a page.
const LINES: i64 = 100;

/// What of the ledger is wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Part of a file's name, a key, or what was wrong.
    pub search: String,
    /// The line that the last page ended with.
    pub after: i64,
}

/// A page of it.
pub(crate) fn page(reader: &Reader, store: &Connection, wanted: &Wanted) -> Result<String, Error> {
    let here = reader.places.address(reader, &To::Ledger);
    let path = here.split('?').next().unwrap_or_default().to_owned();
    let mut main = format!(
        "<div class=\"title\"><h1>{}</h1><p class=\"muted lead\">{}</p></div>\n\
         <section class=\"card\">\n\
         <form class=\"controls search\" method=\"get\" action=\"{}\" role=\"search\">\
         <div class=\"field\"><label for=\"q\">{}</label>\
         <input id=\"q\" name=\"q\" type=\"search\" value=\"{}\"></div>",
        reader.say("Ledger", "Fehlerbuch"),
        reader.say(
            "What was not as it should be, and how it was read all the same",
            "Was nicht war, wie es sein sollte, und wie es trotzdem gelesen wurde",
        ),
        escape(&path),
        reader.say("File, key or text", "Datei, Schlüssel oder Text"),
        escape(&wanted.search),
    );
    for (name, value) in own(reader) {
        if let Some(value) = value {
            let _ = write!(
                main,
                "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">"
            );
        }
    }
    let _ = writeln!(
        main,
        "<button class=\"button primary\">{}</button></form>",
        reader.say("Search", "Suchen")
    );
    let total = reader.language.whole(total(store, wanted)?);
    let _ = writeln!(
        main,
        "<p class=\"muted\">{}: {total}</p>",
        match wanted.search.trim() {
            "" => reader.say("Lines", "Zeilen"),
            _ => reader.say("Lines found", "Gefundene Zeilen"),
        }
    );
    let last = lines(reader, store, wanted, &mut main)?;
    let query = |after: Option<String>| {
        let search = Some(wanted.search.clone()).filter(|search| !search.is_empty());
        let pairs = [("q", search), ("after", after)];
        let query = api::query::encode(pairs.into_iter().chain(own(reader)));
        escape(&format!("{path}?{query}"))
    };
    main.push_str("<p class=\"pages\">");
    if wanted.after > 0 {
        let first = reader.say("From the beginning", "Von vorn");
        let _ = write!(
            main,
            "<a class=\"button\" href=\"{}\">{first}</a> ",
            query(None)
        );
    }
    if let Some(last) = last {
        let next = reader.say("Further", "Weiter");
        let address = query(Some(last.to_string()));
        let _ = write!(
            main,
            "<a class=\"button\" href=\"{address}\" rel=\"next\">{next}</a>"
        );
    }
    main.push_str("</p>\n</section>\n");
    let pairs = match wanted.search.as_str() {
        "" => Vec::new(),
        search => vec![("q".to_owned(), search.to_owned())],
    };
    Ok(lay(
        reader,
        &Page {
            title: reader.say("Ledger", "Fehlerbuch").to_owned(),
            current: "ledger",
            path: path.clone(),
            pairs,
            head: String::new(),
            main,
        },
    ))
}

/// Which lines are wanted; `?1` is what is looked for, in small letters.
const FOUND: &str = "(?1 = '' OR instr(lower(file), ?1) > 0 \
                     OR instr(lower(coalesce(key, '')), ?1) > 0 OR instr(lower(what), ?1) > 0)";

fn total(store: &Connection, wanted: &Wanted) -> Result<i64, Error> {
    let search = wanted.search.trim().to_lowercase();
    let sql = format!("SELECT count(*) FROM ledger WHERE {FOUND}");
    Ok(store.query_row(&sql, [search], |row| row.get(0))?)
}

/// Writes the lines, and says which one was last where there are more.
fn lines(
    reader: &Reader,
    store: &Connection,
    wanted: &Wanted,
    html: &mut String,
) -> Result<Option<i64>, Error> {
    let mut query = store.prepare_cached(&format!(
        "SELECT id, file, hour, key, what, read_as FROM ledger \
         WHERE id > ?2 AND {FOUND} ORDER BY id LIMIT ?3",
    ))?;
    let search = wanted.search.trim().to_lowercase();
    let mut rows = query.query(rusqlite::params![search, wanted.after, LINES + 1])?;
    let _ = write!(
        html,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\
         <table class=\"table\"><thead><tr>",
        reader.say("Ledger", "Fehlerbuch")
    );
    for title in [
        reader.say("File", "Datei"),
        reader.say("Hour", "Stunde"),
        reader.say("Key", "Schlüssel"),
        reader.say("What", "Was"),
        reader.say("Read as", "Gelesen als"),
    ] {
        let _ = write!(html, "<th scope=\"col\">{title}</th>");
    }
    html.push_str("</tr></thead><tbody>\n");
    let (mut count, mut last) = (0, None);
    while let Some(row) = rows.next()? {
        count += 1;
        if count > LINES {
            html.push_str("</tbody></table></div>\n");
            return Ok(last);
        }
        last = Some(row.get(0)?);
        let hour: Option<i64> = row.get(2)?;
        let key: Option<String> = row.get(3)?;
        let text = |at| row.get::<_, String>(at).map(|text| escape(&text));
        let _ = writeln!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            text(1)?,
            hour.map_or("–".to_owned(), |hour| format::time(
                time::Unit::Hour,
                hour
            )),
            escape(&key.unwrap_or_else(|| "–".to_owned())),
            text(4)?,
            text(5)?,
        );
    }
    html.push_str("</tbody></table></div>\n");
    if count == 0 {
        let _ = writeln!(
            html,
            "<p class=\"notice good\">{}</p>",
            reader.say("Nothing of that kind.", "Nichts dergleichen.")
        );
    }
    Ok(None)
}
