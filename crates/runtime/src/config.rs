//! The configuration file: `/etc/weir/weir.toml`.
//!
//! Modules define the sections, with the rows of each ([`Table`]). [`parse`] is pure: text in,
//! [`Effective`] or every error of the text out. [`Source`] remembers the file and the command
//! line, so that a reload parses the same again.

mod effective;
mod error;
mod file;
pub mod keys;
mod macs;
mod naming;
mod optional_path;
mod own;
mod parse;
mod reader;
mod section;
mod setting;
mod suggest;
mod text;
mod uci;
mod values;

pub use effective::Effective;
pub use error::ConfigError;
pub use file::{DEFAULT_FILE, Flag, Source, configured_socket};
pub use keys::{Key, KeyHelp, Table, When, table};
pub use macs::Macs;
pub use naming::Naming;
pub use optional_path::OptionalPath;
pub use own::{Api, Log, LogLevel, SECTIONS};
pub use parse::{parse, parse_recoverable};
pub use section::{Section, help};
pub use setting::{Origin, Setting};
pub use uci::lay as lay_uci;
pub use values::{
    Bounded, ByteSize, DeviceName, FileValue, Form, Rate, ValueError, absolute, integer, list,
    named, near, words,
};
