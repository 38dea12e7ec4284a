//! Radios of mac80211_hwsim, which hear each other at -30 dBm where there is no `lab::medium`.

use std::process::Command;

use lab::{Error, Namespace};

/// Every radio has this name in its namespace.
pub const RADIO: &str = "wlan0";

fn unexpected(text: impl Into<String>) -> Error {
    Error::Unexpected(text.into())
}

/// Runs a command line outside of all namespaces.
///
/// # Errors
/// What it said.
pub fn outside(line: &str) -> Result<(), Error> {
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().unwrap_or_default())
        .args(words)
        .output()
        .map_err(Error::system(line.to_owned()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(unexpected(format!(
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        ))),
    }
}

/// A radio for each of these, moved there. Gives their names as the kernel has them.
///
/// # Errors
/// The kernel has no mac80211_hwsim.
pub fn radios(nodes: &[&Namespace]) -> Result<Vec<String>, Error> {
    load(nodes.len())?;
    place(nodes)
}

/// The same, as `lab::medium` needs them. Access points may use channels of 5 GHz.
///
/// # Errors
/// The kernel has no mac80211_hwsim.
pub fn radios_of_medium(nodes: &[&Namespace]) -> Result<Vec<String>, Error> {
    load(0)?;
    lab::medium::add_radios(nodes.len())?;
    place(nodes)
}

fn load(count: usize) -> Result<(), Error> {
    // Those of a test before this.
    let _ = outside("modprobe -r mac80211_hwsim");
    outside(&format!("modprobe mac80211_hwsim radios={count}"))
}

fn place(nodes: &[&Namespace]) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let classes = std::fs::read_dir("/sys/class/net").map_err(Error::system("list devices"))?;
    for device in classes.flatten() {
        if let Ok(radio) = std::fs::read_to_string(device.path().join("phy80211/name")) {
            let name = device.file_name().to_string_lossy().into_owned();
            found.push((radio.trim().to_owned(), name));
        }
    }
    found.sort();
    if found.len() != nodes.len() {
        return Err(unexpected(format!("radios: {found:?}")));
    }
    for ((radio, device), node) in found.iter().zip(nodes) {
        outside(&format!("iw phy {radio} set netns name {}", node.name()))?;
        node.run(&format!("ip link set {device} name {RADIO}"))?;
    }
    Ok(found.into_iter().map(|(radio, _)| radio).collect())
}
