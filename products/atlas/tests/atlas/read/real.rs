//! Real files of several years, trimmed: `tests/data`.

use std::path::Path;

use atlas::snapshot::Status;
use atlas::time::iso;

use super::{DATA, Kept, freifunk, run, told};

/// Day of the name, hour, entries, nodes, and how many are live, stale and frozen: computed
/// independently of this program.
#[rustfmt::skip]
const FILES: [(&str, &str, usize, i64, [usize; 3]); 12] = [
    ("20130725", "2013-07-24T22:00:00Z", 1, 75, [0, 1, 0]),
    ("20140109", "2014-01-08T23:00:00Z", 2, 93, [0, 2, 0]),
    ("20140703", "2014-07-02T22:00:00Z", 3, 96, [0, 1, 2]),
    ("20141204", "2014-12-03T23:00:00Z", 3, 269, [2, 1, 0]),
    ("20150618", "2015-06-17T22:00:00Z", 6, 758, [1, 1, 4]),
    ("20160218", "2016-02-17T23:00:00Z", 9, 1864, [1, 3, 5]),
    ("20170518", "2017-05-17T22:00:00Z", 12, 4316, [1, 3, 8]),
    ("20190103", "2019-01-02T23:00:00Z", 9, 4125, [1, 0, 8]),
    ("20191010", "2019-10-09T22:00:00Z", 9, 4716, [1, 0, 8]),
    ("20191017", "2019-10-16T22:00:00Z", 9, 4719, [1, 0, 8]),
    ("20240104", "2024-01-03T23:00:00Z", 8, 2522, [2, 0, 6]),
    ("20260827", "2026-08-26T22:00:00Z", 9, 6327, [0, 3, 6]),
];

#[test]
fn hours_numbers_and_ages() {
    let mut kept = Kept::default();
    let done = run(&Path::new(DATA).join("history"), &mut kept);
    assert_eq!((done.files, done.left_out), (12, 0));
    for (snapshot, (day, hour, entries, nodes, ages)) in kept.snapshots.iter().zip(FILES) {
        assert_eq!(
            snapshot.file,
            format!("{day}-00.00.00-ffSummarizedDir.json")
        );
        assert_eq!(iso(snapshot.hour), hour, "{day}");
        assert_eq!(snapshot.entries.len(), entries, "{day}");
        let sum: i64 = snapshot
            .entries
            .iter()
            .filter_map(|entry| entry.nodes)
            .sum();
        assert_eq!(sum, nodes, "{day}");
        let of = |status| {
            snapshot
                .entries
                .iter()
                .filter(|e| e.status == status)
                .count()
        };
        assert_eq!(
            [Status::Live, Status::Stale, Status::Frozen].map(of),
            ages,
            "{day}"
        );
    }
}

#[test]
fn every_version_of_the_format() {
    let mut kept = Kept::default();
    run(&Path::new(DATA).join("history"), &mut kept);
    let find = |day: &str, key: &str| {
        let snapshot = kept
            .snapshots
            .iter()
            .find(|s| s.file.starts_with(day))
            .unwrap();
        let entry = snapshot
            .entries
            .iter()
            .find(|entry| entry.key == key)
            .unwrap();
        (entry.profile.clone(), entry.nodes, told(snapshot))
    };

    let (profile, nodes, _) = find("20130725", "freifunkfranken-freifunkfranken");
    assert_eq!(
        (profile.name.as_str(), nodes),
        ("Freifunk Franken", Some(75))
    );
    assert_eq!(profile.api.as_deref(), Some("0.1"));
    assert_eq!(profile.routing, ["batman-adv"]);
    assert_eq!(
        (profile.latitude, profile.longitude),
        (Some(49.448856931202), Some(11.082108258271))
    );
    assert_eq!(
        (profile.city.as_deref(), profile.country),
        (Some("Nürnberg"), None)
    );

    let (profile, nodes, _) = find("20240104", "freifunkfranken-erlangen");
    assert_eq!(
        (profile.name.as_str(), nodes),
        ("Freifunk Erlangen", Some(107))
    );
    assert_eq!(profile.metacommunity.as_deref(), Some("Freifunk Franken"));
    assert_eq!(profile.routing, ["Babel", "batman-adv"]);
    assert_eq!(
        (profile.latitude, profile.longitude),
        (Some(49.6005981), Some(11.0019221))
    );
    assert_eq!(profile.url.as_deref(), Some("https://freifunk-franken.de/"));
    assert_eq!(find("20240104", "freifunk-hamm-hamm").1, None);

    let texts = &kept.snapshots[3];
    let text = |line: &&String| line.contains("state.nodes is the text");
    assert_eq!(
        told(texts).iter().filter(text).count(),
        2,
        "{:?}",
        told(texts)
    );
    let wrong = |line: &&String| line.contains("which is not a time: left out");
    // 2016-02-08:22:00; years, days and months.
    assert_eq!(told(&kept.snapshots[5]).iter().filter(wrong).count(), 1);
    assert_eq!(told(&kept.snapshots[6]).iter().filter(wrong).count(), 3);
}

#[test]
fn broken_files_are_told_of() {
    let mut kept = Kept::default();
    let done = run(&Path::new(DATA).join("broken"), &mut kept);
    assert_eq!((done.files, done.left_out, done.entries), (7, 7, 0));
    for snapshot in &kept.snapshots {
        let told = told(snapshot);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("file: the file is not JSON: "),
            "{told:?}"
        );
        assert!(
            told[0].ends_with(": the whole file is left out"),
            "{told:?}"
        );
    }
    assert!(told(&kept.snapshots[3])[0].contains("at line 69 column 43"));
    let again = run(Path::new(DATA), &mut kept);
    assert_eq!((again.known, again.files), (7, 12));
    assert_eq!(freifunk().title, "Freifunk");
}
