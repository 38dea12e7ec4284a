//! Static export of the atlas, for any web space: pages with relative links, pictures, JSON and CSV
//! of each chart, in total and by year, and a page for each community. Needs no script.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use crate::answer;
use crate::chart::{ALL, Chart, Parameter};
use crate::chart_query::{ChartQuery, Theme};
use crate::error::Error;
use crate::owned_folder::OwnedFolder;
use crate::page::asset::{ASSETS, Asset};
use crate::page::{self, Places, Reader, Shape, of_year, recorded_years, stem};
use crate::store;
use crate::text::Language;

/// Result of writing a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Number of files.
    pub files: u64,
    /// Total size, in bytes.
    pub octets: u64,
    /// Number of removed files of an earlier site.
    pub removed: u64,
}

/// A chart's state, and the file's name it has without its ending.
struct State {
    chart: &'static dyn Chart,
    asked: ChartQuery,
    stem: String,
}

/// Everything in one language.
struct Tongue {
    language: Language,
    /// Folder with a `/` at the end; empty for the first language.
    folder: String,
    /// Folder of each language.
    tongues: Vec<(Language, String)>,
    states: Vec<State>,
    /// Names of the states' files.
    files: Arc<HashSet<String>>,
}

/// Pages other than charts.
const LISTS: [&str; 3] = ["communities.html", "about.html", "index.html"];

/// Writes the site into `out`, which is created if missing: the first language at the root, the
/// others in folders of their own. Existing files are overwritten, outdated ones of an earlier site
/// removed, foreign ones kept; but a folder with foreign files is refused, unless `force`.
pub fn write(
    data: &Path,
    out: &Path,
    languages: &[Language],
    force: bool,
    mut progress: impl FnMut(&str),
) -> Result<Written, Error> {
    let store = store::open(data)?;
    let all: Vec<Tongue> = (0..languages.len())
        .map(|number| Tongue::of(&store, languages, number))
        .collect::<Result<_, _>>()?;
    let names: Vec<String> = all.iter().flat_map(Tongue::names).collect();
    let names = names.iter().map(String::as_str);
    let mut owned = OwnedFolder::claim(out, "site", force, names)?;
    let mut written = Written::default();
    for tongue in &all {
        let mut to = Output {
            folder: &tongue.folder,
            owned: &mut owned,
            written: &mut written,
        };
        tongue.write(&store, &mut to, &mut progress)?;
    }
    written.removed = owned.tidy()?;
    Ok(written)
}

/// Returns the folder of a language: the first one is at the root.
fn folder(number: usize, language: Language) -> String {
    match number {
        0 => String::new(),
        _ => format!("{}/", language.word()),
    }
}

impl Tongue {
    fn of(store: &Connection, languages: &[Language], number: usize) -> Result<Self, Error> {
        let language = languages[number];
        let back = if number == 0 { "" } else { "../" };
        let tongues = languages.iter().enumerate().map(|(other, tongue)| {
            let there = match other == number {
                true => String::new(),
                false => format!("{back}{}", folder(other, *tongue)),
            };
            (*tongue, there)
        });
        let mut tongue = Self {
            language,
            folder: folder(number, language),
            tongues: tongues.collect(),
            states: Vec::new(),
            files: Arc::default(),
        };
        tongue.states = states(store, &tongue.reader(""))?;
        let shapes = [Shape::Page, Shape::Svg, Shape::Json, Shape::Csv];
        let states = tongue.states.iter();
        let all = states.flat_map(|state| shapes.map(|shape| file(state, shape)));
        tongue.files = Arc::new(all.collect());
        Ok(tongue)
    }

    /// Returns the names of all files.
    fn names(&self) -> impl Iterator<Item = String> {
        let lists = assets().map(|asset| asset.name).chain(LISTS);
        let all = lists.chain(self.files.iter().map(String::as_str));
        all.map(|name| format!("{}{name}", self.folder))
    }

    /// Returns the reader of pages in a given depth of folders.
    fn reader(&self, up: &'static str) -> Reader {
        let places = Places::Files {
            up,
            files: Arc::clone(&self.files),
            tongues: self.tongues.clone(),
        };
        reader(places, self.language)
    }

    fn write(
        &self,
        store: &Connection,
        to: &mut Output<'_>,
        progress: &mut impl FnMut(&str),
    ) -> Result<(), Error> {
        for asset in assets() {
            to.put(asset.name, &asset.octets)?;
        }
        let below = self.reader("../");
        for state in &self.states {
            progress(&format!("{}{}", self.folder, state.stem));
            chart(store, &below, state, to)?;
        }
        let reader = self.reader("");
        let [communities, about, overview] = LISTS;
        let page = page::communities::page(&reader, store, None)?;
        to.put(communities, page.as_bytes())?;
        to.put(about, page::about::page(&reader, store)?.as_bytes())?;
        let page = page::overview::page(&reader, store)?;
        to.put(overview, page.as_bytes())
    }
}

/// Returns the files that pages without scripts use.
fn assets() -> impl Iterator<Item = &'static Asset> {
    let all = ASSETS.iter();
    all.filter(|asset| !asset.name.ends_with(".js"))
}

fn reader(places: Places, language: Language) -> Reader {
    Reader {
        places: Arc::new(places),
        language,
        told: false,
        theme: Theme::Auto,
    }
}

fn states(store: &Connection, reader: &Reader) -> Result<Vec<State>, Error> {
    let mut states = Vec::new();
    let mut add = |chart: &'static dyn Chart, asked: ChartQuery| {
        let stem = stem(chart.name(), &asked);
        states.push(State { chart, asked, stem });
    };
    for chart in ALL {
        if chart.parameters().contains(&Parameter::Key) {
            for key in page::communities::keys(store)? {
                let key = Some(key);
                add(
                    *chart,
                    ChartQuery {
                        key,
                        ..reader.asks()
                    },
                );
            }
            continue;
        }
        add(*chart, reader.asks());
        for year in recorded_years(store)? {
            add(*chart, of_year(reader, *chart, year));
        }
    }
    Ok(states)
}

fn file(state: &State, shape: Shape) -> String {
    let ending = match shape {
        Shape::Page => ".html",
        other => other.ending(),
    };
    format!("{}{ending}", state.stem)
}

fn chart(
    store: &Connection,
    reader: &Reader,
    state: &State,
    to: &mut Output<'_>,
) -> Result<(), Error> {
    let figure = state.chart.figure(store, &state.asked)?;
    let html = page::chart::page(reader, state.chart, store, &state.asked, &figure);
    let picture = page::chart::picture(reader, state.chart, &figure, &state.asked);
    let json = answer::json(state.chart.name(), &figure)?;
    to.put(&file(state, Shape::Page), html.as_bytes())?;
    to.put(&file(state, Shape::Svg), picture.as_bytes())?;
    to.put(&file(state, Shape::Json), json.as_bytes())?;
    to.put(&file(state, Shape::Csv), answer::csv(&figure)?.as_bytes())
}

/// Destination of files.
struct Output<'a> {
    /// Folder of the language.
    folder: &'a str,
    owned: &'a mut OwnedFolder,
    written: &'a mut Written,
}

impl Output<'_> {
    fn put(&mut self, name: &str, octets: &[u8]) -> Result<(), Error> {
        let name = format!("{}{name}", self.folder);
        self.owned.place(&name, |new| {
            fs::write(new, octets).map_err(Error::file(new))
        })?;
        self.written.files += 1;
        self.written.octets += octets.len() as u64;
        Ok(())
    }
}
