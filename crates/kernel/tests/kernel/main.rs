//! The kernel of this machine, in namespaces of its own, and messages that it once sent.

mod bridges;
mod common;
mod decode;
mod ear;
mod expiry;
mod netns;
mod updates;
