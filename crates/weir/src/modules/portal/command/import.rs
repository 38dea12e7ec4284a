//! `weir portal voucher import`: vouchers that another portal sold.

use std::fs;
use std::path::{Path, PathBuf};

use answers::{FormerVouchers, Imported};
use api::Method;
use clap::Args;
use portal::pirania::LONGEST;

use crate::Error;
use crate::command::{Connection, Format, client};
use crate::output::{Output, harmless};

/// Bytes of what is sent at once: the daemon takes 16 KiB.
const TOGETHER: usize = 14 * 1024;

/// Take over the vouchers of Pirania
///
/// Their codes hold on, for what is left of them, and who is in by one stays in. One that was taken
/// over before is left as it is.
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir portal voucher import /etc/pirania/vouchers")]
pub struct ImportArgs {
    /// Its files of vouchers, or their folder
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
    let mut wrong = Vec::new();
    let (mut names, mut texts, mut length) = (Vec::new(), Vec::new(), 0);
    let mut send = |names: &mut Vec<String>, texts: &mut Vec<String>| -> Result<(), Error> {
        let asked = FormerVouchers {
            pirania: std::mem::take(texts),
        };
        let names = std::mem::take(names);
        let told: Imported = client.send(Method::POST, "/v1/portal/import", &asked)?;
        all.vouchers.extend(told.vouchers);
        all.known += told.known;
        for (number, why) in told.refused {
            let name = names.get(number).cloned().unwrap_or_default();
            wrong.push(format!("{name}: {}", harmless(&why)));
            all.refused.push((number, why));
        }
        Ok(())
    };
    for file in &files {
        let text = text(file)?;
        // As JSON has it.
        let quoted = text.len() + text.bytes().filter(|o| !o.is_ascii_alphanumeric()).count();
        if length + quoted > TOGETHER && !texts.is_empty() {
            send(&mut names, &mut texts)?;
            length = 0;
        }
        length += quoted;
        names.push(harmless(&file.display().to_string()));
        texts.push(text);
    }
    if !texts.is_empty() {
        send(&mut names, &mut texts)?;
    }
    if !args.format.json {
        let (new, known) = (all.vouchers.len(), all.known);
        output.line(&format!("{new} vouchers were new, {known} known."))?;
        for one in &wrong {
            output.line(&format!("Not taken: {one}"))?;
        }
    }
    let failed = (!wrong.is_empty()).then(|| {
        let hint = "name files that Pirania wrote, such as /etc/pirania/vouchers/Q3TJZS.json";
        Error::new("not all vouchers were taken", hint)
    });
    Ok((all, failed))
}

/// The file, or those of the folder, in the order of their names.
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
            "{} has no files *.json",
            harmless(&path.display().to_string())
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

fn text(file: &Path) -> Result<String, Error> {
    let length = fs::metadata(file)
        .map_err(|error| unread(file, &error))?
        .len();
    if length > LONGEST as u64 {
        let what = format!("{} is too long", harmless(&file.display().to_string()));
        return Err(Error::new(
            what,
            "a voucher of Pirania's has some 300 bytes",
        ));
    }
    fs::read_to_string(file).map_err(|error| unread(file, &error))
}

fn unread(file: &Path, error: &std::io::Error) -> Error {
    let what = format!("{} cannot be read", harmless(&file.display().to_string()));
    Error::because(&what, error, "name a file of Pirania's, or its folder")
}
