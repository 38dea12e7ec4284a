//! Ports that move by themselves, and ports that must stay.

use super::{frame, hello, look, mac, port};
use crate::{Cable, FrameClass, Offer, Placement, PlacementContext, Port, PortSummary, Role, Use};
use detect::Internet;

/// A port that received these sorts, was probed, and has a decision.
fn heard(port: Port, sorts: &[FrameClass], found: Option<Internet>) -> Cable {
    let mut cable = Cable::new(port);
    cable.link(true, 0);
    let mut noted = PortSummary::default();
    for sort in sorts {
        for _ in 0..3 {
            frame(&mut noted, *sort, mac(7), 100, None);
        }
    }
    cable.noted(&noted, 150);
    if let Some(internet) = found {
        cable.wants_look(2100);
        cable.looked(&look(internet, true), 4000);
    }
    cable
}

fn place(cable: &mut Cable, around: PlacementContext) -> Placement {
    let decision = cable.decision(20_000);
    cable.place(&decision, around, 20_000)
}

fn by_person(now: Use) -> PlacementContext {
    PlacementContext {
        now,
        ..PlacementContext::default()
    }
}

fn by_itself(now: Use) -> PlacementContext {
    PlacementContext {
        by_itself: true,
        ..by_person(now)
    }
}

const LAPTOP: [FrameClass; 2] = [FrameClass::DhcpClient, FrameClass::Arp];

#[test]
fn a_port_that_is_used_for_nothing_goes_where_it_belongs() {
    let free = port(Use::None);
    let mut isp = heard(free.clone(), &[FrameClass::Pado], None);
    let goes = Placement::Goes(Use::Uplink);
    assert_eq!(place(&mut isp, PlacementContext::default()), goes);
    let offer = isp.offer().expect("an offer");
    assert_eq!((offer.pppoe, offer.vlan), (true, None));
    let second = PlacementContext {
        other_uplink: true,
        ..PlacementContext::default()
    };
    assert!(matches!(place(&mut isp, second), Placement::Stays(Some(_))));
    let mut laptop = heard(free.clone(), &LAPTOP, Some(Internet::None));
    let goes = Placement::Goes(Use::Lan);
    assert_eq!(place(&mut laptop, PlacementContext::default()), goes);
    // Neighbours at a provider's line: no client asks this router for anything.
    let mut line = heard(free.clone(), &[FrameClass::Arp], Some(Internet::Static));
    assert!(matches!(
        place(&mut line, PlacementContext::default()),
        Placement::Stays(Some(_))
    ));
    let mut node = heard(free, &[], None);
    node.hello(&hello(true), 200);
    assert_eq!(
        place(&mut node, PlacementContext::default()),
        Placement::Goes(Use::Mesh)
    );
}

#[test]
fn what_people_made_is_taken_by_a_proof_alone() {
    for (now, sorts) in [
        (Use::Lan, &[FrameClass::Pado, FrameClass::DhcpServer][..]),
        (Use::Lan, &[FrameClass::Batman]),
        (Use::Uplink, &LAPTOP),
        (Use::Mesh, &LAPTOP),
        (Use::Mesh, &[FrameClass::Pado]),
    ] {
        let mut cable = heard(port(now), sorts, Some(Internet::None));
        let stays = place(&mut cable, by_person(now));
        assert!(matches!(stays, Placement::Stays(_)), "{now:?}: {stays:?}");
        cable.hello(&hello(true), 20_000);
        let proven = place(&mut cable, by_person(now));
        let expected = match now {
            Use::Mesh => Placement::Stays(None),
            _ => Placement::Goes(Use::Mesh),
        };
        assert_eq!(proven, expected, "{now:?}, {sorts:?}");
    }
}

#[test]
fn an_uplink_with_the_internet_is_not_taken_by_a_neighbour_on_the_same_wire() {
    let mut both = heard(port(Use::Uplink), &[FrameClass::DhcpServer], None);
    both.hello(&hello(true), 200);
    assert_eq!(both.decision(20_000).role, Role::Mesh);
    for around in [by_person(Use::Uplink), by_itself(Use::Uplink)] {
        assert!(matches!(
            place(&mut both, around),
            Placement::Stays(Some(_))
        ));
    }
}

#[test]
fn what_weir_did_itself_it_undoes() {
    // A port that weir gave to the LAN counts as unused when a new cable comes.
    let mut isp = heard(port(Use::None), &[FrameClass::Pado], None);
    let goes = Placement::Goes(Use::Uplink);
    assert_eq!(place(&mut isp, by_itself(Use::Lan)), goes);
    assert_eq!(place(&mut isp, by_itself(Use::Mesh)), goes);
    let mut laptop = heard(port(Use::Mesh), &LAPTOP, Some(Internet::None));
    let goes = Placement::Goes(Use::Lan);
    assert_eq!(place(&mut laptop, by_itself(Use::Mesh)), goes);
    let mut line = heard(port(Use::Uplink), &LAPTOP, Some(Internet::None));
    let stays = place(&mut line, by_itself(Use::Uplink));
    assert!(matches!(stays, Placement::Stays(Some(_))), "{stays:?}");
    let mut border = heard(port(Use::None), &[FrameClass::Batman], None);
    let goes = Placement::Goes(Use::None);
    assert_eq!(place(&mut border, by_itself(Use::Lan)), goes);
}

#[test]
fn a_loop_is_kept_apart_and_who_is_held_is_not() {
    let mut looped = heard(port(Use::Lan), &[FrameClass::Own], None);
    assert_eq!(place(&mut looped, by_person(Use::Lan)), Placement::Apart);
    looped.facts(Port {
        administrator: true,
        ..port(Use::Lan)
    });
    assert_eq!(
        place(&mut looped, by_person(Use::Lan)),
        Placement::Stays(None)
    );
    for (role, to) in [
        (Role::Uplink, Use::Uplink),
        (Role::Mesh, Use::Mesh),
        (Role::Client, Use::Lan),
        (Role::Switch, Use::Lan),
        (Role::Border, Use::None),
    ] {
        for now in [Use::None, Use::Lan, Use::Uplink, Use::Mesh] {
            let held = Port {
                held: Some(role),
                ..port(now)
            };
            let mut cable = heard(held, &LAPTOP, None);
            let expected = match to == now {
                true => Placement::Stays(None),
                false => Placement::Goes(to),
            };
            assert_eq!(place(&mut cable, by_person(now)), expected);
        }
    }
    let mut silent = Cable::new(port(Use::None));
    silent.link(true, 0);
    let decision = silent.decision(500);
    assert_eq!(
        silent.place(&decision, PlacementContext::default(), 500),
        Placement::Awaited
    );
}

#[test]
fn an_offer_in_a_vlan_says_so() {
    let mut cable = Cable::new(port(Use::None));
    cable.link(true, 0);
    let mut noted = PortSummary::default();
    frame(&mut noted, FrameClass::DhcpServer, mac(7), 100, Some(7));
    cable.noted(&noted, 150);
    let expected = Offer {
        pppoe: false,
        vlan: Some(7),
    };
    assert_eq!(cable.offer(), Some(expected));
}

/// Another weir node behind a switch that drops hellos: each receives the other's requests.
#[test]
fn who_looks_around_is_no_client() {
    let asks = [
        FrameClass::Padi,
        FrameClass::DhcpClient,
        FrameClass::RouterSolicitation,
    ];
    let mut node = heard(port(Use::None), &asks, Some(Internet::None));
    assert_eq!(node.decision(20_000).role, Role::Unknown);
    assert_eq!(
        place(&mut node, PlacementContext::default()),
        Placement::Stays(None)
    );
    let mut lan = heard(port(Use::Lan), &asks, Some(Internet::None));
    assert_eq!(lan.decision(20_000).role, Role::Client);
}

/// Once users of the LAN were found behind the cable, a server among them does not move the port.
#[test]
fn a_station_that_asks_and_answers_takes_no_port_from_the_lan() {
    let asks = [
        FrameClass::DhcpClient,
        FrameClass::DhcpServer,
        FrameClass::RouterAdvertisement,
    ];
    let mut cable = heard(port(Use::Lan), &asks, Some(Internet::None));
    assert_eq!(cable.decision(20_000).role, Role::Client);
    let theirs = PlacementContext {
        of_lan: true,
        ..by_itself(Use::Lan)
    };
    assert_eq!(place(&mut cable, theirs), Placement::Stays(None));
    let mut border = heard(port(Use::None), &[FrameClass::Batman], None);
    assert_eq!(place(&mut border, theirs), Placement::Stays(None));
}
