//! Values of the network as text, and back. Pure, and of no module.

pub mod cursor;
pub mod digits;
pub mod hex;
pub mod mac;
pub mod markup;

pub use cursor::Cursor;
pub use mac::Mac;
