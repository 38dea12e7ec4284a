//! Tests of the laboratory's parts.

mod frames;
mod namespaces;
mod oracle;
