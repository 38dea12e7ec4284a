//! Measures the classifier of ports: the cost of a frame at a watched port, by gate and kind of
//! frame. Single programs run under BPF_PROG_TEST_RUN, storms arrive by a wire.

use datapath::bench::{Bench, Exit, Program, Target, Traffic};
use datapath::cable::{Cables, Gate};
use lab::frame::{Body, Packet, Tcp, flag};
use lab::{Lab, Offloads};
use serde::Serialize;

use crate::Error;
use crate::machine::inside;
use crate::programs::{Cost, Effort};
use crate::report::{Table, table};
use crate::rounds::median;
use crate::traffic::Kind;

/// Most runs in a batch: a gate that is not refreshed expires after more of them.
const RUNS: u32 = 100_000;

/// Timed program.
struct Row {
    gate: Gate,
    target: Target,
    /// Index of the frame in [`frames`].
    frame: usize,
    name: &'static str,
}

const fn row(gate: Gate, target: Target, frame: usize, name: &'static str) -> Row {
    Row {
        gate,
        target,
        frame,
        name,
    }
}

const ROWS: [Row; 12] = [
    row(Gate::Groups, Target::CableIn, 0, "weir port idle, in"),
    row(Gate::Groups, Target::CableOut, 0, "weir port idle, out"),
    row(Gate::Note, Target::CableIn, 0, "weir port noted, TCP"),
    row(Gate::Note, Target::CableIn, 2, "weir port noted, ARP"),
    row(Gate::Note, Target::CableOut, 0, "weir port noted, out"),
    row(Gate::Guard, Target::CableIn, 0, "weir port guarded, TCP"),
    row(
        Gate::Guard,
        Target::CableIn,
        1,
        "weir port guarded, UDP, IPv6",
    ),
    row(Gate::Guard, Target::CableIn, 2, "weir port guarded, ARP"),
    row(
        Gate::Guard,
        Target::CableIn,
        3,
        "weir port guarded, a server",
    ),
    row(Gate::Guard, Target::CableOut, 0, "weir port guarded, out"),
    row(Gate::Shut, Target::CableIn, 0, "weir port shut, TCP"),
    row(Gate::Shut, Target::CableOut, 0, "weir port shut, out"),
];

/// Returns a frame of TCP, of UDP over IPv6, of ARP, and a lease.
fn frames() -> [Vec<u8>; 4] {
    let kind = |ipv6| Kind {
        ipv6,
        translated: false,
        length: 62,
        flows: 1,
        servers: false,
    };
    let v4 = kind(false).received(0);
    let tcp = Packet {
        body: Body::Tcp(Tcp {
            from: 1024,
            to: 443,
            flags: flag::ACK,
            window: 1000,
            ..Tcp::default()
        }),
        ..v4.clone()
    };
    let mut arp = v4.bytes();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    let lease = Packet {
        body: Body::Udp(67, 68, vec![2; 20]),
        ..v4
    };
    let v6 = kind(true).received(0);
    [tcp.bytes(), v6.bytes(), arp, lease.bytes()]
}

/// Times all rows in a namespace of their own. Rows take turns in each batch.
pub fn all(effort: Effort) -> Result<Vec<Cost>, Error> {
    let mut lab = Lab::new();
    for role in ["client", "router"] {
        lab.host(role)?;
    }
    lab.wire(("client", "eth0"), ("router", "lan0"), Offloads::Plain)?;
    let lan = lab.index("router", "lan0")?;
    inside(lab.node("router")?, || {
        let mut cables = Cables::load()?;
        cables.watch(lan, "lan0")?;
        let mut benches = Vec::new();
        for frame in frames() {
            let bench = Bench::load(&Traffic::of(frame, 0), 0, &Exit::default())?;
            bench.aim_cables(&cables)?;
            benches.push(bench);
        }
        let runs = effort.runs.min(RUNS);
        let mut found = ROWS.map(|_| [Vec::new(), Vec::new()]);
        for batch in 0..=effort.batches {
            for (row, values) in ROWS.iter().zip(&mut found) {
                let bench = &mut benches[row.frame];
                cables.gate(lan, row.gate);
                let drop = bench.rotate(Target::BareTc, lan, runs)? as f64;
                cables.refresh();
                let all = bench.rotate(row.target, lan, runs)? as f64;
                // The first batch warms up.
                if batch > 0 {
                    values[0].push(all - drop);
                    values[1].push(drop);
                }
            }
        }
        let costs = ROWS.iter().zip(found).map(|(row, values)| {
            let [own, drop] = values.map(|mut values| {
                values.sort_by(f64::total_cmp);
                median(&values)
            });
            let name = row.name.to_owned();
            Cost { name, own, drop }
        });
        Ok(costs.collect())
    })?
}

/// Frames of a storm in a measurement.
const STORM: u32 = 200_000;

/// Cost of a storm's frame at a port, from the wire to the drop behind the classifier.
#[derive(Clone, Debug, Serialize)]
pub struct Storm {
    /// Kind of the frames.
    pub frames: &'static str,
    /// Gate of the port.
    pub gate: &'static str,
    /// Nanoseconds per frame: median of the rounds.
    pub median: f64,
    /// Lowest value.
    pub least: f64,
    /// Highest value.
    pub most: f64,
    /// Ratio to an idle gate in the same round: median.
    pub ratio: f64,
}

const GATES: [(Gate, &str); 4] = [
    (Gate::Idle, "idle"),
    (Gate::Note, "noted"),
    (Gate::Guard, "guarded"),
    (Gate::Shut, "shut"),
];

/// Measures storms of TCP, of ARP and of leases. Gates take turns, each first in turn.
pub fn storms(rounds: u32) -> Result<Vec<Storm>, Error> {
    let mut lab = Lab::new();
    for role in ["client", "router"] {
        lab.host(role)?;
    }
    lab.wire(("client", "eth0"), ("router", "lan0"), Offloads::Plain)?;
    // A veth accepts XDP frames once GRO was switched on while the veth is up.
    let router = lab.node("router")?;
    for to in ["off", "on"] {
        router.run(&format!("ethtool -K lan0 gro {to}"))?;
    }
    let (out, lan) = (lab.index("client", "eth0")?, lab.index("router", "lan0")?);
    let [tcp, _, arp, lease] = frames();
    let mut found = Vec::new();
    for (name, frame) in [("TCP", tcp), ("ARP", arp), ("leases", lease)] {
        let traffic = Traffic::of(frame, 0);
        let (mut cables, mut sink) = inside(lab.node("router")?, || {
            let mut cables = Cables::load()?;
            cables.watch(lan, "lan0")?;
            let mut sink = Bench::load(&traffic, 0, &Exit::default())?;
            sink.attach(Program::SinkTc, lan, "lan0")?;
            Ok::<_, Error>((cables, sink))
        })??;
        let mut generator = Bench::load(&traffic, out, &Exit::default())?;
        let mut costs = GATES.map(|_| Vec::new());
        for round in 0..=rounds as usize {
            for step in 0..GATES.len() {
                let which = (round + step) % GATES.len();
                let (before, dropped) = (sink.sunk(), dropped(&cables, lan));
                cables.gate(lan, GATES[which].0);
                let took = inside(lab.node("client")?, || generator.generate_timed(STORM))??;
                let came = sink.sunk() - before + self::dropped(&cables, lan) - dropped;
                if came < u64::from(STORM) {
                    return Err(Error::Wrong(format!("{came} of {STORM} frames arrived")));
                }
                // The first round warms up.
                if round > 0 {
                    costs[which].push(took as f64);
                }
            }
        }
        let idle = costs[0].clone();
        for ((_, gate), mut costs) in GATES.into_iter().zip(costs) {
            let mut ratios: Vec<_> = costs
                .iter()
                .zip(&idle)
                .map(|(it, idle)| it / idle)
                .collect();
            costs.sort_by(f64::total_cmp);
            ratios.sort_by(f64::total_cmp);
            found.push(Storm {
                frames: name,
                gate,
                median: median(&costs),
                least: costs.first().copied().unwrap_or(f64::NAN),
                most: costs.last().copied().unwrap_or(f64::NAN),
                ratio: median(&ratios),
            });
        }
        cables.leave(lan);
        sink.detach();
    }
    Ok(found)
}

fn dropped(cables: &Cables, link: u32) -> u64 {
    cables.read(link).map_or(0, |record| record.dropped_in)
}

/// Formats the storms as a table.
pub fn report(storms: &[Storm]) -> Table {
    let lines: Vec<_> = storms
        .iter()
        .map(|storm| {
            vec![
                format!("{}, {}", storm.frames, storm.gate),
                format!("{:.0}", storm.median),
                format!("{:.0} to {:.0}", storm.least, storm.most),
                format!("{:.2}", storm.ratio),
            ]
        })
        .collect();
    table(&["storm, gate", "ns a frame", "spread", "of idle"], &lines)
}
