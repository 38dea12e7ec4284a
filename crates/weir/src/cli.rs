//! The command line: what can be typed, and the words that explain it. Parser, `--help`, man pages
//! and completions all come from here.

use clap::Parser;

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

Units: octets in powers of 1024 (KiB, MiB), packets in powers of 1000 (k, M). --json has every \
number in full.
Colour is used on a terminal only, and never where NO_COLOR is set.";

/// Makes a Linux router faster, and shows who uses it
///
/// Weir takes over connections that the kernel's firewall has accepted, and forwards their packets
/// in the driver (XDP) or at TC ingress. The kernel decides; weir repeats what it saw the kernel
/// do. Whatever passes is counted, per conversation and device.
#[derive(Debug, Parser)]
#[command(name = "weir", version, after_long_help = AFTER_HELP, after_help = "`weir --help` says \
    more, with examples.",
    max_term_width = 100, disable_help_subcommand = true, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {}

#[cfg(test)]
mod tests {
    #[test]
    fn is_consistent() {
        crate::modules::all().tree().debug_assert();
    }
}
