//! `weir-nearby send`: says something.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use api::{Client, Method};
use clap::{ArgGroup, Args};

use super::Failure;
use crate::daemon::{Answer, Say};
use crate::envelope::LONGEST_TEXT;

/// Says something that everybody can read, to all who are near or by one of them
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("what").required(true).args(["text", "file"]),
    override_usage = "weir-nearby send [OPTIONS] <PEER|all> <TEXT|--file <FILE>>",
    after_long_help = "Examples:
  weir-nearby send all 'Where are you?'
  weir-nearby send 0598f7b34b75adcb 'Tell the others'
  weir-nearby send all --file news.txt"
)]
pub(super) struct Arguments {
    /// `all`, or the id of one who is near, or was: that one alone is told, and may tell others
    #[arg(value_name = "PEER")]
    to: String,
    /// What to say: 65407 bytes at most
    text: Option<String>,
    /// Say what is in a file instead
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(super) fn run(
    arguments: &Arguments,
    client: &Client,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let text = match (&arguments.text, &arguments.file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => read(file).map_err(|error| {
            let what = format!("cannot read {} as text: {error}", file.display());
            Failure(what, "name another file".to_owned())
        })?,
        (None, None) => String::new(),
    };
    // Also of a longer file no more is read.
    if text.len() > LONGEST_TEXT {
        let what = format!("the text has more than {LONGEST_TEXT} bytes");
        return Err(Failure(what, "send it in pieces".to_owned()));
    }
    let say = Say {
        to: arguments.to.clone(),
        text,
    };
    let told: Answer = client.send(Method::POST, "/v1/messages", &say)?;
    let waits = match told.waiting {
        0 => String::new(),
        1 => ", waits for 1 who is not near".to_owned(),
        count => format!(", waits for {count} who are not near"),
    };
    Ok(writeln!(
        output,
        "said to {} who are near{waits}",
        told.peers
    )?)
}

/// A file's text, and of a longer one as much as is refused.
fn read(path: &Path) -> std::io::Result<String> {
    let mut octets = Vec::new();
    let file = std::fs::File::open(path)?;
    let count = file
        .take(LONGEST_TEXT as u64 + 1)
        .read_to_end(&mut octets)?;
    match String::from_utf8(octets) {
        // It may end within a letter.
        Err(error) if count > LONGEST_TEXT && error.utf8_error().error_len().is_none() => {
            Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
        text => text.map_err(std::io::Error::other),
    }
}
