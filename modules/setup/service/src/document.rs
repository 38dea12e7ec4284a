//! `weir setup export` and `weir setup import`: choices as a document.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use setup_core::choices::{Choices, FORMAT};

use super::apply::{self, ChangeOptions, print, seconds};
use super::planner::{Planner, without_secrets};
use runtime::Error;
use runtime::output::qr;
use runtime::output::{Output, Tone, sanitize};

/// Bytes of the longest document.
const LONGEST: u64 = 256 * 1024;

/// Options of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// Leave out passwords and keys: the document may then be published
    #[arg(long)]
    without_secrets: bool,
    /// Export only the settings that another node needs to join this mesh
    #[arg(long, conflicts_with = "without_secrets")]
    mesh: bool,
    /// Print a QR code for the other node's wizard
    #[arg(long, requires = "mesh")]
    qr: bool,
}

/// Options of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Document to apply; `-` is standard input
    file: PathBuf,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Seconds in which the change must be confirmed
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = seconds())]
    pub within: u64,
    /// Purpose of the change, shown in the list of changes
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub why: String,
}

pub fn export(desk: &Planner, args: &ExportArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let mut choices = desk.read_state()?.choices.for_others();
    if args.without_secrets {
        choices = without_secrets(choices).0;
    }
    if args.mesh {
        choices = choices.to_join().ok_or_else(|| {
            let hint = "join one first: [mesh] of a document, or the wizard";
            Error::new("this router is not in a mesh", hint)
        })?;
    }
    let text = toml::to_string(&choices)
        .map_err(|error| Error::with_cause("cannot write the document", &error, "report this"))?;
    if !args.qr {
        return Ok(output.line(text.trim_end())?);
    }
    let rows = qr::rows(text.trim_end(), output.has_colour()).ok_or_else(|| {
        let hint = "leave out --qr, and transfer the document as a file";
        let length = text.trim_end().len();
        let what = format!("too long for a QR code: {length} bytes, but at most 2331 are possible");
        Error::new(what, hint)
    })?;
    for row in rows {
        output.line(&row)?;
    }
    Ok(())
}

pub fn import(
    desk: &Planner,
    args: &ImportArgs,
    how: &ChangeOptions<'_>,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let choices = read(&args.file)?;
    let planned = desk.plan(&choices)?;
    let waiting = desk.files(&planned);
    if args.dry_run && planned.plan.problems.is_empty() {
        for sentence in &planned.plan.sentences {
            output.line(&sanitize(&sentence.says))?;
        }
        print(&planned.lines, output)?;
    }
    if let Some(client) = planned.without_key() {
        return Err(Error::new(
            format!("missing public key of {client}"),
            "create a pair by `wg genkey` and `wg pubkey`, and give the public key: a private key \
             created here would be lost",
        ));
    }
    if let Some(client) = planned.without_certificate() {
        return Err(Error::new(
            format!("missing certificate of {client}"),
            "add it on the page, which shows its file once: a private key created here would be \
             lost",
        ));
    }
    let waiting = waiting?;
    if waiting.files.is_empty() {
        return Ok(output.line("no changes: the router matches the document already")?);
    }
    if args.dry_run {
        return Ok(());
    }
    for sentence in &planned.plan.sentences {
        output.line(&output.toned(Tone::Good, &sanitize(&sentence.says)))?;
    }
    apply::apply(&desk.place, &waiting, how, output)
}

/// Reads a document.
fn read(file: &Path) -> Result<Choices, Error> {
    let shown = if file == Path::new("-") {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    };
    let broken = |cause: &dyn std::error::Error, hint: &str| {
        Error::with_cause(format!("cannot read {shown}"), cause, hint)
    };
    let mut text = Vec::new();
    let opened: std::io::Result<Box<dyn Read>> = if file == Path::new("-") {
        Ok(Box::new(std::io::stdin()))
    } else {
        std::fs::File::open(file).map(|file| Box::new(file) as Box<dyn Read>)
    };
    opened
        .and_then(|opened| opened.take(LONGEST + 1).read_to_end(&mut text))
        .map_err(|error| broken(&error, "name a document of `weir setup export`"))?;
    // Half a document would have another meaning.
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > LONGEST {
        let hint = "name a document of `weir setup export`; its long parts are comments";
        // A pipe may have no end.
        let whole = std::fs::metadata(file).map_or(0, |data| data.len());
        let length = match whole > LONGEST {
            true => format!("has {whole} bytes"),
            false => "has too many bytes".to_owned(),
        };
        let what = format!("{shown} {length}: at most {LONGEST} are allowed");
        return Err(Error::new(what, hint));
    }
    let text = String::from_utf8(text)
        .map_err(|error| broken(&error, "name a document of `weir setup export`"))?;
    understood(&shown, &text)
}

/// Parses a document.
pub fn understood(shown: &str, text: &str) -> Result<Choices, Error> {
    let choices: Choices = toml::from_str(text).map_err(|error| {
        // By its number: the line itself may be as long as the document.
        let line = error.span().map_or(0, |span| {
            text.as_bytes()[..span.start.min(text.len())]
                .iter()
                .filter(|&&c| c == b'\n')
                .count()
        });
        let cause = std::io::Error::other(format!("line {}: {}", line + 1, error.message()));
        let hint =
            "see docs/how-to/setup.md (in a terminal: `weir setup export` prints an example)";
        Error::with_cause(format!("cannot read {shown}"), &cause, hint)
    })?;
    let keys: toml::Table = toml::from_str(text).unwrap_or_default();
    if !keys.contains_key("format") {
        let what = match keys.is_empty() {
            true => format!("{shown} is empty"),
            false => format!("missing `format` in {shown}"),
        };
        let hint = format!(
            "a document begins with `format = {FORMAT}`, followed by parts such as [wifi] (in a \
             terminal: `weir setup export` prints an example)"
        );
        return Err(Error::new(what, hint));
    }
    if choices.format != FORMAT {
        return Err(Error::new(
            format!("{shown} has format {}", choices.format),
            format!("this weir reads format {FORMAT}: write `format = {FORMAT}` first"),
        ));
    }
    Ok(choices)
}
