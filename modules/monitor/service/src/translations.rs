//! Translations of IPv4 that begin and end, from conntrack events: address and port of each host,
//! with times.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use kernel::{ConnectionId, Event, Source, Tuple, status};
use monitor_core::ipfix::{NatEvent, NatEventKind};
use tracing::warn;

/// Maximum number of known translations: as many connections as Linux tracks by default in a
/// machine with much memory. Some 40 bytes each.
const ROOM: usize = 262_144;

/// Conntrack's number of a connection, its protocol, and its first packet's source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    id: u32,
    protocol: u8,
    source: SocketAddrV4,
    destination: SocketAddrV4,
}

/// Source and destination of the first packet where it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaves {
    source: SocketAddrV4,
    destination: SocketAddrV4,
}

#[derive(Clone, Copy, Debug)]
struct ActiveTranslation {
    leaves: Leaves,
    from_outside: bool,
    /// Dump that last listed the translation, or that began before its last event.
    dump: u32,
}

/// Present translations. Pure: events to export are appended to `told`; `now` is milliseconds since
/// 1970.
#[derive(Debug)]
pub struct Translations {
    known: HashMap<Key, ActiveTranslation>,
    room: usize,
    crowded: bool,
    /// Number of the dump that was last asked for.
    dump: u32,
    /// True if the dump is complete: no event has been lost since it began.
    whole: bool,
}

impl Default for Translations {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            room: ROOM,
            crowded: false,
            dump: 0,
            whole: false,
        }
    }
}

impl Translations {
    /// Handles an event of the kernel. `outside` returns true if a source is beyond the uplink,
    /// given the address that the source connected to.
    pub fn on_event(
        &mut self,
        event: &Event,
        outside: impl Fn(Ipv4Addr, Ipv4Addr) -> bool,
        now: u64,
        told: &mut Vec<NatEvent>,
    ) {
        match event {
            Event::Connection(connection) => {
                let dying = connection.status.unwrap_or(0) & status::DYING != 0;
                if !dying {
                    self.add(&connection.id, &connection.reply, outside, now, told);
                }
            }
            Event::ConnectionGone(id) => {
                if let Some(key) = key(id) {
                    self.end(&key, now, told);
                }
            }
            Event::Overrun(Source::Conntrack) => self.whole = false,
            Event::DumpEnd(Source::Conntrack) => self.sweep(now, told),
            _ => {}
        }
    }

    /// Handles the start of a dump of all connections.
    pub fn on_dump_start(&mut self) {
        self.dump = self.dump.wrapping_add(1);
        self.whole = true;
    }

    /// Adds a connection whose answers have the addresses `reply`.
    pub fn add(
        &mut self,
        id: &ConnectionId,
        reply: &Tuple,
        outside: impl Fn(Ipv4Addr, Ipv4Addr) -> bool,
        now: u64,
        told: &mut Vec<NatEvent>,
    ) {
        let Some((key, leaves)) = key(id).zip(leaves(reply)) else {
            return;
        };
        if let Some(known) = self.known.get_mut(&key) {
            known.dump = self.dump;
            if known.leaves == leaves {
                return;
            }
            self.end(&key, now, told);
        }
        let (source, destination) = (
            leaves.source != key.source,
            leaves.destination != key.destination,
        );
        if !source && !destination {
            return;
        }
        if self.known.len() >= self.room {
            if !std::mem::replace(&mut self.crowded, true) {
                warn!(
                    room = self.room,
                    "too many translations at once: some events are not exported"
                );
            }
            return;
        }
        let known = ActiveTranslation {
            leaves,
            // A host with a translated source address is inside.
            from_outside: !source && outside(*key.source.ip(), *key.destination.ip()),
            dump: self.dump,
        };
        self.known.insert(key, known);
        told.push(event(NatEventKind::Create, &key, &known, now));
    }

    fn end(&mut self, key: &Key, now: u64, told: &mut Vec<NatEvent>) {
        if let Some(known) = self.known.remove(key) {
            told.push(event(NatEventKind::Delete, key, &known, now));
        }
    }

    /// Ends translations that a complete dump did not list, though no event reported their end.
    fn sweep(&mut self, now: u64, told: &mut Vec<NatEvent>) {
        if !std::mem::take(&mut self.whole) {
            return;
        }
        let dump = self.dump;
        self.known.retain(|key, known| {
            let there = known.dump == dump;
            if !there {
                told.push(event(NatEventKind::Delete, key, known, now));
            }
            there
        });
        self.crowded = false;
    }
}

fn v4(address: IpAddr, port: u16) -> Option<SocketAddrV4> {
    match address {
        IpAddr::V4(address) => Some(SocketAddrV4::new(address, port)),
        IpAddr::V6(_) => None,
    }
}

fn key(id: &ConnectionId) -> Option<Key> {
    let original = &id.original;
    Some(Key {
        id: id.id,
        protocol: original.protocol.number(),
        source: v4(original.source, original.source_port)?,
        destination: v4(original.destination, original.destination_port)?,
    })
}

fn leaves(reply: &Tuple) -> Option<Leaves> {
    Some(Leaves {
        source: v4(reply.destination, reply.destination_port)?,
        destination: v4(reply.source, reply.source_port)?,
    })
}

fn event(kind: NatEventKind, key: &Key, known: &ActiveTranslation, now: u64) -> NatEvent {
    let pair = |address: SocketAddrV4| (*address.ip(), address.port());
    NatEvent {
        kind,
        time: now,
        protocol: key.protocol,
        source: pair(key.source),
        destination: pair(key.destination),
        translated_source: pair(known.leaves.source),
        translated_destination: pair(known.leaves.destination),
        from_outside: known.from_outside,
    }
}

#[cfg(test)]
mod tests {
    use kernel::{Connection, Protocol};

    use super::*;

    fn tuple(source: &str, destination: &str) -> Tuple {
        let ends = [source, destination].map(|text| text.parse::<std::net::SocketAddr>().unwrap());
        Tuple {
            protocol: Protocol::Udp,
            source: ends[0].ip(),
            source_port: ends[0].port(),
            destination: ends[1].ip(),
            destination_port: ends[1].port(),
        }
    }

    fn connection(id: u32, original: Tuple, reply: Tuple) -> Connection {
        Connection {
            id: ConnectionId {
                id,
                original,
                zone: 0,
            },
            reply,
            status: None,
            mark: 0,
            timeout: None,
            tcp_state: None,
            window_scales: None,
            helper: false,
            sequence_adjusted: false,
        }
    }

    /// Builds a masqueraded connection from this port.
    fn from(port: u16) -> Connection {
        let original = tuple(&format!("192.168.1.2:{port}"), "198.51.100.1:53");
        let reply = tuple("198.51.100.1:53", &format!("203.0.113.1:{}", port + 1));
        connection(port.into(), original, reply)
    }

    fn hear(translations: &mut Translations, event: Event) -> Vec<NatEvent> {
        let mut told = Vec::new();
        let outside = |source: Ipv4Addr, _| !source.is_private();
        translations.on_event(&event, outside, 7, &mut told);
        told
    }

    fn kinds(told: &[NatEvent]) -> Vec<(NatEventKind, u16)> {
        told.iter()
            .map(|event| (event.kind, event.source.1))
            .collect()
    }

    use NatEventKind::{Create, Delete};

    #[test]
    fn each_translation_begins_and_ends_once() {
        let mut translations = Translations::default();
        let one = from(1000);
        let begun = hear(&mut translations, Event::Connection(one.clone()));
        assert_eq!(
            begun,
            [NatEvent {
                kind: Create,
                time: 7,
                protocol: 17,
                source: (Ipv4Addr::new(192, 168, 1, 2), 1000),
                destination: (Ipv4Addr::new(198, 51, 100, 1), 53),
                translated_source: (Ipv4Addr::new(203, 0, 113, 1), 1001),
                translated_destination: (Ipv4Addr::new(198, 51, 100, 1), 53),
                from_outside: false,
            }]
        );
        assert!(hear(&mut translations, Event::Connection(one.clone())).is_empty());
        // A successor of the same tuple is another one.
        let mut next = one.clone();
        next.id.id += 1;
        let told = hear(&mut translations, Event::Connection(next.clone()));
        assert_eq!(kinds(&told), [(Create, 1000)]);
        for id in [one.id, next.id] {
            let told = hear(&mut translations, Event::ConnectionGone(id));
            assert_eq!(kinds(&told), [(Delete, 1000)]);
            assert!(hear(&mut translations, Event::ConnectionGone(id)).is_empty());
        }
    }

    #[test]
    fn what_is_not_translated_dying_or_ipv6_is_not_told() {
        let mut translations = Translations::default();
        let original = tuple("192.168.1.2:1", "198.51.100.1:2");
        let plain = connection(1, original, original.reversed());
        let mut dying = from(1);
        dying.status = Some(status::DYING);
        let original = tuple("[fd00::2]:1", "[2001:db8::1]:2");
        let ipv6 = connection(2, original, tuple("[2001:db8::1]:2", "[2001:db8::2]:1"));
        for connection in [plain, dying, ipv6] {
            let id = connection.id;
            assert!(hear(&mut translations, Event::Connection(connection)).is_empty());
            assert!(hear(&mut translations, Event::ConnectionGone(id)).is_empty());
        }
    }

    #[test]
    fn what_is_led_in_from_outside_says_so_to_its_end() {
        let mut translations = Translations::default();
        let led = |id, source: &str| {
            let original = tuple(source, "203.0.113.1:80");
            connection(id, original, tuple("192.168.1.3:8080", source))
        };
        for (id, source, outside) in [(1, "198.51.100.1:5", true), (2, "192.168.1.2:5", false)] {
            let connection = led(id, source);
            let gone = Event::ConnectionGone(connection.id);
            for event in [Event::Connection(connection), gone] {
                let told = hear(&mut translations, event);
                assert_eq!(told.len(), 1);
                assert_eq!(told[0].from_outside, outside, "{source}");
            }
        }
    }

    #[test]
    fn another_translation_of_a_connection_ends_the_former() {
        let mut translations = Translations::default();
        let mut one = from(1000);
        hear(&mut translations, Event::Connection(one.clone()));
        one.reply.destination_port = 9;
        let told = hear(&mut translations, Event::Connection(one));
        assert_eq!(kinds(&told), [(Delete, 1000), (Create, 1000)]);
        assert_eq!(
            [1001, 9],
            [told[0].translated_source.1, told[1].translated_source.1]
        );
    }

    #[test]
    fn a_whole_dump_ends_what_it_does_not_show_and_no_other_does() {
        let mut translations = Translations::default();
        translations.on_dump_start();
        for port in [1, 2, 3] {
            hear(&mut translations, Event::Connection(from(port)));
        }
        let end = || Event::DumpEnd(Source::Conntrack);
        assert!(hear(&mut translations, end()).is_empty());
        // A dump that was not requested.
        assert!(hear(&mut translations, end()).is_empty());

        translations.on_dump_start();
        hear(&mut translations, Event::Connection(from(1)));
        hear(&mut translations, Event::Overrun(Source::Conntrack));
        assert!(hear(&mut translations, end()).is_empty());

        translations.on_dump_start();
        hear(&mut translations, Event::Connection(from(2)));
        let told = hear(&mut translations, Event::Connection(from(4)));
        assert_eq!(kinds(&told), [(Create, 4)]);
        let mut ended = kinds(&hear(&mut translations, end()));
        ended.sort_unstable_by_key(|(_, port)| *port);
        assert_eq!(ended, [(Delete, 1), (Delete, 3)]);
    }

    #[test]
    fn room_is_bounded() {
        let mut translations = Translations {
            room: 2,
            ..Translations::default()
        };
        for (port, told) in [(1, 1), (2, 1), (3, 0)] {
            let events = hear(&mut translations, Event::Connection(from(port)));
            assert_eq!(events.len(), told);
        }
        // No end is exported without an exported beginning.
        assert!(hear(&mut translations, Event::ConnectionGone(from(3).id)).is_empty());
        assert_eq!(
            hear(&mut translations, Event::ConnectionGone(from(1).id)).len(),
            1
        );
        assert_eq!(hear(&mut translations, Event::Connection(from(3))).len(), 1);
    }
}
