//! Sections of the file, key by key. A module says with [`table!`] what its keys are, one row each,
//! and with [`Section`] under which name; reading, showing and the manual come from there.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use api::ConfigEntry;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::keys::KeyHelp;
use super::parse::Reader;
use super::setting::{Origin, Setting};
use super::values::{Bounded, FileValue, Wrong};

/// One key of a table of type `S`.
pub struct Key<S: 'static> {
    /// Its name in the file.
    pub name: &'static str,
    /// What it does, one sentence or two; lines begin with a space.
    pub about: &'static str,
    /// Whether a reload changes it; otherwise a restart does.
    pub when: When,
    /// What can be written, in words.
    pub allowed: fn() -> String,
    /// Reads it from the file.
    pub read: fn(&mut S, &DeValue<'_>, Origin) -> Result<(), Wrong>,
    /// As it would be in the file.
    pub show: fn(&S) -> (Value, &Origin),
}

/// When a change of a key takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At a reload.
    Live,
    /// When weir is started anew.
    Restart,
}

/// Settings with a name each. Made by [`table!`].
pub trait Table: Any + Clone + Debug + Default + PartialEq {
    /// Its rows, in the order of the manual.
    fn keys() -> &'static [Key<Self>];
}

/// Makes a struct of settings from rows: the documentation of each is the manual's text, too.
///
/// `Live` or `Restart`, name (`as "…"` where the file's is another one), type, default, and the
/// bounds of this key where its type has any.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $table:ident {
            $(
                $(#[doc = $about:literal])+
                $when:ident $key:ident $(as $name:literal)?: $type:ty = $default:expr
                    $(, $low:expr => $high:expr)?;
            )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $table {
            $($(#[doc = $about])+ pub $key: $crate::config::Setting<$type>,)*
        }

        impl Default for $table {
            fn default() -> Self {
                Self { $($key: $crate::config::Setting::default_value($default),)* }
            }
        }

        impl $crate::config::Table for $table {
            fn keys() -> &'static [$crate::config::Key<Self>] {
                const KEYS: &[$crate::config::Key<$table>] = &[$(
                    $crate::config::Key {
                        name: $crate::config::section::name!($key $($name)?),
                        about: concat!($($about),+),
                        when: $crate::config::When::$when,
                        allowed: || $crate::config::section::allowed!($type $(, $low => $high)?),
                        read: |all, value, origin| $crate::config::section::read!(
                            &mut all.$key, value, origin $(, $low => $high)?
                        ),
                        show: |all| (
                            $crate::config::FileValue::show(&all.$key.value),
                            &all.$key.origin,
                        ),
                    },
                )*];
                KEYS
            }
        }
    };
}

macro_rules! name {
    ($key:ident) => {
        stringify!($key)
    };
    ($key:ident $name:literal) => {
        $name
    };
}

macro_rules! allowed {
    ($type:ty) => {
        <$type as $crate::config::FileValue>::ALLOWED.to_owned()
    };
    ($type:ty, $low:expr => $high:expr) => {
        <$type as $crate::config::Bounded>::allowed(&($low..=$high))
    };
}

macro_rules! read {
    ($setting:expr, $value:expr, $origin:expr) => {
        $crate::config::section::set($setting, $value, $origin)
    };
    ($setting:expr, $value:expr, $origin:expr, $low:expr => $high:expr) => {
        $crate::config::section::set_within($setting, $value, $origin, &($low..=$high))
    };
}

pub(crate) use {allowed, name, read, table};

/// Reads a setting.
pub fn set<T: FileValue>(
    setting: &mut Setting<T>,
    value: &DeValue<'_>,
    origin: Origin,
) -> Result<(), Wrong> {
    let value = T::from_file(value)?;
    *setting = Setting { value, origin };
    Ok(())
}

/// Reads a setting that has bounds.
pub fn set_within<T: Bounded>(
    setting: &mut Setting<T>,
    value: &DeValue<'_>,
    origin: Origin,
    bounds: &std::ops::RangeInclusive<T>,
) -> Result<(), Wrong> {
    let value = T::from_file_within(value, bounds)?;
    *setting = Setting { value, origin };
    Ok(())
}

/// How tables with names of their own are called.
#[derive(Clone, Copy)]
pub struct Naming {
    /// Whether a name can be one.
    pub fits: fn(&str) -> bool,
    /// What one that cannot is not: `the name of a network device`.
    pub what: &'static str,
    /// What to write instead.
    pub mend: &'static str,
    /// Names are the same whatever their case.
    pub any_case: bool,
}

/// A section: a name, and what is in it.
#[derive(Clone, Copy)]
pub struct Section {
    /// Its name in the file; with a dot where it is within another one: `monitor.ipfix`.
    pub name: &'static str,
    make: fn(&'static str) -> Box<dyn Held>,
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
            make: |name| {
                Box::new(One {
                    name,
                    table: T::default(),
                })
            },
            naming: None,
        }
    }

    /// A section that has a table for each of many names: `[ports.NAME]`.
    pub const fn named<T: Table>(name: &'static str, naming: Naming) -> Self {
        Self {
            name,
            make: |name| {
                Box::new(Named::<T> {
                    name,
                    tables: BTreeMap::new(),
                })
            },
            naming: Some(naming),
        }
    }

    /// As it is when nothing is written.
    pub(super) fn hold(&self) -> Box<dyn Held> {
        (self.make)(self.name)
    }

    /// How its tables are called, where it has many.
    pub(super) fn naming(&self) -> Option<Naming> {
        self.naming
    }
}

/// What a section holds, whatever its type.
pub(super) trait Held: Debug {
    /// Names of its keys.
    fn keys(&self) -> Vec<&'static str>;
    /// Reads keys; `table`: the name of one of many.
    fn read(&mut self, reader: &mut Reader<'_>, keys: &DeTable<'_>, table: Option<&str>);
    /// Every key with its value and its origin.
    fn entries(&self) -> Vec<ConfigEntry>;
    /// What the manual says.
    fn help(&self) -> Vec<KeyHelp>;
    /// When a change of a key of this name takes effect.
    fn when(&self, key: &str) -> Option<When>;
    /// Sets one key, where there is one table.
    fn set(&mut self, key: &str, value: &DeValue<'_>, origin: &Origin) -> Result<(), Wrong>;
    /// The table, or all tables by name.
    fn tables(&self) -> &dyn Any;
    /// The same, to be changed.
    fn tables_mut(&mut self) -> &mut dyn Any;
    /// A copy.
    fn copied(&self) -> Box<dyn Held>;
    /// Whether another one, of the same section, has the same settings.
    fn same(&self, other: &dyn Held) -> bool;
}

#[derive(Clone, Debug, PartialEq)]
struct One<T> {
    name: &'static str,
    table: T,
}

#[derive(Clone, Debug, PartialEq)]
struct Named<T> {
    name: &'static str,
    tables: BTreeMap<String, T>,
}

fn names<T: Table>() -> Vec<&'static str> {
    T::keys().iter().map(|key| key.name).collect()
}

fn when<T: Table>(key: &str) -> Option<When> {
    let found = T::keys().iter().find(|known| known.name == key)?;
    Some(found.when)
}

fn entries<'a, T: Table>(
    table: &'a T,
    dotted: impl Fn(&str) -> String + 'a,
) -> impl Iterator<Item = ConfigEntry> + 'a {
    T::keys().iter().map(move |key| {
        let (value, origin) = (key.show)(table);
        ConfigEntry {
            key: dotted(key.name),
            value,
            origin: origin.to_string(),
        }
    })
}

fn help<T: Table>(section: &str) -> Vec<KeyHelp> {
    let table = T::default();
    let of = |key: &Key<T>| KeyHelp {
        section: section.to_owned(),
        name: key.name,
        about: key.about.trim(),
        allowed: (key.allowed)(),
        default: (key.show)(&table).0,
    };
    T::keys().iter().map(of).collect()
}

impl<T: Table> Held for One<T> {
    fn keys(&self) -> Vec<&'static str> {
        names::<T>()
    }

    fn read(&mut self, reader: &mut Reader<'_>, keys: &DeTable<'_>, _: Option<&str>) {
        let name = self.name;
        reader.keys(name, keys, &mut self.table, |key| format!("{name}.{key}"));
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        entries(&self.table, |key| format!("{}.{key}", self.name)).collect()
    }

    fn help(&self) -> Vec<KeyHelp> {
        help::<T>(self.name)
    }

    fn when(&self, key: &str) -> Option<When> {
        when::<T>(key)
    }

    fn set(&mut self, key: &str, value: &DeValue<'_>, origin: &Origin) -> Result<(), Wrong> {
        match T::keys().iter().find(|known| known.name == key) {
            Some(known) => (known.read)(&mut self.table, value, origin.clone()),
            None => Err(Wrong::no_key()),
        }
    }

    fn tables(&self) -> &dyn Any {
        &self.table
    }

    fn tables_mut(&mut self) -> &mut dyn Any {
        &mut self.table
    }

    fn copied(&self) -> Box<dyn Held> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Held) -> bool {
        other.tables().downcast_ref() == Some(&self.table)
    }
}

impl<T: Table> Held for Named<T> {
    fn keys(&self) -> Vec<&'static str> {
        names::<T>()
    }

    fn read(&mut self, reader: &mut Reader<'_>, keys: &DeTable<'_>, table: Option<&str>) {
        let Some(name) = table else { return };
        let mut settings = T::default();
        let section = self.name;
        reader.keys(section, keys, &mut settings, |key| {
            named_key(section, name, key)
        });
        self.tables.insert(name.to_owned(), settings);
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let mut all = Vec::new();
        for (name, table) in &self.tables {
            all.extend(entries(table, |key| named_key(self.name, name, key)));
        }
        all
    }

    fn help(&self) -> Vec<KeyHelp> {
        help::<T>(&format!("{}.NAME", self.name))
    }

    fn when(&self, key: &str) -> Option<When> {
        when::<T>(key)
    }

    fn set(&mut self, _: &str, _: &DeValue<'_>, _: &Origin) -> Result<(), Wrong> {
        Err(Wrong::no_key())
    }

    fn tables(&self) -> &dyn Any {
        &self.tables
    }

    fn tables_mut(&mut self) -> &mut dyn Any {
        &mut self.tables
    }

    fn copied(&self) -> Box<dyn Held> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Held) -> bool {
        other.tables().downcast_ref() == Some(&self.tables)
    }
}

/// Dotted key of a setting in a table with a name of its own, which is quoted where TOML wants it
/// quoted (`ports."eth0.10".hook`).
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
