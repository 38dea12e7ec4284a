//! A mesh, or a station: wpa_supplicant.conf.

use super::channel::Generation;
use super::reader::Reader;
use super::value;
use super::wireless::{Encryption, Name, Other, Radio, encryption, key};
use super::{Access, Rendered, file as made};

/// The file of a device.
pub fn file(other: &Other) -> Rendered {
    let path = format!("etc/wpa_supplicant/weir-{}.conf", other.device);
    made(path, Access::Root, &other.text)
}

fn head(radio: &Radio) -> String {
    let mut text = String::from("ctrl_interface=/run/wpa_supplicant\n");
    if let Some(country) = &radio.country {
        line!(text, "country={country}");
    }
    text
}

fn name(text: &mut String, reader: &Reader<'_>, option: &str) {
    match Name::read(reader, option) {
        Some(name) if name.plain => line!(text, "\tssid=\"{}\"", name.text()),
        Some(name) => line!(text, "\tssid={}", name.hexadecimal()),
        None => {}
    }
}

/// The key, as the file has it. What is between the first quote and the last one is the passphrase
/// (wpa_supplicant's `wpa_config_parse_string`), so that quotes in it need no mark.
fn secret(text: &mut String, reader: &Reader<'_>, way: Encryption) {
    match key(reader, way) {
        Some(key) if key.len() == 64 => line!(text, "\tpsk={key}"),
        Some(key) => line!(text, "\tpsk=\"{key}\""),
        None => {}
    }
}

/// `mode mesh`: 802.11s.
pub fn mesh(reader: &Reader<'_>, radio: &Radio) -> String {
    let mut text = head(radio);
    line!(text, "network={{\n\tmode=5");
    name(&mut text, reader, "mesh_id");
    match radio.channel {
        Some(channel) => {
            let frequency = radio.band.frequency(channel);
            line!(text, "\tfrequency={frequency}");
        }
        None => reader.fault(
            "device",
            "a radio with a channel: all of a mesh have the same",
        ),
    }
    if radio.generation == Generation::Old {
        line!(text, "\tdisable_ht=1");
    }
    match encryption(reader) {
        Encryption::None => line!(text, "\tkey_mgmt=NONE"),
        Encryption::Sae => {
            line!(text, "\tkey_mgmt=SAE\n\tieee80211w=2");
            secret(&mut text, reader, Encryption::Sae);
        }
        _ => reader.fault("encryption", "none or sae, for a mesh"),
    }
    // batman-adv finds ways itself, and wants this off.
    if reader.has("mesh_fwding") {
        let forwards = u8::from(reader.flag("mesh_fwding", true));
        line!(text, "\tmesh_fwding={forwards}");
    }
    let weakest = |text: &str| {
        text.parse::<i32>()
            .ok()
            .filter(|dbm| (-255..=1).contains(dbm))
    };
    let weakest = reader.one("mesh_rssi_threshold", weakest, "dBm, from -255 to 1");
    if let Some(weakest) = weakest {
        line!(text, "\tmesh_rssi_threshold={weakest}");
    }
    text += "}\n";
    text
}

/// `mode sta`: of another's access point.
pub fn station(reader: &Reader<'_>, radio: &Radio) -> String {
    let mut text = head(radio);
    line!(text, "network={{\n\tmode=0\n\tscan_ssid=1");
    name(&mut text, reader, "ssid");
    let mac = reader.one("bssid", value::mac, "a MAC: 02:00:00:00:00:01");
    if let Some(mac) = mac {
        line!(text, "\tbssid={mac}");
    }
    let way = encryption(reader);
    let (keys, protection) = match way {
        Encryption::None => ("NONE", 0),
        Encryption::Psk2 | Encryption::PskMixed => ("WPA-PSK", 1),
        Encryption::Sae => ("SAE", 2),
        Encryption::SaeMixed => ("WPA-PSK SAE", 1),
        Encryption::Owe => ("OWE", 2),
    };
    let protection = reader.number("ieee80211w", 0..=2).unwrap_or(protection);
    line!(text, "\tkey_mgmt={keys}\n\tieee80211w={protection}");
    secret(&mut text, reader, way);
    text += "}\n";
    text
}
