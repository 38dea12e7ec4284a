//! Rules change, and conntrack may see the packets no more.

use weir_offload_core::DeclineReason;

use crate::entries::world::{Policy, STEP, World};
use crate::entries::{bound, settings, tcp_timeouts};

/// All proofs end: rules changed.
fn change(world: &mut World, generation: u32) {
    let out = world.rig.tell(kernel::Event::Firewall(generation));
    world.apply(&out);
}

const POLICIES: [(bool, Policy); 5] = [
    (
        true,
        Policy {
            long: 12,
            short: 10,
        },
    ),
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

/// Conntrack no longer sees the packets: its entry gets no additional time, however many packets
/// the flow has.
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
            // The entry ends when the kernel alone would end it.
            let (alone, beside) = (world.alone.expires, world.beside.expires);
            let earlier = alone.saturating_sub(beside);
            assert!(earlier <= 60_000, "{earlier} earlier, {case}");
            assert!(beside <= alone + 60_000, "{beside}, not {alone}, {case}");
        }
    }
}

/// Packets come from one side only, and never prove: NAT is missing, and there is no answer.
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
            let late = 4_000;
            assert!(beside <= alone + late, "{beside}, not {alone}, {case}");
        }
    }
}

/// No message reports that conntrack stopped seeing the packets, and weir still notices.
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

/// The kernel has the packets until conntrack sees them again.
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
    assert_eq!(world.rig.reason(&id), Some(DeclineReason::Untracked));
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

/// Weir stops just after rules changed, while it is unknown whether conntrack sees the packets.
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

/// With constant changes of rules, entries keep the timeouts that they would have without weir.
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
            // Weir asks before the refresh, which is therefore a visit later.
            world.rest(2 * bound(policy.long.min(policy.short).min(30)));
        }
    }
}
