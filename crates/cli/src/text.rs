//! Untrusted text, made safe for a terminal.

use std::fmt::Write;

/// Returns true if a letter has no width of its own and is no combining mark: control characters,
/// directions (UAX 9), joiners, separators, fillers, tags.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Writes hidden letters of a JSON document as escapes (RFC 8259, section 7), so that a terminal
/// does not interpret them. Parsers read the same text. Line feeds between values stay.
pub fn json(document: &str) -> String {
    let mut clean = String::with_capacity(document.len());
    for letter in document.chars() {
        if letter == '\n' || !is_hidden(letter) {
            clean.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            write!(clean, "\\u{unit:04x}").expect("a string takes all");
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_no_document() {
        let hostile =
            "[\n  \"a\u{9b}31m\u{7f}\u{85}b\u{202e}c\u{2066}\u{200d}\u{e0041} Grüße, 写真 👧\"\n]";
        let clean = json(hostile);
        assert_eq!(
            clean,
            "[\n  \"a\\u009b31m\\u007f\\u0085b\\u202ec\\u2066\\u200d\\udb40\\udc41 Grüße, 写真 👧\"\n]"
        );
        assert_eq!(json(&clean), clean);
    }
}
