//! Charts at the limits of their data.

use super::*;

fn by(store: &Connection, chart: &str, query: &str) -> Unit {
    figure(store, chart, query).by
}

#[test]
fn the_finest_with_few_enough_points() {
    let (_folder, store) = store();
    // 400 hours, and one more.
    assert_eq!(by(&store, "growth", "to=2018-10-17T15"), Unit::Hour);
    assert_eq!(by(&store, "growth", "to=2018-10-17T16"), Unit::Day);
    // The limit of an explicit `by=hour` is 2000 hours.
    assert_eq!(by(&store, "growth", "by=hour&to=2018-12-23T07"), Unit::Hour);
    let words = error(&store, "growth", "by=hour&to=2018-12-23T08");
    assert!(words.contains("2001 points"), "{words}");
}

#[test]
fn what_is_not_whole_is_read_finer() {
    let (_folder, store) = store();
    for (query, unit, label) in [
        ("at=2019-10", Unit::Month, "October 2019"),
        ("at=2018", Unit::Month, "2018"),
        (
            "from=2019-10-02&to=2019-10-20",
            Unit::Day,
            "2019-10-02 – 2019-10-20",
        ),
        (
            "from=2019-10-01&to=2019-12-01",
            Unit::Day,
            "2019-10-01 – 2019-12-01",
        ),
        (
            "from=2019-10-01&to=2019-12-02",
            Unit::Month,
            "2019-10-01 – 2019-12-02",
        ),
        (
            "from=2019-10-01T01&to=2019-10-03T00",
            Unit::Hour,
            "2019-10-01 – 2019-10-03",
        ),
        (
            "from=2019-10-01T01&to=2019-10-03T01",
            Unit::Day,
            "2019-10-01 – 2019-10-03",
        ),
    ] {
        let figure = figure(&store, "top", query);
        assert_eq!(figure.by, unit, "{query}");
        assert_eq!(figure.title, format!("Largest communities, {label}"));
    }
}

#[test]
fn the_record_begins_and_ends_with_a_snapshot() {
    let (_folder, store) = store();
    let nothing = |query: &str| {
        let figure = figure(&store, "top", query);
        let said = figure
            .notes
            .iter()
            .any(|note| note.starts_with("Nothing is known"));
        assert_eq!(said, figure.table.rows.is_empty(), "{query}");
        said
    };
    assert!(nothing("at=2018-09") && nothing("at=2019-11-01T01"));
    assert!(!nothing("at=2018-10-01T00") && !nothing("at=2019-11-01T00"));
}

#[test]
fn sums_are_added() {
    let of = |number, ends: Option<(i64, i64)>| sums::Sum {
        number,
        hours: 2,
        nodes: 7,
        least: ends.map(|ends| ends.0),
        most: ends.map(|ends| ends.1),
        counted: [1, 2, 3],
        listed: 2,
        odd: 1,
        profile: number,
        ..sums::Sum::default()
    };
    let mut sum = of(1, Some((3, 9)));
    sum.add(&of(2, None));
    sum.add(&of(3, Some((5, 7))));
    let expected = sums::Sum {
        hours: 6,
        nodes: 21,
        counted: [3, 6, 9],
        listed: 6,
        odd: 3,
        ..of(3, Some((3, 9)))
    };
    assert_eq!(sum, expected);
}

#[test]
fn points_are_means_of_their_hours() {
    let (_folder, store) = store();
    let routing = figure(&store, "routing", "by=month&to=2018-10");
    let first = series(&routing)
        .iter()
        .map(|one| (one.0, one.2[0]))
        .collect::<Vec<_>>();
    // 20 twice; 10 and 11.
    assert_eq!(
        first[..2],
        [("babel", Some(20.0)), ("batman-adv", Some(11.0))]
    );
}

#[test]
fn who_has_as_many_is_in_the_order_of_keys() {
    let hour = hour_of(date(2020, 1, 1));
    let entries = ["b", "c", "a"].map(|key| entry(hour, key, 5));
    let none = entry(hour, "d", 0);
    let entries = entries.into_iter().chain([none]).collect();
    let (_folder, store) = sample(&[snapshot(hour, entries)]);
    let top = figure(&store, "top", "");
    let keys = rows(&top)
        .iter()
        .map(|row| row[..1].to_owned())
        .collect::<Vec<_>>();
    assert_eq!(keys, ["a", "b", "c", "d"]);
    // Communities without nodes are neither counted with others nor a word.
    assert_eq!(top.notes, [""; 0]);
    let Plot::Words(words) = figure(&store, "cloud", "").plot else {
        panic!("words");
    };
    assert_eq!(words.len(), 3);
}

#[test]
fn a_place_for_all_needs_no_word() {
    let hour = hour_of(date(2020, 1, 1));
    let placed = Profile {
        latitude: Some(50.0),
        longitude: Some(8.0),
        ..Profile::default()
    };
    let a = of(hour, "a", 5, Status::Live, placed);
    let (_folder, store) = sample(&[snapshot(hour, vec![a])]);
    assert_eq!(figure(&store, "map", "").notes, [""; 0]);
}

#[test]
fn the_others_are_a_filter() {
    let hour = hour_of(date(2020, 1, 1));
    let entries = (0..13).map(|at| {
        let profile = Profile {
            country: Some(format!("C{at:02}")),
            ..Profile::default()
        };
        of(hour, &format!("c{at}"), 100 - at, Status::Live, profile)
    });
    let (_folder, store) = sample(&[snapshot(hour, entries.collect())]);
    let others = figure(&store, "countries", "only=other&by=month");
    assert_eq!(
        rows(&others),
        ["2020-01 C10 90 1", "2020-01 C11 89 1", "2020-01 C12 88 1"]
    );
    let one = figure(&store, "countries", "only=C00&by=month");
    assert_eq!(rows(&one), ["2020-01 C00 100 1"]);
}

#[test]
fn from_nothing_there_is_no_rate() {
    let snapshots = [(2019, 0), (2020, 5)].map(|(year, nodes)| {
        let hour = hour_of(date(year, 10, 1));
        snapshot(hour, vec![entry(hour, "a", nodes)])
    });
    let (_folder, store) = sample(&snapshots);
    let rate = figure(&store, "rate", "by=month");
    assert_eq!(rows(&rate), ["2019-10 - 0 -", "2020-10 - 5 0"]);
}

#[test]
fn the_latest_changes_are_told() {
    let snapshots = (0..44).map(|month| {
        let hour = Unit::Month.begin(Unit::Month.number(hour_of(date(2016, 1, 1))) + month);
        let profile = Profile {
            name: format!("n{month}"),
            routing: vec!["olsr".into()],
            ..Profile::default()
        };
        snapshot(hour, vec![of(hour, "a", 5, Status::Live, profile)])
    });
    let (_folder, store) = sample(&snapshots.collect::<Vec<_>>());
    let figure = figure(&store, "community", "key=a&by=month");
    let changes = figure.notes.iter().filter(|note| note.contains(" → "));
    let changes = changes.map(String::as_str).collect::<Vec<_>>();
    // Of 43 changes 40 are listed, each with the changed field only.
    assert_eq!(changes.len(), 40);
    assert_eq!(changes[0], "May 2016: name n3 → n4");
    assert_eq!(changes[39], "August 2019: name n42 → n43");
}

#[test]
fn a_race_has_an_end() {
    // 100 communities, 101 days.
    let first = hour_of(date(2020, 1, 1)) / 24;
    let store = Connection::open_in_memory().expect("memory");
    store.execute_batch(crate::store::SCHEMA).expect("tables");
    let numbers = "WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 100)";
    let sql = format!(
        "INSERT INTO profiles (digest, name) VALUES (x'00', 'p');
         {numbers} INSERT INTO communities (id, key, profile)
           SELECT n, 'c' || n, 1 FROM n WHERE n > 0;
         {numbers} INSERT INTO hour_totals SELECT ({first} + n) * 24, 1, 0, 0, 1, 0 FROM n;
         {numbers} INSERT INTO day_totals SELECT {first} + n, 1, 1, 0, 0, 1, 0 FROM n;
         {numbers} INSERT INTO days
           (day, community, hours, nodes, least, most, live, stale, frozen, listed, odd, profile)
           SELECT {first} + n, id, 1, 5, 5, 5, 5, 0, 0, 1, 0, 1 FROM n, communities;"
    );
    store.execute_batch(&sql).expect("rows");
    let hundred = figure(&store, "race", "by=day&n=100&to=2020-04-09");
    assert_eq!(hundred.table.rows.len(), 10_000);
    let words = error(&store, "race", "by=day&n=100");
    assert!(
        words.contains("10100 places are more than 10000"),
        "{words}"
    );
}
