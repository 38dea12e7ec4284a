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
        /// Folder of changes that are not committed yet.
        Restart changes: PathBuf = "/tmp/.uci".into();
        /// Folder in which changes are written down, and former states kept. On the same file
        /// system as the configuration, and one that is there after a start.
        Restart state: PathBuf = "/etc/weir/setup".into();
        /// Program that makes services take a new configuration. It is told the names of the
        /// packages that changed.
        Restart reload: PathBuf = "/sbin/reload_config".into();
        /// How good a new password of the administrator's has to be. strength: 8 characters, and
        /// hard to guess; classes: 10, with small and large letters, digits and others.
        Restart password: Password = Password::Strength;
        /// Socket at which `weir setup serve` is asked, by the daemon alone.
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
