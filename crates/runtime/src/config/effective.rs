//! The effective configuration: every setting of every section, and where it was set.

use std::collections::BTreeMap;

use answers::{Config, ConfigEntry};
use toml::de::DeValue;

use super::keys::{Table, When};
use super::section::{Section, SectionValues, Tables};
use super::setting::Origin;
use super::values::ValueError;

/// All settings, as the daemon uses them.
#[derive(Debug)]
pub struct Effective {
    /// In the order of the manual.
    pub(super) held: Vec<(Section, Box<dyn SectionValues>)>,
}

impl Effective {
    /// Returns the default configuration of these sections.
    pub fn defaults(sections: &[Section]) -> Self {
        let held = |section: &Section| (*section, section.hold());
        Self {
            held: sections.iter().map(held).collect(),
        }
    }

    /// Returns the settings of a section.
    ///
    /// # Panics
    /// No section has such a table: a bug in weir, which any test that reads the section finds.
    pub fn of<T: Table>(&self) -> &T {
        &self.tables().one
    }

    /// The settings of a section that has many tables, by name.
    ///
    /// # Panics
    /// As for [`Effective::of`].
    pub fn named<T: Table>(&self) -> &BTreeMap<String, T> {
        &self.tables().named
    }

    /// The settings of a section, to be changed.
    ///
    /// # Panics
    /// As for [`Effective::of`].
    pub fn of_mut<T: Table>(&mut self) -> &mut T {
        let mut held = self.held.iter_mut().map(|(_, held)| held.tables_mut());
        let tables: &mut Tables<T> = held
            .find_map(|tables| tables.downcast_mut())
            .expect("a section of this configuration");
        &mut tables.one
    }

    fn tables<T: Table>(&self) -> &Tables<T> {
        let mut held = self.held.iter().map(|(_, held)| held.tables());
        held.find_map(|tables| tables.downcast_ref())
            .expect("a section of this configuration")
    }

    /// As `GET /v1/config` answers it.
    pub fn to_api(&self) -> Config {
        Config {
            entries: self.entries(),
        }
    }

    /// Every key with its value and its origin, in the order of the manual.
    pub fn entries(&self) -> Vec<ConfigEntry> {
        self.held
            .iter()
            .flat_map(|(section, held)| held.entries(section.naming().is_some()))
            .collect()
    }

    /// Returns when a change of a dotted key takes effect; `None` if the key is unknown.
    pub fn when(&self, dotted: &str) -> Option<When> {
        let (path, key) = dotted.rsplit_once('.')?;
        let of = |section: &Section| match section.naming() {
            None => path == section.name,
            Some(_) => path
                .strip_prefix(section.name)
                .is_some_and(|rest| rest.starts_with('.')),
        };
        let (_, held) = self.held.iter().find(|(section, _)| of(section))?;
        held.when(key)
    }

    /// Returns the configuration in force after a reload that read this one: keys that need a
    /// restart keep the values of `before`.
    #[must_use]
    pub fn reloaded(mut self, before: &Self) -> Self {
        for ((_, held), (_, before)) in self.held.iter_mut().zip(&before.held) {
            held.keep(&**before);
        }
        self
    }

    /// Returns true if there is a section `path` with one table, not a table for each name.
    pub(super) fn has_section(&self, path: &str) -> bool {
        let mut sections = self.held.iter().map(|(section, _)| section);
        sections.any(|section| section.name == path && section.naming().is_none())
    }

    /// Overrides a value of the file: `offload.shadow`, by a flag.
    pub(super) fn lay_over(
        &mut self,
        dotted: &str,
        value: &DeValue<'_>,
        origin: &Origin,
    ) -> Result<(), ValueError> {
        let (path, key) = dotted.rsplit_once('.').ok_or_else(ValueError::no_key)?;
        let mut held = self.held.iter_mut();
        let held = held.find(|(section, _)| section.name == path && section.naming().is_none());
        let (_, held) = held.ok_or_else(ValueError::no_key)?;
        held.set(key, value, origin)
    }
}

impl Clone for Effective {
    fn clone(&self) -> Self {
        let copied =
            |(section, held): &(Section, Box<dyn SectionValues>)| (*section, held.copied());
        Self {
            held: self.held.iter().map(copied).collect(),
        }
    }
}

impl PartialEq for Effective {
    fn eq(&self, other: &Self) -> bool {
        let mut both = self.held.iter().zip(&other.held);
        self.held.len() == other.held.len()
            && both.all(|((one, held), (other, too))| one.name == other.name && held.same(&**too))
    }
}
