//! `[setup]`.

use std::path::PathBuf;

use crate::config::{Section, table};

/// What this module has in the file.
pub const SECTIONS: [Section; 1] = [Section::of::<Setup>("setup")];

table! {
    /// `[setup]`: the router's own configuration, in OpenWrt's format.
    Setup {
        /// Folder of the configuration.
        Restart root: PathBuf = "/etc/config".into();
        /// Folder of changes that are not committed yet.
        Restart changes: PathBuf = "/tmp/.uci".into();
        /// Folder in which changes are written down, and former states kept. On the same file
        /// system as the configuration, and one that is there after a start.
        Restart state: PathBuf = "/etc/weir/setup".into();
        /// Program that makes services take a new configuration. It is told the names of the
        /// packages that changed.
        Restart reload: PathBuf = "/sbin/reload_config".into();
    }
}
