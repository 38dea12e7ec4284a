//! Writer of a picture: its texts, and its paths, which are most of the picture.

use std::fmt::{Arguments, Write};

/// Placeholder of the picture's own id until the id is known. No text contains it: [`escape`]
/// removes control characters.
pub(super) const ID: char = '\u{1}';

/// A partly written picture.
#[derive(Default)]
pub(super) struct Ink(pub(super) String);

impl Ink {
    pub(super) fn put(&mut self, what: Arguments) {
        // A String takes everything.
        let _ = self.0.write_fmt(what);
    }
}

/// Escapes a text for XML, in attributes too. Characters that XML forbids or that change the
/// direction of writing become a blank or vanish; longer texts than `most` characters end in "…".
pub(super) fn escape(text: &str, most: usize) -> String {
    let turns = [
        '\u{202a}'..='\u{202e}',
        '\u{2066}'..='\u{2069}',
        '\u{200e}'..='\u{200f}',
    ];
    let odd = ['\u{fffe}', '\u{ffff}', '\u{feff}'];
    let hidden = |it: &char| odd.contains(it) || turns.iter().any(|range| range.contains(it));
    let blank = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut letters = text.trim().chars().filter(|it| !hidden(it)).map(blank);
    let mut shown: String = letters.by_ref().take(most).collect();
    shown.extend(letters.next().map(|_| '…'));
    net::markup::escape_html(&shown)
}

/// A path of straight lines. A tenth of a pixel is the unit, so that rounding does not add up, and
/// all but the beginnings are relative, which is shorter.
#[derive(Default)]
pub(super) struct Path {
    text: String,
    at: (i64, i64),
    last: char,
}

impl Path {
    pub(super) fn begin(&mut self, x: f64, y: f64) {
        let to = (tenths(x), tenths(y));
        self.text.push('M');
        push(&mut self.text, to.0, false);
        push(&mut self.text, to.1, true);
        self.at = to;
        self.last = 'M';
    }

    pub(super) fn line(&mut self, x: f64, y: f64) {
        let to = (tenths(x), tenths(y));
        let by = (to.0 - self.at.0, to.1 - self.at.1);
        let letter = match by {
            (0, 0) => return,
            (_, 0) => 'h',
            (0, _) => 'v',
            _ => 'l',
        };
        let again = letter == self.last;
        if !again {
            self.text.push(letter);
        }
        match letter {
            'h' => push(&mut self.text, by.0, again),
            'v' => push(&mut self.text, by.1, again),
            _ => {
                push(&mut self.text, by.0, again);
                push(&mut self.text, by.1, true);
            }
        }
        self.last = letter;
        self.at = to;
    }

    pub(super) fn close(&mut self) {
        self.text.push('z');
        self.last = 'z';
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Formats a length.
pub(super) fn length(value: f64) -> String {
    let mut text = String::new();
    push(&mut text, tenths(value), false);
    text
}

fn tenths(value: f64) -> i64 {
    if value.is_finite() {
        (value.clamp(-1e6, 1e6) * 10.0).round() as i64
    } else {
        0
    }
}

/// Writes tenths; `behind`: after another number, with a blank if needed.
fn push(text: &mut String, value: i64, behind: bool) {
    if behind && value >= 0 {
        text.push(' ');
    }
    if value < 0 {
        text.push('-');
    }
    let (whole, tenth) = (value.abs() / 10, value.abs() % 10);
    // A String takes everything.
    let _ = match (whole, tenth) {
        (whole, 0) => write!(text, "{whole}"),
        (0, tenth) => write!(text, ".{tenth}"),
        (whole, tenth) => write!(text, "{whole}.{tenth}"),
    };
}

/// Returns the name, or the key if the name is empty.
pub(super) fn named<'a>(name: &'a str, key: &'a str) -> &'a str {
    match name.trim() {
        "" => key,
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_text() {
        assert_eq!(
            escape(" <b a='\"'>&\u{1}x\u{202e}y\n", 99),
            "&lt;b a=&#39;&quot;&#39;&gt;&amp; xy"
        );
        assert_eq!(escape("abcdef", 3), "abc…");
        assert_eq!(escape("abc", 3), "abc");
    }

    #[test]
    fn paths_are_short_and_do_not_drift() {
        let mut path = Path::default();
        path.begin(0.04, 1.0);
        for step in 1..=3 {
            path.line(f64::from(step) * 0.34, 1.0 - f64::from(step) * 0.5);
        }
        path.line(5.0, -0.5);
        path.line(5.0, f64::NAN);
        path.close();
        // Three times 0.34 is 1.02, and three times 0.3 would be 0.9.
        assert_eq!(path.text(), "M0 1l.3-.5 .4-.5 .3-.5h4v.5z");
    }
}
