//! Files of UCI, as written by users and libuci.

mod comments;
mod edits;
mod properties;
mod store;
