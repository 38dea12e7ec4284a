//! Round trips of forwarded TCP: which segments are timed, and that the marks are cleared.
//! `packets` and the mangled frames of parser.rs test that a mark changes no decision.

use std::thread::sleep;
use std::time::{Duration, Instant};

use weir_datapath::{Port, RoundTrip, TIMERS};

use frames::edit::numbers;
use frames::*;

const SERVER_SIDE: Side = Side::Reply;
/// Delay of an acknowledgement.
const ANSWER: Duration = Duration::from_millis(20);

/// A TCP connection of a router, and the numbers that both ends are at.
struct Conversation {
    router: Router,
    connection: Connection,
    hook: Hook,
    /// By side: the sequence number behind all that was sent.
    sent: [u32; 2],
}

impl Conversation {
    /// Runs each case in a router of its own, so that measurements do not mix.
    fn each(mut test: impl FnMut(&mut Self)) {
        for hook in HOOKS {
            for ipv6 in [false, true] {
                let mut router = Router::standard();
                let wanted = |c: &&Connection| c.is_tcp() && c.is_ipv6() == ipv6;
                let connection = *router.connections.iter().find(wanted).expect("TCP");
                for side in SIDES {
                    router.prove_with(&connection, side, &connection.frame(side).payload(1000));
                }
                router.time(&connection, true);
                // Numbers wrap meanwhile.
                let sent = [u32::MAX - 150, 70_000];
                test(&mut Self {
                    router,
                    connection,
                    hook,
                    sent,
                });
            }
        }
    }

    fn frame(&self, side: Side, sequence: u32, payload: usize) -> Vec<u8> {
        let mut frame = self.connection.frame(side).payload(payload).bytes();
        numbers(&mut frame, sequence, self.sent[1 - side as usize]);
        frame
    }

    fn forward(&mut self, side: Side, frame: &[u8]) {
        let outcome = self.router.compare(self.hook, links(side).0, frame);
        assert!(matches!(outcome, Outcome::Forwarded(_)), "{outcome:?}");
    }

    /// Sends more data from one side. Returns a time before that.
    fn say(&mut self, side: Side, payload: u32) -> Instant {
        let before = Instant::now();
        let frame = self.frame(side, self.sent[side as usize], payload as usize);
        let sent = &mut self.sent[side as usize];
        *sent = sent.wrapping_add(payload);
        self.forward(side, &frame);
        before
    }

    /// Sends earlier bytes again, from this many bytes ago.
    fn say_again(&mut self, side: Side, ago: u32, payload: usize) {
        let sequence = self.sent[side as usize].wrapping_sub(ago);
        let frame = self.frame(side, sequence, payload);
        self.forward(side, &frame);
    }

    /// A side acknowledges all data of the other side, less this many bytes.
    fn acknowledge(&mut self, side: Side, without: u32) {
        let mut frame = self.frame(side, 0, 0);
        let acknowledged = self.sent[1 - side as usize].wrapping_sub(without);
        numbers(&mut frame, self.sent[side as usize], acknowledged);
        self.forward(side, &frame);
    }

    fn waits(&mut self) -> Vec<RoundTrip> {
        let mut waits = Vec::new();
        self.router
            .path
            .take_round_trips(Instant::now(), |wait| waits.push(wait));
        waits
    }

    fn marks(&mut self) -> [bool; 2] {
        self.router.marks(&self.connection)
    }
}

/// Returns the range of the round trip: at least the time that the answer took; at most the time
/// since `said`, however late a busy machine was.
fn near(wait: &RoundTrip, expected: Duration, said: Instant) {
    let waited = Duration::from_micros(wait.micros.into());
    let most = said.elapsed();
    assert!(
        waited >= expected && waited <= most,
        "{waited:?}, not {expected:?} to {most:?}"
    );
}

/// A segment and its acknowledgement; then neither record is marked, and the timer is free.
#[test]
fn a_segment_and_its_acknowledgement_are_timed() {
    Conversation::each(|talk| {
        // The first one may be a retransmission already: it is not timed.
        talk.say(SERVER_SIDE, 100);
        talk.acknowledge(ORIGINAL, 0);
        assert_eq!(talk.waits(), []);
        let said = talk.say(SERVER_SIDE, 100);
        sleep(ANSWER);
        assert_eq!((talk.waits(), talk.marks()), (vec![], [true; 2]));
        talk.acknowledge(ORIGINAL, 0);
        assert_eq!(talk.marks(), [false; 2]);
        assert_eq!(talk.router.path.timed(), 1);
        let waits = talk.waits();
        assert_eq!(waits.len(), 1);
        near(&waits[0], ANSWER, said);
        assert_eq!(waits[0].ingress.port, talk.router.path.slot(WAN));
        assert_eq!(talk.router.path.timed(), 0);
        talk.say(SERVER_SIDE, 100);
        talk.acknowledge(ORIGINAL, 0);
        assert_eq!(talk.waits(), []);
    });
}

/// Requests and answers: both directions are timed before the marks are cleared.
#[test]
fn both_ways_are_timed() {
    Conversation::each(|talk| {
        let mut said = [Instant::now(); 2];
        for round in 0..2 {
            sleep(if round == 0 { Duration::ZERO } else { ANSWER });
            said[0] = talk.say(ORIGINAL, 100);
            sleep(2 * ANSWER);
            said[1] = talk.say(SERVER_SIDE, 500);
        }
        assert_eq!(talk.marks(), [true; 2], "an answer is still under way");
        sleep(ANSWER);
        talk.say(ORIGINAL, 100);
        assert_eq!(talk.marks(), [false; 2]);
        let waits = talk.waits();
        assert_eq!(waits.len(), 2);
        near(&waits[0], 2 * ANSWER, said[0]);
        near(&waits[1], ANSWER, said[1]);
    });
}

/// A retransmission is not timed (Karn); the next new segment is. A keep-alive does not count as a
/// retransmission.
#[test]
fn what_is_sent_again_is_not_timed() {
    Conversation::each(|talk| {
        talk.say(SERVER_SIDE, 100);
        talk.say(SERVER_SIDE, 100);
        talk.say_again(SERVER_SIDE, 100, 100);
        sleep(ANSWER);
        talk.acknowledge(ORIGINAL, 0);
        assert_eq!((talk.waits(), talk.marks()), (vec![], [true; 2]));
        let said = talk.say(SERVER_SIDE, 100);
        talk.say_again(SERVER_SIDE, 1, 1);
        sleep(ANSWER);
        talk.acknowledge(ORIGINAL, 0);
        let waits = talk.waits();
        assert_eq!(waits.len(), 1);
        near(&waits[0], ANSWER, said);
    });
}

/// An acknowledgement of several segments belongs to the last of them; one that matches no
/// segment's end is ignored.
#[test]
fn an_acknowledgement_belongs_to_one_segment() {
    Conversation::each(|talk| {
        talk.say(SERVER_SIDE, 100);
        let said = [(); 4].map(|()| {
            let said = talk.say(SERVER_SIDE, 100);
            sleep(ANSWER);
            said
        });
        talk.acknowledge(ORIGINAL, 150);
        assert_eq!(talk.waits(), []);
        talk.acknowledge(ORIGINAL, 100);
        let waits = talk.waits();
        assert_eq!(waits.len(), 1);
        near(&waits[0], 2 * ANSWER, said[2]);
    });
}

/// More segments than are timed at once, and an acknowledgement beyond all of them: it begins again
/// with the next.
#[test]
fn what_was_passed_over_is_timed_anew() {
    Conversation::each(|talk| {
        for _ in 0..20 {
            talk.say(SERVER_SIDE, 100);
        }
        talk.acknowledge(ORIGINAL, 0);
        assert_eq!((talk.waits(), talk.marks()), (vec![], [true; 2]));
        talk.say(SERVER_SIDE, 100);
        sleep(ANSWER);
        talk.acknowledge(ORIGINAL, 0);
        assert_eq!(talk.waits().len(), 1);
    });
}

/// A super-packet ends where its last segment does.
#[test]
fn a_super_packet_is_timed_as_a_whole() {
    Conversation::each(|talk| {
        talk.hook = Hook::Tc;
        talk.say(SERVER_SIDE, 100);
        let frame = talk.frame(SERVER_SIDE, talk.sent[1], 3000);
        let mut fields = SkbFields {
            gso_size: 1000,
            gso_segs: 3,
            ..Default::default()
        };
        let said = Instant::now();
        let outcome = talk.router.run_skb(WAN, &frame, &mut fields);
        assert!(matches!(outcome, Outcome::Forwarded(_)), "{outcome:?}");
        talk.sent[1] += 3000;
        sleep(ANSWER);
        talk.acknowledge(ORIGINAL, 0);
        let waits = talk.waits();
        assert_eq!(waits.len(), 1);
        near(&waits[0], ANSWER, said);
    });
}

/// A segment that XDP passes up is timed once at TC: it does not count as a retransmission.
#[test]
fn what_both_hooks_see_is_timed_once() {
    Conversation::each(|talk| {
        for link in [(LAN, ROUTER_LAN), (WAN, ROUTER_WAN)] {
            let port = Port::new(link.0, link.1, false);
            talk.router.path.declare(&port).expect("a port");
        }
        for (side, payload) in [(SERVER_SIDE, 100), (SERVER_SIDE, 100), (ORIGINAL, 0)] {
            let frame = talk.frame(side, talk.sent[side as usize], payload);
            let outcome = talk.router.run(Hook::Xdp, links(side).0, &frame);
            assert_eq!(outcome, Outcome::Passed(Reason::Hook));
            talk.hook = Hook::Tc;
            talk.forward(side, &frame);
            talk.sent[side as usize] += payload as u32;
        }
        assert_eq!(talk.waits().len(), 1);
    });
}

/// A witness that extends the proof of a marked record keeps the mark. One that proves it again
/// clears the mark, which is set again.
#[test]
fn a_marked_record_is_proven_as_any_other() {
    Conversation::each(|talk| {
        let connection = talk.connection;
        for side in SIDES {
            let longer = connection.frame(side).payload(1400);
            let leaves = connection.sent(side, &longer).bytes();
            let said = talk.router.witnessed(&connection, side, &longer, &leaves);
            assert_eq!(said, None);
            talk.router.forwards(links(side).0, &longer, "longer");
        }
        assert_eq!(talk.marks(), [true; 2]);
        talk.router.path.invalidate(connection.id);
        talk.router.prove(&connection);
        assert_eq!(talk.marks(), [false; 2]);
        talk.waits();
        assert_eq!(talk.marks(), [true; 2]);
    });
}

/// Without an answer the marks are off after two seconds. A connection that ends frees its timer.
#[test]
fn timers_come_back() {
    let mut router = Router::sized(brief(), 2 * TIMERS);
    let made: Vec<Connection> = (0..=TIMERS as u16)
        .map(|n| {
            let original = tuple(Tcp, "192.168.1.2", 2000 + n, "10.0.0.2", 443);
            let reply = tuple(Tcp, "10.0.0.2", 443, "10.0.0.1", 2000 + n);
            router.connect(original, reply).expect("room")
        })
        .collect();
    let (last, others) = made.split_last().expect("some");
    for connection in others {
        router.time(connection, true);
    }
    let taken = router.path.time(last.id).expect("no error");
    assert!(!taken, "all timers are used");
    let first = others[0];
    router.disconnect(&first);
    assert_eq!(router.path.timed(), others.len() - 1);
    router.time(last, true);
    // Records are reused for another connection, which is not marked.
    router.rested();
    let next = router.connect(first.original, first.reply).expect("room");
    assert_eq!(router.marks(&next), [false; 2]);
    let soon = Instant::now() + Duration::from_secs(1);
    router
        .path
        .take_round_trips(soon, |_| panic!("nothing was sent"));
    assert_eq!(router.path.timed(), others.len());
    let late = Instant::now() + Duration::from_secs(3);
    router
        .path
        .take_round_trips(late, |_| panic!("nothing was sent"));
    assert_eq!(router.path.timed(), 0);
    for connection in &made[1..] {
        assert_eq!(router.marks(connection), [false; 2]);
    }
}
