//! Text, cut into rows.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Returns the columns of a text: letters of East Asia take two, marks none.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Splits a text into grapheme clusters with their offsets.
pub fn letters(text: &str) -> impl DoubleEndedIterator<Item = (usize, &str)> {
    text.grapheme_indices(true)
}

/// Wraps a text into rows of at most `most` columns, between words if possible.
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

/// Returns a letter, or its characters if too wide: a mark may take a column of its own.
fn fitting(letter: &str, most: usize) -> impl Iterator<Item = &str> {
    let is_cut = width(letter) > most;
    letter.split_inclusive(move |_| is_cut)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sanitize::harmless;

    #[test]
    fn rows_break_between_words() {
        assert_eq!(wrapped("where are you now", 9), ["where are", "you now"]);
        assert_eq!(wrapped("写真写真写", 5), ["写真", "写真", "写"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(wrapped("", 9), [""]);
        assert_eq!(wrapped("写", 0), ["写"]);
        // A mark with a column of its own.
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
