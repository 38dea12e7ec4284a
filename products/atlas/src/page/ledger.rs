//! The ledger: defects in the data, for readers to look through.

use std::fmt::Write as _;

use rusqlite::{Connection, params_from_iter};

use super::layout::{Page, lay};
use super::places::{hidden, own};
use super::{Reader, To, escape, format};
use crate::error::Error;
use crate::german::Book;
use crate::text::Language;
use crate::time;

/// Lines of a page.
const LINES: i64 = 100;

/// Maximum number of search words.
const WORDS: usize = 8;

/// Returns a link to the ledger's disbelieved numbers; of all communities if `key` is empty.
pub(super) fn doubts(reader: &Reader, key: &str, text: &str) -> String {
    let words = reader.say("not counted", "nicht mitgezählt");
    let words = format!("{key} {words}");
    format!(
        "<a href=\"{}\">{}</a>",
        reader.href(&To::Ledger(words.trim())),
        escape(text),
    )
}

/// Returns the text of such a link behind a note.
pub(super) fn seen(reader: &Reader) -> &'static str {
    reader.say("In the ledger", "Im Fehlerbuch")
}

/// Query of the ledger.
#[derive(Clone, Debug, Default)]
pub(crate) struct LedgerQuery {
    /// Parts of a file's name, a key, a defect, or its reading.
    pub search: String,
    /// The line that the last page ended with.
    pub after: i64,
}

/// Returns a page of the ledger.
pub(crate) fn page(
    reader: &Reader,
    store: &Connection,
    wanted: &LedgerQuery,
) -> Result<String, Error> {
    let here = reader.places.address(reader, &To::Ledger(""));
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
    main.push_str(&hidden(reader));
    let _ = writeln!(
        main,
        "<button class=\"button primary\">{}</button></form>",
        reader.say("Search", "Suchen")
    );
    let found = Found::of(reader, &wanted.search);
    let total = reader.language.whole(total(store, &found)?);
    let _ = writeln!(
        main,
        "<p class=\"muted\">{}: {total}</p>\n<p class=\"muted small\">{}</p>",
        match wanted.search.trim() {
            "" => reader.say("Lines", "Zeilen"),
            _ => reader.say("Lines found", "Gefundene Zeilen"),
        },
        reader.say(
            "The newest first; before them what has no time.",
            "Das Neueste zuerst; davor, was keine Zeit hat.",
        ),
    );
    let last = lines(reader, store, &found, wanted.after, &mut main)?;
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

/// Filter of the ledger: lines that contain each word, or its English form.
struct Found {
    table: &'static str,
    sql: String,
    /// Values of the question marks.
    words: Vec<String>,
}

impl Found {
    fn of(reader: &Reader, search: &str) -> Self {
        let (mut all, mut words) = (Vec::new(), Vec::new());
        for word in search.to_lowercase().split_whitespace().take(WORDS) {
            // German search words are translated to English, the language of the ledger.
            let kept = match reader.language {
                Language::German => Book::Ledger.english_of(word),
                Language::English => Vec::new(),
            };
            let kept = kept.into_iter().map(str::to_lowercase);
            let one = [word.to_owned()].into_iter().chain(kept).map(|word| {
                words.push(word);
                format!("instr(line, ?{}) > 0", words.len())
            });
            all.push(format!("({})", one.collect::<Vec<_>>().join(" OR ")));
        }
        let (table, sql) = match all.is_empty() {
            true => ("ledger", "1".to_owned()),
            // The limit makes SQLite build each text once instead of once per word.
            false => (
                "(SELECT *, lower(file || ' ' || ifnull(key, '') || ' ' || what || ' ' || read_as) \
                  AS line FROM ledger LIMIT -1)",
                all.join(" AND "),
            ),
        };
        Self { table, sql, words }
    }
}

/// Order of the lines: those without an hour, then the newest.
const ORDER: &str = "-ifnull(hour, 9e15), id";

fn total(store: &Connection, found: &Found) -> Result<i64, Error> {
    let sql = format!("SELECT count(*) FROM {} WHERE {}", found.table, found.sql);
    let words = params_from_iter(&found.words);
    Ok(store.query_row(&sql, words, |row| row.get(0))?)
}

/// Writes the lines; returns the last one if there are more.
fn lines(
    reader: &Reader,
    store: &Connection,
    found: &Found,
    after: i64,
    html: &mut String,
) -> Result<Option<i64>, Error> {
    let behind = match after {
        0 => String::new(),
        _ => format!("AND ({ORDER}) > (SELECT {ORDER} FROM ledger WHERE id = {after})"),
    };
    let mut query = store.prepare(&format!(
        "SELECT id, file, hour, key, what, read_as FROM {} \
         WHERE {} {behind} ORDER BY {ORDER} LIMIT {}",
        found.table,
        found.sql,
        LINES + 1
    ))?;
    let mut rows = query.query(params_from_iter(&found.words))?;
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
        let prose = |text: String| reader.prose(Book::Ledger, &text);
        let said = |at| row.get::<_, String>(at).map(prose);
        let _ = writeln!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            text(1)?,
            hour.map_or("–".to_owned(), |hour| format::time(
                time::Unit::Hour,
                hour
            )),
            escape(&key.unwrap_or_else(|| "–".to_owned())),
            said(4)?,
            said(5)?,
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
