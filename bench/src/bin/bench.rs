//! Measures weir against the kernel and against what XDP could do at best. See docs/performance.md.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use lab::Arrangement;
use weir_bench::circuit::{Circuit, Driver, Path};
use weir_bench::crowd::Size;
use weir_bench::programs::{self, Effort};
use weir_bench::rounds::{self, Plan};
use weir_bench::{
    Error, changes, daemon, daily, gate, lemon, machine, meter, meter_daemon, meter_path,
    multipath, paths, report, soak,
};

/// The one-core closed loop: packets per second through the kernel, through weir, and through the least a router must do.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    part: Option<Part>,
    /// Rounds over all rows
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seconds for each measurement
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Only these rows
    #[arg(long, value_delimiter = ',', value_parser = path)]
    only: Vec<Path>,
    /// Number of flows
    #[arg(long, default_value_t = 64)]
    flows: u32,
    /// Length of the frames, octets
    #[arg(long, default_value_t = 60)]
    length: usize,
    /// The daemon to measure [default: the one beside this binary]
    #[arg(long, value_name = "PATH")]
    weir: Option<PathBuf>,
    /// Steer weir's packet path from here, without the daemon
    #[arg(long)]
    direct: bool,
    /// Two short rounds: to see that it works
    #[arg(long)]
    quick: bool,
    /// Processor to run on
    #[arg(long, default_value_t = 1)]
    cpu: usize,
    /// Write the rows to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What else can be measured.
#[derive(Debug, Subcommand)]
enum Part {
    /// Single programs, nanoseconds per packet beyond those of a drop
    Programs,
    /// The meter, nanoseconds per packet beyond those of its parse; beside it the tables that others use
    Meter {
        /// Numbers of flows
        #[arg(long, value_delimiter = ',', default_value = "1,10,400,4096,65536")]
        flows: Vec<u32>,
        /// Rounds over all programs
        #[arg(long, default_value_t = 9)]
        rounds: u32,
        /// Runs of a program in a round
        #[arg(long, default_value_t = 200_000)]
        runs: u32,
        /// The daemon's processor time and memory instead, while so many flows are active: a packet of each in a second
        #[arg(long)]
        daemon: bool,
        /// The kernel's whole path instead: with nobody, with programs that do nothing, with the monitor
        #[arg(long, conflicts_with = "daemon")]
        path: bool,
        /// Seconds for each number of flows, of the daemon; for each measurement of the path
        #[arg(long, default_value_t = 10)]
        seconds: u32,
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Write the figures to this file
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// What users lose while somebody counts: iperf3 through a router, with nobody, weir's monitor, softflowd
    Lemon {
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Rounds
        #[arg(long, default_value_t = 30)]
        rounds: u32,
        /// Seconds for each in a round
        #[arg(long, default_value_t = 1.0)]
        seconds: f64,
        /// Only these
        #[arg(long, value_delimiter = ',', value_parser = case)]
        only: Vec<lemon::Case>,
        /// Write the figures to this file
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// What a client's TCP loses by going by way of a partner: direct, in the clear, encrypted, by other proxies
    Multipath {
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Rounds
        #[arg(long, default_value_t = 9)]
        rounds: u32,
        /// Seconds for each in a round
        #[arg(long, default_value_t = 2.0)]
        seconds: f64,
        /// Write the figures to this file
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Several uplinks as one, where they have a rate: the sums, and cables that are cut
    Uplinks {
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Rounds
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Seconds for each sum in a round
        #[arg(long, default_value_t = 5.0)]
        seconds: f64,
        /// Only this
        #[arg(long)]
        only: Option<Uplinks>,
        /// Write the figures to this file
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Two bridges of 20 Mbit/s, one of which loses its cable for a while: what arrives, by TCP and by UDP
    Experiment {
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Draw it to this file
        #[arg(long)]
        svg: Option<PathBuf>,
        /// Write the figures to this file
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// How many connections a router and its partner have room for, and how soon the first octet comes
    Connections {
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// That say nothing
        #[arg(long, default_value_t = 10_000)]
        idle: u32,
        /// New ones in a second, for ten seconds
        #[arg(long, default_value_t = 1000)]
        rate: u32,
        /// Rounds of first octets
        #[arg(long, default_value_t = 9)]
        rounds: u32,
        /// Write the figures to this file
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// A bare proxy, for `bench multipath`
    #[command(hide = true)]
    BareProxy {
        /// Which side
        side: multipath::Side,
    },
    /// Conversations that begin and end all the time, for an hour: memory, and whether the sums are those of the wires
    Soak {
        /// The daemon to look at [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Conversations that begin and end each second
        #[arg(long, default_value_t = 1000)]
        rate: u32,
        /// Minutes
        #[arg(long, default_value_t = 60)]
        minutes: u32,
        /// Seconds between two looks
        #[arg(long, default_value_t = 55)]
        seconds: u32,
        /// Write the figures to this file
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// The daemon: latencies, memory, processor time
    Daily {
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Flows for the latencies
        #[arg(long, default_value_t = 1000)]
        flows: u32,
        /// New flows per second, for ten seconds
        #[arg(long, default_value_t = 20_000)]
        rate: u32,
    },
    /// Whole paths in instructions per packet: kernel, flowtable, weir, in each arrangement; to be run by `scripts/vm --icount`
    Paths {
        /// Only this arrangement
        #[arg(long, value_parser = arrangement)]
        only: Option<Arrangement>,
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Write the figures to this file; in the machine `$VM_OUT` is where files last
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Many neighbours, stations and rules that change at once, under many flows
    Changes {
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Flows, at least
        #[arg(long, default_value_t = 100_000)]
        flows: u32,
        /// Neighbours, or stations
        #[arg(long, default_value_t = 1000)]
        hosts: u32,
        /// How often each is changed
        #[arg(long, default_value_t = 9)]
        times: u32,
        /// Only these
        #[arg(long, value_delimiter = ',')]
        only: Vec<Change>,
    },
    /// The same as `programs` in instructions, against what is recorded; to be run by `scripts/vm --icount`
    Instructions {
        /// What is recorded
        #[arg(long, default_value = "bench/instructions.json")]
        file: PathBuf,
        /// Record instead of comparing; in the machine `$VM_OUT` is where files last
        #[arg(long)]
        record: bool,
    },
}

/// What of the uplinks is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Uplinks {
    /// What they give together
    Sums,
    /// What a cut does
    Cuts,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Change {
    /// Hardware addresses of neighbours
    Neighbours,
    /// Where stations of a bridge are
    Stations,
    /// The firewall's rules
    Rules,
}

fn path(name: &str) -> Result<Path, String> {
    let found = Path::ALL.into_iter().find(|path| path.name() == name);
    found.ok_or_else(|| format!("one of {}", Path::ALL.map(Path::name).join(", ")))
}

fn case(name: &str) -> Result<lemon::Case, String> {
    let found = lemon::Case::ALL.into_iter().find(|case| case.name == name);
    found.ok_or_else(|| {
        format!(
            "one of {}",
            lemon::Case::ALL.map(|case| case.name).join(", ")
        )
    })
}

fn arrangement(name: &str) -> Result<Arrangement, String> {
    let found = paths::ARRANGEMENTS.into_iter().find(|one| one.name == name);
    found.ok_or_else(|| {
        format!(
            "one of {}",
            paths::ARRANGEMENTS.map(|one| one.name).join(", ")
        )
    })
}

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
    if let Some(Part::BareProxy { side }) = &arguments.part {
        return multipath::bare(*side);
    }
    let _lock = machine::Lock::take()?;
    lab::sweep()?;
    match &arguments.part {
        None => closed_loop(arguments),
        Some(Part::Programs) => single_programs(arguments.cpu),
        Some(Part::Meter {
            flows,
            rounds,
            runs,
            daemon,
            path,
            seconds,
            weir,
            json,
        }) => {
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
                return match json {
                    Some(file) => write(file, &found),
                    None => Ok(()),
                };
            }
            if *daemon {
                let binary = daemon::binary(weir.as_deref())?;
                let burdens = meter_daemon::burdens(&binary, flows, *seconds)?;
                println!(
                    "{}\n\n{}",
                    machine::describe(),
                    meter_daemon::report(&burdens)
                );
                return match json {
                    Some(file) => write(file, &burdens),
                    None => Ok(()),
                };
            }
            datapath::bench::pin(arguments.cpu)?;
            let costs = meter::all(&meter::Effort {
                runs: *runs,
                rounds: *rounds,
                flows: flows.clone(),
            })?;
            println!("{}\n\n{}", machine::describe(), meter::report(&costs));
            match json {
                Some(file) => write(file, &costs),
                None => Ok(()),
            }
        }
        Some(Part::Lemon {
            weir,
            rounds,
            seconds,
            only,
            json,
        }) => {
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
            match json {
                Some(file) => write(file, &losses),
                None => Ok(()),
            }
        }
        Some(Part::Multipath {
            weir,
            rounds,
            seconds,
            json,
        }) => {
            let binary = daemon::binary(weir.as_deref())?;
            let found =
                multipath::ways::all(&binary, *rounds, *seconds, |text| eprintln!("{text}"))?;
            println!(
                "{}\n\n{}",
                machine::describe(),
                multipath::ways::report(&found)
            );
            match json {
                Some(file) => write(file, &found),
                None => Ok(()),
            }
        }
        Some(Part::Uplinks {
            weir,
            rounds,
            seconds,
            only,
            json,
        }) => {
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
            match json {
                Some(file) => write(file, &(sums, cuts)),
                None => Ok(()),
            }
        }
        Some(Part::Experiment { weir, svg, json }) => {
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
            match json {
                Some(file) => write(file, &found),
                None => Ok(()),
            }
        }
        Some(Part::Connections {
            weir,
            idle,
            rate,
            rounds,
            json,
        }) => {
            let binary = daemon::binary(weir.as_deref())?;
            let told = |text: &str| eprintln!("{text}");
            let found = multipath::connections::all(&binary, *idle, *rate, 10, *rounds, told)?;
            println!(
                "{}\n\n{}",
                machine::describe(),
                multipath::connections::report(&found)
            );
            match json {
                Some(file) => write(file, &found),
                None => Ok(()),
            }
        }
        Some(Part::BareProxy { side }) => multipath::bare(*side),
        Some(Part::Soak {
            weir,
            rate,
            minutes,
            seconds,
            json,
        }) => {
            let binary = daemon::binary(weir.as_deref())?;
            let length = Duration::from_secs(60 * u64::from(*minutes));
            let found = soak::soak(&binary, *rate, length, *seconds, |looks| {
                eprintln!("{:?}", looks.last());
                // An hour is long: whatever ends it, what was seen is kept.
                json.as_ref().map_or(Ok(()), |file| write(file, &looks))
            })?;
            println!("{}\n\n{}", machine::describe(), soak::report(&found));
            Ok(())
        }
        Some(Part::Daily { weir, flows, rate }) => {
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
        Some(Part::Paths { only, weir, json }) => {
            let chosen = only.map_or(paths::ARRANGEMENTS.to_vec(), |one| vec![one]);
            whole_paths(&chosen, &daemon::binary(weir.as_deref())?, json.as_deref())
        }
        Some(Part::Changes {
            weir,
            flows,
            hosts,
            times,
            only,
        }) => {
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
        Some(Part::Instructions { file, record }) => instructions(file, *record),
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

fn whole_paths(
    chosen: &[Arrangement],
    weir: &std::path::Path,
    json: Option<&std::path::Path>,
) -> Result<(), Error> {
    let costs = paths::measure(chosen, paths::Effort::default(), weir, |text| {
        eprintln!("{text}");
    })?;
    println!("{}\n\n{}", machine::describe(), paths::report(&costs));
    match json {
        Some(file) => write(file, &costs),
        None => Ok(()),
    }
}

fn write(file: &std::path::Path, what: &impl serde::Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(what).unwrap_or_default();
    std::fs::write(file, text + "\n").map_err(Error::system(format!("write {}", file.display())))
}

fn closed_loop(arguments: &Arguments) -> Result<(), Error> {
    let plan = if arguments.quick {
        Plan {
            rounds: 2,
            seconds: 0.2,
            warm: 0.1,
        }
    } else {
        Plan {
            rounds: arguments.rounds,
            seconds: arguments.seconds,
            warm: 0.5,
        }
    };
    let rows = if arguments.only.is_empty() {
        Path::ALL.to_vec()
    } else {
        arguments.only.clone()
    };
    let driver = match arguments.direct {
        true => Driver::Direct,
        false => Driver::Daemon(daemon::binary(arguments.weir.as_deref())?),
    };
    let mut circuits = Vec::new();
    for path in rows {
        eprintln!("building: {}", path.text());
        circuits.push(Circuit::build(
            path,
            arguments.length,
            arguments.flows,
            &driver,
        )?);
    }
    // After everything else that runs has been started, so that none of it inherits the pin.
    datapath::bench::pin(arguments.cpu)?;
    let last = circuits
        .last_mut()
        .ok_or_else(|| Error::Wrong("no rows".into()))?;
    let same = rounds::same_against_same(
        last,
        &Plan {
            rounds: plan.rounds.min(3),
            ..plan
        },
    )?;
    let rows = rounds::run(&mut circuits, &plan, |text| eprintln!("{text}"))?;
    println!("{}", machine::describe());
    println!(
        "{} octets, {} flows, one core, {} rounds of {} s. A against A: up to {:.1} %.\n",
        arguments.length,
        arguments.flows,
        plan.rounds,
        plan.seconds,
        same.last().unwrap_or(&0.0) * 100.0
    );
    println!("{}", report::closed_loop(&rows));
    if let Some(file) = &arguments.json {
        write(file, &rows)?;
    }
    Ok(())
}
