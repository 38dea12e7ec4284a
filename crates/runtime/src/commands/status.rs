//! `weir status`: how the daemon is doing.

use std::collections::BTreeMap;
use std::io;

use answers::{
    Condition, Conditions, FamilyFlows, FlowCounts, Mode, PartProblem, PerPacketRules, Severity,
    Status,
};
use clap::Args;

use crate::Error;
use crate::command::{Connection, Format, client};
use crate::output::{Output, Tone, WIDTH, sanitize, units, wrap};
use crate::registry::{Context, Registry};

/// Show the state of the daemon
#[derive(Args, Debug)]
#[command(after_long_help = "\
The kernel always handles the first packets of each connection: the kernel decides, and a proof is \
a decision that weir observed.
A proof ends with each change of rules, routes, devices or neighbours; the next packet creates a \
new proof.

Example:
  weir status --json | jq .fast_path_share")]
pub struct StatusArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &StatusArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    let client = client(&args.connection)?;
    let mut status: Status = client.get("/v1/status")?;
    let found: Conditions = client.get("/v1/conditions")?;
    if args.format.json {
        let all = serde_json::to_value(&found.conditions).unwrap_or_default();
        status.more.insert("conditions".to_owned(), all);
        context.output.json(&status)?
    } else {
        print(&status, &found, context.registry, context.output)?
    }
    Ok(())
}

/// Columns before a value.
const LABEL: usize = 14;

/// Maximum number of shown reasons; JSON has all.
const REASONS: usize = 8;

fn print(
    status: &Status,
    found: &Conditions,
    registry: &Registry,
    output: &mut Output<'_>,
) -> io::Result<()> {
    daemon(status, output)?;
    conditions(found, output)?;
    output.line("")?;
    let packets = &status.packets;
    output.field("fast path", &share(status.fast_path_share))?;
    let forwarded = format!(
        "{} packets by XDP, {} by TC, {}",
        units::count(packets.forwarded_xdp),
        units::count(packets.forwarded_tc),
        units::bytes(packets.bytes)
    );
    output.field("forwarded", &forwarded)?;
    output.field("IPv4", &family(&status.flows.ipv4, status.mode))?;
    output.field("IPv6", &family(&status.flows.ipv6, status.mode))?;
    if let Some(rules) = &status.each_packet {
        output.field("rules", &each_packet(rules))?;
    }
    output.field("room", &room(&status.flows, output))?;
    output.field(
        "hops",
        &format!("{} of {}", status.hops.used, status.hops.capacity),
    )?;
    if let Some(shadow) = &status.shadow {
        let compared = format!(
            "{} packets sent by the kernel as weir would have sent them, {} differently",
            units::count(shadow.same),
            units::count(shadow.different)
        );
        let tone = match shadow.different {
            0 => Tone::Plain,
            _ => Tone::Bad,
        };
        output.field("shadow", &output.toned(tone, &compared))?;
    }

    for entry in &registry.modules {
        (entry.status)(status, output)?;
    }

    reasons("Packets left to the kernel", &packets.passed, output)?;
    let title = match status.mode {
        Mode::Forward => "Packets that left without becoming a proof",
        // The kernel sends packets of proven flows, too: these are not on trial.
        Mode::Shadow => "Packets that left without a new proof, also of proven flows (shadow mode)",
    };
    reasons(title, &packets.not_proof, output)?;
    reasons("Connections left to the kernel", &status.refused, output)?;
    reasons("Proofs ended by changes of", &status.bumps, output)
}

fn daemon(status: &Status, output: &mut Output<'_>) -> io::Result<()> {
    let mode = match (status.armed, status.mode) {
        _ if status.starting => output.toned(
            Tone::Warn,
            "starting: not every port counts and forwards yet",
        ),
        (false, _) => output.toned(Tone::Bad, "not forwarding: every packet goes to the kernel"),
        (true, Mode::Shadow) => {
            output.toned(Tone::Warn, "shadow: compares decisions, forwards nothing")
        }
        (true, Mode::Forward) => output.toned(Tone::Good, "forwarding"),
    };
    output.field("mode", &mode)?;
    let version = sanitize(&status.version);
    let modules = sanitize(&status.modules.join(", "));
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
    let tone = if late { Tone::Bad } else { Tone::Plain };
    output.field("heartbeat", &output.toned(tone, &beat))?;
    problems(&status.problems, output)?;
    if status.lost_events == 0 {
        return Ok(());
    }
    let lost = format!(
        "{} times; weir read all state again each time",
        status.lost_events
    );
    output.field("lost events", &output.toned(Tone::Warn, &lost))
}

/// Prints conditions. Failed parts were printed above already, with their hints.
fn conditions(found: &Conditions, output: &mut Output<'_>) -> io::Result<()> {
    let all = found.conditions.iter().filter(|it| it.key != "part");
    let mut name = "attention";
    for Condition {
        severity,
        text,
        since,
        ..
    } in all
    {
        let tone = match severity {
            Severity::Critical => Tone::Bad,
            Severity::Warning => Tone::Warn,
            Severity::Hint => Tone::Dim,
        };
        let since = units::duration(found.now.saturating_sub(*since));
        let lines = wrap(&sanitize(&format!("{text} ({since})")), WIDTH - LABEL);
        for line in lines {
            output.field(name, &output.toned(tone, &line))?;
            name = "";
        }
    }
    if found.conditions.is_empty() {
        output.field(name, &output.toned(Tone::Good, "nothing needs attention"))?;
    }
    Ok(())
}

/// Prints each problem with its remedy.
pub fn problems(problems: &[PartProblem], output: &mut Output<'_>) -> io::Result<()> {
    for PartProblem { part, what, hint } in problems {
        let what = sanitize(&format!("does not work: {what}"));
        output.field(&sanitize(part), &output.toned(Tone::Bad, &what))?;
        output.field("", &sanitize(&format!("hint: {hint}")))?;
    }
    Ok(())
}

/// The share of the packets, in a number and in words. The number is cut off: 100 % means each and
/// every one.
fn share(share: Option<f64>) -> String {
    let Some(share) = share else {
        return "no packet yet".to_owned();
    };
    let words = match share {
        _ if share >= 1.0 => "all",
        _ if share >= 0.99 => "nearly all",
        _ if share >= 0.75 => "most",
        _ if share >= 0.5 => "more than half",
        _ if share >= 0.1 => "fewer than half",
        _ if share > 0.0 => "few",
        _ => "none",
    };
    format!("{words} of the packets, {}", units::percent(share))
}

fn family(flows: &FamilyFlows, mode: Mode) -> String {
    let proven = match mode {
        Mode::Forward => format!("{} forwarded", flows.proven),
        Mode::Shadow => format!("weir would forward {}", flows.proven),
    };
    format!(
        "{} connections known, {proven}; {} declined",
        flows.known, flows.declined
    )
}

/// Summary of the rules that see each packet, with the most expensive rule.
fn each_packet(told: &PerPacketRules) -> String {
    let sum = format!(
        "{} connections left to the kernel",
        units::count(told.connections)
    );
    match told.rules.first().filter(|rule| rule.connections > 0) {
        Some(most) => format!(
            "{sum}; most by {} ({})",
            sanitize(&most.rule),
            units::count(most.connections)
        ),
        None => sum,
    }
}

/// Room in the table, which both families share.
fn room(flows: &FlowCounts, output: &Output<'_>) -> String {
    let known = flows.ipv4.known.saturating_add(flows.ipv6.known);
    let both = format!("for {} connections, IPv4 and IPv6 together", flows.capacity);
    match known >= flows.capacity {
        true => format!("{both}; {}", output.toned(Tone::Warn, "full")),
        false => both,
    }
}

/// Lists counters, the largest first, without zeros, each with the meaning of its name.
fn reasons(
    title: &str,
    counters: &BTreeMap<String, u64>,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let mut counters: Vec<_> = counters.iter().filter(|(_, count)| **count > 0).collect();
    if counters.is_empty() {
        return Ok(());
    }
    counters.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    output.line(&output.toned(Tone::Bold, &format!("\n{title}")))?;
    let shown = &counters[..counters.len().min(REASONS)];
    let width = shown.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or_default();
    // Two columns of indentation, eight of digits, two gaps of two.
    let text_at = 2 + 8 + 2 + width + 2;
    for (name, count) in shown {
        let mut lines = wrap(meaning(name), WIDTH.saturating_sub(text_at)).into_iter();
        let first = lines.next().unwrap_or_default();
        let line = format!(
            "  {:>8}  {:<width$}  {first}",
            units::count(**count),
            sanitize(name)
        );
        output.line(line.trim_end())?;
        for line in lines {
            output.line(&format!("{:text_at$}{line}", ""))?;
        }
    }
    let rest = counters.len() - shown.len();
    if rest > 0 {
        output.line(&output.toned(Tone::Dim, &format!("  and {rest} more: --json")))?;
    }
    Ok(())
}

/// Explains the code of a reason. Returns an empty text if the code is self-explanatory or unknown
/// to this version.
fn meaning(code: &str) -> &'static str {
    let packets = datapath::Reason::ALL;
    let packet = packets.iter().find(|reason| reason.code() == code);
    let declines = offload_core::DeclineReason::ALL;
    let decline = declines.iter().find(|reason| reason.name() == code);
    match (packet, decline) {
        (Some(reason), _) => reason.text(),
        (None, Some(reason)) => reason.explain(),
        (None, None) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_more_than_it_is() {
        for (number, text) in [
            (None, "no packet yet"),
            (Some(1.0), "all of the packets, 100.0 %"),
            (Some(0.999_99), "nearly all of the packets, 99.9 %"),
            (Some(0.5), "more than half of the packets, 50.0 %"),
            (Some(0.000_1), "few of the packets, 0.0 %"),
            (Some(0.0), "none of the packets, 0.0 %"),
        ] {
            assert_eq!(share(number), text);
        }
    }

    #[test]
    fn what_is_known_fits_the_room() {
        let mut flows = FlowCounts {
            capacity: 1536,
            ..FlowCounts::default()
        };
        let mut memory = Vec::new();
        let output = Output::to(&mut memory, false);
        let line = "for 1536 connections, IPv4 and IPv6 together";
        (flows.ipv4.known, flows.ipv6.known) = (1535, 0);
        assert_eq!(room(&flows, &output), line);
        flows.ipv6.known = 1;
        assert_eq!(room(&flows, &output), format!("{line}; full"));
        assert_eq!(
            family(&flows.ipv6, Mode::Shadow),
            "1 connections known, weir would forward 0; 0 declined"
        );
    }

    #[test]
    fn codes_are_explained() {
        assert_eq!(meaning("fragment"), datapath::Reason::Fragment.text());
        assert!(!meaning("helper").is_empty(), "of a connection");
        assert_eq!(meaning("routing"), "", "speaks for itself");
    }
}
