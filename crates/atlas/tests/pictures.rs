//! Pictures: as they should look (`tests/golden`; `WEIR_UPDATE_GOLDEN=1` writes them anew, and then
//! look at them), and whatever the figure, well-formed and small.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use atlas::asked::{Look, Theme};
use atlas::figure::{Bar, Figure, Lines, Odd, Plot, Point, Series, Style, Table};
use atlas::svg;
use atlas::text::Language;
use atlas::time::{Unit, hour_of};

fn figure(title: &str, from: i64, to: i64, by: Unit, plot: Plot) -> Figure {
    Figure {
        title: title.into(),
        notes: Vec::new(),
        from,
        to,
        by,
        plot,
        table: Table::default(),
    }
}

fn month(number: i64) -> i64 {
    Unit::Month.begin(number)
}

fn series(name: &str, values: Vec<Option<f64>>, style: Style) -> Series {
    Series {
        key: name.to_lowercase(),
        name: name.into(),
        values,
        style,
    }
}

/// A picture is as in its file.
fn golden(name: &str, picture: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.svg"));
    // A line for each element, so that a change can be read.
    let text = picture.replace("><", ">\n<") + "\n";
    if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, &text).expect("written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == text, "{name} is another: WEIR_UPDATE_GOLDEN=1");
}

fn look(width: u32, height: u32, theme: Theme) -> Look {
    Look {
        width,
        height,
        theme,
        notes: true,
    }
}

const THEMES: [(&str, Theme); 2] = [("light", Theme::Auto), ("dark", Theme::Dark)];

/// Shaped like the real directory: growth, a peak, decline; part of it old.
fn growth() -> Figure {
    let (first, end) = (2013 * 12 + 6, 2026 * 12 + 8);
    let year = |month: i64| (month - first) as f64 / 12.0;
    let whole = |month: i64| {
        let rise = 50_000.0 / (1.0 + (-(year(month) - 3.0) * 1.1).exp());
        let fall = 1.0 - (year(month) - 6.3).max(0.0) * 0.05;
        rise * fall + ((month * 7919) % 13) as f64 * 60.0
    };
    let frozen = |year: f64| 0.02 + year * 0.018;
    let stale = |year: f64| 0.05 + (year * 1.7).sin().abs() * 0.06;
    let part = |share: &dyn Fn(f64) -> f64| -> Vec<Option<f64>> {
        let value = |month: i64| {
            // Nothing was recorded for some months.
            let gap = (2016 * 12 + 2..2016 * 12 + 5).contains(&month);
            (!gap).then(|| (whole(month) * share(year(month))).round())
        };
        (first..end).map(value).collect()
    };
    let lines = Lines {
        at: (first..end).map(month).collect(),
        series: vec![
            series(
                "Live",
                part(&|year| 1.0 - frozen(year) - stale(year)),
                Style::Area,
            ),
            series("Stale", part(&stale), Style::Hatched),
            series("Frozen", part(&frozen), Style::Hatched),
        ],
        stacked: true,
        unit: "nodes".into(),
        odd: Vec::new(),
    };
    let mut figure = figure(
        "Growth",
        month(first),
        month(end),
        Unit::Month,
        Plot::Time(lines),
    );
    figure.notes = vec!["2 numbers were not believed, and are not counted.".into()];
    figure
}

fn routing() -> Figure {
    let names = [
        "batman-adv",
        "OLSR",
        "Babel",
        "802.11s",
        "bmx6",
        "cjdns",
        "OLSRv2",
    ];
    let first = 2014 * 12;
    let line = |(at, name): (usize, &&str)| {
        let value = |x: u32| {
            let wave = (f64::from(x) / 15.0 + at as f64).sin() * 0.3 + 1.0;
            let size = 30_000.0 / (at as f64 * 1.6 + 1.0).powf(1.3);
            Some((size * wave * (0.4 + f64::from(x) / 84.0)).round())
        };
        // One is filtered out.
        let style = if at == 4 { Style::Hidden } else { Style::Line };
        series(name, (0..84).map(value).collect(), style)
    };
    let lines = Lines {
        at: (first..first + 84).map(month).collect(),
        series: names.iter().enumerate().map(line).collect(),
        stacked: false,
        unit: "Knoten".into(),
        odd: Vec::new(),
    };
    let (from, to) = (month(first), month(first + 84));
    figure(
        "Routing-Protokolle",
        from,
        to,
        Unit::Month,
        Plot::Time(lines),
    )
}

fn births() -> Figure {
    let first = 2015 * 12;
    let value = |x: i64, by: i64| Some(((x * by * 31 + 7) % 17) as f64);
    let born = (0..48).map(|x| value(x, 3)).collect();
    let gone = (0..48).map(|x| value(x, 5).map(|y| -y)).collect();
    let lines = Lines {
        at: (first..first + 48).map(month).collect(),
        series: vec![
            series("Appeared", born, Style::Columns),
            series("Gone", gone, Style::Columns),
        ],
        stacked: true,
        unit: "communities".into(),
        odd: Vec::new(),
    };
    let (from, to) = (month(first), month(first + 48));
    figure(
        "Births and deaths",
        from,
        to,
        Unit::Month,
        Plot::Time(lines),
    )
}

fn hours() -> Figure {
    let begin = hour_of(jiff::civil::date(2019, 10, 17));
    let value = |x: i32| {
        let value = 470.0 + (f64::from(x) / 4.0).sin() * 12.0;
        (x != 30 && x != 32).then_some(value.round())
    };
    let lines = Lines {
        at: (begin..begin + 72).collect(),
        series: vec![series("Nodes", (0..72).map(value).collect(), Style::Area)],
        stacked: false,
        unit: "nodes".into(),
        odd: Vec::new(),
    };
    figure(
        "Freifunk Hamburg",
        begin,
        begin + 72,
        Unit::Hour,
        Plot::Time(lines),
    )
}

/// The same, and numbers that nobody believes.
fn odd() -> Figure {
    let mut figure = hours();
    let Plot::Time(lines) = &mut figure.plot else {
        return figure;
    };
    let begin = figure.from;
    let odd = |(at, value): &(i64, i64)| Odd {
        at: begin + at,
        value: *value,
        hours: 1,
    };
    let told = [
        (5, 250_000),
        (6, 250_000),
        (30, -4),
        (32, -4),
        (60, 1 << 40),
    ];
    lines.odd = told.iter().map(odd).collect();
    figure
}

fn top() -> Figure {
    let names = [
        ("Freifunk Münsterland", 3270.0),
        ("Freifunk Rhein-Neckar", 2480.0),
        ("Freifunk Darmstadt", 2011.0),
        ("Freifunk Stuttgart", 1990.0),
        ("Freifunk Rheinland e.V.", 1851.0),
        ("Förderverein freie Netzwerke — Freifunk Berlin", 1207.0),
        ("Freifunk <b>Ulm</b>", 1106.0),
        ("Freifunk Franken", 998.0),
        ("Freifunk Hamburg", 912.0),
        ("Freifunk Nordheide", 640.0),
    ];
    let bar = |(name, value): &(&str, f64)| Bar {
        key: name.to_lowercase(),
        name: (*name).into(),
        value: *value,
    };
    let (from, to) = (month(2019 * 12 + 9), month(2019 * 12 + 10));
    figure(
        "Largest communities",
        from,
        to,
        Unit::Month,
        Plot::Bars(names.iter().map(bar).collect()),
    )
}

const CITIES: [(&str, f64, f64, f64); 24] = [
    ("Berlin", 52.52, 13.4, 1207.0),
    ("Hamburg", 53.55, 9.99, 912.0),
    ("München", 48.14, 11.58, 1460.0),
    ("Münster", 51.96, 7.63, 3270.0),
    ("Darmstadt", 49.87, 8.65, 2011.0),
    ("Stuttgart", 48.78, 9.18, 1990.0),
    ("Mannheim", 49.49, 8.47, 2480.0),
    ("Düsseldorf", 51.23, 6.78, 1851.0),
    ("Ulm", 48.4, 9.99, 1106.0),
    ("Nürnberg", 49.45, 11.08, 998.0),
    ("Lüneburg", 53.25, 10.41, 640.0),
    ("Köln", 50.94, 6.96, 420.0),
    ("Aachen", 50.78, 6.08, 777.0),
    ("Bremen", 53.08, 8.8, 534.0),
    ("Kiel", 54.32, 10.13, 178.0),
    ("Rostock", 54.09, 12.1, 122.0),
    ("Dresden", 51.05, 13.74, 231.0),
    ("Leipzig", 51.34, 12.37, 190.0),
    ("Weimar", 50.98, 11.33, 86.0),
    ("Halle", 51.48, 11.97, 75.0),
    ("Freiburg", 48.0, 7.85, 130.0),
    ("Saarbrücken", 49.23, 7.0, 305.0),
    ("Innsbruck", 47.27, 11.39, 64.0),
    ("Basel", 47.56, 7.59, 12.0),
];

/// Cities, and around each some smaller places.
fn places(heat: bool) -> Figure {
    let mut points = Vec::new();
    for (nth, (city, latitude, longitude, value)) in CITIES.iter().enumerate() {
        for part in 0..6 {
            let turn = (nth * 7 + part * 5) as f64;
            let far = if part == 0 { 0.0 } else { 0.5 };
            let name = match part {
                0 => (*city).to_owned(),
                part => format!("{city}-{part}"),
            };
            points.push(Point {
                key: name.to_lowercase(),
                name,
                latitude: latitude + turn.sin() * far * 0.6,
                longitude: longitude + turn.cos() * far,
                value: (value / f64::from(1 + part as u32 * part as u32)).round(),
            });
        }
    }
    // Somebody has it the wrong way around.
    points.push(Point {
        key: "swapped".into(),
        name: "Swapped".into(),
        latitude: 9.99,
        longitude: 53.55,
        value: 5.0,
    });
    let title = if heat { "Density" } else { "Map" };
    let (from, to) = (month(2019 * 12 + 9), month(2019 * 12 + 10));
    let heat = heat.then_some(3270.0);
    figure(title, from, to, Unit::Month, Plot::Map { points, heat })
}

/// Somewhere else: the map goes there.
fn catalonia() -> Figure {
    let mut figure = places(false);
    if let Plot::Map { points, .. } = &mut figure.plot {
        for point in points {
            let (north, east) = (point.latitude - 51.0, point.longitude - 10.0);
            (point.latitude, point.longitude) = (41.7 + north / 4.0, 1.6 + east / 4.0);
        }
    }
    figure
}

/// In America and Asia, and one nowhere.
fn world() -> Figure {
    let mut figure = places(true);
    let cities = [
        ("Buenos Aires", -34.6, -58.4, 900.0),
        ("Rosario", -32.95, -60.65, 120.0),
        ("New York", 40.7, -74.0, 2100.0),
        ("Portland", 45.5, -122.7, 300.0),
        ("Taipei", 25.04, 121.56, 1400.0),
        ("Tokyo", 35.68, 139.69, 800.0),
        ("Wien", 48.2, 16.37, 600.0),
        ("Nowhere", 91.0, 16.37, 600.0),
    ];
    if let Plot::Map { points, heat } = &mut figure.plot {
        *heat = Some(2100.0);
        let point = |(name, latitude, longitude, value): &(&str, f64, f64, f64)| Point {
            key: name.to_lowercase(),
            name: (*name).into(),
            latitude: *latitude,
            longitude: *longitude,
            value: *value,
        };
        *points = cities.iter().map(point).collect();
    }
    figure
}

fn cloud() -> Figure {
    let words = |place: &Figure| -> Vec<Bar> {
        let Plot::Map { points, .. } = &place.plot else {
            return Vec::new();
        };
        let word = |point: &Point| Bar {
            key: point.key.clone(),
            name: format!("Freifunk {}", point.name),
            value: point.value,
        };
        points.iter().map(word).collect()
    };
    let mut words = words(&places(false));
    words.sort_by(|one, other| other.value.total_cmp(&one.value));
    words.truncate(60);
    let (from, to) = (month(2019 * 12 + 9), month(2019 * 12 + 10));
    figure("Communities", from, to, Unit::Month, Plot::Words(words))
}

#[test]
fn numbers_that_nobody_believes_are_drawn_beside_the_scale() {
    let draw = |figure: &Figure, language| {
        let look = look(960, 480, Theme::Light);
        svg::draw(figure, "community", &look, language, None)
    };
    let most = |picture: &str| {
        let value = picture.split("data-most=\"").nth(1);
        value.and_then(|rest| rest.split('"').next().map(str::to_owned))
    };
    let (with, without) = (odd(), hours());
    let picture = draw(&with, Language::English);
    assert_eq!(
        most(&picture),
        most(&draw(&without, Language::English)),
        "the scale is that of the others"
    );
    for says in [
        "not believed: ▲ above 100,000, ▼ below 0",
        // Marks that would lie upon each other are one.
        "<title>17 Oct 2019, 05:00 UTC – 17 Oct 2019, 06:00 UTC: 250,000 (2 hours)</title>",
        ": −4 (1 hour)</title>",
    ] {
        assert!(picture.contains(says), "{says}: {picture}");
    }
    // Where nothing else is known they are all there is.
    let mut alone = with;
    if let Plot::Time(lines) = &mut alone.plot {
        for series in &mut lines.series {
            series.values.fill(None);
        }
    }
    let picture = draw(&alone, Language::German);
    assert!(picture.contains("Keine glaubhafte Zahl hier"), "{picture}");
    assert_eq!(picture.matches("<title>").count(), 4, "{picture}");
}

#[test]
fn the_world_is_on_the_map() {
    let look = look(960, 480, Theme::Light);
    let figure = world();
    let picture = svg::draw(&figure, "heat", &look, Language::English, None);
    for city in ["buenos aires", "portland", "tokyo", "wien"] {
        let item = format!("class=\"item\" data-key=\"{city}\"");
        assert!(picture.contains(&item), "{city}: {picture}");
    }
    assert!(picture.contains("Not on the map: 1."), "{picture}");
    // There is land, and more of it than where Europe ends.
    let land = picture.split("class=\"ground\"").nth(1);
    let land = land.and_then(|rest| rest.split(" d=\"").nth(1));
    let land = land.and_then(|rest| rest.split('"').next());
    let rings = land.map_or(0, |land| land.matches('M').count());
    assert!(rings > 50, "{rings}");
}

#[test]
fn a_colour_of_the_heat_map_means_the_same_at_all_times() {
    let look = look(960, 480, Theme::Light);
    let legend = |by: f64| {
        let mut figure = places(true);
        if let Plot::Map { points, .. } = &mut figure.plot {
            for point in points {
                point.value *= by;
            }
        }
        let picture = svg::draw(&figure, "heat", &look, Language::English, None);
        let legend = picture.split("class=\"legend\"").nth(1);
        legend.map(str::to_owned).expect("a legend")
    };
    let large = legend(1.0);
    assert!(large.contains("same steps at all times"), "{large}");
    assert_eq!(legend(0.001), large);
}

/// Of each bar: its key, and what paints it.
fn painted(figure: &Figure) -> BTreeMap<String, String> {
    let look = look(960, 480, Theme::Light);
    let picture = svg::draw(figure, "top", &look, Language::English, None);
    let id = picture.split("aria-labelledby=\"").nth(1);
    let id = id.and_then(|rest| rest.split("-t ").next()).expect("an id");
    let plain = picture.replace(id, "");
    let items = plain.split("<g class=\"item\" data-key=\"").skip(1);
    let of = |item: &str| {
        let key = item.split('"').next()?;
        let fill = item.split("<rect ").nth(1)?.split(" fill=\"").nth(1)?;
        Some((key.to_owned(), fill.split('"').next()?.to_owned()))
    };
    items.filter_map(of).collect()
}

#[test]
fn no_two_bars_look_the_same_and_names_keep_their_colours() {
    let figure = top();
    let all = painted(&figure);
    let fills: BTreeSet<&String> = all.values().collect();
    assert_eq!((all.len(), fills.len()), (10, 10), "{all:?}");
    // A metacommunity has a key of its own, and its colour by its name.
    let mut named = figure.clone();
    if let Plot::Bars(bars) = &mut named.plot {
        for bar in bars {
            bar.key = format!("key-of-{}", bar.key);
        }
    }
    assert!(painted(&named).values().eq(all.values()));
}

#[test]
fn pictures_are_as_they_were_looked_at() {
    let address = |keys: &[String]| format!("/chart/x?only={}", keys.join(","));
    for (theme, as_theme) in THEMES {
        for (size, width, height) in [("wide", 960, 480), ("narrow", 360, 420)] {
            let look = look(width, height, as_theme);
            for (name, figure, language) in [
                ("growth", growth(), Language::English),
                ("routing", routing(), Language::German),
                ("births", births(), Language::English),
                ("hours", hours(), Language::English),
                ("odd", odd(), Language::English),
                ("top", top(), Language::English),
                ("cloud", cloud(), Language::English),
                ("map", places(false), Language::English),
                ("heat", places(true), Language::German),
                ("catalonia", catalonia(), Language::English),
                ("world", world(), Language::English),
            ] {
                let picture = svg::draw(&figure, name, &look, language, Some(&address));
                golden(&format!("{name}-{size}-{theme}"), &picture);
            }
        }
    }
}
