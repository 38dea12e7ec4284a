//! The partner trusts a router's address only after its proof: a forged address attracts only a few
//! small datagrams.

use std::net::SocketAddr;

use weir_multipath_core::tunnel::body::{Hello, Kind};
use weir_multipath_core::tunnel::{
    Body, Codec, DatagramError, DatagramKeys, Event, Micros, Order, Settings, Tunnel, datagram,
};

use crate::simulator::{SECOND, Wire, address, ends, mbit};

/// A router and a partner with one path, and a clock that only the test advances.
struct Both {
    ends: [Tunnel; 2],
    now: Micros,
    buffer: Vec<u8>,
}

impl Both {
    fn new() -> Self {
        let mut ends = ends(Settings {
            secret: [7; 32],
            ..Settings::default()
        });
        let settings = Wire::new(mbit(40), 10_000).settings;
        ends[0].add_path(0, settings, 0).expect("a path");
        Self {
            ends,
            now: 1,
            buffer: vec![0; datagram::LONGEST],
        }
    }

    /// Returns the datagrams of an end, with their destinations.
    fn says(&mut self, end: usize) -> Vec<(SocketAddr, Vec<u8>)> {
        let tunnel = &mut self.ends[end];
        tunnel.tick(self.now, &mut |_| {});
        let mut said = Vec::new();
        while let Some(send) = tunnel.send(self.now, &mut self.buffer) {
            said.push((send.to, self.buffer[..send.length].to_vec()));
            assert!(said.len() < 1000, "it speaks for ever");
        }
        said
    }

    fn hears(&mut self, end: usize, from: SocketAddr, said: &[u8]) -> Result<(), DatagramError> {
        self.ends[end].datagram_in(from, &mut said.to_vec(), self.now, &mut |_| {})
    }

    /// Makes a round trip: the router is at an address, and receives datagrams to it. Returns the
    /// partner's datagrams, with their destinations.
    fn round(&mut self, at: SocketAddr) -> Vec<(SocketAddr, Vec<u8>)> {
        for (to, said) in self.says(0) {
            assert_eq!(to, address(9));
            // The partner may not know the path yet.
            let _ = self.hears(1, at, &said);
        }
        let sent = self.says(1);
        for (to, said) in &sent {
            if *to == at {
                self.hears(0, address(9), said).expect("from the partner");
            }
        }
        self.now += 20_000;
        sent
    }

    fn works(&mut self, at: SocketAddr) {
        for _ in 0..50 {
            self.round(at);
        }
        assert!(self.ends.iter().all(Tunnel::works));
        while self.ends[1].event().is_some() {}
    }

    fn remote(&self) -> SocketAddr {
        self.ends[1].paths().next().expect("a path").settings.remote
    }

    /// The partner has packets for the router.
    fn packets(&mut self, number: usize) {
        for _ in 0..number {
            let mut packet = [0; 1400];
            packet[..4].copy_from_slice(&[0x45, 0, 5, 0x78]);
            // Refused without a path.
            let _ = self.ends[1].packet_in(&packet, self.now);
        }
    }
}

/// Builds a datagram of the router, free of the protocol's rules.
fn sealed(counter: u64, body: &Body<'_>) -> Vec<u8> {
    let keys = DatagramKeys {
        seal: [1; 32],
        open: [2; 32],
    };
    let mut datagram = vec![0; datagram::LONGEST];
    let length = Codec::new(42, &keys).seal(0, counter, body, &mut datagram);
    datagram.truncate(length.expect("it fits"));
    datagram
}

/// Bytes of a datagram without a packet, at most.
const SMALL: usize = 80;

#[test]
fn nothing_is_carried_to_a_router_that_has_not_shown_where_it_is() {
    let mut both = Both::new();
    for (_, said) in both.says(0) {
        let _ = both.hears(1, address(1), &said);
    }
    let first = both.says(1);
    assert!((2..=3).contains(&first.len()), "challenge, probe, answer");
    // The router receives all but the challenge: it would answer the probe, and works at its end.
    for (_, said) in &first[1..] {
        both.hears(0, address(9), said).expect("from the partner");
    }
    assert!(both.ends[0].works());
    for (_, said) in both.says(0) {
        both.hears(1, address(1), &said).expect("from the router");
    }
    assert!(!both.ends[1].works());
    both.packets(3);
    both.now += 1000;
    assert!(both.says(1).iter().all(|(_, said)| said.len() <= SMALL));
    both.works(address(1));
}

#[test]
fn the_partner_follows_a_router_that_shows_where_it_is() {
    let mut both = Both::new();
    both.works(address(1));
    both.now += SECOND;
    // The router has another address now. Until it has proven the address, packets go to the old
    // one.
    for (_, said) in both.says(0) {
        both.hears(1, address(2), &said).expect("from the router");
    }
    assert_eq!(both.remote(), address(1));
    both.packets(3);
    let sent = both.says(1);
    let long = sent.iter().filter(|(_, said)| said.len() > SMALL);
    assert!(long.clone().count() > 0 && long.clone().all(|(to, _)| *to == address(1)));
    for (to, said) in &sent {
        if *to == address(2) {
            both.hears(0, address(9), said).expect("from the partner");
        }
    }
    let shown = both.says(0);
    assert!(!shown.is_empty());
    for (_, said) in &shown {
        both.hears(1, address(2), said).expect("from the router");
    }
    assert_eq!(both.remote(), address(2));
    assert_eq!(both.ends[1].event(), Some(Event::Moved(0, address(2))));
    assert_eq!(both.ends[1].event(), None);
    // Late datagrams from the first address change nothing.
    both.round(address(2));
    assert_eq!(both.remote(), address(2));
}

#[test]
fn an_answer_from_somewhere_else_shows_nothing() {
    let mut both = Both::new();
    both.works(address(1));
    both.now += SECOND;
    for (_, said) in both.says(0) {
        both.hears(1, address(66), &said).expect("from the router");
    }
    // An attacker passes on to the router the datagrams to 66.
    for (to, said) in both.says(1) {
        if to == address(66) {
            both.hears(0, address(9), &said).expect("from the partner");
        }
    }
    // The answer comes from a third address, and late: a newer datagram came from 66 before.
    let newer = sealed(1000, &Body::Probe(0));
    both.hears(1, address(66), &newer).expect("from the router");
    let shown = both.says(0);
    assert!(!shown.is_empty());
    for (_, said) in &shown {
        both.hears(1, address(67), said).expect("from the router");
    }
    // The attacker cannot guess the challenge.
    for number in 0..100 {
        let said = sealed(1001 + number, &Body::Response(number));
        both.hears(1, address(66), &said).expect("from the router");
    }
    assert_eq!(both.remote(), address(1));
    assert_eq!(both.ends[1].event(), None);
}

#[test]
fn who_forges_his_address_has_the_partner_send_little_there() {
    const SECONDS: u64 = 10;
    // The attacker changes its hello each time, probes, or just sends.
    for what in [Kind::Hello, Kind::Probe, Kind::Packet] {
        let mut both = Both::new();
        both.works(address(1));
        let (mut there, mut elsewhere) = (0, 0);
        for number in 0..SECONDS * 1000 {
            let body = match what {
                Kind::Hello => Body::Hello(Hello {
                    number: number as u8,
                    backup: false,
                    metered: false,
                    weight: 100,
                    longest: 1472,
                    rate: 0,
                }),
                Kind::Probe => Body::Probe(number),
                _ => Body::Packet(Order::Free, &[0x45; 100]),
            };
            let said = sealed(1000 + number, &body);
            // In the name of one, of another, or of many.
            let victims = [address(66), address(67), address(68 + (number % 50) as u8)];
            let from = victims[(number / 500 % 3) as usize];
            both.hears(1, from, &said).expect("from the router");
            both.packets(1);
            for (to, said) in both.says(1) {
                if to == address(1) {
                    there += 1;
                } else {
                    assert!(said.len() <= SMALL, "{} bytes to {to}", said.len());
                    elsewhere += 1;
                }
            }
            both.now += 1000;
            // An address is not challenged for each packet.
            let seldom = what != Kind::Packet || number >= 500 || elsewhere < 15;
            assert!(seldom, "{elsewhere} in {number} ms");
        }
        assert!(elsewhere > 50, "{what:?}: {elsewhere}");
        let most = 64 + SECONDS * 110;
        assert!(elsewhere <= most, "{what:?}: {elsewhere} to others");
        // Answers go to the proved address, as long as it answers, unless the hello changes.
        assert!(what == Kind::Hello || there > 20, "{what:?}: {there}");
    }
}
