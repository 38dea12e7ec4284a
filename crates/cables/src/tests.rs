//! Arrangements.
