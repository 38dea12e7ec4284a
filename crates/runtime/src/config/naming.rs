//! Names of tables.

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
