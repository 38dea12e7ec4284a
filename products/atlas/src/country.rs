//! Countries by their codes: communities write "DE", "de", "Germany" and "Deutschland".

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::text::spelling;

/// Countries of ISO 3166-1, a line each: two letters, three letters, names in English, German and
/// the country's own language, and other spellings.
const ALL: &str = include_str!("countries.txt");

/// Returns the two letters of a country, in any spelling; `None`: unknown.
pub(crate) fn code(text: &str) -> Option<&'static str> {
    static CODES: OnceLock<HashMap<String, &'static str>> = OnceLock::new();
    let codes = CODES.get_or_init(|| {
        let lines = ALL.lines().filter_map(|line| {
            let (code, rest) = line.split_once(' ')?;
            let (three, names) = rest.split_once(' ')?;
            Some((code, [code, three].into_iter().chain(names.split('|'))))
        });
        let all = lines.flat_map(|(code, names)| names.map(move |name| (spelling(name), code)));
        all.collect()
    });
    codes.get(&spelling(text)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_country_has_one_code_however_it_is_written() {
        for (code, written) in [
            ("DE", "de|DEU|Germany|germany |Deutschland|GER|D.E."),
            ("AT", "AT|Austria|Österreich|O\u{308}sterreich"),
            ("GB", "UK|GB|United Kingdom"),
            ("CZ", "Česko|Czech Republic"),
        ] {
            for written in written.split('|') {
                assert_eq!(super::code(written), Some(code), "{written}");
            }
        }
        for unknown in ["", "Bayern", "ZZ", "-"] {
            assert_eq!(code(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn no_spelling_is_of_two_countries() {
        let mut known = HashMap::new();
        for line in ALL.lines() {
            let (code, rest) = line.split_once(' ').expect(line);
            assert!(code.len() == 2 && rest.as_bytes()[3] == b' ', "{line}");
            for name in [code, &rest[..3]].into_iter().chain(rest[4..].split('|')) {
                let other = known.insert(spelling(name), code);
                assert!(other.is_none_or(|other| other == code), "{name}: {other:?}");
            }
        }
        assert_eq!(ALL.lines().count(), 249);
    }
}
