//! Packets come out in order, and only once.

use proptest::prelude::*;
use weir_multipath_core::tunnel::Settings;

use crate::flows::{Flow, SIZE};
use crate::simulator::{SECOND, Simulator, Wire, mbit};

fn wires() -> impl Strategy<Value = Vec<Wire>> {
    // With hints of their rates: otherwise a slow path could count as failing until its rate is
    // known.
    let wire = (2u64..80, 1_000u64..80_000).prop_map(|(rate, delay)| {
        let mut wire = Wire::new(mbit(rate), delay);
        wire.settings.rate_out = Some(mbit(rate));
        wire
    });
    prop::collection::vec(wire, 1..4)
}

fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let flow = prop_oneof![
        (60usize..1400, 1_000u64..3_000_000, 0u64..2_000_000).prop_map(|(size, rate, begins)| {
            Flow::constant(size, rate).begins(200_000 + begins)
        }),
        (0u64..2_000_000).prop_map(|begins| Flow::greedy().begins(200_000 + begins)),
    ];
    prop::collection::vec(flow, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn nothing_is_overtaken_that_is_not_striped(wires in wires(), flows in flows(), seed: u64) {
        let settings = Settings { stripe: false, seed, ..Settings::default() };
        let mut simulator = Simulator::new(settings, wires, flows, seed);
        simulator.run(4 * SECOND);
        for (index, flow) in simulator.flows.iter().enumerate() {
            prop_assert_eq!(flow.overtaken, 0, "flow {}", index);
            prop_assert_eq!(flow.twice, 0);
        }
    }
}

#[test]
fn a_striped_flow_keeps_its_order() {
    let wires = vec![Wire::new(mbit(40), 10_000), Wire::new(mbit(30), 18_000)];
    let flow = vec![Flow::constant(SIZE, mbit(60)), Flow::greedy()];
    let mut simulator = Simulator::new(Settings::default(), wires, flow, 1);
    simulator.run(3 * SECOND);
    let both = simulator.wires.iter().all(|wire| {
        wire.passed[0]
            .range(20..)
            .map(|(_, octets)| octets)
            .sum::<u64>()
            > mbit(20)
    });
    assert!(both, "both paths are used");
    let before = simulator.flows[0].overtaken;
    simulator.run(10 * SECOND);
    let overtaken = simulator.flows[0].overtaken - before;
    assert_eq!(overtaken, 0);
}

/// A flow is not striped over paths that are too slow to wait for.
#[test]
fn a_striped_flow_leaves_out_what_is_too_slow() {
    let wires = vec![
        Wire::new(mbit(20), 10_000),
        Wire::new(mbit(20), 15_000),
        Wire::new(mbit(20), 60_000),
    ];
    let flow = vec![Flow::constant(SIZE, mbit(80))];
    let mut simulator = Simulator::new(Settings::default(), wires, flow, 1);
    simulator.run(4 * SECOND);
    let before = simulator.flows[0].overtaken;
    simulator.run(10 * SECOND);
    assert_eq!(simulator.flows[0].overtaken, before);
}

#[test]
fn small_packets_go_twice_and_come_once() {
    let mut wires = vec![Wire::new(mbit(40), 10_000), Wire::new(mbit(40), 30_000)];
    wires.iter_mut().for_each(|wire| wire.loss = 100);
    let flows = vec![
        Flow::constant(120, 6_000).ends(20 * SECOND),
        Flow::constant(900, 60_000)
            .marked(46 << 2)
            .ends(20 * SECOND),
        Flow::constant(900, 60_000).ends(20 * SECOND),
    ];
    let mut simulator = Simulator::new(Settings::default(), wires, flows, 9);
    simulator.run(21 * SECOND);
    let lost = |index: usize| {
        let flow: &Flow = &simulator.flows[index];
        assert_eq!(flow.twice, 0);
        1000 - flow.distinct() as u64 * 1000 / u64::from(flow.sent())
    };
    // A tenth of a tenth; a tenth.
    assert!(lost(0) < 30 && lost(1) < 30, "{} {}", lost(0), lost(1));
    assert!(lost(2) > 60, "{}", lost(2));
}
