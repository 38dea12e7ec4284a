//! `[setup]`.

use std::path::PathBuf;

use runtime::config::{Section, table, words};
use setup_core::plan::Policy;

/// Sections of this module in the configuration.
pub const SECTIONS: [Section; 1] = [Section::of::<Setup>("setup")];

table! {
    /// `[setup]`: the router's own configuration, in OpenWrt's format.
    Setup {
        /// Folder of the configuration.
        Restart root: PathBuf = "/etc/config".into();
        /// Folder of uncommitted changes.
        Restart changes: PathBuf = "/tmp/.uci".into();
        /// Folder of the list of changes and of former states. It must be on the file system of the
        /// configuration, and persist across restarts.
        Restart state: PathBuf = "/etc/weir/setup".into();
        /// Program that makes services apply a new configuration. It gets the names of the changed
        /// packages.
        Restart reload: PathBuf = "/sbin/reload_config".into();
        /// Required strength of a new administrator password. strength: 8 characters, and hard to
        /// guess; classes: 10, with small and large letters, digits and others.
        Restart password: Password = Password::Strength;
        /// Socket of `weir setup serve`, for the daemon only.
        Restart socket: PathBuf = "/run/weir-setup/socket".into();
    }
}

/// Required strength of a password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Password {
    /// 8 characters, and hard to guess.
    #[default]
    Strength,
    /// 10 characters of all four kinds.
    Classes,
}

words!(Password, "\"strength\" or \"classes\"",
    "strength" => Self::Strength, "classes" => Self::Classes);

impl From<Password> for Policy {
    fn from(password: Password) -> Self {
        match password {
            Password::Strength => Self::Strength,
            Password::Classes => Self::Classes,
        }
    }
}
