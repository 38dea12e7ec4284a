//! Repeated members that have members.

use atlas::read::{Mapping, snapshot};

use super::{one, told};

/// The last of several counts as a whole: members of earlier ones are ignored.
#[test]
fn members_with_others_in_them_come_twice() {
    let last = |path: &str| format!("k: {path} comes twice: the last one");
    for (state, nodes) in [
        (r#""state":{"nodes":5},"state":{"x":8}"#, None),
        (r#""state":{"nodes":5},"state":null"#, None),
        (r#""state":{"nodes":5},"state":{"nodes":7}"#, Some(7)),
        (r#""state":null,"state":{"nodes":7}"#, Some(7)),
        (r#""state":[1],"state":{"nodes":7}"#, Some(7)),
        (
            r#""state":{"nodes":"x","nodes":5},"state":{"nodes":7}"#,
            Some(7),
        ),
        // With an escape in a name the file is for the other reader.
        (r#""state":{"nodes":5},"st\u0061te":{"x":8}"#, None),
    ] {
        let (entry, told) = one(&format!(r#"{{"name":"K",{state}}}"#));
        assert_eq!((entry.nodes, told), (nodes, vec![last("state")]), "{state}");
    }
    let (entry, told) = one(r#"{"name":"K","state":{"nodes":5},"state":7}"#);
    assert_eq!(entry.nodes, None);
    assert_eq!(
        told,
        ["k: state is a number: left out".to_owned(), last("state")]
    );

    let (entry, told) = one(
        r#"{"name":"K","location":{"lat":50,"lon":11,"city":"A\ud800"},"location":{"city":"B","lat":49}}"#,
    );
    assert_eq!(entry.profile.city.as_deref(), Some("B"));
    assert_eq!(
        (entry.profile.latitude, entry.profile.longitude),
        (None, None)
    );
    assert_eq!(told, [last("location")]);

    let (entry, told) = one(
        r#"{"name":"K","location":{"geoCode":{"lat":50,"lon":11},"geoCode":{"lat":49,"lon":8}}}"#,
    );
    assert_eq!(entry.profile.latitude, Some(49.0));
    assert_eq!(told, [last("location.geoCode")]);
}

/// The way to the entries, too.
#[test]
fn the_way_to_the_entries_comes_twice() {
    let text = "title = 'T'\nformat = 'json'\nfiles = ['{year}{month}{day}.json']\n\
                entries = 'data.all'\n[fields]\nnodes = ['n']\n";
    let mapping = Mapping::parse(text, "a test").unwrap();
    let read = |json: &str| {
        let snapshot = snapshot("20191010.json", json.as_bytes(), &mapping);
        let entries = snapshot.entries.iter();
        let nodes: Vec<_> = entries
            .map(|entry| (entry.key.clone(), entry.nodes))
            .collect();
        (nodes, told(&snapshot))
    };
    for (json, path) in [
        (
            r#"{"data":{"all":{"a":{"n":1,"n":3}}},"data":{"all":{"b":{"n":2}}}}"#,
            "data",
        ),
        (
            r#"{"data":{"all":{"a":{"n":1,"n":3}},"all":{"b":{"n":2}}}}"#,
            "data.all",
        ),
    ] {
        let line = format!("file: {path} comes twice: the last one");
        assert_eq!(read(json), (vec![("b".to_owned(), Some(2))], vec![line]));
    }
    let (entries, told) = read(r#"{"data":{"all":{"a":{"n":1}}},"data":{}}"#);
    assert_eq!(entries, []);
    assert!(told[0].contains("the file has no data.all"), "{told:?}");
}
