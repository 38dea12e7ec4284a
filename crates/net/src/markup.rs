//! Text in HTML and XML.

/// Escapes text for elements and quoted attributes.
pub fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Escapes text for HTML and XML alike: leaves out control characters, which XML does not have.
pub fn escape_xml(text: &str) -> String {
    let allowed = |letter: &char| match letter {
        '\n' | '\t' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        other => !other.is_control(),
    };
    escape_html(&text.chars().filter(allowed).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup() {
        let (text, escaped) = (
            "<a href='x' b=\"y\">&\n</a>",
            "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;\n&lt;/a&gt;",
        );
        assert_eq!(escape_html(text), escaped);
        assert_eq!(escape_xml(&format!("\0\r\u{ffff}{text}")), escaped);
    }
}
