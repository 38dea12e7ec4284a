//! Past traffic by hour, day and month, per device and application, in an SQLite file that spares
//! flash; and quotas.
//!
//! * [`periods`] and [`zone`] compute the begin of an hour, a day, a month: pure.
//! * [`store`] is the file and its pending data. Synchronous; callers pass the time.
//! * [`store_thread`] runs a store in a thread of its own: a write to flash may take seconds, and
//!   the daemon's loop must not wait for it.
//! * [`quota`] compares usage with limits: pure. [`nft`] writes the rules that keep a device from
//!   the network: pure text.

mod pending;
mod schema;
mod words;
mod write;

pub mod error;
pub mod nft;
pub mod periods;
pub mod query;
pub mod quota;
pub mod settings;
pub mod store;
pub mod store_thread;
pub mod usage;
pub mod zone;

pub use error::Error;
pub use periods::{Calendar, Span, Unit, Weekday};
pub use query::{By, Key, Part, Period, Query};
pub use settings::Settings;
pub use store::Store;
pub use store_thread::{Delta, StoreThread, Task, ThreadHost};
pub use usage::Usage;

pub use net::Mac;
