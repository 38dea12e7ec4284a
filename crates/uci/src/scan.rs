//! Statements and words, found as libuci finds them.
//!
//! libuci reads line by line into a buffer, and ends words by writing zeros into it. What follows
//! from that is kept here, as what it reads is what a router does: after `#` in an unquoted word
//! the rest of the line is a comment; after `;` directly behind a word without quotation, too
//! (elsewhere it begins another statement).

use crate::{
    error::{Keyword, Reason},
    names::{is_name, is_package, is_type},
};
use std::ops::Range;

/// A word: where it stands, and what it says without quotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its octets in the text, quotation marks too.
    pub at: Range<usize>,
    /// What it says.
    pub says: Vec<u8>,
}

/// A statement: its first word, and up to two others. Those that are not there are empty.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub keyword: Keyword,
    /// Where the keyword stands.
    pub at: Range<usize>,
    /// Name of a package, type of a section, name of an option.
    pub first: Word,
    /// Name of a section, value of an option.
    pub second: Word,
}

/// What is wrong, and at which octet.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub reason: Reason,
    pub at: usize,
    /// The line, from 1, and the octet as libuci counts it.
    pub line: usize,
    pub byte: usize,
}

/// Reads a text statement by statement.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    /// Where to go on.
    pos: usize,
    /// Where libuci's buffer ends: after the line end, or where `#` or `;` put a zero.
    end: usize,
    /// Where the line ends in the text.
    line_end: usize,
    /// Where the buffer begins.
    start: usize,
    /// Line ends in it that a backslash took away, in octets.
    taken: usize,
    lines: usize,
    lenient: bool,
    /// Whether a section is open, so that options may come.
    pub opened: bool,
}

/// Blanks, as C's `isspace` has them.
pub(crate) fn blank(c: u8) -> bool {
    matches!(c, b' ' | 9..=13)
}

impl<'a> Scanner<'a> {
    /// `lenient` lets pass words at the end that are too many.
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

    /// Where the line ends that was begun, with all that quotation adds to it.
    pub fn line_end(&self) -> usize {
        self.line_end
    }

    /// The next statement of this line. `None` where there is no more.
    pub fn statement(&mut self) -> Result<Option<Statement>, Fault> {
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
                says: Vec::new(),
            },
            Keyword::Config => {
                let name = self.argument()?;
                if !name.says.is_empty() && !is_name(&name.says) {
                    return Err(self.fault(Reason::Name));
                }
                name
            }
            Keyword::Option | Keyword::List => self.argument()?,
        };
        self.blanks();
        let extra = self.argument()?;
        if !extra.says.is_empty() && !self.lenient {
            return Err(self.fault(Reason::TooMany));
        }
        Ok(Some(Statement {
            keyword,
            at: from..to,
            first,
            second,
        }))
    }

    /// What is wrong where the scanner stands.
    pub fn fault(&self, reason: Reason) -> Fault {
        Fault {
            reason,
            at: self.pos,
            line: self.lines,
            byte: (self.pos - self.start).saturating_sub(self.taken),
        }
    }

    /// The first word behind the keyword, which has to be there.
    fn required(&mut self, keyword: Keyword) -> Result<Word, Fault> {
        let word = self.argument()?;
        if word.says.is_empty() {
            return Err(self.fault(Reason::TooFew));
        }
        let (right, reason) = match keyword {
            Keyword::Package => (is_package(&word.says), Reason::Name),
            Keyword::Config => (is_type(&word.says), Reason::Type),
            Keyword::Option | Keyword::List => (is_name(&word.says), Reason::Name),
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

    /// Takes the next line of the text into the buffer. False where there is none.
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

    /// The next word of the buffer, empty where there is none.
    fn argument(&mut self) -> Result<Word, Fault> {
        self.blanks();
        let from = self.pos;
        if self.current() == Some(b';') {
            self.pos += 1;
            return Ok(Word {
                at: from..from,
                says: Vec::new(),
            });
        }
        let mut says = Vec::new();
        // Whether libuci's copy of the word is shorter than the word, so that the zero at its end
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
        Ok(Word { at, says })
    }

    fn literal(&mut self, says: &mut Vec<u8>) {
        if let Some(c) = self.current() {
            says.push(c);
            self.pos += 1;
        }
    }

    /// What stands between two quotation marks, over as many lines as it takes.
    fn quotation(&mut self, quote: u8, says: &mut Vec<u8>) -> Result<(), Fault> {
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

    /// Steps over a backslash. False where it took the line end away.
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

/// The words of each line, as `uci batch` reads its commands: one list for each line, and for each
/// line that cannot be read why.
pub fn arguments(text: &[u8]) -> Vec<Result<Vec<Vec<u8>>, Reason>> {
    let mut scanner = Scanner::new(text, true);
    let mut lines = Vec::new();
    while scanner.line().is_some() {
        let mut words = Vec::new();
        let line = loop {
            match scanner.argument() {
                Ok(word) if word.says.is_empty() => break Ok(words),
                Ok(word) => words.push(word.says),
                Err(fault) => break Err(fault.reason),
            }
        };
        lines.push(line);
    }
    lines
}

/// Whether a line, which holds a statement and perhaps begins with the `;` before it, goes on in the
/// next one: a backslash takes its line end away.
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

/// Where the last line ends that is whole: with its line end, and without a quotation that is open.
pub(crate) fn whole(text: &[u8]) -> usize {
    let mut scanner = Scanner::new(text, true);
    let mut end = 0;
    while scanner.line().is_some() {
        let read = loop {
            match scanner.argument() {
                Ok(word) if word.says.is_empty() => break true,
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
