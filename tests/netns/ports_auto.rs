//! `[cables] mode = "auto"`: with Debian's services, bare nodes become routers by the plugged
//! cables, and again after the cables are swapped.

mod mesh;
mod node;
mod panel;
#[allow(dead_code, reason = "weir setup debian needs the rest of it")]
use crate::setup_debian::router;

use lab::Error;
use lab::namespace::wait_until;

use node::{LONG, Node};
use panel::Panel;
use router::{FAR, Provider, ask, lease, unexpected};

/// With a provider's and a client's cable a new node becomes a router. After the cables are
/// swapped, the node routes again.
#[test]
fn two_cables_make_a_router_and_swapped_they_do_again() -> Result<(), Error> {
    let panel = Panel::new(&[
        ("router", &["eth0", "eth1"]),
        ("far", &["eth0"]),
        ("client", &["eth0"]),
    ])?;
    let node = Node::start(&panel, "router", "")?;
    let far = panel.node("far")?;
    // The provider counts each socket and each mere request as another customer.
    let _provider = Provider::with(far, "eth0", 6)?;
    let client = panel.node("client")?;
    let told = |error| unexpected(format!("{error}\n{}", node.logs()));
    // Swapped, both cables come at once: neither socket waits for the other.
    for (uplink, lan, at_once) in [("eth0", "eth1", false), ("eth1", "eth0", true)] {
        panel.plug(("router", uplink), ("far", "eth0"))?;
        if !at_once {
            node.is_used(uplink, "uplink")?;
        }
        panel.plug(("router", lan), ("client", "eth0"))?;
        let address = lease(client, "eth0").map_err(told)?;
        assert!(address.starts_with("192.168.1."), "{address}");
        node.is_used(lan, "lan")?;
        node.is_used(uplink, "uplink")?;
        wait_until("the far host answers", LONG, || {
            let seen = ask(client, FAR)?;
            Ok(seen.is_some_and(|seen| seen.starts_with("203.0.113.10")))
        })
        .map_err(told)?;
        // The change needs no confirmation.
        let shown = node.router.setup("show --json")?;
        assert!(
            shown.contains("\"pending\": null") || shown.contains("\"pending\":null"),
            "{shown}"
        );
        panel.unplug("router", uplink)?;
        panel.unplug("router", lan)?;
    }
    Ok(())
}
