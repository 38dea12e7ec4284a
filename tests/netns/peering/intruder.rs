//! An intruder associates as a client under an access point's address.

use std::time::Duration;

use lab::Error;
use weir_tests::radios::RADIO;

use super::flood::{RADIOTAP, monitor};
use super::scene::{SSID, Scene, mac};

/// RSN element of the access point (IEEE 802.11, 9.4.2.24): WPA2 with a password, CCMP.
const RSN: [u8; 22] = [
    0x30, 20, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 2, 0, 0,
];

/// Builds a management frame of this kind to an access point.
fn frame(kind: u8, from: [u8; 6], to: [u8; 6], body: &[u8]) -> Vec<u8> {
    let head = [&RADIOTAP[..], &[kind, 0, 0, 0], &to, &from, &to, &[0, 0]];
    [&head.concat(), body].concat()
}

/// Returns the deny list of north's hostapd.
fn denied(scene: &Scene) -> Result<String, Error> {
    let control = scene.folder.join("north/control");
    let asks = format!(
        "hostapd_cli -p {} -i {RADIO} deny_acl SHOW",
        control.display()
    );
    scene.lab.node("north")?.run(&asks)
}

/// An intruder joins north under the address of its peer south. hostapd would take that for a
/// restarted client and remove the kernel's state of the address.
pub fn joins_by_a_peers_address(scene: &Scene, role: &str) -> Result<(), Error> {
    let somebody = scene.lab.node(role)?;
    let air = monitor(somebody, "mon0")?;
    somebody.run("iw dev mon0 set freq 2412")?;
    let [north, south] = [mac(0), mac(1)];
    // Open System, first message; then capabilities, interval, network and rates.
    let authentication = frame(0xb0, south, north, &[0, 0, 1, 0, 0, 0]);
    let mut body = vec![0x31, 4, 10, 0, 0, SSID.len() as u8];
    body.extend(SSID.as_bytes());
    body.extend([1, 8, 0x82, 0x84, 0x8b, 0x96, 0x0c, 0x12, 0x18, 0x24]);
    body.extend(RSN);
    let association = frame(0, south, north, &body);
    for _ in 0..8 {
        for frame in [&authentication, &association] {
            air.send(frame)?;
            std::thread::sleep(Duration::from_millis(250));
        }
    }
    let log = scene.weirs[0].log();
    assert!(!log.contains("peer removed"), "{log}");
    let denied = denied(scene)?;
    assert!(denied.contains("02:00:00:00:01:00"), "{denied}");
    Ok(())
}

/// weir's entries in hostapd's deny list vanish when weir ends.
pub fn nobody_is_denied_after_the_end(scene: &Scene) -> Result<(), Error> {
    let before = denied(scene)?;
    assert!(before.contains("02:00:00:00:01:00"), "{before}");
    let ended = scene.weirs[0].end(nix::sys::signal::Signal::SIGTERM)?;
    assert!(ended.success(), "{ended}");
    let left = denied(scene)?;
    assert!(!left.contains("02:00:00:00"), "{left}");
    Ok(())
}
