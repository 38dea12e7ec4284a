//! Text in HTML and XML.

/// Text that markup takes for text, in elements and between quotation marks. Control characters,
/// which XML does not have, are left out.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => {}
            other if other.is_control() => {}
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup() {
        assert_eq!(
            escape("<a href='x' b=\"y\">&\u{0}\r\n</a>"),
            "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;\n&lt;/a&gt;"
        );
    }
}
