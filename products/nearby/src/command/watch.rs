//! `weir-nearby watch`: messages as they arrive.

use std::io::{BufRead, Write};

use api::Client;
use clap::Args;

use super::failure::Failure;
use crate::daemon::Notification;
use crate::sanitize::harmless;

/// Print messages, arrivals and departures as they happen
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir-nearby watch --json | jq -r 'select(.event == \"message\").text'")]
pub(super) struct Arguments {
    /// Print JSON, one line each
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    arguments: &Arguments,
    client: &Client,
    output: &mut impl Write,
) -> Result<(), Failure> {
    for line in client.open("/v1/messages")?.lines() {
        let line = line.map_err(|_| {
            let what = "weir-nearby ended".to_owned();
            Failure(what, "start it again, then this command".to_owned())
        })?;
        if line.is_empty() {
            continue;
        }
        if arguments.json {
            writeln!(output, "{}", cli::text::json(&line))?;
        } else if let Ok(said) = serde_json::from_str::<Notification>(&line) {
            writeln!(output, "{}", text(&said))?;
        }
        output.flush()?;
    }
    Ok(())
}

/// Returns a line for a person: untrusted text cannot move the cursor.
fn text(said: &Notification) -> String {
    // Nor ends the line.
    let harmless = |text: &str| harmless(text).replace('\n', " ");
    match said {
        Notification::Near { peer } => format!("{peer} is near"),
        Notification::Gone { peer } => format!("{peer} is no longer near"),
        Notification::Message { sender, text, .. } => format!("{sender}: {}", harmless(text)),
        Notification::Own { text, to, peer, .. } => {
            let whom = match peer {
                Some(peer) => format!("{peer}, everyone can read it"),
                None => format!("{to} near"),
            };
            format!("sent to {whom}: {}", harmless(text))
        }
        Notification::Direct {
            sender,
            receiver,
            octets,
            ..
        } => format!("{sender} sent {receiver} {octets} bytes, encrypted"),
        Notification::Other {
            peer, kind, octets, ..
        } => format!("{peer} sent {octets} bytes: {kind}"),
        Notification::Outcome { number, peer, done } => match done {
            true => format!("message {number} reached {peer}"),
            false => format!("message {number} did not reach {peer}"),
        },
        Notification::Missed { count } => {
            format!("{count} events were missed, because this program was too slow")
        }
    }
}
