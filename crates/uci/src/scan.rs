//! Statements and words, split as libuci splits them.
//!
//! libuci reads lines into a buffer, and ends words by writing zeros into it. This scanner keeps
//! the consequences, because a router behaves so: after `#` in an unquoted word the rest of the
//! line is a comment; after `;` directly behind an unquoted word, too (elsewhere `;` begins another
//! statement).

use crate::{
    error::{Keyword, Reason},
    names::{is_name, is_package, is_type},
};
use std::ops::Range;

/// A word: its position, and its content without quotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Range in the text, with quotation marks.
    pub at: Range<usize>,
    /// Content.
    pub content: Vec<u8>,
}

/// A statement: its keyword, and up to two words. Missing words are empty.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub keyword: Keyword,
    /// Range of the keyword.
    pub at: Range<usize>,
    /// Name of a package, type of a section, name of an option.
    pub first: Word,
    /// Name of a section, value of an option.
    pub second: Word,
}

/// A syntax error, and its octet.
#[derive(Clone, Debug)]
pub(crate) struct ScanError {
    pub reason: Reason,
    pub at: usize,
    /// Line, from 1, and octet as libuci counts it.
    pub line: usize,
    pub byte: usize,
}

/// Reads a text statement by statement.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    /// Current position.
    pos: usize,
    /// End of libuci's buffer: after the line end, or at the zero for `#` or `;`.
    end: usize,
    /// End of the line in the text.
    line_end: usize,
    /// Start of the buffer.
    start: usize,
    /// Octets of line ends in the buffer that a backslash removed.
    taken: usize,
    lines: usize,
    lenient: bool,
    /// True if a section is open, so that options may follow.
    pub opened: bool,
}

/// Returns true for blanks as in C's `isspace`.
pub(crate) fn blank(c: u8) -> bool {
    matches!(c, b' ' | 9..=13)
}

impl<'a> Scanner<'a> {
    /// Starts a scan. `lenient` ignores surplus words at the end.
    pub fn new(text: &'a [u8], lenient: bool) -> Scanner<'a> {
        Scanner {
            text,
            pos: 0,
            end: 0,
            line_end: 0,
            start: 0,
            taken: 0,
            lines: 0,
            lenient,
            opened: false,
        }
    }

    /// Begins the next line. `None` at the end.
    pub fn line(&mut self) -> Option<usize> {
        if self.line_end >= self.text.len() {
            return None;
        }
        (self.start, self.pos, self.taken) = (self.line_end, self.line_end, 0);
        self.more();
        self.blanks();
        Some(self.start)
    }

    /// Returns the end of the current line, with the lines that quotation adds.
    pub fn line_end(&self) -> usize {
        self.line_end
    }

    /// Returns the next statement of this line. `None` if there is no more.
    pub fn statement(&mut self) -> Result<Option<Statement>, ScanError> {
        while matches!(self.current(), Some(b' ' | b'\t')) {
            self.pos += 1;
        }
        let from = self.pos;
        let to = self.text[from..self.end]
            .iter()
            .position(|c| matches!(c, b' ' | b'\t'))
            .map_or(self.end, |n| from + n);
        let keyword = match &self.text[from..to] {
            [] | [b'#', ..] => return Ok(None),
            b"package" | b"p" => Keyword::Package,
            b"config" | b"c" => Keyword::Config,
            b"option" | b"o" => Keyword::Option,
            b"list" | b"l" => Keyword::List,
            _ => return Err(self.fault(Reason::Command)),
        };
        if matches!(keyword, Keyword::Option | Keyword::List) && !self.opened {
            return Err(self.fault(Reason::NoSection));
        }
        if to >= self.end {
            return Err(self.fault(Reason::Alone(keyword)));
        }
        self.pos = to + 1;
        let first = self.required(keyword)?;
        let second = match keyword {
            Keyword::Package => Word {
                at: first.at.end..first.at.end,
                content: Vec::new(),
            },
            Keyword::Config => {
                let name = self.argument()?;
                if !name.content.is_empty() && !is_name(&name.content) {
                    return Err(self.fault(Reason::Name));
                }
                name
            }
            Keyword::Option | Keyword::List => self.argument()?,
        };
        self.blanks();
        let extra = self.argument()?;
        if !extra.content.is_empty() && !self.lenient {
            return Err(self.fault(Reason::TooMany));
        }
        Ok(Some(Statement {
            keyword,
            at: from..to,
            first,
            second,
        }))
    }

    /// Returns a fault at the current position.
    pub fn fault(&self, reason: Reason) -> ScanError {
        ScanError {
            reason,
            at: self.pos,
            line: self.lines,
            byte: (self.pos - self.start).saturating_sub(self.taken),
        }
    }

    /// Returns the first word behind the keyword, which is required.
    fn required(&mut self, keyword: Keyword) -> Result<Word, ScanError> {
        let word = self.argument()?;
        if word.content.is_empty() {
            return Err(self.fault(Reason::TooFew));
        }
        let (right, reason) = match keyword {
            Keyword::Package => (is_package(&word.content), Reason::Name),
            Keyword::Config => (is_type(&word.content), Reason::Type),
            Keyword::Option | Keyword::List => (is_name(&word.content), Reason::Name),
        };
        if right {
            Ok(word)
        } else {
            Err(self.fault(reason))
        }
    }

    fn current(&self) -> Option<u8> {
        if self.pos < self.end {
            Some(self.text[self.pos])
        } else {
            None
        }
    }

    /// Appends the next line of the text to the buffer. False at the end of the text.
    fn more(&mut self) -> bool {
        let rest = &self.text[self.line_end..];
        match rest.iter().position(|&c| c == b'\n') {
            Some(n) => {
                self.line_end += n + 1;
                self.lines += 1;
            }
            None => self.line_end = self.text.len(),
        }
        self.end = self.line_end;
        !rest.is_empty()
    }

    fn blanks(&mut self) {
        while self.current().is_some_and(blank) {
            self.pos += 1;
        }
    }

    /// Returns the next word of the buffer; empty at the end.
    fn argument(&mut self) -> Result<Word, ScanError> {
        self.blanks();
        let from = self.pos;
        if self.current() == Some(b';') {
            self.pos += 1;
            return Ok(Word {
                at: from..from,
                content: Vec::new(),
            });
        }
        let mut says = Vec::new();
        // True if libuci's copy of the word is shorter than the word, so that its final zero
        // overwrites nothing else.
        let mut shorter = false;
        loop {
            match self.current() {
                Some(quote @ (b'\'' | b'"')) => {
                    shorter = true;
                    self.quotation(quote, &mut says)?;
                }
                Some(b'#') => {
                    self.end = self.pos;
                    break;
                }
                Some(b';') => {
                    if !shorter {
                        self.end = self.pos;
                    }
                    break;
                }
                None => break,
                Some(b'\\') => {
                    shorter = true;
                    if self.backslash() {
                        self.literal(&mut says);
                    }
                }
                Some(_) => self.literal(&mut says),
            }
            if self.current().is_none_or(blank) {
                break;
            }
        }
        let at = from..self.pos;
        if self.current().is_some_and(|c| c != b';') {
            self.pos += 1;
        }
        Ok(Word { at, content: says })
    }

    fn literal(&mut self, says: &mut Vec<u8>) {
        if let Some(c) = self.current() {
            says.push(c);
            self.pos += 1;
        }
    }

    /// Reads the text between two quotation marks, over any number of lines.
    fn quotation(&mut self, quote: u8, says: &mut Vec<u8>) -> Result<(), ScanError> {
        self.pos += 1;
        loop {
            match self.current() {
                Some(c) if c == quote => {
                    self.pos += 1;
                    return Ok(());
                }
                None => {
                    if !self.more() {
                        return Err(self.fault(Reason::Quote(char::from(quote))));
                    }
                }
                Some(b'\\') if quote == b'"' => {
                    if self.backslash() {
                        self.literal(says);
                    }
                }
                Some(_) => self.literal(says),
            }
        }
    }

    /// Skips a backslash. False if it removed the line end.
    fn backslash(&mut self) -> bool {
        self.pos += 1;
        let rest = &self.text[self.pos..self.end];
        if rest.is_empty() || rest == b"\n" || rest == b"\r\n" {
            self.taken += rest.len();
            self.pos = self.end;
            self.more();
            return false;
        }
        true
    }
}

/// Returns the words of each line, as `uci batch` reads its commands: a list for each line, or the
/// reason why the line is malformed.
pub fn arguments(text: &[u8]) -> Vec<Result<Vec<Vec<u8>>, Reason>> {
    let mut scanner = Scanner::new(text, true);
    let mut lines = Vec::new();
    while scanner.line().is_some() {
        let mut words = Vec::new();
        let line = loop {
            match scanner.argument() {
                Ok(word) if word.content.is_empty() => break Ok(words),
                Ok(word) => words.push(word.content),
                Err(fault) => break Err(fault.reason),
            }
        };
        lines.push(line);
    }
    lines
}

/// Returns true if a line, which holds a statement and may begin with the `;` before it, continues
/// on the next line: a backslash removes its line end.
pub(crate) fn continued(line: &[u8]) -> bool {
    if !line.ends_with(b"\\\n") && !line.ends_with(b"\\\r\n") {
        return false;
    }
    let mut more = line.strip_prefix(b";").unwrap_or(line).to_vec();
    let end = more.len();
    more.push(b'\n');
    let mut scanner = Scanner::new(&more, true);
    scanner.opened = true;
    scanner.line();
    while let Ok(Some(_)) = scanner.statement() {}
    scanner.line_end() > end
}

/// Returns the end of the last complete line: with its line end, and without open quotation.
pub(crate) fn whole(text: &[u8]) -> usize {
    let mut scanner = Scanner::new(text, true);
    let mut end = 0;
    while scanner.line().is_some() {
        let read = loop {
            match scanner.argument() {
                Ok(word) if word.content.is_empty() => break true,
                Ok(_) => {}
                Err(_) => break false,
            }
        };
        if read && text[..scanner.line_end()].ends_with(b"\n") {
            end = scanner.line_end();
        }
    }
    end
}
