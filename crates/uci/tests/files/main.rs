//! Files of UCI, as their users and libuci write them.

mod comments;
mod edits;
mod properties;
mod store;
