//! Files of services, and errors of rendering.

use std::fmt;

/// Hardware of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    /// Radios of the machine.
    pub radios: Vec<Radio>,
}

/// A radio, as the kernel names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Radio {
    /// `phy0`.
    pub phy: String,
    /// Network device of the radio, `wlan0`.
    pub device: String,
    /// Location below `/sys/devices`: `option path` of a `wifi-device` is the end of this.
    pub path: String,
    /// `02:00:00:00:00:00`.
    pub mac: String,
}

/// Permissions of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// All users: 0644.
    All,
    /// Root: 0600.
    Root,
    /// Root and the group `systemd-network`, which networkd needs to read the file: 0640.
    Network,
}

/// Content of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A file.
    Text(String),
    /// A symbolic link.
    Link(String),
}

/// A rendered file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedFile {
    /// Path relative to the root of the file system.
    pub path: String,
    /// Content.
    pub content: Content,
    /// Permissions.
    pub access: Access,
}

impl RenderedFile {
    /// Returns the content without secrets, for display.
    pub fn shown(&self) -> String {
        let text = match &self.content {
            Content::Link(to) => return format!("-> {to}\n"),
            Content::Text(text) => text,
        };
        let mut shown = String::new();
        for line in text.lines() {
            let key = line.trim_start();
            let key = &key[..key.find([' ', '=']).unwrap_or(key.len())];
            match SECRETS.contains(&key) {
                true => line!(shown, "{key} (secret)"),
                false => line!(shown, "{line}"),
            }
        }
        shown
    }
}

/// Keys of secret values.
const SECRETS: [&str; 9] = [
    "PrivateKey",
    "PresharedKey",
    "password",
    "wpa_passphrase",
    "wpa_psk",
    "psk",
    "sae_password",
    "r0kh",
    "r1kh",
];

/// A value that cannot be rendered, and the expected form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// `network.wan.username`.
    pub at: String,
    /// Expected form.
    pub expected: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}", self.at, self.expected)
    }
}

/// An option that this back end does not render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `network.lan.igmp_snooping`.
    pub at: String,
    /// Cause, or substitute.
    pub what: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

/// The first line of every file.
const HEAD: &str = "# Made by `weir setup`; what is written here by hand is lost.\n";

/// Creates a text file.
pub(super) fn file(path: String, access: Access, text: &str) -> RenderedFile {
    RenderedFile {
        path,
        content: Content::Text(format!("{HEAD}{text}")),
        access,
    }
}
