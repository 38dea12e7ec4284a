//! Connections that end without a word, and those that go on without weir.

use kernel::Event;
use weir_offload::{Mark, Millis, Settings};

use crate::world::{Policy, STEP, World};
use crate::{bound, settings};

/// As in `nf_conntrack_tcp_timeouts`.
const DEFAULTS: Policy = Policy {
    long: 432_000,
    short: 300,
};
/// TCP_CONNTRACK_TIME_WAIT, and what it is given, seconds.
const TIME_WAIT: (u8, u32) = (7, 120);

/// Entries older than the listener tell nothing, not even that they close (`nf_conntrack_events` = 2).
#[test]
fn an_entry_that_closes_without_a_word_is_not_kept() {
    for phase in 0..40 {
        let settings = Settings {
            events_withheld: true,
            ..settings(20_000)
        };
        let mut world = World::new(true, DEFAULTS, settings);
        let (now, connection) = (world.rig.now, world.connection.clone());
        world.rig.core.start(now, &mut Vec::new());
        world.rig.connection(&connection);
        for source in [kernel::Source::Conntrack, kernel::Source::Route] {
            world.rig.tell(Event::DumpEnd(source));
        }
        world.exchange(40_000 + phase * 7 * STEP);
        let (state, seconds) = TIME_WAIT;
        world.connection.tcp_state = Some(state);
        let ends = world.rig.now + Millis::from(seconds) * 1_000;
        (world.alone.expires, world.beside.expires) = (ends, ends);
        world.told.clear();
        world.pass(90_000);
        assert_eq!(world.told, [], "{phase}");
        assert!(world.left, "{phase}");
    }
}

/// A rule, a mark or a limit leaves it to the kernel while it moves: that has seen little of it, and its window stands far behind.
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
