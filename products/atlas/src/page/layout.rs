//! Layout of all pages: head, links, foot.

use std::fmt::Write as _;

use super::places::{own, word};
use super::{Reader, Shape, To, escape};
use crate::chart::{self, Parameter};
use crate::chart_query::Theme;
use crate::text::Language;

/// The project's mark, as in `web/src/shell`.
const MARK: &str = concat!(
    "<svg class=\"brand-mark\" viewBox=\"0 0 32 32\" width=\"32\" height=\"32\" ",
    "aria-hidden=\"true\" focusable=\"false\">",
    "<rect width=\"32\" height=\"32\" rx=\"7\" class=\"brand-ground\"/>",
    "<path d=\"M5 11h9c4 0 4 10 8 10h5\" class=\"brand-water\"/>",
    "<path d=\"M5 17h6c3 0 4 8 8 8h8\" class=\"brand-water second\"/>",
    "<path d=\"M16 5v7\" class=\"brand-gate\"/></svg>"
);

/// A page.
pub(super) struct Page<'a> {
    pub title: String,
    /// The link of the side that leads here: a chart's name, or a path.
    pub current: &'a str,
    /// Path and parameters of the page, without language and colours, for links to its variants.
    pub path: String,
    pub pairs: Vec<(String, String)>,
    /// Further lines of the head.
    pub head: String,
    /// HTML.
    pub main: String,
}

/// Returns the whole page.
pub(super) fn lay(reader: &Reader, page: &Page<'_>) -> String {
    let mut html = String::with_capacity(page.main.len() + 8192);
    head(reader, &page.title, &page.head, &mut html);
    let _ = write!(
        html,
        "<body>\n<a class=\"skip\" href=\"#main\">{}</a>\n<div class=\"shell\">\n\
         <header class=\"side\">\n<a class=\"brand\" href=\"{}\">{MARK}atlas</a>\n",
        reader.say("Skip to the content", "Zum Inhalt"),
        reader.href(&To::Overview),
    );
    let charts = reader.say("Charts", "Diagramme");
    let _ = write!(html, "<nav aria-label=\"{charts}\"><p>{charts}</p><ul>");
    let asked = reader.asks();
    for chart in chart::ALL {
        if needs_key(*chart) {
            continue;
        }
        let title = chart.title(reader.language);
        let to = To::Chart(chart.name(), Shape::Page, &asked);
        link(reader, &to, title, page.current == chart.name(), &mut html);
    }
    let more = reader.say("More", "Mehr");
    let _ = write!(
        html,
        "</ul></nav>\n<nav aria-label=\"{more}\"><p>{more}</p><ul>"
    );
    for (name, to, title) in [
        (
            "communities",
            To::Communities,
            reader.say("Communities", "Gemeinschaften"),
        ),
        ("sql", To::Sql, reader.say("Free queries", "Freie Abfragen")),
        ("ledger", To::Ledger(""), reader.say("Ledger", "Fehlerbuch")),
        ("about", To::About, reader.say("About", "Über")),
    ] {
        // Files answer no questions.
        if reader.places.answers() || !matches!(to, To::Sql | To::Ledger(_)) {
            link(reader, &to, title, page.current == name, &mut html);
        }
    }
    html.push_str("</ul></nav>\n");
    let tongues = reader.places.tongues(&page.path);
    if reader.places.answers() {
        foot(reader, page, &mut html);
    } else if tongues.len() > 1 {
        html.push_str("<div class=\"side-foot\" data-part=\"foot\">\n");
        languages(reader, &tongues, &mut html);
        html.push_str("</div>\n");
    }
    let _ = write!(
        html,
        "</header>\n<main id=\"main\" tabindex=\"-1\">\n{}</main>\n</div>\n\
         </body>\n</html>\n",
        page.main
    );
    html
}

/// Writes doctype and head.
pub(super) fn head(reader: &Reader, title: &str, more: &str, html: &mut String) {
    let theme = word(reader.theme);
    let data = theme.map_or(String::new(), |word| format!(" data-theme=\"{word}\""));
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"{}\"{data}>\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"{}\">\n<title>{} · atlas</title>\n\
         <link rel=\"icon\" href=\"{}\" type=\"image/svg+xml\">\n\
         <link rel=\"stylesheet\" href=\"{}\">\n\
         {}{more}</head>\n",
        reader.language.word(),
        theme.unwrap_or("light dark"),
        escape(title),
        reader.href(&To::Asset("icon.svg")),
        reader.href(&To::Asset("atlas.css")),
        script(reader),
    );
}

/// Returns the script, unless the pages are files, which do not answer queries.
fn script(reader: &Reader) -> String {
    match reader.places.answers() {
        true => format!(
            "<script type=\"module\" src=\"{}\"></script>\n",
            reader.href(&To::Asset("page.js"))
        ),
        false => String::new(),
    }
}

/// Returns true if a chart needs the key of a community.
pub(crate) fn needs_key(chart: &dyn chart::Chart) -> bool {
    chart.parameters().contains(&Parameter::Key)
}

fn link(reader: &Reader, to: &To<'_>, title: &str, current: bool, html: &mut String) {
    let current = if current {
        " aria-current=\"page\""
    } else {
        ""
    };
    let _ = write!(
        html,
        "<li><a href=\"{}\"{current}>{}</a></li>",
        reader.href(to),
        escape(title)
    );
}

/// Writes links to the page in other languages, by their addresses.
fn languages(reader: &Reader, addresses: &[(Language, String)], html: &mut String) {
    let title = reader.say("Language", "Sprache");
    let _ = write!(html, "<nav aria-label=\"{title}\">");
    for (language, address) in addresses {
        let current = match *language == reader.language {
            true => " aria-current=\"true\"",
            false => "",
        };
        let _ = write!(
            html,
            "<a href=\"{}\" hreflang=\"{word}\" lang=\"{word}\"{current}>{}</a> ",
            escape(address),
            language.name(),
            word = language.word(),
        );
    }
    html.push_str("</nav>\n");
}

/// Writes links to the page in other languages and colours.
fn foot(reader: &Reader, page: &Page<'_>, html: &mut String) {
    let same = |language: Option<Language>, theme: Theme| {
        let to = Reader {
            language: language.unwrap_or(reader.language),
            told: reader.told || language.is_some(),
            theme,
            ..reader.clone()
        };
        let pairs = page.pairs.iter();
        let pairs = pairs.map(|(name, value)| (name.as_str(), Some(value.clone())));
        let query = api::query::encode(pairs.chain(own(&to)));
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{query}", page.path)
    };
    let addresses = Language::ALL.map(|language| (language, same(Some(language), reader.theme)));
    html.push_str("<div class=\"side-foot\" data-part=\"foot\">\n");
    languages(reader, &addresses, html);
    let _ = write!(
        html,
        "<nav aria-label=\"{}\">",
        reader.say("Appearance", "Aussehen")
    );
    for (theme, name) in [
        (Theme::Auto, reader.say("Auto", "Auto")),
        (Theme::Light, reader.say("Light", "Hell")),
        (Theme::Dark, reader.say("Dark", "Dunkel")),
    ] {
        let current = match theme == reader.theme {
            true => " aria-current=\"true\"",
            false => "",
        };
        let _ = write!(
            html,
            "<a href=\"{}\"{current}>{name}</a> ",
            escape(&same(None, theme))
        );
    }
    html.push_str("</nav>\n</div>\n");
}
