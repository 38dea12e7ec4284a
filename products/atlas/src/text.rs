//! Languages, and texts that are compared.

use unicode_normalization::UnicodeNormalization;

/// Returns a name for comparison: without capitals and outer blanks, in one form of Unicode (NFC).
pub(crate) fn folded(name: &str) -> String {
    let name = name.trim().to_lowercase();
    match unicode_normalization::is_nfc(&name) {
        true => name,
        false => name.nfc().collect(),
    }
}

/// Returns the letters and digits of a word, for comparison of spellings. A word without letters
/// and digits is compared as a name.
pub(crate) fn spelling(word: &str) -> String {
    let folded = folded(word);
    let plain: String = folded.chars().filter(|c| c.is_alphanumeric()).collect();
    if plain.is_empty() { folded } else { plain }
}

/// The language of texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Language {
    #[default]
    /// `en`.
    English,
    /// `de`.
    German,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::English, Self::German];

    /// Returns the word in addresses and `lang` attributes.
    pub fn word(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// Returns the language's own name.
    pub fn name(self) -> &'static str {
        self.of("English", "Deutsch")
    }

    /// Returns the text of the language.
    pub fn of(self, english: &'static str, german: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::German => german,
        }
    }

    /// Formats a number for readers: `12,000`; `12.000`.
    pub fn whole(self, number: i64) -> String {
        let digits = number.unsigned_abs().to_string();
        let mut text = String::from(if number < 0 { "−" } else { "" });
        for (at, digit) in digits.char_indices() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push_str(self.of(",", "."));
            }
            text.push(digit);
        }
        text
    }

    /// Returns the name of a month, 1 to 12.
    pub fn month(self, number: i8) -> &'static str {
        const ENGLISH: [&str; 12] = [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ];
        const GERMAN: [&str; 12] = [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ];
        let at = usize::try_from(number - 1).unwrap_or(0).min(11);
        self.of(ENGLISH[at], GERMAN[at])
    }
}

#[cfg(test)]
mod tests {
    use super::Language::{English, German};
    use super::{folded, spelling};

    #[test]
    fn one_name_in_two_ways_of_writing_is_one() {
        assert_eq!(folded("\t GRÖSSE Net "), "grösse net");
        assert_eq!(folded("Freifunk Fu\u{308}rth"), "freifunk fürth");
        assert_eq!(folded("FREIFUNK FU\u{308}RTH"), folded("Freifunk Fürth"));
        assert_eq!(spelling(" B.A.T.M.A.N. adv"), spelling("batman_adv"));
        assert_eq!(spelling("???"), "???");
    }

    #[test]
    fn numbers_are_as_readers_write_them() {
        assert_eq!(English.whole(50_700), "50,700");
        assert_eq!(German.whole(-1_234_567), "−1.234.567");
        assert_eq!(German.whole(123), "123");
        let least = "−9,223,372,036,854,775,808";
        assert_eq!(English.whole(i64::MIN), least);
    }
}
