//! Width of text. The reader's font is unknown: these are the widths of DejaVu Sans, one of the
//! widest.

/// Returns the width in pixels at a size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// Cuts a text to the room, with "…" at the cut.
pub(super) fn fit(text: &str, size: f64, room: f64) -> String {
    let mut wide = 0.0;
    let mut fits = 0;
    let room = room / size;
    for (at, letter) in text.char_indices() {
        wide += em(letter);
        if wide > room {
            return format!("{}…", text[..fits].trim_end());
        }
        if wide + 1.0 <= room {
            fits = at + letter.len_utf8();
        }
    }
    text.to_owned()
}

/// Wraps a text into at most `most` lines: the last one is truncated.
pub(super) fn wrap(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        let last = lines.len() + 1 >= most;
        let full = words
            .peek()
            .is_some_and(|next| width(&line, size) + width(next, size) + size / 3.0 > room);
        if full && !last {
            lines.push(fit(&line, size, room));
            line.clear();
        }
        if last && width(&line, size) > room {
            break;
        }
    }
    if !line.is_empty() && lines.len() < most {
        lines.push(fit(&line, size, room));
    }
    lines
}

fn em(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | '\'' | '|' => 0.29,
        ' ' | '.' | ',' | ':' | ';' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '-' | '!' | '/' => 0.41,
        'm' | 'W' | '@' | '%' | '…' => 0.99,
        'w' | 'M' | 'O' | 'Q' | '−' => 0.85,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' => 0.58,
        'A'..='Z' => 0.71,
        '\0'..='\u{10ff}' => 0.64,
        // Characters of East Asia, and emoji.
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fits() {
        assert_eq!(fit("short", 12.0, 100.0), "short");
        let cut = fit("Freifunk Überlandnetz", 12.0, 80.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 80.0, "{cut}");
        assert_eq!(fit("wide", 12.0, 1.0), "…");
        // Each of these letters is 0.64 of the size wide; the sign at the cut may fill that.
        assert_eq!(fit("aaaaa", 10.0, 32.1), "aaaaa");
        assert_eq!(fit("aaaaa", 10.0, 31.9), "aaa…");
        assert_eq!(fit("üüüüü", 10.0, 31.9), "üüü…");
        // No blank before it.
        assert_eq!(fit("aaa aaaa", 10.0, 34.0), "aaa…");
    }

    #[test]
    fn a_line_takes_what_has_room() {
        // Two of these words and a blank are 41.7 wide.
        let lines = |room| wrap("aaa aaa aaa", 10.0, room, 9);
        assert_eq!(lines(42.0), ["aaa aaa", "aaa"]);
        assert_eq!(lines(41.5), ["aaa", "aaa", "aaa"]);
    }

    #[test]
    fn lines_are_wrapped_and_few() {
        let text = "a number of words that go on for more than one line, and more than two";
        let lines = wrap(text, 12.0, 200.0, 9);
        assert_eq!(lines.join(" "), text);
        assert!(lines.iter().all(|line| width(line, 12.0) <= 200.0));
        let two = wrap(text, 12.0, 200.0, 2);
        assert_eq!(two.len(), 2);
        assert!(two[1].ends_with('…'), "{two:?}");
    }
}
