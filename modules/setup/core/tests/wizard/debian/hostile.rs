//! Values of any content.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::LazyLock;

use proptest::prelude::*;
use weir_setup_core::debian::{Content, Rendering};

use super::{case, rendered};

const CASES: [&str; 8] = [
    "dhcp",
    "static",
    "pppoe",
    "guests",
    "wireguard",
    "openvpn",
    "mesh",
    "roaming",
];

/// A value in the syntax of UCI: only an apostrophe has to be written otherwise.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}

/// Returns the positions of values in a case.
fn places(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let statement = line.trim_start();
        if (statement.starts_with("option ") || statement.starts_with("list "))
            && let Some(from) = line.find('\'')
        {
            places.push(at + from..at + line.trim_end().len());
        }
        at += line.len();
    }
    places
}

/// Returns the structure of a file, without values: each line up to the start of its value. For
/// nftables, all unquoted words, each by itself; names of chains end in a zone's.
fn structure(outcome: &Rendering) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for file in &outcome.files {
        let Content::Text(text) = &file.content else {
            continue;
        };
        assert!(!text.contains(['\0', '\r']), "{text:?}");
        let lines = text.split('\n');
        let words: Vec<String> = match &*file.path {
            "etc/hostname" => lines.skip(1).map(str::to_owned).collect(),
            "etc/nftables.d/weir.nft" => {
                let bare = lines.flat_map(|line| line.split('"').step_by(2));
                let words = bare.flat_map(|text| text.split([' ', '\t']));
                let named = words.filter(|word| word.contains(|c: char| c.is_ascii_alphabetic()));
                let plain = named.filter(|word| word.parse::<IpAddr>().is_err());
                let plain = plain.filter(|word| !word.contains(':'));
                plain
                    .map(|word| word.split('_').next().unwrap_or_default().to_owned())
                    .collect()
            }
            _ => {
                let key = |line: &str| line.split(['=', ' ', '-']).next().map(str::to_owned);
                lines.filter_map(key).collect()
            }
        };
        all.push((file.path.clone(), words));
    }
    all
}

/// Lines that benign values can make.
fn words() -> BTreeSet<String> {
    // Words of rules with an empty option, or with another valid one: nft's names of ICMP types.
    let others = "\tsae_password ipv6-icmp icmp burst packets echo-reply destination-unreachable \
         source-quench redirect echo-request router-advertisement router-solicitation \
         time-exceeded parameter-problem timestamp-request packet-too-big mld-listener-query \
         mld-listener-report mld-listener-done nd-router-solicit nd-router-advert \
         nd-neighbor-solicit nd-neighbor-advert nd-redirect";
    let mut words: BTreeSet<_> = others.split(' ').map(str::to_owned).collect();
    for name in CASES {
        let text = std::fs::read_to_string(case(name, "uci")).expect("a case");
        let outcome = rendered(&text).expect("files");
        for (_, lines) in structure(&outcome) {
            words.extend(lines);
        }
    }
    words
}

/// Text that would be more than a value if it were not checked.
fn hostile() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec![
        "\n",
        "\r",
        "\"",
        "'",
        "\\",
        " ",
        "\t",
        "#",
        ";",
        "{",
        "}",
        "=",
        "[",
        "]",
        ",",
        "/",
        "..",
        "|",
        "$(id)",
        "`id`",
        "%i",
        "*",
        "\u{85}",
        "\u{2028}",
        "é",
        "\nEVIL=1",
        "\n[EVIL]\n",
        "\"\nEVIL evil\n",
        "} evil evil {",
        "eth0",
        "10.0.0.1/8",
        "1",
        "evil",
    ]);
    prop_oneof![
        prop::collection::vec(marks, 0..6).prop_map(|parts| parts.concat()),
        any::<String>(),
        "[ -~]{0,70}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Any value anywhere is refused, or makes no line that is not like those of benign values.
    #[test]
    fn no_value_is_more_than_a_value(
        name in prop::sample::select(CASES.to_vec()),
        at in any::<prop::sample::Index>(),
        value in hostile(),
    ) {
        static WORDS: LazyLock<BTreeSet<String>> = LazyLock::new(words);
        let mut text = std::fs::read_to_string(case(name, "uci")).expect("a case");
        let places = places(&text);
        let place = places[at.index(places.len())].clone();
        prop_assume!(!value.contains('\0'));
        text.replace_range(place, &quoted(&value));
        if let Ok(outcome) = rendered(&text) {
            for (path, lines) in structure(&outcome) {
                for line in lines {
                    prop_assert!(WORDS.contains(&line), "{path}: {line:?} by {value:?}");
                    prop_assert!(!line.contains("EVIL"), "{path}: {line:?} by {value:?}");
                }
                let mut parts = path.split('/');
                prop_assert!(parts.all(|part| !part.is_empty() && part != ".."), "{path}");
            }
        }
    }
}
