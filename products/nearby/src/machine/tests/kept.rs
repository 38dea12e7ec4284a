use super::*;
use crate::machine::away_peers::{AT_ONCE, STAYS};
use crate::machine::peer::PASSED;
use crate::v2::outbox::Priority;
use crate::village::HOPS;

/// A simulated disk.
#[derive(Default)]
pub struct Disk {
    messages: BTreeMap<(Id, u64), Message>,
    /// Messages that were written.
    writes: usize,
    full: bool,
    /// Maximum number of messages loaded at once.
    most: usize,
    /// Delays loads.
    slow: bool,
    /// Delayed requests.
    asked: Vec<StoreAction>,
}

pub fn store(world: &mut World, at: usize, store: StoreAction) {
    let place = &mut world.places[at];
    let disk = place.kept.as_mut().expect("messages are kept");
    let actions = match store {
        StoreAction::Keep(keep) => {
            if !disk.full {
                disk.writes += 1;
                for id in &keep.peers {
                    let message = keep.message.clone();
                    let before = disk.messages.insert((*id, keep.sequence), message);
                    assert_eq!(before, None, "kept twice");
                }
            }
            place.room.delivery.kept(&keep, !disk.full)
        }
        StoreAction::Load(..) if disk.slow => {
            disk.asked.push(store);
            Vec::new()
        }
        StoreAction::Load(id, after) => {
            let beyond = disk.messages.range((id, after + 1)..=(id, u64::MAX));
            let mut beyond: Vec<_> = beyond.map(|((_, at), it)| (*at, it.clone())).collect();
            let all = beyond.len() <= disk.most;
            beyond.truncate(disk.most);
            place.room.delivery.given(world.now, id, beyond, all)
        }
        StoreAction::Drop(id, sequence) => {
            disk.messages.remove(&(id, sequence)).expect("it is kept");
            Vec::new()
        }
        StoreAction::Forget(id) => {
            disk.messages.retain(|(it, _), _| *it != id);
            Vec::new()
        }
    };
    world.act(at, actions);
}

impl World {
    /// Rooms that keep messages, and know each other.
    fn keeping(formats: &[&[Format]]) -> Self {
        let mut world = Self::new(formats);
        for place in &mut world.places {
            place.kept = Some(Disk {
                most: 2,
                ..Disk::default()
            });
            place.room.delivery.keeps([], 0);
        }
        world.run(15_000);
        world
    }

    fn disk(&mut self, at: usize) -> &mut Disk {
        self.places[at].kept.as_mut().expect("messages are kept")
    }

    fn waiting(&self, at: usize) -> usize {
        let disk = self.places[at].kept.as_ref();
        disk.map_or(0, |it| it.messages.len())
    }

    /// Moves a place out of range of all others.
    fn leave(&mut self, at: usize) {
        self.places[at].off = true;
        self.cut_all(at);
        self.run(GONE + 1000);
    }

    /// Comes back.
    fn come(&mut self, at: usize) {
        self.places[at].off = false;
        self.run(WAITS + 8_000);
    }

    /// Restarts a node, in order or not, with the messages on the disk.
    fn restart(&mut self, at: usize, in_order: bool) {
        self.cut_all(at);
        if in_order {
            let actions = self.places[at].room.delivery.keep_all();
            self.act(at, actions);
        }
        let place = &mut self.places[at];
        let settings = place.room.settings.clone();
        let known: Vec<_> = place.room.delivery.away().collect();
        let near = place.room.shown().map(|it| (it.id, it.seen));
        let known: Vec<_> = known.into_iter().chain(near).collect();
        let disk = place.kept.as_ref().expect("messages are kept");
        let last = disk.messages.keys().map(|(_, it)| *it).max().unwrap_or(0);
        place.room = Machine::new(settings);
        place.room.delivery.keeps(known, last);
    }

    fn cut_all(&mut self, at: usize) {
        let ends = self.wires.iter().flatten().filter(|it| it.0 == at);
        for (at, link) in ends.copied().collect::<Vec<_>>() {
            self.cut(at, link);
        }
    }
}

#[test]
fn who_comes_back_gets_what_was_said_meanwhile_in_order_and_once() {
    for format in BOTH {
        let mut world = World::keeping(&[&[format], &[format]]);
        let id = world.id(1);
        world.leave(1);
        assert_eq!(world.say(0, 1, "one"), 0);
        for (number, text) in [(2, "two"), (3, "three"), (4, "four"), (5, "five")] {
            world.say(0, number, text);
        }
        assert_eq!(world.waiting(0), 5);
        world.come(1);
        world.say(0, 6, "six");
        world.run(20_000);
        let texts = ["one", "two", "three", "four", "five", "six"];
        assert_eq!(world.texts(1), texts, "{format:?}");
        let outcomes: Vec<_> = (1..=6).map(|it| (it, id, true)).collect();
        assert_eq!(world.places[0].outcomes, outcomes);
        assert_eq!(world.waiting(0), 0);
    }
}

#[test]
fn what_is_said_while_the_old_comes_back_goes_after_it() {
    let mut world = World::keeping(&[&BOTH, &BOTH]);
    world.leave(1);
    for number in 1..=9 {
        world.say(0, number, &format!("{number}"));
    }
    world.disk(0).slow = true;
    world.come(1);
    for number in 10..=12 {
        world.say(0, number, &format!("{number}"));
    }
    world.run(5000);
    assert_eq!(world.texts(1), [""; 0]);
    world.disk(0).slow = false;
    let asked = std::mem::take(&mut world.disk(0).asked);
    assert_eq!(asked.len(), 1);
    asked.into_iter().for_each(|it| store(&mut world, 0, it));
    world.run(20_000);
    let all: Vec<_> = (1..=12).map(|it| format!("{it}")).collect();
    assert_eq!(world.texts(1), all);
    assert_eq!(world.waiting(0), 0);
}

#[test]
fn what_is_passed_on_to_one_who_goes_at_that_moment_waits() {
    for moment in [1500, 500, 100] {
        let mut world = World::keeping(&[&BOTH, &BOTH, &BOTH]);
        world.apart.insert([0, 2]);
        world.places[2].off = true;
        world.cut_all(2);
        world.run(GONE - moment);
        world.say(0, 1, "a last word");
        world.run(moment + 4000);
        assert_eq!(world.places[1].room.delivery.away().count(), 1);
        world.come(2);
        assert_eq!(world.texts(2), ["a last word"], "{moment}");
    }
}

/// Messages in a connection, in memory and on the disk survive a restart.
#[test]
fn nothing_that_waits_is_lost_by_a_restart() {
    for in_order in [true, false] {
        let mut world = World::keeping(&[&BOTH, &BOTH, &BOTH]);
        world.apart.insert([0, 2]);
        world.leave(2);
        world.say(0, 1, "passed on");
        world.say(1, 1, "own");
        world.run(if in_order { 1000 } else { 4000 });
        assert_eq!(world.texts(1), ["passed on"]);
        world.restart(1, in_order);
        assert_eq!(world.waiting(1), 2);
        world.come(2);
        let mut texts = world.texts(2);
        texts.sort_unstable();
        assert_eq!(texts, ["own", "passed on"], "{in_order}");
        let id = world.id(2);
        assert!(world.places[1].outcomes.contains(&(1, id, true)));
        assert_eq!(world.waiting(1), 0);
    }
}

#[test]
fn a_short_delivery_writes_nothing_of_what_is_passed_on() {
    let mut world = World::keeping(&[&BOTH, &BOTH, &BOTH]);
    world.apart.insert([0, 2]);
    // All peers were near all the time, and are known.
    world.run(20_000);
    for number in 1..=5 {
        world.say(0, number, &"quickly ".repeat(1000));
        world.run(1000);
    }
    world.run(5000);
    assert_eq!(world.texts(2).len(), 5);
    assert_eq!(world.disk(1).writes, 0);
    assert_eq!(world.disk(0).writes, 5, "what is said here is kept at once");
}

#[test]
fn who_goes_in_the_middle_gets_the_rest_later() {
    for breaks in 20..60 {
        let mut world = World::keeping(&[&BOTH, &BOTH, &BOTH]);
        world.apart.insert([0, 2]);
        for number in 1..=4 {
            world.say(0, number, &"long ".repeat(300 * number as usize));
        }
        for _ in 0..breaks {
            world.run(5);
        }
        world.leave(2);
        world.come(2);
        let lengths: Vec<_> = world.texts(2).iter().map(|it| it.len() / 1500).collect();
        assert_eq!(lengths, [1, 2, 3, 4], "{breaks}");
        assert_eq!(world.waiting(1), 0, "{breaks}");
    }
}

#[test]
fn a_disk_that_is_full_leaves_all_as_it_is_without_one() {
    let mut world = World::keeping(&[&BOTH, &BOTH]);
    let id = world.id(1);
    world.disk(0).full = true;
    world.say(0, 1, "near");
    world.run(3000);
    assert_eq!(world.texts(1), ["near"]);
    world.leave(1);
    world.say(0, 2, "away");
    assert_eq!(world.places[0].outcomes, [(1, id, true), (2, id, false)]);
    world.disk(0).full = false;
    world.say(0, 3, "later");
    world.come(1);
    assert_eq!(world.texts(1), ["near", "later"]);
}

#[test]
fn what_has_no_room_in_memory_waits_on_the_disk() {
    let mut world = World::keeping(&[&[Format::V1], &[Format::V1]]);
    let (id, text) = (world.id(1), "x".repeat(30_000));
    for number in 1..=60 {
        assert_eq!(world.say(0, number, &text), 1);
    }
    let waiting = world.places[0].room.delivery.peers()[&id].octets();
    assert!(waiting <= 1 << 20, "{waiting}");
    assert_eq!(world.waiting(0), 60);
    assert!(world.places[0].outcomes.is_empty());
    world.disk(0).most = 8;
    world.run(7_000_000);
    let numbers: Vec<_> = world.places[0].outcomes.iter().map(|it| it.0).collect();
    assert_eq!(numbers, (1..=60).collect::<Vec<_>>());
}

/// Passes many messages on, which wait for the other peer.
fn pass_on(world: &mut World, messages: std::ops::Range<u8>) {
    for at in messages {
        let (now, mut out) = (world.now, Vec::new());
        let room = &mut world.places[0].room;
        let octets = [at; 30_000];
        room.delivery
            .pass_on(now, Id([9; 8]), Some(HOPS), &octets, &mut out);
        world.act(0, out);
    }
}

#[test]
fn what_is_said_here_does_not_give_way_in_memory_to_what_is_passed_on() {
    let mut world = World::keeping(&[&[Format::V1], &[Format::V1]]);
    let id = world.id(1);
    world.disk(0).full = true;
    pass_on(&mut world, 0..60);
    let peer = &world.places[0].room.delivery.peers()[&id];
    assert!(peer.octets() > (1 << 20) - 28_000, "it has no room");
    assert_eq!(world.say(0, 1, &"own ".repeat(7_000)), 1);
    assert_eq!(world.places[0].outcomes, []);
    let own = |it: &crate::machine::peer::PendingMessage| it.number == 1;
    let peer = &world.places[0].room.delivery.peers()[&id];
    assert_eq!(peer.unkept().filter(|it| own(it)).count(), 1, "it waits");
    assert!(peer.octets() <= 1 << 20);
    assert!(world.places[0].room.delivery.pool().used() <= 3 << 20);
}

/// Any number of peers may read nothing: each has a load and a message; the other messages stay in
/// the queue.
#[test]
fn what_waits_in_memory_is_bounded_over_all() {
    let mut world = World::keeping(&[&[Format::V1]]);
    for link in 1..=40u8 {
        if link == 3 {
            // Two have as much as they may: there is room for all of it.
            pass_on(&mut world, 0..34);
        }
        let opened = Event::Opened {
            link: u32::from(link),
            address: address(usize::from(link)),
            // Messages in a connection stay there; this connection accepts none.
            format: if link < 3 { Format::V1 } else { Format::V2 },
            caller: false,
            id: Some(Id([link; 8])),
            frame: 20,
        };
        world.happen(0, opened);
    }
    let room = &mut world.places[0].room;
    assert_eq!(room.delivery.peers().len(), 40);
    let first = |world: &mut World| world.places[0].room.delivery.peers()[&Id([1; 8])].octets();
    assert!(first(&mut world) > 1_000_000);
    pass_on(&mut world, 34..200);
    // Messages that have waited two seconds are on the disk and no longer in memory.
    world.now += 3_000 - world.now % 100;
    for _ in 0..200 / AT_ONCE {
        world.happen(0, Event::Tick);
    }
    let used = world.places[0].room.delivery.pool().used();
    assert!(used <= 2 << 20, "{used}");
    let first = first(&mut world);
    assert!(first <= PIECE + 31_000, "of it a piece stays: {first}");
    // The source of the messages is among the peers.
    assert_eq!(world.waiting(0), 2 * 34 + 39 * 166, "and none is lost");
}

/// A slow disk may finish after the peer took all messages: the load must still go on.
#[test]
fn what_was_here_before_it_was_kept_comes_when_it_is() {
    let mut world = World::keeping(&[&[Format::V1], &[Format::V1]]);
    let id = world.id(1);
    world.disk(0).slow = true;
    let room = &mut world.places[0].room;
    let message = Message {
        number: None,
        since: world.now,
        priority: Priority::Usual,
        octets: vec![0; 70_000],
    };
    // The message before is on the disk alone; the second fills the memory limit.
    let waiting = crate::machine::peer::PendingMessage {
        number: PASSED + 1,
        priority: message.priority,
        octets: room.delivery.pool().take(message.octets.clone()),
        hops: 0,
        since: message.since,
        sequence: Some(2),
        kept: false,
    };
    let peer = room.delivery.peers().get_mut(&id).expect("it is near");
    peer.rest(1);
    assert!(peer.wait(waiting, false));
    assert_eq!((peer.next().is_none(), peer.asks()), (true, None));
    let keep = StoreRequest {
        sequence: 2,
        peers: vec![id],
        message,
    };
    let actions = room.delivery.kept(&keep, true);
    assert!(
        actions.contains(&Action::Store(StoreAction::Load(id, 0))),
        "{actions:?}"
    );
}

#[test]
fn who_is_away_is_bounded_and_forgotten() {
    let mut world = World::keeping(&[&BOTH]);
    let ids = |it: u64| Id((it + 1).to_be_bytes());
    let away = |world: &World| {
        let away = world.places[0].room.delivery.away();
        away.map(|(id, _)| id).collect::<Vec<Id>>()
    };
    let opened = |link, id| Event::Opened {
        link,
        address: address(9),
        format: Format::V2,
        caller: false,
        id: Some(Id([id; 8])),
        frame: 20,
    };
    let known: Vec<_> = (0..AWAY as u64 + 9).map(|it| (ids(it), it)).collect();
    world.places[0].room.delivery.keeps(known, 0);
    assert_eq!(world.places[0].room.delivery.away().count(), AWAY);
    world.say(0, 1, "to all");
    assert_eq!(world.waiting(0), AWAY);
    assert_eq!(world.disk(0).writes, 1);
    assert!(!away(&world).contains(&ids(8)) && away(&world).contains(&ids(9)));
    // A peer that was near for a moment replaces no other.
    world.happen(0, opened(6, 8));
    world.happen(0, Event::Closed(6));
    world.run(GONE + 1000);
    assert!(!away(&world).contains(&Id([8; 8])) && away(&world).contains(&ids(9)));
    // A peer that was near leaves: the peer away for longest is forgotten.
    let begun = world.now;
    while world.now < begun + STAYS + GONE {
        world.happen(0, opened(7, 9));
        world.run(5_000);
        world.happen(0, Event::Closed(7));
    }
    world.run(GONE + 1000);
    assert_eq!(away(&world).len(), AWAY);
    assert!(away(&world).contains(&Id([9; 8])) && !away(&world).contains(&ids(9)));
    assert_eq!(world.waiting(0), AWAY - 1);
    world.now += FORGOTTEN;
    world.now -= world.now % 100;
    world.run(200);
    assert_eq!(world.places[0].room.delivery.away().count(), 0);
    assert_eq!(world.waiting(0), 0);
}

#[test]
fn whom_nobody_knows_nothing_is_kept_for() {
    let mut world = World::keeping(&[&BOTH, &BOTH]);
    let (now, mut out) = (world.now, Vec::new());
    let room = &mut world.places[0].room;
    let to = Recipients::One(Id([7; 8]));
    assert_eq!(room.send(now, to, 1, b"x", &mut out), 0);
    assert_eq!(out, []);
}
