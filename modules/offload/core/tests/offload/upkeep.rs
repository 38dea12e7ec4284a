//! Periodic work.

use crate::common::{Rig, UP, tcp, udp};
use kernel::{Event, Source, status};
use weir_offload_core::{Action, Cause, DeclineReason, FlowId, Millis, Reading, Settings};

fn reading(packets: u64, proven: bool) -> Reading {
    Reading {
        packets,
        bytes: packets * 100,
        proven,
        trials: 0,
        shown_length: 0,
    }
}

/// Actions during ticks every 100 ms, with their times.
fn passing(
    rig: &mut Rig,
    millis: Millis,
    read: &mut dyn FnMut(Millis) -> [u64; 2],
) -> Vec<(Millis, Action)> {
    let mut found = Vec::new();
    for _ in 0..millis / 100 {
        let now = rig.now + 100;
        let mut read = |_| read(now).map(|packets| reading(packets, false));
        let out = rig.pass_reading(100, &mut read);
        found.extend(out.into_iter().map(|action| (rig.now, action)));
    }
    found
}

/// Returns the refreshes; otherwise only proofs may end, to show conntrack a packet.
fn refreshes(
    rig: &mut Rig,
    millis: Millis,
    read: &mut dyn FnMut(Millis) -> [u64; 2],
) -> Vec<(Millis, u32)> {
    let found = passing(rig, millis, read).into_iter();
    let refresh = |(when, action)| match action {
        Action::Refresh { seconds, .. } => Some((when, seconds)),
        Action::Invalidate { .. } => None,
        other => panic!("{other:?}"),
    };
    found.filter_map(refresh).collect()
}

/// A UDP stream from its first packet on.
fn stream(rig: &mut Rig) {
    let mut c = udp(1, "10.0.0.2:1", "192.0.2.1:53");
    for (bits, seconds) in [
        (status::CONFIRMED, 30),
        (status::CONFIRMED | status::SEEN_REPLY, 30),
        (UP, 120),
    ] {
        (c.status, c.timeout) = (Some(bits), Some(seconds));
        rig.connection(&c);
    }
}

#[test]
fn a_flow_that_stands_still_is_never_refreshed() {
    let mut rig = Rig::new(Settings::default());
    stream(&mut rig);
    assert_eq!(refreshes(&mut rig, 90_000, &mut |_| [0, 0]), []);
    let told = refreshes(&mut rig, 20_000, &mut |_| [5, 5]);
    assert_eq!(told.len(), 1, "moved once");
    assert_eq!(
        refreshes(&mut rig, 400_000, &mut |_| [5, 5]),
        [],
        "and stood still again"
    );
}

#[test]
fn a_udp_stream_that_moves_never_times_out() {
    let mut rig = Rig::new(Settings::default());
    stream(&mut rig);
    let mut expires = rig.now + 120_000;
    let told = refreshes(&mut rig, 600_000, &mut |now| [now, now]);
    for (when, seconds) in &told {
        assert_eq!(*seconds, 120);
        assert!(
            *when < expires,
            "timed out at {expires}, refreshed at {when}"
        );
        expires = when + 120_000;
    }
    assert!(
        (8..=21).contains(&told.len()),
        "a quarter of 120 s between, and more while conntrack does not answer: {}",
        told.len()
    );
}

/// Conntrack makes a stream of the flow when it sees a packet, and reports the new time-out.
#[test]
fn a_udp_flow_that_is_old_enough_is_shown_to_conntrack() {
    let mut rig = Rig::new(Settings::default());
    let mut c = udp(1, "10.0.0.2:1", "192.0.2.1:53");
    c.status = Some(status::CONFIRMED);
    rig.connection(&c);
    c.status = Some(status::CONFIRMED | status::SEEN_REPLY);
    rig.connection(&c);
    let shown = passing(&mut rig, 2_200, &mut |now| [now, 0]);
    assert!(
        matches!(&shown[..], [(3_000, Action::Invalidate { .. })]),
        "{shown:?}"
    );
    // The connection then becomes idle, and is not a stream.
    assert_eq!(passing(&mut rig, 500, &mut |_| [3_200, 0]), []);
    // A connection that got an answer and then stood still is not a stream.
    let mut rig = Rig::new(Settings::default());
    rig.connection(&c);
    assert_eq!(passing(&mut rig, 10_000, &mut |_| [0, 0]), []);
}

#[test]
fn no_more_is_given_than_conntrack_was_seen_to_give() {
    for told in [7_200, 40, 432_000] {
        let mut rig = Rig::new(Settings::default());
        let mut c = tcp(1, "10.0.0.2:1", "192.0.2.1:80");
        c.tcp_state = Some(2);
        rig.connection(&c);
        (c.tcp_state, c.timeout) = (Some(3), Some(told));
        rig.connection(&c);
        let found = refreshes(&mut rig, 24_000, &mut |now| [now.min(10_000); 2]);
        let (when, seconds) = *found.last().expect("one");
        assert!((told - 20..=told).contains(&seconds), "{seconds} of {told}");
        assert!((10_000..25_000).contains(&when), "when it rests: {when}");
    }
}

/// 300 s may be the timeout of unacknowledged data, or of a policy: conntrack keeps seeing packets
/// until weir knows which.
#[test]
fn what_may_be_the_time_of_unacknowledged_data_is_not_believed() {
    let mut rig = Rig::new(Settings {
        reprove: 0,
        ..Settings::default()
    });
    let mut c = tcp(1, "10.0.0.2:1", "192.0.2.1:80");
    c.tcp_state = Some(2);
    rig.connection(&c);
    (c.tcp_state, c.timeout) = (Some(3), Some(300));
    rig.connection(&c);
    let found = passing(&mut rig, 40_000, &mut |now| [now, now]);
    assert!(found.len() >= 5);
    assert!(
        found
            .iter()
            .all(|(_, action)| matches!(action, Action::Invalidate { .. })),
        "{found:?}"
    );
}

#[test]
fn proofs_are_renewed_once_in_their_time_and_evenly() {
    let mut rig = Rig::new(Settings::default());
    for n in 0..200u32 {
        rig.connection(&udp(n, &format!("10.0.0.2:{}", n + 1), "192.0.2.1:53"));
    }
    rig.pass(0);
    let mut count = vec![0; 200];
    for _ in 0..200 {
        let actions = rig.pass_reading(100, &mut |flow| {
            [reading(0, false), reading(0, flow.0 != 7)]
        });
        assert!(actions.len() <= 1, "spread over the ticks");
        for action in actions {
            let Action::Invalidate { flow } = action else {
                panic!("{action:?}")
            };
            count[flow.0 as usize] += 1;
        }
    }
    for (flow, count) in count.into_iter().enumerate() {
        assert_eq!(
            count,
            u32::from(flow != 7),
            "flow {flow}: one that is not proven is let be"
        );
    }
    rig.reload(Settings {
        reprove: 0,
        ..Settings::default()
    });
    assert_eq!(
        rig.pass_reading(60_000, &mut |_| [reading(0, true); 2]),
        [],
        "switched off"
    );
}

#[test]
fn a_tick_visits_a_share_and_not_all() {
    let mut rig = Rig::new(Settings::default());
    for n in 0..400u32 {
        rig.connection(&udp(n, &format!("10.0.0.2:{}", n + 1), "192.0.2.1:53"));
    }
    rig.pass(0);
    // Weir checks new connections each time.
    rig.pass(6_000);
    let mut reads = 0;
    rig.pass_reading(100, &mut |_| {
        reads += 1;
        [Reading::default(); 2]
    });
    assert_eq!(
        reads,
        5 + 2,
        "400 in 7.5 s to refresh, 400 in 20 s to prove"
    );
}

#[test]
fn a_firewall_that_tells_nothing_ends_all_proofs_every_second() {
    let mut rig = Rig::new(Settings::default());
    let is_in_use = |rig: &mut Rig, in_use| {
        let mut out = Vec::new();
        rig.core.legacy_firewall(in_use, rig.now, &mut out);
        rig.core.flush(&mut out);
        out
    };
    assert_eq!(
        is_in_use(&mut rig, true),
        [Action::InvalidateAll(Cause::Legacy)]
    );
    assert_eq!(is_in_use(&mut rig, true), []);
    let bumps: usize = (0..100)
        .map(|_| rig.pass(100))
        .filter(|out| *out == [Action::InvalidateAll(Cause::Legacy)])
        .count();
    assert_eq!(bumps, 10);
    assert_eq!(
        is_in_use(&mut rig, false),
        [Action::InvalidateAll(Cause::Legacy)]
    );
    assert_eq!(rig.pass(5_000), []);
}

#[test]
fn a_clock_that_goes_back_does_no_harm() {
    let mut rig = Rig::new(Settings::default());
    rig.connection(&udp(1, "10.0.0.2:1", "192.0.2.1:53"));
    rig.pass(10_000);
    rig.now = 0;
    rig.tell(Event::Routing);
    assert_eq!(rig.pass(1), []);
}

/// The kernel sends no message when a flowtable takes a connection or gives it back.
#[test]
fn what_a_flowtable_gives_back_is_found() {
    let mut rig = Rig::new(Settings::default());
    rig.tell(Event::Firewall(1));
    rig.pass(1_000);
    let mut c = tcp(1, "10.0.0.2:1", "192.0.2.1:80");
    c.status = Some(UP | status::OFFLOAD);
    c.tcp_state = None;
    rig.connection(&c);
    assert_eq!(rig.reason(&c.id), Some(DeclineReason::Flowtable));
    // The flowtable is removed: the message is immediate, its connections return a little later.
    rig.tell(Event::Firewall(2));
    assert_eq!(rig.pass(900), []);
    assert_eq!(rig.pass(100), [Action::Dump(Source::Conntrack)]);
    rig.connection(&c);
    rig.tell(Event::DumpEnd(Source::Conntrack));
    assert_eq!(rig.pass(1_000), [], "once for a change");
    // Or only the rule is removed, and the flowtable keeps its connections until they are idle.
    let found: Vec<_> = (0..60).flat_map(|_| rig.pass(1_000)).collect();
    assert_eq!(found, [Action::Dump(Source::Conntrack)], "once a minute");
    c.status = Some(UP);
    c.tcp_state = Some(3);
    rig.connection(&c);
    rig.tell(Event::DumpEnd(Source::Conntrack));
    assert_eq!(rig.known().len(), 1);
    rig.tell(Event::Firewall(3));
    let later: Vec<_> = (0..120).flat_map(|_| rig.pass(1_000)).collect();
    assert_eq!(later, [], "a flowtable has nothing any more");
}

/// With `nf_conntrack_events` = 2 the kernel does not even report the end of a connection older
/// than weir: weir must not confuse a connection that a flowtable had at first with another one.
#[test]
fn what_a_flowtable_had_at_the_start_is_asked_for_when_it_is_given_back() {
    let mut rig = Rig::new(Settings::default());
    let mut asked = Vec::new();
    rig.core.start(rig.now, &mut asked);
    rig.answering = true;
    let mut c = udp(1, "10.0.0.2:1", "192.0.2.1:53");
    c.status = Some(UP | status::OFFLOAD);
    rig.connection(&c);
    rig.tell(Event::DumpEnd(Source::Conntrack));
    c.status = Some(UP);
    rig.connection(&c);
    assert_eq!(rig.known().len(), 1);
    rig.pass(60_000);
    rig.tell(Event::DumpEnd(Source::Conntrack));
    assert_eq!(rig.known(), [], "it ended, and no event said so");
}

/// Rules may hide events that weir needs: then weir queries conntrack.
#[test]
fn what_rules_hide_is_asked_for_each_minute() {
    let mut rig = Rig::new(Settings::default());
    rig.core.start(rig.now, &mut Vec::new());
    rig.tell(Event::DumpEnd(Source::Conntrack));
    let c = udp(1, "10.0.0.2:1", "192.0.2.1:53");
    rig.connection(&c);
    rig.pass(61_000);
    rig.core.hidden_events(true);
    let dump = Action::Dump(Source::Conntrack);
    assert!(rig.pass(250).contains(&dump));
    rig.tell(Event::DumpEnd(Source::Conntrack));
    assert_eq!(rig.known(), [], "it ended, and no event said so");
    assert!(!rig.pass(30_000).contains(&dump));
    assert!(rig.pass(31_000).contains(&dump));
}

#[test]
fn a_tcp_flow_that_moved_far_proves_anew_and_no_old_acknowledgement_counts() {
    let mut rig = Rig::new(Settings::default());
    let stream = tcp(1, "10.0.0.2:4000", "192.0.2.1:443");
    let datagrams = udp(2, "10.0.0.2:4000", "192.0.2.1:443");
    rig.connection(&stream);
    rig.connection(&datagrams);
    let far = |actions: Vec<Action>| {
        let concerns =
            |action: &Action| matches!(action, Action::Relax(_) | Action::Invalidate { .. });
        actions.into_iter().filter(concerns).collect::<Vec<_>>()
    };
    let expected = [
        Action::Relax(stream.id),
        Action::Invalidate { flow: FlowId(0) },
    ];
    for round in 0..3 {
        for flow in [FlowId(0), FlowId(1), FlowId(9)] {
            rig.core.add_forwarded_bytes(flow, 255 << 20);
        }
        assert_eq!(far(rig.pass(250)), [], "{round}");
        rig.core.add_forwarded_bytes(FlowId(0), 1 << 20);
        assert_eq!(far(rig.pass(250)), expected, "{round}");
    }
    // The bytes of a connection that ended meanwhile count for no other.
    rig.core.add_forwarded_bytes(FlowId(0), 1 << 30);
    rig.tell(Event::ConnectionGone(stream.id));
    assert_eq!(far(rig.pass(250)), []);
}
