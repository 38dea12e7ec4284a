//! Access points: hostapd.conf.

use super::channel::{Band, Generation};
use super::radio::{Encryption, Name, Radio, encryption, key};
use super::reader::Reader;
use super::rendered::{Access, RenderedFile, file as made};
use super::value;

/// Renders the file of a radio with all its access points.
pub fn file(radio: &Radio) -> RenderedFile {
    let mut text = String::new();
    for (n, point) in radio.points.iter().enumerate() {
        let word = if n == 0 { "interface" } else { "\nbss" };
        line!(text, "{word}={}", point.device);
        if n == 0 {
            line!(text, "driver=nl80211");
            channel(&mut text, radio);
        }
        if let Some(bridge) = &point.bridge {
            line!(text, "bridge={bridge}");
        }
        line!(text, "ctrl_interface=/run/hostapd");
        text += &point.text;
    }
    let path = format!("etc/hostapd/weir-{}.conf", radio.name);
    made(path, Access::Root, &text)
}

fn channel(text: &mut String, radio: &Radio) {
    if let Some(country) = &radio.country {
        line!(text, "country_code={country}\nieee80211d=1");
        if radio.band == Band::Five {
            line!(text, "ieee80211h=1");
        }
    }
    let mode = if radio.band == Band::Two { "g" } else { "a" };
    // 0: hostapd chooses the one with the least noise.
    let channel = radio.channel.unwrap_or(0);
    line!(text, "hw_mode={mode}\nchannel={channel}");
    let wide = radio.width > 20;
    if radio.band == Band::Six {
        // Global operating classes: IEEE 802.11ax, table E-4.
        let class = match radio.width {
            20 => 131,
            40 => 132,
            80 => 133,
            _ => 134,
        };
        line!(text, "op_class={class}");
    } else if radio.generation >= Generation::Ht {
        line!(text, "ieee80211n=1");
        if wide {
            let above = radio
                .channel
                .is_none_or(|channel| radio.band.above(channel));
            let sign = if above { '+' } else { '-' };
            line!(text, "ht_capab=[HT40{sign}]");
        }
    }
    let width = match radio.width {
        80 => 1,
        160 => 2,
        _ => 0,
    };
    let middle = radio.channel.filter(|_| wide);
    let middle = middle.map(|channel| radio.band.middle(channel, radio.width));
    if radio.generation >= Generation::Vht && radio.band == Band::Five {
        line!(text, "ieee80211ac=1\nvht_oper_chwidth={width}");
        if let Some(middle) = middle {
            line!(text, "vht_oper_centr_freq_seg0_idx={middle}");
        }
    }
    if radio.generation >= Generation::He {
        line!(text, "ieee80211ax=1");
        if radio.band != Band::Two {
            line!(text, "he_oper_chwidth={width}");
            if let Some(middle) = middle {
                line!(text, "he_oper_centr_freq_seg0_idx={middle}");
            }
        }
    }
    // 802.11n and later require it.
    line!(text, "wmm_enabled=1");
}

/// Renders the lines of an access point.
pub fn point(reader: &Reader<'_>, radio: &Radio) -> String {
    let mut text = String::new();
    if let Some(name) = Name::read(reader, "ssid") {
        match name.plain {
            true => line!(text, "ssid={}", name.text()),
            false => line!(text, "ssid2={}", name.hexadecimal()),
        }
        if !name.plain && std::str::from_utf8(&name.octets).is_ok() {
            line!(text, "utf8_ssid=1");
        }
    }
    let mac = reader.one("macaddr", value::mac, "a MAC: 02:00:00:00:00:01");
    if let Some(mac) = mac {
        line!(text, "bssid={mac}");
    }
    let number = |on| u8::from(on);
    let hidden = number(reader.flag("hidden", false));
    line!(text, "ignore_broadcast_ssid={hidden}");
    let isolate = number(reader.flag("isolate", false));
    line!(text, "ap_isolate={isolate}");
    if let Some(most) = reader.number("maxassoc", 1..=2007) {
        line!(text, "max_num_sta={most}");
    }
    let way = encryption(reader);
    if radio.band == Band::Six && !matches!(way, Encryption::Sae | Encryption::Owe) {
        reader.fault("encryption", "sae or owe, for 6 GHz");
    }
    let fast = reader.flag("ieee80211r", false);
    security(&mut text, reader, way, fast);
    if fast {
        roaming(&mut text, reader, radio, way);
    }
    text
}

fn security(text: &mut String, reader: &Reader<'_>, way: Encryption, fast: bool) {
    let versions = match way {
        Encryption::None => 0,
        Encryption::PskMixed => 3,
        _ => 2,
    };
    line!(text, "auth_algs=1\nwpa={versions}");
    // Part of WPA3; 6 GHz requires it, too.
    let protection = match way {
        Encryption::Sae | Encryption::Owe => 2,
        Encryption::SaeMixed => 1,
        _ => 0,
    };
    let protection = match reader.number("ieee80211w", 0..=2) {
        Some(given) if given < protection => {
            reader.fault(
                "ieee80211w",
                format!("at least {protection}, by the encryption"),
            );
            protection
        }
        Some(given) => given,
        None => protection,
    };
    if way == Encryption::None {
        return;
    }
    let keys = match (way, fast) {
        (Encryption::Psk2 | Encryption::PskMixed, false) => "WPA-PSK",
        (Encryption::Psk2 | Encryption::PskMixed, true) => "WPA-PSK FT-PSK",
        (Encryption::Sae, false) => "SAE",
        (Encryption::Sae, true) => "SAE FT-SAE",
        (Encryption::SaeMixed, false) => "WPA-PSK SAE",
        (Encryption::SaeMixed, true) => "WPA-PSK FT-PSK SAE FT-SAE",
        _ => "OWE",
    };
    line!(
        text,
        "wpa_key_mgmt={keys}\nrsn_pairwise=CCMP\nieee80211w={protection}"
    );
    if way == Encryption::PskMixed {
        line!(text, "wpa_pairwise=TKIP CCMP");
    }
    if matches!(way, Encryption::Sae | Encryption::SaeMixed) {
        // Both derivations of an element from a password: 6 GHz knows the newer one alone.
        line!(text, "sae_require_mfp=1\nsae_pwe=2");
    }
    // Not sae_password, in which `|` is special. SAE accepts this option as well.
    match key(reader, way) {
        Some(key) if key.len() == 64 => line!(text, "wpa_psk={key}"),
        Some(key) => line!(text, "wpa_passphrase={key}"),
        None => {}
    }
}

/// Renders 802.11r.
fn roaming(text: &mut String, reader: &Reader<'_>, radio: &Radio, way: Encryption) {
    if !way.keyed() {
        return reader.fault("ieee80211r", "an encryption with a key");
    }
    let domain = |text: &str| value::hexadecimal(text, 4);
    let expected = "4 hexadecimal digits, the same at all access points";
    match reader.one("mobility_domain", domain, expected) {
        Some(domain) => line!(text, "mobility_domain={domain}"),
        None if reader.has("mobility_domain") => {}
        None => reader.fault("mobility_domain", expected),
    }
    let expected = "1 to 48 letters or digits";
    let name = |text: &str| value::label(text).filter(|name| name.len() <= 48);
    let name = reader.one("nasid", name, expected);
    let name = name.or_else(|| value::label(&radio.mac.replace(':', "")));
    match name {
        Some(name) => line!(text, "nas_identifier={name}"),
        None => reader.fault("nasid", expected),
    }
    let over = u8::from(reader.flag("ft_over_ds", false));
    line!(text, "ft_over_ds={over}");
    let psk = matches!(way, Encryption::Psk2 | Encryption::PskMixed);
    // With the passphrase all keys can be made locally; SAE has no such shared key.
    let local = reader.flag("ft_psk_generate_local", psk);
    line!(text, "ft_psk_generate_local={}", u8::from(local));
    let mut holders = 0;
    for (option, middle) in [("r0kh", false), ("r1kh", true)] {
        let holder = |text: &str| {
            let mut parts = text.split(',');
            let mac = value::mac(parts.next()?)?;
            let name = parts.next()?;
            let name = match middle {
                true => value::mac(name)?,
                false => value::label(name)?,
            };
            let secret = parts.next()?;
            let secret = value::hexadecimal(secret, 32).or(value::hexadecimal(secret, 64))?;
            parts
                .next()
                .is_none()
                .then(|| format!("{mac} {name} {secret}"))
        };
        let expected = "MAC,IDENTIFIER,KEY: the key of 32 or 64 hexadecimal digits";
        for holder in reader.many(option, holder, expected) {
            line!(text, "{option}={holder}");
            holders += 1;
        }
    }
    if !local && holders == 0 {
        reader.note(
            "ieee80211r",
            "without r0kh and r1kh stations do not roam any faster",
        );
    }
}
