//! Measures weir against the kernel and against what XDP could do at best. See docs/performance.md.

mod arguments;

use std::process::ExitCode;
use std::time::Duration;

use arguments::{Arguments, Change, Part, Uplinks};
use clap::Parser;
use lab::Arrangement;
use weir_bench::circuit::Driver;
use weir_bench::crowd::Size;
use weir_bench::programs::{self, Effort};
use weir_bench::rounds::Plan;
use weir_bench::{
    Error, changes, daemon, daily, gate, lemon, machine, meter, meter_daemon, meter_path,
    multipath, paths, record, report, soak, trust, verifier,
};
fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    if let Part::BareProxy { side } = &arguments.part {
        return multipath::bare(*side);
    }
    let _lock = machine::Lock::take()?;
    lab::sweep()?;
    match &arguments.part {
        Part::Programs => single_programs(arguments.cpu),
        Part::Trust {
            weir,
            rounds,
            seconds,
            json,
        } => {
            let plan = Plan {
                rounds: *rounds,
                seconds: *seconds,
                warm: seconds / 2.0,
            };
            let driver = Driver::Daemon(daemon::binary(weir.as_deref())?);
            let counted = trust::agreement(&driver, plan, arguments.cpu)?;
            let (noise, found) = trust::planted(&driver, plan, arguments.cpu)?;
            println!(
                "{}\n\n{}",
                machine::describe(),
                trust::report(&counted, noise, &found)
            );
            keep(json.as_deref(), &(counted, noise, found))
        }
        Part::Record { lab, docs } => {
            let text = std::fs::read_to_string(lab)
                .map_err(Error::system(format!("read {}", lab.display())))?;
            let found = serde_json::from_str(&text)
                .map_err(|error| Error::Wrong(format!("{}: {error}", lab.display())))?;
            record::lab(&found, docs)
        }
        Part::Meter {
            flows,
            rounds,
            runs,
            daemon,
            path,
            seconds,
            weir,
            json,
        } => {
            if *path {
                let binary = daemon::binary(weir.as_deref())?;
                let plan = Plan {
                    rounds: *rounds,
                    seconds: f64::from(*seconds),
                    warm: 0.3,
                };
                let flows = 400;
                let found = meter_path::all(&binary, flows, plan, arguments.cpu)?;
                println!(
                    "{}, {flows} flows\n\n{}",
                    machine::describe(),
                    meter_path::report(&found)
                );
                return keep(json.as_deref(), &found);
            }
            if *daemon {
                let binary = daemon::binary(weir.as_deref())?;
                let burdens = meter_daemon::burdens(&binary, flows, *seconds)?;
                println!(
                    "{}\n\n{}",
                    machine::describe(),
                    meter_daemon::report(&burdens)
                );
                return keep(json.as_deref(), &burdens);
            }
            datapath::bench::pin(arguments.cpu)?;
            let costs = meter::all(&meter::Effort {
                runs: *runs,
                rounds: *rounds,
                flows: flows.clone(),
            })?;
            println!("{}\n\n{}", machine::describe(), meter::report(&costs));
            keep(json.as_deref(), &costs)
        }
        Part::Lemon {
            weir,
            rounds,
            seconds,
            only,
            json,
        } => {
            let cases = if only.is_empty() {
                lemon::Case::ALL.to_vec()
            } else {
                only.clone()
            };
            let plan = lemon::Plan {
                rounds: *rounds,
                seconds: *seconds,
            };
            let binary = daemon::binary(weir.as_deref())?;
            let losses = lemon::all(&binary, &cases, plan, |text| eprintln!("{text}"))?;
            println!("{}\n\n{}", machine::describe(), lemon::report(&losses));
            keep(json.as_deref(), &losses)
        }
        Part::Multipath {
            weir,
            rounds,
            seconds,
            json,
        } => {
            let binary = daemon::binary(weir.as_deref())?;
            let found =
                multipath::ways::all(&binary, *rounds, *seconds, |text| eprintln!("{text}"))?;
            println!(
                "{}\n\n{}",
                machine::describe(),
                multipath::ways::report(&found)
            );
            keep(json.as_deref(), &found)
        }
        Part::Uplinks {
            weir,
            rounds,
            seconds,
            only,
            json,
        } => {
            let binary = daemon::binary(weir.as_deref())?;
            println!("{}\n", machine::describe());
            let told = |text: &str| eprintln!("{text}");
            let (mut sums, mut cuts) = (Vec::new(), Vec::new());
            if *only != Some(Uplinks::Cuts) {
                sums = multipath::sums::all(&binary, *rounds, *seconds, told)?;
                println!("{}", multipath::sums::report(&sums));
            }
            if *only != Some(Uplinks::Sums) {
                cuts = multipath::cuts::all(&binary, *rounds, told)?;
                println!("{}", multipath::cuts::report(&cuts));
            }
            keep(json.as_deref(), &(sums, cuts))
        }
        Part::Experiment { weir, svg, json } => {
            let binary = daemon::binary(weir.as_deref())?;
            let found = multipath::experiment::all(&binary, |text| eprintln!("{text}"))?;
            println!(
                "{}\n\n{}",
                machine::describe(),
                multipath::experiment::report(&found)
            );
            if let Some(file) = svg {
                std::fs::write(file, multipath::experiment::draw(&found))
                    .map_err(Error::system(format!("write {}", file.display())))?;
            }
            keep(json.as_deref(), &found)
        }
        Part::Connections {
            weir,
            idle,
            rate,
            rounds,
            json,
        } => {
            let binary = daemon::binary(weir.as_deref())?;
            let told = |text: &str| eprintln!("{text}");
            let found = multipath::connections::all(&binary, *idle, *rate, 10, *rounds, told)?;
            println!(
                "{}\n\n{}",
                machine::describe(),
                multipath::connections::report(&found)
            );
            keep(json.as_deref(), &found)
        }
        Part::BareProxy { side } => multipath::bare(*side),
        Part::Soak {
            weir,
            rate,
            minutes,
            seconds,
            json,
        } => {
            let binary = daemon::binary(weir.as_deref())?;
            let length = Duration::from_secs(60 * u64::from(*minutes));
            let found = soak::soak(&binary, *rate, length, *seconds, |looks| {
                eprintln!("{:?}", looks.last());
                // An hour is long: whatever ends it, what was seen is kept.
                keep(json.as_deref(), &looks)
            })?;
            println!("{}\n\n{}", machine::describe(), soak::report(&found));
            Ok(())
        }
        Part::Daily { weir, flows, rate } => {
            let binary = daemon::binary(weir.as_deref())?;
            println!("{}\n", machine::describe());
            // First, since it needs no pin.
            println!(
                "{}",
                report::table(&["the daemon", ""], &daily::burden(&binary, *rate, 10)?)
            );
            let lines: Vec<_> = daily::latencies(&binary, *flows, arguments.cpu)?
                .iter()
                .map(daily::Latencies::line)
                .collect();
            let headings = ["latency, ms", "flows", "median", "99 %", "largest"];
            println!("{}", report::table(&headings, &lines));
            Ok(())
        }
        Part::Paths { only, weir, json } => {
            let chosen = only.map_or(paths::ARRANGEMENTS.to_vec(), |one| vec![one]);
            whole_paths(&chosen, &daemon::binary(weir.as_deref())?, json.as_deref())
        }
        Part::Changes {
            weir,
            flows,
            hosts,
            times,
            only,
        } => {
            let binary = daemon::binary(weir.as_deref())?;
            let size = Size::of(*hosts, *flows);
            let wanted = |change| only.is_empty() || only.contains(&change);
            let mut all = Vec::new();
            if wanted(Change::Neighbours) {
                all.push(changes::of_neighbours(&binary, size, *times)?);
            }
            if wanted(Change::Stations) {
                all.push(changes::of_stations(&binary, size, *times)?);
            }
            if wanted(Change::Rules) {
                all.extend(changes::of_rules(&binary, size, *times)?);
            }
            let lines: Vec<_> = all.iter().map(changes::Changes::line).collect();
            println!("{}\n", machine::describe());
            println!("{}", report::table(&changes::Changes::HEADINGS, &lines));
            Ok(())
        }
        Part::Verifier { file, record } => verifier(file, record.as_deref()),
        Part::Instructions { file, record } => instructions(file, *record),
    }
}

fn single_programs(cpu: usize) -> Result<(), Error> {
    datapath::bench::pin(cpu)?;
    let costs = programs::all(Effort {
        runs: 200_000,
        batches: 7,
        flows: 100_000,
    })?;
    println!(
        "{}\n\n{}",
        machine::describe(),
        report::programs(&costs, "ns")
    );
    Ok(())
}

fn instructions(file: &std::path::Path, record: bool) -> Result<(), Error> {
    datapath::bench::pin(0)?;
    // Nothing varies, so little is enough.
    let mut costs = programs::all(Effort {
        runs: 1000,
        batches: 3,
        flows: 1000,
    })?;
    costs.extend(meter::of_the_gate()?);
    let now = gate::Record {
        kernel: machine::kernel(),
        compiler: machine::compiler(),
        costs,
    };
    if record {
        println!("{}", report::programs(&now.costs, "instructions"));
        return now.write(file);
    }
    let recorded = gate::Record::read(file)?;
    if let Err(why) = recorded.comparable(&now) {
        println!(
            "{}\nNOT COMPARED: {why}",
            report::programs(&now.costs, "instructions")
        );
        return Ok(());
    }
    let (table, failed) = gate::compare(&recorded, &now);
    println!("{table}");
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Error::Wrong(format!(
            "more instructions than recorded: {}",
            failed.join("; ")
        ))),
    }
}

fn verifier(file: &std::path::Path, to: Option<&std::path::Path>) -> Result<(), Error> {
    let mut all = verifier::read(file)?;
    let (kernel, compiler) = (verifier::series(&machine::kernel()), machine::compiler());
    let programs = verifier::ask()?;
    let recorded = all.get(&kernel);
    let nothing = verifier::Programs::new();
    let (table, failed) =
        verifier::compare(recorded.map_or(&nothing, |work| &work.programs), &programs);
    println!("Linux {kernel}\n\n{table}");
    if let Some(to) = to {
        all.insert(kernel, verifier::Work { compiler, programs });
        return write(to, &all);
    }
    let recorded = recorded.map(|work| work.compiler.as_str());
    match recorded {
        None => println!("NOT COMPARED: nothing is recorded of Linux {kernel}"),
        Some(other) if other != compiler => {
            println!("NOT COMPARED: recorded with {other}, this is {compiler}")
        }
        Some(_) if failed.is_empty() => {}
        Some(_) => {
            return Err(Error::Wrong(format!(
                "the verifier has more to do, or too much: {}",
                failed.join("; ")
            )));
        }
    }
    Ok(())
}

fn whole_paths(
    chosen: &[Arrangement],
    weir: &std::path::Path,
    json: Option<&std::path::Path>,
) -> Result<(), Error> {
    let costs = paths::measure(chosen, paths::Effort::default(), weir, |text| {
        eprintln!("{text}");
    })?;
    println!("{}\n\n{}", machine::describe(), paths::report(&costs));
    keep(json, &costs)
}

/// Where it was asked for.
fn keep(file: Option<&std::path::Path>, what: &impl serde::Serialize) -> Result<(), Error> {
    file.map_or(Ok(()), |file| write(file, what))
}

fn write(file: &std::path::Path, what: &impl serde::Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(what).unwrap_or_default();
    std::fs::write(file, text + "\n").map_err(Error::system(format!("write {}", file.display())))
}
