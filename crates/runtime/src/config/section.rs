//! Sections of the file. A module declares its keys with [`table!`](super::table), and the name of
//! its section with [`Section`].

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use answers::ConfigEntry;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::keys::{Key, KeyHelp, Table, When};
use super::naming::Naming;
use super::reader::Reader;
use super::setting::Origin;
use super::values::ValueError;

/// A section: a name, and its keys.
#[derive(Clone, Copy)]
pub struct Section {
    /// Name of the section in the file; with a dot if within another one: `monitor.ipfix`.
    pub name: &'static str,
    make: fn(&'static str) -> Box<dyn SectionValues>,
    naming: Option<Naming>,
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.name)
    }
}

impl Section {
    /// A section with the keys of a table.
    pub const fn of<T: Table>(name: &'static str) -> Self {
        Self {
            name,
            make: Tables::<T>::hold,
            naming: None,
        }
    }

    /// A section that has a table for each of many names: `[ports.NAME]`.
    pub const fn named<T: Table>(name: &'static str, naming: Naming) -> Self {
        Self {
            name,
            make: Tables::<T>::hold,
            naming: Some(naming),
        }
    }

    /// Returns the default values of the section.
    pub(super) fn hold(&self) -> Box<dyn SectionValues> {
        (self.make)(self.name)
    }

    /// Rule for the names of the tables, if the section has many.
    pub(super) fn naming(&self) -> Option<Naming> {
        self.naming
    }
}

/// Values of a section, whatever their type.
pub(super) trait SectionValues: Debug {
    /// Names of its keys.
    fn keys(&self) -> Vec<&'static str>;
    /// Reads the keys of its table, or of one of many, which has this name.
    fn read(&mut self, reader: &mut Reader<'_>, keys: &DeTable<'_>, table: Option<&str>);
    /// Every key with its value and its origin; `many`: of the tables that have names.
    fn entries(&self, many: bool) -> Vec<ConfigEntry>;
    /// Returns the manual text of each key.
    fn help(&self, many: bool) -> Vec<KeyHelp>;
    /// When a change of a key of this name takes effect.
    fn when(&self, key: &str) -> Option<When>;
    /// Sets one key of its table.
    fn set(&mut self, key: &str, value: &DeValue<'_>, origin: &Origin) -> Result<(), ValueError>;
    /// Takes the keys that a reload does not change over from what ran before, of the same section.
    fn keep(&mut self, before: &dyn SectionValues);
    /// Returns the [`Tables`] of the section.
    fn tables(&self) -> &dyn Any;
    /// Returns the tables for changes.
    fn tables_mut(&mut self) -> &mut dyn Any;
    /// A copy.
    fn copied(&self) -> Box<dyn SectionValues>;
    /// Returns true if `other`, of the same section, has the same settings.
    fn same(&self, other: &dyn SectionValues) -> bool;
}

/// Tables of a section: a single one, or those with names of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tables<T> {
    section: &'static str,
    pub(super) one: T,
    pub(super) named: BTreeMap<String, T>,
}

impl<T: Table> Tables<T> {
    fn hold(section: &'static str) -> Box<dyn SectionValues> {
        Box::new(Self {
            section,
            ..Self::default()
        })
    }
}

impl<T: Table> SectionValues for Tables<T> {
    fn keys(&self) -> Vec<&'static str> {
        T::keys().iter().map(|key| key.name).collect()
    }

    fn read(&mut self, reader: &mut Reader<'_>, keys: &DeTable<'_>, table: Option<&str>) {
        let section = self.section;
        match table {
            None => reader.keys(section, keys, &mut self.one, |key| {
                format!("{section}.{key}")
            }),
            Some(name) => {
                let mut settings = T::default();
                reader.keys(section, keys, &mut settings, |key| {
                    named_key(section, name, key)
                });
                self.named.insert(name.to_owned(), settings);
            }
        }
    }

    fn set(&mut self, key: &str, value: &DeValue<'_>, origin: &Origin) -> Result<(), ValueError> {
        let known = T::keys().iter().find(|known| known.name == key);
        let known = known.ok_or_else(ValueError::no_key)?;
        (known.read)(&mut self.one, value, origin.clone())
    }

    fn entries(&self, many: bool) -> Vec<ConfigEntry> {
        let of = |table: &T, key: &Key<T>, name: String| {
            let (value, origin) = (key.show)(table);
            let origin = origin.to_string();
            ConfigEntry {
                key: name,
                value,
                origin,
            }
        };
        let (section, keys) = (self.section, T::keys().iter());
        if !many {
            return keys
                .map(|key| of(&self.one, key, format!("{section}.{}", key.name)))
                .collect();
        }
        let of_table = |(name, table): (&String, &T)| {
            let of = |key: &Key<T>| of(table, key, named_key(section, name, key.name));
            keys.clone().map(of).collect::<Vec<_>>()
        };
        self.named.iter().flat_map(of_table).collect()
    }

    fn help(&self, many: bool) -> Vec<KeyHelp> {
        let table = T::default();
        let of = |key: &Key<T>| KeyHelp {
            section: match many {
                true => format!("{}.NAME", self.section),
                false => self.section.to_owned(),
            },
            name: key.name,
            about: key.about.trim(),
            allowed: (key.allowed)(),
            default: (key.show)(&table).0,
        };
        T::keys().iter().map(of).collect()
    }

    fn when(&self, key: &str) -> Option<When> {
        let found = T::keys().iter().find(|known| known.name == key)?;
        Some(found.when)
    }

    fn keep(&mut self, before: &dyn SectionValues) {
        let Some(before) = before.tables().downcast_ref::<Self>() else {
            return;
        };
        // An optional table that appears has the values from before it was written.
        let none = T::default();
        let named = self.named.iter_mut().map(|(name, table)| {
            let before = before.named.get(name).unwrap_or(&none);
            (table, before)
        });
        for (table, before) in named.chain([(&mut self.one, &before.one)]) {
            for key in T::keys().iter().filter(|key| key.when == When::Restart) {
                (key.keep)(table, before);
            }
        }
    }

    fn tables(&self) -> &dyn Any {
        self
    }

    fn tables_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn copied(&self) -> Box<dyn SectionValues> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn SectionValues) -> bool {
        other.tables().downcast_ref() == Some(self)
    }
}

/// Returns the dotted key of a setting in a table with a name of its own, quoted if TOML requires
/// it (`ports."eth0.10".hook`).
fn named_key(section: &str, name: &str, key: &str) -> String {
    let bare = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if bare {
        format!("{section}.{name}.{key}")
    } else {
        format!("{section}.{}.{key}", Value::from(name))
    }
}

/// Every key, in the order of the manual.
pub fn help(sections: &[Section]) -> Vec<KeyHelp> {
    let help = |section: &Section| section.hold().help(section.naming().is_some());
    sections.iter().flat_map(help).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_quoted() {
        assert_eq!(named_key("ports", "eth0", "hook"), "ports.eth0.hook");
        assert_eq!(
            named_key("ports", "eth0.10", "hook"),
            "ports.\"eth0.10\".hook"
        );
    }
}
