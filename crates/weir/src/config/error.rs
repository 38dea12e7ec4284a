//! One thing that is wrong in a configuration file.

use std::fmt;
use std::ops::Range;

/// An error, with its place and its mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// File, as it was named.
    pub file: String,
    /// Line, from 1; 0 where the file as a whole is meant.
    pub line: usize,
    /// Column in characters, from 1; 0 where the file as a whole is meant.
    pub column: usize,
    /// Dotted key, where one is concerned.
    pub key: Option<String>,
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub mend: String,
}

impl fmt::Display for ConfigError {
    /// `FILE:LINE:COLUMN: KEY: what; mend`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}; {}", self.what, self.mend)
    }
}

impl std::error::Error for ConfigError {}

/// Line and column, both from 1, of a place in a text.
pub(super) fn place(text: &str, span: &Range<usize>) -> (usize, usize) {
    let before = text.get(..span.start).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one_and_in_characters() {
        assert_eq!(place("", &(0..0)), (1, 1));
        assert_eq!(place("ab\ncd", &(4..5)), (2, 2));
        assert_eq!(place("é = 1", &(3..4)), (1, 3));
        assert_eq!(place("ab\n", &(99..100)), (2, 1));
    }
}
