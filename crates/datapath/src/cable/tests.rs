use cables_core::Sort;

use super::*;

/// The list of the C header, by the names that the other crate has.
#[test]
fn both_lists_of_sorts_are_the_same() {
    let here = [
        (Sort::Own, headers::CABLE_OWN),
        (Sort::Hello, headers::CABLE_HELLO),
        (Sort::Pado, headers::CABLE_PADO),
        (Sort::Padi, headers::CABLE_PADI),
        (Sort::DhcpServer, headers::CABLE_DHCP_SERVER),
        (Sort::DhcpClient, headers::CABLE_DHCP_CLIENT),
        (Sort::Dhcp6Server, headers::CABLE_DHCP6_SERVER),
        (
            Sort::RouterAdvertisement,
            headers::CABLE_ROUTER_ADVERTISEMENT,
        ),
        (Sort::RouterSolicitation, headers::CABLE_ROUTER_SOLICITATION),
        (Sort::Lldp, headers::CABLE_LLDP),
        (Sort::Cdp, headers::CABLE_CDP),
        (Sort::Mndp, headers::CABLE_MNDP),
        (Sort::Batman, headers::CABLE_BATMAN),
        (Sort::Babel, headers::CABLE_BABEL),
        (Sort::Routing, headers::CABLE_ROUTING),
        (Sort::Bpdu, headers::CABLE_BPDU),
        (Sort::Arp, headers::CABLE_ARP),
        (Sort::Ip, headers::CABLE_IP),
        (Sort::Other, headers::CABLE_OTHER),
    ];
    assert_eq!(here.map(|(sort, _)| sort), Sort::ALL);
    for (sort, number) in here {
        assert_eq!(sort as u64, number, "{sort:?}");
    }
    assert_eq!(SORTS, Sort::ALL.len());
}

/// The programs look for a device where user space puts it; they cannot where two share a place.
#[test]
fn places_are_as_many_as_a_mask_has() {
    assert!(PORTS.is_power_of_two());
}
