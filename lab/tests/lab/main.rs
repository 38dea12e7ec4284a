//! The laboratory's own parts.

mod frames;
mod namespaces;
mod oracle;
