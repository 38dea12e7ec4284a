//! Abilities of a router's radios: from nl80211, if it reports them, otherwise from their sections
//! and hostapd. The kernel is queried once.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kernel::io::Nl80211;
use kernel::nl80211::{Band, Wiphy};
use setup_core::plan::{Channel, Config, Radio, RadioChannels};
use tracing::debug;

use runtime::uplink::inside;

/// Folder in which the kernel lists radios, each with a link to its device.
const CLASS: &str = "/sys/class/ieee80211";
/// Prefix that paths in a configuration omit.
const PLUGGED: &str = "/sys/devices/";

/// An existing radio.
#[derive(Clone, Debug, Default)]
struct Hardware {
    /// Report of the kernel.
    told: Wiphy,
    /// Location below `/sys/devices`: `virtual/mac80211_hwsim/hwsim0`.
    path: String,
    mac: String,
}

/// Reads the radios. `openwrt`: true on OpenWrt; `year`: OpenWrt release of the options.
pub fn read_radios(config: &Config, (openwrt, year): (bool, u16)) -> Vec<Radio> {
    let names: Vec<String> = config
        .of_type("wireless", "wifi-device")
        .map(|section| section.name.clone())
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let there = hardware();
    let programs = Radio {
        wpa3: can("hostapd", "sae"),
        mesh: can("wpa_supplicant", "mesh"),
        // OpenWrt's hostapd supports it since 24.10.
        apup: year >= 24,
        ..Radio::default()
    };
    let radio = |(n, name): (usize, &String)| {
        // Debian's back end uses the radio with the section's number.
        let by_number = (!openwrt && !says_which(config, name)).then(|| there.get(n));
        let found = by_number.unwrap_or_else(|| found(config, name, &there));
        radio(config, name, &programs, found.map(|radio| &radio.told))
    };
    names.iter().enumerate().map(radio).collect()
}

/// Combines a radio's section with its hardware; never more than the programs support.
fn radio(config: &Config, name: &str, programs: &Radio, told: Option<&Wiphy>) -> Radio {
    let band = config.get("wireless", name, "band");
    // Before 21.02 `hwmode` determined the band.
    let mode = config.get("wireless", name, "hwmode");
    let by_mode = mode.map(|mode| if mode.contains('a') { "5g" } else { "2g" }.to_owned());
    let mut radio = Radio {
        name: name.to_owned(),
        bands: band.or(by_mode).into_iter().collect(),
        ..programs.clone()
    };
    let Some(told) = told else { return radio };
    radio.wpa3 &= !told.lacks_wpa3();
    radio.mesh &= told.mesh;
    radio.apup &= told.access_point;
    if radio.bands.is_empty() {
        let bands = told.bands().into_iter();
        radio.bands = bands.map(|band| word(band).to_owned()).collect();
    }
    let channels = told.channels.iter().filter_map(|channel| {
        Some(Channel {
            band: word(channel.band).to_owned(),
            number: channel.number()?,
            open: !channel.disabled && !channel.no_ir,
            radar: channel.radar,
        })
    });
    radio.air = Some(RadioChannels {
        country: told.country.clone(),
        channels: channels.collect(),
    });
    radio
}

fn word(band: Band) -> &'static str {
    match band {
        Band::Two => "2g",
        Band::Five => "5g",
        Band::Six => "6g",
    }
}

/// Returns true if a section names its radio.
fn says_which(config: &Config, name: &str) -> bool {
    ["phy", "path", "macaddr"]
        .iter()
        .any(|option| config.get("wireless", name, option).is_some())
}

/// Returns the radio of a section, as OpenWrt finds it (`find_phy` of mac80211.sh): by its name,
/// otherwise by its location, otherwise by its address.
fn found<'a>(config: &Config, name: &str, there: &'a [Hardware]) -> Option<&'a Hardware> {
    let of = |option: &str| {
        let text = config.get("wireless", name, option);
        text.filter(|text| !text.is_empty())
    };
    let by_name = of("phy").and_then(|phy| there.iter().find(|radio| radio.told.name == phy));
    let by_path = || of("path").and_then(|path| plugged(&path, there));
    let by_mac = || {
        let mac = of("macaddr")?;
        there
            .iter()
            .find(|radio| radio.mac.eq_ignore_ascii_case(&mac))
    };
    by_name.or_else(by_path).or_else(by_mac)
}

/// Returns the radio at a path. For several in one location OpenWrt counts from `+1`; of a long
/// path it writes the end (without `platform/`).
fn plugged<'a>(path: &str, there: &'a [Hardware]) -> Option<&'a Hardware> {
    let (path, more) = match path.rsplit_once('+') {
        Some((path, more)) => (path, more.parse().ok()?),
        None => (path, 0),
    };
    let here = |radio: &&Hardware| {
        let before = radio.path.strip_suffix(path);
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    there.iter().filter(here).nth(more)
}

/// Returns the existing radios, in the order of the kernel's numbers; empty without Wi-Fi or
/// radios, or if the kernel does not answer.
fn hardware() -> Vec<Hardware> {
    // Without a radio, no further query is needed.
    if !Nl80211::is_there() {
        return Vec::new();
    }
    let asked = inside(|| match Nl80211::open() {
        Ok(Some(mut kernel)) => kernel.radios(),
        Ok(None) => Ok(Vec::new()),
        Err(error) => Err(error),
    });
    let mut radios = match asked {
        Ok(Ok(radios)) => radios,
        Ok(Err(error)) => {
            debug!("cannot read the radios: using the names of their sections: {error}");
            return Vec::new();
        }
        Err(_) => return Vec::new(),
    };
    radios.sort_by_key(|radio| radio.index);
    let plugged_in = |told: Wiphy| {
        let folder = Path::new(CLASS).join(&told.name);
        let path = fs::canonicalize(folder.join("device")).unwrap_or_default();
        let path = path.strip_prefix(PLUGGED).unwrap_or(Path::new(""));
        let mac = fs::read_to_string(folder.join("macaddress")).unwrap_or_default();
        Hardware {
            path: path.to_string_lossy().into_owned(),
            mac: mac.trim().to_owned(),
            told,
        }
    };
    radios.into_iter().map(plugged_in).collect()
}

/// Returns true if hostapd or wpa_supplicant was built with a feature: OpenWrt's report that
/// (`-vsae`). Others are assumed to have the features of Debian's.
fn can(name: &str, feature: &str) -> bool {
    let Some(program) = program(name) else {
        return true;
    };
    let asked = Command::new(program)
        .arg(format!("-v{feature}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // Other builds print their version, and end with 1; OpenWrt's with 0 or 1 by the feature.
    let openwrt = Path::new("/etc/openwrt_release").exists();
    !openwrt || asked.is_ok_and(|status| status.success())
}

pub fn program(name: &str) -> Option<PathBuf> {
    let search = env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&search)
        .chain(more)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::uci::Package;
    use kernel::nl80211;

    fn config(options: &[(&str, &str)]) -> Config {
        let mut package = Package::empty("wireless");
        package.set_section("radio0", "wifi-device").unwrap();
        for (option, value) in options {
            package.set("radio0", option, value.as_bytes()).unwrap();
        }
        Config::new([package])
    }

    fn there() -> Vec<Hardware> {
        let pci = "platform/soc/40000000.pci/pci0000:00/0000:00:00.0/0000:01:00.0";
        let all = [(0, pci), (1, pci), (2, "platform/soc/a800000.wifi")];
        all.map(|(index, path)| Hardware {
            told: Wiphy {
                index,
                name: format!("phy{index}"),
                ..Wiphy::default()
            },
            path: path.to_owned(),
            mac: format!("02:00:5e:10:00:0{index}"),
        })
        .to_vec()
    }

    #[test]
    fn sections_mean_radios_as_openwrt_finds_them() {
        let there = there();
        let of = |options: &[(&str, &str)]| {
            let found = found(&config(options), "radio0", &there);
            found.map(|radio| radio.told.index)
        };
        assert_eq!(of(&[("phy", "phy2")]), Some(2));
        let long = "soc/40000000.pci/pci0000:00/0000:00:00.0/0000:01:00.0";
        assert_eq!(of(&[("path", long)]), Some(0));
        assert_eq!(of(&[("path", &format!("platform/{long}"))]), Some(0));
        assert_eq!(of(&[("path", &format!("{long}+1"))]), Some(1));
        assert_eq!(of(&[("path", &format!("{long}+2"))]), None);
        assert_eq!(of(&[("path", "platform/soc/a800000.wifi")]), Some(2));
        assert_eq!(of(&[("path", "00000.wifi")]), None, "half a name");
        assert_eq!(of(&[("macaddr", "02:00:5E:10:00:01")]), Some(1));
        assert_eq!(
            of(&[("path", "gone"), ("macaddr", "02:00:5e:10:00:02")]),
            Some(2)
        );
        assert_eq!(
            of(&[("phy", "phy1"), ("path", "soc/a800000.wifi")]),
            Some(1)
        );
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("path", "")]), None);
    }

    #[test]
    fn hardware_narrows_what_programs_can() {
        let channel = |band, frequency| nl80211::Channel {
            band,
            frequency,
            disabled: false,
            no_ir: false,
            radar: false,
            most: None,
        };
        let mut told = Wiphy {
            access_point: true,
            mesh: true,
            channels: vec![channel(Band::Two, 2412), channel(Band::Five, 5180)],
            ..Wiphy::default()
        };
        let programs = Radio {
            wpa3: true,
            mesh: true,
            apup: true,
            ..Radio::default()
        };
        let (plain, five) = (config(&[]), config(&[("band", "5g")]));
        let all = radio(&plain, "radio0", &programs, Some(&told));
        assert_eq!(all.bands, ["2g", "5g"]);
        assert!(all.wpa3 && all.mesh && all.apup);
        let said = radio(&five, "radio0", &programs, Some(&told));
        assert_eq!(said.bands, ["5g"]);
        let numbers: Vec<u16> = said
            .air
            .iter()
            .flat_map(|air| &air.channels)
            .map(|c| c.number)
            .collect();
        assert_eq!(numbers, [1, 36]);
        told.protects = Some(false);
        told.mesh = false;
        told.access_point = false;
        let less = radio(&plain, "radio0", &programs, Some(&told));
        assert!(!less.wpa3 && !less.mesh && !less.apup);
        // Hardware adds nothing that programs lack; without a report nothing is removed.
        told.mesh = true;
        let none = Radio::default();
        assert!(!radio(&plain, "radio0", &none, Some(&told)).mesh);
        let alone = radio(&five, "radio0", &programs, None);
        assert!(alone.wpa3 && alone.mesh && alone.apup && alone.air.is_none());
        assert_eq!(alone.bands, ["5g"]);
    }
}
