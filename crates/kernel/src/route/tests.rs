//! Decodes datagrams of a kernel (`tests/fixtures`).

use super::*;
use crate::event::{Link, Qdisc};
use crate::fixture::{datagrams, message};
use crate::message::Problem;
use crate::rtnetlink::{
    AF_INET, RTM_F_CLONED, RTM_NEWADDR, RTM_NEWLINK, RTM_NEWNEIGH, RTM_NEWQDISC, RTM_NEWROUTE,
};

pub(super) fn events(name: &str) -> Vec<Event> {
    let mut out = Vec::new();
    for datagram in datagrams(name) {
        let tally = decode(&datagram, &mut out);
        assert_eq!((tally.malformed, tally.last_error), (0, None), "{name}");
    }
    out
}

fn links(name: &str) -> Vec<Link> {
    let link = |event| match event {
        Event::Link(link) => Some(link),
        _ => None,
    };
    events(name).into_iter().filter_map(link).collect()
}

#[test]
fn a_veth_pair_appears_and_comes_up() {
    let made = links("veth");
    assert_eq!(made.len(), 2);
    for link in &made {
        assert_eq!(
            (link.hardware, link.up, link.mtu, link.kind.as_str()),
            (1, false, 1500, "veth")
        );
        assert_eq!((link.master, link.xdp_program), (None, None));
        assert_eq!((link.tx_queues, link.qdisc.as_str()), (2, "noop"));
        assert!(link.mac.is_some());
    }
    let up = links("veth-up")
        .into_iter()
        .rfind(|link| link.name == "v0")
        .expect("v0");
    let peer = made.iter().find(|link| link.name == "v1").expect("v1");
    assert_eq!(up.lower, Some(peer.index));
    assert_eq!(
        (up.up, up.mac, up.qdisc.as_str()),
        (true, Some([2, 0, 0, 0, 0, 1]), "noqueue")
    );
}

#[test]
fn a_peer_in_another_namespace_is_no_lower_device() {
    assert_eq!(links("veth-elsewhere")[0].lower, None);
}

#[test]
fn a_program_of_somebody_is_seen() {
    assert!(links("xdp")[0].xdp_program.is_some_and(|id| id != 0));
    assert_eq!(links("xdp-gone")[0].xdp_program, None);
}

#[test]
fn joining_and_leaving_a_bridge_is_a_change_of_master_and_nothing_else() {
    let joined = links("bridge");
    let bridge = joined
        .iter()
        .find(|link| link.kind == "bridge")
        .expect("the bridge")
        .index;
    let last = joined.iter().rfind(|link| link.name == "v0").expect("v0");
    assert_eq!(last.master, Some(bridge));
    // RTM_DELLINK of AF_BRIDGE is among these: the device is not gone.
    let left = events("bridge-left");
    assert!(
        !left.iter().any(|event| matches!(event, Event::LinkGone(_))),
        "{left:?}"
    );
    assert_eq!(
        links("bridge-left")
            .iter()
            .rfind(|link| link.name == "v0")
            .expect("v0")
            .master,
        None
    );
}

#[test]
fn a_device_goes() {
    let gone = events("link-gone");
    assert!(gone.iter().all(|event| matches!(event, Event::LinkGone(_))));
    assert_eq!(gone.len(), 2);
}

#[test]
fn addresses_are_ours_not_the_peers() {
    let address = |text: &str, present| {
        Event::Address(
            Address {
                link: 3,
                address: text.parse().expect("an address"),
            },
            present,
        )
    };
    assert_eq!(events("address"), [address("192.0.2.1", true)]);
    assert_eq!(
        events("address6"),
        [address("2001:db8::1", true), address("2001:db8::1", false)]
    );
}

#[test]
fn neighbours_have_a_hardware_address_while_it_is_usable() {
    let neighbour = |address: &str, mac| {
        Event::Neighbour(Neighbour {
            link: 3,
            address: address.parse().expect("an address"),
            mac,
            stale: false,
        })
    };
    assert_eq!(
        events("neighbour"),
        [neighbour("192.0.2.2", Some([2, 0, 0, 0, 0, 2]))]
    );
    assert_eq!(
        events("neighbour-gone"),
        [neighbour("192.0.2.2", None), neighbour("192.0.2.2", None)]
    );
    assert_eq!(events("neighbour-failed"), [neighbour("192.0.2.77", None)]);
    // Not confirmed for long.
    let mut bytes = datagrams("neighbour").remove(0);
    bytes[16 + 8..16 + 10].copy_from_slice(&NUD_STALE.to_ne_bytes());
    let mut out = Vec::new();
    decode(&bytes, &mut out);
    assert!(matches!(
        out[..],
        [Event::Neighbour(Neighbour {
            stale: true,
            mac: Some(_),
            ..
        })]
    ));
}

#[test]
fn a_proxied_address_is_no_neighbour() {
    let mut bytes = datagrams("neighbour").remove(0);
    bytes[16 + 10] = NTF_PROXY;
    let mut out = Vec::new();
    assert_eq!((decode(&bytes, &mut out).ignored, out.len()), (1, 0));
}

#[test]
fn whatever_changes_routing_is_one_event() {
    for name in ["route", "rule", "nexthop"] {
        assert_eq!(events(name), [Event::Routing], "{name}");
    }
    let mut bytes = datagrams("route").remove(0);
    bytes[16 + 8..16 + 12].copy_from_slice(&RTM_F_CLONED.to_ne_bytes());
    let mut out = Vec::new();
    assert_eq!((decode(&bytes, &mut out).ignored, out.len()), (1, 0));
}

#[test]
fn root_qdiscs_only() {
    let qdisc = |kind: &str| {
        Event::Qdisc(Qdisc {
            link: 3,
            kind: kind.to_owned(),
        })
    };
    // Replacing deletes the old one first.
    assert_eq!(events("qdisc"), [qdisc(""), qdisc("pfifo")]);
    assert_eq!(events("qdisc-replaced"), [qdisc(""), qdisc("bfifo")]);
    assert_eq!(events("qdisc-gone"), [qdisc("")]);
    // No root qdisc, but a place for filters.
    assert_eq!(events("clsact"), [Event::Filters(3)]);
}

#[test]
fn a_message_of_the_wireless_extensions_is_no_device() {
    let fixed = [0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let bytes = message(RTM_NEWLINK, &fixed, &[(3, b"wlan0\0"), (11, &[0; 8])]);
    let mut out = Vec::new();
    assert_eq!((decode(&bytes, &mut out).ignored, out.len()), (1, 0));
}

#[test]
fn errors_name_the_attribute() {
    let (v4, three) = (
        [AF_INET, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0],
        [0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
    let root = [
        0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0,
    ];
    for (bytes, part, problem) in [
        (
            message(RTM_NEWLINK, &[0; 12], &[]),
            "ifinfomsg",
            Problem::CutShort,
        ),
        (
            message(RTM_NEWLINK, &[0; 16], &[]),
            "ifi_index",
            Problem::Contradiction,
        ),
        (
            message(RTM_NEWLINK, &three, &[]),
            "IFLA_IFNAME",
            Problem::Missing,
        ),
        (
            message(RTM_NEWLINK, &three, &[(4, &[1])]),
            "IFLA_MTU",
            Problem::Length,
        ),
        (
            message(RTM_NEWADDR, &v4[..8], &[]),
            "IFA_ADDRESS",
            Problem::Missing,
        ),
        (
            message(RTM_NEWADDR, &v4[..8], &[(2, &[0; 16])]),
            "IFA_LOCAL",
            Problem::Length,
        ),
        (message(RTM_NEWNEIGH, &v4, &[]), "NDA_DST", Problem::Missing),
        (
            message(RTM_NEWNEIGH, &v4, &[(1, &[1, 2, 3])]),
            "NDA_DST",
            Problem::Length,
        ),
        (
            message(RTM_NEWROUTE, &[0; 8], &[]),
            "rtmsg",
            Problem::CutShort,
        ),
        (
            message(RTM_NEWQDISC, &root, &[]),
            "TCA_KIND",
            Problem::Missing,
        ),
    ] {
        let mut out = Vec::new();
        let tally = decode(&bytes, &mut out);
        assert_eq!(tally.last_error, Some(DecodeError { part, problem }));
        assert_eq!((out.len(), tally.malformed), (0, 1), "{part}");
    }
}
