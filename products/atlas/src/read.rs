//! Reads files as snapshots: [`walk`] finds them, also in archives and at addresses; a [`Mapping`]
//! describes their format; [`import`] writes the snapshots to the store.
//!
//! Defects are read as well as possible, and noted for the ledger. A truncated or malformed file is
//! left out as a whole: in half a snapshot, communities would seem to be gone.

mod address;
mod archive;
mod entry;
mod file;
mod follow;
mod import;
mod json;
mod mapping;
mod moment;
mod onward;
mod pattern;
mod remarks;
mod remembered;
mod request;
mod shape;
mod snapshot;
mod source;
mod table;
mod tree;
mod utf8;
mod value;

pub use address::{fetch, is_address};
pub use archive::{ENDINGS, Found, Limits, Visit, open};
pub use follow::{Follower, PERIOD, Told, follow};
pub use import::{Progress, Sink, import};
pub use mapping::{BUILT_IN, Mapping};
pub use request::Pace;
pub use snapshot::snapshot;
pub use source::walk;
