//! `weir portal voucher import`: vouchers that another portal sold.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use answers::{FormerVouchers, Imported};
use api::Method;
use clap::Args;
use portal_core::pirania::LONGEST;

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Output, sanitize};

/// Maximum bytes per request: the daemon accepts 16 KiB.
const TOGETHER: usize = 14 * 1024;

/// Import the vouchers of Pirania
///
/// The codes stay valid for their remaining time, and logged-in guests stay logged in. Vouchers
/// that were imported before are not changed.
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir portal voucher import /etc/pirania/vouchers")]
pub struct ImportArgs {
    /// Files of Pirania's vouchers, or their folder
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

impl ImportArgs {
    pub fn json(&self) -> bool {
        self.format.json
    }
}

pub fn run(args: &ImportArgs, output: &mut Output<'_>) -> Result<(Imported, Option<Error>), Error> {
    let client = client(&args.connection)?;
    let mut files = Vec::new();
    for path in &args.paths {
        collect(path, &mut files)?;
    }
    let mut all = Imported::default();
    let (mut batch, mut length) = (Vec::new(), 0);
    let send = |batch: &mut Vec<(usize, String)>, all: &mut Imported| -> Result<(), Error> {
        let (numbers, pirania): (Vec<_>, _) = std::mem::take(batch).into_iter().unzip();
        let asked = FormerVouchers { pirania };
        let told: Imported = client.send(Method::POST, "/v1/portal/import", &asked)?;
        all.vouchers.extend(told.vouchers);
        all.known += told.known;
        let placed = |(place, why): (usize, String)| Some((*numbers.get(place)?, why));
        all.refused
            .extend(told.refused.into_iter().filter_map(placed));
        all.lost.extend(told.lost.into_iter().filter_map(placed));
        Ok(())
    };
    for (number, file) in files.iter().enumerate() {
        let text = match text(file) {
            Ok(text) => text,
            Err(why) => {
                all.refused.push((number, why));
                continue;
            }
        };
        // As JSON has it.
        let quoted = text.len() + text.bytes().filter(|o| !o.is_ascii_alphanumeric()).count();
        if length + quoted > TOGETHER && !batch.is_empty() {
            send(&mut batch, &mut all)?;
            length = 0;
        }
        length += quoted;
        batch.push((number, text));
    }
    if !batch.is_empty() {
        send(&mut batch, &mut all)?;
    }
    all.refused.sort();
    if !args.format.json {
        let (new, known) = (all.vouchers.len(), all.known);
        output.line(&format!("{new} vouchers imported, {known} already known."))?;
        let mut tell = |word: &str, told: &[(usize, String)]| -> Result<(), Error> {
            for (number, why) in told {
                let name = files.get(*number).map(|file| file.display().to_string());
                let name = sanitize(&name.unwrap_or_default());
                output.line(&format!("{word}: {name}: {}", sanitize(why)))?;
            }
            Ok(())
        };
        tell("Imported in part", &all.lost)?;
        tell("Not imported", &all.refused)?;
    }
    let failed = (!all.refused.is_empty()).then(|| {
        let hint = "name files that Pirania wrote, such as /etc/pirania/vouchers/Q3TJZS.json";
        Error::new("not all vouchers were imported", hint)
    });
    Ok((all, failed))
}

/// Collects the file, or the files of the folder, in the order of their names.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut found = Vec::new();
    let entries = fs::read_dir(path).map_err(|error| unread(path, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| unread(path, &error))?.path();
        if entry.extension().is_some_and(|end| end == "json") {
            found.push(entry);
        }
    }
    if found.is_empty() {
        let what = format!(
            "no files *.json in {}",
            sanitize(&path.display().to_string())
        );
        return Err(Error::new(
            what,
            "name Pirania's folder: /etc/pirania/vouchers",
        ));
    }
    found.sort();
    files.extend(found);
    Ok(())
}

/// Returns a file's text, or the reason why it cannot contain a voucher. A device or a pipe would
/// never end.
fn text(file: &Path) -> Result<String, String> {
    let metadata = fs::metadata(file).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut octets = Vec::new();
    let opened = fs::File::open(file).map_err(|error| error.to_string())?;
    let read = opened.take(LONGEST as u64 + 1).read_to_end(&mut octets);
    read.map_err(|error| error.to_string())?;
    if octets.len() > LONGEST {
        return Err(format!("longer than {LONGEST} bytes"));
    }
    String::from_utf8(octets).map_err(|_| "not UTF-8".to_owned())
}

fn unread(file: &Path, error: &std::io::Error) -> Error {
    let what = format!("cannot read {}", sanitize(&file.display().to_string()));
    Error::with_cause(&what, error, "name a file of Pirania's, or its folder")
}
