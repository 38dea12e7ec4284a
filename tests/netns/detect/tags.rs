//! Uplinks in a VLAN.

use lab::Error;

use super::scene::{Scene, UP, WAN};
use super::{ISP, heard, is, why};

#[test]
fn pppoe_in_vlan_7_behind_a_modem_with_a_page() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.modem()?;
    scene.tagged("isp", 7, &[])?;
    scene.pppoe("isp", &[])?;
    let found = scene.found()?;
    is(&found, "pppoe", Some(7), true);
    why(&found, "VLAN 7");
    heard(&found, "vlan");
    heard(&found, "dhcp");
    Ok(())
}

/// A VLAN without a known provider, in which frames arrive.
#[test]
fn dhcp_in_a_vlan_that_is_heard() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.tagged("isp", 1234, &ISP)?;
    scene.dhcp("isp", &[])?;
    scene.asks("isp", "192.0.2.200")?;
    let found = scene.found()?;
    is(&found, "dhcp", Some(1234), true);
    Ok(())
}

/// Tagged frames come only from the switch: their content does not count for the untagged network.
#[test]
fn what_is_said_in_a_vlan_is_not_said_without() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[])?;
    let mut frame = [[0xff; 6], lab::topology::mac("isp", UP)].concat();
    frame.extend([0x81, 0, 0x03, 0xe7, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend(lab::topology::mac("isp", UP));
    frame.extend([203, 0, 113, 7, 0, 0, 0, 0, 0, 0, 203, 0, 113, 1]);
    scene.says("isp", frame)?;
    let found = scene.found()?;
    is(&found, "static", Some(999), false);
    assert_eq!(
        found.suggestion.details.gateway.as_deref(),
        Some("203.0.113.1")
    );
    assert_eq!(found.port, WAN);
    Ok(())
}
