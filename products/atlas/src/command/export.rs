//! `weir-atlas export`: the data for other programs.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::data::Data;
use super::failure::Failure;
use crate::export;

/// Write all data as Parquet files
///
/// Overwrites the files of an earlier export in the folder, and removes those of years that the
/// data no longer have. A folder with other files is not touched without --force.
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir-atlas export --parquet parquet
  duckdb -c \"SELECT count(*) FROM 'parquet/observations-*.parquet'\"")]
pub(super) struct Arguments {
    #[command(flatten)]
    data: Data,
    /// Folder for the files; created if missing
    #[arg(long, value_name = "FOLDER", required = true)]
    parquet: PathBuf,
    /// Overwrite files of the same names, whatever their origin
    #[arg(long)]
    force: bool,
}

pub(super) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let (data, out) = (&arguments.data.data, &arguments.parquet);
    for written in export::parquet(data, out, arguments.force)? {
        let export::Written { file, rows, octets } = written;
        writeln!(
            output,
            "{file:<28} {rows:>12} rows {:>10} kB",
            octets / 1000
        )?;
    }
    Ok(())
}
