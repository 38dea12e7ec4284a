//! The package `wireless`: radios and their networks.

use uci::Package;

use super::channel::{Band, Generation, mode};
use super::links::Netdev;
use super::network::Network;
use super::radio::{Point, Radio, Supplicant};
use super::reader::{DEVICE, Diagnostics, Reader, sections};
use super::rendered::{Hardware, RenderedFile};
use super::value;
use super::{hostapd, supplicant};

/// Reads the package. Radios become the devices of interfaces that have none.
pub fn read(
    package: &Package,
    facts: &Hardware,
    network: &mut Network,
    ledger: &Diagnostics,
) -> Vec<Radio> {
    let mut radios = Vec::new();
    let mut off = Vec::new();
    let all = || sections(package, ledger);
    for (n, reader) in all()
        .filter(|reader| reader.kind() == "wifi-device")
        .enumerate()
    {
        let name = reader.name().to_owned();
        if reader.flag("disabled", false) {
            off.push(name);
            reader.leave_out("not rendered: it is switched off");
            continue;
        }
        match radio(reader, n, facts) {
            Some(radio) => radios.push(radio),
            None => off.push(name),
        }
    }
    for reader in all() {
        match reader.kind() {
            "wifi-device" => {}
            "wifi-iface" if reader.flag("disabled", false) => {
                reader.leave_out("not rendered: it is switched off");
            }
            "wifi-iface" => {
                let names = radios.iter().map(|radio| &radio.name);
                let known = |text: &str| {
                    names
                        .clone()
                        .position(|name| name == text)
                        .map(Some)
                        .or_else(|| off.iter().any(|name| name == text).then_some(None))
                };
                match reader.one("device", known, "a wifi-device that there is") {
                    Some(Some(n)) => iface(reader, &mut radios[n], network),
                    Some(None) => reader.leave_out("not rendered: its radio is not there, or off"),
                    None if reader.has("device") => {}
                    None => reader.fault("device", "a wifi-device that there is"),
                }
            }
            _ => reader.leave_out("not rendered"),
        }
    }
    radios
}

/// Returns the kernel's radio of a section: by location, name or MAC; otherwise by the section's
/// number.
fn found<'a>(
    reader: &Reader<'_>,
    n: usize,
    facts: &'a Hardware,
) -> Option<&'a super::rendered::Radio> {
    let text = |option| {
        let word = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        reader.one(option, word, "a word")
    };
    let (path, phy, mac) = (text("path"), text("phy"), text("macaddr"));
    let mut radios = facts.radios.iter();
    match (path, phy, mac) {
        (Some(path), _, _) => {
            // For several radios in one location OpenWrt counts from +1.
            let (path, more) = path.split_once('+').unwrap_or((&path, "0"));
            let more = more.parse().unwrap_or(0);
            radios.filter(|radio| radio.path.ends_with(path)).nth(more)
        }
        (_, Some(phy), _) => radios.find(|radio| radio.phy == phy),
        (_, _, Some(mac)) => radios.find(|radio| radio.mac.eq_ignore_ascii_case(&mac)),
        _ => radios.nth(n),
    }
}

fn radio(reader: Reader<'_>, n: usize, facts: &Hardware) -> Option<Radio> {
    // A single driver is left; its name has no effect.
    reader.ignore(&["type"]);
    let there = found(&reader, n, facts);
    let band = |text: &str| match text {
        "2g" | "11g" | "11b" => Some(Band::Two),
        "5g" | "11a" => Some(Band::Five),
        "6g" => Some(Band::Six),
        _ => None,
    };
    // Releases before 21.02 have `hwmode`.
    let option = if reader.has("band") { "band" } else { "hwmode" };
    let given = reader.one(option, band, "2g, 5g or 6g");
    let channel = |text: &str| match text {
        "auto" => Some(None),
        _ => value::number(1..=233)(text).map(Some),
    };
    let channel = reader
        .one("channel", channel, "auto, or a number")
        .flatten();
    let band = given.unwrap_or(match channel {
        Some(15..) => Band::Five,
        _ => Band::Two,
    });
    if channel.is_some_and(|channel| !band.has(channel)) {
        reader.fault("channel", "a channel of 20 MHz of that band");
    }
    let expected = "NOHT, HT20, HT40, VHT20 to VHT160, or HE20 to HE160";
    let (generation, width) = reader
        .one("htmode", mode, expected)
        .unwrap_or((Generation::Ht, 20));
    match band {
        Band::Two if width > 40 => reader.fault("htmode", "at most 40 MHz, for 2.4 GHz"),
        Band::Six if generation < Generation::He => {
            reader.fault("htmode", "HE20 to HE160, for 6 GHz");
        }
        _ => {}
    }
    let country = |text: &str| {
        let good = text.len() == 2 && text.bytes().all(|c| c.is_ascii_alphanumeric());
        good.then(|| text.to_ascii_uppercase())
    };
    let country = reader.one("country", country, "two letters of ISO 3166: DE");
    let Some(there) = there else {
        reader.leave_out("not rendered: there is no such radio");
        return None;
    };
    let radio = Radio {
        name: reader.name().to_owned(),
        phy: there.phy.clone(),
        device: there.device.clone(),
        mac: there.mac.clone(),
        band,
        channel,
        generation,
        width,
        country,
        points: Vec::new(),
        others: Vec::new(),
    };
    reader.end();
    Some(radio)
}

/// Renders `config wifi-iface`.
fn iface(reader: Reader<'_>, radio: &mut Radio, network: &mut Network) {
    let word = reader.word("mode", &["ap", "mesh", "sta"]);
    let Some(word) = word else {
        if !reader.has("mode") {
            reader.fault("mode", "one of: ap mesh sta");
        }
        return;
    };
    let count = radio.points.len() + radio.others.len();
    let given = reader.device("ifname");
    let device = given.or_else(|| match count {
        0 => Some(radio.device.clone()),
        _ => value::device(&format!("{}-{count}", radio.device)),
    });
    let Some(device) = device else {
        return reader.fault("ifname", DEVICE);
    };
    let bridge = join(&reader, &device, network);
    match word {
        "ap" => {
            let text = hostapd::point(&reader, radio);
            radio.points.push(Point {
                device,
                bridge,
                text,
            });
        }
        mode => {
            let mesh = mode == "mesh";
            let text = match mesh {
                true => supplicant::mesh(&reader, radio),
                false => supplicant::station(&reader, radio),
            };
            if let Some(bridge) = bridge {
                match mesh {
                    true => {
                        let link = network.links.link(&device);
                        link.unit.put("Network", "Bridge", bridge);
                    }
                    false => reader.note("network", "a station cannot be in a bridge"),
                }
            }
            radio.others.push(Supplicant { device, mesh, text });
        }
    }
    reader.end();
}

/// Adds a radio's device to its interfaces. Returns the bridge, if it is in one.
fn join(reader: &Reader<'_>, device: &str, network: &mut Network) -> Option<String> {
    let mut bridge = None;
    for name in reader.many("network", value::label, "the name of an interface") {
        if network.take(&name, device) {
            continue;
        }
        let other = network
            .interfaces
            .get(&name)
            .map(|found| found.device.clone());
        match other {
            None => reader.fault("network", "an interface that there is, and is on"),
            Some(Some(other)) if network.bridges.contains(&other) => bridge = Some(other),
            Some(_) => reader.note("network", "its device is no bridge: the radio is not in it"),
        }
    }
    bridge
}

/// Renders the files, and the devices that the kernel does not create itself.
pub fn render(radios: &[Radio], network: &mut Network, files: &mut Vec<RenderedFile>) {
    for radio in radios {
        if !radio.points.is_empty() {
            files.push(hostapd::file(radio));
        }
        for other in &radio.others {
            // The first on a radio uses its device; hostapd makes its others itself.
            if other.device != radio.device {
                let mut netdev = Netdev::new(&other.device, "wlan");
                netdev.unit.put("WLAN", "PhysicalDevice", &radio.phy);
                let kind = if other.mesh { "mesh-point" } else { "station" };
                netdev.unit.put("WLAN", "Type", kind);
                network.links.netdevs.insert(other.device.clone(), netdev);
            }
            files.push(supplicant::file(other));
        }
    }
}
