//! Names and addresses that a router derives for itself from a document for many routers.

use std::net::Ipv4Addr;

use super::{Facts, Ipv4Cidr, ProblemKind, Report};
use crate::choices::Lan;

/// In a name: the last three bytes of the router's hardware address. In an address: its last ones.
const MAC: &str = "{mac}";

/// Returns a name with the router's own digits in it.
pub(super) fn name(name: &str, facts: &Facts, report: &mut Report) -> Option<String> {
    if !name.contains(MAC) {
        return Some(name.to_owned());
    }
    let [_, _, _, a, b, c] = mac("router.name", facts, report)?;
    Some(name.replace(MAC, &format!("{a:02x}{b:02x}{c:02x}")))
}

/// Returns the router's hardware address. An invalid or multicast address is not unique: boards
/// with empty memory have one.
fn mac(field: &str, facts: &Facts, report: &mut Report) -> Option<[u8; 6]> {
    let is_one = |mac: &[u8; 6]| *mac != [0; 6] && mac[0] & 1 == 0;
    let mac = facts.mac.filter(is_one);
    if mac.is_none() {
        report.add_problem(field, &ProblemKind::NoMac);
    }
    mac
}

/// Returns the router's address inside: that of `lan.address`, or, of `10.23.{mac}/16`, one of its
/// own in that network.
pub(super) fn address(lan: &Lan, facts: &Facts, report: &mut Report) -> Option<Ipv4Cidr> {
    const FIELD: &str = "lan.address";
    let Some(network) = network_of(&lan.address) else {
        return report.read_lan_address(FIELD, &lan.address);
    };
    let mac = mac(FIELD, facts, report)?;
    // Also without DHCP here, as another node may have it.
    let address = address_by(mac, network, (lan.first, lan.count));
    report.read_lan_address(FIELD, &format!("{address}/{}", network.length))
}

/// Returns the network of an address whose last bytes belong to the router: of `10.23.{mac}/16`
/// 10.23.0.0/16.
fn network_of(address: &str) -> Option<Ipv4Cidr> {
    let (octets, length) = address.split_once(MAC)?;
    let octets = octets.strip_suffix('.')?;
    let more = 3_usize.checked_sub(octets.matches('.').count())?;
    let zeros = vec!["0"; more].join(".");
    Ipv4Cidr::read_network(&format!("{octets}.{zeros}{length}"))
        .filter(|inside| inside.network() == inside.address && inside.length < 31)
}

/// Derives an address of a router in a network from its hardware address, outside of the `pool`
/// (the number of the first address for others, and their count) if the network has room for both.
fn address_by(mac: [u8; 6], network: Ipv4Cidr, (first, count): (u32, u32)) -> Ipv4Addr {
    let room = network.host_count();
    let (first, count) = match (u64::from(first), u64::from(count)) {
        (first, count) if first > 0 && count < room && first + count <= room + 1 => (first, count),
        _ => (1, 0),
    };
    let [_, _, a, b, c, d] = mac;
    let own = u64::from(u32::from_be_bytes([a, b, c, d])) % (room - count) + 1;
    let number = if own >= first { own + count } else { own };
    let number = u32::try_from(number).unwrap_or(1);
    Ipv4Addr::from(u32::from(network.network()) + number)
}

#[cfg(test)]
mod tests {
    use super::{Ipv4Cidr, address_by, network_of};

    #[test]
    fn addresses_are_in_the_network_and_none_of_those_given_to_others() {
        for (network, pool) in [
            ("10.23.0.0/16", (100, 150)),
            ("192.168.7.0/24", (100, 150)),
            ("192.168.7.0/29", (1, 5)),
            ("192.168.7.0/29", (2, 5)),
            ("192.168.7.0/30", (1, 0)),
        ] {
            let inside = Ipv4Cidr::read_network(network).unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for last in 0..=255 {
                let address = address_by([2, 0, 0x5e, 0x10, 3, last], inside, pool);
                let number = u32::from(address) - u32::from(inside.network());
                assert!(
                    (1..=inside.host_count()).contains(&u64::from(number)),
                    "{address}"
                );
                assert!(!(pool.0..pool.0 + pool.1).contains(&number), "{address}");
                seen.insert(address);
            }
            let left = inside.host_count() - u64::from(pool.1);
            assert_eq!(seen.len() as u64, left.min(256), "{network}");
        }
    }

    #[test]
    fn networks_whose_last_octets_are_the_routers_own() {
        let network = |text: &str| network_of(text).map(|inside| inside.to_string());
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(network("10.23.{mac}/16"), some("10.23.0.0/16"));
        assert_eq!(network("10.{mac}/9"), some("10.0.0.0/9"));
        assert_eq!(network("192.168.7.{mac}/24"), some("192.168.7.0/24"));
        for wrong in [
            "10.23.0.0/16",
            "10.23{mac}/16",
            "{mac}",
            "{mac}/16",
            "10.23.{mac}",
            "10.23.{mac}.1/16",
            "10.23.{mac}/8",
            "10.23.7.9.{mac}/16",
            "10.1.2.{mac}/31",
            "10.23.{mac}{mac}/16",
        ] {
            assert_eq!(network(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_pool_for_which_there_is_no_room_is_none_of_this_affair() {
        let inside = Ipv4Cidr::read_network("192.168.7.0/30").unwrap();
        for pool in [
            (100, 150),
            (0, 1),
            (1, 2),
            (1, u32::MAX),
            (u32::MAX, u32::MAX),
        ] {
            assert!(inside.contains(address_by([2, 0, 0, 0, 0, 1], inside, pool)));
        }
    }
}
