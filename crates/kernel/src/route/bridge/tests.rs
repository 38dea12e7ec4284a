//! Decodes datagrams of a kernel (`tests/fixtures`), and datagrams constructed from the headers.

use super::super::{decode, tests::events};
use super::*;
use crate::encode::Encoder;
use crate::event::{Link, Vlan};
use crate::fixture::{datagrams, message};
use crate::message::Problem;
use crate::rtnetlink::{AF_BRIDGE, NDA_LLADDR, RTM_NEWLINK, RTM_NEWNEIGH};

const STATION: Mac = [2, 0, 0, 0, 0, 0x77];

fn stations(name: &str) -> Vec<Fdb> {
    let station = |event| match event {
        Event::Fdb(fdb) => Some(fdb),
        _ => None,
    };
    events(name).into_iter().filter_map(station).collect()
}

/// Bridge settings in the kernel's messages after each command of a fixture.
fn bridging(name: &str) -> Vec<Bridging> {
    let told = |event| match event {
        Event::Bridging(bridging) => Some(bridging),
        _ => None,
    };
    events(name).into_iter().filter_map(told).collect()
}

#[test]
fn a_bridge_that_tells_vlans_apart_says_so() {
    let filters = |value: &[u8]| {
        let bytes = Encoder::single(RTM_NEWLINK, 0, 0, |e| {
            e.fixed(&[0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            e.attribute(3, b"br0\0");
            e.nested(18, |e| {
                e.attribute(1, b"bridge\0");
                e.nested(2, |e| {
                    e.attribute(5, &1u32.to_ne_bytes());
                    e.attribute(7, value);
                });
            });
        });
        let mut out = Vec::new();
        let tally = decode(&bytes, &mut out);
        match out.pop() {
            Some(Event::Link(link)) => Ok(link.filters_vlans),
            _ => Err(tally.last_error),
        }
    };
    assert_eq!([filters(&[1]), filters(&[0])], [Ok(true), Ok(false)]);
    let error = filters(&[1, 0, 0, 0]).unwrap_err().expect("an error");
    assert_eq!(error.part, "IFLA_BR_VLAN_FILTERING");
}

#[test]
fn a_station_is_learned_moves_and_goes() {
    // Of VLAN 1, too, which ports have by default.
    let told = stations("fdb");
    assert_eq!(told.len(), 6);
    for vlan in [0, 1] {
        let of_vlan: Vec<&Fdb> = told.iter().filter(|fdb| fdb.vlan == vlan).collect();
        let [made, moved, gone] = of_vlan[..] else {
            panic!("{of_vlan:?}")
        };
        assert!(made.present && moved.present && !gone.present);
        assert_eq!((moved.link, made.bridge), (gone.link, gone.bridge));
        assert!(made.link != moved.link && made.bridge != made.link);
        assert!(told.iter().all(|fdb| fdb.mac == STATION && !fdb.local));
    }
}

#[test]
fn what_is_in_a_devices_own_table_is_no_station() {
    // `dev v0 self` is a filter of the card; `dev br0 self local` is an address of the bridge, in
    // both tables.
    let told = stations("fdb-self");
    assert!(!told.is_empty());
    for fdb in told {
        assert_eq!((fdb.mac, fdb.link), ([2, 0, 0, 0, 0, 0x79], fdb.bridge));
        assert!(fdb.local && fdb.present);
    }
}

#[test]
fn a_setting_that_steers_frames_is_told_from_one_that_does_not() {
    // In each of these a timer is another.
    let told = bridging("bridge-port");
    let [isolated, again, cost, hairpin] = &told[..] else {
        panic!("{told:?}")
    };
    let port = |told: &Bridging| told.port.expect("of a port");
    assert_eq!((port(isolated), isolated.vlans), (port(again), again.vlans));
    assert_eq!(
        port(cost),
        port(isolated),
        "costs decide nothing by themselves"
    );
    assert_ne!(port(hairpin), port(isolated));
    // Another state, as STP would set it.
    let mut learning = datagrams("bridge-port").remove(3);
    let state = [5, 0, 1, 0, 3];
    let at = learning.windows(5).position(|five| five == state);
    learning[at.expect("IFLA_BRPORT_STATE") + 4] = 2;
    let mut out = Vec::new();
    decode(&learning, &mut out);
    let [Event::Bridging(learning)] = &out[..] else {
        panic!("{out:?}")
    };
    assert_ne!(port(learning), port(hairpin));
}

#[test]
fn vlans_of_a_port_are_compared_as_a_whole() {
    let told = bridging("bridge-vlan");
    let [added, pvid, deleted] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((added.port, added.link), (pvid.port, pvid.link));
    assert_ne!(added.vlans, pvid.vlans);
    assert_ne!(pvid.vlans, deleted.vlans);
    // Each came by itself as well, and so did the state, which no other message reports.
    let single = events("bridge-vlan");
    let single = single
        .iter()
        .filter(|e| **e == Event::BridgeVlan(added.link));
    assert_eq!(single.count(), 4);
    let station = stations("bridge-vlan")
        .into_iter()
        .find(|fdb| fdb.mac == STATION);
    assert_eq!(station.map(|fdb| (fdb.vlan, fdb.present)), Some((10, true)));
}

#[test]
fn settings_of_a_bridge_are_compared_without_its_counters() {
    let links: Vec<Link> = events("bridge-settings")
        .into_iter()
        .filter_map(link)
        .collect();
    let [counting, filtering] = &links[..] else {
        panic!("{links:?}")
    };
    assert_eq!((counting.kind.as_str(), counting.port), ("bridge", None));
    assert_ne!(counting.settings, filtering.settings);
    // An equal message with other timers counts as equal.
    let mut late = datagrams("bridge-settings").remove(0);
    let timer = [12, 0, 19, 0];
    let at = late
        .windows(4)
        .position(|four| four == timer)
        .expect("IFLA_BR_GC_TIMER");
    late[at + 4] ^= 0xff;
    let mut out = Vec::new();
    decode(&late, &mut out);
    assert_eq!(out, [Event::Link(counting.clone())]);
}

#[test]
fn a_port_has_the_same_number_by_itself_and_in_the_list_of_devices() {
    // After `bridge link set`, the kernel reports the port alone; in the fixture of joining, the
    // device with it.
    let links = events("bridge").into_iter().filter_map(link);
    let of_device = links.filter_map(|link| link.port).next_back();
    let of_port = bridging("bridge").last().and_then(|told| told.port);
    assert!(of_device.is_some());
    assert_eq!(of_device, of_port);
}

#[test]
fn vlan_devices_have_their_tag_and_their_settings() {
    let links: Vec<Link> = events("vlan").into_iter().filter_map(link).collect();
    let last = |name: &str| {
        links
            .iter()
            .rfind(|link| link.name == name)
            .expect("a device")
    };
    let first = links.iter().find(|link| link.name == "v0.7").expect("v0.7");
    assert_eq!(
        first.vlan,
        Some(Vlan {
            id: 7,
            protocol: 0x8100
        })
    );
    assert_eq!(
        last("v0.8").vlan,
        Some(Vlan {
            id: 8,
            protocol: 0x88a8
        })
    );
    assert_eq!(last("v0.8").lower, last("v0.7").lower);
    assert!(last("v0.7").lower.is_some());
    assert_ne!(
        first.settings,
        last("v0.7").settings,
        "another map of priorities"
    );
}

fn link(event: Event) -> Option<Link> {
    match event {
        Event::Link(link) => Some(link),
        _ => None,
    }
}

fn only(kind: u16, fixed: &[u8], attributes: &[(u16, &[u8])]) -> (Vec<Event>, Option<DecodeError>) {
    let mut out = Vec::new();
    let tally = decode(&message(kind, fixed, attributes), &mut out);
    (out, tally.last_error)
}

#[test]
fn stations_without_a_bridge_or_an_ethernet_address_are_passed_over() {
    let fixed = [AF_BRIDGE, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0];
    let (mac, bridge): (&[u8], _) = (&STATION, 9u32.to_ne_bytes());
    let told = |attributes: &[(u16, &[u8])]| only(RTM_NEWNEIGH, &fixed, attributes);
    let whole = told(&[(NDA_LLADDR, mac), (NDA_MASTER, &bridge)]);
    let fdb = Fdb {
        link: 3,
        bridge: 9,
        mac: STATION,
        vlan: 0,
        local: false,
        present: true,
    };
    assert_eq!(whole, (vec![Event::Fdb(fdb)], None));
    // VXLAN has its table by itself, InfiniBand longer addresses.
    assert_eq!(told(&[(NDA_LLADDR, mac)]), (vec![], None));
    assert_eq!(
        told(&[(NDA_LLADDR, &[0; 20]), (NDA_MASTER, &bridge)]),
        (vec![], None)
    );
    let wrong = |part, problem| (vec![], Some(DecodeError { part, problem }));
    assert_eq!(told(&[]), wrong("NDA_LLADDR", Problem::Missing));
    let vlan = told(&[(NDA_LLADDR, mac), (NDA_VLAN, &[1, 0, 0, 0])]);
    assert_eq!(vlan, wrong("NDA_VLAN", Problem::Length));
    let nowhere = [AF_BRIDGE, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0];
    let nowhere = only(
        RTM_NEWNEIGH,
        &nowhere,
        &[(NDA_LLADDR, mac), (NDA_MASTER, &bridge)],
    );
    assert_eq!(nowhere, wrong("ifi_index", Problem::Contradiction));
}

#[test]
fn errors_of_bridges_and_vlans_name_the_attribute() {
    let device = [0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut port = device;
    port[0] = AF_BRIDGE;
    let short = only(super::super::RTM_NEWVLAN, &[AF_BRIDGE, 0, 0, 0], &[]).1;
    assert_eq!(short.expect("an error").part, "br_vlan_msg");
    let cut = only(RTM_NEWLINK, &port, &[(IFLA_PROTINFO, &[9, 0, 1, 0, 3])]).1;
    assert_eq!(cut.expect("an error").part, "IFLA_PROTINFO");
    assert_eq!(
        only(RTM_NEWLINK, &port, &[(3, b"v0\0")]),
        (vec![], None),
        "nothing is told"
    );
    for (data, part, problem) in [
        (&[][..], "IFLA_VLAN_ID", Problem::Missing),
        (&[5, 0, 1, 0, 7, 0, 0, 0], "IFLA_VLAN_ID", Problem::Length),
        (
            &[6, 0, 1, 0, 0, 0x10, 0, 0],
            "IFLA_VLAN_ID",
            Problem::Contradiction,
        ),
    ] {
        let mut info = vec![9, 0, 1, 0];
        info.extend(b"vlan\0\0\0\0");
        info.extend((4 + data.len() as u16).to_ne_bytes());
        info.extend([2, 0]);
        info.extend(data);
        let error = only(RTM_NEWLINK, &device, &[(3, b"v0.7\0"), (18, &info)]).1;
        assert_eq!(error, Some(DecodeError { part, problem }), "{data:?}");
    }
}
