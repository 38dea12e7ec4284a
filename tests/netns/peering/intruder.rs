//! Who says an access point's address, and wants to be a client by it.

use std::time::Duration;

use lab::Error;
use weir_tests::radios::RADIO;

use super::flood::{RADIOTAP, monitor};
use super::scene::{SECRET, SSID, Scene, mac};

const NODES: [&str; 3] = ["north", "south", "stranger"];
/// The access point's own (IEEE 802.11, 9.4.2.24): WPA2 with a password, CCMP.
const RSN: [u8; 22] = [
    0x30, 20, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 2, 0, 0,
];

/// A management frame of this kind to an access point.
fn frame(kind: u8, from: [u8; 6], to: [u8; 6], body: &[u8]) -> Vec<u8> {
    let head = [&RADIOTAP[..], &[kind, 0, 0, 0], &to, &from, &to, &[0, 0]];
    [&head.concat(), body].concat()
}

/// hostapd takes it for a client that begins anew, and removes what the kernel has of the address.
#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn who_joins_by_a_peers_address_takes_nothing_from_it() -> Result<(), Error> {
    let mut scene = Scene::begin(&NODES)?;
    for role in &NODES[..2] {
        scene.access_point(role, false)?;
        scene.weir(role, SECRET, "")?;
    }
    let ends = [scene.alive(0, 1)?.remove(0), scene.alive(1, 1)?.remove(0)];
    scene.speak(["south", "north"], [&ends[1], &ends[0]], 7)?;
    let stranger = scene.lab.node("stranger")?;
    let air = monitor(stranger, "mon0")?;
    stranger.run("iw dev mon0 set freq 2412")?;
    let [north, south] = [mac(0), mac(1)];
    // Open System, its first message; then capabilities, interval, network and rates.
    let authentication = frame(0xb0, south, north, &[0, 0, 1, 0, 0, 0]);
    let mut body = vec![0x31, 4, 10, 0, 0, SSID.len() as u8];
    body.extend(SSID.as_bytes());
    body.extend([1, 8, 0x82, 0x84, 0x8b, 0x96, 0x0c, 0x12, 0x18, 0x24]);
    body.extend(RSN);
    let association = frame(0, south, north, &body);
    for _ in 0..16 {
        for frame in [&authentication, &association] {
            air.send(frame)?;
            std::thread::sleep(Duration::from_millis(250));
        }
    }
    let log = scene.weirs[0].log();
    assert!(!log.contains("a peer no longer"), "{log}");
    let told = scene
        .lab
        .node("south")?
        .run("ping -c 10 -i 0.1 -W 5 192.0.9.1")?;
    assert!(told.contains("10 received"), "{told}");
    // What hostapd was told goes with weir.
    let north = scene.lab.node("north")?;
    let control = scene.folder.join("north/control");
    let denied = format!(
        "hostapd_cli -p {} -i {RADIO} deny_acl SHOW",
        control.display()
    );
    assert!(north.run(&denied)?.contains("02:00:00:00:01:00"));
    let ended = scene.weirs[0].end(nix::sys::signal::Signal::SIGTERM)?;
    assert!(ended.success(), "{ended}");
    let left = scene.lab.node("north")?.run(&denied)?;
    assert!(!left.contains("02:00:00:00"), "{left}");
    Ok(())
}
