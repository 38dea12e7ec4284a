use std::collections::BTreeMap;

use super::sightings::ADDRESSES;
use super::*;
use crate::envelope::{Key, feed};

mod kept;
mod links;
mod sightings;

/// Rooms within range of each other, with simulated connections.
struct World {
    now: u64,
    places: Vec<Place>,
    /// Ends of connections: room and number at both.
    wires: Vec<[(usize, u32); 2]>,
    numbers: u32,
    /// Pairs that are out of range.
    apart: BTreeSet<[usize; 2]>,
    /// Number of frames after which each connection breaks; 0: never.
    breaks: u64,
    frames: u64,
}

struct Place {
    key: Key,
    room: Machine,
    got: Vec<(Id, Format, Vec<u8>)>,
    outcomes: Vec<(u64, Id, bool)>,
    near: BTreeMap<Id, bool>,
    off: bool,
    /// Storage, if there is one.
    kept: Option<kept::Disk>,
}

const BOTH: [Format; 2] = [Format::V1, Format::V2];

fn address(at: usize) -> Address {
    [0, 0xaa, 1, 0, 0, at as u8]
}

impl World {
    fn new(formats: &[&[Format]]) -> Self {
        let place = |(at, formats): (usize, &&[Format])| {
            let key = Key::from_seed(&[at as u8 + 1; 32]).expect("any seed");
            let settings = Settings {
                own: key.node().id(),
                node: Some(key.node()),
                address: address(at),
                formats: formats.iter().copied().collect(),
                links: 12,
            };
            Place {
                room: Machine::new(settings),
                key,
                got: Vec::new(),
                outcomes: Vec::new(),
                near: BTreeMap::new(),
                off: false,
                kept: None,
            }
        };
        Self {
            now: 0,
            places: formats.iter().enumerate().map(place).collect(),
            wires: Vec::new(),
            numbers: 0,
            apart: BTreeSet::new(),
            breaks: 0,
            frames: 0,
        }
    }

    fn id(&self, at: usize) -> Id {
        self.places[at].key.node().id()
    }

    fn hear_each_other(&self, one: usize, other: usize) -> bool {
        let off = self.places[one].off || self.places[other].off;
        !off && !self.apart.contains(&[one.min(other), one.max(other)])
    }

    fn happen(&mut self, at: usize, event: Event<'_>) {
        let now = self.now;
        let actions = self.places[at].room.handle(now, event);
        self.act(at, actions);
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) {
        for action in actions {
            let place = &mut self.places[at];
            match action {
                Action::Connect(to) => {
                    let to = usize::from(to[5]);
                    let both = |format| {
                        let speaks =
                            |it: usize| self.places[it].room.settings.formats.contains(&format);
                        speaks(at) && speaks(to)
                    };
                    let format = [Format::V2, Format::V1].into_iter().find(|it| both(*it));
                    match format.filter(|_| self.hear_each_other(at, to)) {
                        Some(format) => self.connect(at, to, format),
                        None => self.happen(at, Event::Refused(address(to))),
                    }
                }
                Action::Close(link) => self.cut(at, link),
                Action::Wake(_) => {}
                Action::Near(id, is) => {
                    place.near.insert(id, is);
                }
                Action::Message {
                    from,
                    format,
                    octets,
                } => place.got.push((from, format, octets)),
                Action::Outcome(number, id, done) => place.outcomes.push((number, id, done)),
                Action::Store(store) => kept::store(self, at, store),
            }
        }
    }

    fn connect(&mut self, at: usize, to: usize, format: Format) {
        self.numbers += 2;
        let ends = [(at, self.numbers), (to, self.numbers + 1)];
        self.wires.push(ends);
        let ids = [Some(self.id(to)), None];
        for ((end, other), id) in [(ends[0], ends[1]), (ends[1], ends[0])]
            .into_iter()
            .zip(ids)
        {
            let opened = Event::Opened {
                link: end.1,
                address: address(other.0),
                format,
                caller: id.is_some(),
                id,
                frame: 244,
            };
            self.happen(end.0, opened);
        }
    }

    fn cut(&mut self, at: usize, link: u32) {
        let wire = self.wires.iter().position(|it| it.contains(&(at, link)));
        if let Some(wire) = wire {
            for (at, link) in self.wires.remove(wire) {
                self.happen(at, Event::Closed(link));
            }
        }
    }

    fn run(&mut self, time: u64) {
        let end = self.now + time;
        while self.now < end {
            self.now += 5;
            for [one, other] in self.wires.clone() {
                for (from, to) in [(one, other), (other, one)] {
                    let mut actions = Vec::new();
                    let now = self.now;
                    let octets = self.places[from.0].room.next(now, from.1, &mut actions);
                    self.act(from.0, actions);
                    let Some(octets) = octets else { continue };
                    self.frames += 1;
                    if self.breaks > 0 && self.frames.is_multiple_of(self.breaks) {
                        self.cut(from.0, from.1);
                    } else {
                        self.happen(to.0, Event::Heard(to.1, &octets));
                    }
                }
            }
            if self.now.is_multiple_of(100) {
                self.air();
            }
        }
    }

    fn air(&mut self) {
        for at in 0..self.places.len() {
            if self.places[at].off {
                continue;
            }
            for other in 0..self.places.len() {
                if at == other || !self.hear_each_other(at, other) {
                    continue;
                }
                let prefix = self.id(other).0.first_chunk::<5>().copied();
                for format in self.places[other].room.settings.formats.clone() {
                    let seen = Event::Seen {
                        address: address(other),
                        format,
                        prefix: prefix.filter(|_| format == Format::V2),
                        signal: Some(-60),
                    };
                    self.happen(at, seen);
                }
            }
            self.happen(at, Event::Tick);
        }
    }

    fn say(&mut self, at: usize, number: u64, text: &str) -> usize {
        let octets = feed(&self.places[at].key, text, self.now);
        let (now, mut out) = (self.now, Vec::new());
        let count = self.places[at]
            .room
            .send(now, Recipients::All, number, &octets, &mut out);
        self.act(at, out);
        count
    }

    /// Returns the texts that a place received, in order.
    fn texts(&self, at: usize) -> Vec<String> {
        let read = |octets: &Vec<u8>| match envelope::read(octets) {
            Ok(Content::Feed(said)) => said.text,
            other => panic!("{other:?}"),
        };
        self.places[at]
            .got
            .iter()
            .map(|(_, _, octets)| read(octets))
            .collect()
    }
}

#[test]
fn who_speaks_one_format_hears_who_speaks_the_other_by_who_speaks_both() {
    let mut world = World::new(&[&[Format::V1], &BOTH, &[Format::V2]]);
    world.run(12_000);
    assert_eq!(world.say(0, 1, "from Linux"), 1);
    assert_eq!(world.say(2, 1, "from Android"), 1);
    world.run(5_000);
    assert_eq!(world.texts(2), ["from Linux"]);
    assert_eq!(world.texts(0), ["from Android"]);
    assert_eq!(world.texts(1).len(), 2);
    let by = |at: usize| world.places[at].got[0].1;
    assert_eq!((by(0), by(2)), (Format::V1, Format::V2));
    let bridge = world.id(1);
    assert_eq!(world.places[0].outcomes, [(1, bridge, true)]);
}

#[test]
fn in_a_circle_each_message_comes_to_each_once() {
    let mut world = World::new(&[&BOTH, &BOTH, &[Format::V1], &BOTH, &[Format::V2], &BOTH]);
    world.apart.extend([[0, 3], [1, 4], [2, 5]]);
    world.run(15_000);
    for at in 0..6 {
        world.say(at, 1, &format!("from {at}"));
    }
    world.run(20_000);
    for at in 0..6 {
        let mut texts = world.texts(at);
        texts.sort_unstable();
        let others: Vec<_> = (0..6)
            .filter(|it| *it != at)
            .map(|it| format!("from {it}"))
            .collect();
        assert_eq!(texts, others, "{at}");
    }
}

/// A message arrives once, wherever its connection breaks.
#[test]
fn connections_break_and_no_message_is_lost_or_doubled() {
    // With v1 a message needs a hundred writes.
    for (formats, breaks) in [([Format::V1], 130..230), ([Format::V2], 13..70)] {
        for breaks in breaks.step_by(9) {
            let mut world = World::new(&[&formats, &formats]);
            world.run(9_000);
            world.breaks = breaks;
            for number in 0..20 {
                world.say(0, number, &"long ".repeat(number as usize * 3 + 1));
            }
            world.run(400_000);
            let texts = world.texts(1);
            let lengths: Vec<usize> = texts.iter().map(|it| it.len() / 15).collect();
            assert_eq!(lengths, (0..20).collect::<Vec<_>>(), "{formats:?} {breaks}");
            assert_eq!(world.places[0].outcomes.len(), 20);
            assert!(world.places[0].outcomes.iter().all(|it| it.2));
        }
    }
}

#[test]
fn who_goes_out_of_range_is_told_and_who_comes_back_too() {
    let mut world = World::new(&[&BOTH, &BOTH]);
    world.run(9_000);
    let id = world.id(1);
    assert_eq!(world.places[0].near.get(&id), Some(&true));
    assert_eq!(world.wires.len(), 1, "one connection is enough");
    world.places[1].off = true;
    let (at, link) = world.wires[0][0];
    world.cut(at, link);
    world.run(GONE + 1000);
    assert_eq!(world.places[0].near.get(&id), Some(&false));
    assert_eq!(world.places[0].room.shown().count(), 0);
    world.places[1].off = false;
    world.run(WAITS + 2000);
    assert_eq!(world.places[0].near.get(&id), Some(&true));
}

#[test]
fn strangers_addresses_and_ids_are_bounded() {
    let mut world = World::new(&[&BOTH]);
    for number in 0..5000u32 {
        world.now += 1;
        let [_, a, b, c] = number.to_be_bytes();
        let seen = Event::Seen {
            address: [2, 0, 0, a, b, c],
            format: Format::V1,
            prefix: None,
            signal: None,
        };
        let room = &mut world.places[0].room;
        room.handle(world.now, seen);
        let opened = Event::Opened {
            link: number,
            address: [2, 0, 0, a, b, c],
            format: Format::V1,
            caller: false,
            id: None,
            frame: 20,
        };
        room.handle(world.now, opened);
        let frame = crate::v1::frame(Id(u64::from(number + 1).to_be_bytes()), b"");
        room.handle(world.now, Event::Heard(number, &frame));
        room.handle(world.now, Event::Closed(number));
    }
    let room = &mut world.places[0].room;
    assert!(room.sightings.count() <= ADDRESSES && room.delivery.peers().len() <= PEERS);
    assert_eq!(room.delivery.links.numbers().len(), 0);
}

#[test]
fn who_says_another_id_than_before_is_cut_off() {
    for format in BOTH {
        let mut world = World::new(&[&BOTH]);
        let opened = Event::Opened {
            link: 7,
            address: address(9),
            format,
            caller: false,
            id: None,
            frame: 20,
        };
        world.happen(0, opened);
        let said = |id: u8| match format {
            Format::Ip => unreachable!("not by Bluetooth"),
            Format::V1 => crate::v1::frame(Id([id; 8]), b"x"),
            Format::V2 => [&[1][..], &[id; 8]].concat(),
        };
        world.happen(0, Event::Heard(7, &said(1)));
        let room = &mut world.places[0].room;
        let actions = room.handle(1, Event::Heard(7, &said(2)));
        assert!(actions.contains(&Action::Close(7)), "{actions:?}");
    }
}

/// A changed unsigned part does not make a message a new one.
#[test]
fn a_message_with_something_beside_what_is_signed_is_the_same_one() {
    let mut world = World::new(&[&BOTH, &BOTH]);
    world.run(20_000);
    let octets = feed(&Key::from_seed(&[9; 32]).expect("any seed"), "once", 7);
    for (number, beside) in [(1, 0), (2, 1), (3, 2)] {
        let octets = match beside {
            0 => octets.clone(),
            beside => [&octets[..], &[0x78, beside]].concat(),
        };
        let (now, mut out) = (world.now, Vec::new());
        let room = &mut world.places[0].room;
        assert_eq!(
            room.send(now, Recipients::All, number, &octets, &mut out),
            1
        );
        world.act(0, out);
        world.run(2_000);
    }
    let got: Vec<&Vec<u8>> = world.places[1].got.iter().map(|it| &it.2).collect();
    assert_eq!(got, [&octets]);
}
