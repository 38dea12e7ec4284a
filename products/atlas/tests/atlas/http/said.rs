//! Texts of pages: on disbelieved numbers, on time that passes, and in German.

use super::common::server;

/// Returns the text between two others in a page.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text
        .split_once(from)
        .unwrap_or_else(|| panic!("{from}: {text}"))
        .1;
    rest.split_once(to)
        .unwrap_or_else(|| panic!("{to}: {rest}"))
        .0
}

/// The addresses of links, as a browser reads them.
fn links(html: &str) -> Vec<String> {
    let parts = html.split("<a ").skip(1);
    let address = parts.map(|part| between(part, "href=\"", "\"").replace("&amp;", "&"));
    address.collect()
}

#[test]
fn numbers_that_nobody_believes_are_marked_and_lead_to_the_ledger() {
    let server = server();
    let page = |path: &str| server.get(path).text().to_owned();
    // The list has a reason in place of a number.
    let listed = page("/communities?q=odd&lang=en");
    let cell = between(&listed, "<td class=\"number\">", "</td>");
    assert!(
        cell.starts_with('–') && cell.contains("not believed: −1"),
        "{cell}"
    );
    let of_one = links(cell);
    // At a glance, of the last hour.
    let overview = page("/?lang=en");
    let figures = between(&overview, "<dl class=\"figures\">", "</section>");
    assert!(figures.contains("1 number was not believed"), "{figures}");
    // Of each chart that lacks them.
    let growth = page("/chart/growth?lang=en");
    let notes = between(&growth, "data-part=\"notes\">", "</ul>");
    assert!(notes.contains("3 numbers were not believed"), "{notes}");
    let of_all = links(notes);
    assert_eq!(of_all, ["/ledger?q=not%20counted&lang=en"]);
    assert_eq!(of_one, ["/ledger?q=odd%20not%20counted&lang=en"]);
    assert_eq!(links(figures), of_all);
    assert!(links(&page("/chart/community?key=odd&lang=en")).contains(&of_one[0]));
    for address in [&of_all[0], &of_one[0]] {
        let ledger = page(address);
        let rows = ledger.matches("<tr><th scope=\"row\">").count();
        assert_eq!(rows, 3, "{address}: {ledger}");
        assert_eq!(ledger.matches(", shown but not counted").count(), 3);
    }
    // A mark shows where the sum lacks a number, and how many.
    let picture = page("/chart/growth.svg");
    let marks = between(&picture, "class=\"odd", "</g>");
    assert_eq!(
        marks.matches("1 number is not in the sum").count(),
        3,
        "{marks}"
    );
    let numbers = server.get("/chart/growth.json").json();
    assert_eq!(numbers["series"][0]["odd"], 1, "{numbers}");
    // Without disbelieved numbers, the column is missing.
    let without = server.get("/chart/growth.json?from=2021").json();
    assert!(
        !without["columns"].to_string().contains("\"odd\""),
        "{without}"
    );
}

#[test]
fn what_is_copied_keeps_no_time_that_goes_on() {
    let server = server();
    for (chart, name) in [
        ("top", "Largest communities"),
        ("heat", "Heat map"),
        ("race", "Race"),
    ] {
        for (asked, goes_on) in [("", true), ("?from=2019", true), ("?at=2019-01", false)] {
            let page = server.get(&format!("/chart/{chart}{asked}"));
            let embed = between(page.text(), "data-part=\"embed\">", "</section>");
            let title = between(embed, "title=&quot;", "&quot;");
            let says_when = title.contains("20");
            assert!(title.starts_with(name), "{chart}{asked}: {title}");
            assert_eq!(says_when, !goes_on, "{chart}{asked}: {title}");
            let alt = between(embed, "alt=&quot;", "&quot;");
            assert_eq!(alt, title, "{chart}{asked}");
        }
        // The component's own menu reads it from the picture.
        let picture = server.get(&format!("/chart/{chart}.svg"));
        let root = between(picture.text(), "<svg", ">");
        assert!(root.contains(&format!("data-name=\"{name}")), "{root}");
    }
}

#[test]
fn the_ledger_has_the_newest_first() {
    let server = server();
    let ledger = server.get("/ledger?lang=en").text().to_owned();
    let files: Vec<&str> = ledger
        .split("<tr><th scope=\"row\">")
        .skip(1)
        .filter_map(|row| row.split('<').next())
        .collect();
    let mut dates: Vec<&str> = files
        .iter()
        .map(|file| &file[..8])
        .filter(|date| *date != "20190301")
        .collect();
    assert_eq!(dates.first(), Some(&"20200315"), "{files:?}");
    assert_eq!(dates.last(), Some(&"20190115"), "{files:?}");
    let shown = dates.clone();
    dates.sort_by(|one, other| other.cmp(one));
    assert_eq!(shown, dates);
    assert!(ledger.contains("newest first;"), "{ledger}");
}

/// Letters that are of a page's text, and said to be English.
fn english(page: &str) -> Vec<&str> {
    let parts = page.split("<span lang=\"en\">").skip(1);
    parts.filter_map(|part| part.split('<').next()).collect()
}

#[test]
fn a_german_page_is_german_or_says_that_it_is_not() {
    let server = server();
    let ledger = server.get("/ledger?lang=de").text().to_owned();
    for says in [
        "state.nodes ist die Zahl -1",
        "die Zahl -1, gezeigt, aber nicht mitgezählt",
        "die Datei bricht ab: <span lang=\"en\">EOF",
        "die ganze Datei weggelassen",
        "Das Neueste zuerst",
    ] {
        assert!(ledger.contains(says), "{says}: {ledger}");
    }
    for english in ["is the number", "left out", "shown but", "breaks off"] {
        assert!(!ledger.contains(english), "{english}: {ledger}");
    }
    // German words find it.
    let found = server.get("/ledger?lang=de&q=nicht+mitgez%C3%A4hlt");
    assert_eq!(found.text().matches("<tr><th scope=\"row\">").count(), 3);
    // Errors, with their hints.
    for (path, says) in [
        ("/nothing", "unter /nothing ist nichts"),
        (
            "/chart/growth?fro=2019",
            "war `from` gemeint? (Parameter: from,",
        ),
        (
            "/chart/growth?by=week",
            "ist kein Wert von `by` (möglich: hour oder day",
        ),
        (
            "/chart/growth?from=x",
            "ein Jahr, Monat, Tag oder eine Stunde",
        ),
        ("/chart/growth?from=2020&to=2019", "ist später als `to`"),
        ("/chart/top?n=0", "eine ganze Zahl von 1 bis 100"),
        ("/chart/community?key=jenna", "war `jena` gemeint?"),
        (
            "/chart/growth?only=a&by=hour&from=2019&to=2020",
            "mehr als die erlaubten",
        ),
        ("/ledger?after=x", "`after` muss eine Zahl sein"),
        ("/ledger?x=1", "`x` ist hier kein Parameter"),
        ("/sql?engine=x", "`engine` muss sqlite oder duckdb sein"),
        (
            "/sql?q=CREATE+TABLE+a(b)",
            "nur SELECT über die öffentlichen Tabellen",
        ),
    ] {
        let mark = if path.contains('?') { '&' } else { '?' };
        let page = server
            .get(&format!("{path}{mark}lang=de"))
            .text()
            .to_owned();
        let main = between(&page, "<main", "</main>").replace("&#39;", "'");
        assert!(main.contains(says), "{path}: {main}");
        if !path.contains("q=") {
            assert!(english(&page).is_empty(), "{path}: {:?}", english(&page));
        }
    }
    // Messages of an engine stay untranslated.
    let failed = server.get("/sql?lang=de&q=SELECT+x").text().to_owned();
    assert_eq!(english(&failed), ["no such column: x"], "{failed}");
    // A notice is one element, with its parts side by side.
    assert!(failed.contains("role=\"alert\"><span>"), "{failed}");
    // The documentation of tables.
    let schema = server.get("/sql?lang=de").text().to_owned();
    assert!(schema.contains("Wie es damals war."), "{schema}");
    assert!(english(&schema).is_empty());
    // In English, no text has to be marked.
    assert!(english(server.get("/ledger?lang=en").text()).is_empty());
}
