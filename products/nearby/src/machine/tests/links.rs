use std::collections::{BTreeMap, VecDeque};

use super::super::*;
use crate::envelope::{Key, feed};

/// Rooms with links by IP between some of them, and no Bluetooth.
struct Village {
    now: u64,
    places: Vec<(Key, Machine)>,
    got: Vec<Vec<Vec<u8>>>,
    outcomes: Vec<Vec<(u64, Id, bool)>>,
    /// Ends of links, in pairs.
    wires: BTreeMap<(usize, u32), (usize, u32)>,
    numbers: u32,
    /// Number of records sent.
    records: usize,
}

fn key(at: usize) -> Key {
    Key::from_seed(&[at as u8 + 1; 32]).expect("any seed")
}

fn room(at: usize) -> Machine {
    Machine::new(Settings {
        own: key(at).node().id(),
        node: Some(key(at).node()),
        address: [0; 6],
        formats: BTreeSet::new(),
        links: 4,
    })
}

fn address(at: usize) -> SocketAddr {
    ([192, 0, 2, at as u8], 9351).into()
}

impl Village {
    fn new(count: usize, links: &[[usize; 2]]) -> Self {
        let mut village = Self {
            now: 1000,
            places: (0..count).map(|at| (key(at), room(at))).collect(),
            got: vec![Vec::new(); count],
            outcomes: vec![Vec::new(); count],
            wires: BTreeMap::new(),
            numbers: 0,
            records: 0,
        };
        for [one, other] in links {
            village.link(*one, *other);
        }
        village
    }

    fn id(&self, at: usize) -> Id {
        self.places[at].0.node().id()
    }

    /// The first calls the second.
    fn link(&mut self, one: usize, other: usize) -> u32 {
        self.numbers += 2;
        let ends = [(one, self.numbers), (other, self.numbers + 1)];
        self.wires.insert(ends[0], ends[1]);
        self.wires.insert(ends[1], ends[0]);
        for ((at, link), (to, _)) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            let reached = Event::Reached {
                link,
                address: address(to),
                caller: at == one,
                id: self.id(to),
            };
            self.happen(at, reached);
        }
        ends[0].1
    }

    fn happen(&mut self, at: usize, event: Event<'_>) {
        let actions = self.places[at].1.handle(self.now, event);
        self.act(at, actions);
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Close(link) => self.cut(at, link),
                Action::Message { format, octets, .. } => {
                    assert_eq!(format, Format::Ip);
                    self.got[at].push(octets);
                }
                Action::Outcome(number, id, done) => self.outcomes[at].push((number, id, done)),
                Action::Connect(_) => panic!("nobody is called by Bluetooth"),
                Action::Wake(_) | Action::Near(..) | Action::Store(_) => {}
            }
        }
    }

    fn cut(&mut self, at: usize, link: u32) {
        let Some(other) = self.wires.remove(&(at, link)) else {
            return;
        };
        self.wires.remove(&other);
        for (at, link) in [(at, link), other] {
            self.happen(at, Event::Closed(link));
        }
    }

    fn say(&mut self, at: usize, number: u64, text: &str) {
        let octets = feed(&self.places[at].0, text, self.now);
        let mut out = Vec::new();
        let room = &mut self.places[at].1;
        room.send(self.now, Recipients::All, number, &octets, &mut out);
        self.act(at, out);
    }

    fn run(&mut self, time: u64) {
        let end = self.now + time;
        while self.now < end {
            self.now += 100;
            let mut ends: VecDeque<_> = self.wires.keys().copied().collect();
            while let Some((at, link)) = ends.pop_front() {
                let mut out = Vec::new();
                let record = self.places[at].1.next(self.now, link, &mut out);
                self.act(at, out);
                if let (Some(record), Some(other)) = (record, self.wires.get(&(at, link)).copied())
                {
                    self.records += 1;
                    self.happen(other.0, Event::Heard(other.1, &record));
                    ends.extend([(at, link), other]);
                }
            }
            for at in 0..self.places.len() {
                self.happen(at, Event::Tick);
            }
        }
    }

    fn shown(&self, at: usize) -> Vec<PeerReport> {
        self.places[at].1.shown().collect()
    }
}

#[test]
fn in_a_chain_and_in_a_ring_each_hears_each_once() {
    let chain: &[[usize; 2]] = &[[0, 1], [1, 2], [2, 3], [3, 4]];
    let ring: &[[usize; 2]] = &[[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]];
    for links in [chain, ring] {
        let mut village = Village::new(5, links);
        for at in 0..5 {
            village.say(at, 1, &format!("{at}{}", "x".repeat(20_000)));
        }
        village.run(1_000);
        for at in 0..5 {
            assert_eq!(village.got[at].len(), 4, "{at} {links:?}");
            assert!(village.outcomes[at].iter().all(|it| it.2));
        }
        assert_eq!(village.outcomes[1].len(), 2);
    }
}

#[test]
fn a_message_goes_no_further_than_eight_links() {
    let links: Vec<[usize; 2]> = (0..11).map(|at| [at, at + 1]).collect();
    let mut village = Village::new(12, &links);
    village.say(0, 1, "far");
    village.run(1_000);
    let heard: Vec<usize> = village.got.iter().map(Vec::len).collect();
    assert_eq!(heard, [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
}

#[test]
fn a_link_is_all_that_is_told_of_it() {
    let mut village = Village::new(2, &[[0, 1]]);
    village.run(100_000);
    let shown = village.shown(0);
    assert_eq!(shown.len(), 1, "pings keep it");
    assert_eq!(shown[0].place, Endpoint::Ip(address(1)));
    assert_eq!(shown[0].linked, [Format::Ip].into());
    assert_eq!((shown[0].signal, shown[0].waiting), (None, 0));
    assert!(shown[0].seen > 90_000);
    // A sighting by Bluetooth of a linked node is shown, and causes no call.
    village.places[0].1.settings.formats = [Format::V2].into();
    for _ in 0..20 {
        village.now += 1_000;
        let seen = Event::Seen {
            address: [9; 6],
            format: Format::V2,
            prefix: village.id(1).0.first_chunk().copied(),
            signal: Some(-70),
        };
        village.happen(0, seen);
        village.run(100);
    }
    let shown = village.shown(0);
    assert_eq!(shown[0].place, Endpoint::Ip(address(1)));
    assert_eq!(shown[0].formats, [Format::V2, Format::Ip].into());
    assert_eq!(shown[0].signal, Some(-70));
    assert_eq!(village.places[0].1.delivery.links.by_bluetooth(), 0);
}

#[test]
fn who_loses_a_link_is_waited_for_and_then_gone() {
    let mut village = Village::new(2, &[]);
    let link = village.link(0, 1);
    village.run(60_000);
    village.say(0, 1, "one");
    village.cut(0, link);
    village.say(0, 2, "two");
    village.run(5_000);
    assert_eq!(village.shown(0)[0].waiting, 2);
    assert!(village.shown(0)[0].formats.is_empty());
    let link = village.link(1, 0);
    village.run(1_000);
    let id = village.id(1);
    assert_eq!(village.outcomes[0], [(1, id, true), (2, id, true)]);
    assert_eq!(village.got[1].len(), 2);
    village.cut(1, link + 1);
    village.cut(1, link);
    village.run(GONE + 200);
    assert!(village.shown(0).is_empty());
}

#[test]
fn who_says_nothing_for_half_a_minute_is_cut_off() {
    let mut village = Village::new(2, &[]);
    let link = village.link(0, 1);
    let other = village.wires[&(0, link)];
    // A cut in the middle: neither side notices.
    village.wires.clear();
    for _ in 0..29 {
        village.now += 1_000;
        village.happen(0, Event::Tick);
    }
    assert!(village.places[0].1.reaches(village.id(1)));
    village.now += 1_000;
    let actions = village.places[0].1.handle(village.now, Event::Tick);
    assert!(actions.contains(&Action::Close(link)), "{actions:?}");
    assert_eq!(other.0, 1);
}

/// Simultaneous calls: both keep the same link. A node that calls twice has lost its first.
#[test]
fn of_two_links_one_stays_and_it_is_the_same_at_both() {
    for [one, other] in [[0, 1], [1, 0]] {
        let mut village = Village::new(2, &[]);
        let first = village.link(one, other);
        village.link(other, one);
        assert_eq!(village.wires.len(), 2, "one link");
        let lower = if village.id(0) < village.id(1) { 0 } else { 1 };
        assert_eq!(village.wires.contains_key(&(one, first)), one == lower);
        village.say(0, 1, "here");
        village.run(1_000);
        assert_eq!(village.got[1].len(), 1);

        let mut village = Village::new(2, &[]);
        let first = village.link(one, other);
        let second = village.link(one, other);
        assert!(!village.wires.contains_key(&(one, first)));
        assert!(village.wires.contains_key(&(one, second)));
    }
}

#[test]
fn who_says_many_ids_by_radio_keeps_no_node_out() {
    let mut room = room(0);
    room.settings.formats = [Format::V2].into();
    for link in 0..200u32 {
        let opened = Event::Opened {
            link,
            address: [2, 0, 0, 0, 0, link as u8],
            format: Format::V2,
            caller: false,
            id: Some(Id(u64::from(link + 1).to_be_bytes())),
            frame: 20,
        };
        room.handle(1, opened);
    }
    assert_eq!(room.delivery.peers().len(), PEERS);
    for link in 1000..1200u32 {
        let reached = Event::Reached {
            link,
            address: address(1),
            caller: false,
            id: Id(u64::from(link).to_be_bytes()),
        };
        let actions = room.handle(1, reached);
        let is_closed = actions.contains(&Action::Close(link));
        assert_eq!(is_closed, link >= 1000 + LINKS as u32);
        if is_closed || link % 2 == 0 {
            room.handle(1, Event::Closed(link));
        }
    }
    assert_eq!(room.delivery.peers().len(), PEERS + LINKS);
}

#[test]
fn links_are_bounded_and_own_ones_refused() {
    let mut room = room(0);
    let reach = |room: &mut Machine, link: u32, id: Id| {
        let reached = Event::Reached {
            link,
            address: address(1),
            caller: false,
            id,
        };
        room.handle(1, reached)
    };
    let own = key(0).node().id();
    assert!(reach(&mut room, 999, own).contains(&Action::Close(999)));
    room.handle(1, Event::Closed(999));
    for link in 0..200u32 {
        let id = Id(u64::from(link + 1).to_be_bytes());
        let is_closed = reach(&mut room, link, id).contains(&Action::Close(link));
        assert_eq!(is_closed, link >= LINKS as u32, "{link}");
        if is_closed {
            room.handle(1, Event::Closed(link));
        }
    }
    assert_eq!(room.delivery.links.numbers().len(), LINKS);
    assert!(room.delivery.peers().len() <= PEERS);
    // A linked node may call again.
    let actions = reach(&mut room, 1000, Id(1u64.to_be_bytes()));
    assert!(actions.contains(&Action::Close(0)) && !actions.contains(&Action::Close(1000)));
}
