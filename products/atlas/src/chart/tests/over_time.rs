//! Charts over time.

use super::*;

#[test]
fn growth() {
    let (_folder, store) = store();
    let months = figure(&store, "growth", "by=month");
    assert_eq!(
        rows(&months),
        [
            "2018-10 31 11 20 0 3 0",
            "2019-10 559 539 0 20 4 1",
            "2019-11 648 648 0 0 3 0"
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
    // A year is between the first two: not more than usual here.
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
            "2019-10-01T00 550 530 0 20 4 1",
            "2019-10-02T05 568 548 0 20 4 0"
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
    // A range within a month yields the whole month.
    let part = figure(&store, "growth", "from=2019-10-02&to=2019-10-02&by=month");
    assert_eq!(rows(&part), ["2019-10 559 539 0 20 4 1"]);
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
fn a_pause_is_longer_than_what_is_usual_at_its_time() {
    // Day by day, then week by week with a pause of two months, then every 14 to 17 days.
    let mut days = (0..60).collect::<Vec<_>>();
    days.extend((1..=12).map(|week| 59 + week * 7));
    days.extend((0..12).map(|week| 204 + week * 7));
    days.extend((0..12).map(|nth| 296 + nth * 16 - nth % 2 * 2));
    let begin = hour_of(date(2019, 1, 1));
    let snapshots = days.iter().map(|day| {
        let hour = begin + day * 24;
        snapshot(hour, vec![entry(hour, "a", 5)])
    });
    let (_folder, store) = sample(&snapshots.collect::<Vec<_>>());
    for chart in ["growth", "routing", "community"] {
        let figure = figure(&store, chart, "by=day&key=a");
        let Plot::Time(lines) = &figure.plot else {
            panic!("over time");
        };
        let gaps = lines.at.iter().zip(&lines.series[0].values);
        let gaps = gaps.filter(|(_, value)| value.is_none());
        let gaps = gaps.map(|(at, _)| (at - begin) / 24).collect::<Vec<_>>();
        assert_eq!(gaps, [59 + 12 * 7 + 1], "{chart}");
    }
}

#[test]
fn routing() {
    let (_folder, store) = store();
    let nodes = figure(&store, "routing", "by=month&to=2019-10");
    // The order follows all nodes: 1008 unknown, babel 150, the others 21.
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
fn countries() {
    let (_folder, store) = store();
    let figure = figure(&store, "countries", "by=month&to=2019-10");
    assert_eq!(
        rows(&figure),
        [
            "2018-10 unknown 0 1",
            "2018-10 DE 31 2",
            "2019-10 unknown 504 2",
            "2019-10 DE 55 2"
        ]
    );
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
fn each_size_has_its_class() {
    let hour = hour_of(date(2020, 1, 1));
    let sizes = [0, 1, 9, 10, 49, 50, 99, 100, 499, 500, 501, 100_000];
    let entries = sizes.map(|nodes| entry(hour, &nodes.to_string(), nodes));
    let (_folder, store) = sample(&[snapshot(hour, entries.into())]);
    assert_eq!(
        rows(&figure(&store, "sizes", "by=month")),
        [
            "2020-01 0 0 1",
            "2020-01 1-9 10 2",
            "2020-01 10-49 59 2",
            "2020-01 50-99 149 2",
            "2020-01 100-499 599 2",
            "2020-01 500+ 101001 3",
        ]
    );
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
    // Without the begin of the record in the range, its series is missing.
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
    // No snapshot of exactly that day: the one of the day before.
    let days = figure(&store, "rate", "from=2019-10&to=2019-10&by=day");
    assert_eq!(
        rows(&days),
        ["2019-10-01 1674.19 550 31", "2019-10-02 1732.26 568 31"]
    );
    let above = "More than 300 % is in the table only";
    assert_eq!(months.notes, [ODD, above]);
}

#[test]
fn a_rate_beyond_what_can_be_looked_at_is_in_the_table_only() {
    let snapshots = [(2018, 100), (2019, 400), (2020, 1_601)].map(|(year, nodes)| {
        let hour = hour_of(date(year, 10, 1));
        snapshot(hour, vec![entry(hour, "a", nodes)])
    });
    let (_folder, store) = sample(&snapshots);
    let rate = figure(&store, "rate", "by=month");
    assert_eq!(
        rows(&rate),
        [
            "2018-10 - 100 -",
            "2019-10 300 400 100",
            "2020-10 300.25 1601 400"
        ]
    );
    assert_eq!(series(&rate)[0].2, [None, Some(300.0), None]);
}

#[test]
fn who_is_left_over_alone_is_drawn() {
    let hour = hour_of(date(2020, 1, 1));
    let store = |count| {
        let entries = (0..count).map(|at| {
            let profile = Profile {
                country: Some(format!("C{at:02}")),
                ..Profile::default()
            };
            of(hour, &format!("c{at}"), 100 - at, Status::Live, profile)
        });
        sample(&[snapshot(hour, entries.collect())])
    };
    let (_folder, eleven) = store(11);
    let figure_of = |store, query| {
        let figure = figure(store, "countries", query);
        let last = series(&figure).last().map(|one| one.0.to_owned());
        (series(&figure).len(), last, figure.notes)
    };
    let alone = (11, Some("c10".to_owned().to_uppercase()), Vec::new());
    assert_eq!(figure_of(&eleven, ""), alone);
    let (_folder, twelve) = store(12);
    let (count, last, notes) = figure_of(&twelve, "");
    assert_eq!((count, last.as_deref()), (11, Some("other")));
    assert_eq!(
        notes,
        ["The 2 smallest are drawn as one; the table has each."]
    );
    // With `only=` on one of two remaining series, the other is `C11` rather than `other`.
    let (count, last, notes) = figure_of(&twelve, "only=C10");
    assert_eq!((count, last.as_deref()), (12, Some("C11")));
    assert_eq!(notes, [""; 0]);
}

#[test]
fn one_community() {
    let (_folder, store) = store();
    let a = figure(&store, "community", "key=A&by=month");
    assert_eq!(a.title, "A new");
    assert_eq!(
        rows(&a),
        [
            "2018-10 11 11 0 0 0 10 11 0 -",
            "2019-10 35 35 0 0 0 30 40 0 -",
            "2019-11 41 41 0 0 0 41 41 0 -"
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
            "2019-10-01T00 - - - - - - - 1 -5",
            "2019-10-02T05 7 7 0 0 0 7 7 0 -"
        ]
    );
    let marked = |by: &str| {
        let figure = figure(
            &store,
            "community",
            &format!("key=e&from=2019-10&to=2019-10&by={by}"),
        );
        let Plot::Time(lines) = figure.plot else {
            panic!("over time");
        };
        lines.odd
    };
    let odd = |at: i64| Odd {
        at,
        value: Some(-5),
        count: 1,
    };
    let hour = hour_of(date(2019, 10, 1));
    for by in ["hour", "day", "month"] {
        assert_eq!(marked(by), [odd(hour)], "{by}");
    }
    let gone = figure(&store, "community", "key=b&by=month");
    assert!(
        gone.notes
            .contains(&"In the directory from 2018-10-01 to 2019-10-02.".to_owned())
    );
    assert!(error(&store, "community", "").contains("give `key=`"));
    assert_eq!(figure(&store, "community", "key=+a+NEW").title, "A new");
    assert!(error(&store, "community", "key=nobody").contains("no community has the key"));
}

#[test]
fn communities_side_by_side() {
    let (_folder, store) = store();
    let two = figure(&store, "community", "key=a,D&by=month");
    assert_eq!(two.title, "A new, d");
    assert_eq!(
        rows(&two),
        [
            "2018-10 a A new 11 11 0 0 0",
            "2019-10 a A new 35 35 0 0 0",
            "2019-10 d d 501 501 0 0 0",
            "2019-11 a A new 41 41 0 0 0",
            "2019-11 d d 600 600 0 0 0",
        ]
    );
    let of = |key: &str| {
        let all = series(&two);
        let found = all.into_iter().find(|one| one.0 == key).expect(key);
        (found.1, found.2.to_vec())
    };
    assert_eq!(of("a").0, Style::Line);
    assert_eq!(
        of("d").1.iter().flatten().copied().collect::<Vec<_>>(),
        [501.0, 600.0]
    );
    // Found by name, and listed once each.
    let same = figure(&store, "community", "key=A+new,d,a&by=month");
    assert_eq!(rows(&same), rows(&two));
    let one = figure(&store, "community", "key=a,d&by=month&only=d");
    assert_eq!(rows(&one).len(), 2);
    assert!(
        error(&store, "community", "key=a,nobody").contains("no community has the key `nobody`")
    );
    assert!(ChartQuery::read("key=1,2,3,4,5,6,7,8,9").is_err());
}

#[test]
fn a_name_of_several_is_each_of_them() {
    let hour = hour_of(date(2020, 1, 1));
    let at = |key: &str, name: &str, nodes| {
        let name = name.into();
        let profile = Profile {
            name,
            ..Profile::default()
        };
        of(hour, key, nodes, Status::Live, profile)
    };
    let entries = vec![
        at("north1", "Freifunk Nord", 7),
        // A name with a comma is one, and so is one that is written by two letters.
        at("north2", "freifunk nord ", 9),
        at("bonn", "Freifunk K\u{f6}ln, Bonn", 3),
    ];
    let (_folder, store) = sample(&[snapshot(hour, entries)]);
    let both = figure(&store, "community", "key=Freifunk+Nord");
    assert_eq!(both.title, "Freifunk Nord (north1), freifunk nord (north2)");
    let bonn = figure(&store, "community", "key=freifunk+Ko%CC%88ln,+bonn");
    assert_eq!(bonn.title, "Freifunk K\u{f6}ln, Bonn");
    // A ranking distinguishes the two names by their keys.
    for chart in ["top", "cloud", "race"] {
        let figure = figure(&store, chart, "");
        let (Plot::Bars(bars) | Plot::Words(bars)) = &figure.plot else {
            panic!("bars");
        };
        let names: Vec<&str> = bars.iter().map(|bar| bar.name.as_str()).collect();
        let expected = [
            "freifunk nord (north2)",
            "Freifunk Nord (north1)",
            "Freifunk K\u{f6}ln, Bonn",
        ];
        assert_eq!(names, expected, "{chart}");
    }
}

#[test]
fn spellings_of_one_protocol_or_country_are_one() {
    let hour = hour_of(date(2020, 1, 1));
    let at = |key: &str, nodes, protocol: &str, country: &str| {
        let profile = Profile {
            routing: vec![protocol.into()],
            country: Some(country.into()),
            ..Profile::default()
        };
        of(hour, key, nodes, Status::Live, profile)
    };
    let entries = vec![
        at("a", 1, "OSPF", "DE"),
        at("b", 2, "ospf", "Deutschland"),
        at("c", 4, "o.s.p.f.", "germany"),
        at("d", 8, "BGP", "Bayern"),
    ];
    let (_folder, store) = sample(&[snapshot(hour, entries)]);
    assert_eq!(
        rows(&figure(&store, "routing", "by=month")),
        ["2020-01 BGP 8 1", "2020-01 OSPF 7 3"]
    );
    assert_eq!(
        rows(&figure(&store, "countries", "by=month")),
        ["2020-01 BAYERN 8 1", "2020-01 DE 7 3"]
    );
}
