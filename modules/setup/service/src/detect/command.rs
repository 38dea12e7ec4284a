//! `weir setup detect`.

use ::detect::{Evidence, Internet, Network, Suggestion};
use clap::Args;

use super::{Found, ProbeOptions, answer, choose, run};
use crate::config::Setup;
use runtime::Error;
use runtime::command::Format;
use runtime::output::{Output, Tone, WIDTH, wrap};

/// Options of `detect`.
#[derive(Args, Debug)]
pub struct DetectArgs {
    /// Device to examine [default: the uplink in the configuration]
    port: Option<String>,
    /// Network of the LAN, which the uplink must not use [default: from the configuration]
    #[arg(long, value_name = "NETWORK")]
    lan: Option<Network>,
    /// Seconds to listen after the link comes up
    #[arg(long, value_name = "SECONDS", default_value_t = 5,
        value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    #[command(flatten)]
    format: Format,
}

/// Detects the uplink, and prints evidence as it arrives.
///
/// # Errors
/// The port does not exist, or this process may not use it.
pub fn detect(args: &DetectArgs, setup: &Setup, output: &mut Output<'_>) -> Result<(), Error> {
    let (port, lans) = choose(args.port.clone(), args.lan, setup)?;
    let look = ProbeOptions {
        port: &port,
        lans: &lans,
        seconds: args.seconds,
        untagged: false,
    };
    if args.format.json {
        let found = run(look, &mut |_| {})?;
        return Ok(output.json(&answer(&found))?);
    }
    let mut failed = None;
    let found = run(look, &mut |heard| {
        let printed = output.line(&line(heard)).and_then(|()| output.flush());
        failed = failed.take().or(printed.err());
    })?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(print(&found, output)?),
    }
}

/// Formats evidence as a line: `0.21 s  DHCP answer from …`.
fn line(heard: &Evidence) -> String {
    let seconds = heard.after as f64 / 1000.0;
    let vlan = heard
        .vlan
        .map(|number| format!("VLAN {number}: "))
        .unwrap_or_default();
    format!("{seconds:.2} s  {vlan}{}", heard.text)
}

fn print(found: &Found, output: &mut Output<'_>) -> std::io::Result<()> {
    let said = &found.suggestion;
    let (what, tone) = heading(said);
    output.line("")?;
    output.line(&output.toned(tone, &what))?;
    if let Some(lan) = &said.lan {
        let what = match lan.network {
            Some(network) => format!("Give the LAN another network: {network}"),
            None => "Give the LAN another network".into(),
        };
        output.line(&output.toned(Tone::Warn, &what))?;
        paragraph(&lan.why, "  ", output)?;
    }
    for why in &said.why {
        paragraph(why, "  ", output)?;
    }
    let details = &said.details;
    let network = details.network.map(|network| network.to_string());
    for (name, values) in [
        ("addresses", &details.addresses),
        ("network", &Vec::from_iter(network)),
        ("router", &Vec::from_iter(details.gateway.clone())),
        ("DNS", &details.dns),
        ("IPv6", &details.prefixes),
        ("for the LAN", &details.delegated),
        ("services", &details.services),
        ("log-in page", &Vec::from_iter(details.portal.clone())),
    ] {
        if !values.is_empty() {
            output.field(name, &values.join(", "))?;
        }
    }
    if !said.open_questions.is_empty() {
        output.line("Could not be determined:")?;
    }
    for open_questions in &said.open_questions {
        paragraph(open_questions, "  ", output)?;
    }
    Ok(())
}

fn heading(said: &Suggestion) -> (String, Tone) {
    let what = match said.internet {
        Internet::Dhcp => "DHCP",
        Internet::Static => "a static address",
        Internet::Pppoe => "PPPoE",
        Internet::Ipv6Only => "IPv6 (DHCPv6), without IPv4 of its own",
        Internet::None => return ("Nothing found".into(), Tone::Bad),
    };
    let vlan = said
        .vlan
        .map(|number| format!(" in VLAN {number}"))
        .unwrap_or_default();
    match said.confident {
        true => (format!("Use {what}{vlan}"), Tone::Good),
        false => (format!("Probably {what}{vlan}"), Tone::Warn),
    }
}

fn paragraph(text: &str, indent: &str, output: &mut Output<'_>) -> std::io::Result<()> {
    let lines = wrap(text, WIDTH - indent.len());
    lines
        .iter()
        .try_for_each(|line| output.line(&format!("{indent}{line}")))
}
