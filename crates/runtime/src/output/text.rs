//! Text from outside: sanitized, measured and cut in columns of a terminal.

use cli::text::is_hidden;
use unicode_width::UnicodeWidthStr;

/// Maximum number of marks on one letter. No script needs more; a hundred would climb over the
/// lines above.
const MARKS: usize = 2;

/// Removes from untrusted text control characters, which a terminal would obey, format characters
/// of Unicode, which reorder or hide letters, and piles of marks. A device may have any name
/// without `/`, and a station any name at all.
pub fn sanitize(text: &str) -> String {
    let mut marks = MARKS;
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_variation(letter) {
            continue;
        }
        if is_hidden(letter) {
            clean.push('?');
            marks = 0;
        } else if letter.is_ascii() || width(letter.encode_utf8(&mut [0; 4])) > 0 {
            clean.push(letter);
            marks = 0;
        } else if marks < MARKS {
            clean.push(letter);
            marks += 1;
        }
    }
    clean
}

/// Selects a variant of the letter before it. Terminals disagree on the resulting width.
fn is_variation(letter: char) -> bool {
    matches!(letter, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Returns the width of a text in columns: letters of East Asia take two, marks none.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Returns the text, or its start and `~`, in at most `most` columns.
pub fn clipped(text: &str, most: usize) -> String {
    if text.len() <= most || width(text) <= most {
        return text.to_owned();
    }
    let mut start = String::new();
    for letter in text.chars() {
        start.push(letter);
        if width(&start) >= most {
            start.pop();
            break;
        }
    }
    if most > 0 {
        start.push('~');
    }
    start
}

/// Returns the first names of a list that may be long.
pub fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_defused() {
        assert_eq!(sanitize("eth\x1b[2J0é"), "eth?[2J0é");
        assert_eq!(
            sanitize("a\u{202e}b\u{2066}c\u{200d}d\u{85}e\r\nf"),
            "a?b?c?d?e??f"
        );
        assert_eq!(sanitize("写真\u{fe0f}"), "写真");
    }

    #[test]
    fn marks_do_not_pile_up() {
        let pile = "\u{301}".repeat(50);
        assert_eq!(sanitize(&format!("a{pile}b")), "a\u{301}\u{301}b");
        assert_eq!(
            sanitize(&format!("{pile}b")),
            "b",
            "none on what stands before the text"
        );
        assert_eq!(sanitize("e\u{301}"), "e\u{301}");
    }

    #[test]
    fn cut_in_columns() {
        for (text, most, cut) in [
            ("laptop", 6, "laptop"),
            ("laptop", 5, "lapt~"),
            ("写真機", 6, "写真機"),
            ("写真機", 5, "写真~"),
            ("写真機", 4, "写~"),
            ("写", 1, "~"),
            ("x", 0, ""),
        ] {
            assert_eq!(clipped(text, most), cut, "{text} {most}");
        }
    }

    proptest! {
        #[test]
        fn never_wider_and_never_obeyed(text in ".*", most in 0usize..40) {
            let clean = sanitize(&text);
            prop_assert!(!clean.chars().any(is_hidden));
            prop_assert!(width(&clipped(&clean, most)) <= most);
        }
    }
}
