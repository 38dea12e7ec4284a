//! Sections of the file, key by key. A module says with [`table!`] what its keys are, one row each,
//! and with [`Section`] under which name; reading, showing and the manual come from there.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use answers::ConfigEntry;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::keys::KeyHelp;
use super::parse::Reader;
use super::setting::{Origin, Setting};
use super::values::{Bounded, Form, Wrong};

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
    /// Takes it over from another table, unless it has the same value.
    pub keep: fn(&mut S, &S),
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
/// `Live` or `Restart`, name (`as "…"` where the file's is another one), type (`as FORM` where it belongs to another
/// crate, see [`Form`]), default, and the bounds of this key where its type has any.
#[macro_export]
macro_rules! table {
    (
        $(#[$doc:meta])*
        $table:ident {
            $(
                $(#[doc = $about:literal])+
                $when:ident $key:ident $(as $name:literal)?: $type:ty $(as $form:path)? = $default:expr
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
                        name: $crate::__weir_key_name!($key $($name)?),
                        about: concat!($($about),+),
                        when: $crate::config::When::$when,
                        allowed: || $crate::__weir_key_allowed!($type $(as $form)? $(, $low => $high)?),
                        read: |all, value, origin| $crate::__weir_key_read!(
                            $type $(as $form)?, &mut all.$key, value, origin $(, $low => $high)?
                        ),
                        show: |all| (
                            ($crate::__weir_key_form!($type $(as $form)?).show)(&all.$key.value),
                            &all.$key.origin,
                        ),
                        keep: |all, other| if all.$key.value != other.$key.value {
                            all.$key = other.$key.clone();
                        },
                    },
                )*];
                KEYS
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __weir_key_name {
    ($key:ident) => {
        stringify!($key)
    };
    ($key:ident $name:literal) => {
        $name
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __weir_key_form {
    ($type:ty) => {
        $crate::config::Form::<$type>::OWN
    };
    ($type:ty as $form:path) => {
        $form
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __weir_key_allowed {
    ($type:ty $(as $form:path)?) => {
        $crate::__weir_key_form!($type $(as $form)?).allowed.to_owned()
    };
    ($type:ty, $low:expr => $high:expr) => {
        <$type as $crate::config::Bounded>::allowed(&($low..=$high))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __weir_key_read {
    ($type:ty $(as $form:path)?, $setting:expr, $value:expr, $origin:expr) => {
        $crate::config::section::set($setting, $value, $origin, &$crate::__weir_key_form!($type $(as $form)?))
    };
    ($type:ty, $setting:expr, $value:expr, $origin:expr, $low:expr => $high:expr) => {
        $crate::config::section::set_within($setting, $value, $origin, &($low..=$high))
    };
}

pub use crate::table;

/// Reads a setting.
pub fn set<T>(
    setting: &mut Setting<T>,
    value: &DeValue<'_>,
    origin: Origin,
    form: &Form<T>,
) -> Result<(), Wrong> {
    let value = form.from_file(value)?;
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
    pub hint: &'static str,
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
    /// Reads the keys of its table, or of one of many, which has this name.
    fn read(&mut self, reader: &mut Reader<'_>, keys: &DeTable<'_>, table: Option<&str>);
    /// Every key with its value and its origin; `many`: of the tables that have names.
    fn entries(&self, many: bool) -> Vec<ConfigEntry>;
    /// What the manual says.
    fn help(&self, many: bool) -> Vec<KeyHelp>;
    /// When a change of a key of this name takes effect.
    fn when(&self, key: &str) -> Option<When>;
    /// Sets one key of its table.
    fn set(&mut self, key: &str, value: &DeValue<'_>, origin: &Origin) -> Result<(), Wrong>;
    /// Takes the keys that a reload does not change over from what ran before, of the same section.
    fn keep(&mut self, before: &dyn Held);
    /// Its [`Tables`].
    fn tables(&self) -> &dyn Any;
    /// The same, to be changed.
    fn tables_mut(&mut self) -> &mut dyn Any;
    /// A copy.
    fn copied(&self) -> Box<dyn Held>;
    /// Whether another one, of the same section, has the same settings.
    fn same(&self, other: &dyn Held) -> bool;
}

/// The tables of a section: the one that it is, or those that have names of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tables<T> {
    section: &'static str,
    pub(super) one: T,
    pub(super) named: BTreeMap<String, T>,
}

impl<T: Table> Tables<T> {
    fn hold(section: &'static str) -> Box<dyn Held> {
        Box::new(Self {
            section,
            ..Self::default()
        })
    }
}

impl<T: Table> Held for Tables<T> {
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

    fn set(&mut self, key: &str, value: &DeValue<'_>, origin: &Origin) -> Result<(), Wrong> {
        let known = T::keys().iter().find(|known| known.name == key);
        let known = known.ok_or_else(Wrong::no_key)?;
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

    fn keep(&mut self, before: &dyn Held) {
        let Some(before) = before.tables().downcast_ref::<Self>() else {
            return;
        };
        // A table that has come has what it had before it was written.
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

    fn copied(&self) -> Box<dyn Held> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Held) -> bool {
        other.tables().downcast_ref() == Some(self)
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
