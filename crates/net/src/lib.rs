//! Values of the network as text, and back. Pure, and of no module.

pub mod digits;
pub mod hex;
pub mod mac;
pub mod markup;

pub use mac::Mac;
