//! Stations behind bridges: whose proofs end when they move, for any number of stations.

use crate::common::{Rig, bumps, link};
use kernel::event::BridgeSettings;
use kernel::{Bridging, Event, Fdb, Link, Mac, Neighbour, Source};
use weir_offload_core::{Action, Cause, Settings};

const BRIDGE: u32 = 10;

fn mac(number: u32) -> Mac {
    let n = number.to_be_bytes();
    [2, 0, n[0], n[1], n[2], n[3]]
}

fn at(link: u32, number: u32) -> Fdb {
    Fdb {
        link,
        bridge: BRIDGE,
        mac: mac(number),
        vlan: 0,
        local: false,
        present: true,
    }
}

fn gone(link: u32, number: u32) -> Fdb {
    Fdb {
        present: false,
        ..at(link, number)
    }
}

fn rig() -> Rig {
    Rig::new(Settings::default())
}

fn hops(link: u32, number: u32) -> Vec<Action> {
    let mac = mac(number);
    vec![Action::InvalidateHops { link, mac }]
}

/// Reports a whole batch at once.
fn batch(rig: &mut Rig, events: impl IntoIterator<Item = Event>) -> Vec<Action> {
    let mut out = Vec::new();
    for event in events {
        rig.core.on_event(event, rig.now, &mut out);
    }
    rig.core.flush(&mut out);
    out
}

fn all() -> Vec<Action> {
    vec![Action::InvalidateAll(Cause::Stations)]
}

/// Packets that weir forwards bypass the bridge, and so do not show it where a station is: proofs
/// of packets from the station end, too.
#[test]
fn a_station_that_moves_ends_all_proofs() {
    let mut rig = rig();
    let mut say = |fdb| rig.tell(Event::Fdb(fdb));
    assert_eq!(
        say(at(4, 1)),
        hops(4, 1),
        "new: it was sent to by all members"
    );
    assert_eq!(say(at(4, 1)), [], "told again");
    assert_eq!(say(at(5, 1)), all(), "moved");
    assert_eq!(say(at(4, 1)), all(), "and back: at once");
    assert_eq!(say(at(4, 1)), []);
}

/// The bridge floods until it receives a frame of the station. In a large network such floods are
/// common, so they must not cost much.
#[test]
fn a_station_that_is_forgotten_ends_all_proofs_ten_times_a_second_at_most() {
    let mut rig = rig();
    for n in 0..100 {
        assert_eq!(rig.tell(Event::Fdb(at(4, n))), hops(4, n));
    }
    assert_eq!(rig.tell(Event::Fdb(gone(4, 0))), all());
    assert_eq!(rig.tell(Event::Fdb(gone(4, 0))), [], "not there");
    assert_eq!(rig.tell(Event::Fdb(at(5, 0))), hops(5, 0), "new");
    let mut ended = 0;
    for n in 1..100 {
        rig.now += 10;
        let told = rig.tell(Event::Fdb(gone(4, n)));
        assert_eq!(told.len(), 1, "what is sent to it is flooded now");
        ended += bumps(&told);
    }
    assert_eq!(ended, 9);
    assert_eq!(bumps(&rig.pass(250)), 1, "those since the last time");
    assert_eq!(bumps(&rig.pass(1000)), 0);
    rig.tell(Event::Fdb(at(4, 1)));
    let ours = Fdb {
        local: true,
        ..at(4, 1)
    };
    assert_eq!(
        rig.tell(Event::Fdb(ours)),
        all(),
        "now an address of this router"
    );
    assert_eq!(rig.tell(Event::Fdb(ours)), []);
}

#[test]
fn more_changes_at_once_than_there_are_hops_are_one_end_of_all_proofs() {
    let mut rig = rig();
    let few = batch(&mut rig, (0..4096).map(|n| Event::Fdb(at(4, n))));
    assert_eq!((few.len(), bumps(&few)), (4096, 0));
    let many = batch(&mut rig, (5000..10_000).map(|n| Event::Fdb(at(4, n))));
    assert_eq!(many, [Action::InvalidateAll(Cause::Neighbours)]);
    assert_eq!(batch(&mut rig, []), [], "and it is done");
    // However many move: once.
    assert_eq!(
        batch(&mut rig, (0..4096).map(|n| Event::Fdb(at(5, n)))),
        all()
    );
    assert_eq!(batch(&mut rig, []), []);
    assert_eq!(rig.core.statistics().hop_bumps, 4096);

    let neighbour = |n: u32, other| {
        Event::Neighbour(Neighbour {
            link: 3,
            address: std::net::Ipv4Addr::from(0x0a00_0000 + n).into(),
            mac: Some(mac(n + other)),
            stale: false,
        })
    };
    assert_eq!(batch(&mut rig, (0..5000).map(|n| neighbour(n, 0))), []);
    let many = batch(&mut rig, (0..5000).map(|n| neighbour(n, 10_000)));
    assert_eq!(many, [Action::InvalidateAll(Cause::Neighbours)]);
}

/// A bridge with a short ageing time sees packets of each flow often enough.
#[test]
fn flows_are_proven_anew_before_a_bridge_forgets_their_stations() {
    for (wish, ageing, expected) in [
        (20_000, 30_000, 20_000),
        (20_000, 600, 2_000),
        (20_000, 1, 500),
        (1_000, 600, 1_000),
        // The bridge never learns; and no reproving is wanted.
        (20_000, 0, 20_000),
        (0, 600, 0),
    ] {
        let settings = Settings {
            reprove: wish,
            ..Settings::default()
        };
        let mut rig = Rig::new(settings);
        rig.tell(Event::Link(Link {
            kind: "bridge".into(),
            bridge: Some(BridgeSettings {
                ageing,
                ..BridgeSettings::default()
            }),
            ..link(BRIDGE, "br0")
        }));
        assert_eq!(rig.core.reprove(), expected, "{wish} ms, {ageing} cs");
    }
}

#[test]
fn a_flood_of_addresses_costs_an_end_of_all_proofs_a_second_at_most() {
    let mut rig = rig();
    // The stations of the house, and then 65,536 invented ones in two seconds.
    batch(&mut rig, (0..10).map(|n| Event::Fdb(at(4, n))));
    let mut ended = 0;
    for n in 0..65_536u32 {
        if n % 32 == 0 {
            rig.now += 1;
        }
        ended += bumps(&rig.tell(Event::Fdb(at(5, 1000 + n))));
    }
    // The first 16,000 fit; the others took 1.5 seconds.
    assert_eq!(ended, 2);
    // The house is still known.
    assert_eq!(rig.tell(Event::Fdb(at(5, 3))), all());
    // The last of them may have changed since: end proofs again, later.
    assert_eq!(bumps(&rig.pass(250)), 0);
    assert_eq!(bumps(&rig.pass(1000)), 1);
    assert_eq!(bumps(&rig.pass(1000)), 0);
    // An unknown station disappears: weir may have sent frames to it.
    assert_eq!(bumps(&rig.tell(Event::Fdb(gone(5, 1000 + 65_000)))), 1);
    assert_eq!(bumps(&rig.tell(Event::Fdb(gone(5, 1000 + 65_001)))), 0);
    assert_eq!(bumps(&rig.pass(1000)), 1);

    // After a dump that shows all there are, new ones are new again.
    rig.tell(Event::Overrun(Source::Route));
    rig.tell(Event::Fdb(at(4, 3)));
    rig.tell(Event::DumpEnd(Source::Route));
    rig.pass(1000);
    assert_eq!(rig.tell(Event::Fdb(at(4, 70_000))), hops(4, 70_000));
}

#[test]
fn a_dump_shows_which_stations_are_gone() {
    let mut rig = rig();
    rig.tell(Event::Fdb(at(4, 1)));
    rig.tell(Event::Fdb(at(4, 2)));
    rig.tell(Event::Overrun(Source::Route));
    rig.tell(Event::Fdb(at(4, 2)));
    assert_eq!(rig.tell(Event::DumpEnd(Source::Route)), all());
    assert_eq!(rig.tell(Event::Fdb(at(5, 1))), hops(5, 1), "new");
}

#[test]
fn a_device_takes_its_stations_with_it() {
    let mut rig = rig();
    rig.tell(Event::Link(link(4, "lan0")));
    rig.tell(Event::Fdb(at(4, 1)));
    assert_eq!(bumps(&rig.tell(Event::LinkGone(4))), 1);
    assert_eq!(rig.tell(Event::Fdb(at(5, 1))), hops(5, 1));
}

#[test]
fn how_a_device_bridges_bumps_only_when_it_is_another_way() {
    let mut rig = rig();
    let mut lan0 = Link {
        port: Some(1),
        ..link(4, "lan0")
    };
    rig.tell(Event::Link(lan0.clone()));
    let told = |port, vlans| {
        Event::Bridging(Bridging {
            link: 4,
            port,
            vlans,
            proxies: None,
            locked: None,
        })
    };
    let change = [Action::InvalidateAll(Cause::Link("lan0".into()))];
    assert_eq!(rig.tell(told(Some(1), None)), [], "as the device said");
    assert_eq!(rig.tell(told(Some(2), None)), change);
    assert_eq!(rig.tell(told(Some(2), None)), []);
    lan0.port = Some(2);
    assert_eq!(
        bumps(&rig.tell(Event::Link(lan0))),
        0,
        "the same, told again"
    );
    // Unknown before: the device may have had another value.
    assert_eq!(rig.tell(told(None, Some(7))), change);
    assert_eq!(rig.tell(told(Some(2), Some(7))), []);
    assert_eq!(rig.tell(told(Some(2), Some(8))), change);
    assert_eq!(rig.tell(Event::BridgeVlan(4)), change);
    assert_eq!(
        rig.tell(Event::BridgeVlan(99)),
        [],
        "of a device that is not known"
    );
    // A locked member: its port is planned again.
    let locked = |locked| {
        Event::Bridging(Bridging {
            link: 4,
            port: None,
            vlans: None,
            proxies: None,
            locked: Some(locked),
        })
    };
    assert_eq!(rig.tell(locked(false)), []);
    assert_ne!(bumps(&rig.tell(locked(true))), 0);
    assert!(rig.core.known_link(4).is_some_and(|link| link.locked));
    assert_eq!(rig.tell(locked(true)), []);
    let unknown = Event::Bridging(Bridging {
        link: 99,
        port: Some(1),
        vlans: Some(1),
        proxies: None,
        locked: None,
    });
    assert_eq!(rig.tell(unknown), []);
}
