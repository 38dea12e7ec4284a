//! Defects of one file.

use crate::snapshot::Remark;

/// Largest number of remarks of a file.
const MOST: usize = 100;

/// Defects of one file.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    kept: Vec<Remark>,
    more: usize,
}

impl Remarks {
    /// Adds a remark on an entry.
    pub(crate) fn of(&mut self, key: &str, what: impl Into<String>, read_as: impl Into<String>) {
        self.add(Some(key), what, read_as);
    }

    /// Adds a remark on the file.
    pub(crate) fn file(&mut self, what: impl Into<String>, read_as: impl Into<String>) {
        self.add(None, what, read_as);
    }

    fn add(&mut self, key: Option<&str>, what: impl Into<String>, read_as: impl Into<String>) {
        if self.kept.len() >= MOST {
            self.more += 1;
            return;
        }
        self.kept.push(Remark {
            key: key.map(str::to_owned),
            what: what.into(),
            read_as: read_as.into(),
        });
    }

    /// Keeps the remarks on the file: its earlier entries do not count.
    pub(crate) fn forget_entries(&mut self) {
        self.kept.retain(|remark| remark.key.is_none());
        self.more = 0;
    }

    /// Returns all remarks, and last the number of omitted ones.
    pub(crate) fn done(mut self) -> Vec<Remark> {
        if self.more > 0 {
            self.kept.push(Remark {
                key: None,
                what: format!("and {} more", self.more),
                read_as: "not listed".to_owned(),
            });
        }
        self.kept
    }
}
