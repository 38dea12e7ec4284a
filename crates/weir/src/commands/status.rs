//! `weir status`: how the daemon is doing.

use std::collections::BTreeMap;
use std::io;

use api::{FamilyFlows, Mode, Status};
use clap::Args;

use super::client;
use crate::Error;
use crate::cli::{Connection, Format};
use crate::output::{Output, Tone, harmless, units};

/// Show how the daemon is doing
#[derive(Args, Debug)]
#[command(after_long_help = "\
`passed` are packets that were left to the kernel, by reason; the first packets of each connection are always among them.
Example:
  weir status --json | jq .share_of_packets")]
pub struct StatusArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub(super) fn run(args: &StatusArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let status = client(&args.connection)?.status()?;
    if args.format.json {
        output.json(&status)?
    } else {
        print(&status, output)?
    }
    Ok(())
}

/// Reasons shown; JSON has all.
const REASONS: usize = 8;

fn print(status: &Status, output: &mut Output<'_>) -> io::Result<()> {
    let mode = match (status.armed, status.mode) {
        (false, _) => output.toned(Tone::Bad, "standing aside: every packet goes to the kernel"),
        (true, Mode::Shadow) => output.toned(
            Tone::Warn,
            "shadow: counts what would be forwarded, forwards nothing",
        ),
        (true, Mode::Forward) => output.toned(Tone::Good, "forwarding"),
    };
    output.field("mode", &mode)?;
    let version = harmless(&status.version);
    let modules = harmless(&status.modules.join(", "));
    output.field("version", &format!("{version}, with {modules}"))?;
    output.field(
        "running",
        &format!(
            "{}, in network namespace {}",
            units::duration(status.uptime_seconds),
            status.netns
        ),
    )?;
    let heart = &status.heartbeat;
    let late = heart.age_seconds > heart.limit_seconds;
    let beat = format!(
        "{:.1} s ago, limit {:.1} s",
        heart.age_seconds, heart.limit_seconds
    );
    output.field(
        "heartbeat",
        &output.toned(if late { Tone::Bad } else { Tone::Plain }, &beat),
    )?;
    output.line("")?;

    output.field("IPv4", &family(&status.flows.ipv4))?;
    output.field("IPv6", &family(&status.flows.ipv6))?;
    output.field(
        "hops",
        &format!("{} of {}", status.hops.used, status.hops.capacity),
    )?;
    output.line("")?;

    let packets = &status.packets;
    let share = status
        .share_of_packets
        .map_or_else(|| "no packet yet".to_owned(), units::percent);
    output.field("fast path", &format!("{share} of the packets"))?;
    let forwarded = format!(
        "{} packets by XDP, {} by TC, {}",
        units::count(packets.forwarded_xdp),
        units::count(packets.forwarded_tc),
        units::octets(packets.octets)
    );
    output.field("forwarded", &forwarded)?;
    output.field("passed", &largest(&packets.passed))?;
    output.line("")?;

    output.field(
        "generation",
        &format!("{}, raised by {}", status.epoch, largest(&status.bumps)),
    )?;
    output.field("refused", &largest(&status.refused))?;
    let lost = status.lost_events.to_string();
    output.field(
        "lost events",
        &output.toned(
            if status.lost_events > 0 {
                Tone::Warn
            } else {
                Tone::Plain
            },
            &lost,
        ),
    )
}

fn family(flows: &FamilyFlows) -> String {
    format!(
        "{} connections known, {} forwarded, {} declined; room for {}",
        flows.known, flows.proven, flows.declined, flows.capacity
    )
}

/// The largest counters first, zeros left out.
fn largest(counters: &BTreeMap<String, u64>) -> String {
    let mut counters: Vec<_> = counters.iter().filter(|(_, count)| **count > 0).collect();
    if counters.is_empty() {
        return "nothing".to_owned();
    }
    counters.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let shown: Vec<String> = counters
        .iter()
        .take(REASONS)
        .map(|(name, count)| format!("{} {}", harmless(name), units::count(**count)))
        .collect();
    let rest = counters.len().saturating_sub(REASONS);
    if rest > 0 {
        format!("{}, and {rest} more (--json)", shown.join(", "))
    } else {
        shown.join(", ")
    }
}
