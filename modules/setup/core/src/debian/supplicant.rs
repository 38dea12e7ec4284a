//! A mesh, or a station: wpa_supplicant.conf.

use super::channel::Generation;
use super::radio::{Encryption, Name, Radio, Supplicant, encryption, key};
use super::reader::Reader;
use super::rendered::{Access, RenderedFile, file as made};
use super::value;
use net::hex;

/// Renders the file of a device.
pub fn file(other: &Supplicant) -> RenderedFile {
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

fn name(text: &mut String, reader: &Reader<'_>, option: &str) -> Option<Name> {
    let name = Name::read(reader, option)?;
    match name.plain {
        true => line!(text, "\tssid=\"{}\"", name.text()),
        false => line!(text, "\tssid={}", name.hexadecimal()),
    }
    Some(name)
}

/// Writes the key: in hexadecimal if it contains special characters of the file. wpa_supplicant
/// takes text after `#` and the second quote of a line as a comment.
fn secret(text: &mut String, reader: &Reader<'_>, way: Encryption, ssid: Option<&Name>) {
    let Some(key) = key(reader, way) else {
        return;
    };
    if key.len() == 64 {
        return line!(text, "\tpsk={key}");
    }
    if !key.contains(['"', '#', '\\']) {
        return line!(text, "\tpsk=\"{key}\"");
    }
    if !matches!(way, Encryption::Psk2 | Encryption::PskMixed) {
        line!(text, "\tsae_password={}", hex::text(key.as_bytes()));
    }
    if way != Encryption::Sae
        && let Some(ssid) = ssid
    {
        // IEEE 802.11, annex J.4.1.
        let mut made = [0; 32];
        let times = std::num::NonZeroU32::new(4096).unwrap_or(std::num::NonZeroU32::MIN);
        let algorithm = ring::pbkdf2::PBKDF2_HMAC_SHA1;
        ring::pbkdf2::derive(algorithm, times, &ssid.octets, key.as_bytes(), &mut made);
        line!(text, "\tpsk={}", hex::text(&made));
    }
}

/// Renders `mode mesh`: 802.11s.
pub fn mesh(reader: &Reader<'_>, radio: &Radio) -> String {
    let mut text = head(radio);
    line!(text, "network={{\n\tmode=5");
    let id = name(&mut text, reader, "mesh_id");
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
            secret(&mut text, reader, Encryption::Sae, id.as_ref());
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

/// Renders `mode sta`: the client of another access point.
pub fn station(reader: &Reader<'_>, radio: &Radio) -> String {
    let mut text = head(radio);
    line!(text, "network={{\n\tmode=0\n\tscan_ssid=1");
    let ssid = name(&mut text, reader, "ssid");
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
    secret(&mut text, reader, way, ssid.as_ref());
    text += "}\n";
    text
}
