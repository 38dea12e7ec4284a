//! Parses text into settings and reports every error at once, each with its position.

use std::collections::HashSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::effective::Effective;
use super::error::{ConfigError, clip};
use super::naming::Naming;
use super::reader::Reader;
use super::section::{Section, SectionValues};
use super::suggest::nearest;

/// Parses a configuration. `filename` is only for messages and origins. Returns the whole
/// configuration, or every error, in the order of the text.
pub fn parse(
    sections: &[Section],
    text: &str,
    filename: &str,
) -> Result<Effective, Vec<ConfigError>> {
    match parse_recoverable(sections, text, filename) {
        (effective, errors) if errors.is_empty() => Ok(effective),
        (_, errors) => Err(errors),
    }
}

/// Parses the valid parts of a configuration; returns every error, too.
pub fn parse_recoverable(
    sections: &[Section],
    text: &str,
    filename: &str,
) -> (Effective, Vec<ConfigError>) {
    let (table, mut syntax) = DeTable::parse_recoverable(text);
    syntax.sort_by_key(|error| error.span().map_or(0, |span| span.start));
    let names = sections.iter().map(|section| section.name).collect();
    let mut reader = Reader::new(text, filename, names);
    for error in syntax {
        let span = error.span().unwrap_or_default();
        // A later error in the same line repeats the first one in other words.
        let line = reader.lines.line(&span);
        if reader.errors.last().is_some_and(|last| last.line == line) {
            continue;
        }
        let hint = "see https://toml.io for how such a file is written; text values need quotes";
        reader.error(
            &span,
            None,
            format!("not TOML: {}", error.message().replace('\n', ", ")),
            hint.to_owned(),
        );
    }
    let broken: HashSet<usize> = reader.errors.iter().map(|error| error.line).collect();

    let told = reader.errors.len();

    let mut effective = Effective::defaults(sections);
    let mut document = Document { reader };
    document.read(table.get_ref(), &mut effective);

    // A broken line was already reported; the parse of its rest is guesswork.
    let mut errors = document.reader.errors;
    let mut position = 0;
    errors.retain(|error| {
        position += 1;
        position <= told || !broken.contains(&error.line)
    });
    errors.sort_by_key(|error| (error.line, error.column));
    (effective, errors)
}

/// Returns true if `name` is a parent of some section.
fn is_around(name: &str, sections: &[Section]) -> bool {
    let within = |section: &Section| {
        section
            .name
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    sections.iter().any(within)
}

/// A whole text: sections, and tables in them.
struct Document<'a> {
    reader: Reader<'a>,
}

impl Document<'_> {
    fn read(&mut self, table: &DeTable<'_>, effective: &mut Effective) {
        let sections: Vec<Section> = effective.held.iter().map(|(section, _)| *section).collect();
        for (name, value) in table {
            let word: &str = name.get_ref();
            match sections.iter().position(|section| section.name == word) {
                Some(at) => self.section(at, &sections, value, effective),
                None if is_around(word, &sections) => {
                    self.around(word, &sections, value, effective);
                }
                None => self.unknown_section(word, &name.span(), effective),
            }
        }
    }

    /// Reads a section, and those within it: `[monitor.ipfix]`.
    fn section(
        &mut self,
        at: usize,
        sections: &[Section],
        value: &Spanned<DeValue<'_>>,
        effective: &mut Effective,
    ) {
        let Section { name, .. } = sections[at];
        let Some(table) = self.reader.table(name, value) else {
            return;
        };
        if let Some(naming) = sections[at].naming() {
            return self.named(name, naming, table, &mut *effective.held[at].1);
        }
        effective.held[at].1.read(&mut self.reader, table, None);
        for (inner, value) in table {
            let dotted = format!("{name}.{}", inner.get_ref());
            if let Some(at) = sections.iter().position(|section| section.name == dotted) {
                self.section(at, sections, value, effective);
            }
        }
    }

    /// Parses the sections within a name that is not a section itself: `[radio.power]`.
    fn around(
        &mut self,
        name: &str,
        sections: &[Section],
        value: &Spanned<DeValue<'_>>,
        effective: &mut Effective,
    ) {
        let Some(table) = self.reader.table(name, value) else {
            return;
        };
        for (inner, value) in table {
            let dotted = format!("{name}.{}", inner.get_ref());
            match sections.iter().position(|section| section.name == dotted) {
                Some(at) => self.section(at, sections, value, effective),
                None => self.unknown_section(&dotted, &inner.span(), effective),
            }
        }
    }

    fn unknown_section(&mut self, word: &str, span: &Range<usize>, effective: &Effective) {
        let sections = || effective.held.iter().map(|(section, _)| section.name);
        let homes: Vec<String> = effective
            .held
            .iter()
            .filter(|(section, held)| section.naming().is_none() && held.keys().contains(&word))
            .map(|(section, _)| format!("[{}]", section.name))
            .collect();
        let hint = if !homes.is_empty() {
            format!("`{word}` belongs in {}", homes.join(" or "))
        } else if let Some(near) = nearest(word, sections()) {
            format!("did you mean [{near}]?")
        } else {
            let all: Vec<_> = sections().map(|name| format!("[{name}]")).collect();
            format!("there are {}", all.join(", "))
        };
        self.reader
            .error(span, Some(clip(word)), "unknown section".to_owned(), hint);
    }

    /// A section with many tables.
    fn named(
        &mut self,
        section: &str,
        naming: Naming,
        table: &DeTable<'_>,
        held: &mut dyn SectionValues,
    ) {
        for (name, value) in table {
            let word: &str = name.get_ref();
            let dotted = format!("{section}.{word}");
            if !(naming.fits)(word) {
                let what = format!("not {}", naming.what);
                self.reader.error(
                    &name.span(),
                    Some(clip(&dotted)),
                    what,
                    naming.hint.to_owned(),
                );
                continue;
            }
            if let Some(table) = self.reader.table(&dotted, value) {
                match naming.any_case {
                    true => held.read(&mut self.reader, table, Some(&word.to_lowercase())),
                    false => held.read(&mut self.reader, table, Some(word)),
                }
            }
        }
    }
}
