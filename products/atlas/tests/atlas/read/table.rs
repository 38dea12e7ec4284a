//! Mappings, and directories that are tables.

use atlas::Error;
use atlas::read::{BUILT_IN, Mapping, snapshot};
use atlas::snapshot::Status;
use atlas::time::iso;
use testing::Directory;

use std::path::Path;

use super::told;

const NAME: &str = "guifi-zones-20191017-0100.csv";
const ZONES: &str = "\
id,parent_id,title,nick,zone_nodes,lat,lon,updated,routing
3671,0,guifi.net World,World,10,,,20191016 1200,
2413,3671,Osona,,2500,41.93,2.25,20191016 1200,OSPF
2414,2413,Vic,,\"1200\",\"41,930\",2.254,17/01/2019,\"quagga BGP, OLSR\"
2415,2413,\"Gurb, \"\"nord\"\"\",,x,,,,
";

fn guifi() -> Mapping {
    Mapping::named("guifi-zones").unwrap()
}

#[test]
fn zones() {
    let zones = snapshot(NAME, ZONES.as_bytes(), &guifi());
    assert_eq!(iso(zones.hour), "2019-10-16T23:00:00Z");
    let [world, osona, vic, gurb] = zones.entries.as_slice() else {
        panic!("{zones:?}");
    };
    assert_eq!((world.key.as_str(), world.nodes), ("guifi-3671", Some(10)));
    assert_eq!(world.profile.metacommunity, None);
    assert_eq!(
        osona.profile.metacommunity.as_deref(),
        Some("guifi.net World")
    );
    assert_eq!(
        (osona.status, osona.profile.latitude),
        (Status::Live, Some(41.93))
    );
    assert_eq!((vic.nodes, vic.status), (Some(1200), Status::Frozen));
    assert_eq!(vic.profile.routing, ["BGP", "OLSR"]);
    assert_eq!(
        (gurb.profile.name.as_str(), gurb.nodes),
        ("Gurb, \"nord\"", None)
    );
    assert_eq!(
        told(&zones),
        [
            "guifi-2414: lat is the text \"41,930\": the number 41.93",
            "guifi-2415: zone_nodes is the text \"x\": left out",
        ]
    );
}

#[test]
fn tables_that_are_none() {
    for (text, why) in [
        ("", "the file is empty"),
        ("a,b\n1,2\n", "the table has no column id"),
        ("id,title\n1,2\n", "the table has no column zone_nodes"),
        (
            "id,zone_nodes,title\n1,2,A\n2,3",
            "the file breaks off in its last line",
        ),
        ("id,zone_nodes\n", "it has no entries"),
        ("i\0d\0,\0z\0o\0", "the file is UTF-16, and has to be UTF-8"),
    ] {
        let snapshot = snapshot(NAME, text.as_bytes(), &guifi());
        assert_eq!(snapshot.entries, []);
        let told = told(&snapshot);
        assert!(told.len() == 1 && told[0].contains(why), "{why}: {told:?}");
    }
    let long = format!("id,zone_nodes\n{},1\n", "x".repeat(300));
    let long = snapshot(NAME, long.as_bytes(), &guifi());
    assert_eq!(long.entries[0].key.len(), 200);
    let uneven = snapshot(
        NAME,
        b"id,zone_nodes,title\n1,2\n2,3,B,C\n\xff,4,D\n",
        &guifi(),
    );
    assert_eq!(uneven.entries.len(), 3);
    assert_eq!(uneven.remarks.len(), 4, "{:?}", told(&uneven));
}

#[test]
fn lists_and_members_on_the_way() {
    let mapping = Mapping::parse(
        r#"
        title = "A list"
        format = "json"
        files = ["{unix}.json"]
        entries = 'data.net\.works'
        [fields]
        key = ["id"]
        name = ["names.0"]
        nodes = ["count", "counts.1"]
        longitude = ["geometry.coordinates.0"]
        latitude = ["geometry.coordinates.1"]
        "#,
        "a test",
    )
    .unwrap();
    let json = br#"{"data":{"x":1,"net.works":[
        {"id":7,"names":["A","B"],"counts":[1,2],"geometry":{"coordinates":[2.5,41.5]}},
        {"id":"b","names":[],"count":5},
        {"names":["C"]}, 3]}}"#;
    let list = snapshot("1571270400.json", json, &mapping);
    assert_eq!(iso(list.hour), "2019-10-17T00:00:00Z");
    let [a, b] = list.entries.as_slice() else {
        panic!("{list:?}");
    };
    assert_eq!(
        (a.key.as_str(), a.profile.name.as_str(), a.nodes),
        ("7", "A", Some(2))
    );
    assert_eq!(
        (a.profile.latitude, a.profile.longitude),
        (Some(41.5), Some(2.5))
    );
    assert_eq!((b.profile.name.as_str(), b.nodes), ("b", Some(5)));
    assert_eq!(list.remarks.len(), 3, "{:?}", told(&list));

    let elsewhere = snapshot("1571270400.json", br#"{"data":[]}"#, &mapping);
    assert!(told(&elsewhere)[0].contains("the file has no data.net.works"));
}

#[test]
fn files_that_are_no_mappings() {
    let folder = Directory::new();
    let large = folder.write("large.toml", &b"# \n".repeat(400_000));
    let binary = folder.write("binary.toml", b"title = \"\xff\"");
    for (name, why) in [
        (Path::new("/dev/zero"), "not a regular file"),
        (folder.path(), "not a regular file"),
        (&large, "1 MiB"),
        (&binary, "UTF-8"),
    ] {
        let error = Mapping::named(&name.to_string_lossy())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(&*name.to_string_lossy()), "{error}");
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn mappings_that_are_none() {
    for (name, _) in BUILT_IN {
        Mapping::named(name).unwrap();
    }
    let error = Mapping::named("freifunkk").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("there are freifunk, guifi-zones"),
        "{error}"
    );
    let head = "title = \"T\"\nformat = \"json\"\n";
    let fields = "[fields]\nnodes = [\"n\"]\n";
    for (text, why) in [
        ("title", "line 1: "),
        (
            &format!("{head}key_prefix = \"{}\"\n{fields}", "x".repeat(51)),
            "key_prefix: ",
        ),
        (
            "title = \"T\"\nformat = \"xml\"\n",
            "line 2: unknown variant `xml`",
        ),
        (
            &format!("{head}nodes = 3\n{fields}"),
            "line 3: unknown field `nodes`",
        ),
        (
            &format!("{head}{fields}x = []\n"),
            "line 5: unknown field `x`",
        ),
        (&format!("{head}[fields]\n"), "fields.nodes: "),
        (
            &format!("{head}[fields]\nnodes = [\"a\", \"a.b\"]\n"),
            "\"a.b\" is within something",
        ),
        (
            &format!("{head}[fields]\nnodes = [\"a.b\", \"a\"]\n"),
            "\"a\" is a value, and others",
        ),
        (
            &format!("{head}{fields}latitude = [\"a\"]\n"),
            "both or neither",
        ),
        (
            &format!("{head}zone = \"Berlin\"\n{fields}"),
            "no time zone \"Berlin\"",
        ),
        (&format!("{head}files = [\"{{yea}}\"]\n{fields}"), "files: "),
        (
            &format!("{head}leave_out = [\"#{{key}}\"]\n{fields}"),
            "leave_out: ",
        ),
        (&format!("{head}delimiter = \";\"\n{fields}"), "delimiter: "),
        (
            &format!("{head}{fields}[protocols]\nA = [\"x\"]\nB = [\"X\"]\n"),
            "protocols: \"X\"",
        ),
        (
            &format!("{head}{fields}[times]\nformats = [\"%!\"]\n"),
            "times.formats: ",
        ),
        (
            "title = \"T\"\nformat = \"csv\"\n[fields]\nnodes = [\"n\"]\n",
            "fields.key: ",
        ),
        (
            "title = \"T\"\nformat = \"csv\"\ndelimiter = \"ü\"\n[fields]\nnodes = [\"n\"]\n",
            "delimiter: ",
        ),
    ] {
        let error = Mapping::parse(text, "dir.toml").unwrap_err();
        assert!(matches!(error, Error::Asked(_)));
        let error = error.to_string();
        assert!(
            error.starts_with("dir.toml") && error.contains(why),
            "{why}: {error}"
        );
    }
}
