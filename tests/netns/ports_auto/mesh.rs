//! Two nodes of one mesh, a provider, a client and an outsider.

use std::process::{Command, Stdio};

use lab::Error;
use lab::namespace::{Namespace, wait_until};

use crate::ports_auto::node::{LONG, Node};
use crate::ports_auto::panel::Panel;
use crate::ports_auto::router::{FAR, Provider, ask, lease, unexpected};

/// Secret of both nodes.
const SECRET: &str = "four horses in a tin can of beans\n";
/// Without the fast path, whose programs take seconds to load in an emulated machine.
const MESH: &str = "mesh = \"/etc/weir/mesh.secret\"\n[offload]\nenabled = false\n";

/// A client behind one node leases an address from the other, and reaches a host beyond its WAN.
/// Returns the address.
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

/// Cables to the provider and to another node make a mesh node with an uplink; a client behind the
/// other node reaches a host beyond WAN. After a swap weir detects both again: the mesh is now at a
/// switch with an outsider, so the mesh uses a VXLAN, to which the outsider does not belong.
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
    // The outsider reaches the port: Linux answers for all addresses. No packet gets further.
    for inside in ["192.168.1.1", &address] {
        let answered = stranger.run(&format!("ping -c 2 -W 2 {inside}"));
        assert!(answered.is_err(), "{answered:?}");
    }
    Ok(())
}
