//! Uplinks to the Internet, and their look-alikes.

use crate::cables::frames;
use crate::cables::plug::Used;
use crate::cables::scene::UP;
use crate::cables::topology::arrangements;

const ISP: [&str; 1] = ["192.0.2.1/24"];
const SIX: [&str; 1] = ["2001:db8:1::1/64"];
const PREFIX: &str = "prefix 2001:db8:1::/64 {};";

arrangements! {
    an_isp_with_dhcp:
        "a provider with DHCP" is "uplink", Used::Not, |scene| {
        scene.peer("isp", &ISP)?;
        scene.dhcp("isp", &[])
    };
    an_isp_with_pppoe:
        "a provider with PPPoE" is "uplink", Used::Not, |scene| {
        scene.peer("isp", &[])?;
        scene.pppoe("isp", &[])
    };
    #[test]
    an_isp_with_router_advertisements:
        "a provider with router advertisements" is "uplink" says "router-advertisement",
        Used::Not, |scene| {
        scene.peer("isp", &SIX)?;
        scene.radvd("isp", PREFIX)
    };
    an_isp_with_dhcp_and_router_advertisements:
        "a provider with DHCP and router advertisements" is "uplink", Used::Not, |scene| {
        scene.peer("isp", &[ISP, SIX].concat())?;
        scene.dhcp("isp", &[])?;
        scene.radvd("isp", PREFIX)
    };
    #[test]
    an_isp_with_dhcpv6_alone:
        "a provider with DHCPv6 alone" is "uplink", Used::Not, |scene| {
        scene.peer("isp", &SIX)?;
        scene.delegates("isp", "2001:db8:100::/56")
    };
    #[test]
    an_isp_that_answers_after_three_seconds:
        "a provider whose DHCP answers after 3 s" is "uplink", Used::Not, |scene| {
        scene.peer("isp", &ISP)?;
        scene.dhcp("isp", &["dhcp-reply-delay=3"])
    };
    #[test]
    an_isp_that_routes_ipv4_alone_and_asks_for_routers_itself:
        "an IPv4 provider that solicits IPv6 routers" is "uplink", Used::Not, |scene| {
        scene.peer("isp", &ISP)?;
        let isp = scene.lab.node("isp")?;
        for (key, value) in [("forwarding", 0), ("accept_ra", 1)] {
            isp.sysctl(&format!("net.ipv6.conf.{UP}.{key}"), value)?;
        }
        scene.dhcp("isp", &[])
    };
    a_modem_with_its_own_page:
        "a modem whose DHCP has no router" is "uplink" or "unknown" says "without a router",
        Used::Not, |scene| scene.modem();
    two_isps_at_one_switch:
        "two providers with DHCP at one switch" is "uplink" or "unknown", Used::Not, |scene| {
        scene.peer("isp", &ISP)?;
        scene.dhcp("isp", &[])?;
        scene.peer("isp2", &["198.51.100.1/24"])?;
        let range = "dhcp-range=198.51.100.57,198.51.100.99,255.255.255.0,2m";
        scene.dnsmasq("isp2", &[range])
    };
    an_isp_that_refuses:
        "a provider whose DHCP refuses (NAK; crafted frames)" is "uplink" or "unknown",
        Used::Not, |scene| {
        scene.peer("isp", &[])?;
        scene.speaks("isp", frames::nak)
    };
    an_isp_in_a_vlan_with_dhcp:
        "a provider with DHCP in VLAN 7" is "uplink" or "unknown", Used::Not, |scene| {
        scene.tagged("isp", 7, &ISP)?;
        scene.dhcp("isp", &[])
    };
    an_isp_in_a_vlan_with_pppoe:
        "a provider with PPPoE in VLAN 7" is "uplink" or "unknown", Used::Not, |scene| {
        scene.tagged("isp", 7, &[])?;
        scene.pppoe("isp", &[])
    };
    #[test]
    an_isp_in_a_vlan_with_router_advertisements:
        "a provider with router advertisements in VLAN 7" is "uplink" says "in VLAN 7",
        Used::Not, |scene| {
        scene.tagged("isp", 7, &SIX)?;
        scene.radvd("isp", PREFIX)
    };
    #[test]
    a_neighbour_at_the_providers_line_that_asks:
        "a provider with PPPoE, and a neighbour that asks for an address" is "uplink",
        Used::Not, |scene| {
        scene.peer("isp", &[])?;
        scene.pppoe("isp", &[])?;
        scene.peer("neighbour", &[])?;
        scene.asks_for_an_address("neighbour")
    };
    an_isp_behind_a_radio_that_says_so:
        "a provider with DHCP behind a radio with LLDP" is "uplink" or "radio"
        says "by a radio", Used::Not, |scene| {
        scene.dish()?;
        scene.peer("isp", &ISP)?;
        scene.dhcp("isp", &[])
    };
    #[test]
    an_isp_behind_radios:
        "a provider with DHCP behind two radios" is "uplink", Used::Not, |scene| {
        scene.radio_bridge()?;
        scene.behind("isp", &ISP)?;
        scene.dhcp("isp", &[])
    };
    a_router_that_asks_and_serves:
        "a router like this one, without weir" is "unknown" or "client", Used::Not, |scene| {
        scene.peer("twin", &ISP)?;
        scene.dhcp("twin", &[])?;
        scene.asks_for_an_address("twin")
    };
    a_cable_with_nobody:
        "a link without frames" is "unknown", Used::Not, |_| Ok(());
}
