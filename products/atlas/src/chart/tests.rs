//! Tests of each chart on a small store, against numbers computed by hand.

use jiff::civil::date;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rusqlite::Connection;
use testing::Directory;

use super::*;
use crate::figure::{Cell, Odd, Plot, Series, Style};
use crate::snapshot::{Entry, Profile, Snapshot, Status};
use crate::store::sample::{entry, sample, snapshot};
use crate::time::Unit;
use crate::time::{hour_of, iso};

mod at_a_time;
mod edges;
mod over_time;
mod zoom;

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

/// `a` grows and changes, `b` becomes stale and leaves, `c` never has a number, `d` is large, and
/// `e` is odd at first.
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

/// Note of the charts on these numbers.
const ODD: &str = "1 number was not believed (below 0, or above 100,000), and is not counted.";

fn store() -> (Directory, Connection) {
    sample(&snapshots())
}

fn figure(store: &Connection, chart: &str, query: &str) -> Figure {
    let asked = ChartQuery::read(query).expect(query);
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
    let asked = ChartQuery::read(query).expect(query);
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
    let words = error(&store, "growth", "from=2020&to=2019");
    assert!(
        words.contains("whose last hour is 2019-12-31T23:00:00Z"),
        "{words}"
    );
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
    let finer = figure(&store, "routing", "by=day&to=2020-02-10");
    assert_eq!((finer.by, finer.notes.len()), (Unit::Day, 0));
    let coarser = figure(&store, "routing", "by=day");
    assert_eq!(coarser.by, Unit::Month);
    assert!(coarser.notes[0].starts_with("Coarser than asked for"));
    // Without `by=` the note is missing.
    let usual = figure(&store, "routing", "to=2020-02-10");
    assert_eq!((usual.by, usual.notes.len()), (Unit::Month, 0));
    assert_eq!(figure(&store, "growth", "by=day").by, Unit::Day);
}

#[test]
fn the_documentation_has_each() {
    let docs = include_str!("../../../../docs/reference/atlas-charts.md");
    for chart in ALL {
        let name = chart.name();
        let row = docs
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let row =
            row.unwrap_or_else(|| panic!("docs/reference/atlas-charts.md has no row of `{name}`"));
        let told = row.split('|').nth(3).unwrap_or_default();
        let taken = chart.parameters().iter().map(|parameter| match parameter {
            Parameter::At => "`at`",
            Parameter::Count => "`n`",
            Parameter::Key => "`key`",
            Parameter::Group => "`group`",
            Parameter::Share => "`share`",
        });
        assert_eq!(told.trim(), taken.collect::<Vec<_>>().join(", "), "{name}");
    }
}

#[test]
fn any_question_has_an_answer_that_holds_together() {
    let (_folder, store) = store();
    let by = prop_oneof![Just(""), Just("hour"), Just("day"), Just("month")];
    let rest = ["", "share=1", "group=meta", "only=a,x,live", "lang=de"];
    let questions = (
        0..ALL.len(),
        [time(), time(), time()],
        by,
        1_usize..=100,
        0..rest.len(),
    );
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let asked = |(chart, [from, to, at], by, n, more): (usize, [String; 3], &str, usize, usize)| {
        let more = rest[more];
        let query = format!("key=a&from={from}&to={to}&at={at}&by={by}&n={n}&{more}");
        let asked = ChartQuery::read(&query).expect("well formed");
        match ALL[chart].figure(&store, &asked) {
            Ok(figure) => {
                prop_assert!(figure.from <= figure.to, "{query}");
                let columns = figure.table.columns.len();
                prop_assert!(figure.table.rows.iter().all(|row| row.len() == columns));
                if let Plot::Time(lines) = &figure.plot {
                    prop_assert!(lines.at.is_sorted());
                    let inside = |at: &i64| (figure.from..figure.to).contains(at);
                    prop_assert!(lines.at.iter().all(inside), "{query}");
                    let long = |one: &Series| one.values.len() == lines.at.len();
                    prop_assert!(lines.series.iter().all(long), "{query}");
                }
                prop_assert!(crate::answer::json("x", &figure).is_ok());
            }
            Err(error) => prop_assert!(matches!(error, Error::Asked(_)), "{query}: {error}"),
        }
        Ok(())
    };
    if let Err(error) = runner.run(&questions, asked) {
        panic!("{error}");
    }
}

/// Around the sample's times, and now and then none.
fn time() -> impl Strategy<Value = String> {
    let numbers = (2017..2021, 1..13, 1..29, 0..24);
    (numbers, 0..5).prop_map(|((year, month, day, hour), parts)| match parts {
        0 => String::new(),
        1 => format!("{year}"),
        2 => format!("{year}-{month:02}"),
        3 => format!("{year}-{month:02}-{day:02}"),
        _ => format!("{year}-{month:02}-{day:02}T{hour:02}"),
    })
}
