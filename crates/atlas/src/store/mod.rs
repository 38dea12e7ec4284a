//! What was read, in SQLite, and the sums of it.

/// The tables.
pub const SCHEMA: &str = include_str!("schema.sql");
