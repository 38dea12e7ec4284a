use std::collections::VecDeque;

use super::super::frame::{Chunk, First};
use super::*;

/// Two links, and frames between them.
struct Pair {
    now: u64,
    links: [Link; 2],
    ids: [Id; 2],
    /// Frames in flight to each side.
    air: [VecDeque<(u64, Vec<u8>)>; 2],
    /// Loss rate: one of so many frames; 0: no loss.
    loses: u32,
    dice: u32,
    frames: u64,
    got: [Vec<Vec<u8>>; 2],
    outcomes: [Vec<(u64, bool)>; 2],
    closed: Vec<CloseReason>,
}

impl Pair {
    fn new(octets: usize) -> Self {
        let ids = [Id([1; 8]), Id([2; 8])];
        let mut links = ids.map(|id| Link::new(id, None, 0));
        links.iter_mut().for_each(|it| it.frames_of(octets));
        Self {
            now: 0,
            links,
            ids,
            air: Default::default(),
            loses: 0,
            dice: 1,
            frames: 0,
            got: Default::default(),
            outcomes: Default::default(),
            closed: Vec::new(),
        }
    }

    fn happen(&mut self, at: usize, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Message(octets) => self.got[at].push(octets),
                Event::Outcome(number, done) => self.outcomes[at].push((number, done)),
                Event::Close(why) => self.closed.push(why),
                Event::Peer(id) => assert_eq!(id, self.ids[1 - at]),
                Event::Lost | Event::Hopped(..) => {}
            }
        }
    }

    /// Runs for a time: a frame takes a millisecond, and five until it arrives.
    fn run(&mut self, time: u64) {
        let end = self.now + time;
        while self.now < end {
            self.now += 1;
            for at in 0..2 {
                if let Some(frame) = self.links[at].next(self.now) {
                    self.frames += 1;
                    self.dice = (u64::from(self.dice) * 48_271 % 0x7fff_ffff) as u32;
                    let lost = self.loses > 0 && (self.dice >> 8).is_multiple_of(self.loses);
                    if !lost {
                        self.air[1 - at].push_back((self.now + 5, frame));
                    }
                }
                while self.air[at]
                    .front()
                    .is_some_and(|(when, _)| *when <= self.now)
                {
                    let (_, frame) = self.air[at].pop_front().expect("there is one");
                    let events = self.links[at].heard(self.now, &frame);
                    self.happen(at, events);
                }
                if self.now.is_multiple_of(50) {
                    let events = self.links[at].tick(self.now);
                    self.happen(at, events);
                }
            }
        }
    }

    fn send(&mut self, at: usize, messages: &[Vec<u8>]) {
        for (number, message) in (0..).zip(messages) {
            let mut sent = self.links[at].send(number, Priority::Usual, message.clone());
            while sent == Err(SendError::Full) {
                self.run(100);
                sent = self.links[at].send(number, Priority::Usual, message.clone());
            }
            assert_eq!(sent, Ok(()));
        }
    }

    fn run_until_all_is_said(&mut self, most: u64) {
        let end = self.now + most;
        while self.now < end && self.links.iter().any(|it| !it.outbox.is_empty()) {
            self.run(100);
        }
        assert!(
            self.links.iter().all(|it| it.outbox.is_empty()),
            "{:?}",
            self.outcomes
        );
    }
}

/// Returns different messages of all sizes up to 64 KB, most of them small.
fn messages(count: u32, seed: u32) -> Vec<Vec<u8>> {
    let one = |number: u32| {
        let bits = (number * 7 + seed) % 17;
        let size = (1usize << bits) + (number as usize * 31) % (1 << bits.min(9));
        let size = size.min(65_536);
        (0..size as u32)
            .map(|at| (at ^ number ^ at >> 7) as u8)
            .collect()
    };
    (0..count).map(one).collect()
}

#[test]
fn of_each_ten_frames_one_is_lost_and_no_message_is() {
    for octets in [20, 100, 244, 509] {
        let mut pair = Pair::new(octets);
        pair.loses = 10;
        let most = if octets == 20 { 40 } else { 120 };
        let (there, back) = (messages(most, 3), messages(most / 2, 8));
        pair.send(0, &there);
        pair.send(1, &back);
        pair.run_until_all_is_said(900_000);
        pair.run(10_000);
        let sizes = |all: &[Vec<u8>]| all.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(&pair.got[1]), sizes(&there), "{octets}");
        assert!(pair.got[1] == there && pair.got[0] == back);
        assert!(pair.outcomes.iter().flatten().all(|(_, done)| *done));
        assert_eq!(pair.closed, []);
    }
}

#[test]
fn what_somebody_waits_for_overtakes_a_picture() {
    let mut pair = Pair::new(100);
    let picture = vec![7; 60_000];
    pair.send(0, std::slice::from_ref(&picture));
    pair.run(50);
    let sent = pair.links[0].send(9, Priority::Urgent, b"help".to_vec());
    assert_eq!(sent, Ok(()));
    pair.run(20);
    assert_eq!(pair.got[1], [b"help".to_vec()]);
    pair.run_until_all_is_said(10_000);
    assert_eq!(pair.got[1].len(), 2);
    assert_eq!(pair.outcomes[0], [(9, true), (0, true)]);
}

#[test]
fn who_does_not_say_who_it_is_is_nobody_and_who_is_silent_is_gone() {
    let mut link = Link::new(Id([1; 8]), None, 0);
    assert_eq!(link.tick(NOBODY - 1), []);
    assert_eq!(link.tick(NOBODY), [Event::Close(CloseReason::Nobody)]);
    let mut pair = Pair::new(100);
    pair.run(60_000);
    assert_eq!(pair.closed, [], "pings are enough");
    let now = pair.now + SILENT;
    assert_eq!(pair.links[0].tick(now), [Event::Close(CloseReason::Silent)]);
}

#[test]
fn nobody_speaks_for_another() {
    let [own, peer, other] = [1, 2, 3].map(|it| Id([it; 8]));
    let mut link = Link::new(own, None, 0);
    let say = |id| Frame::Control(Control::Id(id)).octets();
    let first = |from| First {
        part: None,
        size: 1,
        count: 1,
        sum: crc32fast::hash(b"x"),
        from,
    };
    let chunk = |from| {
        let chunk = Chunk {
            queue: 1,
            again: false,
            index: 0,
            first: Some(first(from)),
            octets: b"x",
        };
        Frame::Chunk(chunk).octets()
    };
    assert_eq!(link.heard(1, &chunk(peer)), [], "nobody is known yet");
    assert_eq!(link.heard(1, &say(peer)), [Event::Peer(peer)]);
    assert_eq!(link.heard(1, &chunk(other)), []);
    assert_eq!(link.heard(1, &chunk(peer)), [Event::Message(b"x".to_vec())]);
    assert_eq!(link.heard(1, &chunk(peer)), [], "once");
    assert_eq!(
        link.heard(1, &say(other)),
        [Event::Close(CloseReason::Another)]
    );
    let mut link = Link::new(own, Some(peer), 0);
    assert_eq!(
        link.heard(1, &say(other)),
        [Event::Close(CloseReason::Another)]
    );
}

#[test]
fn noise_is_borne_for_a_while() {
    let mut link = Link::new(Id([1; 8]), Some(Id([2; 8])), 0);
    for _ in 1..WRONG {
        assert_eq!(link.heard(1, &[0x08]), []);
    }
    assert_eq!(link.heard(1, &[]), [Event::Close(CloseReason::Noise)]);
}

#[test]
fn a_connection_that_ends_gives_what_was_whole_and_tells_what_is_not_known() {
    let mut pair = Pair::new(100);
    pair.run(20);
    let all = messages(20, 9);
    pair.send(0, &all);
    pair.run(60);
    let [sender, receiver] = pair.links;
    let (events, unknown) = sender.end();
    assert_eq!(events, []);
    let known = pair.outcomes[0].len();
    assert_eq!(known + unknown.len(), all.len(), "each is known or not");
    let (events, _) = receiver.end();
    let got = pair.got[1].len() + events.len();
    assert!(known <= got && got < all.len(), "{known} {got}");
}

#[test]
fn a_channel_that_breaks_loses_and_doubles_nothing() {
    // Chunks of 20 bytes are too many for one message, which then starts over.
    for (octets, breaks) in (1..40).map(|it| (244, it * 3)).chain([(20, 4), (20, 30)]) {
        let mut pair = Pair::new(octets);
        pair.run(50);
        pair.links.iter_mut().for_each(|it| it.channel(true));
        let sizes = [3_000, 9_000, 1, 12_000, 60_000, 100];
        for (number, size) in (1..).zip(sizes) {
            for (at, link) in pair.links.iter_mut().enumerate() {
                let message = vec![number as u8 + 100 * at as u8; size];
                link.send(number, Priority::Usual, message).expect("room");
            }
        }
        pair.run(breaks);
        // Frames in flight are lost with the channel, and acknowledgements as well.
        pair.air = Default::default();
        pair.links.iter_mut().for_each(|it| it.channel(false));
        pair.run(60_000);
        for at in 0..2 {
            let got: Vec<(u8, usize)> = pair.got[at].iter().map(|it| (it[0], it.len())).collect();
            let mut wanted: Vec<(u8, usize)> = (1..).zip(sizes).collect();
            wanted
                .iter_mut()
                .for_each(|it| it.0 += 100 * (1 - at as u8));
            if octets == 20 {
                // Order is not kept then.
                let (mut is, mut was) = (got.clone(), wanted.clone());
                is.sort_unstable();
                was.sort_unstable();
                assert_eq!(is, was, "{octets}, broke after {breaks} ms");
            } else {
                // Small ones and large ones are in order, each.
                let sorted = |mut all: Vec<(u8, usize)>| {
                    all.sort_by_key(|(_, size)| *size > 16_000);
                    all
                };
                assert_eq!(sorted(got), sorted(wanted), "broke after {breaks} ms");
            }
            let mut outcomes = pair.outcomes[at].clone();
            outcomes.sort_unstable();
            let all: Vec<_> = (1..=6).map(|it| (it, true)).collect();
            assert_eq!(outcomes, all, "{octets}, broke after {breaks} ms");
        }
    }
}

/// The receiver need not request the restart.
#[test]
fn what_was_under_way_by_a_channel_begins_anew_without() {
    let mut link = Link::new(Id([1; 8]), Some(Id([2; 8])), 0);
    link.frames_of(244);
    link.channel(true);
    link.send(1, Priority::Usual, vec![7; 60_000])
        .expect("room");
    let said = |link: &mut Link| -> Vec<(bool, u16)> {
        let frames = std::iter::from_fn(|| link.next(1));
        let chunks = frames.map(|it| match Frame::read(&it).expect("a frame") {
            Frame::Chunk(it) => (it.again, it.index),
            Frame::Control(it) => panic!("{it:?}"),
        });
        chunks.collect()
    };
    assert!(matches!(link.next(1), Some(it) if it[0] == 1), "its id");
    let by_channel = said(&mut link);
    assert!(by_channel.len() > 5);
    let last = by_channel.len() as u16 - 1;
    link.heard(
        2,
        &Frame::Control(Control::Missing(vec![(1, last)])).octets(),
    );
    link.channel(false);
    let all: Vec<_> = (0..249).map(|it| (false, it)).collect();
    assert_eq!(said(&mut link), all);
}

#[test]
fn what_is_whole_by_a_channel_comes_from_whom_the_connection_is_with() {
    let mut link = Link::new(Id([1; 8]), None, 0);
    assert_eq!(link.whole(1, b"whole"), []);
    link.heard(2, &Frame::Control(Control::Id(Id([2; 8]))).octets());
    assert_eq!(link.whole(3, b"whole"), [Event::Message(b"whole".to_vec())]);
}
