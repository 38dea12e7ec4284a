//! Targets of links: on a server, or as files in a folder.

use std::collections::HashSet;
use std::sync::Arc;

use super::asset;
use super::escape;
use crate::chart_query::{ChartQuery, Theme};
use crate::german::{Book, Piece};
use crate::text::Language;
use crate::time;

/// Reader of a page, with its settings.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub places: Arc<Places>,
    pub language: Language,
    /// True if the address names the language, as its links must then do.
    pub told: bool,
    pub theme: Theme,
}

impl Reader {
    /// Returns the text of the reader's language.
    pub fn say(&self, english: &'static str, german: &'static str) -> &'static str {
        self.language.of(english, german)
    }

    /// Returns an English text of the program as HTML, translated by a book; untranslated parts are
    /// marked as English.
    pub fn prose(&self, book: Book, text: &str) -> String {
        if self.language == Language::English {
            return escape(text);
        }
        let pieces = book.german(text).into_iter().map(|piece| match piece {
            Piece::German(text) => escape(text),
            Piece::Value(text) => escape(text),
            Piece::English(text) => format!("<span lang=\"en\">{}</span>", escape(text)),
        });
        pieces.collect()
    }

    /// Returns a default question in this reader's language and colours.
    pub fn asks(&self) -> ChartQuery {
        let mut asked = ChartQuery {
            language: self.language,
            ..ChartQuery::default()
        };
        asked.look.theme = self.theme;
        asked
    }

    /// Returns the address of a target, escaped for an attribute.
    pub fn href(&self, to: &To<'_>) -> String {
        escape(&self.places.address(self, to))
    }
}

#[cfg(test)]
impl Reader {
    /// Returns a default reader of a server at this address, in English.
    pub(crate) fn of_server(base: &str) -> Self {
        Self {
            places: Arc::new(Places::server(base)),
            language: Language::English,
            told: false,
            theme: Theme::Auto,
        }
    }
}

/// Form of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    Page,
    Svg,
    Json,
    Csv,
}

impl Shape {
    /// Returns the ending in addresses.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Page => "",
            Self::Svg => ".svg",
            Self::Json => ".json",
            Self::Csv => ".csv",
        }
    }
}

/// Target of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum To<'a> {
    Overview,
    Chart(&'a str, Shape, &'a ChartQuery),
    Embed(&'a str, &'a ChartQuery),
    /// Page of a community, by key.
    Community(&'a str),
    Communities,
    Sql,
    /// Lines of the ledger with these words; empty: all lines.
    Ledger(&'a str),
    About,
    Asset(&'a str),
}

/// Location of pages.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    /// On a server. `base` is its public root; `root` the path of that.
    Server { base: String, root: String },
    /// In a folder, relative to a page in it: `up` leads to its root. Only these files exist;
    /// `tongues` lists the folders of other languages, relative to the root.
    Files {
        up: &'static str,
        files: Arc<HashSet<String>>,
        tongues: Vec<(Language, String)>,
    },
}

impl Places {
    /// Returns the root of a server by its address: `https://example.org/atlas`.
    pub fn server(base: &str) -> Self {
        let base = base.trim_end_matches('/');
        let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
        let root = rest.find('/').map_or("", |at| &rest[at..]);
        Self::Server {
            base: base.to_owned(),
            root: root.to_owned(),
        }
    }

    /// Returns true if a server answers requests.
    pub fn answers(&self) -> bool {
        matches!(self, Self::Server { .. })
    }

    /// Returns an address for links in pages.
    pub fn address(&self, reader: &Reader, to: &To<'_>) -> String {
        match self {
            Self::Server { root, .. } => {
                let version = match to {
                    To::Asset(name) => asset::version(name),
                    _ => None,
                };
                let version = version.map_or(String::new(), |version| format!("?v={version}"));
                format!("{root}{}{version}", on_server(reader, to))
            }
            Self::Files { up, files, .. } => format!("{up}{}", in_folder(files, to)),
        }
    }

    /// Returns the languages of a folder, and the path of a page in each: `path` is the one in this
    /// language.
    pub fn tongues(&self, path: &str) -> Vec<(Language, String)> {
        let Self::Files { up, tongues, .. } = self else {
            return Vec::new();
        };
        let file = path.strip_prefix(up).unwrap_or(path);
        let all = tongues.iter();
        all.map(|(language, folder)| (*language, format!("{up}{folder}{file}")))
            .collect()
    }

    /// Returns the whole address, for other pages.
    pub fn absolute(&self, reader: &Reader, to: &To<'_>) -> String {
        match self {
            Self::Server { base, .. } => format!("{base}{}", on_server(reader, to)),
            Self::Files { .. } => self.address(reader, to),
        }
    }
}

fn on_server(reader: &Reader, to: &To<'_>) -> String {
    match to {
        To::Chart(name, shape, asked) => {
            asked_of(reader, format!("/chart/{name}{}", shape.ending()), asked)
        }
        To::Embed(name, asked) => asked_of(reader, format!("/embed/{name}"), asked),
        To::Community(key) => {
            let asked = ChartQuery {
                key: Some((*key).to_owned()),
                ..reader.asks()
            };
            asked_of(reader, "/chart/community".into(), &asked)
        }
        To::Asset(name) => format!("/{name}"),
        To::Overview => with(reader, "/"),
        To::Communities => with(reader, "/communities"),
        To::Sql => with(reader, "/sql"),
        To::Ledger(words) => {
            let words = Some((*words).to_owned()).filter(|words| !words.is_empty());
            let pairs = [("q", words)].into_iter().chain(own(reader));
            asked_at("/ledger", pairs)
        }
        To::About => with(reader, "/about"),
    }
}

fn asked_of(reader: &Reader, path: String, asked: &ChartQuery) -> String {
    let mut query = asked.query();
    // English, the default, is stated because a browser may prefer another language.
    if reader.told && asked.language == Language::English {
        query.push_str(if query.is_empty() { "" } else { "&" });
        query.push_str("lang=en");
    }
    match query.is_empty() {
        true => path,
        false => format!("{path}?{query}"),
    }
}

fn with(reader: &Reader, path: &str) -> String {
    asked_at(path, own(reader).into_iter())
}

fn asked_at(path: &str, pairs: impl Iterator<Item = (&'static str, Option<String>)>) -> String {
    let query = api::query::encode(pairs);
    match query.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{query}"),
    }
}

/// Returns the reader's settings for addresses.
pub(super) fn own(reader: &Reader) -> [(&'static str, Option<String>); 2] {
    let language = reader.told.then(|| reader.language.word().to_owned());
    [
        ("lang", language),
        ("theme", word(reader.theme).map(Into::into)),
    ]
}

/// Returns hidden fields of a form with the reader's settings.
pub(super) fn hidden(reader: &Reader) -> String {
    let fields = own(reader).into_iter();
    let fields = fields.filter_map(|(name, value)| {
        let value = value?;
        Some(format!(
            "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">"
        ))
    });
    fields.collect()
}

/// Returns the theme's word in addresses; `None` for the default.
pub(super) fn word(theme: Theme) -> Option<&'static str> {
    match theme {
        Theme::Auto => None,
        Theme::Light => Some("light"),
        Theme::Dark => Some("dark"),
    }
}

fn in_folder(files: &HashSet<String>, to: &To<'_>) -> String {
    let (stem, ending, fallback) = match to {
        To::Overview => return "index.html".into(),
        To::Communities => return "communities.html".into(),
        To::About | To::Sql | To::Ledger(_) => return "about.html".into(),
        To::Asset(name) => return (*name).into(),
        To::Community(key) => (community(key), ".html", "communities.html".to_owned()),
        To::Chart(name, shape, asked) => {
            let ending = match shape {
                Shape::Page => ".html",
                other => other.ending(),
            };
            (stem(name, asked), ending, format!("chart/{name}{ending}"))
        }
        To::Embed(name, asked) => (stem(name, asked), ".svg", format!("chart/{name}.svg")),
    };
    let file = format!("{stem}{ending}");
    match files.contains(&file) {
        true => file,
        false => fallback,
    }
}

/// Returns the file of a query: a community, a year, or all data.
pub(crate) fn stem(chart: &str, asked: &ChartQuery) -> String {
    if let Some(key) = &asked.key {
        return community(key);
    }
    match asked.at.or(asked.from) {
        Some(span) => format!("chart/{chart}-{}", time::day(span.begin).year()),
        None => format!("chart/{chart}"),
    }
}

/// Returns a key as a file's name: letters, digits and `-` unchanged, any other byte as `_` and its
/// number, so that names are unique.
fn community(key: &str) -> String {
    let mut name = String::from("community/");
    for octet in key.bytes().take(80) {
        match octet {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => name.push(char::from(octet)),
            other => name.push_str(&format!("_{other:02x}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_below_a_path() {
        for (base, root) in [
            ("https://example.org", ""),
            ("https://example.org/", ""),
            ("https://example.org/atlas/", "/atlas"),
        ] {
            let places = Arc::new(Places::server(base));
            let reader = Reader {
                places: Arc::clone(&places),
                language: Language::English,
                told: true,
                theme: Theme::Dark,
            };
            assert_eq!(
                places.address(&reader, &To::About),
                format!("{root}/about?lang=en&theme=dark")
            );
            // English is stated if requested, although it is the default.
            let chart = To::Chart("growth", Shape::Csv, &ChartQuery::default());
            assert_eq!(
                places.address(&reader, &chart),
                format!("{root}/chart/growth.csv?lang=en")
            );
            let page = places.address(&reader, &To::Asset("page.js"));
            let (path, version) = page.split_once("?v=").expect("a version");
            assert_eq!((path, version.len()), (&*format!("{root}/page.js"), 16));
            assert_eq!(
                places.absolute(&reader, &To::Asset("weir-chart.js")),
                format!("https://example.org{root}/weir-chart.js")
            );
        }
    }

    #[test]
    fn keys_are_names_of_files() {
        assert_eq!(community("jena"), "community/jena");
        assert_eq!(community("../a b"), "community/_2e_2e_2fa_20b");
        assert_ne!(community("a_20"), community("a "));
        let long = community(&"x".repeat(200));
        assert_eq!(long, format!("community/{}", "x".repeat(80)));
        for (query, file) in [
            ("", "chart/top"),
            ("at=2019-10", "chart/top-2019"),
            ("from=2018&to=2018", "chart/top-2018"),
            ("key=Jena&at=2019", "community/_4aena"),
        ] {
            let asked = ChartQuery::read(query).expect(query);
            assert_eq!(stem("top", &asked), file, "{query}");
        }
    }
}
