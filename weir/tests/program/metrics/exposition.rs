//! Parser of the metrics, by Prometheus' grammar.

use std::collections::{BTreeMap, HashSet};

/// Key of a sample: name and labels.
pub type Key = (String, BTreeMap<String, String>);

/// Parses a label's value up to the closing quote; returns the value and the remaining text.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut rest = text.char_indices();
    while let Some((index, character)) = rest.next() {
        match character {
            '"' => return (value, &text[index + 1..]),
            '\\' => match rest.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('\\' | '"'))) => value.push(escaped),
                other => panic!("escape {other:?}"),
            },
            other => value.push(other),
        }
    }
    panic!("no end of {text:?}");
}

/// Parses a whole exposition; panics on any violation of the grammar.
pub fn read(text: &str) -> BTreeMap<Key, f64> {
    let lines = text.strip_suffix("# EOF\n").expect("an end");
    assert!(!lines.contains('\r'));
    let mut samples = BTreeMap::new();
    let mut families = HashSet::new();
    let mut family = (String::new(), String::new());
    for line in lines.split_terminator('\n') {
        if let Some(meta) = line.strip_prefix("# ") {
            let mut words = meta.splitn(3, ' ');
            let (word, name, rest) = (words.next(), words.next().expect("a name"), words.next());
            let rest = rest.expect("a text");
            match word {
                Some("TYPE") => {
                    assert!(families.insert(name.to_owned()), "{name} twice");
                    assert!(matches!(rest, "counter" | "gauge"));
                    family = (name.into(), rest.into());
                }
                Some("UNIT") => assert!(name == family.0 && name.ends_with(&format!("_{rest}"))),
                Some("HELP") => assert!(name == family.0 && !rest.contains('\\')),
                other => panic!("{other:?}"),
            }
            continue;
        }
        let end = line.find(['{', ' ']).expect("a name");
        let (name, mut rest) = line.split_at(end);
        let total = if family.1 == "counter" { "_total" } else { "" };
        assert_eq!(name, format!("{}{total}", family.0), "in its family");
        let mut labels = BTreeMap::new();
        while let Some(after) = rest.strip_prefix(['{', ',']) {
            let (label, after) = after.split_once("=\"").expect("a label");
            let (value, after) = quoted(after);
            assert!(labels.insert(label.to_owned(), value).is_none());
            rest = after;
        }
        let rest = rest.strip_prefix('}').unwrap_or(rest);
        let value = rest
            .strip_prefix(' ')
            .expect("a value")
            .parse::<f64>()
            .expect("a number");
        let signed = name.ends_with("_dbm");
        assert!(value.is_finite() && (signed || value >= 0.0));
        assert!(
            samples.insert((name.into(), labels), value).is_none(),
            "twice: {line}"
        );
    }
    samples
}

/// Returns the first sample of this name that has at least these labels.
pub fn get(samples: &BTreeMap<Key, f64>, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let fits = |(have, with): &Key| {
        have == name
            && labels
                .iter()
                .all(|(k, v)| with.get(*k).is_some_and(|have| have == v))
    };
    samples
        .iter()
        .find(|(key, _)| fits(key))
        .map(|(_, value)| *value)
}
