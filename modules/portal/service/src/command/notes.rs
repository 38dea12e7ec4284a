//! `weir portal key` and `weir portal notes`: this node among others.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use answers::{NotesHeard, PortalKey, PortalNotes};
use api::Method;
use clap::{Args, Subcommand};
use portal_core::notes::{HEAD, LONGEST};

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Output, sanitize};

/// Maximum bytes per request, and of the longest line in a request: the daemon accepts 16 KiB.
const TOGETHER: usize = 14 * 1024;

/// Show this node's public key
///
/// Add the key to `trust` on other nodes: vouchers sold by this node are then valid there.
#[derive(Args, Debug)]
pub struct KeyArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

/// Exchange the usage of vouchers with other nodes
///
/// A node exports a file and another node imports it, by any transport. Files may be imported
/// twice, late and in any order, and may contain the notes of third nodes.
#[derive(Args, Debug)]
#[command(after_long_help = "Example, on one node and on the other:
  weir portal notes export > notes.txt
  weir portal notes import notes.txt")]
pub struct NotesArgs {
    #[command(subcommand)]
    what: Notes,
}

#[derive(Debug, Subcommand)]
enum Notes {
    Export(ExportArgs),
    Import(ImportArgs),
}

/// Export this node's knowledge of all vouchers, signed
#[derive(Args, Debug)]
struct ExportArgs {
    #[command(flatten)]
    connection: Connection,
}

/// Import files from other nodes
#[derive(Args, Debug)]
struct ImportArgs {
    /// Exported files; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn key(args: &KeyArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let key: PortalKey = client(&args.connection)?.get("/v1/portal/key")?;
    match args.format.json {
        true => output.json(&key)?,
        false => output.line(&key.key)?,
    }
    Ok(())
}

pub fn run(args: &NotesArgs, output: &mut Output<'_>) -> Result<(), Error> {
    match &args.what {
        Notes::Export(args) => {
            let notes: PortalNotes = client(&args.connection)?.get("/v1/portal/notes")?;
            output.line(HEAD)?;
            for line in notes.lines {
                output.line(&line)?;
            }
            Ok(())
        }
        Notes::Import(args) => import(args, output),
    }
}

fn import(args: &ImportArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let client = client(&args.connection)?;
    let mut all = NotesHeard::default();
    let mut tell = |lines: &mut Vec<String>| -> Result<(), Error> {
        if lines.is_empty() {
            return Ok(());
        }
        let told = PortalNotes {
            lines: std::mem::take(lines),
        };
        let heard: NotesHeard = client.send(Method::POST, "/v1/portal/notes", &told)?;
        all.new += heard.new;
        all.known += heard.known;
        all.refused.extend(heard.refused);
        all.double_use.extend(heard.double_use);
        Ok(())
    };
    for file in &args.files {
        let (mut lines, mut length) = (Vec::new(), 0);
        read(file, &mut |line| {
            // As JSON has it.
            let quoted = line.len() + line.bytes().filter(|o| matches!(o, b'"' | b'\\')).count();
            if length + quoted > TOGETHER {
                tell(&mut lines)?;
                length = 0;
            }
            length += quoted + 3;
            lines.push(line);
            Ok(())
        })?;
        tell(&mut lines)?;
    }
    all.refused.sort();
    all.refused.dedup();
    show(&all, args.format, output)?;
    // A timer's output may not be read.
    match all.refused.is_empty() {
        true => Ok(()),
        false => Err(Error::new(
            "not all notes were imported",
            "see the causes above; `trust` under [portal] names the nodes whose notes are accepted",
        )),
    }
}

/// Reads each line of a file, after its first.
fn read(file: &Path, each: &mut dyn FnMut(String) -> Result<(), Error>) -> Result<(), Error> {
    let name = sanitize(&file.display().to_string());
    let unread = |error: &io::Error| {
        let what = format!("cannot read {name}");
        Error::with_cause(&what, error, "name a file that `notes export` wrote")
    };
    let mut source: Box<dyn BufRead> = match file == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(file).map_err(|e| unread(&e))?)),
    };
    let mut number = 0;
    loop {
        number += 1;
        let mut line = Vec::new();
        let mut some = source.by_ref().take(LONGEST as u64 + 2);
        let length = some.read_until(b'\n', &mut line).map_err(|e| unread(&e))?;
        if length == 0 && number > 1 {
            return Ok(());
        }
        let line = String::from_utf8(line).unwrap_or_default();
        let text = line.trim_end_matches(['\n', '\r']);
        if number == 1 && text != HEAD {
            let what = format!("no notes in {name}: its first line is not `{HEAD}`");
            return Err(Error::new(what, "name a file that `notes export` wrote"));
        }
        if number > 1 && (text.is_empty() || text.len() > LONGEST) {
            let what = format!("malformed note in line {number} of {name}");
            let hint = "export and copy it again; the lines before it were imported";
            return Err(Error::new(what, hint));
        }
        if number > 1 {
            each(text.to_owned())?;
        }
    }
}

fn show(heard: &NotesHeard, format: Format, output: &mut Output<'_>) -> Result<(), Error> {
    if format.json {
        return Ok(output.json(heard)?);
    }
    output.line(&format!(
        "{} notes imported, {} already known.",
        heard.new, heard.known
    ))?;
    for id in &heard.double_use {
        let id = sanitize(id);
        output.line(&format!(
            "Voucher {id} was used twice: `weir portal voucher show {id}` shows where."
        ))?;
    }
    for why in &heard.refused {
        output.line(&format!("Not imported: {}", sanitize(why)))?;
    }
    Ok(())
}
