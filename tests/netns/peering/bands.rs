//! Transmit rates towards a peer on each band, by the peer's beacon, together with a client of the
//! same access point. The kernel's rate control knows no HE (net/mac80211/rc80211_minstrel_ht.c),
//! so at 6 GHz it uses the first rates.

use lab::Error;
use weir_tests::radios::RADIO;

use super::scene::{SECRET, Scene, unexpected};

pub const PEER: &str = "02:00:00:00:01:00";
const CLIENT: &str = "02:00:00:00:02:00";
/// Number of inspected frames: now and then, rate control tries one of the band's first rates.
pub const FRAMES: usize = 10;
const NODES: [&str; 3] = ["north", "south", "client"];
/// 80 MHz, which the kernel requires for VHT (`ieee80211_vht_cap_ie_to_sta_vht_cap`,
/// net/mac80211/vht.c). A country's rules allow that; those of the other radios do not.
const FIVE: &str = "hw_mode=a\nchannel=36\nieee80211n=1\nht_capab=[HT40+][SHORT-GI-40]\n\
    ieee80211ac=1\nvht_oper_chwidth=1\nvht_oper_centr_freq_seg0_idx=42\nieee80211ax=1";
const SIX: &str = "hw_mode=a\nchannel=5\nop_class=131\nieee80211ax=1\nsae_pwe=1";

/// Returns the kind of the last frame's rate to a station, from a dump of `iw`: a named kind, or
/// `None` for the first rates of the band.
pub fn kind(dump: &str, mac: &str) -> Result<Option<&'static str>, Error> {
    let mut sections = dump.split("Station ");
    let section = sections.find(|section| section.starts_with(mac));
    let mut lines = section.unwrap_or_default().lines();
    let rate = lines.find(|line| line.contains("tx bitrate:"));
    let rate = rate.ok_or_else(|| unexpected(format!("no rate of {mac}: {dump}")))?;
    let kinds = ["HE-MCS", "VHT-MCS", "MCS"];
    Ok(kinds.into_iter().find(|kind| rate.contains(kind)))
}

fn band(band: &str, settings: &str, expected: Option<&str>) -> Result<(), Error> {
    let mut scene = match settings == FIVE {
        true => Scene::begin_under("DE", &NODES)?,
        false => Scene::begin_in(&NODES, None)?,
    };
    let wpa3 = settings == SIX;
    for role in &NODES[..2] {
        scene.access_point_with(role, wpa3, settings)?;
    }
    let of_six = ["sae_pwe=1", "scan_freq=5975"];
    let more = if wpa3 { of_six } else { ["", ""] };
    let _client = scene.join("client", 0, wpa3, more)?;
    scene.speak(["client", "north"], [RADIO, RADIO], 0)?;
    for role in &NODES[..2] {
        scene.weir(role, SECRET, "")?;
    }
    let ends = [scene.alive(0, 1)?.remove(0), scene.alive(1, 1)?.remove(0)];
    scene.speak(["south", "north"], [&ends[1], &ends[0]], 7)?;
    // Trains the rate control for both.
    let north = scene.lab.node("north")?;
    let ends = [("192.0.9.2", &*ends[0], PEER), ("192.0.2.2", RADIO, CLIENT)];
    for (address, ..) in ends {
        north.run(&format!("ping -q -f -c 300 -s 1400 {address}"))?;
    }
    let mut best = None;
    for _ in 0..FRAMES {
        for (address, device, mac) in ends {
            north.run(&format!("ping -q -c 1 -s 1400 {address}"))?;
            let dump = north.run(&format!("iw dev {device} station dump"))?;
            let told = dump.lines().filter(|line| line.contains("tx bitrate"));
            told.for_each(|line| println!("{band}, {mac}: {}", line.trim()));
            if mac == PEER {
                best = best.or(kind(&dump, mac)?);
            }
        }
    }
    assert_eq!(best, expected);
    Ok(())
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn a_peer_can_do_at_5_ghz_what_its_beacon_says() -> Result<(), Error> {
    band("5 GHz", FIVE, Some("VHT-MCS"))
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn a_peer_can_do_at_6_ghz_what_its_beacon_says() -> Result<(), Error> {
    band("6 GHz", SIX, None)
}
