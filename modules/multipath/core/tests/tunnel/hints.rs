//! Hints that change while the path is used.

use weir_multipath_core::tunnel::{PathSettings, Settings, State};

use crate::flows::Flow;
use crate::simulator::{SECOND, Simulator, Wire, mbit};

/// Bytes that a wire passed to the partner between two times, in tenths of a second.
fn passed(simulator: &Simulator, path: usize, from: u64, to: u64) -> u64 {
    let slots = simulator.wires[path].passed[0].range(from * 10..to * 10);
    slots.map(|(_, octets)| octets).sum()
}

#[test]
fn other_words_are_heeded_without_trying_the_path_anew() {
    let wires = vec![Wire::new(mbit(12), 10_000), Wire::new(mbit(12), 15_000)];
    let flows = (0..8).map(|_| Flow::constant(1000, mbit(1))).collect();
    let mut simulator = Simulator::new(Settings::default(), wires, flows, 1);
    simulator.run(3 * SECOND);
    assert!(passed(&simulator, 1, 2, 3) > 100_000);
    let changes = [0, 1].map(|end| simulator.changes(end));
    for (second, backup) in [(3, true), (13, false)] {
        let settings = PathSettings {
            backup,
            rate_out: Some(mbit(10)),
            rate_in: Some(mbit(9)),
            ..simulator.wires[1].settings
        };
        let told = simulator.ends[0].settle_path(1, settings);
        assert_eq!(told, Ok(()));
        for tenth in 1..100 {
            simulator.run(second * SECOND + tenth * SECOND / 10);
            for end in 0..2 {
                assert_eq!(simulator.state(end, 1), Some(State::Up), "{tenth}");
            }
        }
        let report = simulator.ends[1].paths().find(|report| report.path == 1);
        let known = report.expect("a path").settings;
        assert_eq!((known.backup, known.rate_out), (backup, Some(mbit(9))));
        // Flows leave it, at a pause or after 5 s.
        let carried = passed(&simulator, 1, second + 7, second + 9);
        assert!(!backup || carried < 20_000, "{carried}");
    }
    assert_eq!([0, 1].map(|end| simulator.changes(end)), changes);
}
