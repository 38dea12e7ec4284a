//! Files to snapshots: [`walk`] finds them, also in archives and at addresses; a
//! [`Mapping`] says what they look like; [`import`] hands what comes of it to the store.
//!
//! What is not as it should be is read as well as can be, and remarked for the ledger. A file that
//! breaks off, or is no JSON at all, is left out as a whole: half a snapshot would look like
//! communities that have gone.

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
