//! `weir-atlas export`: the data for other programs.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::{Data, Failure};
use crate::export;

/// Write all data as Parquet files
///
/// What an earlier export wrote into the folder is written over, and its years that the data do not
/// have are removed. Where files of others have such names, nothing is written.
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir-atlas export --parquet parquet
  duckdb -c \"SELECT count(*) FROM 'parquet/observations-*.parquet'\"")]
pub(super) struct Arguments {
    #[command(flatten)]
    data: Data,
    /// Folder for the files; it is made where it is not there
    #[arg(long, value_name = "FOLDER", required = true)]
    parquet: PathBuf,
}

pub(super) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    for written in export::parquet(&arguments.data.data, &arguments.parquet)? {
        let export::Written { file, rows, octets } = written;
        writeln!(
            output,
            "{file:<28} {rows:>12} rows {:>10} kB",
            octets / 1000
        )?;
    }
    Ok(())
}
