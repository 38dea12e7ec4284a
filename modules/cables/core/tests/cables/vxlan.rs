//! Conditions for the VXLAN of a mesh at a port; both ends of a cable must agree.

use cables_core::hello::{
    AGAIN_AT_MOST, FIRST, FOR_NEWCOMER, IN_VXLAN, MeshKey, NodeKey, PAUSE, Port, State, VXLAN,
};
use detect::Mac;
use proptest::prelude::*;

const A: Mac = [2, 0, 0, 0, 0, 0x0a];
const B: Mac = [2, 0, 0, 0, 0, 0x0b];
const C: Mac = [2, 0, 0, 0, 0, 0x0c];
const LAPTOP: Mac = [2, 0, 0, 0, 0, 0x11];

fn mesh() -> MeshKey {
    MeshKey::from_secret(b"sixteen or more octets").expect("long enough")
}

fn port(seed: u8, mac: Mac, capabilities: u16) -> Port {
    let node = NodeKey::from_seed([seed; 32]).expect("a key");
    let mut port = Port::new(Some(&mesh()), &node, mac, capabilities);
    port.link([seed; 16], 0);
    port
}

/// Delivers all due frames from each port to each other port, and advances the time until none is
/// due.
fn talk(ports: &mut [Port], now: &mut u64) {
    for _ in 0..20 {
        for from in 0..ports.len() {
            while let Some(frame) = ports[from].due(*now) {
                for (to, port) in ports.iter_mut().enumerate() {
                    if to != from {
                        port.heard(&frame, &[], *now);
                    }
                }
            }
        }
        *now += PAUSE;
    }
}

fn parted(ports: &[Port]) -> Vec<bool> {
    ports.iter().map(|port| port.vxlan().is_some()).collect()
}

#[test]
fn two_ends_of_a_cable_need_none() {
    // A port ignores the IN_VXLAN bit among its initial capabilities.
    let both = VXLAN | IN_VXLAN;
    let mut ports = [port(1, A, both), port(2, B, both)];
    talk(&mut ports, &mut 0);
    ports[0].stations(&[B], 9000);
    ports[1].stations(&[A, B], 9000);
    assert_eq!(parted(&ports), [false, false]);
}

#[test]
fn a_station_that_one_end_alone_hears_puts_both_into_one() {
    let mut now = 0;
    let mut ports = [port(1, A, VXLAN), port(2, B, VXLAN)];
    ports[0].stations(&[LAPTOP], 0);
    assert_eq!(parted(&ports), [false, false], "nobody is a neighbour yet");
    talk(&mut ports, &mut now);
    assert_eq!(parted(&ports), [true, true]);
    assert_eq!(ports[0].vxlan(), Some(mesh().vxlan()));
    // The VXLAN stays as long as the link does.
    ports[0].stations(&[B], now);
    assert_eq!(parted(&ports), [true, true]);
    ports[0].link([9; 16], now);
    assert_eq!(ports[0].vxlan(), None);
}

#[test]
fn a_station_that_comes_when_all_was_said_is_told_at_once() {
    let mut now = 0;
    let mut ports = [port(1, A, VXLAN), port(2, B, VXLAN)];
    for _ in 0..20 {
        talk(&mut ports, &mut now);
    }
    assert_eq!(ports[0].wake(now), None);
    ports[0].stations(&[B, LAPTOP], now);
    assert_eq!(ports[0].wake(now), Some(now));
    talk(&mut ports, &mut now);
    assert_eq!(parted(&ports), [true, true]);
    // Each port announces the VXLAN at most three times, with or without an answer.
    assert_eq!(ports[0].wake(now), None);
    ports[0].stations(&[B, LAPTOP, C], now);
    assert_eq!(ports[0].wake(now), None);
}

#[test]
fn a_neighbour_that_listens_five_seconds_a_minute_hears_of_it() {
    for phase in (0..60_000).step_by(700) {
        let mut ports = [port(1, A, VXLAN), port(2, B, VXLAN)];
        let mut now = 0;
        for _ in 0..20 {
            talk(&mut ports, &mut now);
        }
        ports[0].stations(&[LAPTOP], now);
        let (begin, mut sent) = (now, [0; 2]);
        while now < begin + 600_000 {
            now += 100;
            let begins = [30_000, phase];
            for from in 0..2 {
                let to = 1 - from;
                if let Some(frame) = ports[from].due(now) {
                    sent[from] += 1;
                    if (now + begins[to]) % 60_000 < 5000 {
                        ports[to].heard(&frame, &[], now);
                    }
                }
            }
        }
        assert_eq!(parted(&ports), [true; 2], "{phase}");
        let most = FOR_NEWCOMER + AGAIN_AT_MOST;
        assert!(sent[0] <= most && sent[1] <= FOR_NEWCOMER, "{sent:?}");
        assert!(ports.iter().all(|port| port.wake(now).is_none()));
    }
}

#[test]
fn three_neighbours_are_in_one() {
    let mut ports = [port(1, A, VXLAN), port(2, B, VXLAN), port(3, C, VXLAN)];
    talk(&mut ports, &mut 0);
    assert_eq!(parted(&ports), [true; 3]);
    // A neighbour with a new link is the same neighbour.
    let mut ports = [port(1, A, VXLAN), port(2, B, VXLAN)];
    let mut now = 0;
    talk(&mut ports, &mut now);
    ports[1].link([9; 16], now);
    talk(&mut ports, &mut now);
    assert_eq!(parted(&ports), [false; 2]);
}

#[test]
fn nobody_is_put_where_another_cannot_follow() {
    for capabilities in [[0, VXLAN], [VXLAN, 0], [IN_VXLAN, VXLAN | IN_VXLAN]] {
        let mut ports = [port(1, A, capabilities[0]), port(2, B, capabilities[1])];
        ports[0].stations(&[LAPTOP], 0);
        ports[1].stations(&[LAPTOP], 0);
        talk(&mut ports, &mut 0);
        assert_eq!(parted(&ports), [false; 2], "{capabilities:?}");
    }
}

#[test]
fn a_hello_that_proves_nothing_puts_nobody_into_one() {
    let mut now = 0;
    let mut others = [port(2, B, VXLAN), port(3, C, VXLAN)];
    others[0].stations(&[LAPTOP], 0);
    talk(&mut others, &mut now);
    others[0].stations(&[LAPTOP, A], now);
    let mut late = port(4, LAPTOP, VXLAN);
    let first = late.due(now).expect("a hello");
    others[0].heard(&first, &[], now);
    let said = others[0].due(now).expect("an answer");
    let mut a = port(1, A, VXLAN);
    let told = a.heard(&said, &[], now).expect("a hello");
    assert_eq!(told.state, State::NotYet);
    assert_ne!(told.capabilities & IN_VXLAN, 0);
    assert_eq!(a.vxlan(), None);
}

#[test]
fn the_number_is_of_24_bits_and_never_0() {
    for secret in 0..2000_u32 {
        let mesh = MeshKey::from_secret(&[secret.to_be_bytes(); 4].concat()).expect("long");
        assert!((1..1 << 24).contains(&mesh.vxlan()));
    }
    // docs/reference/cables-hello.md.
    let counting: [u8; 32] = std::array::from_fn(|place| place as u8);
    let mesh = MeshKey::from_secret(&counting).expect("long enough");
    let page = include_str!("../../../../../docs/reference/cables-hello.md");
    let text = format!("VXLAN         {}", mesh.vxlan());
    assert!(page.contains(&text), "the page needs: {text}");
}

proptest! {
    // Each case signs many times, which is slow in unoptimised builds.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Frames arrive late, reordered and twice; stations appear at any time, at either end. After
    /// all frames have arrived, both ends agree, and an end that reports other stations has seen
    /// some.
    #[test]
    fn both_ends_say_the_same(
        steps in prop::collection::vec((0_u8..8, any::<prop::sample::Index>(), 0_u64..1500), 0..80),
    ) {
        let mut ports = [port(1, A, VXLAN), port(2, B, VXLAN)];
        let mut ways: [Vec<Vec<u8>>; 2] = Default::default();
        let (mut now, mut sent, mut others) = (0, [0; 2], false);
        for (what, which, time) in steps {
            now += time;
            let end = usize::from(what & 1);
            match what / 2 {
                0 => if let Some(frame) = ports[end].due(now) {
                    sent[end] += 1;
                    ways[end].push(frame);
                },
                1 => if !ways[end].is_empty() {
                    let place = which.index(ways[end].len());
                    let frame = ways[end].remove(place);
                    ports[1 - end].heard(&frame, &[], now);
                },
                2 => if !ways[end].is_empty() {
                    let frame = which.get(&ways[end]).clone();
                    ports[1 - end].heard(&frame, &[], now);
                },
                _ => if which.index(4) == 0 {
                    others = true;
                    ports[end].stations(&[A, B, LAPTOP], now);
                },
            }
        }
        for _ in 0..20 {
            now += 20 * PAUSE;
            for end in 0..2 {
                while let Some(frame) = ports[end].due(now) {
                    sent[end] += 1;
                    ways[end].push(frame);
                    now += PAUSE;
                }
                for frame in std::mem::take(&mut ways[end]) {
                    ports[1 - end].heard(&frame, &[], now);
                }
            }
        }
        for end in 0..2 {
            prop_assert!(ports[end].peers().iter().any(|peer| peer.proven));
            prop_assert_eq!(ports[end].vxlan().is_some(), others);
            prop_assert!(sent[end] <= FIRST + 2 * FOR_NEWCOMER + AGAIN_AT_MOST);
        }
    }
}
