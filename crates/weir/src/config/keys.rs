//! All keys: one table, from which the file is read, the effective configuration shown and the manual written.

use serde_json::Value;
use toml::de::DeValue;

use super::settings::{Effective, Origin, PortSettings, Setting};
use super::values::{FileValue, Wrong};

/// One key of a section of type `S`.
pub(super) struct Key<S: 'static> {
    pub(super) name: &'static str,
    pub(super) read: fn(&mut S, &DeValue<'_>, Origin) -> Result<(), Wrong>,
    pub(super) show: fn(&S) -> (Value, &Origin),
    allowed: &'static str,
    about: &'static str,
}

/// One section, `[name]`.
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) keys: &'static [Key<Effective>],
}

fn set<T: FileValue>(setting: &mut Setting<T>, value: &DeValue<'_>, origin: Origin) -> Result<(), Wrong> {
    *setting = Setting { value: T::from_file(value)?, origin };
    Ok(())
}

fn allowed<T: FileValue>(_: fn(&Effective) -> &Setting<T>) -> &'static str {
    T::ALLOWED
}

macro_rules! key {
    ($name:literal, $section:ident . $field:ident : $type:ty, $about:literal) => {
        Key {
            name: $name,
            read: |all: &mut Effective, value, origin| set(&mut all.$section.$field, value, origin),
            show: |all: &Effective| (all.$section.$field.value.show(), &all.$section.$field.origin),
            allowed: <$type as FileValue>::ALLOWED,
            about: $about,
        }
    };
}
