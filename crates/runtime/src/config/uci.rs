//! Reads `/etc/config/weir`: the sections and keys of weir's own file, as OpenWrt's tools write
//! them. A value here overrides that file.

use std::path::Path;

use ::uci::{Element, Package};
use toml::de::DeValue;

use super::effective::Effective;
use super::error::ConfigError;
use super::setting::Origin;
use super::text::read;
use super::values::ValueError;

/// Path of the file on OpenWrt. The file is optional.
pub const UCI_FILE: &str = "/etc/config/weir";

/// OpenWrt's own options of an access point, and the keys that correspond to them here.
const OPENWRT: [(&str, &str, &str); 2] = [
    ("radio.peering", "apup", "compat"),
    ("radio.peering", "apup_peer_ifname_prefix", "prefix"),
];

/// Applies a file to the configuration. A missing file changes nothing.
pub(super) fn lay_over(effective: &mut Effective, file: &Path) -> Result<(), Vec<ConfigError>> {
    if !file.exists() {
        return Ok(());
    }
    let name = file.to_string_lossy();
    lay(effective, &read(file)?, &name)
}

/// Applies this text to the configuration. `file` is only for messages and origins.
///
/// # Errors
/// All errors in the text.
pub fn lay(effective: &mut Effective, text: &str, file: &str) -> Result<(), Vec<ConfigError>> {
    let error = |line: usize, key: Option<String>, wrong: ValueError| ConfigError {
        file: file.to_owned(),
        line,
        column: usize::from(line > 0),
        key,
        what: wrong.what,
        hint: wrong.hint,
    };
    let package = Package::read("weir", text.as_bytes()).map_err(|wrong| {
        let line = match &wrong {
            ::uci::Error::Syntax(syntax) => syntax.line,
            _ => 0,
        };
        let what = wrong.to_string();
        let hint = "see docs/reference/uci.md for the format".to_owned();
        vec![error(line, None, ValueError { what, hint })]
    })?;
    let origin = Origin::File {
        name: file.to_owned(),
        line: 0,
    };
    let mut errors = Vec::new();
    for section in package.sections() {
        // A type has no dots.
        let path = section.kind.replace('_', ".");
        if !effective.has_section(&path) {
            let what = format!("unknown section type {}", section.kind);
            let hint = "radio_power is [radio.power] of weir.toml, and so on; tables with a name \
                of their own are written there";
            let hint = hint.to_owned();
            errors.push(error(0, None, ValueError { what, hint }));
            continue;
        }
        for option in &section.options {
            let (key, values) = key_and_values(&path, option);
            let dotted = format!("{path}.{key}");
            if let Err(wrong) = set(effective, &dotted, &values, &origin) {
                let key = format!("{}.{}", section.kind, option.name);
                errors.push(error(0, Some(key), wrong));
            }
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// The key of an option, and what could be its value, as TOML.
fn key_and_values(path: &str, option: &Element) -> (String, Vec<String>) {
    let quoted = |value: &[u8]| serde_json::Value::from(String::from_utf8_lossy(value)).to_string();
    let all: Vec<String> = option.values().map(quoted).collect();
    let list = format!("[{}]", all.join(", "));
    let openwrt = OPENWRT
        .iter()
        .find(|it| (it.0, it.1) == (path, &option.name));
    let key = openwrt.map_or(&*option.name, |it| it.2).to_owned();
    let Some(value) = option.value() else {
        return (key, vec![list]);
    };
    let truth = match value {
        b"1" | b"on" | b"true" | b"yes" | b"enabled" => Some(true),
        b"0" | b"off" | b"false" | b"no" | b"disabled" => Some(false),
        _ => None,
    };
    if let (Some((_, "apup", _)), Some(truth)) = (openwrt, truth) {
        let word = if truth { "\"apup\"" } else { "\"off\"" };
        return (key, vec![word.to_owned()]);
    }
    let mut values = all;
    if !value.is_empty() && value.iter().all(u8::is_ascii_digit) {
        values.push(String::from_utf8_lossy(value).into_owned());
    }
    values.extend(truth.map(|truth| truth.to_string()));
    values.push(list);
    (key, values)
}

/// Sets the first of `values` that the key accepts; an error describes the first value.
fn set(
    effective: &mut Effective,
    dotted: &str,
    values: &[String],
    origin: &Origin,
) -> Result<(), ValueError> {
    let mut first = None;
    for text in values {
        // Digits that begin with a zero are no number there.
        let Ok(value) = DeValue::parse(text) else {
            continue;
        };
        match effective.lay_over(dotted, value.get_ref(), origin) {
            Ok(()) => return Ok(()),
            Err(wrong) => {
                first.get_or_insert(wrong);
            }
        }
    }
    Err(first.unwrap_or_else(|| ValueError {
        what: "cannot be read".to_owned(),
        hint: "write text without control characters".to_owned(),
    }))
}
