//! `weir-atlas import`: files into the store.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;

use super::data::Data;
use super::failure::Failure;
use super::terminal::in_line;
use crate::error::Error;
use crate::read::{self, Mapping, Progress};
use crate::store::Writer;

/// Interval of progress reports to a terminal.
const TELL: Duration = Duration::from_millis(200);

/// Read snapshots into the data folder
///
/// Reads folders, files, archives (.json, .gz, .xz, .tar, .tar.gz, .tar.xz) and addresses, in any
/// order. Snapshots that were read before are skipped, so the same command continues an interrupted
/// import. Irregular data are recorded in the ledger.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Press Ctrl-C to end after the current snapshot; data read so far are kept.

Examples:
  weir-atlas import snapshots.tar.xz
  weir-atlas import --mapping my.toml https://example.org/directory.csv")]
pub(super) struct Arguments {
    /// Folders, files, archives or addresses
    #[arg(required = true, value_name = "PATH")]
    places: Vec<String>,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    mapping: MappingOption,
}

/// Format of the files.
#[derive(Args, Clone, Debug)]
pub(super) struct MappingOption {
    /// Mapping of the files: a TOML file, or the name of a built-in mapping
    #[arg(long, value_name = "FILE|NAME", default_value = "freifunk")]
    mapping: String,
}

impl MappingOption {
    pub fn read(&self) -> Result<Mapping, Error> {
        Mapping::named(&self.mapping)
    }
}

pub(super) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let mapping = arguments.mapping.read()?;
    let mut store = Writer::open(&arguments.data.data)?;
    let ends = on_interrupt();
    let watched = std::io::stderr().is_terminal();
    let (begin, mut told) = (Instant::now(), Instant::now());
    let mut progress = |now: &Progress| {
        if watched && told.elapsed() >= TELL {
            told = Instant::now();
            let file = in_line(&now.file);
            eprint!("\r\x1b[K{} entries, {file}", now.entries);
        }
        match ends.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let done = read::import(&arguments.places, &mapping, &mut store, &mut progress);
    if watched {
        eprint!("\r\x1b[K");
    }
    let done = done?;
    let seconds = begin.elapsed().as_secs_f64();
    writeln!(
        output,
        "{} files were read, {} were known, {} left out: {} entries in {seconds:.1} s",
        done.files, done.known, done.left_out, done.entries
    )?;
    if done.remarks > 0 {
        let data = arguments.data.data.display();
        let remarks = done.remarks;
        writeln!(
            output,
            "{remarks} remarks: `weir-atlas ledger --data {data}` lists them"
        )?;
    }
    if ends.load(Ordering::Relaxed) {
        writeln!(output, "Interrupted: run the same command to continue.")?;
    } else if done.files == 0 && done.known > 0 {
        writeln!(
            output,
            "Nothing was new. Another mapping applies to new files only: use an empty data folder \
                to read all files again."
        )?;
    } else if done.files == 0 && done.known == 0 {
        let what = format!(
            "{} contains no directory file: their names end in {}",
            arguments.places.join(", "),
            read::ENDINGS.join(", ")
        );
        return Err(Error::Other(what).into());
    } else if done.entries == 0 && done.known == 0 {
        let what = "nothing could be read: check `--mapping`, and see the ledger for the reasons";
        return Err(Error::Other(what.into()).into());
    }
    Ok(())
}

/// Returns a flag that Ctrl-C and SIGTERM set.
pub(super) fn on_interrupt() -> Arc<AtomicBool> {
    use tokio::signal::unix::{SignalKind, signal};
    let ends = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&ends);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        // Without the runtime, signals keep their default effect: they end the program at once.
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let signals = (
                signal(SignalKind::interrupt()),
                signal(SignalKind::terminate()),
            );
            if let (Ok(mut interrupt), Ok(mut terminate)) = signals {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                told.store(true, Ordering::Relaxed);
            }
        });
    });
    ends
}
