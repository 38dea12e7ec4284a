//! `weir talks`: conversations of devices.

use std::io;
use std::net::IpAddr;

use api::{Talk, TalkSort, Talks, TalksQuery};
use clap::{Args, ValueEnum};

use super::{client, devices};
use crate::Error;
use crate::cli::{Connection, Format};
use crate::output::{Align, Cell, Output, Table, Tone, clipped, harmless, units};

/// Show who talks with whom, through the router and with it
#[derive(Args, Debug)]
#[command(after_long_help = "\
A conversation is what two ends say to each other by one protocol and pair of ports, seen from the
device behind a port.
  DOWN, RECEIVED   what goes to the device: rate of the last few seconds, and since it began
  UP, SENT         what the device sends
  FAR END          by the name that the device was told (DNS) or asked for (TLS, QUIC), if known
  UPLINK           the network device by which it leaves
  HOOK             where weir forwards it; `-`: the kernel does
  LAN, WAN         milliseconds (median) that TCP waits for the device, and for the far end
What passes two ports is a conversation at each of them. Those at uplinks are left out, unless
something asks for them.

Examples:
  weir talks
  weir talks --device laptop --sort bytes
  weir talks --port lan0 --limit 100
  weir talks --json | jq -r '.talks[] | [.device, .far_name, .received.bytes] | @tsv'")]
pub struct TalksArgs {
    /// Only those of this device: hardware address, name or IP address
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Only those of devices at the port of this name
    #[arg(long, value_name = "NAME")]
    port: Option<String>,
    /// Order, the largest (or the one seen last) first
    #[arg(long, default_value = "rate")]
    sort: SortArg,
    /// No more than so many
    #[arg(long, value_name = "NUMBER", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(i64::from(*api::monitor::TALKS.start())..=i64::from(*api::monitor::TALKS.end())))]
    limit: u32,
    /// Show those of uplinks too (with --json, --device or --port, they are always there)
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SortArg {
    /// Bits a second now, both ways
    Rate,
    /// Bytes since it began, both ways
    Bytes,
    /// The one seen last first
    Recent,
}

pub(super) fn run(args: &TalksArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let client = client(&args.connection)?;
    let known = client.devices()?;
    let device = args
        .device
        .as_deref()
        .map(|wanted| devices::mac_of(&known, wanted));
    let all = args.all || args.format.json || args.device.is_some() || args.port.is_some();
    let mut asked = TalksQuery {
        device: device.transpose()?,
        port: args.port.clone(),
        sort: match args.sort {
            SortArg::Rate => TalkSort::Rate,
            SortArg::Bytes => TalkSort::Bytes,
            SortArg::Recent => TalkSort::Recent,
        },
        limit: args.limit,
    };
    if !all {
        // Each may be there a second time, as its uplink's.
        asked.limit = asked
            .limit
            .saturating_mul(2)
            .min(*api::monitor::TALKS.end());
    }
    let mut answer = client.talks(&asked)?;
    if !all {
        let uplinks: Vec<&str> = known
            .ports
            .iter()
            .filter(|port| port.uplink)
            .map(|port| port.name.as_str())
            .collect();
        answer
            .talks
            .retain(|talk| !uplinks.contains(&talk.port.as_str()));
        answer
            .talks
            .truncate(usize::try_from(args.limit).unwrap_or(usize::MAX));
    }
    if args.format.json {
        output.json(&answer)?
    } else {
        print(&answer, all, output)?
    }
    Ok(())
}

/// Columns that a name may take; it can have 253 letters.
const LONGEST_NAME: usize = 46;

fn print(answer: &Talks, all: bool, output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("DEVICE", Align::Left),
        ("ADDRESS", Align::Left),
        ("PROTO", Align::Left),
        ("FAR END", Align::Left),
        ("FOR", Align::Left),
        ("UPLINK", Align::Left),
        ("HOOK", Align::Left),
        ("DOWN", Align::Right),
        ("UP", Align::Right),
        ("RECEIVED", Align::Right),
        ("SENT", Align::Right),
        ("LAN ms", Align::Right),
        ("WAN ms", Align::Right),
    ]);
    for talk in &answer.talks {
        let wait = |time: Option<f64>| Cell::or_dash(time.map(units::milliseconds));
        let latency = talk.latency.clone().unwrap_or_default();
        let row = [
            clipped(&harmless(station(talk)), LONGEST_NAME).into(),
            socket(&talk.station, talk.station_port).into(),
            protocol(talk).into(),
            far(talk, LONGEST_NAME).into(),
            Cell::or_dash(talk.application.as_ref()),
            Cell::or_dash(talk.uplink.as_ref()),
            Cell::or_dash(talk.hook.map(|hook| hook.to_string())),
            units::rate(talk.rate.received).into(),
            units::rate(talk.rate.sent).into(),
            units::octets(talk.received.bytes).into(),
            units::octets(talk.sent.bytes).into(),
            wait(latency.lan),
            wait(latency.wan),
        ];
        table.row(row, output)?;
    }
    table.finish(output)?;
    let shown = answer.talks.len();
    let text = if all {
        format!("{shown} of {}", answer.total)
    } else {
        format!("{shown} shown, of {} at all ports", answer.total)
    };
    output.line("")?;
    output.line(&output.toned(Tone::Dim, &text))
}

/// What the device is called, or its hardware address.
pub(crate) fn station(talk: &Talk) -> &str {
    let name = talk
        .device
        .as_deref()
        .filter(|name| !name.trim().is_empty());
    name.unwrap_or(&talk.mac)
}

/// The other end, by name where it has one: `example.org:443`, `198.51.100.1:443`; in at most so many columns, unless it is an address.
pub(crate) fn far(talk: &Talk, longest: usize) -> String {
    let name = talk
        .far_name
        .as_deref()
        .filter(|name| !name.trim().is_empty());
    let Some(name) = name else {
        return socket(&talk.far, talk.far_port);
    };
    // The port is seen, however long the name is.
    let port = match talk.far_port {
        0 => String::new(),
        port => format!(":{port}"),
    };
    let name = clipped(&harmless(name), longest.saturating_sub(port.len()));
    format!("{name}{port}")
}

/// An address with its port, where there is one.
pub(crate) fn socket(address: &str, port: u16) -> String {
    match (address.parse::<IpAddr>(), port) {
        (_, 0) => harmless(address),
        (Ok(IpAddr::V6(address)), port) => format!("[{address}]:{port}"),
        (_, port) => format!("{}:{port}", harmless(address)),
    }
}

/// Name of the protocol, or its number (IANA).
pub(crate) fn protocol(talk: &Talk) -> String {
    match (talk.protocol, talk.protocol_number) {
        (Some(protocol), _) => protocol.to_string(),
        (None, 1 | 58) => "icmp".to_owned(),
        (None, 47) => "gre".to_owned(),
        (None, 50) => "esp".to_owned(),
        (None, 132) => "sctp".to_owned(),
        (None, number) => number.to_string(),
    }
}
