//! The whole atlas as files, for any web space: pages with relative links, pictures, JSON and CSV of
//! each chart, of all time and of each year, and a page for each community. No script is needed.

mod owned;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use crate::answer;
use crate::asked::{Asked, Theme};
use crate::chart::{ALL, Chart, Parameter};
use crate::error::Error;
use crate::page::asset::ASSETS;
use crate::page::{self, Places, Reader, Shape, of_year, recorded_years, stem};
use crate::store;
use crate::text::Language;

use owned::Owned;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// How many files.
    pub files: u64,
    /// In all of them.
    pub octets: u64,
    /// Files of an earlier one that this one has no more.
    pub removed: u64,
}

/// A chart's state, and the file's name it has without its ending.
struct State {
    chart: &'static dyn Chart,
    asked: Asked,
    stem: String,
}

/// Writes everything into `out`, which is made where it is not there: in the first language, and in
/// the others in a folder of their own each. Files that are there are written over, those of an
/// earlier one that are no longer written are removed, others are left alone; but a folder with
/// files from elsewhere is refused, unless `force`.
pub fn write(
    data: &Path,
    out: &Path,
    languages: &[Language],
    force: bool,
    mut progress: impl FnMut(&str),
) -> Result<Written, Error> {
    let store = store::open(data)?;
    let mut owned = Owned::claim(out, force)?;
    let mut written = Written::default();
    for (number, language) in languages.iter().enumerate() {
        let folder = folder(number, *language);
        let back = if number == 0 { "" } else { "../" };
        let mut to = Output {
            root: out,
            folder: &folder,
            owned: &mut owned,
            written: &mut written,
        };
        let tongues = languages.iter().enumerate().map(|(number, other)| {
            let there = match other == language {
                true => String::new(),
                false => format!("{back}{}", self::folder(number, *other)),
            };
            (*other, there)
        });
        let progress = |stem: &str| progress(&format!("{folder}{stem}"));
        tongue(&store, *language, tongues.collect(), &mut to, progress)?;
    }
    written.removed = owned.tidy()?;
    Ok(written)
}

/// Where pages in a language are: the first one's at the root.
fn folder(number: usize, language: Language) -> String {
    match number {
        0 => String::new(),
        _ => format!("{}/", language.word()),
    }
}

/// Everything in one language.
fn tongue(
    store: &Connection,
    language: Language,
    tongues: Vec<(Language, String)>,
    to: &mut Output<'_>,
    mut progress: impl FnMut(&str),
) -> Result<(), Error> {
    let places = |up, files: &Arc<HashSet<String>>| Places::Files {
        up,
        files: Arc::clone(files),
        tongues: tongues.clone(),
    };
    let states = states(store, &reader(places("", &Arc::default()), language))?;
    let shapes = [Shape::Page, Shape::Svg, Shape::Json, Shape::Csv];
    let all = states
        .iter()
        .flat_map(|state| shapes.map(|shape| file(state, shape)));
    let files = Arc::new(all.collect());
    for asset in ASSETS.iter().filter(|asset| !asset.name.ends_with(".js")) {
        to.put(asset.name, &asset.octets)?;
    }
    let below = reader(places("../", &files), language);
    for state in &states {
        progress(&state.stem);
        chart(store, &below, state, to)?;
    }
    let reader = reader(places("", &files), language);
    let communities = page::communities::page(&reader, store, None)?;
    to.put("communities.html", communities.as_bytes())?;
    to.put("about.html", page::about::page(&reader, store)?.as_bytes())?;
    let overview = page::overview::page(&reader, store)?;
    to.put("index.html", overview.as_bytes())
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
    let mut add = |chart: &'static dyn Chart, asked: Asked| {
        let stem = stem(chart.name(), &asked);
        states.push(State { chart, asked, stem });
    };
    for chart in ALL {
        if chart.parameters().contains(&Parameter::Key) {
            for key in page::communities::keys(store)? {
                let key = Some(key);
                add(
                    *chart,
                    Asked {
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

/// Where files go.
struct Output<'a> {
    root: &'a Path,
    /// Of the language, with a `/` behind it; the first one's has no name.
    folder: &'a str,
    owned: &'a mut Owned,
    written: &'a mut Written,
}

impl Output<'_> {
    fn put(&mut self, name: &str, octets: &[u8]) -> Result<(), Error> {
        let name = format!("{}{name}", self.folder);
        self.owned.note(&name, octets)?;
        let path = self.root.join(&name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::file(folder))?;
        }
        // By another name first: who looks meanwhile sees the old file or the new one.
        let new = path.with_added_extension("new");
        fs::write(&new, octets).map_err(Error::file(&new))?;
        fs::rename(&new, &path).map_err(Error::file(&path))?;
        self.written.files += 1;
        self.written.octets += octets.len() as u64;
        Ok(())
    }
}
