//! Chart of one community: its nodes over time, its profile, and changes of the profile.

use rusqlite::Connection;

use super::helpers::{column, kinds, lines, mean, nodes, odd, parts, unknown};
use super::range::{Range, RowScope, label};
use super::sums::{self, Community, Profiles, Sum};
use super::{Chart, Parameter, rank};
use crate::chart_query::{COMPARED, ChartQuery};
use crate::error::Error;
use crate::figure::{Cell, Figure, Odd, Plot, Series, Table};
use crate::snapshot::Profile;
use crate::suggestions::meant;
use crate::text::{Language, folded};
use crate::time::{Unit, day};

mod comparison;

/// Largest number of changes listed.
const CHANGES: usize = 40;

/// See the module.
pub struct CommunityHistory;

impl Chart for CommunityHistory {
    fn name(&self) -> &'static str {
        "community"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("A community", "Eine Gemeinschaft")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "Nodes of one community, what it says of itself, and what of that changed",
            "Knoten einer Gemeinschaft, was sie über sich sagt, und was sich daran änderte",
        )
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter::Key]
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let language = asked.language;
        let mut profiles = Profiles::new(store);
        let mut found = find(store, asked, &mut profiles)?;
        if found.len() > 1 {
            return comparison::figure(store, asked, &found, &mut profiles);
        }
        let Some(community) = found.pop() else {
            return Ok(empty(
                self.title(language),
                Range::of(store, asked, RowScope::One)?,
                language,
            ));
        };
        let profile = profiles.get(community.profile.unwrap_or(0))?;
        let range = Range::of(store, asked, RowScope::One)?;
        let sums = sums::of(store, range.by, range.numbers(), community.id)?;
        let mut notes = range.notes.clone();
        notes.extend(facts(&community, &profile, &range, language));
        notes.extend(changes(store, &community, &mut profiles, language)?);
        let unbelieved = sums.iter().map(|sum| sum.odd).sum();
        notes.extend(odd(unbelieved, language));
        let mut figure = empty(&rank::named(&profile, &community.key), range, language);
        let told = sums.iter().filter(|sum| sum.hours > 0).collect::<Vec<_>>();
        let elsewhere = told.iter().any(|sum| sum.counted() < sum.nodes);
        let kinds = kinds(language);
        let shown = kinds.iter().enumerate().take(if elsewhere { 4 } else { 3 });
        let series = shown.map(|(index, (key, name, style))| Series {
            key: (*key).into(),
            name: (*name).into(),
            // Without data, the value is missing: no line at 0.
            values: sums
                .iter()
                .map(|sum| (sum.hours > 0).then(|| parts(sum)[index] as f64))
                .collect(),
            style: *style,
        });
        let numbers = sums.iter().map(|sum| sum.number).collect::<Vec<_>>();
        let series = series.collect();
        let mut plot = lines(figure.by, &numbers, series, true, nodes(language), asked);
        for sum in &sums {
            let odd = match sum.odd {
                0 => None,
                _ => sums::odd_of(store, figure.by, sum.number, community.id)?,
            };
            let at = figure.by.begin(sum.number);
            plot.odd.extend(odd.map(|value| Odd {
                at,
                value: Some(value),
                count: sum.odd,
            }));
            figure.table.rows.push(row(sum, figure.by, odd));
        }
        figure.plot = Plot::Time(plot);
        notes.extend(unknown(asked, kinds.iter().map(|(key, ..)| *key)));
        figure.notes = notes;
        figure.odd = unbelieved;
        Ok(figure)
    }
}

/// Returns the communities that `key` names, by key or name, ignoring case; of an empty atlas,
/// none. A name may contain commas, so the whole text is tried before its parts.
fn find(
    store: &Connection,
    asked: &ChartQuery,
    profiles: &mut Profiles<'_>,
) -> Result<Vec<Community>, Error> {
    let Some(key) = &asked.key else {
        let error =
            "missing community: give `key=`, the key of a community; /communities lists them";
        return Err(Error::Asked(error.into()));
    };
    let all = sums::communities(store)?;
    if all.is_empty() {
        return Ok(Vec::new());
    }
    // Reading names requires each profile: most queries use keys.
    let mut names: Option<Vec<String>> = None;
    let mut named = |text: &str| -> Result<Vec<usize>, Error> {
        let lower = folded(text);
        let at = all.iter().position(|one| one.key == text);
        let at = at.or_else(|| all.iter().position(|one| folded(&one.key) == lower));
        if let Some(at) = at {
            return Ok(vec![at]);
        }
        let names = match &mut names {
            Some(names) => names,
            none => {
                let name = |one: &Community| -> Result<String, Error> {
                    Ok(folded(&profiles.get(one.profile.unwrap_or(0))?.name))
                };
                none.insert(all.iter().map(name).collect::<Result<_, _>>()?)
            }
        };
        Ok((0..all.len()).filter(|at| names[*at] == lower).collect())
    };
    let mut found = named(key)?;
    if found.is_empty() {
        for part in asked.keys() {
            let these = named(&part)?;
            if these.is_empty() {
                let hint = meant(&part, all.iter().map(|one| one.key.as_str()));
                let error = format!("no community has the key `{part}`{hint}");
                return Err(Error::Missing(error));
            }
            found.extend(
                these
                    .into_iter()
                    .filter(|at| !found.contains(at))
                    .collect::<Vec<_>>(),
            );
        }
    }
    found.truncate(COMPARED);
    Ok(found.into_iter().map(|at| all[at].clone()).collect())
}

fn row(sum: &Sum, by: Unit, odd: Option<i64>) -> Vec<Cell> {
    let known = sum.hours > 0;
    let whole = |value: i64| {
        if known {
            Cell::Whole(value)
        } else {
            Cell::Nothing
        }
    };
    let mut row = vec![
        Cell::Time(by.begin(sum.number)),
        whole(mean(sum.nodes, sum.hours)),
    ];
    row.extend(parts(sum).map(whole));
    row.extend([sum.least, sum.most].map(|end| end.map_or(Cell::Nothing, Cell::Whole)));
    row.extend([Cell::Whole(sum.odd), odd.map_or(Cell::Nothing, Cell::Whole)]);
    row
}

fn empty(title: &str, range: Range, language: Language) -> Figure {
    let mut columns = vec![
        column("t", language.of("time", "Zeit")),
        column("nodes", nodes(language)),
    ];
    columns.extend(kinds(language).map(|(key, name, _)| column(key, name)));
    columns.extend([
        column("least", language.of("least", "kleinste")),
        column("most", language.of("most", "größte")),
        column(
            "odd",
            language.of("hours not believed", "nicht glaubhafte Stunden"),
        ),
        column(
            "odd_nodes",
            language.of("first number not believed", "erste nicht glaubhafte Zahl"),
        ),
    ]);
    Figure {
        title: title.to_owned(),
        name: title.to_owned(),
        from: range.from(),
        to: range.to(),
        by: range.by,
        plot: Plot::Time(lines(
            range.by,
            &[],
            Vec::new(),
            true,
            nodes(language),
            &ChartQuery::default(),
        )),
        notes: range.notes,
        odd: 0,
        table: Table {
            name: "series",
            columns,
            rows: Vec::new(),
        },
    }
}

/// Returns the community's profile as lines: "City: Aachen".
fn facts(
    community: &Community,
    profile: &Profile,
    range: &Range,
    language: Language,
) -> Vec<String> {
    let routing = Some(profile.routing.join(", ")).filter(|text| !text.is_empty());
    let place = profile.latitude.zip(profile.longitude);
    let place = place.map(|(latitude, longitude)| format!("{latitude:.3}, {longitude:.3}"));
    let facts = [
        ("Key", "Schlüssel", Some(community.key.clone())),
        (
            "Metacommunity",
            "Metagemeinschaft",
            profile.metacommunity.clone(),
        ),
        ("City", "Ort", profile.city.clone()),
        ("Country", "Land", profile.country.clone()),
        ("Position", "Position", place),
        ("Page", "Seite", profile.url.clone()),
        ("Routing", "Routing", routing),
        ("Version of the API", "Version der API", profile.api.clone()),
    ];
    let mut notes = Vec::new();
    for (english, german, value) in facts {
        let value = value.as_deref().map_or("", str::trim);
        if !value.is_empty() {
            notes.push(format!("{}: {value}", language.of(english, german)));
        }
    }
    if let (Some(first), Some(last)) = (community.first_hour, community.last_hour) {
        let there = range.record.is_some_and(|(_, end)| last >= end);
        let (first, last) = (day(first), day(last));
        notes.push(match (language, there) {
            (Language::English, true) => format!("In the directory since {first}."),
            (Language::English, false) => format!("In the directory from {first} to {last}."),
            (Language::German, true) => format!("Im Verzeichnis seit {first}."),
            (Language::German, false) => format!("Im Verzeichnis von {first} bis {last}."),
        });
    }
    notes
}

/// Changes from month to month: "May 2019: routing olsr → babel".
fn changes(
    store: &Connection,
    community: &Community,
    profiles: &mut Profiles<'_>,
    language: Language,
) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    let mut before: Option<(i64, std::rc::Rc<Profile>)> = None;
    for sum in sums::of(store, Unit::Month, i64::MIN..=i64::MAX, community.id)? {
        if before.as_ref().is_some_and(|(id, _)| *id == sum.profile) {
            continue;
        }
        let now = profiles.get(sum.profile)?;
        if let Some((_, then)) = &before {
            let pairs = [
                (
                    language.of("name", "Name"),
                    then.name.clone(),
                    now.name.clone(),
                ),
                (
                    language.of("routing", "Routing"),
                    then.routing.join(", "),
                    now.routing.join(", "),
                ),
                ("API", api(then), api(&now)),
            ];
            for (what, then, now) in pairs.iter().filter(|(_, then, now)| then != now) {
                let said = |text: &str| match text {
                    "" => "–".to_owned(),
                    _ => text.to_owned(),
                };
                let month = label(Unit::Month, sum.number, language);
                notes.push(format!("{month}: {what} {} → {}", said(then), said(now)));
            }
        }
        before = Some((sum.profile, now));
    }
    // The latest say more than the first.
    let more = notes.len().saturating_sub(CHANGES);
    notes.drain(..more);
    Ok(notes)
}

fn api(profile: &Profile) -> String {
    profile.api.clone().unwrap_or_default()
}
