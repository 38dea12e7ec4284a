//! `weir cables`: a cable is plugged in, and weir reports the other end. Each arrangement of
//! docs/reference/cables-arrangements.md is a test, with real peers: dnsmasq, pppoe-server, radvd, dhcp6s,
//! lldpd, babeld, bird, udhcpc; a bridge is the switch.

mod clients;
mod deceptive_frames;
mod frames;
mod matrix;
mod mesh;
mod neighbours;
mod peers;
mod plug;
mod quarantine;
mod topology;
#[allow(dead_code, reason = "weir setup detect needs the rest of it")]
use crate::detect::scene;
mod stress;
mod uplinks;

use lab::Error;

use plug::{DESK, Plug, Used, is};
use scene::{LINE, ROUTER, Scene, UP, WAN};

const ISP: [&str; 1] = ["192.0.2.1/24"];

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

/// A client of the LAN asks for an address: weir names the foreign server at the port, and keeps
/// its answers out. Without weir the client gets them.
#[test]
fn a_server_of_others_is_kept_out_of_the_lan_where_that_is_asked() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("stray", &ISP)?;
    scene.dhcp("stray", &[])?;
    let mut plug = Plug::of(scene, Used::Guarded)?;
    is(&plug.plugged()?, "client");
    let desk = plug.scene.lab.node(DESK)?;
    let asks = || {
        desk.run(&format!(
            "busybox udhcpc -i {UP} -n -q -f -t 3 -T 1 -s /bin/true"
        ))
    };
    for _ in 0..2 {
        let leased = asks();
        assert!(leased.is_err(), "{leased:?}");
    }
    let stray = lab::topology::text(lab::topology::mac("stray", UP));
    let told = |notice: &String| notice.contains(&stray);
    plug.wait("the server to be told", |cable| {
        cable.notices.iter().any(told)
    })?;
    plug.end()?;
    asks().map(drop)
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

#[test]
#[ignore = "needs batman-adv: run by tests/vm/run"]
fn a_node_with_batman_adv_is_a_border() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.passes_all()?;
    scene.peer("node", &[])?;
    scene
        .lab
        .node("node")?
        .ip("link add bat0 type batadv\nlink set net master bat0\nlink set bat0 up")?;
    let mut plug = Plug::of(scene, Used::Not)?;
    let cable = plug.plugged()?;
    is(&cable, "border");
    assert!(cable.why.contains("batman-adv"), "{cable:#?}");
    Ok(())
}
