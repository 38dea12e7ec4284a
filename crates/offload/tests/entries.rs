//! How long entries live: a small conntrack that sees every packet, and one that sees those only
//! that weir does not forward, with what weir tells it.

mod common;

use common::{Rig, tcp, udp};
use kernel::conntrack::Looked;
use kernel::{Connection, status};
use weir_offload::{Action, FlowId, Millis, Reading, Settings, Timeouts};

/// Simulated time goes on by this.
const STEP: Millis = 50;
/// A connection that is up.
const UP: u32 = status::CONFIRMED | status::SEEN_REPLY | status::ASSURED;

/// What an entry is given with a packet.
#[derive(Clone, Copy)]
struct Policy {
    /// TCP: established. UDP: a stream.
    long: u32,
    /// TCP: not acknowledged. UDP: before it is a stream.
    short: u32,
}

/// One entry, as the kernel keeps it (nf_conntrack_proto_tcp.c, nf_conntrack_proto_udp.c).
#[derive(Clone, Copy)]
struct Entry {
    tcp: bool,
    policy: Policy,
    born: Millis,
    expires: Millis,
    assured: bool,
    end: [u32; 2],
    unacknowledged: [bool; 2],
}

/// A packet: direction, the end of its data, what it acknowledges.
type Packet = (usize, u32, u32);

impl Entry {
    fn new(tcp: bool, policy: Policy, now: Millis) -> Self {
        let given = if tcp { policy.long } else { policy.short };
        Self {
            tcp,
            policy,
            born: now,
            expires: now + Millis::from(given) * 1_000,
            assured: tcp,
            end: [0; 2],
            unacknowledged: [false; 2],
        }
    }

    /// Sees a packet. Whether it became assured.
    fn see(&mut self, (d, end, ack): Packet, now: Millis) -> bool {
        let before = self.assured;
        let given = if self.tcp {
            if end > self.end[d] {
                self.end[d] = end;
                self.unacknowledged[d] = true;
            }
            if ack == self.end[1 - d] {
                self.unacknowledged[1 - d] = false;
            }
            match self.unacknowledged.contains(&true) {
                true => self.policy.short.min(self.policy.long),
                false => self.policy.long,
            }
        } else if now > self.born + 2_000 {
            self.assured = true;
            self.policy.long
        } else {
            self.policy.short
        };
        self.expires = now + Millis::from(given) * 1_000;
        before != self.assured
    }
}

/// A connection by way of weir, and the same by way of the kernel alone.
struct World {
    rig: Rig,
    connection: Connection,
    alone: Entry,
    beside: Entry,
    packets: [u64; 2],
    octets: [u64; 2],
    shown: [u32; 2],
    proven: [bool; 2],
    sent: [u32; 2],
    ticked: Millis,
    /// What weir told conntrack.
    told: Vec<(Millis, u32)>,
}

impl World {
    fn new(is_tcp: bool, policy: Policy, settings: Settings) -> Self {
        let mut rig = Rig::new(settings);
        let mut connection = match is_tcp {
            true => tcp(1, "10.0.0.2:1", "192.0.2.1:80"),
            false => udp(1, "10.0.0.2:1", "192.0.2.1:53"),
        };
        let entry = Entry::new(is_tcp, policy, rig.now);
        if is_tcp {
            connection.tcp_state = Some(2);
            connection.timeout = Some(60);
            rig.connection(&connection);
            connection.tcp_state = Some(3);
            connection.timeout = Some(policy.long);
        } else {
            connection.status = Some(status::CONFIRMED);
            connection.timeout = Some(policy.short);
            rig.connection(&connection);
            connection.status = Some(status::CONFIRMED | status::SEEN_REPLY);
        }
        rig.connection(&connection);
        let ticked = rig.now;
        Self {
            rig,
            connection,
            alone: entry,
            beside: entry,
            packets: [0; 2],
            octets: [0; 2],
            shown: [0; 2],
            proven: [false; 2],
            sent: [1; 2],
            ticked,
            told: Vec::new(),
        }
    }

    /// A packet of this direction. With data it ends where the sender's do; it acknowledges all.
    fn packet(&mut self, d: usize, data: u32, acknowledges: bool) {
        self.sent[d] += data;
        let ack = if acknowledges { self.sent[1 - d] } else { 0 };
        self.send(d, data.max(1), ack);
    }

    fn send(&mut self, d: usize, data: u32, ack: u32) {
        let now = self.rig.now;
        let packet = (d, self.sent[d], ack);
        self.alone.see(packet, now);
        if self.proven[d] {
            self.packets[d] += 1;
            self.octets[d] += u64::from(52 + data);
            return;
        }
        assert!(
            self.beside.expires > now,
            "ended under live traffic at {now}"
        );
        self.shown[d] += 1;
        self.proven[d] = true;
        if self.beside.see(packet, now) {
            self.connection.status = Some(UP);
            self.connection.timeout = Some(self.beside.policy.long);
            let out = self.rig.connection(&self.connection.clone());
            self.apply(&out);
        }
    }

    fn apply(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Refresh {
                    seconds,
                    unacknowledged,
                    ..
                } => {
                    self.told.push((self.rig.now, *seconds));
                    self.beside.expires = self.rig.now + Millis::from(*seconds) * 1_000;
                    if let Some(waits) = unacknowledged {
                        self.beside.unacknowledged = [*waits; 2];
                    }
                }
                Action::Prove { .. } => self.proven = [false; 2],
                Action::Look(_) => {
                    let left = self.beside.expires.saturating_sub(self.rig.now) / 1_000;
                    let mut connection = self.connection.clone();
                    connection.timeout = Some(left as u32);
                    let looked = Looked {
                        connection,
                        unacknowledged: self.beside.unacknowledged.contains(&true),
                    };
                    let now = self.rig.now;
                    self.rig.core.looked(&looked, now);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Time goes on, and the entry lives.
    fn pass(&mut self, time: Millis) {
        for _ in 0..time / STEP {
            if self.rig.now + STEP < self.ticked + 250 {
                self.rig.now += STEP;
                continue;
            }
            self.ticked = self.rig.now + STEP;
            let (packets, octets, shown, proven) =
                (self.packets, self.octets, self.shown, self.proven);
            let out = self.rig.pass_reading(STEP, &mut |_: FlowId| {
                std::array::from_fn(|d| Reading {
                    packets: packets[d],
                    octets: octets[d],
                    proven: proven[d],
                    shown: shown[d],
                })
            });
            self.apply(&out);
            let now = self.rig.now;
            assert!(
                self.beside.expires > now || self.alone.expires <= now,
                "ended at {} of {}",
                self.beside.expires,
                self.alone.expires
            );
        }
    }

    /// An exchange of this length: a request, data, and what acknowledges them.
    fn exchange(&mut self, time: Millis) {
        let tcp = self.alone.tcp;
        let mut left = time;
        while left >= 4 * STEP {
            self.packet(0, 100, tcp);
            self.pass(STEP);
            self.packet(1, 1_400, tcp);
            self.packet(1, 1_400, tcp);
            self.pass(STEP);
            self.packet(0, 0, tcp);
            self.pass(2 * STEP);
            left -= 4 * STEP;
        }
    }

    /// Rests until all is told, and compares: never earlier than the kernel alone, and this much
    /// later at most.
    fn rest(&mut self, latest: Millis) {
        let time = 60_000.min(self.alone.expires.saturating_sub(self.rig.now + 1_000));
        self.pass(time);
        let (alone, beside) = (self.alone.expires, self.beside.expires);
        assert!(
            (alone..=alone + latest).contains(&beside),
            "kernel alone {alone}, with weir {beside}; told {:?}",
            self.told
        );
    }
}

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

/// Wherever between two visits the other end falls silent: what conntrack has seen of it is not
/// taken back.
#[test]
fn data_that_nobody_acknowledges_are_not_given_more_again() {
    let policy = Policy { long: 60, short: 5 };
    for phase in 0..40 {
        let mut settings = settings(20_000);
        settings.timeouts.tcp_established = policy.long;
        settings.timeouts.tcp_unacknowledged = policy.short;
        let mut world = World::new(true, policy, settings);
        world.exchange(30_000 + phase * STEP);
        let ack = world.sent[1];
        world.sent[0] += 1_400;
        // Longer than what was proven: conntrack sees it.
        world.proven[0] = false;
        let (mut sent, mut pause) = (world.rig.now, 200);
        world.send(0, 1_400, ack);
        for _ in 0..160 {
            world.pass(STEP);
            if world.rig.now >= sent + pause {
                (sent, pause) = (world.rig.now, pause * 2);
                world.send(0, 1_400, ack);
            }
            let left = world.beside.expires - world.rig.now;
            assert!(left <= 6_000, "{phase}: {left} of {:?}", world.told);
        }
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
    let timeouts = Timeouts {
        tcp_established: 60,
        tcp_unacknowledged: 5,
        ..Timeouts::default()
    };
    let mut world = World::new(
        true,
        policy,
        Settings {
            timeouts,
            ..Settings::default()
        },
    );
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
    let (packets, octets, shown) = (world.packets, world.octets, world.shown);
    let (now, mut out) = (world.rig.now, Vec::new());
    let mut read = |_: FlowId| {
        std::array::from_fn(|d| Reading {
            packets: packets[d],
            octets: octets[d],
            proven: true,
            shown: shown[d],
        })
    };
    world.rig.core.finish(now, &mut read, &mut out);
    world.apply(&out);
    assert_eq!(world.told.len(), told + 1, "{out:?}");
    assert!(world.beside.expires >= world.alone.expires);
}
