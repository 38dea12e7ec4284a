//! How long entries live.

mod common;
#[path = "entries/world.rs"]
mod world;

use common::{Rig, tcp};
use kernel::conntrack::Looked;
use weir_offload::{Action, Decline, FlowId, Millis, Reading, Settings};
use world::{Policy, STEP, World};

/// A quarter of the shortest time-out, a tick, and what whole seconds leave open, twice.
fn bound(shortest: u32) -> Millis {
    (Millis::from(shortest) * 250).clamp(500, 20_000) + 250 + 2_000
}

fn settings(reprove: Millis) -> Settings {
    Settings {
        reprove,
        ..Settings::default()
    }
}

/// The sysctls say what the policy does.
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

/// Where the last packets before the rest were shown to conntrack, too.
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

/// Wherever between two visits the other end falls silent: what is sent to it gives no more than
/// the time of unacknowledged data, be it forwarded or shown to conntrack, which does not know.
/// That is found out once what is sent again was seen in two visits.
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
        // Those of some two seconds end as a stream or as none: the tick decides.
        for time in [
            200, 1_000, 1_800, 2_600, 3_000, 7_000, 29_000, 100_000, 400_000,
        ] {
            let mut world = World::new(false, policy, settings(reprove));
            world.exchange(time);
            world.rest(bound(30));
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

/// Of a connection that was there before weir nothing is known but what is left: it is never given
/// more than it had.
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
                octets: number * 100,
                proven: true,
                shown: step / 4,
                shown_length: 52,
            };
            for action in rig.pass_reading(250, &mut |_| [reading; 2]) {
                match action {
                    Action::Look(_) => {
                        let mut connection = connection.clone();
                        connection.timeout = Some(long - 1);
                        let looked = Looked {
                            connection,
                            unacknowledged: false,
                        };
                        let now = rig.now;
                        rig.core.looked(&looked, now);
                    }
                    Action::Refresh { seconds, .. } => told.push(seconds),
                    Action::Prove { .. } => {}
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

/// The message that a connection closes is read after weir has told conntrack that it lives: what
/// was given then is taken back.
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

/// A download that was under way before weir: data wait to be acknowledged whenever conntrack is
/// asked. The mark is taken away, and then it tells.
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
            octets: step.min(100) * 1_400,
            proven: true,
            shown,
            shown_length: 1_452,
        };
        for action in rig.pass_reading(250, &mut |_| [reading; 2]) {
            match action {
                Action::Look(_) => {
                    let mut connection = connection.clone();
                    connection.timeout = Some(if marked { 299 } else { 431_999 });
                    let looked = Looked {
                        connection,
                        unacknowledged: marked,
                    };
                    let now = rig.now;
                    rig.core.looked(&looked, now);
                }
                Action::Refresh {
                    seconds,
                    unacknowledged,
                    ..
                } => {
                    marked &= unacknowledged != Some(false);
                    told.push(seconds);
                }
                Action::Prove { .. } => shown += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(told.first(), Some(&300));
    assert!(told.last().is_some_and(|last| *last > 431_900), "{told:?}");
}

/// Weir stops: what it has not told conntrack yet, it tells.
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

/// All proofs end: rules changed.
fn change(world: &mut World, generation: u32) {
    let out = world.rig.tell(kernel::Event::Firewall(generation));
    world.apply(&out);
}

const POLICIES: [(bool, Policy); 4] = [
    (
        true,
        Policy {
            long: 60,
            short: 15,
        },
    ),
    (
        true,
        Policy {
            long: 432_000,
            short: 300,
        },
    ),
    (
        false,
        Policy {
            long: 120,
            short: 30,
        },
    ),
    (false, Policy { long: 8, short: 7 }),
];

/// Conntrack sees the packets no more: its entry gets no more time than it had, however the flow moves.
#[test]
fn an_entry_whose_packets_are_not_seen_is_not_kept() {
    for (is_tcp, policy) in POLICIES {
        for (phase, pause) in (0..12).flat_map(|p| [0, 9_000, 31_000].map(|pause| (p, pause))) {
            let mut settings = tcp_timeouts(policy);
            settings.reprove = 5_000;
            let mut world = World::new(is_tcp, policy, settings);
            world.exchange(40_000 + phase * 7 * STEP);
            let least = world.told.len();
            world.seen = false;
            change(&mut world, 2);
            for _ in 0..8 {
                world.exchange(20_000);
                world.pass(pause);
            }
            let told = &world.told[least..];
            let case = format!("{is_tcp} {} {phase} {pause}: {told:?}", policy.long);
            assert!(told.len() <= 3, "{case}");
            // It ends when the kernel alone would have it end.
            let (alone, beside) = (world.alone.expires, world.beside.expires);
            let earlier = alone.saturating_sub(beside);
            assert!(earlier <= 60_000, "{earlier} earlier, {case}");
            assert!(beside <= alone + 60_000, "{beside}, not {alone}, {case}");
        }
    }
}

/// The same where packets come from one side only, and never prove: NAT is gone, and nobody answers.
#[test]
fn nor_is_one_whose_packets_come_to_nothing() {
    for (is_tcp, policy) in POLICIES {
        for (phase, often) in (0..12).flat_map(|phase| [1, 2, 30].map(|often| (phase, often))) {
            let mut settings = tcp_timeouts(policy);
            settings.reprove = 2_000;
            let mut world = World::new(is_tcp, policy, settings);
            world.exchange(8_000 + phase * 7 * STEP);
            let least = world.told.len();
            world.seen = false;
            world.proves = false;
            change(&mut world, 2);
            while world.rig.now < world.beside.expires.min(1_000_000) {
                world.packet(0, 100, is_tcp);
                world.pass(often * STEP);
            }
            let told = &world.told[least..];
            let case = format!("{is_tcp} {} {phase} {often}: {told:?}", policy.long);
            assert!(told.len() <= 3, "{case}");
            let (alone, beside) = (world.alone.expires, world.beside.expires);
            // Renewed once more at most, where it would end before it is found out.
            let late = Millis::from(policy.long.min(60)) * 1_000 + 4_000;
            assert!(beside <= alone + late, "{beside}, not {alone}, {case}");
        }
    }
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

/// Nothing tells that it sees them no more, and yet it is found out.
#[test]
fn that_packets_are_not_seen_is_found_without_a_change_of_rules() {
    for (is_tcp, policy) in POLICIES {
        let mut settings = tcp_timeouts(policy);
        settings.reprove = 5_000;
        let mut world = World::new(is_tcp, policy, settings);
        world.exchange(40_000);
        world.seen = false;
        world.exchange(200_000);
        let told = world.told.len();
        world.exchange(120_000);
        assert_eq!(world.told.len(), told, "{is_tcp}, {}", policy.long);
    }
}

/// Its packets are the kernel's then, until it sees them again.
#[test]
fn a_connection_that_is_seen_again_is_taken_over_again() {
    let policy = Policy {
        long: 120,
        short: 30,
    };
    let mut world = World::new(false, policy, settings(5_000));
    world.exchange(40_000);
    world.seen = false;
    change(&mut world, 2);
    world.exchange(80_000);
    assert!(world.left, "{:?}", world.told);
    let id = world.connection.id;
    assert_eq!(world.rig.reason(&id), Some(Decline::Untracked));
    let dump = |world: &mut World| {
        let left = world.beside.expires - world.rig.now;
        world.connection.timeout = Some((left / 1_000) as u32);
        let out = world.rig.connection(&world.connection.clone());
        world.apply(&out);
    };
    dump(&mut world);
    assert!(world.left, "nothing came");
    world.seen = true;
    change(&mut world, 3);
    world.exchange(4_000);
    dump(&mut world);
    assert!(!world.left);
    world.exchange(300_000);
    assert!(!world.left);
    world.rest(bound(30));
}

/// The same just after rules changed, when nothing is known of what conntrack sees.
#[test]
fn what_moved_last_is_told_at_the_end_after_a_change_of_rules() {
    let policy = Policy {
        long: 120,
        short: 30,
    };
    let mut world = World::new(false, policy, settings(0));
    world.exchange(47_000);
    change(&mut world, 2);
    world.exchange(9_000);
    let (now, mut out) = (world.rig.now, Vec::new());
    let readings = world.readings();
    world.rig.core.finish(now, &mut |_| readings, &mut out);
    world.apply(&out);
    assert!(world.beside.expires >= world.alone.expires, "{out:?}");
}

/// Rules that change all the time leave entries what they would have.
#[test]
fn changes_of_rules_end_no_entry_that_packets_renew() {
    for (is_tcp, policy) in POLICIES {
        for (phase, time) in (0..8).flat_map(|p| [1_000, 3_000, 10_000].map(|time| (p, time))) {
            let mut world = World::new(is_tcp, policy, tcp_timeouts(policy));
            world.exchange(10_000 + phase * STEP);
            for generation in 2..14 {
                change(&mut world, generation);
                world.exchange(time);
                if generation % 4 == 0 {
                    world.pass(4_000);
                }
            }
            assert!(!world.left, "{is_tcp}, {}, {phase}, {time}", policy.long);
            // Asked before it is told, and so a visit later.
            world.rest(2 * bound(policy.long.min(policy.short).min(30)));
        }
    }
}
