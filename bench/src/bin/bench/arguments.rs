//! Arguments of the command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use weir_bench::load::Encapsulation;
use weir_bench::{monitor_loss, multipath};

/// Measures weir's own parts. For forwarding rates, use `weir bench lab`.
#[derive(Debug, Parser)]
pub struct Arguments {
    #[command(subcommand)]
    pub part: Part,
    /// Processor to run on
    #[arg(long, global = true, default_value_t = 1)]
    pub cpu: usize,
    /// Write the tables and their figures to this file; in the machine of `scripts/vm`, use
    /// `$VM_OUT`, where files persist
    #[arg(long, global = true)]
    pub json: Option<PathBuf>,
}

/// A measurement, with its options.
#[derive(Debug, Subcommand)]
pub enum Part {
    /// Measure single programs, in nanoseconds per packet beyond those of a drop
    Programs,
    /// Measure the classifier of ports: its programs beyond a drop, and storms from a wire
    Ports {
        /// Number of rounds
        #[arg(long, default_value_t = 9)]
        rounds: u32,
    },
    /// Measure the accuracy of the laboratory: compare with the counters of the server's device,
    /// and find planted slowdowns
    Trust {
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Number of rounds
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Seconds for each measurement in a round
        #[arg(long, default_value_t = 1.0)]
        seconds: f64,
    },
    /// Write results of `weir bench lab --json` or of these benchmarks into the documentation:
    /// tables, and for the laboratory also picture and report
    Record {
        /// Result files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Folder of the documentation
        #[arg(long, default_value = "docs")]
        docs: PathBuf,
    },
    /// Measure the meter, in nanoseconds per packet beyond those of its parser, beside the tables
    /// of other programs
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
        /// Measure the daemon's processor time and memory instead, while this many flows are
        /// active: one packet of each per second
        #[arg(long)]
        daemon: bool,
        /// Measure the kernel's whole path instead: without programs, with programs that do
        /// nothing, and with the monitor
        #[arg(long, conflicts_with = "daemon")]
        path: bool,
        /// Measure what weir forwards at XDP instead, with and without counting, and the daemon's
        /// processor time
        #[arg(long, conflicts_with_all = ["daemon", "path"])]
        offload: bool,
        /// Seconds for each number of flows (daemon), or for each measurement (path)
        #[arg(long, default_value_t = 10)]
        seconds: u32,
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
    },
    /// Measure the cost of counting to users: iperf3 through a router, without a counter, with
    /// weir's monitor, with softflowd
    Lemon {
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Number of rounds
        #[arg(long, default_value_t = 30)]
        rounds: u32,
        /// Seconds for each measurement in a round
        #[arg(long, default_value_t = 1.0)]
        seconds: f64,
        /// Only these cases
        #[arg(long, value_delimiter = ',', value_parser = case)]
        only: Vec<monitor_loss::Case>,
    },
    /// Measure the cost of a partner to a client's TCP: direct, in the clear, encrypted, and by
    /// other proxies
    Multipath {
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Number of rounds
        #[arg(long, default_value_t = 9)]
        rounds: u32,
        /// Seconds for each measurement in a round
        #[arg(long, default_value_t = 2.0)]
        seconds: f64,
        /// Also measure shadowsocks-libev. Under Linux 6.18 it once corrupted the count of TCP's
        /// memory, and all TCP of the machine was slow until a reboot
        #[arg(long)]
        shadowsocks: bool,
    },
    /// Measure several rate-limited uplinks as one: sums, and cut cables
    Uplinks {
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Number of rounds
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Seconds for each sum in a round
        #[arg(long, default_value_t = 5.0)]
        seconds: f64,
        /// Only this part
        #[arg(long)]
        only: Option<Uplinks>,
        /// Only sums of arrangements whose name contains this text
        #[arg(long, default_value = "")]
        arrangement: String,
    },
    /// Measure TCP and UDP over two bridges of 20 Mbit/s, one of which loses its cable for a while
    Experiment {
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Draw the result to this file, as SVG
        #[arg(long)]
        svg: Option<PathBuf>,
    },
    /// Measure how many connections a router and its partner hold, and the time to the first byte
    Connections {
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Number of idle connections
        #[arg(long, default_value_t = 10_000)]
        idle: u32,
        /// New connections per second, for ten seconds
        #[arg(long, default_value_t = 1000)]
        rate: u32,
        /// Rounds of first bytes
        #[arg(long, default_value_t = 9)]
        rounds: u32,
    },
    /// Run a bare proxy, for `bench multipath`
    #[command(hide = true)]
    BareProxy {
        /// Side of the proxy
        side: multipath::Side,
    },
    /// Run conversations that begin and end for an hour: check memory, and sums against those of
    /// the wires
    Soak {
        /// Daemon to observe [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Conversations that begin and end each second
        #[arg(long, default_value_t = 1000)]
        rate: u32,
        /// Minutes
        #[arg(long, default_value_t = 60)]
        minutes: u32,
        /// Seconds between two samples
        #[arg(long, default_value_t = 55)]
        seconds: u32,
    },
    /// Run a day in an hour, beside the kernel alone: idle, dead, roaming, expired, banned and
    /// used-up sessions must end as with the kernel
    Day {
        /// Daemon to observe [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Minutes; fewer run only a part of the day
        #[arg(long, default_value_t = 60)]
        minutes: u32,
    },
    /// Measure the daemon: latencies, memory, processor time
    Daily {
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Flows for the latencies
        #[arg(long, default_value_t = 1000)]
        flows: u32,
        /// New flows per second, for ten seconds
        #[arg(long, default_value_t = 20_000)]
        rate: u32,
    },
    /// Measure whole paths in instructions per packet: kernel, flowtable and weir, in each
    /// arrangement; run by `scripts/vm --icount`
    Paths {
        /// Only this encapsulation: plain, vlan, qinq, pppoe, pppoe-over-vlan
        #[arg(long)]
        only: Option<Encapsulation>,
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
    },
    /// Measure a portal while very many guests log in at once
    Portal {
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Number of guests that log in
        #[arg(long, default_value_t = 5000)]
        guests: u32,
        /// Only measure the redirect rate to the page, beside openNDS
        #[arg(long)]
        redirects: bool,
        /// Rounds of the closed loop
        #[arg(long, default_value_t = 9)]
        rounds: u32,
        /// Seconds of each of its measurements
        #[arg(long, default_value_t = 0.8)]
        seconds: f64,
    },
    /// Measure changes of many neighbours, stations and rules at once, under many flows
    Changes {
        /// Daemon to measure [default: the one beside this binary]
        #[arg(long, value_name = "PATH")]
        weir: Option<PathBuf>,
        /// Least number of flows
        #[arg(long, default_value_t = 100_000)]
        flows: u32,
        /// Number of neighbours or stations
        #[arg(long, default_value_t = 1000)]
        hosts: u32,
        /// Number of changes of each
        #[arg(long, default_value_t = 9)]
        times: u32,
        /// Only these changes
        #[arg(long, value_delimiter = ',')]
        only: Vec<Change>,
    },
    /// Compare the verifier's work for each program with the record for this kernel
    Verifier {
        /// File of the record
        #[arg(long, default_value = "bench/verifier.json")]
        file: PathBuf,
        /// Write the record to this file instead of comparing; in the machine of `scripts/vm`, use
        /// `$VM_OUT`
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
    },
    /// Measure `programs` in instructions, and compare with the record; run by `scripts/vm
    /// --icount`
    Instructions {
        /// File of the record
        #[arg(long, default_value = "bench/instructions.json")]
        file: PathBuf,
        /// Write the record instead of comparing; in the machine of `scripts/vm`, `$VM_OUT`
        /// persists
        #[arg(long)]
        record: bool,
    },
}

/// Part of the measurement of uplinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Uplinks {
    /// Sums of the uplinks
    Sums,
    /// Effect of a cut
    Cuts,
}

/// Object that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Change {
    /// Hardware addresses of neighbours
    Neighbours,
    /// Locations of stations of a bridge
    Stations,
    /// The firewall's rules
    Rules,
}

fn case(name: &str) -> Result<monitor_loss::Case, String> {
    let found = monitor_loss::Case::ALL
        .into_iter()
        .find(|case| case.name == name);
    found.ok_or_else(|| {
        format!(
            "must be one of {}",
            monitor_loss::Case::ALL.map(|case| case.name).join(", ")
        )
    })
}
