//! Reads the keys of one table from text, and reports every error with its position.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Lines, clip};
use super::keys::Table;
use super::setting::Origin;
use super::suggest::nearest;

/// Reads tables of one text, and collects its errors.
pub struct Reader<'a> {
    /// Lines of the text.
    pub lines: Lines<'a>,
    filename: &'a str,
    /// Errors so far.
    pub errors: Vec<ConfigError>,
    /// Names of all sections: one within another is no key of that.
    sections: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    /// A reader of `text`; `filename` is only for messages and origins.
    pub fn new(text: &'a str, filename: &'a str, sections: Vec<&'static str>) -> Self {
        Self {
            lines: Lines::of(text),
            filename,
            errors: Vec::new(),
            sections,
        }
    }

    /// Adds an error.
    pub fn error(&mut self, span: &Range<usize>, key: Option<String>, what: String, hint: String) {
        let (line, column) = self.lines.place(span);
        self.errors.push(ConfigError {
            file: self.filename.to_owned(),
            line,
            column,
            key,
            what,
            hint,
        });
    }

    /// Returns the table that a value is, or adds an error.
    pub fn table<'t, 'i>(
        &mut self,
        name: &str,
        value: &'t Spanned<DeValue<'i>>,
    ) -> Option<&'t DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            let hint = format!("write [{name}] on a line of its own, and the keys below it");
            self.error(
                &value.span(),
                Some(clip(name)),
                "must be a section".to_owned(),
                hint,
            );
        }
        table
    }

    /// The keys of one table. `dotted`: the whole name of a key.
    pub fn keys<S: Table>(
        &mut self,
        section: &str,
        table: &DeTable<'_>,
        settings: &mut S,
        dotted: impl Fn(&str) -> String,
    ) {
        let keys = S::keys();
        for (name, value) in table {
            let word: &str = name.get_ref();
            let inner = format!("{section}.{word}");
            if self.sections.iter().any(|section| *section == inner) {
                continue;
            }
            let Some(key) = keys.iter().find(|key| key.name == word) else {
                let names = || keys.iter().map(|key| key.name);
                let hint = match nearest(word, names()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
                };
                let what = "unknown key".to_owned();
                self.error(&name.span(), Some(dotted(&clip(word))), what, hint);
                continue;
            };
            let origin = Origin::File {
                name: self.filename.to_owned(),
                line: self.lines.line(&name.span()),
            };
            if let Err(wrong) = (key.read)(settings, value.get_ref(), origin) {
                self.error(&value.span(), Some(dotted(word)), wrong.what, wrong.hint);
            }
        }
    }
}
