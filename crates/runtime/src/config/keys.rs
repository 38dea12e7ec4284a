//! Keys of a table. [`table!`] makes a table from rows: parser, output and manual come from a row.

use std::any::Any;
use std::fmt::Debug;

use serde_json::Value;
use toml::de::DeValue;

use super::setting::{Origin, Setting};
use super::values::{Bounded, Form, ValueError};

/// Key of a table of type `S`.
pub struct Key<S: 'static> {
    /// Name of the key in the file.
    pub name: &'static str,
    /// Effect of the key, a sentence or two; lines begin with a space.
    pub about: &'static str,
    /// Time at which a change takes effect.
    pub when: When,
    /// Allowed values, in words.
    pub allowed: fn() -> String,
    /// Reads it from the file.
    pub read: fn(&mut S, &DeValue<'_>, Origin) -> Result<(), ValueError>,
    /// Returns the value as written in the file.
    pub show: fn(&S) -> (Value, &Origin),
    /// Takes it over from another table, unless it has the same value.
    pub keep: fn(&mut S, &S),
}

/// When a change of a key takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At a reload.
    Live,
    /// After a restart of weir.
    Restart,
}

/// Settings with a name each. Made by [`table!`].
pub trait Table: Any + Clone + Debug + Default + PartialEq {
    /// Rows of the table, in the order of the manual.
    fn keys() -> &'static [Key<Self>];
}

/// Makes a struct of settings from rows: the documentation of each is the manual's text, too.
///
/// A row has `Live` or `Restart`, the name (`as "…"` if the file's differs), the type (`as FORM` if
/// from another crate, see [`Form`]), the default, and bounds if the type has any.
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
        $crate::config::keys::set($setting, $value, $origin, &$crate::__weir_key_form!($type $(as $form)?))
    };
    ($type:ty, $setting:expr, $value:expr, $origin:expr, $low:expr => $high:expr) => {
        $crate::config::keys::set_within($setting, $value, $origin, &($low..=$high))
    };
}

pub use crate::table;

/// Reads a setting.
pub fn set<T>(
    setting: &mut Setting<T>,
    value: &DeValue<'_>,
    origin: Origin,
    form: &Form<T>,
) -> Result<(), ValueError> {
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
) -> Result<(), ValueError> {
    let value = T::from_file_within(value, bounds)?;
    *setting = Setting { value, origin };
    Ok(())
}

/// Entry of the manual for a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyHelp {
    /// Section: `offload`, or `ports.NAME`.
    pub section: String,
    /// Key in it.
    pub name: &'static str,
    /// Effect of the key, a sentence or two.
    pub about: &'static str,
    /// Allowed values, in words.
    pub allowed: String,
    /// Value if the file has none.
    pub default: Value,
}
