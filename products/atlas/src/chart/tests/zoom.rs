//! Charts have the same values at every zoom.

use std::collections::BTreeMap;

use super::*;
use crate::store::sample::digest;
use crate::store::{Writer, open};

/// State of a community in an hour: nodes, age, protocols, country; `None`: absent.
type Told = Option<(Option<i64>, usize, usize, usize)>;

fn told() -> impl Strategy<Value = Told> {
    let told = (
        proptest::option::of(-1_i64..50),
        0..3_usize,
        0..4_usize,
        0..3_usize,
    );
    proptest::option::weighted(0.9, told)
}

/// Hours in two months, each with states of three communities.
fn histories() -> impl Strategy<Value = Vec<Snapshot>> {
    let of_hour = proptest::collection::vec(told(), 3);
    let hours = proptest::collection::btree_map((27_i64..36, 0_i64..3), of_hour, 1..20);
    hours.prop_map(|hours| {
        let begin = hour_of(date(2019, 10, 1));
        let hours = hours.into_iter().map(|((day, hour), all)| {
            let hour = begin + day * 24 + hour;
            let there = all
                .into_iter()
                .enumerate()
                .filter_map(|(at, told)| Some((at, told?)));
            snapshot(hour, there.map(|(at, told)| said(hour, at, told)).collect())
        });
        hours
            .filter(|snapshot| !snapshot.entries.is_empty())
            .collect()
    })
}

fn said(hour: i64, at: usize, told: (Option<i64>, usize, usize, usize)) -> Entry {
    let (nodes, age, routing, country) = told;
    let routing = [vec![], vec!["Babel"], vec!["OLSR"], vec!["Babel", "OLSR"]][routing].clone();
    let profile = Profile {
        routing: routing.into_iter().map(str::to_owned).collect(),
        country: [None, Some("DE"), Some("at")][country].map(str::to_owned),
        // The third is part of the second, now and then.
        metacommunity: (at == 2 && country == 1).then(|| "1".into()),
        ..Profile::default()
    };
    let status = match nodes {
        Some(-1) => Status::Odd,
        _ => [Status::Live, Status::Stale, Status::Frozen][age],
    };
    Entry {
        nodes,
        ..of(hour, &at.to_string(), 0, status, profile)
    }
}

/// Nodes and communities by point and key.
fn by(store: &Connection, chart: &str, unit: Unit) -> BTreeMap<(i64, String), [i64; 2]> {
    let figure = figure(store, chart, &format!("by={}", unit.word()));
    assert_eq!(figure.by, unit);
    let rows = figure.table.rows.iter().map(|row| match &row[..4] {
        [
            Cell::Time(t),
            Cell::Text(key),
            Cell::Whole(nodes),
            Cell::Whole(communities),
        ] => ((unit.number(*t), key.clone()), [*nodes, *communities]),
        other => panic!("{other:?}"),
    });
    rows.collect()
}

/// Returns the number of hours with a snapshot for each point.
fn hours_of(store: &Connection, unit: Unit) -> BTreeMap<i64, i64> {
    let mut read = store.prepare("SELECT hour FROM hour_totals").expect("SQL");
    let mut hours = BTreeMap::new();
    for hour in read.query_map([], |row| row.get(0)).expect("rows") {
        *hours
            .entry(unit.number(hour.expect("an hour")))
            .or_default() += 1;
    }
    hours
}

/// The mean over the hours of each point, rounded half up.
fn means(store: &Connection, chart: &str, unit: Unit) -> BTreeMap<(i64, String), [i64; 2]> {
    let hours = hours_of(store, unit);
    let mut sums = BTreeMap::<(i64, String), [i64; 2]>::new();
    for ((hour, key), told) in by(store, chart, Unit::Hour) {
        let sum = sums.entry((unit.number(hour), key)).or_default();
        for (sum, told) in sum.iter_mut().zip(told) {
            *sum += told;
        }
    }
    for ((number, _), sum) in &mut sums {
        let hours = hours[number];
        *sum = sum.map(|sum| (2 * sum + hours) / (2 * hours));
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn by_profile_a_point_is_the_mean_of_its_hours(
        snapshots in histories(),
        turn in 0_usize..20,
        batch in 1_usize..4,
    ) {
        let (_folder, at_once) = sample(&snapshots);
        let mut turned = snapshots;
        let length = turned.len().max(1);
        turned.rotate_left(turn % length);
        let folder = Directory::new();
        let mut writer = Writer::open(folder.path()).expect("a store");
        for some in turned.chunks(batch) {
            for snapshot in some {
                writer.add(snapshot, &digest(snapshot)).expect("added");
            }
            writer.commit().expect("committed");
        }
        let bit_by_bit = open(folder.path()).expect("a store");
        for chart in ["routing", "countries", "versions"] {
            for unit in [Unit::Day, Unit::Month] {
                let means = means(&at_once, chart, unit);
                prop_assert_eq!(&by(&at_once, chart, unit), &means, "{} {:?}", chart, unit);
                prop_assert_eq!(&by(&bit_by_bit, chart, unit), &means, "{} {:?}", chart, unit);
            }
        }
        for unit in [Unit::Day, Unit::Month] {
            let means = metacommunities_of_hours(&at_once, unit);
            prop_assert_eq!(&metacommunities(&at_once, unit), &means, "{:?}", unit);
            prop_assert_eq!(&metacommunities(&bit_by_bit, unit), &means, "{:?}", unit);
        }
    }
}

/// Returns the metacommunities with nodes at each point.
fn metacommunities(store: &Connection, unit: Unit) -> BTreeMap<(i64, String), i64> {
    let mut all = BTreeMap::new();
    for number in hours_of(store, unit).into_keys() {
        let length = match unit {
            Unit::Hour => 13,
            Unit::Day => 10,
            Unit::Month => 7,
        };
        let at = &iso(unit.begin(number))[..length];
        let figure = figure(store, "top", &format!("at={at}&group=meta"));
        for row in &figure.table.rows {
            match &row[..3] {
                [Cell::Text(_), _, Cell::Whole(0)] => {}
                [Cell::Text(key), _, Cell::Whole(nodes)] => {
                    all.insert((number, key.clone()), *nodes);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    all
}

/// Returns the values of metacommunities as means of hours.
fn metacommunities_of_hours(store: &Connection, unit: Unit) -> BTreeMap<(i64, String), i64> {
    let hours = hours_of(store, unit);
    let mut sums = BTreeMap::<_, i64>::new();
    for ((hour, key), nodes) in metacommunities(store, Unit::Hour) {
        *sums.entry((unit.number(hour), key)).or_default() += nodes;
    }
    let means = sums.into_iter().map(|((number, key), sum)| {
        let hours = hours[&number];
        ((number, key), (2 * sum + hours) / (2 * hours))
    });
    means.filter(|(_, nodes)| *nodes > 0).collect()
}

/// Away and back within a day; the month has another profile before.
#[test]
fn a_profile_that_comes_back_is_one() {
    let begin = hour_of(date(2019, 10, 17));
    let with = |hour, nodes, protocol: &str| {
        let profile = Profile {
            routing: vec![protocol.into()],
            ..Profile::default()
        };
        snapshot(hour, vec![of(hour, "a", nodes, Status::Live, profile)])
    };
    let snapshots = [
        with(begin - 24, 100, "OLSR"),
        with(begin, 10, "Babel"),
        with(begin + 1, 20, "OLSR"),
        with(begin + 2, 30, "Babel"),
    ];
    let (folder, store) = sample(&snapshots);
    let of = |store: &Connection, by: &str| rows(&figure(store, "routing", by));
    assert_eq!(
        of(&store, "by=day"),
        [
            "2019-10-16 OLSR 100 1",
            "2019-10-17 OLSR 7 0",
            "2019-10-17 Babel 13 1"
        ]
    );
    assert_eq!(
        of(&store, "by=month"),
        ["2019-10 OLSR 30 1", "2019-10 Babel 10 1"]
    );
    // A file of the same hour with a later fetch removes the other profile.
    let mut later = with(begin + 1, 20, "Babel");
    later.entries[0].fetched += 1;
    let mut writer = Writer::open(folder.path()).expect("a store");
    writer.add(&later, &digest(&later)).expect("added");
    writer.commit().expect("committed");
    assert_eq!(
        of(&store, "by=day"),
        ["2019-10-16 OLSR 100 1", "2019-10-17 Babel 20 1"]
    );
    assert_eq!(
        of(&store, "by=month"),
        ["2019-10 OLSR 25 0", "2019-10 Babel 15 1"]
    );
}

/// A membership that changes mid-month counts for both, whatever the spelling.
#[test]
fn who_changes_the_metacommunity_counts_with_both() {
    let begin = hour_of(date(2019, 10, 17));
    let member = |hour, key, nodes, name: &str| {
        let profile = Profile {
            metacommunity: Some(name.into()),
            ..Profile::default()
        };
        of(hour, key, nodes, Status::Live, profile)
    };
    let (_folder, store) = sample(&[
        snapshot(
            begin,
            vec![
                member(begin, "a", 10, "North"),
                member(begin, "b", 1, "south"),
            ],
        ),
        snapshot(begin + 1, vec![member(begin + 1, "a", 30, "South")]),
    ]);
    let of = |query: &str| rows(&figure(&store, "top", &format!("group=meta&{query}")));
    let both = ["south South 16 16 0 0 0 -", "north North 5 5 0 0 0 -"];
    assert_eq!(of("at=2019-10"), both);
    assert_eq!(of("at=2019-10-17"), both);
    assert_eq!(of("from=2019-10-17T00&to=2019-10-17T01"), both);
    assert_eq!(rows(&figure(&store, "cloud", "group=meta")).len(), 2);
}
