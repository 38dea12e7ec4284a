//! Ports that move by themselves, and ports that must stay.

use super::{frame, hello, look, mac, port};
use crate::{Around, Cable, Noted, Offer, Place, Port, Role, Sort, Use};
use detect::Internet;

/// A port that received these sorts, was probed, and has a decision.
fn heard(port: Port, sorts: &[Sort], found: Option<Internet>) -> Cable {
    let mut cable = Cable::new(port);
    cable.link(true, 0);
    let mut noted = Noted::default();
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

fn place(cable: &mut Cable, around: Around) -> Place {
    let decision = cable.decision(20_000);
    cable.place(&decision, around, 20_000)
}

fn by_person(now: Use) -> Around {
    Around {
        now,
        ..Around::default()
    }
}

fn by_itself(now: Use) -> Around {
    Around {
        by_itself: true,
        ..by_person(now)
    }
}

const LAPTOP: [Sort; 2] = [Sort::DhcpClient, Sort::Arp];

#[test]
fn a_port_that_is_used_for_nothing_goes_where_it_belongs() {
    let free = port(Use::None);
    let mut isp = heard(free.clone(), &[Sort::Pado], None);
    let goes = Place::Goes(Use::Uplink);
    assert_eq!(place(&mut isp, Around::default()), goes);
    let offer = isp.offer().expect("an offer");
    assert_eq!((offer.pppoe, offer.vlan), (true, None));
    let second = Around {
        other_uplink: true,
        ..Around::default()
    };
    assert!(matches!(place(&mut isp, second), Place::Stays(Some(_))));
    let mut laptop = heard(free.clone(), &LAPTOP, Some(Internet::None));
    let goes = Place::Goes(Use::Lan);
    assert_eq!(place(&mut laptop, Around::default()), goes);
    // Neighbours at a provider's line: no client asks this router for anything.
    let mut line = heard(free.clone(), &[Sort::Arp], Some(Internet::Static));
    assert!(matches!(
        place(&mut line, Around::default()),
        Place::Stays(Some(_))
    ));
    let mut node = heard(free, &[], None);
    node.hello(&hello(true), 200);
    assert_eq!(place(&mut node, Around::default()), Place::Goes(Use::Mesh));
}

#[test]
fn what_people_made_is_taken_by_a_proof_alone() {
    for (now, sorts) in [
        (Use::Lan, &[Sort::Pado, Sort::DhcpServer][..]),
        (Use::Lan, &[Sort::Batman]),
        (Use::Uplink, &LAPTOP),
        (Use::Mesh, &LAPTOP),
        (Use::Mesh, &[Sort::Pado]),
    ] {
        let mut cable = heard(port(now), sorts, Some(Internet::None));
        let stays = place(&mut cable, by_person(now));
        assert!(matches!(stays, Place::Stays(_)), "{now:?}: {stays:?}");
        cable.hello(&hello(true), 20_000);
        let proven = place(&mut cable, by_person(now));
        let expected = match now {
            Use::Mesh => Place::Stays(None),
            _ => Place::Goes(Use::Mesh),
        };
        assert_eq!(proven, expected, "{now:?}, {sorts:?}");
    }
}

#[test]
fn an_uplink_with_the_internet_is_not_taken_by_a_neighbour_on_the_same_wire() {
    let mut both = heard(port(Use::Uplink), &[Sort::DhcpServer], None);
    both.hello(&hello(true), 200);
    assert_eq!(both.decision(20_000).role, Role::Mesh);
    for around in [by_person(Use::Uplink), by_itself(Use::Uplink)] {
        assert!(matches!(place(&mut both, around), Place::Stays(Some(_))));
    }
}

#[test]
fn what_weir_did_itself_it_undoes() {
    // A port that weir gave to the LAN counts as unused when a new cable comes.
    let mut isp = heard(port(Use::None), &[Sort::Pado], None);
    let goes = Place::Goes(Use::Uplink);
    assert_eq!(place(&mut isp, by_itself(Use::Lan)), goes);
    assert_eq!(place(&mut isp, by_itself(Use::Mesh)), goes);
    let mut laptop = heard(port(Use::Mesh), &LAPTOP, Some(Internet::None));
    let goes = Place::Goes(Use::Lan);
    assert_eq!(place(&mut laptop, by_itself(Use::Mesh)), goes);
    let mut line = heard(port(Use::Uplink), &LAPTOP, Some(Internet::None));
    let stays = place(&mut line, by_itself(Use::Uplink));
    assert!(matches!(stays, Place::Stays(Some(_))), "{stays:?}");
    let mut border = heard(port(Use::None), &[Sort::Batman], None);
    let goes = Place::Goes(Use::None);
    assert_eq!(place(&mut border, by_itself(Use::Lan)), goes);
}

#[test]
fn a_loop_is_kept_apart_and_who_is_held_is_not() {
    let mut looped = heard(port(Use::Lan), &[Sort::Own], None);
    assert_eq!(place(&mut looped, by_person(Use::Lan)), Place::Apart);
    looped.facts(Port {
        administrator: true,
        ..port(Use::Lan)
    });
    assert_eq!(place(&mut looped, by_person(Use::Lan)), Place::Stays(None));
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
                true => Place::Stays(None),
                false => Place::Goes(to),
            };
            assert_eq!(place(&mut cable, by_person(now)), expected);
        }
    }
    let mut silent = Cable::new(port(Use::None));
    silent.link(true, 0);
    let decision = silent.decision(500);
    assert_eq!(
        silent.place(&decision, Around::default(), 500),
        Place::Awaited
    );
}

#[test]
fn an_offer_in_a_vlan_says_so() {
    let mut cable = Cable::new(port(Use::None));
    cable.link(true, 0);
    let mut noted = Noted::default();
    frame(&mut noted, Sort::DhcpServer, mac(7), 100, Some(7));
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
    let asks = [Sort::Padi, Sort::DhcpClient, Sort::RouterSolicitation];
    let mut node = heard(port(Use::None), &asks, Some(Internet::None));
    assert_eq!(node.decision(20_000).role, Role::Unknown);
    assert_eq!(place(&mut node, Around::default()), Place::Stays(None));
    let mut lan = heard(port(Use::Lan), &asks, Some(Internet::None));
    assert_eq!(lan.decision(20_000).role, Role::Client);
}

/// Once users of the LAN were found behind the cable, a server among them does not move the port.
#[test]
fn a_station_that_asks_and_answers_takes_no_port_from_the_lan() {
    let asks = [
        Sort::DhcpClient,
        Sort::DhcpServer,
        Sort::RouterAdvertisement,
    ];
    let mut cable = heard(port(Use::Lan), &asks, Some(Internet::None));
    assert_eq!(cable.decision(20_000).role, Role::Client);
    let theirs = Around {
        of_lan: true,
        ..by_itself(Use::Lan)
    };
    assert_eq!(place(&mut cable, theirs), Place::Stays(None));
    let mut border = heard(port(Use::None), &[Sort::Batman], None);
    assert_eq!(place(&mut border, theirs), Place::Stays(None));
}
