//! Lifetimes of entries.

mod leaving;
mod unseen;
mod world;

use crate::common::{Rig, tcp};
use kernel::conntrack::ConnectionState;
use weir_offload_core::{Action, FlowId, Millis, Reading, Settings};
use world::{Policy, STEP, World};

/// A quarter of the shortest timeout, a tick, and the rounding of whole seconds, twice.
fn bound(shortest: u32) -> Millis {
    (Millis::from(shortest) * 250).clamp(500, 20_000) + 250 + 2_000
}

fn settings(reprove: Millis) -> Settings {
    Settings {
        reprove,
        ..Settings::default()
    }
}

/// Returns sysctls that match the policy.
fn tcp_timeouts(policy: Policy) -> Settings {
    let mut settings = settings(20_000);
    settings.timeouts.tcp_established = policy.long;
    settings.timeouts.tcp_unacknowledged = policy.short;
    settings
}

#[test]
fn a_tcp_connection_at_rest_has_what_the_kernel_alone_would_give_it() {
    let policy = Policy {
        long: 432_000,
        short: 300,
    };
    for reprove in [0, 1_000, 20_000, 600_000] {
        for time in [200, 3_000, 20_000, 40_050, 400_000] {
            let mut world = World::new(true, policy, settings(reprove));
            for _ in 0..3 {
                world.exchange(time);
                world.rest(bound(30));
                world.pass(50_000);
            }
        }
    }
}

/// Also with the last packets before the pause shown to conntrack.
#[test]
fn short_times_of_unacknowledged_data_do_not_end_a_connection_at_rest() {
    let policy = Policy { long: 60, short: 5 };
    for phase in 0..40 {
        let mut world = World::new(true, policy, tcp_timeouts(policy));
        world.exchange(30_000 + phase * STEP);
        world.proven = [false; 2];
        world.exchange(200);
        world.rest(bound(5));
    }
}

#[test]
fn data_that_nobody_acknowledges_do_not_keep_an_entry_for_days() {
    let policy = Policy {
        long: 432_000,
        short: 300,
    };
    for reprove in [0, 1_000, 20_000] {
        let mut world = World::new(true, policy, settings(reprove));
        world.exchange(30_000);
        let ack = world.sent[0];
        world.sent[1] += 1_400;
        let mut pause = 200;
        while pause < 120_000 {
            world.send(1, 1_400, ack);
            world.pass(pause);
            pause *= 2;
        }
        world.rest(bound(30));
        assert!(world.beside.expires < world.rig.now + 310_000);
    }
}

/// The other end falls silent at any time between two visits: later data gives no more than the
/// time of unacknowledged data, be it forwarded or shown to conntrack, which does not know. Weir
/// detects the silence once two visits saw data.
#[test]
fn data_that_nobody_acknowledges_are_not_given_more_again() {
    let policy = Policy { long: 60, short: 5 };
    for (phase, shown) in (0..40).flat_map(|phase| [(phase, false), (phase, true)]) {
        let mut world = World::new(true, policy, tcp_timeouts(policy));
        world.exchange(30_000 + phase * STEP);
        let ack = world.sent[1];
        world.sent[0] += 1_400;
        world.proven[0] = false;
        world.send(0, 1_400, ack);
        let begun = world.rig.now;
        let (mut sent, mut pause) = (begun, 200);
        while world.rig.now < begun + 10_000 {
            world.pass(STEP);
            if world.rig.now >= sent + pause {
                (sent, pause) = (world.rig.now, pause * 2);
                world.proven[0] &= !shown;
                world.send(0, 1_400, ack);
            }
            let left = world.beside.expires - world.rig.now;
            assert!(
                left <= 6_000 || world.rig.now < begun + 4_500,
                "{phase}, {shown}: {left} of {:?}",
                world.told
            );
        }
        world.rest(bound(5));
    }
}

#[test]
fn an_acknowledgement_that_comes_late_is_no_data() {
    let policy = Policy {
        long: 432_000,
        short: 300,
    };
    let mut world = World::new(true, policy, settings(20_000));
    world.exchange(30_000);
    for _ in 0..4 {
        world.pass(8_000);
        world.packet(0, 0, true);
    }
    world.rest(bound(30));
}

#[test]
fn udp_lives_as_long_as_with_the_kernel_alone() {
    let policy = Policy {
        long: 120,
        short: 30,
    };
    for reprove in [0, 1_000, 20_000, 600_000] {
        // Connections of about two seconds end as a stream or not: the tick decides.
        for time in [
            200, 1_000, 1_800, 2_600, 3_000, 7_000, 29_000, 100_000, 400_000,
        ] {
            let mut world = World::new(false, policy, settings(reprove));
            world.exchange(time);
            world.rest(bound(30));
        }
    }
}

/// An acknowledgement, a few packets at once, and then a pause: only the first packet left nothing
/// unacknowledged, and a message reported it.
#[test]
fn a_connection_that_is_picked_up_has_what_the_kernel_alone_would_give_it() {
    for (long, short) in [(432_000, 300), (60, 12), (20, 300)] {
        for reprove in [0, 20_000] {
            let mut world = World::picked_up(Policy { long, short }, long, settings(reprove));
            for _ in 0..5 {
                world.packet(0, 1_000, true);
                world.packet(1, 1_000, true);
            }
            world.packet(0, 0, true);
            world.rest(bound(long.min(short).min(30)));
        }
    }
}

/// If each packet that conntrack saw left data unacknowledged, the sysctls determine the time-out,
/// unless a rule gives an entry a policy of its own.
#[test]
fn what_no_packet_told_is_as_the_sysctls_say() {
    let policy = Policy {
        long: 7_200,
        short: 60,
    };
    // Visits are rare, or twice a second: some in the tick of the query to conntrack.
    for (own, udp, phase) in [(false, 30), (false, 2), (true, 30)]
        .into_iter()
        .flat_map(|(own, udp)| (0..20).map(move |phase| (own, udp, phase)))
    {
        let mut settings = tcp_timeouts(policy);
        settings.timeouts.udp = udp;
        let mut world = World::picked_up(policy, policy.short, settings);
        world.rig.core.own_timeouts(own);
        world.pass(phase * STEP);
        world.packet(0, 1_000, true);
        world.packet(1, 1_000, true);
        world.packet(0, 1_000, true);
        world.pass(250);
        world.packet(1, 1_000, true);
        world.packet(0, 0, true);
        if own {
            world.pass(30_000);
            assert!(world.beside.expires < world.alone.expires, "nothing tells");
        } else {
            world.rest(bound(udp));
        }
    }
}

#[test]
fn a_policy_of_the_entry_is_learned() {
    for (is_tcp, long, short) in [(false, 6, 6), (false, 4, 3), (true, 10, 300), (true, 40, 3)] {
        for reprove in [0, 1_000, 20_000] {
            let mut world = World::new(is_tcp, Policy { long, short }, settings(reprove));
            for _ in 0..3 {
                world.exchange(30_000);
                world.pass(1_000);
            }
            world.exchange(5_000);
            world.rest(bound(long.min(30)));
            let most = long.max(short) + 1;
            assert!(world.told.iter().all(|(_, seconds)| *seconds <= most));
        }
    }
}

/// Of a connection from before the start of weir, only the remaining time is known: weir never
/// grants more than the connection had.
#[test]
fn what_an_inherited_connection_is_given_is_learned() {
    for (long, left) in [(10, 4), (7_200, 7_000)] {
        let mut rig = Rig::new(settings(20_000));
        let mut out = Vec::new();
        rig.core.start(rig.now, &mut out);
        let mut connection = tcp(1, "10.0.0.2:1", "192.0.2.1:80");
        connection.timeout = Some(left);
        rig.connection(&connection);
        rig.tell(kernel::Event::DumpEnd(kernel::Source::Conntrack));
        rig.tell(kernel::Event::DumpEnd(kernel::Source::Route));
        let mut told = Vec::new();
        for step in 1..400u32 {
            let number = u64::from(step);
            let reading = Reading {
                packets: number,
                bytes: number * 100,
                proven: true,
                trials: step / 4,
                shown_length: 52,
            };
            for action in rig.pass_reading(250, &mut |_| [reading; 2]) {
                match action {
                    Action::Query(_) => {
                        let mut connection = connection.clone();
                        connection.timeout = Some(long - 1);
                        let looked = ConnectionState {
                            connection,
                            unacknowledged: false,
                            labels: [0; 16],
                        };
                        let now = rig.now;
                        rig.core.on_query_reply(&looked, now, &mut Vec::new());
                    }
                    Action::Refresh { seconds, .. } => told.push(seconds),
                    Action::Invalidate { .. } => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(
            !told.is_empty() && told.iter().all(|s| *s <= long),
            "{told:?}"
        );
    }
}

/// Weir reads the message that a connection closes after it has refreshed the connection: the
/// refresh is reverted.
#[test]
fn a_connection_that_closes_while_it_is_renewed_is_not_kept() {
    let policy = Policy { long: 60, short: 5 };
    let mut world = World::new(true, policy, tcp_timeouts(policy));
    while world.told.is_empty() {
        world.exchange(200);
    }
    let mut closed = world.connection.clone();
    closed.tcp_state = Some(8);
    closed.timeout = Some(10);
    let out = world.rig.connection(&closed);
    let again = Action::Refresh {
        id: closed.id,
        seconds: 10,
        unacknowledged: None,
    };
    assert_eq!(out[0], again, "{out:?}");
    world.rig.now += 60_000;
    closed.tcp_state = Some(7);
    assert_eq!(world.rig.connection(&closed), []);
}

/// A download that was under way before weir: data wait to be acknowledged at each query of
/// conntrack. Weir clears the mark, and then conntrack's answer is useful.
#[test]
fn a_mark_in_the_way_of_learning_is_taken_away() {
    let mut rig = Rig::new(settings(20_000));
    let mut out = Vec::new();
    rig.core.start(rig.now, &mut out);
    let mut connection = tcp(1, "10.0.0.2:1", "192.0.2.1:80");
    connection.timeout = Some(290);
    rig.connection(&connection);
    rig.tell(kernel::Event::DumpEnd(kernel::Source::Conntrack));
    rig.tell(kernel::Event::DumpEnd(kernel::Source::Route));
    let (mut marked, mut shown, mut told) = (true, 0, Vec::new());
    for step in 1..200u64 {
        // The first packets, and those after the end of a proof, are shown.
        shown += u32::from(step == 1);
        let reading = Reading {
            packets: step.min(100),
            bytes: step.min(100) * 1_400,
            proven: true,
            trials: shown,
            shown_length: 1_452,
        };
        for action in rig.pass_reading(250, &mut |_| [reading; 2]) {
            match action {
                Action::Query(_) => {
                    let mut connection = connection.clone();
                    connection.timeout = Some(if marked { 299 } else { 431_999 });
                    let looked = ConnectionState {
                        connection,
                        unacknowledged: marked,
                        labels: [0; 16],
                    };
                    let now = rig.now;
                    rig.core.on_query_reply(&looked, now, &mut Vec::new());
                }
                Action::Refresh {
                    seconds,
                    unacknowledged,
                    ..
                } => {
                    marked &= unacknowledged != Some(false);
                    told.push(seconds);
                }
                Action::Invalidate { .. } => shown += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(told.first(), Some(&300));
    assert!(told.last().is_some_and(|last| *last > 431_900), "{told:?}");
}

/// Weir stops, and sends the refreshes that are still due.
#[test]
fn what_moved_last_is_told_at_the_end() {
    let policy = Policy {
        long: 120,
        short: 30,
    };
    let mut world = World::new(false, policy, settings(0));
    world.exchange(47_000);
    let told = world.told.len();
    let (now, mut out) = (world.rig.now, Vec::new());
    let readings = world.readings();
    let mut read = |_: FlowId| readings;
    world.rig.core.finish(now, &mut read, &mut out);
    world.apply(&out);
    assert_eq!(world.told.len(), told + 1, "{out:?}");
    assert!(world.beside.expires >= world.alone.expires);
}

/// Proofs that last, and packets that come when most of the time is over.
#[test]
fn a_flow_that_moves_now_and_then_lives_however_long_proofs_last() {
    let policy = Policy { long: 20, short: 8 };
    for reprove in [20_000, 600_000] {
        for (phase, pause) in (0..20).flat_map(|phase| [13_000, 15_000, 15_950].map(|p| (phase, p)))
        {
            let mut settings = tcp_timeouts(policy);
            settings.reprove = reprove;
            let mut world = World::new(true, policy, settings);
            world.exchange(30_000 + phase * STEP * 5);
            for _ in 0..30 {
                world.pass(pause);
                world.packet(0, 100, true);
                world.pass(STEP);
                world.packet(1, 100, true);
                world.pass(STEP);
                world.packet(0, 0, true);
            }
        }
    }
}

/// A packet that comes when the entry is nearly over, or is, is conntrack's: no proof outlives the
/// entry.
#[test]
fn a_flow_that_sends_once_in_nearly_a_time_out_lives() {
    for is_tcp in [true, false] {
        let policy = Policy { long: 8, short: 8 };
        for (phase, pause) in
            (0..5).flat_map(|phase| (6_000..=7_950).step_by(130).map(move |p| (phase, p)))
        {
            let mut world = World::new(is_tcp, policy, settings(600_000));
            world.exchange(5_000 + phase * STEP);
            for _ in 0..10 {
                world.pass(pause);
                world.packet(0, 100, is_tcp);
                world.packet(1, 100, is_tcp);
                world.packet(0, 0, is_tcp);
            }
            // The entry is over for the kernel alone, and for weir at most a little later: then the
            // next packet shows it.
            world.pass(8_000 + bound(8));
            let before = world.packets;
            world.seen = false;
            world.packet(0, 100, is_tcp);
            assert_eq!(world.packets, before, "past an entry that is over");
        }
    }
}
