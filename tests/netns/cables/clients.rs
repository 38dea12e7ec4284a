//! Users of the network, switches and radios.

use crate::cables::frames;
use crate::cables::plug::Used;
use crate::cables::scene::LINE;
use crate::cables::topology::arrangements;

const STRAY: [&str; 1] = ["192.0.2.1/24"];

arrangements! {
    #[test]
    a_computer_that_asks_for_an_address:
        "a computer, at a port of the LAN" is "client", Used::Lan, |scene| {
        scene.peer("laptop", &[])?;
        scene.asks_for_an_address("laptop")
    };
    a_computer_at_a_port_used_for_nothing:
        "a computer" is "client", Used::Not, |scene| {
        scene.peer("laptop", &[])?;
        scene.asks_for_an_address("laptop")
    };
    #[test]
    a_printer_with_an_address_of_its_own:
        "a printer with a fixed address, at a port of the LAN" is "client",
        Used::Lan, |scene| {
        scene.peer("printer", &["192.168.1.9/24"])?;
        scene.asks("printer", "192.168.1.1")
    };
    a_computer_with_an_address_of_its_own:
        "a computer with a fixed address" is "client" or "unknown", Used::Not, |scene| {
        scene.peer("server", &["192.168.1.9/24"])?;
        scene.asks("server", "192.168.1.1")
    };
    a_printer_that_looks_for_others:
        "a printer with multicast DNS and LLMNR only (crafted frames)"
        is "client" or "unknown", Used::Lan, |scene| {
        scene.peer("printer", &[])?;
        scene.speaks("printer", frames::mdns)?;
        scene.speaks("printer", frames::llmnr)
    };
    a_telephone_with_a_computer_behind_it:
        "a telephone with a computer at its second socket" is "client", Used::Lan, |scene| {
        scene.passes_all()?;
        scene.peer("phone", &[])?;
        scene.speaks("phone", |own| frames::lldp(own, "SIP-T42S", 0b10_0100))?;
        scene.asks_for_an_address("phone")?;
        scene.peer("laptop", &[])?;
        scene.asks_for_an_address("laptop")
    };
    a_computer_with_a_virtual_machine:
        "a computer with a virtual machine that has its own MAC address"
        is "client" or "unknown", Used::Lan, |scene| {
        scene.peer("laptop", &[])?;
        scene.asks_for_an_address("laptop")?;
        scene.peer("guest", &[])?;
        scene.asks_for_an_address("guest")
    };
    a_client_behind_radios:
        "a computer behind two radios" is "client" or "unknown", Used::Not, |scene| {
        scene.radio_bridge()?;
        scene.behind("laptop", &[])?;
        scene.asks_for_an_address("laptop")
    };
    a_client_that_serves_dhcp:
        "a client with a DHCP server, at a port of the LAN" is "client" or "unknown"
        says "A DHCP server", Used::Lan, |scene| {
        scene.peer("stray", &STRAY)?;
        scene.dhcp("stray", &[])
    };
    a_client_that_serves_dhcp_beside_this_router:
        "a client with a DHCP server, while this router serves addresses" is "client" or "unknown"
        says "A DHCP server", Used::Serves, |scene| {
        scene.peer("stray", &STRAY)?;
        scene.dhcp("stray", &[])
    };
    #[test]
    a_client_that_pretends_to_be_a_provider:
        "a client with PPPoE and router advertisements, at a port of the LAN"
        is "client" or "unknown" says "PPPoE", Used::Lan, |scene| {
        scene.peer("stray", &["2001:db8:1::1/64"])?;
        scene.pppoe("stray", &[])?;
        scene.radvd("stray", "prefix 2001:db8:1::/64 {};")
    };
    a_dumb_switch_with_four_computers:
        "four computers at a simple switch" is "switch", Used::Lan, |scene| {
        for computer in ["one", "two", "three", "four"] {
            scene.peer(computer, &[])?;
            scene.asks_for_an_address(computer)?;
        }
        Ok(())
    };
    #[test]
    a_switch_that_says_so:
        "a switch with LLDP" is "switch" says "lldp", Used::Lan, |scene| {
        scene.lldp(LINE, "port")
    };
    #[test]
    a_switch_with_a_spanning_tree:
        "a switch with a spanning tree" is "switch" or "unknown" says "spanning tree",
        Used::Lan, |scene| {
        let line = scene.lab.node(LINE)?;
        line.ip("link set sw type bridge stp_state 1").map(drop)
    };
    a_radio_that_says_so:
        "a radio with LLDP" is "radio" says "lldp", Used::Not, |scene| scene.dish();
    a_radio_at_the_far_end:
        "two radios, the far one with LLDP" is "radio", Used::Not, |scene| {
        scene.radio_bridge()?;
        scene.behind("dish", &[])?;
        scene.speaks("dish", |own| frames::lldp(own, "LiteBeam 5AC", 0b1100))
    };
}
