//! The store: snapshots and their sums, in SQLite.
//!
//! The data folder has one file, `atlas.db`. A [`Writer`] adds snapshots; readers open the file
//! with [`open`]. [`version`] changes with each commit, so computed values stay valid until then.

mod counted;
mod file;
mod intern;
mod rollup;
#[cfg(test)]
pub(crate) mod sample;
mod standing;
#[cfg(test)]
mod tests;
mod whole;
mod writer;

pub use file::{FILE, open, version};
pub(crate) use file::{address, give_to_owner, plain_file, recognise};
pub(crate) use intern::profile;
pub(crate) use standing::{Stamp, Standing};
pub(crate) use whole::{is_damage, probe, whole};
pub use writer::{Digest, Known, Writer};

/// The tables.
pub const SCHEMA: &str = include_str!("store/schema.sql");
