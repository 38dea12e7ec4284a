//! Properties of any file and any edits.

use crate::edits;
use edits::{edit, play};
use proptest::prelude::*;
use weir_uci::{NameStyle, Package, Strictness, export};

/// Generates statements, comments and malformed lines, as people and programs write them.
fn line() -> impl Strategy<Value = String> {
    let name = "(x|y|z|li)";
    let value = prop_oneof![
        "'v[0-9]'",
        "[a-c]",
        "\"w w\"",
        r"'p'\\''w'",
        "''",
        r"a\\ b",
        "a#b",
        "v;",
        "'multi\nline'",
        "a\\\\\nb",
        "'x'y\"z\"",
    ];
    let option = (prop_oneof!["option", "list", "o", "l"], name, value);
    let section = (
        prop_oneof!["config", "c"],
        "(a|b|zone)",
        prop_oneof!["", " lan", " 'n2'"],
    );
    let statement = prop_oneof![
        6 => ("(\t|  )", option).prop_map(|(indent, (keyword, name, value))| format!("{indent}{keyword} {name} {value}")),
        3 => section.prop_map(|(keyword, kind, name)| format!("{keyword} {kind}{name}")),
        1 => "(# note|\t# deep|   |package t|)",
    ];
    let end =
        prop_oneof![8 => "\n", 1 => " ; ", 1 => "; ", 1 => ";", 1 => " # comment\n", 1 => "\r\n"];
    (statement, end).prop_map(|(statement, end)| statement + &end)
}

fn document() -> impl Strategy<Value = String> {
    proptest::collection::vec(line(), 0..14).prop_map(|lines| lines.concat())
}

/// Generates a file in libuci's format.
fn canonical() -> impl Strategy<Value = String> {
    document().prop_filter_map("cannot be read", |text| {
        let package = Package::read("t", text.as_bytes()).ok()?;
        Some(String::from_utf8(export(&package, false, NameStyle::Extended)).expect("it was text"))
    })
}

fn model(package: &Package) -> Vec<u8> {
    export(package, false, NameStyle::Extended)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_read_is_written_again(text in document(), octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        for text in [text.as_bytes(), &octets] {
            if let Ok(package) = Package::read_as("t", text, Strictness::Lenient) {
                prop_assert_eq!(package.text(), text);
            }
            if let Ok(package) = Package::read("t", text) {
                prop_assert_eq!(package.text(), text);
                let again = Package::read("t", &model(&package)).expect("what libuci writes");
                prop_assert_eq!(model(&again), model(&package));
            }
        }
    }

    #[test]
    fn what_was_edited_reads_as_it_was_meant(text in document(), edits in proptest::collection::vec(edit(), 1..8)) {
        let Ok(mut package) = Package::read("t", text.as_bytes()) else { return Ok(()) };
        for edit in &edits {
            let before = package.text();
            play(&mut package, edit);
            let text = package.text();
            let shown = format!("{edit:?}: {} became {}", before.escape_ascii(), text.escape_ascii());
            let again = Package::read("t", &text);
            prop_assert!(again.is_ok(), "{}: {}", shown, again.unwrap_err());
            prop_assert_eq!(model(&again.unwrap()), model(&package), "{}", shown);
        }
    }

    #[test]
    fn what_libuci_wrote_stays_as_libuci_writes_it(text in canonical(), edits in proptest::collection::vec(edit(), 1..8)) {
        let mut package = Package::read("t", text.as_bytes()).expect("what libuci writes");
        for edit in &edits {
            let before = package.text();
            play(&mut package, edit);
            let (text, model) = (package.text(), model(&package));
            prop_assert_eq!(&text, &model, "{:?} of {}: {}", edit, before.escape_ascii(), text.escape_ascii());
        }
    }

    #[test]
    fn an_option_that_is_set_changes_its_line_alone(text in canonical(), which in any::<prop::sample::Index>()) {
        // Adds comments behind and above each line, and odd blanks.
        let text: String = text.lines().filter(|line| !line.contains("multi") && !line.contains("line'")).map(|line| {
            if line.is_empty() { "\n# above\n".to_owned() } else { format!("  {}   # behind\n", line.replace(' ', "  ")) }
        }).collect();
        let Ok(mut package) = Package::read("t", text.as_bytes()) else { return Ok(()) };
        let options: Vec<(String, String)> = package.sections().iter()
            .flat_map(|s| s.options.iter().filter(|o| !o.list).map(|o| (s.name.clone(), o.name.clone())))
            .collect();
        if options.is_empty() { return Ok(()) }
        let (section, option) = &options[which.index(options.len())];
        package.set(section, option, b"it's new").unwrap();
        let after = String::from_utf8(package.text()).unwrap();
        prop_assert_eq!(after.lines().count(), text.lines().count());
        let differ: Vec<_> = text.lines().zip(after.lines()).filter(|(a, b)| a != b).collect();
        prop_assert_eq!(differ.len(), 1);
        let new = differ[0].1;
        prop_assert!(new.ends_with(r"'it'\''s new'   # behind") && new.starts_with("  \toption  "), "{}", new);
    }
}

#[test]
fn a_big_file_is_read_and_written_at_once() {
    let text: String = (0..1000)
        .map(|n| {
            format!("\nconfig rule\n\toption name 'r{n}'\n\toption src 'wan'\n\tlist proto 'tcp'\n")
        })
        .collect();
    let mut package = Package::read("firewall", text.as_bytes()).unwrap();
    assert_eq!(package.sections().len(), 1000);
    let last = package.sections()[999].name.clone();
    package.set(&last, "target", b"DROP").unwrap();
    assert_eq!(
        package.text().len(),
        text.len() + "\toption target 'DROP'\n".len()
    );
}
