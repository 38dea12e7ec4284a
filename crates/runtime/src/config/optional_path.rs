//! An optional path of a file.

use std::path::PathBuf;

use serde_json::Value;
use toml::de::DeValue;

use super::{FileValue, ValueError};

/// A path of a file, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionalPath(pub Option<PathBuf>);

impl FileValue for OptionalPath {
    const ALLOWED: &'static str = "an absolute path, in quotes, or \"\" for nothing";

    fn read(value: &DeValue<'_>) -> Result<Self, Option<ValueError>> {
        match value.as_str() {
            Some("") => Ok(Self(None)),
            _ => PathBuf::read(value).map(|path| Self(Some(path))),
        }
    }

    fn show(&self) -> Value {
        self.0
            .as_deref()
            .map_or("".into(), |path| path.to_string_lossy().into())
    }
}
