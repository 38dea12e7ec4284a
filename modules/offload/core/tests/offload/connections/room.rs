//! More connections than room: waiting ones, forgotten ones, and the consequences.

use kernel::{Connection, Event, Source, status};
use weir_offload_core::{Action, DeclineReason, FlowId, Settings};

use crate::common::{Rig, UP, udp};
use crate::connections::{one, rig};

#[test]
fn beyond_the_limit_connections_wait_for_room_in_order() {
    let mut rig = Rig::new(Settings {
        max_flows: 2,
        ..Settings::default()
    });
    let all: Vec<Connection> = (1..=4)
        .map(|n| udp(n, &format!("10.0.0.{n}:1"), "192.0.2.1:53"))
        .collect();
    all.iter().for_each(|c| drop(rig.connection(c)));
    assert_eq!(rig.reason(&all[2].id), Some(DeclineReason::TableFull));
    assert_eq!(
        rig.core.statistics().declined[DeclineReason::TableFull.index()],
        2
    );
    rig.tell(Event::ConnectionGone(all[0].id));
    assert_eq!(rig.known(), [all[1].id.original, all[2].id.original]);
    rig.reload(Settings {
        max_flows: 1,
        ..Settings::default()
    });
    assert_eq!(rig.known().len(), 1);
    rig.reload(Settings {
        max_flows: 9,
        ..Settings::default()
    });
    assert_eq!(rig.known().len(), 3);
}

#[test]
fn a_refused_install_is_tried_again_a_second_later() {
    let mut rig = rig();
    let c = one();
    rig.connection(&c);
    rig.refused(FlowId(0), DeclineReason::TableFull);
    assert_eq!(rig.reason(&c.id), Some(DeclineReason::TableFull));
    assert_eq!(rig.connection(&c), [], "not at once");
    assert_eq!(rig.pass(500), []);
    assert_eq!(rig.pass(500).len(), 2);
    let (flow, _) = rig.core.flows().next().unwrap();
    rig.refused(flow, DeclineReason::Unsupported);
    rig.pass(5_000);
    assert_eq!(rig.connection(&c), []);
    assert_eq!(rig.reason(&c.id), Some(DeclineReason::Unsupported));
    rig.refused(FlowId(77), DeclineReason::TableFull);
    assert_eq!(rig.core.statistics().refusals, 2);
}

#[test]
fn declined_connections_are_remembered_up_to_a_limit_and_found_again_when_there_is_room() {
    let mut rig = Rig::new(Settings {
        max_declined: 4,
        ..Settings::default()
    });
    for n in 1..=9 {
        let mut c = udp(n, &format!("10.0.0.{n}:1"), "192.0.2.1:53");
        c.status = Some(status::CONFIRMED);
        rig.connection(&c);
    }
    assert_eq!(rig.core.flows().count(), 4);
    assert_eq!(rig.core.statistics().forgotten, 5);
    rig.connection(&udp(9, "10.0.0.9:1", "192.0.2.1:53"));
    assert_eq!(rig.known().len(), 1, "its next event tells all");
    assert_eq!(rig.pass(60_000), [], "no room yet");
    for n in 1..=2 {
        rig.tell(Event::ConnectionGone(
            udp(n, &format!("10.0.0.{n}:1"), "192.0.2.1:53").id,
        ));
    }
    assert_eq!(rig.pass(100), [Action::Dump(Source::Conntrack)]);
}

fn in_zone(id: u32, zone: u16, source: &str, bits: u32) -> Connection {
    let mut c = udp(id, source, "192.0.2.1:53");
    c.id.zone = zone;
    c.status = Some(bits);
    c
}

#[test]
fn with_zones_nothing_is_taken_over_while_something_is_forgotten() {
    let mut rig = Rig::new(Settings {
        max_declined: 1,
        ..Settings::default()
    });
    rig.connection(&in_zone(1, 0, "10.0.0.1:1", status::CONFIRMED));
    rig.connection(&in_zone(2, 0, "10.0.0.2:1", status::CONFIRMED));
    assert_eq!(rig.core.statistics().forgotten, 1);
    // A connection with the tuple of the forgotten one, in another zone.
    rig.connection(&in_zone(3, 5, "10.0.0.2:1", UP));
    assert_eq!(rig.known(), []);
    // Installed while another connection with this tuple is not remembered: declined for its whole
    // life.
    let mut rig = Rig::new(Settings {
        max_declined: 1,
        ..Settings::default()
    });
    rig.connection(&in_zone(1, 0, "10.0.0.1:1", UP));
    rig.connection(&in_zone(2, 5, "10.0.0.1:1", UP));
    assert_eq!(rig.known(), []);
    assert_eq!(rig.core.flows().count(), 1);
    // A dump with room for all brings it back.
    rig.pass(60_000);
    rig.reload(Settings::default());
    let asked = rig.pass(60_000);
    assert_eq!(asked, [Action::Dump(Source::Conntrack)]);
    rig.connection(&in_zone(1, 0, "10.0.0.1:1", UP));
    rig.tell(Event::DumpEnd(Source::Conntrack));
    assert_eq!(rig.known().len(), 1);
}

#[test]
fn beside_a_forgotten_one_a_connection_stays_declined() {
    let mut rig = Rig::new(Settings {
        max_declined: 1,
        ..Settings::default()
    });
    let winner = udp(1, "10.0.0.2:1", "192.0.2.1:53");
    let mut loser = udp(2, "10.0.0.2:1", "192.0.2.1:53");
    loser.status = Some(UP | status::NAT_CLASH);
    rig.connection(&winner);
    rig.connection(&loser);
    assert_eq!(rig.core.flows().count(), 1);
    assert_eq!(rig.reason(&winner.id), Some(DeclineReason::Ambiguous));
    rig.tell(Event::ConnectionGone(loser.id));
    rig.connection(&winner);
    assert_eq!(
        rig.known(),
        [],
        "the end of the forgotten one is not noticed"
    );
}

#[test]
fn without_a_number_left_a_collision_is_still_noticed() {
    let mut rig = Rig::new(Settings {
        max_flows: 1,
        max_declined: 0,
        ..Settings::default()
    });
    let all: Vec<Connection> = (1..=4)
        .map(|n| udp(n, &format!("10.0.0.{n}:1"), "192.0.2.1:53"))
        .collect();
    for c in &all[..3] {
        rig.connection(c);
        rig.tell(Event::ConnectionGone(c.id));
    }
    rig.connection(&all[3]);
    assert_eq!(rig.known().len(), 1, "four numbers, three of them resting");
    let mut other = all[3].clone();
    other.id.zone = 9;
    rig.connection(&other);
    assert_eq!(rig.known(), []);
}

#[test]
fn what_a_dump_tells_and_is_not_remembered_leaves_the_doubt() {
    let mut rig = Rig::new(Settings {
        max_declined: 1,
        ..Settings::default()
    });
    rig.connection(&in_zone(1, 0, "10.0.0.1:1", status::CONFIRMED));
    rig.connection(&in_zone(2, 5, "10.0.0.2:1", UP));
    rig.connection(&in_zone(3, 0, "10.0.0.3:1", status::CONFIRMED));
    assert_eq!(rig.core.statistics().forgotten, 1);
    // A dumped connection is about to go, but is still there.
    rig.tell(Event::Overrun(Source::Conntrack));
    rig.connection(&in_zone(3, 0, "10.0.0.3:1", UP | status::DYING));
    rig.tell(Event::DumpEnd(Source::Conntrack));
    rig.connection(&in_zone(4, 5, "10.0.0.3:1", UP));
    assert_eq!(rig.known(), []);
}
