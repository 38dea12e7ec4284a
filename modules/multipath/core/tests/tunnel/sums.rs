//! Goodput of several paths together, and delays of packets.

use weir_multipath_core::tunnel::{OVERHEAD, Settings};

use crate::flows::{Flow, SIZE};
use crate::simulator::{SECOND, Simulator, Wire, mbit};

/// Goodput of wires with this rate, bytes per second, without headers.
fn carries(rate: u64) -> u64 {
    rate * SIZE as u64 / (SIZE + OVERHEAD + 28) as u64
}

fn greedy(count: u64) -> Vec<Flow> {
    let flow = |index| Flow::greedy().begins(SECOND / 2 + index * 50_000);
    (0..count).map(flow).collect()
}

fn alike() -> Vec<Wire> {
    vec![Wire::new(mbit(40), 10_000), Wire::new(mbit(40), 15_000)]
}

/// 40 Mbit/s, and a tenth of it with 100 ms more.
fn unlike() -> Vec<Wire> {
    vec![Wire::new(mbit(40), 10_000), Wire::new(mbit(4), 60_000)]
}

fn run(wires: Vec<Wire>, flows: Vec<Flow>, until: u64) -> Simulator {
    let mut simulator = Simulator::new(Settings::default(), wires, flows, 7);
    simulator.run(until * SECOND);
    simulator
}

#[test]
fn table() {
    let bulk = || vec![Flow::constant(SIZE, mbit(100))];
    // Name, wires, flows, start of the measurement in seconds, rate of the wires, and least percent
    // of it that is used.
    let cases = [
        ("many flows", alike(), greedy(8), 4, mbit(80), 95),
        ("one flow, striped", alike(), greedy(1), 9, mbit(80), 95),
        (
            "one flow that does not yield",
            alike(),
            bulk(),
            4,
            mbit(80),
            95,
        ),
        (
            "many flows, unlike paths",
            unlike(),
            greedy(8),
            4,
            mbit(40),
            98,
        ),
        (
            "one flow, unlike paths",
            unlike(),
            greedy(1),
            4,
            mbit(40),
            98,
        ),
        (
            "no yielding, unlike paths",
            unlike(),
            bulk(),
            4,
            mbit(40),
            98,
        ),
        (
            "one flow, slow path first",
            unlike().into_iter().rev().collect(),
            greedy(1),
            9,
            mbit(40),
            98,
        ),
        (
            "one path",
            vec![Wire::new(mbit(40), 10_000)],
            greedy(1),
            4,
            mbit(40),
            98,
        ),
        (
            "faster",
            vec![Wire::new(mbit(150), 5_000), Wire::new(mbit(150), 5_000)],
            greedy(12),
            4,
            mbit(300),
            95,
        ),
    ];
    for (name, wires, flows, from, of, percent) in cases {
        let until = from + 3;
        let simulator = run(wires, flows, until);
        let good = simulator.goodput(from * SECOND, until * SECOND);
        let wanted = carries(of) * percent / 100;
        assert!(
            good >= wanted,
            "{name}: {good} bytes per second, not {wanted}"
        );
    }
}

#[test]
fn it_waits_in_the_tunnel_and_not_in_the_modem() {
    let calls = Flow::constant(160, 8_000);
    let mut flows = greedy(8);
    flows.push(calls.begins(5 * SECOND));
    let simulator = run(alike(), flows, 15);
    let good = simulator.goodput(5 * SECOND, 15 * SECOND);
    assert!(good >= carries(mbit(80)) * 95 / 100, "{good}: not full");
    let calls = simulator.flows.last().unwrap();
    let queue = simulator.wires[0].waited(6 * SECOND);
    assert!(queue < 40_000, "{queue} in the modem");
    // The wires have room for 200 ms.
    assert!(calls.slowest < 15_000 + 35_000, "{}", calls.slowest);
    assert_eq!(calls.distinct(), calls.sent() as usize - 1);
}

#[test]
fn the_rate_is_followed() {
    let mut wire = Wire::new(mbit(40), 10_000);
    wire.rates
        .extend([(5 * SECOND, mbit(10)), (15 * SECOND, mbit(30))]);
    let simulator = run(vec![wire], greedy(4), 25);
    for (from, to, rate) in [(3, 5, mbit(40)), (8, 15, mbit(10)), (20, 25, mbit(30))] {
        let good = simulator.goodput(from * SECOND, to * SECOND);
        assert!(good >= carries(rate) * 95 / 100, "{good} of {rate}");
    }
}

#[test]
fn what_costs_is_used_when_nothing_else_is_up() {
    for metered in [false, true] {
        let mut second = Wire::new(mbit(40), 15_000);
        second.settings.metered = metered;
        second.settings.backup = !metered;
        let first = Wire::new(mbit(40), 10_000).hole(10 * SECOND, 14 * SECOND);
        let mut flows = greedy(3);
        flows.push(Flow::constant(100, 1_000));
        let simulator = run(vec![first, second], flows, 25);
        let octets = |from: u64, to: u64| -> u64 {
            let range = from * 10..to * 10;
            simulator.wires[1].passed[0]
                .range(range)
                .map(|(_, octets)| octets)
                .sum()
        };
        assert!(octets(0, 10) < 20_000, "{}", octets(0, 10));
        assert!(octets(11, 14) > 5_000_000, "{}", octets(11, 14));
        // Flows may stay for some seconds, for want of a gap.
        assert!(octets(21, 25) < 20_000, "{}", octets(21, 25));
    }
}

#[test]
fn at_rest_hardly_anything_is_sent() {
    let mut metered = Wire::new(mbit(40), 15_000);
    metered.settings.metered = true;
    let simulator = run(vec![Wire::new(mbit(40), 10_000), metered], Vec::new(), 120);
    let datagrams = |path: usize| simulator.ends[0].paths().nth(path).unwrap().sent.packets;
    // A probe and an answer each second, or each ten.
    assert!(datagrams(0) < 270, "{}", datagrams(0));
    assert!(datagrams(1) < 50, "{}", datagrams(1));
}
