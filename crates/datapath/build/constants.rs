//! Numbers that C and Rust share: `#define NAME number` and the members of enums, as written in the
//! headers. Definitions with anything but numbers, other such names and `<< | + - * ( )` stay on
//! the C side.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Returns `pub const NAME: u64 = …;` for each of them, in the order of names.
///
/// # Panics
/// Two headers define one name differently.
pub fn constants(headers: &[String]) -> String {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for header in headers {
        let text = without_comments(header);
        for (name, value) in defined(&text).into_iter().chain(members(&text)) {
            let Some(value) = translated(&value) else {
                continue;
            };
            let former = found.insert(name.clone(), value.clone());
            assert!(
                former.is_none_or(|former| former == value),
                "{name} is two things in bpf/include"
            );
        }
    }
    // Until nothing is left that leans on what is not there.
    loop {
        let known: Vec<String> = found.keys().cloned().collect();
        let before = found.len();
        found.retain(|_, value| words(value).all(|word| known.iter().any(|name| name == word)));
        if found.len() == before {
            break;
        }
    }
    let mut text = String::new();
    for (name, value) in found {
        writeln!(text, "pub const {name}: u64 = {value};").expect("a string");
    }
    text
}

fn without_comments(header: &str) -> String {
    let mut parts = header.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.split_once("*/").map_or("", |(_, rest)| rest);
        text + " " + rest
    })
}

/// `#define NAME value`, without parameters, on one line.
fn defined(text: &str) -> Vec<(String, String)> {
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define "));
    lines
        .filter(|line| !line.ends_with('\\'))
        .filter_map(|line| line.split_once(char::is_whitespace))
        .filter(|(name, _)| is_name(name))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

/// Members of `enum … { A, B = value, … };`.
fn members(text: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for part in text.split("\nenum ").skip(1) {
        let Some((head, rest)) = part.split_once('{') else {
            continue;
        };
        // A variable of an enum type does not define the enum.
        if head.contains([';', '(']) {
            continue;
        }
        let body = rest.split_once('}').map_or("", |(body, _)| body);
        let mut next = "0".to_owned();
        for member in body.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let (name, value) = match member.split_once('=') {
                Some((name, value)) => (name.trim(), value.trim().to_owned()),
                None => (member, next),
            };
            next = format!("{name} + 1");
            if is_name(name) {
                all.push((name.to_owned(), value));
            }
        }
    }
    all
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Translates an expression to Rust; `None` for anything else.
fn translated(value: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = value;
    while let Some(first) = rest.chars().next() {
        let length = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        if first.is_ascii_digit() {
            text += rest[..length].trim_end_matches(['u', 'U', 'l', 'L']);
            rest = &rest[length..];
        } else if first.is_ascii_uppercase() && is_name(&rest[..length]) {
            text += &rest[..length];
            rest = &rest[length..];
        } else if let Some(after) = rest.strip_prefix("<<") {
            text += "<<";
            rest = after;
        } else if "|+-*() ".contains(first) {
            text.push(first);
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    (!text.trim().is_empty()).then_some(text)
}

/// Names in an expression.
fn words(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
}
