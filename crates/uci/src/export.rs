//! Output in the formats of libuci: export and show.

use crate::{
    package::Package,
    section::values,
    text::{quoted, written},
};
use std::collections::HashMap;

/// Style of names for unnamed sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameStyle {
    /// Exports omit the name. Listings use type and index (`@zone[1]`).
    Extended,
    /// Generated name (`cfg02dc81`).
    Generated,
}

/// Returns the package as libuci writes it, without comments. `header` adds `package NAME`.
pub fn export(package: &Package, header: bool, names: NameStyle) -> Vec<u8> {
    let mut text = Vec::new();
    if header {
        text.extend_from_slice(format!("package {}\n", package.name()).as_bytes());
    }
    for section in package.sections() {
        text.extend_from_slice(b"\nconfig ");
        text.extend_from_slice(written(&section.kind).as_bytes());
        if !section.anonymous || names == NameStyle::Generated {
            text.push(b' ');
            text.extend_from_slice(&quoted(section.name.as_bytes()));
        }
        text.push(b'\n');
        for element in &section.options {
            let keyword = if element.list { "list" } else { "option" };
            for value in element.values() {
                text.extend_from_slice(format!("\t{keyword} {} ", element.name).as_bytes());
                text.extend_from_slice(&quoted(value));
                text.push(b'\n');
            }
        }
    }
    text.push(b'\n');
    text
}

/// Returns the lines of `uci show`: of a package, of one section, or of one option. `section` and
/// `option` are names; missing ones give no lines.
pub fn shown(
    package: &Package,
    section: Option<&str>,
    option: Option<&str>,
    names: NameStyle,
    delimiter: &[u8],
) -> Vec<u8> {
    let mut text = Vec::new();
    let mut counted: HashMap<&str, usize> = HashMap::new();
    for known in package.sections() {
        let number = counted.entry(&known.kind).or_default();
        // A section that was requested directly keeps its name.
        let called = if known.anonymous && names == NameStyle::Extended && section.is_none() {
            format!("@{}[{number}]", known.kind)
        } else {
            known.name.clone()
        };
        *number += 1;
        if section.is_some_and(|name| name != known.name) {
            continue;
        }
        if option.is_none() {
            text.extend_from_slice(
                format!("{}.{called}={}\n", package.name(), known.kind).as_bytes(),
            );
        }
        for element in known
            .options
            .iter()
            .filter(|element| option.is_none_or(|name| name == element.name))
        {
            text.extend_from_slice(
                format!("{}.{called}.{}=", package.name(), element.name).as_bytes(),
            );
            values(&mut text, element, delimiter, true);
            text.push(b'\n');
        }
    }
    text
}
