//! Query strings: `name=value&…`, percent-encoded (RFC 3986 section 2.1; `+` is a space, as forms
//! write it).

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters to encode: all but the unreserved ones (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Splits a query into decoded names and values. `None` if an escape is broken or the text is not
/// UTF-8.
pub fn decode_query(query: &str) -> Option<Vec<(String, String)>> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(name)?, decode(value)?))
        })
        .collect()
}

fn decode(text: &str) -> Option<String> {
    let is_whole = |after: &str| after.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if !text.split('%').skip(1).all(is_whole) {
        return None;
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.ok().map(Cow::into_owned)
}

/// Writes a query of names and values.
pub(crate) fn encode_query<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut query = String::new();
    for (name, value) in pairs {
        if !query.is_empty() {
            query.push('&');
        }
        query.push_str(name);
        query.push('=');
        query.extend(utf8_percent_encode(&value, RESERVED));
    }
    query
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decodes_what_forms_send() {
        let pairs = decode_query("flow=tcp+%5B::1%5D:1&x&&y=").expect("well formed");
        let expected = [("flow", "tcp [::1]:1"), ("x", ""), ("y", "")];
        assert_eq!(
            pairs,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        for broken in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert_eq!(decode_query(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(value in ".*") {
            let query = encode_query([("name", value.clone())]);
            prop_assert!(query.is_ascii());
            prop_assert_eq!(decode_query(&query), Some(vec![("name".to_owned(), value)]));
        }

        #[test]
        fn decoding_never_panics(query in ".*") {
            let _ = decode_query(&query);
        }
    }
}
