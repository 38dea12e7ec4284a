//! Forged and replayed datagrams change nothing.

use weir_multipath_core::tunnel::{DatagramError, Event, PacketError, PathError, Settings};

use crate::flows::Flow;
use crate::simulator::{Random, SECOND, Simulator, Wire, address, ends, mbit};

/// Two paths with traffic for a second, and the datagrams that the partner received.
fn used() -> (Simulator, Vec<(u8, Vec<u8>)>) {
    let wires = vec![Wire::new(mbit(40), 10_000), Wire::new(mbit(40), 15_000)];
    let flows = vec![Flow::greedy(), Flow::constant(100, 5_000)];
    let mut simulator = Simulator::new(Settings::default(), wires, flows, 1);
    simulator.kept = Some(Vec::new());
    simulator.run(SECOND);
    let kept = simulator.kept.take().unwrap();
    assert!(kept.len() > 500);
    (simulator, kept)
}

fn told(simulator: &Simulator) -> String {
    format!("{:?}", simulator.ends[1].paths().collect::<Vec<_>>())
}

#[test]
fn what_came_before_changes_nothing() {
    let (mut simulator, kept) = used();
    let before = told(&simulator);
    for (_, octets) in kept {
        let refused =
            simulator.ends[1].datagram_in(address(66), &mut octets.clone(), 2 << 41, &mut |_| {
                panic!("given on again")
            });
        assert_eq!(refused, Err(DatagramError::Replayed));
    }
    assert_eq!(told(&simulator), before);
    assert_eq!(simulator.ends[1].event(), None);
}

#[test]
fn what_is_not_sealed_changes_nothing() {
    let (mut simulator, kept) = used();
    let before = told(&simulator);
    let mut random = Random(99);
    for (_, mut octets) in kept {
        let at = random.below(octets.len() as u64) as usize;
        octets[at] ^= 1 << random.below(8);
        let cut = random.below(octets.len() as u64) as usize;
        for mut octets in [octets[..cut].to_vec(), octets] {
            let from = address(66);
            let given = &mut |_: &[u8]| panic!("given on");
            let refused = simulator.ends[1].datagram_in(from, &mut octets, 2 << 41, given);
            assert!(refused.is_err());
        }
    }
    assert_eq!(told(&simulator), before);
    assert_eq!(simulator.ends[1].event(), None);
}

#[test]
fn both_ends_know_when_a_path_or_all_is_over() {
    let (mut simulator, _) = used();
    simulator
        .flows
        .iter_mut()
        .for_each(|flow| flow.ends = SECOND);
    let now = simulator.now;
    simulator.ends[0].remove_path(1, now).unwrap();
    simulator.run(2 * SECOND);
    assert!(
        simulator
            .events
            .contains(&(simulator.events.last().unwrap().0, 1, Event::Gone(1)))
    );
    assert!(simulator.ends.iter().all(|end| end.paths().count() == 1));
    simulator.ends[0].close();
    simulator.run(4 * SECOND);
    assert_eq!(simulator.events.last().unwrap().2, Event::Closed);
    assert!(simulator.ends.iter().all(|end| end.paths().count() == 0));
}

#[test]
fn errors_say_what_to_do() {
    let mut ends = ends(Settings::default());
    let settings = Wire::new(mbit(40), 10_000).settings;
    assert_eq!(
        ends[0].packet_in(&[0x45; 20], 0),
        Err(PacketError::NoPacket)
    );
    assert_eq!(ends[0].remove_path(3, 0), Err(PathError::Unknown(3)));
    ends[0].add_path(3, settings, 0).unwrap();
    let taken = ends[0].add_path(3, settings, 0).unwrap_err();
    assert_eq!(
        taken.to_string(),
        "path 3 already exists: remove it or change it"
    );
    let none = ends[0].add_path(16, settings, 0).unwrap_err();
    assert_eq!(none.to_string(), "invalid path number 16: use 0 to 15");
    let mut packet = vec![0; 1433];
    packet[..4].copy_from_slice(&[0x45, 0, 5, 0x99]);
    assert_eq!(
        ends[0].packet_in(&packet, 0),
        Err(PacketError::TooBig { mtu: 1432 })
    );
    packet.truncate(1432);
    packet[3] = 0x98;
    assert_eq!(ends[0].packet_in(&packet, 0), Err(PacketError::NoPath));
}
