//! Untrusted text, sanitized for a terminal.

use cli::text::is_hidden;
use unicode_width::UnicodeWidthChar;

/// Largest number of marks on a letter: a hundred would reach into the lines above.
const MARKS: usize = 2;
/// Replaces characters that a terminal would obey or that are invisible.
const OBEYED: char = '\u{fffd}';

/// Removes control characters, Unicode's format characters that reorder or hide letters, and piles
/// of marks. Lines stay lines; a tab is a space.
pub fn harmless(text: &str) -> String {
    let mut marks = MARKS;
    let mut clean = String::with_capacity(text.len());
    let text = text.replace("\r\n", "\n");
    for letter in text.chars() {
        match letter {
            '\n' => {
                clean.push('\n');
                marks = MARKS;
            }
            '\t' => clean.push(' '),
            // Joiners and variants change the appearance of their neighbours, and terminals
            // disagree about the resulting width.
            '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {}
            _ if is_hidden(letter) => {
                clean.push(OBEYED);
                marks = 0;
            }
            _ if letter.width().unwrap_or(0) > 0 => {
                clean.push(letter);
                marks = 0;
            }
            _ if marks < MARKS => {
                clean.push(letter);
                marks += 1;
            }
            _ => {}
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_moves_a_cursor() {
        assert_eq!(harmless("a\x1b[2Jb\r\u{7}\u{9b}c"), "a�[2Jb���c");
        assert_eq!(harmless("abc\u{202e}cba\u{2066}"), "abc�cba�");
        assert_eq!(harmless("one\r\ntwo\nthree\tx"), "one\ntwo\nthree x");
        let pile = format!("a{}", "\u{301}".repeat(50));
        assert_eq!(harmless(&pile), "a\u{301}\u{301}");
        assert_eq!(
            harmless("\u{301}a"),
            "a",
            "no mark on what is before the text"
        );
        assert_eq!(harmless("👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}"), "👨👩👧 ❤");
        assert_eq!(harmless("a\u{3164}\u{ffa0}\u{115f}b"), "a���b");
        assert_eq!(harmless("Grüße, שלום, 写真"), "Grüße, שלום, 写真");
    }
}
