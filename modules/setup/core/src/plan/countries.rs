//! Countries by their codes (ISO 3166-1) and usual English names.

/// Code and name, a line each: out of tzdata's `iso3166.tab`, which is in the public domain.
const COUNTRIES: &str = include_str!("countries.txt");

/// Other names of countries, and codes in common use that ISO 3166 gives to no country.
const OTHERS: [(&str, &str); 13] = [
    ("america", "US"),
    ("czech republic", "CZ"),
    ("deutschland", "DE"),
    ("england", "GB"),
    ("great britain", "GB"),
    ("holland", "NL"),
    ("ivory coast", "CI"),
    ("schweiz", "CH"),
    ("turkey", "TR"),
    ("united states of america", "US"),
    ("usa", "US"),
    ("österreich", "AT"),
    ("españa", "ES"),
];

/// Codes that are often taken for a country's, with the right one.
const MISTAKEN: [(&str, &str); 4] = [("UK", "GB"), ("EN", "GB"), ("EL", "GR"), ("JA", "JP")];

/// Returns codes and names.
fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    COUNTRIES.lines().filter_map(|line| line.split_once(' '))
}

/// Returns the code of a country, by its code or its name. If the text is neither: the code that
/// was probably meant.
pub fn code(text: &str) -> Result<&'static str, Option<&'static str>> {
    let text = text.trim();
    if let Some((code, _)) = all().find(|(code, _)| code.eq_ignore_ascii_case(text)) {
        return Ok(code);
    }
    let lower = text.to_lowercase();
    if let Some((code, _)) = all().find(|(_, name)| name.to_lowercase() == lower) {
        return Ok(code);
    }
    if let Some((_, code)) = OTHERS.iter().find(|(name, _)| *name == lower) {
        return Ok(code);
    }
    let meant = MISTAKEN
        .iter()
        .find(|(code, _)| code.eq_ignore_ascii_case(text));
    Err(meant.map(|(_, code)| *code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countries_by_code_and_by_name() {
        assert_eq!(all().count(), 249);
        for (text, country) in [
            ("DE", "DE"),
            ("de", "DE"),
            ("Germany", "DE"),
            ("Georgia", "GE"),
            ("Deutschland", "DE"),
            ("United Kingdom", "GB"),
            ("niger", "NE"),
            ("Nigeria", "NG"),
            (" Spain ", "ES"),
            ("Côte d'Ivoire", "CI"),
            ("ÅLAND ISLANDS", "AX"),
        ] {
            assert_eq!(code(text), Ok(country), "{text}");
        }
        assert_eq!(code("UK"), Err(Some("GB")));
        for wrong in [
            "", "ZZ", "XX", "D", "DEU", "GERMAN", "00", "Ger", "D E", "A1", "ß",
        ] {
            assert_eq!(code(wrong), Err(None), "{wrong}");
        }
    }
}
