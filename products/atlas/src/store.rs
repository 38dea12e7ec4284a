//! The store: snapshots and their sums, in SQLite.
//!
//! The data folder has one file, `atlas.db`. A [`Writer`] adds snapshots; readers open the file
//! with [`open`]. [`version`] changes with each commit, so computed values stay valid until then.

mod dedup;
mod file;
mod integrity;
mod intern;
mod open_file;
mod rollup;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
mod writer;

pub use file::{FILE, open, version};
pub(crate) use file::{address, give_to_owner, plain_file, recognise};
pub(crate) use integrity::{is_damage, probe, whole};
pub(crate) use intern::profile;
pub(crate) use open_file::{Stamp, Standing};
pub use writer::{Digest, ForeignWrites, Writer};

/// The tables.
pub const SCHEMA: &str = include_str!("store/schema.sql");
