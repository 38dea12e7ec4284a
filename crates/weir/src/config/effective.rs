//! The effective configuration: every setting of every section, and where it was set.

use std::collections::BTreeMap;

use api::{Config, ConfigEntry};
use toml::de::DeValue;

use super::section::{Held, Section, Table, When};
use super::setting::Origin;

/// All settings, as the daemon uses them.
#[derive(Debug)]
pub struct Effective {
    /// In the order of the manual.
    pub(super) held: Vec<(Section, Box<dyn Held>)>,
}

impl Effective {
    /// Of these sections, when nothing is written.
    pub fn defaults(sections: &[Section]) -> Self {
        let held = |section: &Section| (*section, section.hold());
        Self {
            held: sections.iter().map(held).collect(),
        }
    }

    /// The settings of a section.
    ///
    /// # Panics
    /// No section has such a table: that is a fault in weir, and any test that reads it finds it.
    pub fn of<T: Table>(&self) -> &T {
        self.tables().expect("a section of this configuration")
    }

    /// The settings of a section that has many tables, by name.
    ///
    /// # Panics
    /// As for [`Effective::of`].
    pub fn named<T: Table>(&self) -> &BTreeMap<String, T> {
        self.tables().expect("a section of this configuration")
    }

    /// The settings of a section, to be changed.
    ///
    /// # Panics
    /// As for [`Effective::of`].
    pub fn of_mut<T: Table>(&mut self) -> &mut T {
        let mut held = self.held.iter_mut().map(|(_, held)| held.tables_mut());
        held.find_map(|tables| tables.downcast_mut())
            .expect("a section of this configuration")
    }

    fn tables<T: 'static>(&self) -> Option<&T> {
        let mut held = self.held.iter().map(|(_, held)| held.tables());
        held.find_map(|tables| tables.downcast_ref())
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
            .flat_map(|(_, held)| held.entries())
            .collect()
    }

    /// When a change of a dotted key takes effect; `None`: there is none of that name.
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

    /// Lays something over what the file says: `offload.shadow`, by a flag. `false`: it cannot be.
    pub(super) fn lay_over(&mut self, dotted: &str, value: &DeValue<'_>, origin: &Origin) -> bool {
        let Some((path, key)) = dotted.rsplit_once('.') else {
            return false;
        };
        let held = self
            .held
            .iter_mut()
            .find(|(section, _)| section.name == path);
        held.is_some_and(|(_, held)| held.set(key, value, origin).is_ok())
    }
}

impl Clone for Effective {
    fn clone(&self) -> Self {
        let copied = |(section, held): &(Section, Box<dyn Held>)| (*section, held.copied());
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
