//! From text to settings: every error at once, each with its place.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Lines};
use super::keys::{HINT, HINTS, Key, PORT, PORTS, QUOTA, QUOTAS, SECTIONS, named_key};
use super::settings::{DeviceName, Effective, Origin, QuotaSettings};
use super::suggest::nearest;

/// Reads a configuration. `filename` is only for messages and origins. Either all of it is good, or every error is returned, in
/// the order of the text.
pub fn parse(text: &str, filename: &str) -> Result<Effective, Vec<ConfigError>> {
    let (table, mut syntax) = DeTable::parse_recoverable(text);
    syntax.sort_by_key(|error| error.span().map_or(0, |span| span.start));
    let mut reader = Reader {
        lines: Lines::of(text),
        filename,
        errors: Vec::new(),
    };
    for error in syntax {
        let span = error.span().unwrap_or_default();
        // What comes after the first mistake in a line is that mistake again, in other words.
        let line = reader.lines.line(&span);
        if reader.errors.last().is_some_and(|last| last.line == line) {
            continue;
        }
        let mend = "see https://toml.io for how such a file is written; text values need quotes";
        reader.error(
            &span,
            None,
            format!("not TOML: {}", error.message().replace('\n', ", ")),
            mend.to_owned(),
        );
    }
    let broken: HashSet<usize> = reader.errors.iter().map(|error| error.line).collect();

    let told = reader.errors.len();

    let mut effective = Effective::default();
    reader.document(table.get_ref(), &mut effective);

    // A broken line was already told of; what is made of the rest of it is guesswork.
    let mut errors = reader.errors;
    let mut position = 0;
    errors.retain(|error| {
        position += 1;
        position <= told || !broken.contains(&error.line)
    });
    errors.sort_by_key(|error| (error.line, error.column));
    if errors.is_empty() {
        Ok(effective)
    } else {
        Err(errors)
    }
}

struct Reader<'a> {
    lines: Lines<'a>,
    filename: &'a str,
    errors: Vec<ConfigError>,
}

impl Reader<'_> {
    fn error(&mut self, span: &Range<usize>, key: Option<String>, what: String, mend: String) {
        let (line, column) = self.lines.place(span);
        self.errors.push(ConfigError {
            file: self.filename.to_owned(),
            line,
            column,
            key,
            what,
            mend,
        });
    }

    fn document(&mut self, table: &DeTable<'_>, effective: &mut Effective) {
        for (name, value) in table {
            let word: &str = name.get_ref();
            if word == PORTS {
                if let Some(ports) = self.table(PORTS, value) {
                    self.named(PORTS, &PORT, ports, &mut effective.ports);
                }
            } else if word == QUOTAS {
                if let Some(quotas) = self.table(QUOTAS, value) {
                    self.quotas(quotas, effective);
                }
            } else if let Some((section, keys)) =
                SECTIONS.iter().find(|(section, _)| *section == word)
            {
                if let Some(table) = self.table(section, value) {
                    self.section(table, keys, effective, |key| format!("{section}.{key}"));
                    self.subsections(section, table, effective);
                }
            } else {
                self.unknown_section(word, &name.span());
            }
        }
    }

    /// Sections within one: `[monitor.ipfix]`.
    fn subsections(&mut self, section: &str, table: &DeTable<'_>, effective: &mut Effective) {
        for (name, value) in table {
            let dotted = format!("{section}.{}", name.get_ref());
            if dotted == HINTS {
                if let Some(paths) = self.table(HINTS, value) {
                    self.named(HINTS, &HINT, paths, &mut effective.multipath.paths);
                }
                continue;
            }
            let Some((_, keys)) = SECTIONS.iter().find(|(known, _)| *known == dotted) else {
                continue;
            };
            if let Some(table) = self.table(&dotted, value) {
                self.section(table, keys, effective, |key| format!("{dotted}.{key}"));
            }
        }
    }

    fn unknown_section(&mut self, word: &str, span: &Range<usize>) {
        let sections = || {
            SECTIONS
                .iter()
                .map(|(section, _)| *section)
                .chain([PORTS, QUOTAS])
        };
        let homes: Vec<String> = SECTIONS
            .iter()
            .filter(|(_, keys)| keys.iter().any(|key| key.name == word))
            .map(|(section, _)| format!("[{section}]"))
            .collect();
        let mend = if !homes.is_empty() {
            format!("`{word}` belongs into {}", homes.join(" or "))
        } else if let Some(near) = nearest(word, sections()) {
            format!("did you mean [{near}]?")
        } else {
            format!(
                "there are {}",
                sections()
                    .map(|name| format!("[{name}]"))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        };
        self.error(span, Some(clip(word)), "unknown section".to_owned(), mend);
    }

    fn table<'t, 'i>(
        &mut self,
        name: &str,
        value: &'t Spanned<DeValue<'i>>,
    ) -> Option<&'t DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            let mend = format!("write [{name}] on a line of its own, and the keys below it");
            self.error(
                &value.span(),
                Some(clip(name)),
                "has to be a section".to_owned(),
                mend,
            );
        }
        table
    }

    /// A section with a table for each device.
    fn named<S: Default>(
        &mut self,
        section: &str,
        keys: &[Key<S>],
        table: &DeTable<'_>,
        all: &mut BTreeMap<String, S>,
    ) {
        for (name, value) in table {
            let device: &str = name.get_ref();
            if !DeviceName::fits(device) {
                let mend = "a device's name has 1 to 15 octets, without spaces, `/` and `:`; see `ip link`";
                let what = "not the name of a network device".to_owned();
                self.error(
                    &name.span(),
                    Some(clip(&format!("{section}.{device}"))),
                    what,
                    mend.to_owned(),
                );
                continue;
            }
            if let Some(table) = self.table(&format!("{section}.{device}"), value) {
                let mut settings = S::default();
                self.section(table, keys, &mut settings, |key| {
                    named_key(section, device, key)
                });
                all.insert(device.to_owned(), settings);
            }
        }
    }

    fn quotas(&mut self, table: &DeTable<'_>, effective: &mut Effective) {
        for (name, value) in table {
            let device: &str = name.get_ref();
            if !(1..=63).contains(&device.len()) || device.chars().any(char::is_control) {
                let mend = "write a hardware address, the name of a device, or \"default\"";
                let key = clip(&format!("{QUOTAS}.{device}"));
                let what = "not the name of a device".to_owned();
                self.error(&name.span(), Some(key), what, mend.to_owned());
                continue;
            }
            if let Some(table) = self.table(&format!("{QUOTAS}.{device}"), value) {
                let mut settings = QuotaSettings::default();
                self.section(table, &QUOTA, &mut settings, |key| {
                    named_key(QUOTAS, device, key)
                });
                effective.quotas.insert(device.to_lowercase(), settings);
            }
        }
    }

    fn section<S>(
        &mut self,
        table: &DeTable<'_>,
        keys: &[Key<S>],
        settings: &mut S,
        dotted: impl Fn(&str) -> String,
    ) {
        for (name, value) in table {
            let word: &str = name.get_ref();
            let dotted_name = dotted(word);
            let is_section = |section: &str| *section == dotted_name;
            if SECTIONS.iter().any(|(section, _)| is_section(section)) || is_section(HINTS) {
                continue;
            }
            let Some(key) = keys.iter().find(|key| key.name == word) else {
                let names = || keys.iter().map(|key| key.name);
                let mend = match nearest(word, names()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
                };
                self.error(
                    &name.span(),
                    Some(dotted(&clip(word))),
                    "unknown key".to_owned(),
                    mend,
                );
                continue;
            };
            let line = self.lines.line(&name.span());
            let origin = Origin::File {
                name: self.filename.to_owned(),
                line,
            };
            if let Err(wrong) = (key.read)(settings, value.get_ref(), origin) {
                self.error(&value.span(), Some(dotted(word)), wrong.what, wrong.mend);
            }
        }
    }
}

/// A name for a message: not pages of it, and nothing that a terminal would obey.
fn clip(name: &str) -> String {
    name.chars()
        .take(60)
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests;
