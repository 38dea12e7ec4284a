//! Tests of the wizard and its document from outside.

mod setup;
mod setup_debian;
mod setup_document;
