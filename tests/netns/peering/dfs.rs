//! Channels with radar (DFS): an access point listens there for a minute before it sends (the CAC),
//! and leaves when it detects radar. hwsim simulates radar on request.

use std::time::Duration;

use lab::Error;
use weir_tests::radios::outside;

use super::scene::{SECRET, Scene, second_of_day};

const NODES: [&str; 2] = ["north", "south"];
/// The channel with radar, and hostapd's alternative.
const CHANNELS: &str =
    "hw_mode=a\nchannel=52\nchanlist=36 52\ncountry_code=DE\nieee80211d=1\nieee80211h=1";

/// Simulates radar at the first radio.
fn radar() -> Result<(), Error> {
    let debug = "/sys/kernel/debug";
    let _ = outside(&format!("mount -t debugfs none {debug}"));
    let mut radios = Vec::new();
    let folders = std::fs::read_dir(format!("{debug}/ieee80211"));
    for folder in folders.map_err(Error::system("list radios"))?.flatten() {
        radios.push(folder.path().join("hwsim/dfs_simulate_radar"));
    }
    radios.sort_by_key(|radio| (radio.as_os_str().len(), radio.clone()));
    std::fs::write(&radios[0], "1").map_err(Error::system("hear radar"))
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn peers_wait_for_a_channel_with_radar_and_leave_it() -> Result<(), Error> {
    let mut scene = Scene::begin_under("DE", &NODES)?;
    for role in NODES {
        scene.access_point_to_be(role, false, CHANNELS)?;
        scene.weir(role, SECRET, "")?;
    }
    // The access points do not send yet.
    std::thread::sleep(Duration::from_secs(3));
    for (at, role) in NODES.iter().enumerate() {
        assert_eq!(scene.devices(role, "peer-")?, 0);
        let told = scene.told(at)?;
        assert!(told.peers.is_empty(), "{told:?}");
        println!("{:?}", told.notices);
    }
    for at in [0, 1] {
        scene.alive(at, 1)?;
    }
    // The kernel informs all its radios of the same country; others would detect radar themselves.
    let heard = second_of_day();
    radar()?;
    for at in [0, 1] {
        let found = scene.found_after(at, heard)?;
        println!("{}: a peer {:.3} s after radar", NODES[at], found - heard);
        assert_eq!(scene.devices(NODES[at], "peer-")?, 1);
        let shown = scene.lab.node(NODES[at])?.run("iw dev wlan0 info")?;
        assert!(shown.contains("channel 36"), "{shown}");
    }
    Ok(())
}
