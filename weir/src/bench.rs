//! `weir bench`: how many packets a second this machine forwards, and by what.

mod bar;
mod compare;
mod lab;
mod radio;
mod receive;
mod send;

use std::path::Path as File;

use clap::{Args, Subcommand};

use runtime::Error;
use runtime::output::Output;
use runtime::registry::{Command, Entry, Group};

/// The laboratory's command; nothing of it is part of the daemon.
pub const ENTRY: Entry = Entry {
    commands: || vec![Command::printing(Group::Diagnose, "bench", run)],
    ..Entry::named("bench")
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

/// Where it was asked for.
fn keep(file: Option<&File>, text: impl FnOnce() -> String) -> Result<(), Error> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, text()).map_err(|error| {
        let what = format!("{} cannot be written", file.display());
        Error::because(what, &error, "")
    })
}

fn failed(error: bench::Error) -> Error {
    let hint = match &error {
        bench::Error::Lab(_) | bench::Error::Datapath(_) => {
            "`weir check` says what the kernel lacks"
        }
        bench::Error::System { .. } => "start it as root, with room for files in /run and /tmp",
        bench::Error::Client(_) | bench::Error::Wrong(_) => {
            "try again with less else running; report it if it stays"
        }
    };
    Error::because("it cannot be measured", &error, hint)
}

fn wire_trouble(trouble: bench::wires::Trouble) -> Error {
    Error::new(trouble.what, trouble.hint)
}
