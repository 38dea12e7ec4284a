//! Two nodes of one mesh, a provider, a client and a stranger.

use std::process::{Command, Stdio};

use lab::Error;
use lab::namespace::{Namespace, wait_until};

use crate::ports_auto::node::{LONG, Node};
use crate::ports_auto::panel::Panel;
use crate::ports_auto::router::{FAR, Provider, ask, lease, unexpected};

/// Secret of both nodes.
const SECRET: &str = "four horses in a tin can of beans\n";
/// No fast path, as its programs take seconds to load in an emulated machine.
const MESH: &str = "mesh = \"/etc/weir/mesh.secret\"\n[offload]\nenabled = false\n";

/// A client behind one node gets an address from the other, and reaches what is beyond its WAN.
/// Gives the address.
fn reaches(remote: &Namespace, nodes: [&Node; 2], when: &str) -> Result<String, Error> {
    let told = |error| {
        let logs = nodes.map(Node::logs).concat();
        unexpected(format!("{when}: {error}\n{logs}"))
    };
    let address = lease(remote, "eth0").map_err(told)?;
    assert!(address.starts_with("192.168.1."), "{when}: {address}");
    nodes[1].is_used("eth1", "lan")?;
    wait_until("the far host answers", LONG, || {
        let seen = ask(remote, FAR)?;
        Ok(seen.is_some_and(|seen| seen.starts_with("203.0.113.10")))
    })
    .map_err(told)?;
    Ok(address)
}

/// A cable of the provider's and one to another node make a node of the mesh with an uplink; a
/// client behind the other node reaches what is beyond WAN. Swapped, both are found again: the
/// mesh now at a switch with somebody else, so that it is in a VXLAN, which he does not take part in.
#[test]
#[ignore = "needs batman-adv: run by tests/vm/run"]
fn two_cables_make_an_uplink_and_a_mesh_and_swapped_at_a_switch_they_do_again() -> Result<(), Error>
{
    let panel = Panel::new(&[
        ("router", &["eth0", "eth1"]),
        ("relay", &["eth0", "eth1"]),
        ("far", &["eth0"]),
        ("remote", &["eth0"]),
        ("stranger", &["eth0"]),
    ])?;
    let first = Node::in_mesh(&panel, "router", MESH, SECRET, true)?;
    let second = Node::in_mesh(&panel, "relay", MESH, SECRET, false)?;
    let nodes = [&first, &second];
    let _provider = Provider::with(panel.node("far")?, "eth0", 2)?;
    let remote = panel.node("remote")?;
    panel.plug(("relay", "eth1"), ("remote", "eth0"))?;
    panel.plug(("router", "eth0"), ("far", "eth0"))?;
    panel.plug(("router", "eth1"), ("relay", "eth0"))?;
    first.is_used("eth0", "uplink")?;
    first.is_used("eth1", "mesh")?;
    second.is_used("eth0", "mesh")?;
    reaches(remote, nodes, "by a cable")?;

    for (role, device) in [("router", "eth0"), ("router", "eth1"), ("relay", "eth0")] {
        panel.unplug(role, device)?;
    }
    panel.plug(("router", "eth1"), ("far", "eth0"))?;
    let stranger = panel.node("stranger")?;
    stranger.run("ip address add 192.168.1.77/24 dev eth0")?;
    let mut asks = Command::new("ping");
    asks.args(["-i", "0.5", "192.168.1.1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _asks = stranger.start(&mut asks)?;
    panel.switch(&[("router", "eth0"), ("relay", "eth0"), ("stranger", "eth0")])?;
    first.is_used("eth1", "uplink")?;
    for node in nodes {
        node.is_used("eth0", "mesh")?;
        wait_until("the mesh is in a VXLAN", LONG, || {
            let shown = node.router.run("ip link show vx_eth0");
            Ok(shown.is_ok_and(|shown| shown.contains("master bat0")))
        })
        .map_err(|error| node.told(&error))?;
    }
    let address = reaches(remote, nodes, "at a switch")?;
    // He hears the router's port, as Linux answers for all of its addresses, and is let in nowhere.
    for inside in ["192.168.1.1", &address] {
        let answered = stranger.run(&format!("ping -c 2 -W 2 {inside}"));
        assert!(answered.is_err(), "{answered:?}");
    }
    Ok(())
}
