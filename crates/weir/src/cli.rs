//! The command line: what can be typed, and the words that explain it. Parser, `--help`, man pages and completions all come
//! from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    capture, check, completions, config, devices, drops, explain, flows, history, hops, man,
    multipath, passwd, paths, ports, probes, reload, run, status, talks,
};

const AFTER_HELP: &str = "\
Examples:
  weir check                      what this machine can do, and what stands in the way
  weir run                        start forwarding, with what weir finds by itself
  weir status                     how it is doing
  weir flows --sort octets        the largest connections first
  weir explain 192.168.1.2:40000 1.1.1.1:443
  weir top                        who uses the network, live

Exit codes:
  0  done
  1  failed: what, why and what to do about it is on standard error
  2  the command line cannot be understood

Units: octets in powers of 1024 (KiB, MiB), packets in powers of 1000 (k, M). --json has every number in full.
Colour is used on a terminal only, and never where NO_COLOR is set.";

/// Makes a Linux router faster, and shows who uses it
///
/// Weir takes over connections that the kernel's firewall has accepted, and forwards their packets in the driver (XDP) or at TC
/// ingress. The kernel decides; weir repeats what it saw the kernel do. Whatever passes is counted, per conversation and device.
#[derive(Debug, Parser)]
#[command(name = "weir", version, after_long_help = AFTER_HELP, after_help = "`weir --help` says more, with examples.",
    max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands. Each says in its own file what it does: a word here would hide that from `--help`.
#[derive(Debug, Subcommand)]
#[allow(missing_docs)]
pub enum Command {
    Run(run::RunArgs),
    Status(status::StatusArgs),
    Flows(flows::FlowsArgs),
    Explain(explain::ExplainArgs),
    Paths(paths::PathsArgs),
    Ports(ports::PortsArgs),
    Hops(hops::HopsArgs),
    Capture(capture::CaptureArgs),
    Drops(drops::DropsArgs),
    Devices(devices::DevicesArgs),
    Talks(talks::TalksArgs),
    History(history::HistoryArgs),
    #[cfg(feature = "top")]
    Top(crate::commands::top::TopArgs),
    Probes(probes::ProbesArgs),
    Check(check::CheckArgs),
    Config(config::ConfigArgs),
    Reload(reload::ReloadArgs),
    Multipath(multipath::MultipathArgs),
    Passwd(passwd::PasswdArgs),
    #[cfg(feature = "bench")]
    Bench(crate::commands::bench::BenchArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Where the daemon is.
#[derive(Args, Clone, Debug, Default)]
pub struct Connection {
    /// Socket of the daemon [default: $WEIR_SOCKET, else the configuration's, else that of this network namespace]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// How to print.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Format {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn is_consistent() {
        Cli::command().debug_assert();
    }
}
