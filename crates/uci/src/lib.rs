//! OpenWrt's configuration files: read as libuci reads them, edited in place, written so that what
//! was not changed is the same octet for octet, comments and order too.
//!
//! ```
//! use weir_uci::Package;
//!
//! let text = b"# how the cellar is reached\nconfig interface 'lan'   # wired\n\toption proto static\n";
//! let mut network = Package::read("network", text)?;
//! network.set("lan", "proto", b"dhcp")?;
//! network.add_list("lan", "dns", b"9.9.9.9")?;
//! assert_eq!(
//!     network.text(),
//!     b"# how the cellar is reached\nconfig interface 'lan'   # wired\n\toption proto 'dhcp'\n\tlist dns '9.9.9.9'\n"
//! );
//! # Ok::<(), weir_uci::Error>(())
//! ```
//!
//! [`Package`] is one file, without any I/O. [`Store`] is the folder of them, with the changes that
//! are not committed yet (`/tmp/.uci`). [`Address`] is `network.lan.proto=dhcp`; [`Change`] a line
//! of what is not committed.
//!
//! What libuci does was learned from its source (<https://git.openwrt.org/project/uci.git>) and is
//! held against the real one by tests. Values are octets: nothing in a file has to be UTF-8.
#![forbid(unsafe_code)]

mod address;
mod change;
mod document;
mod error;
mod export;
mod import;
mod names;
mod package;
mod scan;
mod section;
mod store;
mod text;

pub use address::{Address, Which};
pub use change::{Change, Verb};
pub use error::{Error, Keyword, Reason, Syntax};
pub use export::{Names, export, shown};
pub use import::import;
pub use names::{is_name, is_package, is_type, is_value};
pub use package::{Package, Strictness};
pub use scan::arguments;
pub use section::{Element, Section};
pub use store::{Opened, Store};
pub use text::quoted;
