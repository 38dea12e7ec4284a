//! OpenWrt's configuration files: parsed like libuci, edited in place, and written so that
//! unchanged parts stay the same octet for octet, comments and order included.
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
//! [`Package`] is one file, without any I/O. [`Store`] is the folder of files, with the uncommitted
//! changes (`/tmp/.uci`). [`Address`] is `network.lan.proto=dhcp`; [`Change`] is a line of
//! uncommitted changes.
//!
//! The behaviour follows libuci's source (<https://git.openwrt.org/project/uci.git>), and tests
//! compare with the real libuci. Values are octets: files need not be UTF-8.
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

pub use address::{Address, SectionRef};
pub use change::{Change, Verb};
pub use error::{Error, Keyword, Reason, Syntax};
pub use export::{NameStyle, export, shown};
pub use import::import;
pub use names::{is_name, is_package, is_type, is_value};
pub use package::{Package, Strictness};
pub use scan::arguments;
pub use section::{Element, Section};
pub use store::{OpenPackage, Store};
pub use text::quoted;
