//! Mappings of any content, and directories of any content as some mappings describe them.
#![no_main]

use std::collections::HashSet;
use std::sync::LazyLock;

use atlas::read::{Mapping, snapshot};
use atlas::snapshot::Status;
use libfuzzer_sys::fuzz_target;

const LIST: &str = r#"
title = "A list"
format = "json"
files = ["{unix}*.json"]
entries = "data.all"
leave_out = ["{key}-#x", "test"]
[fields]
key = ["id"]
name = ["names.0", "name"]
nodes = ["count", "counts.1"]
longitude = ["at.0"]
latitude = ["at.1"]
[times]
formats = ["%d.%m.%Y"]
"#;

/// Mappings, chosen by the first byte of the input.
static MAPPINGS: LazyLock<[Mapping; 3]> = LazyLock::new(|| {
    [
        Mapping::named("freifunk").unwrap(),
        Mapping::named("guifi-zones").unwrap(),
        Mapping::parse(LIST, "a list").unwrap(),
    ]
});

fuzz_target!(|octets: &[u8]| {
    let Some((first, rest)) = octets.split_first() else {
        return;
    };
    // A mapping and its input; or a name and a file's content.
    let at = rest.iter().position(|octet| *octet == 0xff).unwrap_or(0);
    let (head, file) = rest.split_at(at);
    let head = String::from_utf8_lossy(head);
    match MAPPINGS.get(usize::from(*first)) {
        Some(mapping) => {
            check(mapping, "20191010-00.00.00-ffSummarizedDir.json", rest);
            check(mapping, &head, file.get(1..).unwrap_or_default());
        }
        None => match Mapping::parse(&head, "a mapping") {
            Ok(mapping) => check(&mapping, "20191010.json", file.get(1..).unwrap_or_default()),
            Err(error) => assert!(error.to_string().starts_with("a mapping")),
        },
    }
});

fn check(mapping: &Mapping, name: &str, octets: &[u8]) {
    let read = snapshot(name, octets, mapping);
    assert_eq!(read, snapshot(name, octets, mapping));
    assert!(read.remarks.len() <= 101);
    assert!(!read.entries.is_empty() || !read.remarks.is_empty());
    let mut keys = HashSet::new();
    for entry in &read.entries {
        assert!(keys.insert(&entry.key), "{} twice", entry.key);
        let odd = entry
            .nodes
            .is_some_and(|nodes| !(0..=100_000).contains(&nodes));
        assert_eq!(odd, entry.status == Status::Odd);
        let profile = &entry.profile;
        let place = profile.latitude.zip(profile.longitude);
        assert_eq!(
            place.is_some(),
            profile.latitude.or(profile.longitude).is_some()
        );
        assert!(place.is_none_or(|(north, east)| north.abs() <= 90.0 && east.abs() <= 180.0));
        assert!(profile.routing.is_sorted() && profile.routing.len() <= 20);
        let url = profile.url.as_deref().unwrap_or("http://x").to_lowercase();
        assert!(url.starts_with("http://") || url.starts_with("https://"));
        for text in [&profile.name, &entry.key].into_iter().chain(&profile.city) {
            assert!(
                !text.is_empty() && !text.chars().any(char::is_control),
                "{text:?}"
            );
        }
        assert!(profile.name.chars().count() <= 200);
    }
}
