//! What was read, in SQLite, and the sums of it.
//!
//! One file, `atlas.db`, in the data folder. A [`Writer`] puts snapshots into it; whoever reads
//! opens it with [`open`]. [`version`] changes with each commit, so that what was computed once
//! can be kept until then.

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
