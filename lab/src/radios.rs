//! Radios of mac80211_hwsim. Without [`crate::medium`], radios receive each other at -30 dBm.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::{Error, Namespace, unexpected};

/// Name of every radio in its namespace.
pub const RADIO: &str = "wlan0";

/// Runs a command line outside all namespaces.
///
/// # Errors
/// Fails with the command's standard error.
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

/// Makes a radio for each node and moves the radio there. Returns the kernel's names of the radios.
///
/// # Errors
/// Fails if the kernel lacks mac80211_hwsim.
pub fn radios(nodes: &[&Namespace]) -> Result<Vec<String>, Error> {
    load(nodes.len())?;
    place(nodes)
}

/// Makes radios for [`crate::medium`]. Access points may use channels of 5 and 6 GHz.
///
/// # Errors
/// Fails if the kernel lacks mac80211_hwsim.
pub fn radios_of_medium(nodes: &[&Namespace]) -> Result<Vec<String>, Error> {
    load(0)?;
    crate::medium::add_radios(nodes.len())?;
    place(nodes)
}

/// Sets the country for radios without their own rules, as those of [`radios`]. "00" restores the
/// initial rules, which belong to no country.
///
/// # Errors
/// Fails if the kernel lacks these rules (Debian: package wireless-regdb).
pub fn country(code: &str) -> Result<(), Error> {
    outside(&format!("iw reg set {code}"))?;
    crate::namespace::wait_until("the country's rules", Duration::from_secs(10), || {
        let told = Command::new("iw").args(["reg", "get"]).output();
        let told = told.map_err(Error::system("iw reg get"))?;
        Ok(String::from_utf8_lossy(&told.stdout).contains(&format!("country {code}:")))
    })
}

/// Returns true if the module is loaded: its radios may be in use.
pub fn are_there() -> bool {
    Path::new("/sys/module/mac80211_hwsim").exists()
}

/// Returns true if the kernel has the module, loaded or not.
pub fn can_be_had() -> bool {
    are_there() || outside("modprobe --dry-run mac80211_hwsim").is_ok()
}

/// Removes all radios and the module.
///
/// # Errors
/// Fails if a radio is in use.
pub fn unload() -> Result<(), Error> {
    outside("modprobe -r mac80211_hwsim")
}

fn load(count: usize) -> Result<(), Error> {
    // Removes the radios of an earlier test.
    let _ = unload();
    outside(&format!("modprobe mac80211_hwsim radios={count}"))
}

fn place(nodes: &[&Namespace]) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let classes = std::fs::read_dir("/sys/class/net").map_err(Error::system("list devices"))?;
    for device in classes.flatten() {
        // Skips real cards of this machine.
        let driver = std::fs::read_link(device.path().join("device/driver"));
        if !driver.is_ok_and(|driver| driver.ends_with("mac80211_hwsim")) {
            continue;
        }
        if let Ok(radio) = std::fs::read_to_string(device.path().join("phy80211/name")) {
            let name = device.file_name().to_string_lossy().into_owned();
            found.push((radio.trim().to_owned(), name));
        }
    }
    found.sort_by_key(|(radio, _)| place_of(radio));
    if found.len() != nodes.len() {
        return Err(unexpected(format!("radios: {found:?}")));
    }
    for ((radio, device), node) in found.iter().zip(nodes) {
        outside(&format!("iw phy {radio} set netns name {}", node.name()))?;
        node.run(&format!("ip link set {device} name {RADIO}"))?;
    }
    Ok(found.into_iter().map(|(radio, _)| radio).collect())
}

/// Sort key of a radio, by number: phy9 precedes phy10, as do the addresses.
fn place_of(radio: &str) -> (usize, String) {
    (radio.len(), radio.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radios_are_in_the_order_of_their_addresses() {
        let mut radios = ["phy10", "phy9", "phy11", "phy8"];
        radios.sort_by_key(|radio| place_of(radio));
        assert_eq!(radios, ["phy8", "phy9", "phy10", "phy11"]);
    }
}
