//! German translations for pages of texts that the program writes in English: phrase books with
//! English and German, with placeholders for values. A text without a phrase stays English, and the
//! page marks it as such.

mod errors;
mod ledger;
mod schema;

/// Phrases: `{}` is a hole in the English one; `{0}` in the German one is the first hole's text,
/// unchanged, and `{0!}` its translation, if [`ledger::PARTS`] or [`errors::PARTS`] has one.
type Phrases = &'static [(&'static str, &'static str)];

/// Source of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Book {
    /// Defects of files, and their readings.
    Ledger,
    /// Errors and hints.
    Errors,
    /// Tables and columns for SQL.
    Schema,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    German(&'static str),
    /// A value: of no language.
    Value(&'a str),
    /// Text without a translation.
    English(&'a str),
}

impl Book {
    fn phrases(self) -> Phrases {
        match self {
            Self::Ledger => ledger::PHRASES,
            Self::Errors => errors::PHRASES,
            Self::Schema => schema::PHRASES,
        }
    }

    fn parts(self) -> Phrases {
        match self {
            Self::Ledger => ledger::PARTS,
            Self::Errors => errors::PARTS,
            Self::Schema => &[],
        }
    }

    /// Translates a text, in pieces.
    pub fn german(self, text: &str) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        self.translate(self.phrases(), text, &mut pieces);
        pieces
    }

    fn translate<'a>(self, phrases: Phrases, text: &'a str, pieces: &mut Vec<Piece<'a>>) {
        if text.is_empty() {
            return;
        }
        let found = phrases
            .iter()
            .find_map(|(english, german)| Some((holes(english, text)?, *german)));
        let Some((holes, german)) = found else {
            pieces.push(Piece::English(text));
            return;
        };
        let mut rest = german;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').unwrap_or((after, ""));
            let plain = name.trim_end_matches('!');
            let at = plain.parse::<usize>().unwrap_or(usize::MAX);
            let value = holes.get(at).copied().unwrap_or_default();
            pieces.push(Piece::German(before));
            match plain == name {
                true => pieces.push(Piece::Value(value)),
                false => self.translate(self.parts(), value, pieces),
            }
            rest = behind;
        }
        pieces.push(Piece::German(rest));
    }

    /// Returns the literal English parts of phrases whose German has `word`, in lower case, so that
    /// a German search finds English entries.
    pub fn english_of(self, word: &str) -> Vec<&'static str> {
        let all = self.phrases().iter().chain(self.parts());
        let meant = all.filter(|(_, german)| {
            let mut literals = german.split('{').map(|part| match part.split_once('}') {
                Some((_, behind)) => behind,
                None => part,
            });
            literals.any(|literal| literal.to_lowercase().contains(word))
        });
        // The longest part is the most specific.
        let longest = |english: &'static str| english.split("{}").max_by_key(|part| part.len());
        meant.filter_map(|(english, _)| longest(english)).collect()
    }
}

/// Returns the texts in the holes of an English phrase, if the text matches.
fn holes<'a>(english: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut literals = english.split("{}");
    let mut rest = text.strip_prefix(literals.next()?)?;
    let mut holes = Vec::new();
    let mut literals = literals.peekable();
    while let Some(literal) = literals.next() {
        let at = match literals.peek() {
            // The last one is the end of the text.
            None => rest.strip_suffix(literal)?.len(),
            Some(_) => rest.find(literal)?,
        };
        holes.push(&rest[..at]);
        rest = &rest[at + literal.len()..];
    }
    rest.is_empty().then_some(holes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(book: Book, text: &str) -> String {
        let pieces = book.german(text);
        let pieces = pieces.iter().map(|piece| match piece {
            Piece::German(text) => (*text).to_owned(),
            Piece::Value(text) => (*text).to_owned(),
            Piece::English(text) => format!("[en: {text}]"),
        });
        pieces.collect()
    }

    #[test]
    fn texts_have_their_values_in_them() {
        for (book, english, german) in [
            (Book::Ledger, "left out", "weggelassen"),
            (
                Book::Ledger,
                "state.lastchange is the text \"2017-30-04\", which is not a time",
                "state.lastchange ist der Text \"2017-30-04\", und das ist keine Zeit",
            ),
            (
                Book::Ledger,
                "the number -4, shown but not counted",
                "die Zahl -4, gezeigt, aber nicht mitgezählt",
            ),
            (
                Book::Ledger,
                "the file is not JSON: expected `:` at line 69 column 43",
                "die Datei ist kein JSON: [en: expected `:` at line 69 column 43]",
            ),
            (
                Book::Errors,
                "`fro` is not a parameter; did you mean `from`? (parameters: from, to)",
                "`fro` ist kein Parameter; war `from` gemeint? (Parameter: from, to)",
            ),
            (
                Book::Errors,
                "`week` is not a value of `by` (give hour or day or month)",
                "`week` ist kein Wert von `by` (möglich: hour oder day oder month)",
            ),
            (
                Book::Errors,
                "large answers are being sent to your address",
                "große Antworten sind unterwegs zu Ihrer Adresse",
            ),
            (
                Book::Errors,
                "too many large answers are being sent to others",
                "zu viele große Antworten sind unterwegs zu anderen",
            ),
            (Book::Errors, "no such table: x", "[en: no such table: x]"),
            (Book::Errors, "", ""),
        ] {
            assert_eq!(told(book, english), german);
        }
    }

    #[test]
    fn holes_are_filled() {
        for book in [Book::Ledger, Book::Errors, Book::Schema] {
            for (english, german) in book.phrases().iter().chain(book.parts()) {
                let many = english.matches("{}").count();
                for at in 0..many {
                    let name = format!("{{{at}");
                    assert_eq!(german.matches(&name).count(), 1, "{german}");
                }
                assert_eq!(german.matches('{').count(), many, "{german}");
                // A German text must differ from the English one.
                assert!(english != german || !english.contains(' '), "{english}");
            }
        }
    }

    #[test]
    fn german_words_find_what_is_kept_in_english() {
        assert_eq!(
            Book::Ledger.english_of("mitgezählt"),
            [", shown but not counted"]
        );
        assert!(Book::Ledger.english_of("zweimal").contains(&" comes twice"));
        assert!(Book::Ledger.english_of("xyz").is_empty());
    }

    #[test]
    fn what_there_is_to_ask_is_said_in_german() {
        let tables = crate::sql::schema();
        let columns = tables.iter().flat_map(|table| &table.columns);
        let columns = columns.map(|column| &column.about);
        for about in tables.iter().map(|table| &table.about).chain(columns) {
            let german = told(Book::Schema, about);
            assert!(!german.contains("[en: "), "{german}");
        }
    }
}
