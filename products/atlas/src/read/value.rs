//! A value in a file, and its interpretations.

use std::borrow::Cow;

use serde::Deserializer;
use serde::de::{self, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use unicode_normalization::UnicodeNormalization;

/// A value; lists and objects are unparsed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Value<'a> {
    /// Missing, or `null`.
    #[default]
    Nothing,
    Truth(bool),
    /// A number, unparsed.
    Number(&'a str),
    Text(Cow<'a, str>),
    /// A list, unparsed.
    List(&'a str),
    Object,
}

impl<'a> Value<'a> {
    /// Parses the value of correct JSON.
    pub(crate) fn of_json(raw: &'a str) -> Self {
        match raw.as_bytes().first() {
            Some(b'"') if !raw.contains('\\') => {
                Self::Text(Cow::Borrowed(&raw[1..raw.len().max(2) - 1]))
            }
            // An unpaired surrogate is invalid, but the remaining text is still usable.
            Some(b'"') => Self::Text(Cow::Owned(unescaped(raw))),
            Some(b'[') => Self::List(raw),
            Some(b'{') => Self::Object,
            Some(b't') => Self::Truth(true),
            Some(b'f') => Self::Truth(false),
            Some(b'n') | None => Self::Nothing,
            Some(_) => Self::Number(raw),
        }
    }

    /// Parses the value of a cell of a table.
    pub(crate) fn of_cell(cell: &'a str) -> Self {
        let trimmed = cell.trim();
        if trimmed.is_empty() {
            return Self::Nothing;
        }
        let digits = trimmed.strip_prefix('-').unwrap_or(trimmed);
        match digits.parse::<f64>() {
            Ok(_) if digits.starts_with(|c: char| c.is_ascii_digit()) => Self::Number(trimmed),
            _ => Self::Text(Cow::Borrowed(cell)),
        }
    }

    /// Returns a description for the ledger.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Truth(truth) => format!("{truth}"),
            Self::Number(number) => format!("the number {}", short(number)),
            Self::Text(text) => format!("the text {:?}", short(text)),
            Self::List(_) => "a list".to_owned(),
            Self::Object => "an object".to_owned(),
        }
    }

    /// Returns items of a list, at most `most`; for other values, the value itself.
    pub(crate) fn items(&self, most: usize) -> Vec<Value<'_>> {
        match self {
            Self::List(raw) => {
                let mut list = serde_json::Deserializer::from_str(raw);
                list.deserialize_seq(Items { most }).unwrap_or_default()
            }
            other => vec![other.clone()],
        }
    }
}

/// Shortens a text to 60 characters, for the ledger.
pub(crate) fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(60) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}

/// Removes control characters (including those that change the direction of writing) and
/// surrounding blanks, and truncates to `most` characters. Also returns a remark on the change, if
/// it deserves one.
pub(crate) fn clean(text: &str, most: usize) -> (String, Option<&'static str>) {
    let text = text.trim();
    if text.len() <= most && text.bytes().all(|o| (0x20..0x7f).contains(&o)) {
        return (text.to_owned(), None);
    }
    let mut done = None;
    let mut cleaned = String::with_capacity(text.len().min(4 * most));
    // Unicode has two spellings of some names: NFC makes them one name.
    let letters = text.chars().take(8 * most + 8).nfc();
    for (count, character) in letters.enumerate() {
        if count >= most {
            done = Some("its beginning");
            break;
        }
        let turns = matches!(
            character,
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        );
        match character {
            '\n' | '\r' | '\t' => cleaned.push(' '),
            _ if character.is_control() || turns => {
                done = Some("the text without control characters");
            }
            _ => cleaned.push(character),
        }
    }
    let end = cleaned.trim_end().len();
    cleaned.truncate(end);
    (cleaned, done)
}

/// Unescapes a JSON text.
fn unescaped(raw: &str) -> String {
    let mut raw = serde_json::Deserializer::from_str(raw);
    text(raw.deserialize_bytes(RawBytes).unwrap_or_default())
}

/// Returns true if valid JSON has `\ud800` or the like without its other half.
pub(crate) fn halved(raw: &str) -> bool {
    let mut waits = false;
    let mut rest = raw.as_bytes();
    while let Some(at) = rest.iter().position(|octet| *octet == b'\\') {
        let code = match rest.get(at + 1..at + 6) {
            Some([b'u', digits @ ..]) => std::str::from_utf8(digits)
                .ok()
                .and_then(|digits| u16::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        let second = matches!(code, Some(0xdc00..0xe000));
        if (waits && at > 0) || waits != second {
            return true;
        }
        waits = matches!(code, Some(0xd800..0xdc00));
        rest = &rest[(at + if code.is_some() { 6 } else { 2 }).min(rest.len())..];
    }
    waits
}

/// Converts bytes to a text, also invalid ones. Half a surrogate, as UTF-8 would write it, has as
/// many bytes as the replacement character.
pub(crate) fn text(octets: Cow<'_, [u8]>) -> String {
    let mut octets = octets.into_owned();
    for at in 2..octets.len() {
        if has_half(&octets[at - 2..at]) {
            octets[at - 2..=at].copy_from_slice("\u{fffd}".as_bytes());
        }
    }
    match String::from_utf8(octets) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// Returns true if bytes have half a surrogate, as UTF-8 would write it.
pub(crate) fn has_half(octets: &[u8]) -> bool {
    octets
        .windows(2)
        .any(|two| two[0] == 0xed && two[1] >= 0xa0)
}

/// Bytes of a text: serde_json then lets half a surrogate pass.
pub(crate) struct RawBytes;

impl<'de> Visitor<'de> for RawBytes {
    type Value = Cow<'de, [u8]>;

    fn expecting(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        to.write_str("a text")
    }

    fn visit_borrowed_bytes<E>(self, octets: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(octets))
    }

    fn visit_bytes<E>(self, octets: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(octets.to_owned()))
    }
}

struct Items {
    most: usize,
}

impl<'de> Visitor<'de> for Items {
    type Value = Vec<Value<'de>>;

    fn expecting(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        to.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < self.most {
            match list.next_element::<&RawValue>()? {
                Some(raw) => items.push(Value::of_json(raw.get())),
                None => return Ok(items),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(items)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_json() {
        let list = Value::of_json(r#"["a",2,null,[3],"\ud800x"]"#);
        let items = list.items(10);
        assert_eq!(items[0], Value::Text("a".into()));
        assert_eq!(items[1], Value::Number("2"));
        assert_eq!(items[2], Value::Nothing);
        assert_eq!(items[3], Value::List("[3]"));
        assert_eq!(items[4], Value::Text("\u{fffd}x".into()));
        assert_eq!(list.items(2).len(), 2);
        assert_eq!(Value::of_json("\"\""), Value::Text("".into()));
        assert_eq!(Value::of_cell(" 12 "), Value::Number("12"));
        assert_eq!(Value::of_cell("  "), Value::Nothing);
    }

    #[test]
    fn texts_are_cleaned() {
        assert_eq!(clean(" Freifunk ", 20), ("Freifunk".to_owned(), None));
        let markup = "<b onclick=x>&amp;</b>";
        assert_eq!(clean(markup, 200), (markup.to_owned(), None));
        assert_eq!(clean("Köln\u{0}\u{202e}\u{7f}", 20).0, "Köln");
        assert!(clean("Köln\u{0}", 20).1.is_some());
        assert_eq!(clean("Fu\u{308}rth", 20), ("Fürth".to_owned(), None));
        assert_eq!(clean("a\nb", 20), ("a b".to_owned(), None));
        assert_eq!(clean(&"ü".repeat(300), 200).0.chars().count(), 200);
        assert!(clean(&"x".repeat(300), 200).1.is_some());
    }
}
