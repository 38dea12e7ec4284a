//! Languages.

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
    /// As in addresses and `lang` attributes.
    pub fn word(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// One of two texts.
    pub fn of(self, english: &'static str, german: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::German => german,
        }
    }
}
