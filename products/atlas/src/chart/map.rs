//! Map of the nodes: as density, or as a circle for each community.

use rusqlite::Connection;

use super::helpers::column;
use super::range::Period;
use super::rank::{self, RankedCommunity};
use super::{Chart, Parameter};
use crate::chart_query::ChartQuery;
use crate::error::Error;
use crate::figure::{Cell, Figure, Plot, Point};
use crate::text::Language;

/// Density. Nodes counted by several communities are included once.
pub struct Heat;

/// Circles, sized by each community's own number.
pub struct Map;

impl Chart for Heat {
    fn name(&self) -> &'static str {
        "heat"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Heat map", "Dichtekarte")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "How dense the nodes are on the map at a time",
            "Wie dicht die Knoten zu einer Zeit auf der Karte stehen",
        )
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter::At]
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        let nodes = |one: &RankedCommunity| one.counted.iter().sum();
        let most = Some(most(store)?);
        figure(store, asked, self.title(asked.language), most, nodes)
    }
}

impl Chart for Map {
    fn name(&self) -> &'static str {
        "map"
    }

    fn title(&self, language: Language) -> &'static str {
        language.of("Map", "Karte")
    }

    fn about(&self, language: Language) -> &'static str {
        language.of(
            "Where the communities are, and how large, at a time",
            "Wo die Gemeinschaften zu einer Zeit sind, und wie groß",
        )
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter::At]
    }

    fn figure(&self, store: &Connection, asked: &ChartQuery) -> Result<Figure, Error> {
        figure(store, asked, self.title(asked.language), None, |one| {
            one.nodes
        })
    }
}

/// Returns the largest monthly mean of a community with a position.
fn most(store: &Connection) -> Result<f64, Error> {
    let sql = "SELECT latitude, longitude, most FROM profiles JOIN
        (SELECT profile, max(1.0 * (live + stale + frozen) / hours) AS most FROM months
         WHERE hours > 0 GROUP BY profile) ON profile = id";
    let mut statement = store.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut most = 0.0_f64;
    while let Some(row) = rows.next()? {
        if place(row.get(0)?, row.get(1)?).is_some() {
            most = most.max(row.get(2)?);
        }
    }
    Ok(most)
}

fn figure(
    store: &Connection,
    asked: &ChartQuery,
    title: &str,
    heat: Option<f64>,
    nodes: impl Fn(&RankedCommunity) -> i64,
) -> Result<Figure, Error> {
    let language = asked.language;
    let period = Period::of(store, asked)?;
    // A metacommunity has no place of its own.
    let asked = ChartQuery {
        group: false,
        ..asked.clone()
    };
    let mut ranking = rank::of(store, &asked, &period)?;
    let mut shown = ranking.ranked;
    shown.retain(|one| nodes(one) > 0);
    let all = shown.iter().map(&nodes).sum::<i64>();
    let place = |one: &RankedCommunity| place(one.profile.latitude, one.profile.longitude);
    shown.retain(|one| place(one).is_some());
    let placed = shown.iter().map(&nodes).sum::<i64>();
    if placed < all {
        let left = all - placed;
        let nodes = language.whole(left);
        ranking.notes.push(match language {
            Language::English if left == 1 => {
                "1 node is of communities without a position.".to_owned()
            }
            Language::German if left == 1 => {
                "1 Knoten ist von Gemeinschaften ohne Position.".to_owned()
            }
            Language::English => format!("{nodes} nodes are of communities without a position."),
            Language::German => format!("{nodes} Knoten sind von Gemeinschaften ohne Position."),
        });
    }
    let points = shown.iter().filter_map(|one| {
        let (latitude, longitude) = place(one)?;
        Some(Point {
            key: one.key.clone(),
            name: one.label.clone(),
            latitude,
            longitude,
            value: nodes(one) as f64,
        })
    });
    let columns = vec![
        column("latitude", language.of("latitude", "Breite")),
        column("longitude", language.of("longitude", "Länge")),
    ];
    Ok(Figure {
        title: period.titled(title, language),
        name: title.into(),
        notes: ranking.notes,
        odd: ranking.odd,
        from: period.range.from(),
        to: period.range.to(),
        by: period.range.by,
        plot: Plot::Map {
            points: points.collect(),
            heat,
        },
        table: rank::table(&shown, language, columns, |one| match place(one) {
            Some((latitude, longitude)) => vec![Cell::Real(latitude), Cell::Real(longitude)],
            None => vec![Cell::Nothing, Cell::Nothing],
        }),
    })
}

/// Returns a valid position, except the origin, which is the value of an empty form.
fn place(latitude: Option<f64>, longitude: Option<f64>) -> Option<(f64, f64)> {
    let (latitude, longitude) = (latitude?, longitude?);
    let real = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
    (real && (latitude, longitude) != (0.0, 0.0)).then_some((latitude, longitude))
}
