//! `weir-nearby send`: says something.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use api::{Client, Method};
use clap::{ArgGroup, Args};

use super::failure::Failure;
use crate::daemon::{Say, SendResult};
use crate::envelope::LONGEST_TEXT;

/// Send a public message to all peers nearby, or through one of them
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
    /// `all`, or the id of a peer that is or was near: only this peer gets the message, and it
    /// may pass it on
    #[arg(value_name = "PEER")]
    to: String,
    /// Text of the message, at most 65407 bytes
    text: Option<String>,
    /// Send the contents of a file instead
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(super) fn run(
    arguments: &Arguments,
    client: &Client,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let octets = match (&arguments.text, &arguments.file) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(file)) => read(file).map_err(|error| unread(file, &error))?,
        (None, None) => Vec::new(),
    };
    if octets.len() > LONGEST_TEXT {
        let what = format!("the text has more than {LONGEST_TEXT} bytes");
        return Err(Failure(what, "send it in pieces".to_owned()));
    }
    let file = arguments.file.as_deref().unwrap_or(Path::new(""));
    let text = String::from_utf8(octets).map_err(|error| unread(file, &error))?;
    let say = Say {
        to: arguments.to.clone(),
        text,
    };
    let told: SendResult = client.send(Method::POST, "/v1/messages", &say)?;
    let waits = match told.waiting {
        0 => String::new(),
        1 => ", waits for 1 that is not near".to_owned(),
        count => format!(", waits for {count} that are not near"),
    };
    let public = match say.to.as_str() {
        "all" => "",
        _ => "; everyone can read it",
    };
    Ok(writeln!(
        output,
        "sent to {} near{waits}{public}",
        told.peers
    )?)
}

fn unread(file: &Path, error: &dyn std::fmt::Display) -> Failure {
    let what = format!("cannot read {} as text: {error}", file.display());
    Failure(what, "name another file".to_owned())
}

/// Reads a file, up to one byte more than the limit.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(LONGEST_TEXT as u64 + 1)
        .read_to_end(&mut octets)?;
    Ok(octets)
}
