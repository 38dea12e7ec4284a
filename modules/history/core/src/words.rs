//! Words for applications, and their numbers in the file.

use rusqlite::Connection;

/// Numbers of applications in the file, with their names.
#[derive(Debug)]
pub struct ApplicationIds {
    words: Vec<String>,
    saved: usize,
}

/// Word for all merged applications.
pub const OTHER_WORD: &str = "other";
/// Maximum number of distinct applications. weir's own words are some dozens.
const MOST_WORDS: usize = 256;

impl Default for ApplicationIds {
    fn default() -> Self {
        Self {
            words: vec![OTHER_WORD.to_owned()],
            saved: 1,
        }
    }
}

impl ApplicationIds {
    /// Returns the number of a name; 0, `other`, for an invalid or excess name.
    pub fn number(&mut self, word: &str) -> u16 {
        let known = self.words.iter().position(|known| known == word);
        let number = known.or_else(|| {
            let plain = (1..=32).contains(&word.len())
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.+/ ".contains(&byte));
            (plain && self.words.len() < MOST_WORDS).then(|| {
                self.words.push(word.to_owned());
                self.words.len() - 1
            })
        });
        number
            .and_then(|number| u16::try_from(number).ok())
            .unwrap_or(0)
    }

    /// Returns the name of a number.
    pub fn word(&self, number: u16) -> &str {
        self.words
            .get(usize::from(number))
            .map_or(OTHER_WORD, String::as_str)
    }

    /// Returns the words not in the file yet, with their numbers.
    pub fn unsaved(&self) -> impl Iterator<Item = (usize, &str)> {
        self.words
            .iter()
            .enumerate()
            .skip(self.saved)
            .map(|(number, word)| (number, word.as_str()))
    }

    /// Records that all names are in the file now.
    pub fn save(&mut self) {
        self.saved = self.words.len();
    }

    /// Returns true if only `other` is known.
    pub fn is_fresh(&self) -> bool {
        self.words.len() == 1
    }

    /// Maps the numbers of another list to numbers of this list.
    pub fn renumbering(&mut self, other: &Self) -> Vec<u16> {
        other.words.iter().map(|word| self.number(word)).collect()
    }

    /// Loads the names of a file. Gaps in the numbers and invalid names come from manual edits:
    /// their traffic is `other`.
    pub fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let mut words = Self::default();
        let mut statement =
            connection.prepare("SELECT id, word FROM application WHERE id > 0 ORDER BY id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, word): (i64, String) = (row.get(0)?, row.get(1)?);
            if words.words.len() >= MOST_WORDS || id != words.words.len() as i64 {
                break;
            }
            words
                .words
                .push(word.chars().filter(|c| !c.is_control()).take(32).collect());
        }
        words.save();
        Ok(words)
    }
}
