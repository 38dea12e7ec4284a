//! Charts of one time.

use super::*;

#[test]
fn top() {
    let (_folder, store) = store();
    let last = figure(&store, "top", "");
    assert_eq!(last.title, "Largest communities, November 2019");
    assert_eq!(
        rows(&last),
        [
            "d d 600 600 0 0 0 -",
            "a A new 41 41 0 0 0 Region",
            "e e 7 7 0 0 0 -"
        ]
    );
    let month = figure(&store, "top", "at=2019-10&n=3");
    assert_eq!(
        rows(&month),
        [
            "d d 501 501 0 0 0 -",
            "a A new 35 35 0 0 0 Region",
            "b b 20 0 0 20 0  region"
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
    // The odd number does not count: `e` has one hour left.
    assert_eq!(
        rows(&figure(&store, "top", "at=2019-10&only=e")),
        ["e e 7 7 0 0 0 -"]
    );
    let groups = figure(&store, "top", "at=2019-10&group=meta");
    assert_eq!(
        rows(&groups),
        [
            "d d 501 501 0 0 0 -",
            "region Region 55 35 0 20 0 -",
            "e e 4 4 0 0 0 -"
        ]
    );
    // A day, an hour, a year, and a range of days.
    for (at, nodes) in [("2018-10-01", 11), ("2018-10-01T00", 10), ("2018", 11)] {
        let figure = figure(&store, "top", &format!("at={at}&only=a"));
        assert_eq!(
            rows(&figure),
            [format!("a a {nodes} {nodes} 0 0 0 Region")],
            "{at}"
        );
    }
    // (10 + 11 + 30 + 40 + 41) / 5 = 26.4, by the name of the end.
    let all = figure(&store, "top", "from=2018&only=a&lang=de");
    assert_eq!(rows(&all), ["a A new 26 26 0 0 0 Region"]);
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
        // Largest month of `a`, whatever is shown: steps are the same at all times. `d` had 600
        // nodes, and no position.
        assert_eq!(*heat, dense.then_some(41.0));
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
        assert_eq!(rows(&figure), ["a A new 35 35 0 0 0 50.1 8.6"]);
    }
}

#[test]
fn steps_of_the_heat_map_follow_places_that_can_be_drawn() {
    let hour = hour_of(date(2020, 1, 1));
    let at = |key: &str, nodes, latitude, longitude| {
        let profile = Profile {
            latitude,
            longitude,
            ..Profile::default()
        };
        of(hour, key, nodes, Status::Live, profile)
    };
    let entries = vec![
        at("a", 7, Some(50.0), Some(-8.0)),
        at("nowhere", 10_000, None, Some(8.0)),
        at("origin", 10_000, Some(0.0), Some(0.0)),
        at("beyond", 10_000, Some(50.0), Some(-180.5)),
        at("above", 10_000, Some(90.5), Some(8.0)),
    ];
    let (_folder, store) = sample(&[snapshot(hour, entries)]);
    let Plot::Map { points, heat } = figure(&store, "heat", "").plot else {
        panic!("a map");
    };
    assert_eq!((points.len(), heat), (1, Some(7.0)));
    for (lang, note) in [
        ("en", "40,000 nodes are of communities without a position."),
        ("de", "40.000 Knoten sind von Gemeinschaften ohne Position."),
    ] {
        assert_eq!(figure(&store, "map", &format!("lang={lang}")).notes, [note]);
    }
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
    assert_eq!(all.notes, [ODD]);
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
    assert_eq!(rows(&x), ["2020-01 30 0 0 0 30 30 30 0 -"]);
    assert_eq!(series(&x).len(), 4);
    let top = figure(&store, "top", "");
    assert_eq!(
        rows(&top),
        [
            "net net 100 100 0 0 0 -",
            "y y 40 0 0 0 40 net",
            "x x 30 0 0 0 30 net"
        ]
    );
    assert!(top.notes[0].starts_with("2 of these"), "{:?}", top.notes);
    assert_eq!(
        rows(&figure(&store, "top", "group=meta")),
        ["net net 100 100 0 0 0 -"]
    );
    assert_eq!(
        rows(&figure(&store, "growth", "by=month")),
        ["2020-01 100 100 0 0 3"]
    );
}

#[test]
fn one_is_one() {
    let hour = hour_of(date(2020, 1, 1));
    let entry = |key: &str, nodes, parent: Option<&str>| {
        let profile = Profile {
            name: key.into(),
            metacommunity: parent.map(str::to_owned),
            ..Profile::default()
        };
        of(hour, key, nodes, Status::Live, profile)
    };
    let entries = vec![entry("net", 1, None), entry("x", 1, Some("net"))];
    let (_folder, store) = sample(&[snapshot(hour, entries)]);
    for (lang, within, without) in [
        (
            "en",
            "1 of these communities is counted with others",
            "1 node is of communities without a position.",
        ),
        (
            "de",
            "1 dieser Gemeinschaften zählt bei anderen mit",
            "1 Knoten ist von Gemeinschaften ohne Position.",
        ),
    ] {
        let lang = format!("lang={lang}");
        let top = figure(&store, "top", &lang);
        assert!(top.notes[0].starts_with(within), "{:?}", top.notes);
        assert_eq!(figure(&store, "heat", &lang).notes, [without]);
    }
}
