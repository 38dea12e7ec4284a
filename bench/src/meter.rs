//! Measures the meter's cost per packet beyond the parse, under BPF_PROG_TEST_RUN, in turn with the
//! same parse in front of the tables of other monitors.

use datapath::bench::{Bench, Exit, Peers, Target, Traffic};
use datapath::meter::{Meter, MeterSizes};
use lab::frame::{Body, Packet, Tcp, flag};
use lab::{Lab, Offloads};
use serde::Serialize;

use crate::Error;
use crate::machine::inside;
use crate::programs;
use crate::report::{Table, table};
use crate::rounds::median;
use crate::traffic::Kind;

/// Records of the daemon's largest default table.
const RECORDS: u32 = 65_536;

/// Effort of the measurement.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Runs in a batch.
    pub runs: u32,
    /// Rounds over all rows.
    pub rounds: u32,
    /// Numbers of flows.
    pub flows: Vec<u32>,
}

/// Cost of a program for a kind of traffic.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Program.
    pub program: &'static str,
    /// Traffic.
    pub traffic: String,
    /// Flows that take turns.
    pub flows: u32,
    /// Nanoseconds, or instructions if the clock counts those: median of the rounds. Counted beyond
    /// the parse, and for the parse beyond a drop.
    pub median: f64,
    /// Lowest value.
    pub least: f64,
    /// Highest value.
    pub most: f64,
    /// Cost of the parse, or of the drop, that was subtracted in the last round.
    pub base: f64,
}

/// Timed programs, in the order of the table. The parse comes first: its cost is subtracted from
/// the others.
const PROGRAMS: [(Target, &str); 6] = [
    (Target::MeterParse, "parse alone"),
    (Target::MeterIn, "weir's meter"),
    (Target::HashAtomic, "hash, key of 16 bytes, atomic"),
    (Target::PerCpu, "PERCPU_HASH"),
    (Target::LeastRecent, "LRU_HASH, atomic"),
    (Target::SpinLocked, "spin-locked hash, key of 40 bytes"),
];

/// Times all programs in a namespace of their own.
pub fn all(effort: &Effort) -> Result<Vec<Cost>, Error> {
    let mut lab = Lab::new();
    for role in ["client", "router"] {
        lab.host(role)?;
    }
    lab.wire(("client", "eth0"), ("router", "lan0"), Offloads::Plain)?;
    let lan = lab.index("router", "lan0")?;
    inside(lab.node("router")?, || {
        let mut costs = Vec::new();
        let kind = Kind {
            ipv6: false,
            translated: false,
            length: 60,
            flows: 1,
            servers: false,
        };
        let peers = Peers::load(lan)?;
        for flows in &effort.flows {
            let kind = Kind {
                flows: *flows,
                ..kind
            };
            let stage = Stage::new(&kind.forward(), lan, effort)?;
            costs.extend(stage.time("UDP", &PROGRAMS, &peers)?);
        }
        let flows = 400;
        for (name, traffic) in others(flows) {
            let stage = Stage::new(&traffic, lan, effort)?;
            costs.extend(stage.time(name, &PROGRAMS[..2], &peers)?);
        }
        Ok(costs)
    })?
}

/// Returns the meter's own programs for the gate (gate.rs); few rounds are enough, as counts of
/// instructions vary little.
pub fn of_the_gate() -> Result<Vec<programs::Cost>, Error> {
    let costs = all(&Effort {
        runs: 1000,
        rounds: 3,
        flows: vec![400],
    })?;
    let own = PROGRAMS[..2].iter().map(|(_, name)| *name);
    let own: Vec<_> = own.collect();
    let costs = costs.into_iter().filter(|cost| own.contains(&cost.program));
    let costs = costs.map(|cost| programs::Cost {
        name: format!("{}, {}", cost.program, cost.traffic),
        own: cost.median,
        drop: cost.base,
    });
    Ok(costs.collect())
}

/// Returns traffic other than UDP over IPv4 behind a plain Ethernet header.
fn others(flows: u32) -> Vec<(&'static str, Traffic)> {
    let kind = |ipv6, length| Kind {
        ipv6,
        translated: false,
        length,
        flows,
        servers: false,
    };
    let v4 = kind(false, 60);
    let tcp = Packet {
        body: Body::Tcp(Tcp {
            from: crate::traffic::FIRST_PORT,
            to: 443,
            flags: flag::ACK,
            window: 1000,
            ..Tcp::default()
        }),
        ..v4.received(0)
    };
    let behind = |octets: &[u16]| {
        let octets = octets.iter().map(|word| word.to_be_bytes());
        let octets: Vec<u8> = octets.flatten().collect();
        let frame = v4.received(0).bytes();
        Traffic {
            // These bytes replace the EtherType; after a VLAN tag they end in the original one.
            frame: [&frame[..12], &octets, &frame[14..]].concat(),
            shift: octets.len() - 2,
            ..v4.forward()
        }
    };
    vec![
        (
            "TCP",
            Traffic {
                frame: tcp.bytes(),
                ..v4.forward()
            },
        ),
        ("UDP, IPv6", kind(true, 62).forward()),
        ("UDP, VLAN in the frame", behind(&[0x8100, 10, 0x0800])),
        (
            "UDP, PPPoE",
            behind(&[0x8864, 0x1100, 9, v4.length as u16 - 14 + 2, 0x0021]),
        ),
    ]
}

/// Meter, and frames for it.
struct Stage<'a> {
    meter: Meter,
    bench: Bench,
    link: u32,
    flows: u32,
    effort: &'a Effort,
}

impl<'a> Stage<'a> {
    fn new(traffic: &Traffic, link: u32, effort: &'a Effort) -> Result<Self, Error> {
        // A quarter full at most, as recommended.
        let sizes = MeterSizes::new(RECORDS.max(traffic.flows * 4), &[link]);
        let mut meter = Meter::load(sizes, true)?;
        meter.attach(link, "lan0", false, true)?;
        let bench = Bench::load(traffic, 0, &Exit::default())?;
        bench.aim_meter(&meter.programs()?)?;
        Ok(Self {
            meter,
            bench,
            link,
            flows: traffic.flows,
            effort,
        })
    }

    fn run(&mut self, target: Target) -> Result<f64, Error> {
        let runs = self.effort.runs.max(self.flows);
        Ok(self.bench.rotate(target, self.link, runs)? as f64)
    }

    fn time(
        mut self,
        traffic: &str,
        programs: &[(Target, &'static str)],
        peers: &Peers,
    ) -> Result<Vec<Cost>, Error> {
        self.bench.aim_peers(peers)?;
        let mut found = vec![Vec::new(); programs.len()];
        let mut bases = vec![0.0; programs.len()];
        let warm = self.flows.max(1000);
        for (target, _) in programs {
            self.bench.rotate(*target, self.link, warm)?;
        }
        for _ in 0..self.effort.rounds {
            let mut base = self.run(Target::BareTc)?;
            for (index, (target, _)) in programs.iter().enumerate() {
                let whole = self.run(*target)?;
                found[index].push(whole - base);
                bases[index] = base;
                if index == 0 {
                    base = whole;
                }
            }
        }
        self.check()?;
        Ok(programs
            .iter()
            .zip(found)
            .zip(bases)
            .map(|(((_, program), mut values), base)| {
                values.sort_by(f64::total_cmp);
                Cost {
                    program,
                    traffic: traffic.to_owned(),
                    flows: self.flows,
                    median: median(&values),
                    least: values.first().copied().unwrap_or(f64::NAN),
                    most: values.last().copied().unwrap_or(f64::NAN),
                    base,
                }
            })
            .collect())
    }

    /// Checks that each flow has a record, and that each run was counted.
    fn check(&mut self) -> Result<(), Error> {
        let (mut records, mut packets) = (0u32, 0u64);
        self.meter.scan(|seen| {
            records += 1;
            packets += seen.delta.sent.0;
            true
        })?;
        let runs = self.effort.runs.max(self.flows);
        let sent =
            u64::from(runs) * u64::from(self.effort.rounds) + u64::from(self.flows.max(1000));
        // At 65,536 flows some find no slot; the meter reports those, and they are not timed.
        let placed = f64::from(records) / f64::from(self.flows);
        match placed > 0.98 && packets as f64 > sent as f64 * 0.98 && packets <= sent {
            true => Ok(()),
            false => Err(Error::Wrong(format!(
                "{} flows have {records} records, which counted {packets} of {sent} packets",
                self.flows
            ))),
        }
    }
}

/// Formats the costs: programs as rows, numbers of flows as columns.
pub fn report(costs: &[Cost]) -> Table {
    let mut columns: Vec<(String, u32)> = Vec::new();
    let mut rows: Vec<&str> = Vec::new();
    for cost in costs {
        let column = (cost.traffic.clone(), cost.flows);
        if !columns.contains(&column) {
            columns.push(column);
        }
        if !rows.contains(&cost.program) {
            rows.push(cost.program);
        }
    }
    let mut headings = vec!["ns".to_owned()];
    headings.extend(
        columns
            .iter()
            .map(|(traffic, flows)| format!("{traffic}: {flows}")),
    );
    let headings: Vec<_> = headings.iter().map(String::as_str).collect();
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let cells = columns.iter().map(|(traffic, flows)| {
                let found = costs.iter().find(|cost| {
                    cost.program == *row && cost.traffic == *traffic && cost.flows == *flows
                });
                found.map_or("–".into(), |cost| {
                    format!("{:.0} ({:.0}–{:.0})", cost.median, cost.least, cost.most)
                })
            });
            [(*row).to_owned()].into_iter().chain(cells).collect()
        })
        .collect();
    table(&headings, &lines)
}
