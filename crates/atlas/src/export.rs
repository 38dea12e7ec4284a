//! export.
