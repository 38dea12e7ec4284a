//! The text of a file, in pieces: each statement with its line, each comment and blank line.

use crate::{
    scan::{Statement, blank, continued},
    text::quoted,
};
use std::{collections::HashSet, ops::Range};

/// Identifies a piece for as long as the document lives.
pub(crate) type Id = u32;

/// A statement with the rest of its line; or a line without one.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub id: Id,
    pub text: Vec<u8>,
    /// Positions in `text` of a statement's keyword, first word and second word.
    words: Option<[Range<usize>; 3]>,
}

impl Piece {
    fn is_statement(&self) -> bool {
        self.words.is_some()
    }

    fn is_blank(&self) -> bool {
        !self.is_statement() && self.text.iter().all(u8::is_ascii_whitespace)
    }

    /// Returns true for a non-blank line without a statement.
    fn is_comment(&self) -> bool {
        !self.is_statement() && !self.is_blank()
    }

    fn indented(&self) -> bool {
        matches!(self.text.first(), Some(b' ' | b'\t'))
    }

    /// Makes a comment of the text after a `;` behind the words: libuci ignored the text, but would
    /// read it now that a word has quotation marks.
    fn silence(&mut self) {
        let words = self.words.as_ref().expect("a statement");
        let behind = words[1].end.max(words[2].end);
        let tail = &self.text[behind..];
        let blanks = tail.iter().take_while(|&&c| blank(c)).count();
        if tail.get(blanks) != Some(&b';') {
            return;
        }
        let line_end = tail.iter().rev().take_while(|&&c| blank(c)).count();
        // A comment ends with its line: continuation lines would need comments of their own.
        if tail[..tail.len() - line_end].contains(&b'\n') {
            let rest = if tail.ends_with(b"\n") { "\n" } else { "" };
            self.text.splice(behind.., rest.bytes());
            return;
        }
        let nothing = tail[blanks + 1..].iter().all(u8::is_ascii_whitespace);
        let at = behind + blanks;
        self.text
            .splice(at..=at, if nothing { "" } else { " #" }.bytes());
    }

    /// Removes a tail of only `;`, a backslash, empty quotation and blanks: a line end behind the
    /// tail would make an unknown command.
    fn cut_tail(&mut self) {
        let words = self.words.as_ref().expect("a statement");
        let behind = words[1].end.max(words[2].end);
        let tail = &self.text[behind..];
        let odd = |c: &u8| matches!(c, b';' | b'\\' | b'\'' | b'"');
        if tail.iter().any(odd) && tail.iter().all(|c| blank(*c) || odd(c)) {
            self.text.truncate(behind);
        }
    }

    /// Makes sure that the line ends.
    fn end_line(&mut self) {
        if self.is_statement() {
            self.cut_continuation();
        }
        if self.text.last() == Some(&b'\n') {
            return;
        }
        if self.is_statement() {
            self.quote_return();
            self.cut_tail();
        }
        self.text.push(b'\n');
        if self.is_statement() {
            self.silence();
        }
    }

    /// Puts into apostrophes a carriage return that ends a value behind a backslash: a line end
    /// behind it would make a continuation.
    fn quote_return(&mut self) {
        let end = self.text.len();
        let words = self.words.as_mut().expect("a statement");
        let word = &self.text[words[2].clone()];
        let before = word.strip_suffix(b"\r").unwrap_or_default();
        let escapes = before.iter().rev().take_while(|&&c| c == b'\\').count();
        // The first of two backslashes escapes the second.
        if words[2].end == end && escapes % 2 == 1 {
            self.text.splice(end - 2.., *b"'\r'");
            words[2].end = end + 1;
        }
    }

    /// Removes a backslash that continues the last line of a text: it has no effect there, but
    /// would pull a following line into this statement.
    fn cut_continuation(&mut self) {
        while continued(&self.text) {
            let end = self.text.iter().rposition(|&c| c == b'\\');
            let end = end.expect("only a backslash continues a line");
            self.text.truncate(end);
            for word in self.words.as_mut().expect("a statement") {
                *word = word.start.min(end)..word.end.min(end);
            }
        }
    }

    /// Returns true if the statement begins within a line.
    fn joined(&self) -> bool {
        self.is_statement() && self.text.first() == Some(&b';')
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    pieces: Vec<Piece>,
    next: Id,
}

impl Document {
    /// Returns the whole text.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.pieces.iter().map(|piece| piece.text.len()).sum());
        for piece in &self.pieces {
            text.extend_from_slice(&piece.text);
        }
        text
    }

    /// Adds a piece that was read. The positions of `statement` count from the start of the whole
    /// text, `text` is at `from`.
    pub fn read(&mut self, text: &[u8], from: usize, statement: Option<&Statement>) -> Id {
        let words = statement
            .map(|s| [&s.at, &s.first.at, &s.second.at].map(|at| at.start - from..at.end - from));
        self.add(self.pieces.len(), text.to_vec(), words)
    }

    /// Inserts a new statement before the piece at `index`.
    pub fn insert(
        &mut self,
        index: usize,
        indent: &[u8],
        keyword: &str,
        first: &str,
        second: Option<&[u8]>,
    ) -> Id {
        let mut text = indent.to_vec();
        text.extend_from_slice(keyword.as_bytes());
        let keyword = indent.len()..text.len();
        text.push(b' ');
        let at = text.len();
        text.extend_from_slice(first.as_bytes());
        let first = at..text.len();
        let second = match second {
            Some(word) => {
                text.push(b' ');
                let at = text.len();
                text.extend_from_slice(&quoted(word));
                at..text.len()
            }
            None => text.len()..text.len(),
        };
        text.extend_from_slice(self.line_end(index));
        self.break_line(index);
        self.add(index, text, Some([keyword, first, second]))
    }

    /// Inserts an empty line before the piece at `index`.
    pub fn insert_blank(&mut self, index: usize) {
        self.break_line(index);
        self.add(index, self.line_end(index).to_vec(), None);
    }

    /// Returns the line ending of the line before.
    fn line_end(&self, index: usize) -> &'static [u8] {
        let before = index.checked_sub(1).map(|n| &self.pieces[n].text);
        if before.is_some_and(|text| text.ends_with(b"\r\n")) {
            b"\r\n"
        } else {
            b"\n"
        }
    }

    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the index of a piece.
    pub fn index(&self, id: Id) -> usize {
        self.pieces
            .iter()
            .position(|piece| piece.id == id)
            .expect("a piece of this document")
    }

    /// Removes a statement, with its line.
    pub fn remove(&mut self, id: Id) {
        self.part(id);
        let index = self.index(id);
        self.pieces.remove(index);
    }

    /// Returns the keyword as written: `option`, or `o`.
    pub fn keyword(&self, id: Id) -> &[u8] {
        let piece = &self.pieces[self.index(id)];
        let words = piece.words.as_ref().expect("a statement");
        &piece.text[words[0].clone()]
    }

    /// Replaces the keyword.
    pub fn change_keyword(&mut self, id: Id, keyword: &str) {
        self.change(id, 0, keyword.as_bytes());
    }

    /// Replaces the first word.
    pub fn change_first(&mut self, id: Id, word: &str) {
        self.change(id, 1, word.as_bytes());
    }

    /// Replaces the second word, or adds one.
    pub fn change_second(&mut self, id: Id, word: &[u8]) {
        let index = self.index(id);
        let piece = &mut self.pieces[index];
        let words = piece.words.as_mut().expect("a statement");
        if words[2].is_empty() {
            // Directly behind the first word, before a comment.
            let end = words[1].end;
            piece.text.insert(end, b' ');
            words[2] = end + 1..end + 1;
        }
        self.change(id, 2, &quoted(word));
    }

    /// Returns the blanks at the start of a statement's line.
    pub fn indent(&self, id: Id) -> Vec<u8> {
        let text = &self.pieces[self.index(id)].text;
        text.iter()
            .copied()
            .take_while(|c| matches!(c, b' ' | b'\t'))
            .collect()
    }

    /// Returns the index where the lines of a section with this first line begin: comments directly
    /// above, without a blank line between. Excludes indented comments, which belong to the section
    /// before, and comments at the start of the file.
    pub fn lead(&self, head: usize) -> usize {
        let above = self.pieces[..head]
            .iter()
            .rev()
            .take_while(|piece| piece.is_comment() && !piece.indented())
            .count();
        if above == head { head } else { head - above }
    }

    /// Returns the lines of a section from its first line on: with the comment above, and the blank
    /// lines below. `last` is its last statement, `next` the first line of the next section.
    pub fn region(&self, head: usize, last: usize, next: usize) -> Range<usize> {
        let limit = if next < self.pieces.len() {
            self.lead(next)
        } else {
            next
        };
        let mut end = last + 1;
        end += self.pieces[end..limit]
            .iter()
            .take_while(|piece| piece.is_comment() && piece.indented())
            .count();
        end += self.pieces[end..limit]
            .iter()
            .take_while(|piece| piece.is_blank())
            .count();
        self.lead(head)..end
    }

    /// Returns the first of these pieces behind a position, and the last own piece before it.
    pub fn between(&self, from: usize, stops: &HashSet<Id>, own: &HashSet<Id>) -> (usize, usize) {
        let (mut next, mut last) = (self.pieces.len(), from);
        for (n, piece) in self.pieces.iter().enumerate().skip(from + 1) {
            if stops.contains(&piece.id) {
                next = n;
                break;
            }
            if own.contains(&piece.id) {
                last = n;
            }
        }
        (next, last)
    }

    /// Puts a statement on a line of its own.
    pub fn part(&mut self, id: Id) {
        let index = self.index(id);
        for index in [index + 1, index] {
            if self.pieces.get(index).is_some_and(Piece::joined) {
                self.break_line(index);
            }
        }
    }

    /// Removes pieces, to be inserted elsewhere.
    pub fn take(&mut self, range: Range<usize>) -> Vec<Piece> {
        self.pieces.drain(range).collect()
    }

    /// Inserts pieces before the piece at `index`.
    pub fn put(&mut self, index: usize, pieces: Vec<Piece>) {
        self.break_line(index);
        self.pieces.splice(index..index, pieces);
    }

    /// Returns true if the piece before `index` is an empty line; false at the start.
    pub fn blank_before(&self, index: usize) -> bool {
        index > 0 && self.pieces[index - 1].is_blank()
    }

    /// Makes sure that the piece at `index`, and insertions before it, begin a line.
    fn break_line(&mut self, index: usize) {
        let before = index.checked_sub(1).map(|n| &mut self.pieces[n]);
        if let Some(before) = before {
            before.end_line();
        }
        if let Some(piece) = self.pieces.get_mut(index).filter(|piece| piece.joined()) {
            let words = piece.words.as_mut().expect("only statements are joined");
            let cut = words[0].start;
            piece.text.splice(..cut, *b"\t");
            for word in words {
                *word = word.start - cut + 1..word.end - cut + 1;
            }
        }
    }

    fn add(&mut self, index: usize, text: Vec<u8>, words: Option<[Range<usize>; 3]>) -> Id {
        let id = self.next;
        self.next += 1;
        self.pieces.insert(index, Piece { id, text, words });
        id
    }

    fn change(&mut self, id: Id, word: usize, new: &[u8]) {
        let index = self.index(id);
        let piece = &mut self.pieces[index];
        let words = piece.words.as_mut().expect("a statement");
        let old = words[word].clone();
        piece.text.splice(old.clone(), new.iter().copied());
        words[word].end = old.start + new.len();
        for later in &mut words[word + 1..] {
            *later = later.start + new.len() - old.len()..later.end + new.len() - old.len();
        }
        piece.silence();
    }
}
