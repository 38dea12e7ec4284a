//! Measures weir against the kernel and the best that XDP allows. See docs/performance.md.

mod arguments;

use std::process::ExitCode;
use std::time::Duration;

use arguments::{Arguments, Change, Part, Uplinks};
use clap::Parser;
use weir_bench::load::Encapsulation;
use weir_bench::many_flows::Size;
use weir_bench::programs::{self, Effort};
use weir_bench::report::{StoredResult, Table};
use weir_bench::rounds::Plan;
use weir_bench::{
    Error, cable, changes, daemon, daily, day, gate, machine, meter, meter_daemon, meter_offload,
    meter_path, monitor_loss, multipath, paths, portal, record, redirects, report, soak, trust,
    verifier,
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
    if let Part::BareProxy { .. } | Part::Record { .. } = arguments.part {
        return part(arguments);
    }
    let _lock = machine::Lock::take()?;
    lab::sweep()?;
    let by_tcp = matches!(
        arguments.part,
        Part::Lemon { .. }
            | Part::Multipath { .. }
            | Part::Uplinks { .. }
            | Part::Experiment { .. }
            | Part::Connections { .. }
    );
    if !by_tcp {
        return part(arguments);
    }
    machine::has_memory_for_tcp()?;
    let measured = part(arguments);
    // A lack of TCP memory would explain any result.
    machine::has_memory_for_tcp().and(measured)
}

fn part(arguments: &Arguments) -> Result<(), Error> {
    match &arguments.part {
        Part::BareProxy { side } => multipath::bare(*side),
        Part::Record { files, docs } => files.iter().try_for_each(|file| record::file(file, docs)),
        Part::Programs => single_programs(arguments),
        Part::Ports { rounds } => ports(arguments, *rounds),
        Part::Trust {
            weir,
            rounds,
            seconds,
        } => {
            let plan = Plan {
                rounds: *rounds,
                seconds: *seconds,
                warm: seconds / 2.0,
            };
            let binary = daemon::binary(weir.as_deref())?;
            let counted = trust::agreement(&binary, plan, arguments.cpu)?;
            let (noise, found) = trust::planted(&binary, plan, arguments.cpu)?;
            let tables = trust::report(&counted, noise, &found);
            tell(arguments, &tables, &(counted, noise, found))
        }
        Part::Meter {
            flows,
            rounds,
            runs,
            daemon,
            path,
            offload,
            seconds,
            weir,
        } => {
            if *offload {
                let binary = daemon::binary(weir.as_deref())?;
                let plan = Plan {
                    rounds: *rounds,
                    seconds: 1.0,
                    warm: 0.3,
                };
                let found = meter_offload::all(&binary, flows, plan, *seconds, arguments.cpu)?;
                let table = meter_offload::report(&found);
                return tell(arguments, &[("meter-offload", table)], &found);
            }
            if *path {
                let binary = daemon::binary(weir.as_deref())?;
                let plan = Plan {
                    rounds: *rounds,
                    seconds: f64::from(*seconds),
                    warm: 0.3,
                };
                let flows = 400;
                let found = meter_path::all(&binary, flows, plan, arguments.cpu)?;
                return tell(
                    arguments,
                    &[("meter-path", meter_path::report(&found))],
                    &found,
                );
            }
            if *daemon {
                let binary = daemon::binary(weir.as_deref())?;
                let burdens = meter_daemon::burdens(&binary, flows, *seconds)?;
                let table = meter_daemon::report(&burdens);
                return tell(arguments, &[("meter-daemon", table)], &burdens);
            }
            datapath::bench::pin(arguments.cpu)?;
            let costs = meter::all(&meter::Effort {
                runs: *runs,
                rounds: *rounds,
                flows: flows.clone(),
            })?;
            tell(arguments, &[("meter", meter::report(&costs))], &costs)
        }
        Part::Lemon {
            weir,
            rounds,
            seconds,
            only,
        } => {
            let cases = if only.is_empty() {
                monitor_loss::Case::ALL.to_vec()
            } else {
                only.clone()
            };
            let plan = monitor_loss::Plan {
                rounds: *rounds,
                seconds: *seconds,
            };
            let binary = daemon::binary(weir.as_deref())?;
            let losses = monitor_loss::all(&binary, &cases, plan, |text| eprintln!("{text}"))?;
            tell(
                arguments,
                &[("lemon", monitor_loss::report(&losses))],
                &losses,
            )
        }
        Part::Multipath {
            weir,
            rounds,
            seconds,
            shadowsocks,
        } => {
            let binary = daemon::binary(weir.as_deref())?;
            let mut ways = multipath::methods::Method::ALL.to_vec();
            ways.retain(|way| *shadowsocks || *way != multipath::methods::Method::Shadowsocks);
            let told = |text: &str| eprintln!("{text}");
            let found = multipath::methods::all(&binary, &ways, *rounds, *seconds, told)?;
            tell(arguments, &multipath::methods::report(&found), &found)
        }
        Part::Uplinks {
            weir,
            rounds,
            seconds,
            only,
            arrangement,
        } => {
            let binary = daemon::binary(weir.as_deref())?;
            let told = |text: &str| eprintln!("{text}");
            let (mut sums, mut cuts, mut tables) = (Vec::new(), Vec::new(), Vec::new());
            if *only != Some(Uplinks::Cuts) {
                sums = multipath::aggregate::all(&binary, *rounds, *seconds, arrangement, told)?;
                tables.push(("uplinks-sums", multipath::aggregate::report(&sums)));
            }
            if *only != Some(Uplinks::Sums) {
                cuts = multipath::outages::all(&binary, *rounds, told)?;
                tables.push(("uplinks-cuts", multipath::outages::report(&cuts)));
            }
            tell(arguments, &tables, &(sums, cuts))
        }
        Part::Experiment { weir, svg } => {
            let binary = daemon::binary(weir.as_deref())?;
            let found = multipath::experiment::all(&binary, |text| eprintln!("{text}"))?;
            if let Some(file) = svg {
                std::fs::write(file, multipath::experiment::draw(&found))
                    .map_err(Error::system(format!("write {}", file.display())))?;
            }
            let table = multipath::experiment::report(&found);
            tell(arguments, &[("experiment", table)], &found)
        }
        Part::Connections {
            weir,
            idle,
            rate,
            rounds,
        } => {
            let binary = daemon::binary(weir.as_deref())?;
            let told = |text: &str| eprintln!("{text}");
            let found = multipath::connections::all(&binary, *idle, *rate, 10, *rounds, told)?;
            tell(arguments, &multipath::connections::report(&found), &found)
        }
        Part::Soak {
            weir,
            rate,
            minutes,
            seconds,
        } => {
            let binary = daemon::binary(weir.as_deref())?;
            let length = Duration::from_secs(60 * u64::from(*minutes));
            let found = soak::soak(&binary, *rate, length, *seconds, |looks| {
                eprintln!("{:?}", looks.last());
                // An hour is long: an early end must not lose the results so far.
                keep(arguments, &[("soak", soak::report(looks))], &looks).map(drop)
            })?;
            tell(arguments, &[("soak", soak::report(&found))], &found)
        }
        Part::Day { weir, minutes } => {
            let binary = daemon::binary(weir.as_deref())?;
            let length = Duration::from_secs(60 * u64::from(*minutes));
            let compared = day::day(&binary, length, |text| eprintln!("{text}"))?;
            tell(arguments, &[("day", day::report(&compared))], &compared)?;
            match compared.iter().all(day::DayComparison::same) {
                true => Ok(()),
                false => Err(Error::Wrong(format!(
                    "different from the kernel alone: {compared:#?}"
                ))),
            }
        }
        Part::Daily { weir, flows, rate } => {
            let binary = daemon::binary(weir.as_deref())?;
            // The burden comes first, as it needs no pin.
            let burden = daily::burden(&binary, *rate, 10)?;
            let latencies = daily::latencies(&binary, *flows, arguments.cpu)?;
            let lines: Vec<_> = latencies.iter().map(daily::Latencies::line).collect();
            let headings = ["latency, ms", "flows", "median", "99 %", "largest"];
            let tables = [
                ("daily", report::table(&["the daemon", ""], &burden)),
                ("daily-latency", report::table(&headings, &lines)),
            ];
            tell(arguments, &tables, &(burden, latencies))
        }
        Part::Paths { only, weir } => {
            let chosen = only.map_or(Encapsulation::ALL.to_vec(), |one| vec![one]);
            whole_paths(arguments, &chosen, &daemon::binary(weir.as_deref())?)
        }
        Part::Portal {
            weir,
            guests,
            redirects: only,
            rounds,
            seconds,
        } => {
            let binary = daemon::binary(weir.as_deref())?;
            let plan = Plan {
                rounds: *rounds,
                seconds: *seconds,
                warm: 0.3,
            };
            if *only {
                let found = redirects::measure(&binary, *rounds)?;
                let table = redirects::report(&found);
                return tell(arguments, &[("portal-redirects", table)], &found);
            }
            let found = portal::measure(&binary, *guests)?;
            let kept = portal::kept(&binary, 1000, plan, arguments.cpu)?;
            let redirects = redirects::measure(&binary, *rounds)?;
            let tables = [
                ("portal", portal::report(&found, &kept)),
                ("portal-redirects", redirects::report(&redirects)),
            ];
            tell(arguments, &tables, &(found, kept, redirects))
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
            let table = report::table(&changes::Changes::HEADINGS, &lines);
            tell(arguments, &[("changes", table)], &lines)
        }
        Part::Verifier { file, record } => verifier(file, record.as_deref()),
        Part::Instructions { file, record } => instructions(file, *record),
    }
}

fn single_programs(arguments: &Arguments) -> Result<(), Error> {
    datapath::bench::pin(arguments.cpu)?;
    let effort = Effort {
        runs: 200_000,
        batches: 7,
        flows: 100_000,
    };
    let mut costs = programs::all(effort)?;
    costs.extend(cable::all(effort)?);
    let table = report::programs(&costs, "ns");
    tell(arguments, &[("programs", table)], &costs)
}

fn ports(arguments: &Arguments, rounds: u32) -> Result<(), Error> {
    datapath::bench::pin(arguments.cpu)?;
    let costs = cable::all(Effort {
        runs: 100_000,
        batches: rounds,
        flows: 1,
    })?;
    let storms = cable::storms(rounds)?;
    let tables = [
        ("ports", report::programs(&costs, "ns")),
        ("storms", cable::report(&storms)),
    ];
    tell(arguments, &tables, &(costs, storms))
}

/// Loads all programs, and counts their instructions.
fn counted() -> Result<gate::Record, Error> {
    let effort = Effort {
        runs: 1000,
        batches: 3,
        flows: 1000,
    };
    let mut costs = programs::all(effort)?;
    costs.extend(cable::all(effort)?);
    costs.extend(meter::of_the_gate()?);
    Ok(gate::Record {
        kernel: kernel::release::release(),
        compiler: machine::compiler(),
        costs,
    })
}

/// Loads of the programs, at most, before a path counts as more expensive.
const LOADS: u32 = 3;

fn instructions(file: &std::path::Path, record: bool) -> Result<(), Error> {
    datapath::bench::pin(0)?;
    let mut now = counted()?;
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
    let (mut table, mut failed) = gate::compare(&recorded, &now);
    for _ in 1..LOADS {
        if failed.is_empty() {
            break;
        }
        println!("dearer, so loaded again: {}", failed.join("; "));
        now.lower(&counted()?);
        (table, failed) = gate::compare(&recorded, &now);
    }
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
    let (kernel, compiler) = (
        verifier::series(&kernel::release::release()),
        machine::compiler(),
    );
    let programs = verifier::ask()?;
    let recorded = all.get(&kernel).and_then(|work| work.get(&compiler));
    let nothing = verifier::Programs::new();
    let (table, failed) = verifier::compare(recorded.unwrap_or(&nothing), &programs);
    println!("Linux {kernel}, {compiler}\n\n{table}");
    if let Some(to) = to {
        all.entry(kernel).or_default().insert(compiler, programs);
        return write(to, &all);
    }
    match recorded {
        None => println!("NOT COMPARED: no record for Linux {kernel} and {compiler}"),
        Some(_) if failed.is_empty() => {}
        Some(_) => {
            return Err(Error::Wrong(format!(
                "the verifier's work grew, or exceeds its limit: {}",
                failed.join("; ")
            )));
        }
    }
    Ok(())
}

fn whole_paths(
    arguments: &Arguments,
    chosen: &[Encapsulation],
    weir: &std::path::Path,
) -> Result<(), Error> {
    let costs = paths::measure(chosen, paths::Effort::default(), weir, |text| {
        eprintln!("{text}");
    })?;
    tell(arguments, &paths::report(&costs), &costs)
}

/// Writes the results to the file of `--json`, if given.
fn keep(
    arguments: &Arguments,
    tables: &[(&str, Table)],
    figures: &impl serde::Serialize,
) -> Result<StoredResult, Error> {
    let measured = StoredResult::here(tables, figures)?;
    if let Some(file) = &arguments.json {
        write(file, &measured)?;
    }
    Ok(measured)
}

/// Writes the results, and prints them.
fn tell(
    arguments: &Arguments,
    tables: &[(&str, Table)],
    figures: &impl serde::Serialize,
) -> Result<(), Error> {
    println!("{}", keep(arguments, tables, figures)?);
    Ok(())
}

fn write(file: &std::path::Path, what: &impl serde::Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(what).unwrap_or_default();
    std::fs::write(file, text + "\n").map_err(Error::system(format!("write {}", file.display())))
}
