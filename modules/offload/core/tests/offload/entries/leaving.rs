//! Connections that end without a word, and those that go on without weir.

use kernel::Event;
use weir_offload_core::{Mark, Millis, Settings};

use crate::entries::world::{Policy, STEP, World};
use crate::entries::{bound, settings};

/// As in `nf_conntrack_tcp_timeouts`.
const DEFAULTS: Policy = Policy {
    long: 432_000,
    short: 300,
};
/// TCP_CONNTRACK_TIME_WAIT, and its timeout in seconds.
const TIME_WAIT: (u8, u32) = (7, 120);

/// Reasons why conntrack reports nothing about an entry.
#[derive(Clone, Copy, Debug)]
enum Silence {
    /// The entry is older than the listener (`nf_conntrack_events` = 2). Weir polls the entry.
    Older,
    /// Rules say so.
    Hidden,
}

/// Makes a connection that sends no events, not even its end, after an exchange of this length.
fn unheard(silence: Silence, time: Millis) -> World {
    let mut world = World::new(true, DEFAULTS, settings(20_000));
    let (now, connection) = (world.rig.now, world.connection.clone());
    world.rig.core.start(now, &mut Vec::new());
    if matches!(silence, Silence::Older) {
        // Only the dump shows it.
        world.rig.tell(Event::ConnectionGone(connection.id));
        world.rig.answering = true;
    }
    world.rig.connection(&connection);
    world.rig.answering = false;
    for source in [kernel::Source::Conntrack, kernel::Source::Route] {
        world.rig.tell(Event::DumpEnd(source));
    }
    let hidden = matches!(silence, Silence::Hidden);
    world.rig.core.hidden_events(hidden);
    world.exchange(time);
    world
}

/// Both ends close the connection.
fn close(world: &mut World) {
    let (state, seconds) = TIME_WAIT;
    world.connection.tcp_state = Some(state);
    let ends = world.rig.now + Millis::from(seconds) * 1_000;
    (world.alone.expires, world.beside.expires) = (ends, ends);
    world.told.clear();
}

#[test]
fn an_entry_that_closes_without_a_word_is_not_kept() {
    for silence in [Silence::Older, Silence::Hidden] {
        // The connection has rested for a while, and its refresh is about to be sent.
        for pause in 0..80 {
            let mut world = unheard(silence, 40_000);
            world.pass(pause * 250);
            close(&mut world);
            world.pass(90_000);
            assert_eq!(
                world.told,
                [],
                "{silence:?} after {pause} quarters of a second"
            );
        }
        // After a long time, and before any timeout was learned.
        for (time, phase) in [40_000, 1_000, 80_000]
            .into_iter()
            .flat_map(|t| (0..40).map(move |p| (t, p)))
        {
            let mut world = unheard(silence, time + phase * 7 * STEP);
            close(&mut world);
            world.pass(90_000);
            assert_eq!(world.told, [], "{silence:?} {time} {phase}");
            assert!(world.left, "{silence:?} {time} {phase}");
        }
    }
}

#[test]
fn one_that_closed_without_a_word_is_not_kept_by_the_last_word_either() {
    for silence in [Silence::Older, Silence::Hidden] {
        for phase in 0..40 {
            let mut world = unheard(silence, 40_000 + phase * 7 * STEP);
            close(&mut world);
            world.stop();
            assert_eq!(world.told, [], "{silence:?} {phase}");
        }
        // A connection that did not close gets a refresh.
        let mut world = unheard(silence, 40_000);
        let before = world.rig.now;
        world.stop();
        let ends = world.beside.expires;
        assert!(
            (before + 431_000_000..=before + 433_000_000).contains(&ends),
            "{silence:?} {ends}"
        );
    }
}

/// A rule, a mark or a limit leaves a moving connection to the kernel: the kernel has seen little
/// of its traffic, and the kernel's window lags far behind.
#[test]
fn what_is_given_back_has_what_the_kernel_alone_would_give_it() {
    let stream = Policy {
        long: 120,
        short: 30,
    };
    for (is_tcp, policy) in [(true, DEFAULTS), (false, stream)] {
        for phase in 0..40 {
            let (value, mask) = (0x10, 0xf0);
            let settings = Settings {
                opt_out: Some(Mark { value, mask }),
                ..settings(20_000)
            };
            let mut world = World::new(is_tcp, policy, settings);
            world.exchange(40_000);
            // Conntrack sees data, and not their acknowledgement.
            world.proven = [false; 2];
            world.exchange(200 + phase * STEP);
            let opted_out = kernel::Connection {
                mark: value,
                timeout: None,
                ..world.connection.clone()
            };
            let out = world.rig.connection(&opted_out);
            world.apply(&out);
            assert!(world.left, "{is_tcp} {phase}");
            if is_tcp {
                world.exchange(400);
            }
            world.rest(bound(30));
        }
    }
}
