//! Connections that only a dump showed: their entries may send no events.

use kernel::conntrack::ConnectionState;
use kernel::{Connection, ConnectionId, Event, Source, status};
use weir_offload_core::{Action, DeclineReason, FlowId, Mark, Reading, Settings};

use crate::common::{Rig, UP, udp};

/// Most connections that are polled.
const MOST: usize = 4_096;

/// A rig to which the first dump showed these connections.
fn dumped(settings: Settings, connections: &[Connection]) -> Rig {
    let mut rig = Rig::new(settings);
    rig.core.start(rig.now, &mut Vec::new());
    rig.answering = true;
    for connection in connections {
        rig.connection(connection);
    }
    rig.tell(Event::DumpEnd(Source::Conntrack));
    rig.answering = false;
    rig
}

fn old(n: u32) -> Connection {
    let [_, a, b, c] = n.to_be_bytes();
    udp(n, &format!("10.{a}.{b}.{c}:1000"), "192.0.2.1:53")
}

fn moving(_: FlowId) -> [Reading; 2] {
    let proven = Reading {
        proven: true,
        ..Reading::default()
    };
    [proven, Reading::default()]
}

/// Lets a second pass in ticks, with all flows forwarded.
fn second(rig: &mut Rig) -> Vec<Action> {
    (0..4)
        .flat_map(|_| rig.pass_reading(250, &mut moving))
        .collect()
}

fn count(actions: &[Action], wanted: impl Fn(&Action) -> bool) -> usize {
    actions.iter().filter(|action| wanted(action)).count()
}

fn polls(actions: &[Action]) -> usize {
    count(actions, |action| matches!(action, Action::Poll(_)))
}

fn probes(actions: &[Action]) -> usize {
    count(actions, |action| matches!(action, Action::Probe(_)))
}

/// Conntrack answers a poll.
fn answer(rig: &mut Rig, connection: &Connection) -> Vec<Action> {
    let mut out = Vec::new();
    let looked = ConnectionState {
        connection: connection.clone(),
        unacknowledged: false,
        labels: [0; 16],
    };
    rig.core.on_poll_reply(&looked, rig.now, &mut out);
    out
}

#[test]
fn a_silent_connection_is_probed_once_and_polled_twice_a_second_while_it_is_forwarded() {
    let mut rig = dumped(Settings::default(), &[old(1), old(2)]);
    rig.connection(&old(3));
    let mut begun = rig.pass(250);
    begun.extend(rig.pass(250));
    assert_eq!(
        (polls(&begun), probes(&begun)),
        (0, 2),
        "nothing is forwarded yet"
    );
    for _ in 0..10 {
        let passed = second(&mut rig);
        assert_eq!(
            (polls(&passed), probes(&passed)),
            (4, 0),
            "the third was reported"
        );
    }
    assert_eq!(
        polls(&(0..4).flat_map(|_| rig.pass(250)).collect::<Vec<_>>()),
        0
    );
}

#[test]
fn an_event_ends_the_polling_of_its_connection() {
    let mut rig = dumped(Settings::default(), &[old(1), old(2)]);
    assert_eq!(polls(&second(&mut rig)), 4);
    rig.connection(&old(1));
    assert_eq!(polls(&second(&mut rig)), 2);
    rig.tell(Event::ConnectionGone(old(2).id));
    assert_eq!(polls(&second(&mut rig)), 0);
}

#[test]
fn a_poll_finds_a_mark_a_label_a_state_and_a_successor() {
    let settings = Settings {
        opt_out: Some(Mark {
            value: 0x10,
            mask: 0xf0,
        }),
        ..Settings::default()
    };
    let mut rig = dumped(settings, &[old(1)]);
    second(&mut rig);
    answer(&mut rig, &old(1));
    assert_eq!(answer(&mut rig, &old(1)), [], "as it was");
    let mut marked = old(1);
    marked.mark = 1;
    assert_eq!(
        answer(&mut rig, &marked),
        [Action::Invalidate { flow: FlowId(0) }],
        "rules may go by the mark"
    );
    let looked = ConnectionState {
        connection: marked.clone(),
        unacknowledged: false,
        labels: [1; 16],
    };
    let mut out = Vec::new();
    rig.core.on_poll_reply(&looked, rig.now, &mut out);
    assert_eq!(
        out,
        [Action::Invalidate { flow: FlowId(0) }],
        "or by the label"
    );
    marked.mark = 0x15;
    assert_eq!(
        count(&answer(&mut rig, &marked), |action| matches!(
            action,
            Action::Remove { .. }
        )),
        1
    );
    assert_eq!(rig.reason(&old(1).id), Some(DeclineReason::OptedOut));

    let mut rig = dumped(Settings::default(), &[old(1)]);
    let mut successor = old(1);
    successor.id.id = 7;
    successor.status = Some(UP & !status::SEEN_REPLY);
    let out = answer(&mut rig, &successor);
    assert_eq!(out, [Action::Remove { flow: FlowId(0) }]);
    assert_eq!(rig.core.flows().count(), 1);
}

/// Rules may go by a label, and the dump has none to compare with.
#[test]
fn the_first_poll_ends_the_proofs_once() {
    let mut rig = dumped(Settings::default(), &[old(1), old(2)]);
    second(&mut rig);
    for n in [1, 2] {
        let flow = FlowId(n - 1);
        assert_eq!(answer(&mut rig, &old(n)), [Action::Invalidate { flow }]);
        assert_eq!(answer(&mut rig, &old(n)), [], "as it was");
    }
}

#[test]
fn what_is_too_much_to_poll_stays_with_the_kernel_until_there_is_room() {
    let all: Vec<Connection> = (1..=MOST as u32 + 100).map(old).collect();
    let mut rig = dumped(Settings::default(), &all);
    let refused = |rig: &Rig| rig.core.statistics().declined[DeclineReason::Unreported.index()];
    for _ in 0..10 {
        let passed = second(&mut rig);
        assert_eq!(refused(&rig), 100);
        assert!((2 * MOST..=3 * MOST).contains(&polls(&passed)));
    }
    // Events report most of them: their entries are not silent.
    for connection in &all[..3_000] {
        rig.connection(connection);
    }
    second(&mut rig);
    second(&mut rig);
    assert_eq!(refused(&rig), 0);
    assert_eq!(rig.known().len(), all.len());
    assert!(polls(&second(&mut rig)) >= 2 * (all.len() - 3_000));
}

#[test]
fn a_moment_without_a_proof_does_not_end_the_polling() {
    let all: Vec<Connection> = (1..=MOST as u32 + 2).map(old).collect();
    let mut rig = dumped(Settings::default(), &all);
    let [a, b, c] = [0, MOST, MOST + 1].map(|n| &all[n].id);
    let flow = |id: &ConnectionId| rig.core.find(&id.original)[0];
    let (first, next, last) = (flow(a), flow(b), flow(c));
    // Ticks, and flows that have no proof meanwhile. Two ticks are one visit to each.
    let pass = |rig: &mut Rig, ticks: usize, unproven: &[FlowId]| {
        for _ in 0..ticks {
            rig.pass_reading(250, &mut |id: FlowId| match unproven.contains(&id) {
                true => [Reading::default(); 2],
                false => moving(id),
            });
        }
    };
    pass(&mut rig, 4, &[next, last]);
    // Every place for a polled connection is taken.
    pass(&mut rig, 2, &[first, last]);
    pass(&mut rig, 4, &[last]);
    assert_eq!(rig.reason(a), None);
    assert_eq!(rig.reason(b), Some(DeclineReason::Unreported));
    // A connection without a proof for long gives its place to another one.
    pass(&mut rig, 10, &[first, last]);
    pass(&mut rig, 2, &[first]);
    pass(&mut rig, 4, &[]);
    assert_eq!(rig.reason(a), Some(DeclineReason::Unreported));
    assert_eq!(rig.reason(c), None);
}

#[test]
fn nothing_is_forwarded_while_conntrack_reports_nothing() {
    let blind = Settings {
        no_events: true,
        ..Settings::default()
    };
    let mut rig = dumped(blind.clone(), &[old(1)]);
    assert_eq!(rig.reason(&old(1).id), Some(DeclineReason::NoEvents));
    let seen = rig.reload(Settings::default());
    assert!(
        seen.contains(&Action::Dump(Source::Conntrack)),
        "what was made meanwhile is not known"
    );
    assert_eq!(rig.known().len(), 1);
    rig.tell(Event::DumpEnd(Source::Conntrack));
    rig.reload(blind);
    assert_eq!(rig.known(), []);
}
