//! Two nodes of one mesh, a provider and a client.

use std::process::{Command, Stdio};

use lab::Error;
use lab::namespace::wait_until;

use crate::ports_auto::node::{LONG, Node};
use crate::ports_auto::panel::Panel;
use crate::ports_auto::router::{FAR, Provider, ask, lease, unexpected};

/// The same at both nodes.
const SECRET: &str = "four horses in a tin can of beans\n";
const MESH: &str = "mesh = \"/etc/weir/mesh.secret\"\n";

/// A cable of the provider's and one to another node make a node of the mesh with an uplink; a
/// client behind the other node reaches what is beyond WAN. Swapped, both are found again.
#[test]
#[ignore = "needs batman-adv: run by tests/vm/run"]
fn two_cables_make_an_uplink_and_a_mesh_and_swapped_they_do_again() -> Result<(), Error> {
    let panel = Panel::new(&[
        ("router", &["eth0", "eth1"]),
        ("relay", &["eth0", "eth1"]),
        ("far", &["eth0"]),
        ("remote", &["eth0"]),
    ])?;
    let first = Node::in_mesh(&panel, "router", MESH, SECRET, true)?;
    let second = Node::in_mesh(&panel, "relay", MESH, SECRET, false)?;
    let _provider = Provider::with(panel.node("far")?, "eth0", 2)?;
    panel.plug(("relay", "eth1"), ("remote", "eth0"))?;
    for (uplink, mesh) in [("eth0", "eth1"), ("eth1", "eth0")] {
        panel.plug(("router", uplink), ("far", "eth0"))?;
        panel.plug(("router", mesh), ("relay", "eth0"))?;
        first.is_used(uplink, "uplink")?;
        first.is_used(mesh, "mesh")?;
        second.is_used("eth0", "mesh")?;
        let remote = panel.node("remote")?;
        let told = |error| unexpected(format!("{error}\n{}{}", first.logs(), second.logs()));
        let address = lease(remote, "eth0").map_err(told)?;
        assert!(address.starts_with("192.168.1."), "{address}");
        second.is_used("eth1", "lan")?;
        wait_until("the far host answers", LONG, || {
            let seen = ask(remote, FAR)?;
            Ok(seen.is_some_and(|seen| seen.starts_with("203.0.113.10")))
        })
        .map_err(told)?;
        for device in [uplink, mesh] {
            panel.unplug("router", device)?;
        }
        panel.unplug("relay", "eth0")?;
    }
    Ok(())
}

/// Two nodes of the mesh at a switch with somebody else: the mesh is in a VXLAN, which he does not
/// take part in, and carries traffic.
#[test]
#[ignore = "needs batman-adv: run by tests/vm/run"]
fn a_mesh_at_a_switch_is_in_a_vxlan() -> Result<(), Error> {
    let panel = Panel::new(&[
        ("router", &["eth0", "eth1"]),
        ("relay", &["eth0", "eth1"]),
        ("far", &["eth0"]),
        ("remote", &["eth0"]),
        ("stranger", &["eth0"]),
    ])?;
    let first = Node::in_mesh(&panel, "router", MESH, SECRET, true)?;
    let second = Node::in_mesh(&panel, "relay", MESH, SECRET, false)?;
    let _provider = Provider::start(panel.node("far")?)?;
    panel.plug(("router", "eth0"), ("far", "eth0"))?;
    let stranger = panel.node("stranger")?;
    stranger.run("ip address add 192.168.1.77/24 dev eth0")?;
    let mut asks = Command::new("ping");
    asks.args(["-i", "0.5", "192.168.1.1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _asks = stranger.start(&mut asks)?;
    panel.switch(&[("router", "eth1"), ("relay", "eth0"), ("stranger", "eth0")])?;
    panel.plug(("relay", "eth1"), ("remote", "eth0"))?;
    for (node, device) in [(&first, "eth1"), (&second, "eth0")] {
        node.is_used(device, "mesh")?;
        let vxlan = format!("vx_{device}");
        wait_until("the mesh is in a VXLAN", LONG, || {
            let shown = node.router.run(&format!("ip link show {vxlan}"));
            Ok(shown.is_ok_and(|shown| shown.contains("master bat0")))
        })
        .map_err(|error| node.told(&error))?;
    }
    let remote = panel.node("remote")?;
    let told = |error| unexpected(format!("{error}\n{}{}", first.logs(), second.logs()));
    let address = lease(remote, "eth0").map_err(told)?;
    assert!(address.starts_with("192.168.1."), "{address}");
    wait_until("the far host answers", LONG, || {
        Ok(ask(remote, FAR)?.is_some())
    })
    .map_err(told)?;
    // He hears the router's port, as Linux answers for all of its addresses, and is let in nowhere.
    for inside in ["192.168.1.1", &address] {
        let answered = stranger.run(&format!("ping -c 2 -W 2 {inside}"));
        assert!(answered.is_err(), "{answered:?}");
    }
    Ok(())
}
