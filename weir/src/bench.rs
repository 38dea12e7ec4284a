//! `weir bench`: measures the packets per second that this machine forwards, by path.

mod bar;
mod compare;
mod lab;
mod radio;
mod receive;
mod send;
mod shared;

use clap::{Args, Subcommand};

use runtime::Error;
use runtime::output::Output;
use runtime::registry::{Command, Group, ModuleEntry};

/// The laboratory's command, separate from the daemon.
pub const ENTRY: ModuleEntry = ModuleEntry {
    commands: || vec![Command::printing(Group::Diagnose, "bench", run)],
    ..ModuleEntry::named("bench")
};

/// Measure how many packets a second this machine forwards
#[derive(Args, Debug)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Lab(lab::LabArgs),
    Compare(compare::CompareArgs),
    Radio(radio::RadioArgs),
    Send(send::SendArgs),
    Receive(receive::ReceiveArgs),
}

pub fn run(args: &BenchArgs, output: &mut Output<'_>) -> Result<(), Error> {
    match &args.what {
        What::Lab(args) => lab::run(args, output),
        What::Compare(args) => compare::run(args, output),
        What::Radio(args) => radio::run(args, output),
        What::Send(args) => send::run(args, output),
        What::Receive(args) => receive::run(args, output),
    }
}
