//! Input line with editing and history.

use super::text::{letters, width};
use crate::envelope::LONGEST_TEXT as LONGEST;
use crate::sanitize::harmless;

/// Lines that are remembered.
const LINES: usize = 100;

/// A line, its cursor, and earlier lines.
#[derive(Debug, Default)]
pub struct Input {
    text: String,
    /// Cursor, in bytes; between two letters.
    at: usize,
    before: Vec<String>,
    /// Index of the line shown, counted from the latest.
    shown: Option<usize>,
}

/// Edits of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Moves one letter to the left.
    Left,
    /// Moves one letter to the right.
    Right,
    /// Moves one word to the left.
    WordLeft,
    /// Moves one word to the right.
    WordRight,
    /// Moves to the begin.
    Home,
    /// Moves to the end.
    End,
    /// Deletes the letter before the cursor.
    Backspace,
    /// Deletes the letter at the cursor.
    Delete,
    /// Deletes the word before the cursor.
    Word,
    /// Deletes everything before the cursor.
    Begin,
    /// Deletes everything from the cursor on.
    Rest,
    /// The line before.
    Up,
    /// The line after.
    Down,
}

impl Input {
    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Types something.
    pub fn put(&mut self, text: &str) {
        // Pasted text may have several lines, and becomes one.
        let clean = harmless(text).replace('\n', " ");
        if self.text.len() + clean.len() > LONGEST {
            return;
        }
        self.text.insert_str(self.at, &clean);
        self.at += clean.len();
    }

    /// Changes it.
    pub fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Left => self.at = self.left(),
            Edit::Right => self.at = self.right(),
            Edit::WordLeft => self.at = self.word_left(),
            Edit::WordRight => self.at = self.word_right(),
            Edit::Home => self.at = 0,
            Edit::End => self.at = self.text.len(),
            Edit::Backspace => self.cut(self.left(), self.at),
            Edit::Delete => self.cut(self.at, self.right()),
            Edit::Word => self.cut(self.word_left(), self.at),
            Edit::Begin => self.cut(0, self.at),
            Edit::Rest => self.cut(self.at, self.text.len()),
            Edit::Up => self.show(self.shown.map_or(0, |it| it + 1)),
            Edit::Down => match self.shown {
                Some(0) => {
                    self.shown = None;
                    self.set(String::new());
                }
                Some(shown) => self.show(shown - 1),
                None => {}
            },
        }
    }

    /// Takes the finished line, and begins another one.
    pub fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        (self.at, self.shown) = (0, None);
        if !text.trim().is_empty() && self.before.last() != Some(&text) {
            self.before.push(text.clone());
            if self.before.len() > LINES {
                self.before.remove(0);
            }
        }
        text
    }

    /// Returns the part that is visible in a given number of columns, and the cursor's column.
    pub fn seen(&self, columns: usize) -> (String, usize) {
        // The cursor needs a place behind the last letter.
        let most = columns.saturating_sub(1);
        let (mut begin, mut taken) = (self.at, 0);
        for (at, letter) in letters(&self.text[..self.at]).rev() {
            let wide = width(letter);
            if taken + wide > most {
                break;
            }
            (begin, taken) = (at, taken + wide);
        }
        let (mut end, mut all) = (self.at, taken);
        for (at, letter) in letters(&self.text[self.at..]) {
            let wide = width(letter);
            if all + wide > columns {
                break;
            }
            (end, all) = (self.at + at + letter.len(), all + wide);
        }
        (self.text[begin..end].to_owned(), taken)
    }

    fn cut(&mut self, begin: usize, end: usize) {
        self.text.replace_range(begin..end, "");
        self.at = begin;
        // A mark may now belong to another letter.
        let at = |(at, letter): (usize, &str)| at + letter.len();
        self.at = letters(&self.text)
            .map(at)
            .take_while(|it| *it <= begin)
            .last()
            .unwrap_or(0);
    }

    fn set(&mut self, text: String) {
        self.at = text.len();
        self.text = text;
    }

    fn show(&mut self, which: usize) {
        let line = self.before.iter().rev().nth(which).cloned();
        if let Some(line) = line {
            self.shown = Some(which);
            self.set(line);
        }
    }

    fn left(&self) -> usize {
        let mut before = letters(&self.text[..self.at]);
        before.next_back().map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        let next = letters(&self.text[self.at..]).next();
        self.at + next.map_or(0, |(_, letter)| letter.len())
    }

    fn word_left(&self) -> usize {
        let before = self.text[..self.at].trim_end();
        let space = before.char_indices().rfind(|(_, it)| it.is_whitespace());
        space.map_or(0, |(at, it)| at + it.len_utf8())
    }

    fn word_right(&self) -> usize {
        let after = &self.text[self.at..];
        let word = after.len() - after.trim_start().len();
        let end = after[word..].find(char::is_whitespace);
        end.map_or(self.text.len(), |end| self.at + word + end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Edit; 13] = [
        Edit::Left,
        Edit::Right,
        Edit::WordLeft,
        Edit::WordRight,
        Edit::Home,
        Edit::End,
        Edit::Backspace,
        Edit::Delete,
        Edit::Word,
        Edit::Begin,
        Edit::Rest,
        Edit::Up,
        Edit::Down,
    ];

    fn edited(text: &str, edits: &[Edit]) -> String {
        let mut input = Input::default();
        input.put(text);
        for edit in edits {
            input.edit(*edit);
        }
        input.put("|");
        input.text().to_owned()
    }

    #[test]
    fn a_line_is_edited_by_letters_and_words() {
        use Edit::*;
        assert_eq!(edited("one two", &[Left, Left]), "one t|wo");
        assert_eq!(edited("one two", &[WordLeft]), "one |two");
        assert_eq!(edited("one two", &[Home, WordRight]), "one| two");
        assert_eq!(edited("one two", &[Word]), "one |");
        assert_eq!(edited("one two", &[Home, Delete, End]), "ne two|");
        assert_eq!(edited("one two", &[WordLeft, Begin]), "|two");
        assert_eq!(edited("one two", &[WordLeft, Rest]), "one |");
        // A letter may consist of several characters.
        assert_eq!(edited("ae\u{301}", &[Backspace]), "a|");
        assert_eq!(edited("写真", &[Left]), "写|真");
        assert_eq!(edited("a\nb\x1b", &[]), "a b\u{fffd}|");
    }

    #[test]
    fn lines_before_come_back() {
        let mut input = Input::default();
        for text in ["one", "two", "two", " "] {
            input.put(text);
            assert_eq!(input.take(), text);
        }
        let mut seen = Vec::new();
        for edit in [
            Edit::Up,
            Edit::Up,
            Edit::Up,
            Edit::Down,
            Edit::Down,
            Edit::Down,
        ] {
            input.edit(edit);
            seen.push(input.text().to_owned());
        }
        assert_eq!(seen, ["two", "one", "one", "two", "", ""]);
    }

    #[test]
    fn what_does_not_fit_goes_out_on_the_left() {
        let mut input = Input::default();
        input.put("abcdef");
        assert_eq!(input.seen(10), ("abcdef".to_owned(), 6));
        assert_eq!(input.seen(4), ("def".to_owned(), 3));
        input.edit(Edit::Home);
        assert_eq!(input.seen(4), ("abcd".to_owned(), 0));
    }

    proptest! {
        #[test]
        fn whatever_is_typed_the_cursor_is_in_it(
            typed in proptest::collection::vec((any::<String>(), 0usize..13), 0..12),
            columns in 0usize..30,
        ) {
            let mut input = Input::default();
            for (text, edit) in typed {
                input.put(&text);
                input.edit(ALL[edit]);
                let (seen, at) = input.seen(columns);
                prop_assert!(width(&seen) <= columns.max(1) && at <= columns);
            }
        }
    }
}
