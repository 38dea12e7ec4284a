//! Reads files as snapshots: [`walk`] finds them, also in archives and at addresses; a [`Mapping`]
//! describes their format; [`import`] writes the snapshots to the store.
//!
//! Entries with defects are parsed as far as possible, and noted for the ledger. A truncated or
//! malformed file is left out as a whole: in half a snapshot, communities would seem to be missing.

mod address;
mod archive;
mod entry;
mod file;
mod follow;
mod import;
mod json;
mod mapping;
mod pattern;
mod redirect;
mod remarks;
mod request;
mod shape;
mod snapshot;
mod source;
mod stored_response;
mod table;
mod timestamp;
mod tree;
mod utf8;
mod value;

pub use address::{fetch, is_address};
pub use archive::{ArchiveItem, ENDINGS, Limits, Visit, open};
pub use follow::{FollowResult, Follower, PERIOD, follow};
pub use import::{Progress, Sink, import};
pub use mapping::{BUILT_IN, Mapping};
pub use request::Pace;
pub use snapshot::snapshot;
pub use source::walk;
