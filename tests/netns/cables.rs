//! `weir cables`: the arrangements of docs/ports.md. A cable is plugged in, with real peers at its
//! other end: dnsmasq, pppoe-server, radvd, lldpd, babeld, udhcpc; a bridge is the dumb switch.

#[path = "cables/later.rs"]
mod later;
#[path = "cables/mesh.rs"]
mod mesh;
#[path = "cables/plug.rs"]
mod plug;
#[allow(dead_code, reason = "weir setup detect needs the rest of it")]
#[path = "detect/scene.rs"]
mod scene;

use lab::Error;

use plug::{Plug, Used, heard, is, one_of};
use scene::{LINE, ROUTER, Scene, UP, WAN};

const ISP: [&str; 1] = ["192.0.2.1/24"];

#[test]
fn an_isp_with_dhcp_is_an_uplink() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    let cable = Plug::of(scene, Used::Not)?.plugged()?;
    is(&cable, "uplink");
    Ok(())
}

#[test]
fn an_isp_with_pppoe_is_an_uplink() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[])?;
    scene.pppoe("isp", &[])?;
    let cable = Plug::of(scene, Used::Not)?.plugged()?;
    is(&cable, "uplink");
    Ok(())
}

#[test]
fn an_isp_with_router_advertisements_is_an_uplink() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &["2001:db8:1::1/64"])?;
    scene.radvd("isp", "prefix 2001:db8:1::/64 {};")?;
    let cable = Plug::of(scene, Used::Not)?.plugged()?;
    is(&cable, "uplink");
    heard(&cable, "router-advertisement");
    Ok(())
}

#[test]
fn an_isp_that_routes_ipv4_alone_and_asks_for_routers_itself_is_an_uplink() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    let isp = scene.lab.node("isp")?;
    for (key, value) in [("forwarding", 0), ("accept_ra", 1)] {
        isp.sysctl(&format!("net.ipv6.conf.{UP}.{key}"), value)?;
    }
    scene.dhcp("isp", &[])?;
    let cable = Plug::of(scene, Used::Not)?.plugged()?;
    is(&cable, "uplink");
    Ok(())
}

#[test]
fn a_computer_that_asks_for_an_address_is_a_client() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("laptop", &[])?;
    scene.asks_for_an_address("laptop")?;
    let cable = Plug::of(scene, Used::Lan)?.plugged()?;
    is(&cable, "client");
    Ok(())
}

#[test]
fn a_printer_with_an_address_of_its_own_is_a_client() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("printer", &["192.168.1.9/24"])?;
    scene.asks("printer", "192.168.1.1")?;
    let cable = Plug::of(scene, Used::Lan)?.plugged()?;
    is(&cable, "client");
    Ok(())
}

#[test]
fn a_dumb_switch_with_four_computers_is_a_switch() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    for computer in ["one", "two", "three", "four"] {
        scene.peer(computer, &[])?;
        scene.asks_for_an_address(computer)?;
    }
    let cable = Plug::of(scene, Used::Lan)?.plugged()?;
    is(&cable, "switch");
    Ok(())
}

#[test]
fn a_switch_that_says_so_is_a_switch() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.lldp(LINE, "port")?;
    let cable = Plug::of(scene, Used::Lan)?.plugged()?;
    heard(&cable, "lldp");
    is(&cable, "switch");
    Ok(())
}

#[test]
fn a_cable_that_comes_back_is_a_loop() -> Result<(), Error> {
    let scene = Scene::new()?;
    let mut plug = Plug::of(scene, Used::Lan)?;
    plug.scene.reflects()?;
    // A router that says nothing does not hear itself: what it asks comes back.
    let cable = plug.plugged()?;
    is(&cable, "loop");
    Ok(())
}

#[test]
fn a_cable_with_nobody_is_unknown() -> Result<(), Error> {
    let scene = Scene::new()?;
    let cable = Plug::of(scene, Used::Not)?.plugged()?;
    is(&cable, "unknown");
    assert!(!cable.would_change.is_empty(), "{cable:#?}");
    Ok(())
}

#[test]
fn another_network_with_babel_is_a_border() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("neighbour", &[])?;
    scene.babel("neighbour")?;
    let cable = Plug::of(scene, Used::Not)?.plugged()?;
    heard(&cable, "babel");
    is(&cable, "border");
    Ok(())
}

#[test]
fn a_radio_that_says_so_is_a_radio() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("dish", &[])?;
    scene
        .lab
        .node(LINE)?
        .run("ip link set sw type bridge group_fwd_mask 0x4000")?;
    scene.says("dish", plug::announced("dish", "NanoStation loco M5"))?;
    let cable = Plug::of(scene, Used::Not)?.plugged()?;
    heard(&cable, "lldp");
    is(&cable, "radio");
    Ok(())
}

#[test]
fn an_isp_behind_a_radio_is_an_uplink() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("dish", &[])?;
    scene
        .lab
        .node(LINE)?
        .run("ip link set sw type bridge group_fwd_mask 0x4000")?;
    scene.says("dish", plug::announced("dish", "NanoStation loco M5"))?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    let mut plug = Plug::of(scene, Used::Not)?;
    plug.plugged()?;
    let cable = plug.wait("the ISP's answer", |cable| cable.role == "uplink")?;
    assert!(cable.why.contains("by a radio"), "{cable:#?}");
    Ok(())
}

#[test]
fn a_router_that_asks_and_serves_is_no_uplink() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("twin", &ISP)?;
    scene.dhcp("twin", &[])?;
    scene.asks_for_an_address("twin")?;
    let cable = Plug::of(scene, Used::Not)?.plugged()?;
    one_of(&cable, &["unknown", "client"]);
    Ok(())
}

#[test]
fn a_cable_that_comes_and_goes_is_left_alone_until_it_stays() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    let mut plug = Plug::of(scene, Used::Not)?;
    for _ in 0..20 {
        let line = plug.scene.lab.node(LINE)?;
        line.run("ip link set port up")?;
        plug.wait("the link", |cable| cable.link)?;
        plug.unplug()?;
        let cable = plug.wait("the link to be gone", |cable| !cable.link)?;
        assert_eq!(cable.role, "unknown");
    }
    let line = plug.scene.lab.node(LINE)?;
    line.run("ip link set port up")?;
    let cable = plug.wait("the link", |cable| cable.link)?;
    assert!(cable.why.contains("comes and goes"), "{cable:#?}");
    is(&plug.decided()?, "uplink");
    Ok(())
}

#[test]
fn a_second_server_of_dhcp_in_the_lan_is_told_and_takes_no_port_from_it() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("stray", &ISP)?;
    scene.dhcp("stray", &[])?;
    let mut plug = Plug::of(scene, Used::Lan)?;
    plug.serves()?;
    let cable = plug.plugged()?;
    one_of(&cable, &["client", "unknown"]);
    let stray = lab::topology::text(lab::topology::mac("stray", UP));
    let told = |notice: &String| notice.contains(&stray);
    assert!(cable.notices.iter().any(told), "{cable:#?}");
    Ok(())
}

#[test]
fn a_server_of_dhcp_in_a_lan_that_has_none_is_told_and_takes_no_port_from_it() -> Result<(), Error>
{
    let mut scene = Scene::new()?;
    scene.peer("stray", &ISP)?;
    scene.dhcp("stray", &[])?;
    let cable = Plug::of(scene, Used::Lan)?.plugged()?;
    is(&cable, "client");
    let told = |notice: &String| notice.starts_with("A server of DHCP");
    assert!(cable.notices.iter().any(told), "{cable:#?}");
    Ok(())
}

#[test]
fn a_neighbour_at_the_providers_line_that_asks_hides_no_uplink() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[])?;
    scene.pppoe("isp", &[])?;
    scene.peer("neighbour", &[])?;
    scene.asks_for_an_address("neighbour")?;
    let cable = Plug::of(scene, Used::Not)?.plugged()?;
    is(&cable, "uplink");
    Ok(())
}

#[test]
fn what_somebody_chose_holds_over_a_restart_until_it_is_found_out_again() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    let mut plug = Plug::of(scene, Used::Not)?;
    is(&plug.plugged()?, "uplink");
    let (code, out, errors) = plug.weir(&["cables", "set", "wan", "client"])?;
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.contains("administrator"), "{out}");
    plug.restart()?;
    let cable = plug.decided()?;
    is(&cable, "client");
    assert_eq!(cable.held_by.as_deref(), Some("administrator"));
    let (code, _, errors) = plug.weir(&["cables", "auto", "wan"])?;
    assert_eq!(code, Some(0), "{errors}");
    let cable = plug.decided()?;
    is(&cable, "uplink");
    assert_eq!(cable.held_by, None);
    for (words, expected) in [
        (
            ["cables", "set", "lan9", "client"],
            "no port is called lan9",
        ),
        (["cables", "set", "wan", "king"], "invalid value 'king'"),
    ] {
        let (code, _, errors) = plug.weir(&words)?;
        assert_ne!(code, Some(0));
        assert!(errors.contains(expected), "{errors}");
    }
    Ok(())
}

#[test]
fn the_port_that_the_administrator_comes_by_stays_a_clients() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[])?;
    scene.pppoe("isp", &[])?;
    scene.peer("laptop", &["192.168.1.7/24"])?;
    let mut plug = Plug::of(scene, Used::Not)?;
    plug.scene.lab.address(ROUTER, WAN, "192.168.1.1/24")?;
    is(&plug.plugged()?, "uplink");
    plug.logs_in("laptop", "192.168.1.1")?;
    let cable = plug.wait("the administrator", |cable| cable.held_by.is_some())?;
    is(&cable, "client");
    assert_eq!(cable.held_by.as_deref(), Some("connection"));
    assert!(
        cable.why.contains("uplink"),
        "what was found is told: {cable:#?}"
    );
    Ok(())
}

#[test]
fn another_cable_is_another_decision() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    let mut plug = Plug::of(scene, Used::Not)?;
    is(&plug.plugged()?, "uplink");
    plug.unplug()?;
    plug.wait("the link to be gone", |cable| !cable.link)?;
    let line = plug.scene.lab.node(LINE)?;
    line.run("ip link set isp down")?;
    plug.scene.peer("laptop", &[])?;
    plug.scene.asks_for_an_address("laptop")?;
    is(&plug.plugged()?, "client");
    Ok(())
}
