//! Radios and devices of the machine, from `/sys`.

use std::collections::BTreeSet;
use std::fs;

use setup_core::debian::{Hardware, Radio};

const DEVICES: &str = "/sys/class/net";

/// Returns the network devices.
pub fn devices() -> BTreeSet<String> {
    let entries = fs::read_dir(DEVICES).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.collect()
}

/// Returns the radios, in the order of the kernel's numbers. Of several devices of a radio the
/// first counts: hostapd has made the others.
pub fn facts() -> Hardware {
    let mut radios: Vec<Radio> = Vec::new();
    for device in devices() {
        let folder = format!("{DEVICES}/{device}");
        let text = |name: &str| {
            let text = fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
            text.trim().to_owned()
        };
        let phy = text("phy80211/name");
        if phy.is_empty() || radios.iter().any(|radio| radio.phy == phy) {
            continue;
        }
        let path = fs::canonicalize(format!("{folder}/device")).unwrap_or_default();
        radios.push(Radio {
            mac: text("phy80211/macaddress"),
            path: path.to_string_lossy().into_owned(),
            device,
            phy,
        });
    }
    let number = |radio: &Radio| {
        let digits = radio.phy.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.parse::<u32>().unwrap_or(u32::MAX)
    };
    radios.sort_by_key(number);
    Hardware { radios }
}
