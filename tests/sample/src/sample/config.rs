//! `[sample]`.

use runtime::config::{FileValue, Section, ValueError, table};
use serde_json::Value;
use toml::de::DeValue;

/// Section of this module in the file.
pub const SECTIONS: [Section; 1] = [Section::of::<Greeting>("sample")];

table! {
    /// `[sample]`: whom to greet.
    Greeting {
        /// Recipient of the greeting.
        Live whom: Whom = Whom("world".to_owned());
    }
}

/// A name to greet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whom(pub String);

impl FileValue for Whom {
    const ALLOWED: &'static str = "a name, in quotes";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        match value.as_str() {
            Some(name) if !name.is_empty() => Ok(Self(name.to_owned())),
            _ => Err(None),
        }
    }

    fn show(&self) -> Value {
        self.0.clone().into()
    }
}
