//! Names of tables.

/// Rule for the names of tables.
#[derive(Clone, Copy)]
pub struct Naming {
    /// Returns true if a name is allowed.
    pub fits: fn(&str) -> bool,
    /// Noun for a valid name: `the name of a network device`.
    pub what: &'static str,
    /// Hint for a name that is not allowed.
    pub hint: &'static str,
    /// True if upper and lower case make no difference.
    pub any_case: bool,
}
