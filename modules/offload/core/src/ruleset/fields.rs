//! Fields of objects of a ruleset, and errors in them.

use std::fmt;

use serde_json::{Map, Value};

use super::early;

/// Error while reading a ruleset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesetError {
    /// Location: line and column, or the path of the value, such as `nftables[3].rule.handle`.
    pub place: String,
    /// Problem at that location.
    pub problem: String,
}

impl fmt::Display for RulesetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nft ruleset, {}: {}", self.place, self.problem)
    }
}

impl std::error::Error for RulesetError {}

/// Parses the JSON of `nft -j list ruleset`, without conditions on connections in rules that come
/// before conntrack.
///
/// # Errors
/// The text is not JSON.
pub fn parse(json: &str) -> Result<Value, RulesetError> {
    let mut root = serde_json::from_str(json).map_err(|error| RulesetError {
        place: format!("line {}, column {}", error.line(), error.column()),
        problem: error.to_string(),
    })?;
    early::forget(&mut root);
    Ok(root)
}

/// An object's fields, with its path for messages.
pub(super) struct Fields<'a> {
    pub(super) place: String,
    pub(super) map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(super) fn text(&self, name: &str) -> Result<&'a str, RulesetError> {
        self.map
            .get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| self.error(name, "expected a string"))
    }

    pub(super) fn number(&self, name: &str) -> Result<u64, RulesetError> {
        self.map
            .get(name)
            .and_then(Value::as_u64)
            .ok_or_else(|| self.error(name, "expected a number"))
    }

    /// Parses a string or an array of strings; empty if left out.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, RulesetError> {
        match self.map.get(name) {
            None => Ok(Vec::new()),
            Some(Value::String(one)) => Ok(vec![one.clone()]),
            Some(Value::Array(many)) => many
                .iter()
                .map(|one| {
                    one.as_str()
                        .map(str::to_owned)
                        .ok_or_else(|| self.error(name, "expected strings"))
                })
                .collect(),
            Some(_) => Err(self.error(name, "expected a string or an array")),
        }
    }

    pub(super) fn error(&self, name: &str, problem: &str) -> RulesetError {
        RulesetError {
            place: format!("{}.{name}", self.place),
            problem: problem.to_owned(),
        }
    }
}
