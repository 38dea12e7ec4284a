//! A community's text on the page, in Markdown (CommonMark): its own words, terms of use. Guests
//! need not trust the author: HTML of the author is removed, nothing is loaded, links lead to the
//! web or to a mailbox.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd, html};

/// Bytes of the longest text, as it was written.
pub const LONGEST: usize = 16 * 1024;
/// Maximum size of the text as HTML: the whole page should have 30 KB.
const SHOWN: usize = 24 * 1024;

/// Reason to reject a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextTooLong {
    /// The Markdown text is too long.
    #[error("longer than {LONGEST} bytes")]
    Written,
    /// The HTML text is too long.
    #[error("longer than {SHOWN} bytes as HTML")]
    Shown,
}

/// Renders the text as HTML.
///
/// # Errors
/// The text is too long.
pub fn shown(markdown: &str) -> Result<String, TextTooLong> {
    if markdown.len() > LONGEST {
        return Err(TextTooLong::Written);
    }
    // For each open link, true if the link leads somewhere.
    let mut links = Vec::new();
    let events = Parser::new(markdown).filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        // The alternative text replaces the picture.
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        // The page has its own first heading.
        Event::Start(Tag::Heading { level, .. }) => Some(Event::Start(Tag::Heading {
            level: below(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        })),
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(below(level)))),
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            links.push(leads(dest_url));
            leads(dest_url).then_some(event)
        }
        Event::End(TagEnd::Link) => links.pop().unwrap_or(false).then_some(event),
        other => Some(other),
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    match out.len() > SHOWN {
        true => Err(TextTooLong::Shown),
        false => Ok(out),
    }
}

fn leads(to: &str) -> bool {
    let to = to.to_ascii_lowercase();
    let schemes = ["http://", "https://", "mailto:"];
    schemes.iter().any(|scheme| to.starts_with(scheme))
}

fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H2,
        HeadingLevel::H2 => HeadingLevel::H3,
        _ => HeadingLevel::H4,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_shown() {
        let text =
            "# Rules\n\nBe *kind*. See [us](https://example.org/a?b=1&c), or\n\n- one\n- two\n";
        let shown = shown(text).expect("shown");
        for part in [
            "<h2>Rules</h2>",
            "<em>kind</em>",
            "<a href=\"https://example.org/a?b=1&amp;c\">us</a>",
            "<li>one</li>",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }

    #[test]
    fn nothing_else_gets_in() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<div\nonclick=alert(1)>\n\nx",
            "[x](javascript:alert(1)) [y](data:text/html,x) [z](/login)",
            "![x](http://example.org/spy.png)",
            "[![x](javascript:a)](javascript:b)",
            "<https://example.org/><javascript:alert(1)>",
            "# a {#id onclick=alert(1)}",
        ] {
            let shown = shown(text).expect("shown");
            assert!(safe(&shown), "{text}: {shown}");
        }
    }

    #[test]
    fn what_is_too_long_is_refused() {
        assert_eq!(shown(&"x".repeat(LONGEST + 1)), Err(TextTooLong::Written));
        assert_eq!(shown(&"&".repeat(LONGEST)), Err(TextTooLong::Shown));
    }

    /// Returns true if the HTML contains only markup of words, and links to the web.
    fn safe(html: &str) -> bool {
        let plain = [
            "p",
            "em",
            "strong",
            "ul",
            "ol",
            "li",
            "h2",
            "h3",
            "h4",
            "code",
            "pre",
            "blockquote",
            "br /",
            "hr /",
        ];
        html.split('<').skip(1).all(|tag| {
            let tag = tag.split('>').next().unwrap_or_default();
            let tag = tag.strip_prefix('/').unwrap_or(tag);
            let link = ["a href=\"http://", "a href=\"https://", "a href=\"mailto:"];
            let link = link
                .iter()
                .any(|link| tag.to_ascii_lowercase().starts_with(link));
            plain.contains(&tag)
                || tag == "a"
                || link
                || tag.starts_with("ol start=\"")
                || tag.starts_with("code class=\"language-")
        })
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_safe(text in "[ -~\n]{0,200}") {
            let shown = shown(&text).expect("shown");
            prop_assert!(safe(&shown), "{shown}");
        }
    }
}
