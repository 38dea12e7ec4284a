//! Arguments of the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use weir_bench::load::Wires;
use weir_bench::{lemon, multipath};

/// What is measured of weir's own parts. How fast it forwards: `weir bench lab`.
#[derive(Debug, Parser)]
pub struct Arguments {
    #[command(subcommand)]
    pub part: Part,
    /// Processor to run on
    #[arg(long, global = true, default_value_t = 1)]
    pub cpu: usize,
    /// Write the tables, and the figures behind them, to this file; in the machine of `scripts/vm`,
    /// `$VM_OUT` is where files last
    #[arg(long, global = true)]
    pub json: Option<PathBuf>,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Part {
    /// Single programs, nanoseconds per packet beyond those of a drop
    Programs,
    /// The classifier of ports: its programs, beyond a drop, and storms that come by a wire
    Ports {
        /// Rounds
        #[arg(long, default_value_t = 9)]
        rounds: u32,
    },
    /// What the laboratory's figures are worth: beside what the server's device counts, and with
    /// slowdowns that were planted
    Trust {
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Rounds
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Seconds for each in a round
        #[arg(long, default_value_t = 1.0)]
        seconds: f64,
    },
    /// Puts what `weir bench lab --json` or these benchmarks wrote into the documentation: tables,
    /// and of the laboratory picture and report
    Record {
        /// What they wrote
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The documentation
        #[arg(long, default_value = "docs")]
        docs: PathBuf,
    },
    /// The meter, nanoseconds per packet beyond those of its parse; beside it the tables that
    /// others use
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
        /// The daemon's processor time and memory instead, while so many flows are active: a packet
        /// of each in a second
        #[arg(long)]
        daemon: bool,
        /// The kernel's whole path instead: with nobody, with programs that do nothing, with the
        /// monitor
        #[arg(long, conflicts_with = "daemon")]
        path: bool,
        /// What weir forwards at XDP instead, with and without counting; and the daemon's processor
        /// time meanwhile
        #[arg(long, conflicts_with_all = ["daemon", "path"])]
        offload: bool,
        /// Seconds for each number of flows, of the daemon; for each measurement of the path
        #[arg(long, default_value_t = 10)]
        seconds: u32,
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
    },
    /// What users lose while somebody counts: iperf3 through a router, with nobody, weir's monitor,
    /// softflowd
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
    },
    /// What a client's TCP loses by going by way of a partner: direct, in the clear, encrypted, by
    /// other proxies
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
        /// By shadowsocks-libev too: Linux 6.18 lost its count of TCP's memory by it once, and all
        /// TCP of the machine was slow until a reboot
        #[arg(long)]
        shadowsocks: bool,
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
        /// Only sums of arrangements whose name has this in it
        #[arg(long, default_value = "")]
        arrangement: String,
    },
    /// Two bridges of 20 Mbit/s, one of which loses its cable for a while: what arrives, by TCP and
    /// by UDP
    Experiment {
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Draw it to this file
        #[arg(long)]
        svg: Option<PathBuf>,
    },
    /// How many connections a router and its partner have room for, and how soon the first byte
    /// comes
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
        /// Rounds of first bytes
        #[arg(long, default_value_t = 9)]
        rounds: u32,
    },
    /// A bare proxy, for `bench multipath`
    #[command(hide = true)]
    BareProxy {
        /// Which side
        side: multipath::Side,
    },
    /// Conversations that begin and end all the time, for an hour: memory, and whether the sums are
    /// those of the wires
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
    },
    /// A day in an hour, beside the kernel alone: what rests, dies, roams, expires, is banned or
    /// used up ends as it does there
    Day {
        /// The daemon to look at [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Minutes: fewer are a part of the day
        #[arg(long, default_value_t = 60)]
        minutes: u32,
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
    /// Whole paths in instructions per packet: kernel, flowtable, weir, in each arrangement; to be
    /// run by `scripts/vm --icount`
    Paths {
        /// Only these wires: plain, vlan, qinq, pppoe, pppoe-over-vlan
        #[arg(long)]
        only: Option<Wires>,
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
    },
    /// A portal at which very many guests log in at once
    Portal {
        /// The daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Guests that log in
        #[arg(long, default_value_t = 5000)]
        guests: u32,
        /// Only how fast guests are led to the page, beside openNDS
        #[arg(long)]
        redirects: bool,
        /// Rounds of the closed loop
        #[arg(long, default_value_t = 9)]
        rounds: u32,
        /// Seconds of each of its measurements
        #[arg(long, default_value_t = 0.8)]
        seconds: f64,
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
    /// What the verifier has to do for each program, against what is recorded for this kernel
    Verifier {
        /// What is recorded
        #[arg(long, default_value = "bench/verifier.json")]
        file: PathBuf,
        /// Record it to this file instead of comparing; in the machine `$VM_OUT` is where files
        /// last
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
    },
    /// The same as `programs` in instructions, against what is recorded; to be run by
    /// `scripts/vm --icount`
    Instructions {
        /// What is recorded
        #[arg(long, default_value = "bench/instructions.json")]
        file: PathBuf,
        /// Record instead of comparing; in the machine `$VM_OUT` is where files last
        #[arg(long)]
        record: bool,
    },
}

/// Part of the measurement of uplinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Uplinks {
    /// What they give together
    Sums,
    /// What a cut does
    Cuts,
}

/// Object that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Change {
    /// Hardware addresses of neighbours
    Neighbours,
    /// Where stations of a bridge are
    Stations,
    /// The firewall's rules
    Rules,
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
