//! Functions that all kinds of crates need, and that belong to no module: values as text and back,
//! text in markup, bytes in order, checksums, the wall clock. The crate has no dependencies.

pub mod checksum;
pub mod clock;
pub mod cursor;
pub mod digits;
pub mod hex;
pub mod mac;
pub mod markup;

pub use cursor::Cursor;
pub use mac::Mac;
