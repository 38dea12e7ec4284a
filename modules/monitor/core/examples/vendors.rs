//! Builds the list of manufacturers from systemd's copy of the IEEE registry:
//!
//! ```text
//! cargo run -p weir-monitor-core --example vendors -- /usr/lib/udev/hwdb.d/20-OUI.hwdb \
//!     modules/monitor/core/src/vendor/ieee.bin
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs, process};

use miniz_oxide::deflate::compress_to_vec;
use weir_monitor_core::names::text;
use weir_monitor_core::vendor::{BLOCK, GROUP, LENGTHS, LONGEST_NAME};

/// Legal forms at the end of company names.
const FORMS: &str = " ab ag aps as bv b.v co company corp corporation gmbh inc incorporated k.k kft kg \
    kk limited llc ltd ltda nv n.v oy plc pte pty pvt s.a s.a.s s.l s.p.a s.r.l s.r.o sa sas sl spa \
    srl sro technologies technology the ";

fn main() {
    let files: Vec<String> = env::args().skip(1).collect();
    let [from, to] = &files[..] else {
        eprintln!("vendors: give the list, and the file to be written");
        process::exit(2);
    };
    if let Err(error) = make(from, to) {
        eprintln!("vendors: {error}");
        process::exit(1);
    }
}

fn make(from: &str, to: &str) -> Result<(), Box<dyn std::error::Error>> {
    let list = fs::read_to_string(from)?;
    // Prefixes by length, then by value.
    let mut given: BTreeMap<u32, BTreeMap<u64, String>> = BTreeMap::new();
    let mut prefix = None;
    for line in list.lines() {
        if let Some(digits) = line.strip_prefix("OUI:").and_then(|l| l.strip_suffix('*')) {
            prefix = Some((digits.len() as u32 * 4, u64::from_str_radix(digits, 16)?));
        } else if let (Some(name), Some((length, digits))) =
            (line.strip_prefix(" ID_OUI_FROM_DATABASE="), prefix)
        {
            given.entry(length).or_default().insert(digits, short(name));
        }
    }
    let names: BTreeSet<&String> = given.values().flat_map(BTreeMap::values).collect();
    let names: Vec<&String> = names.into_iter().collect();
    let mut rest = Vec::new();
    let mut counts = Vec::new();
    let mut groups = Vec::new();
    for length in LENGTHS {
        let rows: Vec<(u64, &String)> = given[&length].iter().map(|(p, name)| (*p, name)).collect();
        counts.extend(u32::try_from(rows.len().div_ceil(GROUP))?.to_le_bytes());
        for group in rows.chunks(GROUP) {
            groups.extend(group[0].0.to_le_bytes());
            groups.extend(u32::try_from(rest.len())?.to_le_bytes());
            let mut before = group[0].0;
            for (prefix, name) in group {
                varint(&mut rest, prefix - before);
                before = *prefix;
                let index = names.binary_search(name).expect("of these names");
                rest.extend(u16::try_from(index)?.to_le_bytes());
            }
        }
    }
    let mut blocks = Vec::new();
    for block in names.chunks(BLOCK) {
        blocks.extend(u32::try_from(rest.len())?.to_le_bytes());
        let text: String = block.iter().map(|name| format!("{name}\n")).collect();
        rest.extend(compress_to_vec(text.as_bytes(), 10));
    }
    counts.extend(u32::try_from(blocks.len() / 4)?.to_le_bytes());
    blocks.extend(u32::try_from(rest.len())?.to_le_bytes());
    fs::write(to, [counts, groups, blocks, rest].concat())?;
    Ok(())
}

/// Shortens the name of a company; empty if there is no name.
fn short(name: &str) -> String {
    let name: String = text::device(name.as_bytes()).unwrap_or_default();
    let name = name.replace(['"', '“', '”'], "");
    let mut words: Vec<&str> = name
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let form = |word: &str| {
        let word = word.trim_matches(['.', '(', ')']).to_lowercase();
        word.is_empty() || word == "&" || FORMS.contains(&format!(" {word} "))
    };
    while words.len() > 1 && form(words[words.len() - 1]) {
        words.pop();
    }
    let shouted = !words.iter().any(|word| word.contains(char::is_lowercase));
    let mut all = String::new();
    for word in words {
        let word = match shouted && word.chars().count() > 3 {
            true => capital(word),
            false => word.to_owned(),
        };
        if all.len() + 1 + word.len() > LONGEST_NAME {
            break;
        }
        all = format!("{all} {word}").trim().to_owned();
    }
    let all = all.trim_matches(['.', ',', '&', ' ']).to_owned();
    match &*all {
        // Placeholders: the owner is private, or an agency that reassigns parts of the block.
        "Private" | "IEEE Registration Authority" => String::new(),
        _ => all,
    }
}

/// Returns `Xerox` for `XEROX`.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first: String = letters.by_ref().take(1).collect();
    first + &letters.as_str().to_lowercase()
}

fn varint(octets: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        octets.push(number as u8 | 0x80);
        number >>= 7;
    }
    octets.push(number as u8);
}
