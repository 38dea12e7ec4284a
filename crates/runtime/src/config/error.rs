//! An error in a configuration file.

use std::fmt;
use std::ops::Range;

/// An error, with its position and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// File, as it was named.
    pub file: String,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// Column in characters, from 1; 0 for the file as a whole.
    pub column: usize,
    /// Dotted key, where one is concerned.
    pub key: Option<String>,
    /// Description of the error.
    pub what: String,
    /// Suggested replacement.
    pub hint: String,
}

impl fmt::Display for ConfigError {
    /// `FILE:LINE:COLUMN: KEY: what; hint`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}; {}", self.what, self.hint)
    }
}

impl std::error::Error for ConfigError {}

/// Offsets at which the lines of a text begin, found once: a long file may have many errors.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let newlines = text.match_indices('\n').map(|(newline, _)| newline + 1);
        Self {
            text,
            starts: [0].into_iter().chain(newlines).collect(),
        }
    }

    /// Returns the line of a position, from 1.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.starts.partition_point(|start| *start <= span.start)
    }

    /// Returns line and column of a position, both from 1.
    pub(super) fn place(&self, span: &Range<usize>) -> (usize, usize) {
        let line = self.line(span);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let rest = &self.text[start..];
        let before = rest.get(..span.start - start).unwrap_or(rest);
        (line, before.chars().count() + 1)
    }
}

/// Text shown instead of a secret.
pub(super) const SECRET: &str = "a pairing line";

/// Returns true if a misplaced text contains a secret and must not be shown.
pub(super) fn has_secret(text: &str) -> bool {
    ["weir1-", "weir2-"]
        .iter()
        .any(|front| text.contains(front))
}

/// Returns a name for a message: shortened, and without characters that a terminal would obey.
pub(super) fn clip(name: &str) -> String {
    if has_secret(name) {
        return format!("({SECRET})");
    }
    name.chars()
        .take(60)
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one_and_in_characters() {
        let place = |text, at| Lines::of(text).place(&(at..at + 1));
        assert_eq!(place("", 0), (1, 1));
        assert_eq!(place("ab\ncd", 4), (2, 2));
        assert_eq!(place("ab\ncd", 2), (1, 3), "the end of a line");
        assert_eq!(place("ab\n\ncd", 3), (2, 1), "an empty one");
        assert_eq!(place("é = 1", 3), (1, 3));
        assert_eq!(place("ab\n", 99), (2, 1));
    }
}
