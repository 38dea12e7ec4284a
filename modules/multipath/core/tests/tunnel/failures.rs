//! Paths that fail, and come back.

use weir_multipath_core::tunnel::{Event, Settings, State};

use crate::flows::{Flow, SIZE};
use crate::simulator::{SECOND, Simulator, Wire, mbit};

fn flows() -> Vec<Flow> {
    vec![
        Flow::constant(1000, mbit(2)),
        Flow::constant(1000, mbit(2)),
        Flow::greedy(),
        Flow::greedy(),
        Flow::constant(100, 5_000),
    ]
}

#[test]
fn a_black_hole_is_silence_for_less_than_half_a_second() {
    // Both ways, from the router only, to it only; at several moments of the probes' round.
    for ways in [[true, true], [true, false], [false, true]] {
        for moment in 0..2 {
            let begin = 2 * SECOND + moment * 57_000;
            let end = begin + 3 * SECOND;
            for path in 0..2 {
                let mut wires = vec![Wire::new(mbit(12), 10_000), Wire::new(mbit(12), 15_000)];
                wires[path] = wires[path].clone().hole(begin, end);
                wires[path].ways = ways;
                let mut simulator = Simulator::new(Settings::default(), wires, flows(), moment + 1);
                simulator.run(begin);
                simulator.flows.iter_mut().for_each(|flow| flow.silence = 0);
                simulator.run(end + 2 * SECOND);
                let name = format!("path {path}, {ways:?}, {moment}");
                for (index, flow) in simulator.flows.iter().enumerate() {
                    assert!(
                        flow.silence < SECOND / 2,
                        "{name}: flow {index}: {}",
                        flow.silence
                    );
                }
                let down = Event::Down(path as u8);
                let at = |event: Event, from: u64| {
                    let mut events = simulator.events.iter();
                    let told =
                        events.find(|(at, end, told)| (*told, *end) == (event, 0) && *at >= from);
                    told.unwrap_or_else(|| panic!("{name}: no {event:?}")).0
                };
                assert!(
                    at(down, begin) - begin <= 350_000,
                    "{name}: {}",
                    at(down, begin) - begin
                );
                let back = at(Event::Up(path as u8), end) - end;
                assert!(back < SECOND, "{name}: {back}");
                let used = simulator.wires[path].passed[0].range(end / 100_000 + 10..);
                assert!(used.map(|(_, octets)| octets).sum::<u64>() > 0, "{name}");
                // Both up, one down and up again.
                assert_eq!(simulator.changes(0), 4, "{name}");
            }
        }
    }
}

#[test]
fn a_path_that_is_back_is_used_again() {
    let wires = vec![
        Wire::new(mbit(12), 10_000).hole(5 * SECOND, 12 * SECOND),
        Wire::new(mbit(12), 15_000),
    ];
    let flow = vec![Flow::constant(SIZE, mbit(100))];
    let mut simulator = Simulator::new(Settings::default(), wires, flow, 3);
    simulator.run(15 * SECOND);
    let passed = &simulator.wires[0].passed[0];
    let full = passed
        .range(131..141)
        .map(|(_, octets)| octets)
        .sum::<u64>();
    assert!(
        full > mbit(12) * 8 / 10,
        "{full} in the second second after it"
    );
}

/// The flows do not slow down, never pause, and none has outgrown a path.
#[test]
fn a_path_that_is_back_is_used_again_by_several() {
    let wires = vec![
        Wire::new(mbit(20), 10_000),
        Wire::new(mbit(20), 15_000).hole(5 * SECOND, 8 * SECOND),
    ];
    let flows = vec![Flow::constant(SIZE, mbit(6)); 6];
    let mut simulator = Simulator::new(Settings::default(), wires, flows, 3);
    let overtaken =
        |simulator: &Simulator| -> u64 { simulator.flows.iter().map(|flow| flow.overtaken).sum() };
    simulator.run(14 * SECOND);
    let good = simulator.goodput(10 * SECOND, 14 * SECOND);
    assert!(good > mbit(36) * 9 / 10, "{good}");
    // The path's capacity is known again.
    let before = overtaken(&simulator);
    simulator.run(17 * SECOND);
    assert_eq!(overtaken(&simulator), before);
}

#[test]
fn flapping_does_not_flap_the_verdict_for_ever() {
    for (up, down) in [(100_000, 100_000), (130_000, 270_000), (500_000, 500_000)] {
        let mut first = Wire::new(mbit(12), 10_000);
        for begin in (5 * SECOND..35 * SECOND).step_by((up + down) as usize) {
            first.holes.push((begin, begin + down));
        }
        let wires = vec![first, Wire::new(mbit(12), 15_000)];
        let mut simulator = Simulator::new(Settings::default(), wires, flows(), 5);
        simulator.run(20 * SECOND);
        simulator.flows.iter_mut().for_each(|flow| flow.silence = 0);
        simulator.run(35 * SECOND);
        assert!(
            simulator.changes(0) <= 14,
            "{up} {down}: {}",
            simulator.changes(0)
        );
        for flow in &simulator.flows {
            assert!(flow.silence < SECOND / 2, "{up} {down}: {}", flow.silence);
        }
        // The path is used again, but not at once: it has to answer for up to 16 s.
        simulator.run(60 * SECOND);
        assert_eq!(simulator.state(0, 0), Some(State::Up));
    }
}

#[test]
fn without_any_path_packets_are_refused_and_not_kept() {
    let wires = vec![Wire::new(mbit(12), 10_000).hole(5 * SECOND, 9 * SECOND)];
    let mut simulator = Simulator::new(Settings::default(), wires, flows(), 2);
    simulator.run(8 * SECOND);
    assert_eq!(simulator.state(0, 0), Some(State::Down));
    for flow in &mut simulator.flows {
        flow.slowest = 0;
    }
    simulator.run(12 * SECOND);
    let call = &simulator.flows[4];
    assert!(call.slowest < 100_000, "{}", call.slowest);
    assert!(call.goodput(11 * SECOND, 12 * SECOND) > 4_000);
}

#[test]
fn a_path_that_loses_much_is_avoided() {
    let mut wires = vec![Wire::new(mbit(12), 10_000), Wire::new(mbit(12), 15_000)];
    wires[0].loss = 400;
    let calls = (0..6).map(|_| Flow::constant(1000, 50_000)).collect();
    let mut simulator = Simulator::new(Settings::default(), wires, calls, 4);
    simulator.run(10 * SECOND);
    let before: Vec<_> = simulator
        .flows
        .iter()
        .map(|flow| (flow.sent(), flow.distinct()))
        .collect();
    simulator.run(20 * SECOND);
    for (flow, (sent, came)) in simulator.flows.iter().zip(before) {
        let (sent, came) = (
            u64::from(flow.sent() - sent),
            (flow.distinct() - came) as u64,
        );
        assert!(came * 100 >= sent * 98, "{came} of {sent}");
    }
}
