//! Malformed files, accidental or hostile.

use std::fmt::Write;

use atlas::read::{Mapping, snapshot};
use atlas::snapshot::Status;
use atlas::time::iso;

use super::{NAME, OTHER, freifunk, one, read, told};

#[test]
fn numbers_of_nodes() {
    for (written, nodes, remark) in [
        ("194", Some(194), None),
        ("194.0", Some(194), None),
        ("1.94e2", Some(194), None),
        ("\"194\"", Some(194), Some("the number 194")),
        ("\" 194 \"", Some(194), Some("the number 194")),
        ("193.5", Some(194), Some("the number 194")),
        ("-5", Some(-5), Some("the number -5, shown but not counted")),
        (
            "100001",
            Some(100_001),
            Some("the number 100001, shown but not counted"),
        ),
        ("193.4", Some(193), Some("the number 193")),
        ("-0.5", Some(0), Some("the number 0")),
        (
            "-1.5",
            Some(-1),
            Some("the number -1, shown but not counted"),
        ),
        (
            "9007199254740991",
            Some(9_007_199_254_740_991),
            Some("shown but not counted"),
        ),
        // Numbers that tables, JSON and pictures would each write differently.
        ("9007199254740992", None, Some("left out")),
        ("-9007199254740992", None, Some("left out")),
        ("9223372036854775807", None, Some("left out")),
        ("99999999999999999999999", None, Some("left out")),
        ("\"9007199254740992\"", None, Some("left out")),
        (
            "1e400",
            None,
            Some("state.nodes is the number 1e400: left out"),
        ),
        ("-1e400", None, Some("left out")),
        ("\"1e400\"", None, Some("left out")),
        ("null", None, None),
        ("\"\"", None, Some("state.nodes is the text \"\": left out")),
        ("\"about 20\"", None, Some("left out")),
        ("\"1.5\"", None, Some("left out")),
        ("\"NaN\"", None, Some("left out")),
        ("true", None, Some("state.nodes is true: left out")),
        ("[3]", None, Some("state.nodes is a list: left out")),
        (
            "{\"a\":3}",
            None,
            Some("state.nodes is an object: left out"),
        ),
    ] {
        let json = format!(r#"{{"name":"K","state":{{"nodes":{written}}}}}"#);
        let (entry, told) = one(&json);
        assert_eq!(entry.nodes, nodes, "{written}");
        assert_eq!(
            entry.status == Status::Odd,
            nodes.is_some_and(|n| !(0..=100_000).contains(&n))
        );
        match remark {
            None => assert_eq!(told, Vec::<String>::new(), "{written}"),
            Some(remark) => assert!(told.len() == 1 && told[0].ends_with(remark), "{told:?}"),
        }
    }
}

#[test]
fn texts() {
    let (entry, told) = one(
        r#"{"name":" <b>K\u0000\u202e</b>\ud800 ","api":0.4,"location":{"city":["A","B"],"lat":"49,5","lon":11},
            "url":"javascript:alert(1)","techDetails":{"routing":["BATMAN",7,null,"olsr","Foo"]}}"#,
    );
    assert_eq!(entry.profile.name, "<b>K</b>\u{fffd}");
    assert_eq!(entry.profile.api.as_deref(), Some("0.4"));
    assert_eq!(entry.profile.city.as_deref(), Some("A"));
    assert_eq!(
        (entry.profile.latitude, entry.profile.longitude),
        (Some(49.5), Some(11.0))
    );
    assert_eq!(entry.profile.url, None);
    assert_eq!(entry.profile.routing, ["Foo", "OLSR", "batman-adv"]);
    assert!(told.len() >= 5, "{told:?}");

    let long = format!(
        r#"{{"name":"{}","techDetails":{{"routing":"BATMAN / OLSR"}}}}"#,
        "ü".repeat(5000)
    );
    let (entry, told) = one(&long);
    assert_eq!(entry.profile.name.chars().count(), 200);
    assert_eq!(entry.profile.routing, ["OLSR", "batman-adv"]);
    assert!(told[0].ends_with(": its beginning"), "{told:?}");

    let (entry, told) = one(r#"{"location":"Berlin","state":null,"techDetails":[1],"name":7}"#);
    assert_eq!(entry.profile.name, "7");
    assert_eq!(
        told,
        [
            "k: location is a text: left out",
            "k: techDetails is a list: left out"
        ]
    );
    for nowhere in ["0,\"lon\":0", "91,\"lon\":0", "1e400,\"lon\":1", "7"] {
        let (entry, _) = one(&format!(r#"{{"name":"K","location":{{"lat":{nowhere}}}}}"#));
        assert_eq!(
            (entry.profile.latitude, entry.profile.longitude),
            (None, None),
            "{nowhere}"
        );
    }
}

#[test]
fn times_and_failures() {
    let of = |rest: &str| {
        let (entry, told) = one(&format!(r#"{{"name":"K","state":{{"nodes":1}},{rest}}}"#));
        (entry.status, entry.fetched, told)
    };
    // 2019-10-10 00:00 in Berlin is 22:00 UTC the day before.
    let at = 1_570_658_400;
    assert_eq!(
        of(r#""mtime":"2019-10-09 23:59:00""#),
        (Status::Live, at - 60, vec![])
    );
    // Too old to say of when the snapshot is.
    assert_eq!(of(r#""mtime":"2019-10-07 21:59:00""#).0, Status::Stale);
    assert_eq!(of(r#""mtime":"2019-06-07 21:59:00""#).0, Status::Frozen);
    assert_eq!(
        of(r#""etime":"2019-10-09 21:59:00","mtime":"2019-10-09 21:00:00""#).0,
        Status::Stale
    );
    assert_eq!(
        of(r#""error":"no route","mtime":"2019-10-09 21:00:00""#).0,
        Status::Stale
    );
    assert_eq!(
        of(r#""error":null,"etime":"","mtime":"2019-10-09 21:00:00""#).0,
        Status::Live
    );
    let (status, fetched, told) = of(r#""mtime":"2099-01-01 00:00:00""#);
    assert_eq!((status, fetched), (Status::Live, at));
    assert!(told[0].contains("days after the snapshot"), "{told:?}");
    for wrong in [
        "\"yesterday\"",
        "\"2019-13-01 00:00:00\"",
        "-7",
        "[]",
        "true",
        "1e300",
    ] {
        let (_, fetched, told) = of(&format!(r#""mtime":{wrong}"#));
        assert_eq!((fetched, told.len()), (at, 1), "{wrong} {told:?}");
        assert!(told[0].contains("which is not a time"), "{told:?}");
    }
    let (entry, _) =
        one(r#"{"name":"K","state":{"lastchange":1546300800},"mtime":"2019-10-09 20:59:00"}"#);
    assert_eq!(entry.status, Status::Frozen);

    let json = br#"{"k":{"name":"K","state":{"nodes":1},"mtime":"2019-10-09 23:59:00"}}"#;
    let hour = |name: &str| iso(snapshot(name, json, &freifunk()).hour);
    assert_eq!(
        hour("20191010-22.00.00-ffSummarizedDir.json"),
        "2019-10-09T21:00:00Z"
    );
    assert_eq!(
        hour("20191012-00.00.00-ffSummarizedDir.json"),
        "2019-10-11T22:00:00Z"
    );
    assert_eq!(hour("some.json"), "2019-10-09T21:00:00Z");
    let timeless = snapshot(
        "some.json",
        br#"{"k":{"name":"K","state":{"nodes":1}}}"#,
        &freifunk(),
    );
    assert_eq!(timeless.entries, []);
    assert!(told_first(&timeless).contains("neither its name nor its entries"));
}

#[test]
fn names_with_a_day_that_there_is_not() {
    let json = br#"{"k":{"name":"K","state":{"nodes":1},"mtime":"2019-10-09 23:59:00"}}"#;
    for name in [
        "20191399-00.00.00-ffSummarizedDir.json",
        "in.tar/20190230-00.00.00-ffSummarizedDir.json.gz",
        "20190203-25.00.00-ffSummarizedDir.json",
    ] {
        let snapshot = snapshot(name, json, &freifunk());
        assert_eq!(iso(snapshot.hour), "2019-10-09T21:00:00Z", "{name}");
        let line = "file: its name contains an invalid time: as a name without one";
        assert_eq!(told(&snapshot), [line], "{name}");
    }
    for name in ["some.json", "201910-ffSummarizedDir.json"] {
        let snapshot = snapshot(name, json, &freifunk());
        assert_eq!(told(&snapshot), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn half_a_surrogate_is_told() {
    let (entry, told) = one(
        r#"{"name":"K\ud83d","location":{"city":"\udca9\ud83d\udca9","country":"D\\ud800"},
            "techDetails":{"routing":["olsr","a\ud800b"]}}"#,
    );
    assert_eq!(entry.profile.name, "K\u{fffd}");
    assert_eq!(entry.profile.city.as_deref(), Some("\u{fffd}\u{1f4a9}"));
    assert_eq!(entry.profile.country.as_deref(), Some("D\\ud800"));
    let line =
        |path| format!("k: {path} has half a surrogate: the text with \u{fffd} in its place");
    let places = ["name", "location.city", "techDetails.routing"];
    assert_eq!(told, places.map(line));

    let keys = read(r#"{"a\udca9":{"name":"A","state":{"nodes":1}},"\ud83d\udca9":{"name":"B"}}"#);
    let line = "a\u{fffd}: the key has half a surrogate: the text with \u{fffd} in its place";
    assert_eq!(super::told(&keys), [line]);
}

fn told_first(snapshot: &atlas::snapshot::Snapshot) -> String {
    told(snapshot).first().cloned().unwrap_or_default()
}

#[test]
fn keys() {
    let twice = read(
        r#"{"a":{"name":"A","name":"B","state":{"nodes":1}},"a":{"name":"C","state":{"nodes":2}}}"#,
    );
    assert_eq!(twice.entries.len(), 1);
    assert_eq!(twice.entries[0].nodes, Some(2));
    assert_eq!(
        told(&twice),
        [
            "a: name comes twice: the last one",
            "a: the key comes twice: the last one"
        ]
    );
    let places = read(
        r#"{"a":{"name":"A","state":{"nodes":1}},"a0":{"name":"A"},"a12":{"name":"A"},"a3":{"name":"A","state":{"nodes":2}},
            "b0":{"name":"B"},"a12b":{"name":"X"}}"#,
    );
    let keys: Vec<&str> = places
        .entries
        .iter()
        .map(|entry| entry.key.as_str())
        .collect();
    assert_eq!(keys, ["a", "a3", "b0", "a12b"]);
    let odd = read(
        r#"{"":{"name":"A"},"\u0001":{"name":"A"},"\ud800\u0007x":{"name":"A","state":{"nodes":1}}}"#,
    );
    assert_eq!(odd.entries.len(), 1);
    assert_eq!(odd.entries[0].key, "\u{fffd}x");
    assert_eq!(odd.remarks.len(), 3);
}

#[test]
fn files_that_are_none() {
    for (octets, why) in [
        (&b""[..], "the file is empty"),
        (b" \n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b"{", "the file breaks off"),
        (
            br#"{"a":{"name":"A","state":{"nodes":1}},"b":{"na"#,
            "the file breaks off",
        ),
        (
            br#"{"a":{"name":"A","state":{"nodes":1}}} x"#,
            "the file is not JSON",
        ),
        (br#"{"a":{"name":"A",}}"#, "the file is not JSON"),
        (b"<html><body>502</body></html>", "the file is not JSON"),
        (b"\xff\xfe{\0}\0", "the file is not JSON"),
        (b"\xff\xfe{\0}\0", "it is UTF-16, and has to be UTF-8"),
        (b"\xfe\xff\0{\0}", "it is UTF-16"),
        (b"{\0}\0", "it is UTF-16"),
        (b"\0{\0}", "it is UTF-16"),
        (b"\xff\xfe\0\0{\0\0\0", "it is UTF-32"),
        (b"\0\0\xfe\xff\0\0\0{", "it is UTF-32"),
        (b"{\0\0\0}\0\0\0", "it is UTF-32"),
        (b"\0\0\0{\0\0\0}", "it is UTF-32"),
        (b"\0\0\0\0", "the file is not JSON"),
        (b"7", "the file is neither an object nor a list"),
        (b"\"x\"", "the file is neither an object nor a list"),
        (b"null", "the file is neither an object nor a list"),
        (b"{}", "it has no entries"),
        (b"[]", "it has no entries"),
        (br#"{"a":7}"#, "this is not a directory"),
    ] {
        let snapshot = snapshot(NAME, octets, &freifunk());
        assert_eq!(snapshot.entries, [], "{why}");
        assert!(
            told_first(&snapshot).contains(why),
            "{why}: {:?}",
            told(&snapshot)
        );
    }
    // An unreadable entry does not spoil the others.
    let mixed = b"\xef\xbb\xbf{\"a\":{\"name\":\"A\",\"state\":{\"nodes\":1}},\"b\":\"\\ud800\",\"c\":{\"name\":\"C\xff\t\"},\"d\":null}";
    let mixed = snapshot(NAME, mixed, &freifunk());
    let names: Vec<&str> = mixed
        .entries
        .iter()
        .map(|e| e.profile.name.as_str())
        .collect();
    assert_eq!(names, ["A", "C\u{fffd}"]);
    assert!(
        told_first(&mixed).starts_with("file: it is not UTF-8"),
        "{:?}",
        told(&mixed)
    );
}

#[test]
fn depth_and_numbers_of_entries_are_bounded() {
    let deep = "[".repeat(1_000_000);
    assert!(told_first(&read(&deep)).contains("file"));
    let within = format!(
        r#"{{"a":{{"name":"A","x":{}1{},"state":{{"nodes":3}}}}}}"#,
        "[".repeat(500_000),
        "]".repeat(500_000)
    );
    assert_eq!(read(&within).entries[0].nodes, Some(3));
    let wanted = format!(
        r#"{{"a":{{"name":{}1{}}},{OTHER}}}"#,
        "{\"a\":".repeat(100_000),
        "}".repeat(100_000)
    );
    assert_eq!(read(&wanted).entries[0].profile.name, "a");

    let mut many = format!("{{{OTHER},");
    for key in 0..300 {
        write!(many, "\"{key}k\":{{\"state\":{{\"nodes\":\"x\"}}}},").unwrap();
    }
    let many = read(&(many.trim_end_matches(',').to_owned() + "}"));
    assert_eq!((many.entries.len(), many.remarks.len()), (301, 101));
    assert_eq!(told(&many)[100], "file: and 500 more: not listed");

    let crowd = format!("[{}0]", "{},".repeat(60_000));
    assert_eq!(read(&crowd).entries, []);
    let crowd = (0..60_000)
        .map(|key| format!("\"{key}\":{{}}"))
        .collect::<Vec<_>>();
    let crowd = read(&format!("{{{}}}", crowd.join(",")));
    assert_eq!(crowd.entries, []);
    assert!(told_first(&crowd).contains("more than 50,000 entries"));
}

#[test]
fn spellings_are_read_as_one() {
    let (entry, told) = one(
        r#"{"name":"Freifunk Fu\u0308rth","location":{"country":"Deutschland"},
            "techDetails":{"routing":["B.A.T.M.A.N._adv","batman-adv 2019.4","Batman IV (compat 15)","olsr v2","OLSR 0.6.5","BMX 7"]}}"#,
    );
    assert_eq!(entry.profile.name, "Freifunk F\u{fc}rth");
    assert_eq!(entry.profile.country.as_deref(), Some("DE"));
    assert_eq!(
        entry.profile.routing,
        ["OLSR", "OLSRv2", "batman-adv", "bmx7"]
    );
    assert_eq!(told, Vec::<String>::new());
    // A key in two forms of Unicode is one key.
    let json = "{\"fu\u{308}rth\":{\"name\":\"A\"},\"f\u{fc}rth\":{\"state\":{\"nodes\":1}}}";
    let snapshot = read(json);
    assert_eq!(snapshot.entries.len(), 1, "{snapshot:?}");
}

#[test]
fn json_without_a_number_of_nodes_is_no_snapshot() {
    for text in [
        r#"{"status":{"code":503,"name":"Service Unavailable"}}"#,
        r#"{"kind":"Status","details":{"name":"directory","kind":"services"},"code":404}"#,
        r#"{"maintenance":{"name":"Wartung","until":"2024-04-02"}}"#,
        r#"{"file":{"name":"x","mtime":"2019-10-09 21:00:00"}}"#,
        r#"{"model":{"name":"x","location":{"lat":50,"lon":11}}}"#,
        r#"{"a":{"name":"A","state":{"nodes":"many"}}}"#,
    ] {
        let snapshot = read(text);
        assert_eq!(snapshot.entries, [], "{text}");
        let [line] = told(&snapshot).try_into().expect("one line");
        assert!(line.ends_with(": the whole file is left out"), "{line}");
    }
    // More entries than errors have.
    let words = (0..30).map(|at| format!(r#""{at}":{{"name":"word"}}"#));
    let words: Vec<String> = words.collect();
    assert_eq!(read(&format!("{{{}}}", words.join(","))).entries, []);
}

/// The collector's own clock is in names and in entries.
#[test]
fn times_without_a_zone_are_of_the_names_clock() {
    let hour = |name: &str, mtime: &str| {
        let name = format!("{name}-ffSummarizedDir.json");
        let json = format!(r#"{{"k":{{"name":"K","state":{{"nodes":1}},"mtime":"{mtime}"}}}}"#);
        iso(snapshot(&name, json.as_bytes(), &freifunk()).hour)
    };
    for (name, mtime, expected) in [
        // An hour before the name, by one clock: in summer, in winter, and at the change.
        (
            "20240401-15.00.00",
            "2024-04-01 14:00:00",
            "2024-04-01T12:00:00Z",
        ),
        (
            "20240310-13.00.00",
            "2024-03-10 12:00:00.123456",
            "2024-03-10T11:00:00Z",
        ),
        (
            "20240310-13.00.00",
            "2024-03-10T12:59:00",
            "2024-03-10T11:00:00Z",
        ),
        (
            "20240331-03.00.00",
            "2024-03-31 01:00:01",
            "2024-03-31T00:00:00Z",
        ),
        (
            "20240331-04.00.00",
            "2024-03-31 03:00:01",
            "2024-03-31T01:00:00Z",
        ),
        // The hour that comes twice, the first and the second time.
        (
            "20191027-02.00.06",
            "2019-10-27 02:00:05",
            "2019-10-27T00:00:00Z",
        ),
        (
            "20191027-03.00.07",
            "2019-10-27 02:00:06",
            "2019-10-27T01:00:00Z",
        ),
        (
            "20191027-04.00.03",
            "2019-10-27 03:00:07",
            "2019-10-27T02:00:00Z",
        ),
        // Runs that failed, and collectors that run each three hours, and each day.
        (
            "20240701-12.00.02",
            "2024-07-01 10:00:05.123456",
            "2024-07-01T08:00:00Z",
        ),
        (
            "20240310-12.00.02",
            "2024-03-10 10:00:05",
            "2024-03-10T09:00:00Z",
        ),
        (
            "20240401-15.00.00",
            "2024-04-01 12:30:00",
            "2024-04-01T10:00:00Z",
        ),
        (
            "20240802-00.30.02",
            "2024-08-01 00:30:02",
            "2024-07-31T22:00:00Z",
        ),
        // A time that names its zone is in that zone.
        (
            "20240310-13.00.00",
            "2024-03-10 12:00:00Z",
            "2024-03-10T12:00:00Z",
        ),
        (
            "20240310-13.00.00",
            "2024-03-10 12:00:00+00:00",
            "2024-03-10T12:00:00Z",
        ),
        (
            "20240401-15.00.00",
            "2024-04-01T14:00:00+02:00",
            "2024-04-01T12:00:00Z",
        ),
    ] {
        assert_eq!(hour(name, mtime), expected, "{name} {mtime}");
    }
}

#[test]
fn the_zone_of_times_is_the_mappings_or_that_of_names() {
    let hour = |zone: &str, times: &str| {
        let text = format!(
            "title = 'T'\nformat = 'json'\nfiles = ['{{year}}{{month}}{{day}}-{{hour}}.json']\n\
             zone = '{zone}'\n[fields]\nnodes = ['n']\nfetched = ['at']\n{times}"
        );
        let mapping = Mapping::parse(&text, "a test").unwrap();
        let json = br#"{"k":{"n":1,"at":"2024-07-01 15:00:00"}}"#;
        iso(snapshot("20240701-16.json", json, &mapping).hour)
    };
    let utc = "2024-07-01T15:00:00Z";
    assert_eq!(hour("Europe/Berlin", "[times]\nzone = 'UTC'"), utc);
    assert_eq!(hour("Europe/Berlin", ""), "2024-07-01T13:00:00Z");
    assert_eq!(hour("Europe/London", ""), "2024-07-01T14:00:00Z");
    assert_eq!(hour("America/New_York", ""), "2024-07-01T19:00:00Z");
}

/// Behind the name by the names' clock, and before it in UTC.
#[test]
fn a_time_that_lies_behind_the_name_is_utc() {
    let text = "title = 'T'\nformat = 'json'\nfiles = ['{year}{month}{day}-{hour}.json']\n\
                zone = 'America/New_York'\n[fields]\nnodes = ['n']\nfetched = ['at']\n";
    let mapping = Mapping::parse(text, "a test").unwrap();
    let json = br#"{"k":{"n":1,"at":"2024-07-01 15:00:00"}}"#;
    let snapshot = snapshot("20240701-12.json", json, &mapping);
    assert_eq!(iso(snapshot.hour), "2024-07-01T15:00:00Z");
}
