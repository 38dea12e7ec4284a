//! `weir-nearby peers`: who is near.

use std::io::Write;

use api::Client;
use clap::Args;

use super::failure::Failure;
use crate::daemon::Peers;

/// List peers nearby
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir-nearby peers --json")]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    arguments: &Arguments,
    client: &Client,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if arguments.json {
        client.copy("/v1/peers", output)?;
        return Ok(writeln!(output)?);
    }
    Ok(show(&client.get("/v1/peers")?, output)?)
}

fn show(told: &Peers, output: &mut impl Write) -> std::io::Result<()> {
    if told.peers.is_empty() {
        writeln!(output, "no peers near")?;
    } else {
        writeln!(
            output,
            "{:<16}  {:<17}  {:<7}  {:>8}  waiting",
            "id", "address", "formats", "signal"
        )?;
    }
    for peer in &told.peers {
        let signal = peer.signal.map_or(String::new(), |it| format!("{it} dBm"));
        let (id, address, formats) = (&peer.id, &peer.address, peer.formats.join(" "));
        writeln!(
            output,
            "{id:<16}  {address:<17}  {formats:<7}  {signal:>8}  {}",
            peer.waiting
        )?;
    }
    for away in told.away.iter().filter(|it| it.waiting > 0) {
        let (id, waiting) = (&away.id, away.waiting);
        writeln!(output, "{id:<16}  not near{:>30}  {waiting}", "")?;
    }
    Ok(())
}
