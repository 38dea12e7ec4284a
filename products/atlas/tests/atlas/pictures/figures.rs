//! Figures that are drawn.

use atlas::figure::{Bar, Figure, Lines, Odd, Plot, Point, Series, Style, Table};
use atlas::time::{Unit, hour_of};

fn figure(title: &str, from: i64, to: i64, by: Unit, plot: Plot) -> Figure {
    Figure {
        title: title.into(),
        name: title.into(),
        notes: Vec::new(),
        odd: 0,
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

/// Shaped like the real directory: growth, a peak, decline; part of it old.
pub fn growth() -> Figure {
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

pub fn routing() -> Figure {
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
        // The fifth series is filtered out.
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

pub fn births() -> Figure {
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

/// A snapshot a week, and a pause after the tenth.
pub fn weeks(style: Style) -> Figure {
    let begin = hour_of(jiff::civil::date(2019, 1, 1));
    let week = |week: i64| begin + week * 7 * 24;
    let value = |at: i64| (at != 10).then_some(400.0 + (at * 37 % 11) as f64);
    let lines = Lines {
        at: (0..30).map(week).collect(),
        series: vec![series("Nodes", (0..30).map(value).collect(), style)],
        stacked: false,
        unit: "nodes".into(),
        odd: Vec::new(),
    };
    figure("A year", begin, week(30), Unit::Day, Plot::Time(lines))
}

pub fn hours() -> Figure {
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

/// Hours with disbelieved numbers.
pub fn odd() -> Figure {
    let mut figure = hours();
    let Plot::Time(lines) = &mut figure.plot else {
        return figure;
    };
    let begin = figure.from;
    let odd = |(at, value): &(i64, i64)| Odd {
        at: begin + at,
        value: Some(*value),
        count: 1,
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

pub fn top() -> Figure {
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
pub fn places(heat: bool) -> Figure {
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
    // Swapped coordinates.
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

/// Another region: the map shows it.
pub fn catalonia() -> Figure {
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
pub fn world() -> Figure {
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

pub fn cloud() -> Figure {
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
