use cables_core::FrameClass;

use super::*;

/// The list of the C header, by the names that the other crate has.
#[test]
fn both_lists_of_sorts_are_the_same() {
    let here = [
        (FrameClass::Own, headers::CABLE_OWN),
        (FrameClass::Hello, headers::CABLE_HELLO),
        (FrameClass::Pado, headers::CABLE_PADO),
        (FrameClass::Padi, headers::CABLE_PADI),
        (FrameClass::DhcpServer, headers::CABLE_DHCP_SERVER),
        (FrameClass::DhcpClient, headers::CABLE_DHCP_CLIENT),
        (FrameClass::Dhcp6Server, headers::CABLE_DHCP6_SERVER),
        (
            FrameClass::RouterAdvertisement,
            headers::CABLE_ROUTER_ADVERTISEMENT,
        ),
        (
            FrameClass::RouterSolicitation,
            headers::CABLE_ROUTER_SOLICITATION,
        ),
        (FrameClass::Lldp, headers::CABLE_LLDP),
        (FrameClass::Cdp, headers::CABLE_CDP),
        (FrameClass::Mndp, headers::CABLE_MNDP),
        (FrameClass::Batman, headers::CABLE_BATMAN),
        (FrameClass::Babel, headers::CABLE_BABEL),
        (FrameClass::Routing, headers::CABLE_ROUTING),
        (FrameClass::Bpdu, headers::CABLE_BPDU),
        (FrameClass::Arp, headers::CABLE_ARP),
        (FrameClass::Ip, headers::CABLE_IP),
        (FrameClass::Other, headers::CABLE_OTHER),
    ];
    assert_eq!(here.map(|(sort, _)| sort), FrameClass::ALL);
    for (sort, number) in here {
        assert_eq!(sort as u64, number, "{sort:?}");
    }
    assert_eq!(SORTS, FrameClass::ALL.len());
}

/// The programs look for a device where user space puts it; they cannot if two share a slot.
#[test]
fn places_are_as_many_as_a_mask_has() {
    assert!(PORTS.is_power_of_two());
}
