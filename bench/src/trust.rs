//! Checks the laboratory's own figures: against another counter, and against planted slowdowns.

use std::fs;
use std::path::Path as File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Error;
use crate::circuit::{Circuit, Path};
use crate::load::Load;
use crate::machine::received;
use crate::report::{Table, table};
use crate::rounds::{Plan, Spread, median};
use crate::verdict::{Verdict, compare, noise};
use datapath::bench::unpin;

/// Interval between readings of the device.
const LOOK: Duration = Duration::from_millis(20);

/// Packets counted by the laboratory and by the server's device.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// [`Path::name`].
    pub name: &'static str,
    /// Packets per second by the laboratory.
    pub lab: Spread,
    /// Packets per second by the device's counter and the wall clock.
    pub device: Spread,
    /// Ratio of the device's rate to the laboratory's: median over the rounds.
    pub ratio: f64,
}

/// Measures while a thread reads the counter of the server's device.
pub fn agreement(weir: &File, plan: Plan, cpu: usize) -> Result<Vec<Agreement>, Error> {
    let paths = [
        Path::Masquerade,
        Path::StaticTc,
        Path::WeirTc,
        Path::WeirXdp,
        Path::Ceiling,
    ];
    let mut found = Vec::new();
    for path in paths {
        let mut circuit = Circuit::build(path, Load::default(), weir)?;
        let (mut lab, mut device) = (Vec::new(), Vec::new());
        for _ in 0..plan.rounds {
            let (rate, seen) = looked_at(&mut circuit, plan, cpu)?;
            lab.push(rate);
            device.push(seen);
        }
        let mut ratios: Vec<_> = device
            .iter()
            .zip(&lab)
            .map(|(seen, rate)| seen / rate)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let none = || Error::Wrong("no rounds".into());
        found.push(Agreement {
            name: path.name(),
            lab: Spread::of(&lab).ok_or_else(none)?,
            device: Spread::of(&device).ok_or_else(none)?,
            ratio: median(&ratios),
        });
    }
    Ok(found)
}

/// Returns packets per second by the laboratory, and by the device.
fn looked_at(circuit: &mut Circuit, plan: Plan, cpu: usize) -> Result<(f64, f64), Error> {
    let over = AtomicBool::new(false);
    // The thread opens the namespace by its file: the circuit is borrowed meanwhile.
    let server =
        fs::File::open(circuit.server()?.path()).map_err(Error::system("open a namespace"))?;
    std::thread::scope(|scope| {
        let over = &over;
        let looker = scope.spawn(move || -> Result<Vec<(Instant, u64)>, Error> {
            nix::sched::setns(server, nix::sched::CloneFlags::CLONE_NEWNET)
                .map_err(Error::system("enter a network namespace"))?;
            let mut seen = Vec::new();
            while !over.load(Ordering::Relaxed) {
                seen.push((Instant::now(), received("eth0")?));
                std::thread::sleep(LOOK);
            }
            Ok(seen)
        });
        let measured = datapath::bench::pin(cpu)
            .map_err(Error::from)
            .and_then(|()| circuit.measure(plan.warm, plan.seconds));
        let end = Instant::now();
        over.store(true, Ordering::Relaxed);
        unpin()?;
        let seen = looker.join().unwrap_or_else(|_| Ok(Vec::new()))?;
        let run = measured?;
        // Only the middle counts: the thread does not know when the measurement begins and ends.
        let [from, to] =
            [0.9, 0.1].map(|share| end - Duration::from_secs_f64(plan.seconds * share));
        let within: Vec<_> = seen
            .iter()
            .filter(|(when, _)| (from..to).contains(when))
            .collect();
        match (within.first(), within.last()) {
            (Some((begin, first)), Some((end, last))) if end > begin => Ok((
                run.rate(),
                (last - first) as f64 / (*end - *begin).as_secs_f64(),
            )),
            _ => Err(Error::Wrong("no process watched the device".into())),
        }
    })
}

/// Comparison of a static program with a copy, slowed by a known share.
#[derive(Clone, Debug, Serialize)]
pub struct SlowdownCheck {
    /// Planted share of a packet's time.
    pub share: f64,
    /// Turns of the loop for that share.
    pub turns: u32,
    /// Measured ratio of the rates.
    pub ratio: f64,
    /// Verdict on the slower one.
    pub verdict: Verdict,
}

/// Plants slowdowns, and checks whether the verdict finds them.
pub fn planted(weir: &File, plan: Plan, cpu: usize) -> Result<(f64, Vec<SlowdownCheck>), Error> {
    let build = |spin| Circuit::slowed(Path::Ceiling, Load::default(), weir, spin);
    let mut bare = build(0)?;
    // Cost of a turn, from many turns.
    const MANY: u32 = 2000;
    let mut slow = build(MANY)?;
    datapath::bench::pin(cpu)?;
    let took = |circuit: &mut Circuit| -> Result<f64, Error> {
        let mut each = Vec::new();
        for _ in 0..3 {
            each.push(1e9 / circuit.measure(plan.warm, plan.seconds)?.rate());
        }
        each.sort_by(f64::total_cmp);
        Ok(median(&each))
    };
    let (packet, many) = (took(&mut bare)?, took(&mut slow)?);
    drop(slow);
    let turn = (many - packet) / f64::from(MANY);
    let shares = [0.0, 0.01, 0.2];
    let mut circuits = Vec::new();
    unpin()?;
    for share in shares {
        let turns = (packet * share / turn).round() as u32;
        circuits.push((share, turns, build(turns)?, Vec::new()));
    }
    datapath::bench::pin(cpu)?;
    let (mut first, mut twins) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let one = bare.measure(plan.warm, plan.seconds)?.rate();
        twins.push((one, bare.measure(plan.warm, plan.seconds)?.rate()));
        first.push(one);
        for (_, _, circuit, rates) in &mut circuits {
            rates.push(circuit.measure(plan.warm, plan.seconds)?.rate());
        }
    }
    unpin()?;
    let noise = noise(&twins);
    let found = circuits.into_iter().map(|(share, turns, _, rates)| {
        let mut ratios: Vec<_> = rates
            .iter()
            .zip(&first)
            .map(|(slow, fast)| slow / fast)
            .collect();
        ratios.sort_by(f64::total_cmp);
        SlowdownCheck {
            share,
            turns,
            ratio: median(&ratios),
            verdict: compare(&rates, &first, noise),
        }
    });
    Ok((noise, found.collect()))
}

/// Formats the results as tables.
pub fn report(
    agreement: &[Agreement],
    noise: f64,
    planted: &[SlowdownCheck],
) -> [(&'static str, Table); 2] {
    let lines: Vec<_> = agreement
        .iter()
        .map(|one| {
            vec![
                one.name.to_owned(),
                format!("{:.0}", one.lab.median / 1e3),
                format!("{:.0}", one.device.median / 1e3),
                format!("{:+.1} %", (one.ratio - 1.0) * 100.0),
            ]
        })
        .collect();
    let counted = table(
        &["k packets/s", "by the laboratory", "by the device", "apart"],
        &lines,
    );
    let lines: Vec<_> = planted
        .iter()
        .map(|one| {
            vec![
                format!("{:.0} % ({} turns)", one.share * 100.0, one.turns),
                format!("{:+.1} %", (one.ratio - 1.0) * 100.0),
                match one.verdict {
                    Verdict::Undecided => "undecided".into(),
                    Verdict::Faster(_) => "faster".into(),
                    Verdict::Slower(_) => "slower".into(),
                },
            ]
        })
        .collect();
    let verdict = format!("up to {:.1} % may be noise", noise * 100.0);
    let found = table(
        &["planted, of a packet's time", "measured", &verdict],
        &lines,
    );
    [("trust-counted", counted), ("trust-planted", found)]
}
