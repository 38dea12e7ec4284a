//! Each chart on a small store, against numbers computed by hand.

use jiff::civil::date;
use rusqlite::Connection;

use super::*;
use crate::figure::{Cell, Plot, Series, Style};
use crate::snapshot::{Entry, Profile, Snapshot, Status};
use crate::store::sample::{Folder, entry, sample, snapshot};
use crate::time::Unit;
use crate::time::{hour_of, iso};

/// 2018-10-01T00, and so on.
fn hours() -> [i64; 5] {
    let day = |year, month, day| hour_of(date(year, month, day));
    [
        day(2018, 10, 1),
        day(2018, 10, 1) + 1,
        day(2019, 10, 1),
        day(2019, 10, 2) + 5,
        day(2019, 11, 1),
    ]
}

fn of(hour: i64, key: &str, nodes: i64, status: Status, profile: Profile) -> Entry {
    Entry {
        status,
        profile: Profile {
            name: if profile.name.is_empty() {
                key.into()
            } else {
                profile.name
            },
            ..profile
        },
        ..entry(hour, key, nodes)
    }
}

/// `a` grows and changes, `b` gets old and goes, `c` never tells a number, `d` is large, and `e` is
/// odd at first.
fn snapshots() -> Vec<Snapshot> {
    let first = || Profile {
        metacommunity: Some("Region".into()),
        routing: vec!["batman-adv".into(), "olsr".into()],
        api: Some("0.4".into()),
        country: Some("DE".into()),
        latitude: Some(50.1),
        longitude: Some(8.6),
        ..Profile::default()
    };
    let later = || Profile {
        name: "A new".into(),
        routing: vec!["babel".into()],
        api: Some("0.5".into()),
        ..first()
    };
    let other = || Profile {
        metacommunity: Some(" region".into()),
        routing: vec!["babel".into()],
        country: Some(" de ".into()),
        latitude: Some(0.0),
        longitude: Some(0.0),
        ..Profile::default()
    };
    let [one, two, three, four, five] = hours();
    let silent = |hour| Entry {
        nodes: None,
        ..entry(hour, "c", 0)
    };
    let early = |hour, nodes| {
        let a = of(hour, "a", nodes, Status::Live, first());
        let b = of(hour, "b", 20, Status::Stale, other());
        snapshot(hour, vec![a, b, silent(hour)])
    };
    let late = |hour, nodes, large, e: (i64, Status)| {
        vec![
            of(hour, "a", nodes, Status::Live, later()),
            entry(hour, "d", large),
            of(hour, "e", e.0, e.1, Profile::default()),
        ]
    };
    let old = |hour| of(hour, "b", 20, Status::Frozen, other());
    let with = |hour, mut entries: Vec<Entry>| {
        entries.push(old(hour));
        snapshot(hour, entries)
    };
    vec![
        early(one, 10),
        early(two, 11),
        with(three, late(three, 30, 500, (-5, Status::Odd))),
        with(four, late(four, 40, 501, (7, Status::Live))),
        snapshot(five, late(five, 41, 600, (7, Status::Live))),
    ]
}

fn store() -> (Folder, Connection) {
    sample(&snapshots())
}

fn figure(store: &Connection, chart: &str, query: &str) -> Figure {
    let asked = Asked::read(query).expect(query);
    let chart = find(chart).expect(chart);
    let figure = chart.figure(store, &asked);
    let figure = figure.unwrap_or_else(|error| panic!("{query}: {error}"));
    for row in &figure.table.rows {
        assert_eq!(row.len(), figure.table.columns.len());
    }
    if let Plot::Time(lines) = &figure.plot {
        assert!(lines.at.is_sorted());
        assert!(
            lines
                .series
                .iter()
                .all(|one| one.values.len() == lines.at.len())
        );
    }
    figure
}

fn error(store: &Connection, chart: &str, query: &str) -> String {
    let asked = Asked::read(query).expect(query);
    let answer = find(chart).expect(chart).figure(store, &asked);
    answer.expect_err(query).to_string()
}

/// The table as lines of text, without its head; times as months, days or hours.
fn rows(figure: &Figure) -> Vec<String> {
    let cell = |cell: &Cell| match cell {
        Cell::Nothing => "-".to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Whole(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Time(hour) => {
            let length = match figure.by {
                Unit::Hour => 13,
                Unit::Day => 10,
                Unit::Month => 7,
            };
            iso(*hour)[..length].to_owned()
        }
    };
    let row = |row: &Vec<Cell>| row.iter().map(cell).collect::<Vec<_>>().join(" ");
    figure.table.rows.iter().map(row).collect()
}

fn series(figure: &Figure) -> Vec<(&str, Style, &[Option<f64>])> {
    let Plot::Time(lines) = &figure.plot else {
        panic!("not over time");
    };

    lines
        .series
        .iter()
        .map(|one: &Series| (one.key.as_str(), one.style, &one.values[..]))
        .collect()
}

#[test]
fn names_are_apart_and_known() {
    for chart in ALL {
        assert_eq!(
            ALL.iter()
                .filter(|other| other.name() == chart.name())
                .count(),
            1
        );
        for language in [Language::English, Language::German] {
            assert!(!chart.title(language).is_empty() && !chart.about(language).is_empty());
        }
    }
    assert!(find("nothing").is_none());
}

#[test]
fn an_empty_store_says_how_to_fill_it() {
    let (_folder, store) = sample(&[]);
    for chart in ALL {
        for query in ["", "at=2019-10", "from=2019&to=2020", "by=hour"] {
            let figure = figure(&store, chart.name(), &format!("key=a&{query}"));
            assert!(
                figure.notes[0].contains("weir-atlas import"),
                "{}",
                chart.name()
            );
            assert!(figure.table.rows.is_empty());
            assert!(!figure.table.name.is_empty() && !figure.table.columns.is_empty());
        }
    }
}

#[test]
fn a_time_without_data_is_said() {
    let (_folder, store) = store();
    for chart in ALL {
        for query in [
            "from=2030",
            "to=2001",
            "at=2001",
            "from=2001&to=2002&by=hour",
        ] {
            if query == "at=2001" && chart.parameters().first() != Some(&Parameter::At) {
                continue;
            }
            // The race is a range, and shows one time of it.
            if query == "at=2001" && chart.name() == "race" {
                continue;
            }
            let figure = figure(&store, chart.name(), &format!("key=a&{query}"));
            let note = "data is from 2018-10-01 to 2019-11-01";
            assert!(
                figure.notes[0].contains(note),
                "{}: {:?}",
                chart.name(),
                figure.notes
            );
            assert!(figure.table.rows.is_empty());
            assert!(figure.from <= figure.to);
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let (_folder, store) = store();
    for chart in ALL {
        let words = error(&store, chart.name(), "key=a&from=2019-11&to=2019-10");
        assert!(
            words.contains("give the earlier as `from`"),
            "{}: {words}",
            chart.name()
        );
    }
    let words = error(&store, "growth", "by=hour");
    assert!(
        words.contains("9505 points") && words.contains("`by=day`"),
        "{words}"
    );
    assert!(words.contains("at most 83 days"), "{words}");
    assert_eq!(
        figure(&store, "growth", "by=hour&from=2019-10-01").by,
        Unit::Hour
    );
}

#[test]
fn growth() {
    let (_folder, store) = store();
    let months = figure(&store, "growth", "by=month");
    assert_eq!(
        rows(&months),
        [
            "2018-10 31 11 20 0 3",
            "2019-10 559 539 0 20 4",
            "2019-11 648 648 0 0 3"
        ]
    );
    assert!(
        months
            .notes
            .iter()
            .any(|note| note.starts_with("1 number was not believed"))
    );
    let expected = [
        (
            "live",
            Style::Area,
            &[Some(11.0), Some(539.0), Some(648.0)][..],
        ),
        ("stale", Style::Hatched, &[Some(20.0), Some(0.0), Some(0.0)]),
        (
            "frozen",
            Style::Hatched,
            &[Some(0.0), Some(20.0), Some(0.0)],
        ),
    ];
    // A year lies between the first two: no more than the usual here.
    let shown = series(&months);
    for (series, (key, style, _)) in shown.iter().zip(expected) {
        assert_eq!((series.0, series.1), (key, style));
    }
    assert_eq!(iso(months.from), "2018-10-01T00:00:00Z");
    assert_eq!(iso(months.to), "2019-12-01T00:00:00Z");

    let hours = figure(&store, "growth", "from=2019-10-01&to=2019-10-02T05&by=hour");
    assert_eq!(
        rows(&hours),
        [
            "2019-10-01T00 550 530 0 20 4",
            "2019-10-02T05 568 548 0 20 4"
        ]
    );
    let days = figure(&store, "growth", "to=2018-10-10");
    assert_eq!(
        (days.by, rows(&days)),
        (
            Unit::Hour,
            vec![
                "2018-10-01T00 30 10 20 0 3".to_owned(),
                "2018-10-01T01 31 11 20 0 3".to_owned(),
            ]
        )
    );
    // What the range has of a month is the month.
    let part = figure(&store, "growth", "from=2019-10-02&to=2019-10-02&by=month");
    assert_eq!(rows(&part), ["2019-10 559 539 0 20 4"]);
}

#[test]
fn what_is_filtered_stays_in_the_legend() {
    let (_folder, store) = store();
    let figure = figure(&store, "growth", "by=month&only=live,stael");
    let styles = series(&figure).iter().map(|one| one.1).collect::<Vec<_>>();
    assert_eq!(styles, [Style::Area, Style::Hidden, Style::Hidden]);
    let note = "`stael` is not in it; did you mean `stale`?";
    assert!(
        figure.notes.iter().any(|said| said == note),
        "{:?}",
        figure.notes
    );
}

#[test]
fn gaps_are_none() {
    let day = hour_of(date(2019, 10, 1));
    let days = [0, 1, 2, 3, 4, 6, 9].map(|n| {
        let hour = day + n * 24;
        snapshot(hour, vec![entry(hour, "a", n + 1)])
    });
    let (_folder, store) = sample(&days);
    let figure = figure(&store, "growth", "by=day");
    let shown = series(&figure);
    let live = [
        Some(1.0),
        Some(2.0),
        Some(3.0),
        Some(4.0),
        Some(5.0),
        Some(7.0),
        None,
        Some(10.0),
    ];
    assert_eq!(shown[0].2, live);
    assert_eq!(figure.table.rows.len(), 7);
}

#[test]
fn top() {
    let (_folder, store) = store();
    let last = figure(&store, "top", "");
    assert_eq!(last.title, "Largest communities, November 2019");
    assert_eq!(
        rows(&last),
        [
            "d d 600 600 0 0 -",
            "a A new 41 41 0 0 Region",
            "e e 7 7 0 0 -"
        ]
    );
    let month = figure(&store, "top", "at=2019-10&n=3");
    assert_eq!(
        rows(&month),
        [
            "d d 501 501 0 0 -",
            "a A new 35 35 0 0 Region",
            "b b 20 0 0 20  region"
        ]
    );
    assert_eq!(iso(month.to), "2019-11-01T00:00:00Z");
    let Plot::Bars(bars) = &month.plot else {
        panic!("bars");
    };
    assert_eq!(
        (bars[1].key.as_str(), bars[1].name.as_str(), bars[1].value),
        ("a", "A new", 35.0)
    );
    // The odd number counts as none: of `e` one hour is left.
    assert_eq!(
        rows(&figure(&store, "top", "at=2019-10&only=e")),
        ["e e 7 7 0 0 -"]
    );
    let groups = figure(&store, "top", "at=2019-10&group=meta");
    assert_eq!(
        rows(&groups),
        [
            "d d 501 501 0 0 -",
            "region Region 55 35 0 20 -",
            "e e 4 4 0 0 -"
        ]
    );
    // A day, an hour, a year, and what lies between.
    for (at, nodes) in [("2018-10-01", 11), ("2018-10-01T00", 10), ("2018", 11)] {
        let figure = figure(&store, "top", &format!("at={at}&only=a"));
        assert_eq!(
            rows(&figure),
            [format!("a a {nodes} {nodes} 0 0 Region")],
            "{at}"
        );
    }
    // (10 + 11 + 30 + 40 + 41) / 5 = 26.4, by the name of the end.
    let all = figure(&store, "top", "from=2018&only=a&lang=de");
    assert_eq!(rows(&all), ["a A new 26 26 0 0 Region"]);
    assert_eq!(all.title, "Größte Gemeinschaften, 2018-01-01 – 2019-11-01");
}

#[test]
fn cloud() {
    let (_folder, store) = store();
    let figure = figure(&store, "cloud", "at=2019-10");
    let Plot::Words(words) = &figure.plot else {
        panic!("words");
    };
    let words = words
        .iter()
        .map(|word| (word.name.as_str(), word.value))
        .collect::<Vec<_>>();
    assert_eq!(
        words,
        [("d", 501.0), ("A new", 35.0), ("b", 20.0), ("e", 7.0)]
    );
    assert_eq!(figure.title, "Word cloud, October 2019");
}

#[test]
fn heat_and_map() {
    let (_folder, store) = store();
    for (chart, dense) in [("heat", true), ("map", false)] {
        let figure = figure(&store, chart, "at=2019-10");
        let Plot::Map { points, heat } = &figure.plot else {
            panic!("a map");
        };
        assert_eq!(*heat, dense);
        let points = points
            .iter()
            .map(|point| (point.key.as_str(), point.latitude, point.value));
        assert_eq!(points.collect::<Vec<_>>(), [("a", 50.1, 35.0)]);
        let note = "528 nodes are of communities without a position.";
        assert!(
            figure.notes.iter().any(|said| said == note),
            "{:?}",
            figure.notes
        );
        assert_eq!(rows(&figure), ["a A new 35 35 0 0 50.1 8.6"]);
    }
}

#[test]
fn routing() {
    let (_folder, store) = store();
    let nodes = figure(&store, "routing", "by=month&to=2019-10");
    // The order is that of all nodes: 1008 of those who do not say, babel 150, the others 21.
    assert_eq!(
        rows(&nodes),
        [
            "2018-10 unknown 0 1",
            "2018-10 babel 20 1",
            "2018-10 batman-adv 11 1",
            "2018-10 olsr 11 1",
            "2019-10 unknown 504 2",
            "2019-10 babel 55 2",
        ]
    );
    let share = figure(
        &store,
        "routing",
        "by=month&to=2019-10&share=1&only=babel,olsr",
    );
    // 10.5 and 40 of 61.
    assert_eq!(
        rows(&share),
        [
            "2018-10 babel 20 1 65.57",
            "2018-10 olsr 5 1 17.21",
            "2019-10 babel 55 2 9.84"
        ]
    );
    let hidden = series(&share)
        .iter()
        .filter(|one| one.1 == Style::Hidden)
        .count();
    assert_eq!(hidden, 2);
}

#[test]
fn versions() {
    let (_folder, store) = store();
    let figure = figure(&store, "versions", "by=month&share=1");
    assert_eq!(
        rows(&figure),
        [
            "2018-10 0.4 11 1 33.33",
            "2018-10 unknown 20 2 66.67",
            "2019-10 0.5 35 1 25",
            "2019-10 unknown 524 3 75",
            "2019-11 0.5 41 1 33.33",
            "2019-11 unknown 607 2 66.67",
        ]
    );
}

#[test]
fn sizes() {
    let (_folder, store) = store();
    let figure = figure(&store, "sizes", "by=month&to=2019-10");
    assert_eq!(
        rows(&figure),
        [
            "2018-10 10-49 31 2",
            "2019-10 1-9 4 1",
            "2019-10 10-49 55 2",
            "2019-10 500+ 501 1",
        ]
    );
    let keys = series(&figure).iter().map(|one| one.0).collect::<Vec<_>>();
    assert_eq!(keys, ["0", "1-9", "10-49", "50-99", "100-499", "500+"]);
}

#[test]
fn births() {
    let (_folder, store) = store();
    let all = figure(&store, "births", "by=month");
    assert_eq!(
        rows(&all),
        ["2018-10 3 0 1", "2019-10 0 2 1", "2019-11 0 0 0"]
    );
    let gone = series(&all)[2];
    assert_eq!((gone.0, gone.2[0]), ("gone", Some(-1.0)));
    // Where the record does not begin, no series of that.
    let later = figure(&store, "births", "from=2019-10&by=month");
    assert_eq!(series(&later)[0].0, "appeared");
}

#[test]
fn rate() {
    let (_folder, store) = store();
    let months = figure(&store, "rate", "by=month");
    assert_eq!(
        rows(&months),
        [
            "2018-10 - 31 -",
            "2019-10 1703.23 559 31",
            "2019-11 - 648 -"
        ]
    );
    // No snapshot of just that day: the one of the day before.
    let days = figure(&store, "rate", "from=2019-10&to=2019-10&by=day");
    assert_eq!(
        rows(&days),
        ["2019-10-01 1674.19 550 31", "2019-10-02 1732.26 568 31"]
    );
}

#[test]
fn race() {
    let (_folder, store) = store();
    let all = figure(&store, "race", "by=month&n=2&at=2019-10");
    assert_eq!(
        rows(&all),
        [
            "2018-10 1 b b 20",
            "2018-10 2 a a 11",
            "2019-10 1 d d 501",
            "2019-10 2 a A new 35",
            "2019-11 1 d d 600",
            "2019-11 2 a A new 41",
        ]
    );
    let Plot::Bars(bars) = &all.plot else {
        panic!("bars");
    };
    assert_eq!(
        bars.iter().map(|bar| bar.value).collect::<Vec<_>>(),
        [501.0, 35.0]
    );
    assert_eq!(all.title, "Race, October 2019");
}

#[test]
fn one_community() {
    let (_folder, store) = store();
    let a = figure(&store, "community", "key=A&by=month");
    assert_eq!(a.title, "A new");
    assert_eq!(
        rows(&a),
        [
            "2018-10 11 11 0 0 0 10 11 0",
            "2019-10 35 35 0 0 0 30 40 0",
            "2019-11 41 41 0 0 0 41 41 0"
        ]
    );
    for note in [
        "Metacommunity: Region",
        "Routing: babel",
        "In the directory since 2018-10-01.",
        "October 2019: name a → A new",
        "October 2019: routing batman-adv, olsr → babel",
        "October 2019: API 0.4 → 0.5",
    ] {
        assert!(
            a.notes.iter().any(|said| said == note),
            "{note}: {:?}",
            a.notes
        );
    }
    let hours = figure(
        &store,
        "community",
        "key=e&from=2019-10-01&to=2019-10-02&by=hour",
    );
    assert_eq!(
        rows(&hours),
        [
            "2019-10-01T00 - - - - - - - 1",
            "2019-10-02T05 7 7 0 0 0 7 7 0"
        ]
    );
    let gone = figure(&store, "community", "key=b&by=month");
    assert!(
        gone.notes
            .contains(&"In the directory from 2018-10-01 to 2019-10-02.".to_owned())
    );
    assert!(error(&store, "community", "").contains("Give `key=`"));
    assert!(error(&store, "community", "key=A+new").contains("did you mean `a`?"));
    assert!(error(&store, "community", "key=nobody").contains("no community has the key"));
}

#[test]
fn what_others_count_is_not_live_again() {
    let hour = hour_of(date(2020, 1, 1));
    let child = |key: &str, nodes| {
        let profile = Profile {
            metacommunity: Some("net".into()),
            ..Profile::default()
        };
        of(hour, key, nodes, Status::Live, profile)
    };
    let entries = vec![entry(hour, "net", 100), child("x", 30), child("y", 40)];
    let (_folder, store) = sample(&[snapshot(hour, entries)]);
    let x = figure(&store, "community", "key=x&by=month");
    assert_eq!(rows(&x), ["2020-01 30 0 0 0 30 30 30 0"]);
    assert_eq!(series(&x).len(), 4);
    let top = figure(&store, "top", "");
    assert_eq!(
        rows(&top),
        [
            "net net 100 100 0 0 -",
            "y y 40 0 0 0 net",
            "x x 30 0 0 0 net"
        ]
    );
    assert!(top.notes[0].starts_with("2 of these"), "{:?}", top.notes);
    assert_eq!(
        rows(&figure(&store, "top", "group=meta")),
        ["net net 100 100 0 0 -"]
    );
    assert_eq!(
        rows(&figure(&store, "growth", "by=month")),
        ["2020-01 100 100 0 0 3"]
    );
}

#[test]
fn many_rows_are_read_coarser() {
    // 1000 communities, 120 days: by day, 120,000 rows.
    let begin = hour_of(date(2020, 1, 1));
    let store = Connection::open_in_memory().expect("memory");
    store.execute_batch(crate::store::SCHEMA).expect("tables");
    let sql = "INSERT INTO profiles (digest, name) VALUES (x'00', 'p');
        WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000)
        INSERT INTO communities (id, key, profile) SELECT n, 'c' || n, 1 FROM n;";
    store.execute_batch(sql).expect("rows");
    for day in 0..120 {
        let day = begin / 24 + day;
        store
            .execute(
                "INSERT INTO day_totals VALUES (?1, 1, 1, 0, 0, 1, 0)",
                [day],
            )
            .expect("day");
        store
            .execute(
                "INSERT INTO hour_totals VALUES (?1 * 24, 1, 0, 0, 1, 0)",
                [day],
            )
            .expect("hour");
    }
    let finer = figure(&store, "routing", "by=day&to=2020-03");
    assert_eq!((finer.by, finer.notes.len()), (Unit::Day, 0));
    let coarser = figure(&store, "routing", "by=day");
    assert_eq!(coarser.by, Unit::Month);
    assert!(coarser.notes[0].starts_with("Coarser than asked for"));
    // Where nobody asked, no word of it.
    let usual = figure(&store, "routing", "to=2020-03");
    assert_eq!((usual.by, usual.notes.len()), (Unit::Month, 0));
    assert_eq!(figure(&store, "growth", "by=day").by, Unit::Day);
}
