//! Nodes of this mesh, of another, and this router itself.

use std::time::Duration;

use crate::cables::frames;
use crate::cables::peers::{OTHER_SECRET, SECRET};
use crate::cables::plug::Used;
use crate::cables::topology::arrangements;

const ISP: [&str; 1] = ["192.0.2.1/24"];
/// The decision takes ten seconds at most; weir listens for ten more.
const RESTS: Duration = Duration::from_secs(22);

arrangements! {
    #[test]
    a_node_of_this_mesh:
        "a node of this mesh" is "mesh", Used::Not, |scene| {
        scene.peer("node", &[])?;
        scene.directly("node")?;
        scene.weir("node", SECRET)
    };
    a_node_behind_a_switch:
        "a node of this mesh behind a simple switch" is "mesh", Used::Not, |scene| {
        scene.passes_all()?;
        scene.peer("node", &[])?;
        scene.plugged_together("node");
        scene.weir("node", SECRET)
    };
    a_node_behind_a_switch_of_the_standard:
        "a node of this mesh behind an IEEE 802.1D switch" is "mesh" or "unknown",
        Used::Not, |scene| {
        scene.peer("node", &[])?;
        scene.weir("node", SECRET)
    };
    #[test]
    a_node_behind_radios:
        "a node of this mesh behind two radios" is "mesh", Used::Not, |scene| {
        scene.radio_bridge()?;
        scene.behind("node", &[])?;
        scene.plugged_together("node");
        scene.weir("node", SECRET)
    };
    two_nodes_at_one_switch:
        "two nodes of this mesh at one switch" is "mesh", Used::Not, |scene| {
        scene.passes_all()?;
        for node in ["north", "south"] {
            scene.peer(node, &[])?;
            scene.plugged_together(node);
            scene.weir(node, SECRET)?;
        }
        Ok(())
    };
    a_node_and_both_serve_dhcp:
        "a node of this mesh, and both serve addresses" is "mesh", Used::Serves, |scene| {
        scene.passes_all()?;
        scene.peer("node", &["192.168.1.2/24"])?;
        scene.dnsmasq("node", &["dhcp-range=192.168.1.160,192.168.1.190,255.255.255.0,2m"])?;
        scene.plugged_together("node");
        scene.weir("node", SECRET)
    };
    #[test]
    a_node_that_has_been_there_for_long:
        "a resting node of this mesh at a switch, and both serve addresses" is "mesh",
        Used::Serves, |scene| {
        scene.passes_all()?;
        scene.peer("node", &["192.168.1.2/24"])?;
        scene.dnsmasq("node", &["dhcp-range=192.168.1.160,192.168.1.190,255.255.255.0,2m"])?;
        scene.weir("node", SECRET)?;
        // The node has decided, and now records multicast frames only.
        std::thread::sleep(RESTS);
        Ok(())
    };
    a_node_and_an_isp_at_one_switch:
        "a node of this mesh and a provider with DHCP at one switch" is "mesh" or "unknown",
        Used::Not, |scene| {
        scene.passes_all()?;
        scene.peer("isp", &ISP)?;
        scene.dhcp("isp", &[])?;
        scene.peer("node", &[])?;
        scene.plugged_together("node");
        scene.weir("node", SECRET)
    };
    #[test]
    a_node_of_another_mesh:
        "a node of another mesh" is "border", Used::Not, |scene| {
        scene.peer("node", &[])?;
        scene.directly("node")?;
        scene.weir("node", OTHER_SECRET)
    };
    a_hello_that_was_recorded:
        "a recorded hello of this mesh (crafted frames)"
        is "border" or "unknown", Used::Not, |scene| {
        scene.passes_all()?;
        scene.peer("thief", &[])?;
        scene.speaks("thief", |own| frames::recorded(own, SECRET))
    };
    #[test]
    another_network_with_babel:
        "a router with Babel" is "border" says "babel", Used::Not, |scene| {
        scene.peer("neighbour", &[])?;
        scene.babel("neighbour")
    };
    #[test]
    another_network_with_ospf:
        "a router with OSPF" is "border" says "routing protocol", Used::Not, |scene| {
        scene.peer("neighbour", &ISP)?;
        scene.bird("neighbour", "protocol ospf v2 { area 0 { interface \"net\" { hello 1; }; }; }")
    };
    another_network_with_rip:
        "a router with RIP" is "border" says "routing protocol", Used::Not, |scene| {
        scene.peer("neighbour", &ISP)?;
        let rip = "protocol rip { ipv4 { export all; }; interface \"net\" { update time 2; }; }";
        scene.bird("neighbour", rip)
    };
    another_network_with_olsr:
        "a router with OLSR (crafted frames)" is "border" says "routing protocol",
        Used::Not, |scene| {
        scene.peer("neighbour", &[])?;
        scene.speaks("neighbour", frames::olsr)
    };
    another_network_with_batman:
        "a node with batman-adv (crafted frames)" is "border" says "batman-adv",
        Used::Not, |scene| {
        scene.peer("neighbour", &[])?;
        scene.speaks("neighbour", frames::batman)
    };
    #[test]
    a_cable_that_comes_back:
        "a switch that returns own frames once" is "loop", Used::Lan, |scene| {
        scene.reflects()
    };
    #[test]
    a_cable_between_two_own_ports:
        "a cable between two ports of this router" is "loop", Used::Not, |scene| scene.short();
    a_cable_between_two_ports_of_the_lan:
        "a cable between two LAN ports of this router" is "loop", Used::Lan, |scene| scene.short();
    #[test]
    two_own_ports_at_one_switch:
        "two ports of this router at one simple switch (reported at either)" is "loop",
        Used::Not, |scene| {
        scene.second_port()
    };
    three_switches_in_a_ring:
        "three switches in a ring" is "loop", Used::Not, |scene| scene.ring();
}
