//! `weir drops`: lists early drops.

use std::io;

use answers::{DropCounts, DropPrefix, DropState, Drops};
use clap::Args;

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Align, Output, Table, Tone, WIDTH, sanitize, units, wrap};

/// List packets that weir drops early, before the kernel does
#[derive(Args, Debug)]
#[command(after_long_help = "\
Some of the packets that would be dropped here still go to the kernel (SAMPLED): rules that count, \
log or limit see these packets, and if the kernel stops dropping them, weir does too. LEARNED: \
TRIED packets were let through since the last change, and netfilter dropped CONFIRMED of them. \
While the two differ, and for the first second, only the kernel drops.

Example:
  weir drops --json | jq '.sets[] | {name, active, reason}'")]
pub struct DropsArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &DropsArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let drops: Drops = client(&args.connection)?.get("/v1/drops")?;
    if args.format.json {
        output.json(&drops)?
    } else {
        print(&drops, output)?
    }
    Ok(())
}

fn print(drops: &Drops, output: &mut Output<'_>) -> io::Result<()> {
    let learned = &drops.learned;
    let more = format!(
        "{} packets dropped; {} tuples that netfilter drops, {} of them cached; room for {}",
        units::count(learned.dropped),
        learned.known,
        learned.cached,
        learned.capacity
    );
    head("learned", &learned.state, &more, output)?;
    if !learned.tuples.is_empty() {
        tuples(drops, output)?;
    }
    for set in &drops.sets {
        let mut more = format!(
            "{} prefixes; {} packets dropped, {} let through",
            set.prefixes,
            units::count(set.dropped),
            units::count(set.sampled)
        );
        if set.left_out > 0 {
            more.push_str(&format!("; {} elements left to the kernel", set.left_out));
        }
        if let Some(confirmed) = set.confirmed {
            more.push_str(&format!(
                "; drops confirmed by netfilter: {}",
                units::count(confirmed)
            ));
        }
        head(&format!("set {}", set.name), &set.state, &more, output)?;
        prefixes(&set.busiest, output)?;
    }
    let more = format!(
        "{} prefixes; {} packets dropped",
        drops.routes.prefixes,
        units::count(drops.routes.dropped)
    );
    head("routes", &drops.routes.state, &more, output)?;
    prefixes(&drops.routes.busiest, output)
}

/// Writes a line with the state, or the reason for no drops, and the counters.
fn head(name: &str, state: &DropState, more: &str, output: &mut Output<'_>) -> io::Result<()> {
    let (word, tone) = match (state.active, &state.reason) {
        (true, _) => ("on".to_owned(), Tone::Good),
        (false, Some(reason)) => (format!("off: {reason}"), Tone::Warn),
        (false, None) => ("off".to_owned(), Tone::Warn),
    };
    let title = output.toned(Tone::Bold, &sanitize(name));
    output.line(&format!(
        "{title}: {}",
        output.toned(tone, &sanitize(&word))
    ))?;
    if state.active || !more.starts_with("0 ") {
        for line in wrap(more, WIDTH - 2) {
            output.line(&format!("  {line}"))?;
        }
    }
    Ok(())
}

fn tuples(drops: &Drops, output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("PROTOCOL", Align::Left),
        ("TUPLE", Align::Left),
        ("DEVICE", Align::Left),
        ("CACHED", Align::Left),
        ("DROPPED", Align::Right),
        ("SAMPLED", Align::Right),
        ("TRIED", Align::Right),
        ("CONFIRMED", Align::Right),
    ]);
    for drop in &drops.learned.tuples {
        let row = [
            drop.protocol.to_string().into(),
            drop.endpoints.to_string().into(),
            drop.device.as_str().into(),
            if drop.cached { "yes" } else { "no" }.into(),
            units::count(drop.dropped).into(),
            units::count(drop.sampled).into(),
            units::count(drop.tried).into(),
            units::count(drop.confirmed).into(),
        ];
        table.row(row, output)?;
    }
    table.finish(output)
}

fn prefixes(busiest: &[DropPrefix], output: &mut Output<'_>) -> io::Result<()> {
    let moved: Vec<_> = busiest
        .iter()
        .filter(|prefix| prefix.dropped + prefix.sampled > 0)
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    let mut table = Table::new([
        ("PREFIX", Align::Left),
        ("DROPPED", Align::Right),
        ("SAMPLED", Align::Right),
    ]);
    for prefix in moved {
        let row = [
            prefix.prefix.as_str().into(),
            units::count(prefix.dropped).into(),
            units::count(prefix.sampled).into(),
        ];
        table.row(row, output)?;
    }
    table.finish(output)
}

/// Writes the module's line in `weir status`.
pub fn status(drops: &DropCounts, output: &mut Output<'_>) -> io::Result<()> {
    let early = format!(
        "{} packets: {} learned from netfilter, {} by sets, {} by routes",
        units::count(drops.all()),
        units::count(drops.learned),
        units::count(drops.sets),
        units::count(drops.routes)
    );
    output.field("dropped", &early)
}
