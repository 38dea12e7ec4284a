//! Text that strangers wrote, made fit for a terminal, and cut into rows.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Marks that may stand on one letter: a hundred would climb over the lines above.
const MARKS: usize = 2;
/// What stands for a letter that a terminal would obey.
const OBEYED: char = '\u{fffd}';

/// Without what moves a cursor (control characters), what turns the order of letters around or hides
/// some (Unicode's format characters), and piles of marks. Lines stay lines; a tab is a space.
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
            // Joiners and variants change the look of what is beside them. Terminals do not agree how
            // wide that is then.
            '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {}
            _ if letter.is_control() || is_format(letter) => {
                clean.push(OBEYED);
                marks = 0;
            }
            _ if width(letter.encode_utf8(&mut [0; 4])) > 0 => {
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

/// Without a width of its own, and not a mark on a letter: directions (UAX 9), separators, tags.
fn is_format(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Columns that a text takes: letters of East Asia take two, marks none.
pub fn width(text: &str) -> usize {
    text.width()
}

/// What a person takes for letters.
pub fn letters(text: &str) -> impl DoubleEndedIterator<Item = (usize, &str)> {
    text.grapheme_indices(true)
}

/// In rows of at most `most` columns, between words where that can be.
pub fn wrapped(text: &str, most: usize) -> Vec<String> {
    let most = most.max(2);
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let (mut row, mut taken) = (String::new(), 0);
        for word in line.split_word_bounds() {
            let wide = width(word);
            if taken + wide <= most {
                row += word;
                taken += wide;
                continue;
            }
            if wide <= most {
                rows.push(std::mem::take(&mut row).trim_end().to_owned());
                // A row begins with a word.
                (row, taken) = match word.trim().is_empty() {
                    true => (String::new(), 0),
                    false => (word.to_owned(), wide),
                };
                continue;
            }
            for letter in letters(word).flat_map(|(_, it)| fitting(it, most)) {
                let wide = width(letter);
                if taken + wide > most {
                    rows.push(std::mem::take(&mut row));
                    taken = 0;
                }
                row += letter;
                taken += wide;
            }
        }
        rows.push(row);
    }
    rows
}

/// A letter, or its characters where it is too wide: a mark may take a column of its own.
fn fitting(letter: &str, most: usize) -> impl Iterator<Item = &str> {
    let is_cut = width(letter) > most;
    letter.split_inclusive(move |_| is_cut)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        assert_eq!(harmless("Grüße, שלום, 写真"), "Grüße, שלום, 写真");
    }

    #[test]
    fn rows_break_between_words() {
        assert_eq!(wrapped("where are you now", 9), ["where are", "you now"]);
        assert_eq!(wrapped("写真写真写", 5), ["写真", "写真", "写"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(wrapped("", 9), [""]);
        assert_eq!(wrapped("写", 0), ["写"]);
        // A mark that takes a column of its own.
        assert_eq!(wrapped("\u{2e9b}\u{a3e}", 2), ["\u{2e9b}", "\u{a3e}"]);
    }

    proptest! {
        #[test]
        fn whatever_is_said_fits(text in any::<String>(), most in 2usize..60) {
            let clean = harmless(&text);
            prop_assert!(!clean.chars().any(|it| it.is_control() && it != '\n'));
            for row in wrapped(&clean, most) {
                prop_assert!(width(&row) <= most, "{row:?}");
                prop_assert!(!row.contains('\n'));
            }
            let letters = |text: &str| text.chars().filter(|it| !it.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&wrapped(&clean, most).concat()), letters(&clean));
        }
    }
}
