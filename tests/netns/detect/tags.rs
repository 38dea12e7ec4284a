//! Uplinks in a VLAN.

use lab::Error;

use super::scene::{Scene, UP, WAN};
use super::{ISP, PORTAL, heard, is, untold, why};

#[test]
fn pppoe_in_vlan_7() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.tagged("isp", 7, &[])?;
    scene.pppoe("isp", &[])?;
    let found = scene.found()?;
    is(&found, "pppoe", Some(7), true);
    why(&found, "VLAN 7");
    heard(&found, "vlan");
    Ok(())
}

#[test]
fn dhcp_in_vlan_35() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.tagged("isp", 35, &ISP)?;
    scene.dhcp("isp", &[])?;
    let found = scene.found()?;
    is(&found, "dhcp", Some(35), true);
    assert_eq!(
        found.suggestion.details.gateway.as_deref(),
        Some("192.0.2.1")
    );
    untold(&found, PORTAL);
    Ok(())
}

#[test]
fn pppoe_in_vlan_7_behind_a_modem_with_a_page() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.modem()?;
    scene.tagged("isp", 7, &[])?;
    scene.pppoe("isp", &[])?;
    let found = scene.found()?;
    is(&found, "pppoe", Some(7), true);
    heard(&found, "dhcp");
    Ok(())
}

#[test]
fn dhcp_without_a_tag_comes_before_pppoe_in_vlan_7() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("near", &ISP)?;
    scene.dhcp("near", &[])?;
    scene.tagged("isp", 7, &[])?;
    scene.pppoe("isp", &[])?;
    let found = scene.found()?;
    is(&found, "dhcp", None, false);
    why(&found, "PPPoE in VLAN 7");
    Ok(())
}

/// A number that no provider is known for, of which somebody speaks.
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

#[test]
fn a_vlan_that_is_neither_tried_nor_heard_cannot_be_told() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.tagged("isp", 1235, &ISP)?;
    scene.dhcp("isp", &[])?;
    // Or the kernel there would say to which groups it belongs.
    scene
        .lab
        .node("isp")?
        .sysctl("net.ipv6.conf.all.disable_ipv6", 1)?;
    let found = scene.found()?;
    is(&found, "none", None, false);
    untold(&found, "another VLAN than those tried");
    Ok(())
}

/// Frames with the tag come from the switch, and from nowhere else: what is in them counts for
/// nobody without one.
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
