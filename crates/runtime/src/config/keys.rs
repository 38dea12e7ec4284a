//! What the manual says of all keys.

use serde_json::Value;

use super::section::Section;

/// What the manual says of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyHelp {
    /// Section: `offload`, or `ports.NAME`.
    pub section: String,
    /// Key in it.
    pub name: &'static str,
    /// What it does, one sentence or two.
    pub about: &'static str,
    /// What can be written, in words.
    pub allowed: String,
    /// What it is when nothing is written.
    pub default: Value,
}

/// Every key, in the order of the manual.
pub fn help(sections: &[Section]) -> Vec<KeyHelp> {
    let help = |section: &Section| section.hold().help(section.naming().is_some());
    sections.iter().flat_map(help).collect()
}
