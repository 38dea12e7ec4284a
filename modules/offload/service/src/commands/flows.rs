//! `weir flows`: connections.

use std::time::Duration;

use answers::{
    AddressFilter, Directions, Flow, FlowFilter, FlowState, Protocol, Sort, StationPair,
};
use api::{Client, with_query};
use clap::{Args, ValueEnum};
use serde::Deserialize;

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Align, Cell, Output, Table, Tone, units};

/// List connections
#[derive(Args, Debug)]
#[command(after_long_help = "\
States:
  forwarded  by weir, in at least one direction
  known      by the kernel, until a packet proves the path
  declined   by the kernel, for the reason shown; `weir explain ID` has details

Packets and bytes count what weir forwarded, both directions together.

Examples:
  weir flows --sort bytes --limit 20
  weir flows --address 192.168.1.0/24 --port 443
  weir flows --state declined
  weir flows --watch --sort packets
  weir flows --json | jq '.flows[].reason.code' | sort | uniq -c")]
pub struct FlowsArgs {
    /// Only connections with this port on either side, before or after NAT
    #[arg(long)]
    port: Option<u16>,
    /// Only connections with this address on either side, before or after NAT; or with a prefix
    /// such as 192.168.1.0/24
    #[arg(long, value_name = "ADDRESS[/LENGTH]")]
    address: Option<AddressFilter>,
    /// Only connections of this protocol
    #[arg(long)]
    protocol: Option<ProtocolArg>,
    /// Only connections in this state
    #[arg(long)]
    state: Option<StateArg>,
    /// Only connections that arrive at or leave by this device
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Sort, largest or oldest first
    #[arg(long)]
    sort: Option<SortArg>,
    /// Show at most this many [default with --watch: 20]
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u32>,
    /// Repeat every second, until interrupted
    #[arg(short, long, conflicts_with = "json")]
    watch: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtocolArg {
    Tcp,
    Udp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StateArg {
    Forwarded,
    Known,
    Declined,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SortArg {
    Bytes,
    Packets,
    Age,
}

const WATCH_LIMIT: u32 = 20;
const FOLLOW_EVERY: Duration = Duration::from_secs(1);
/// Moves the cursor to the upper left, and clears the screen (ECMA-48 CUP, ED).
const CLEAR: &str = "\x1b[H\x1b[J";

impl FlowsArgs {
    fn filter(&self) -> FlowFilter {
        FlowFilter {
            port: self.port,
            address: self.address,
            protocol: self.protocol.map(|protocol| match protocol {
                ProtocolArg::Tcp => Protocol::Tcp,
                ProtocolArg::Udp => Protocol::Udp,
            }),
            state: self.state.map(|state| match state {
                StateArg::Forwarded => FlowState::Forwarded,
                StateArg::Known => FlowState::Known,
                StateArg::Declined => FlowState::Declined,
            }),
            device: self.device.clone(),
            sort: self.sort.map(|sort| match sort {
                SortArg::Bytes => Sort::Bytes,
                SortArg::Packets => Sort::Packets,
                SortArg::Age => Sort::Age,
            }),
            limit: self.limit.or(self.watch.then_some(WATCH_LIMIT)),
        }
    }
}

/// Fields other than the flows, which are shown as they arrive.
#[derive(Deserialize)]
struct Rest {
    matched: u64,
    #[serde(default)]
    bridged: Vec<StationPair>,
}

pub fn run(args: &FlowsArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let client = client(&args.connection)?;
    let filter = args.filter();
    if args.format.json {
        client.copy(&with_query("/v1/flows", &filter), output.raw())?;
        return Ok(output.line("")?);
    }
    if !args.watch {
        return print(&client, &filter, output);
    }
    loop {
        let mut page = Vec::new();
        // Written at once, so that it does not flicker; the first error, such as a daemon that
        // stopped, ends it.
        print(
            &client,
            &filter,
            &mut Output::to(&mut page, output.has_colour()),
        )?;
        if output.is_terminal() {
            output.raw().write_all(CLEAR.as_bytes())?;
        }
        output.raw().write_all(&page)?;
        output.line("")?;
        output.flush()?;
        std::thread::sleep(FOLLOW_EVERY);
    }
}

fn print(client: &Client, filter: &FlowFilter, output: &mut Output<'_>) -> Result<(), Error> {
    let mut table = Table::new([
        ("ID", Align::Left),
        ("PROTO", Align::Left),
        ("SOURCE", Align::Left),
        ("DESTINATION", Align::Left),
        ("TRANSLATED", Align::Left),
        ("STATE", Align::Left),
        ("HOOKS", Align::Left),
        ("PACKETS", Align::Right),
        ("BYTES", Align::Right),
        ("AGE", Align::Right),
        ("REASON", Align::Left),
    ]);
    let mut listed = 0u64;
    let path = with_query("/v1/flows", filter);
    let rest: Rest = client.list(&path, "flows", |flow: Flow| {
        listed += 1;
        table.row(row(&flow), output)
    })?;
    table.finish(output)?;
    if !rest.bridged.is_empty() {
        output.line("")?;
        print_bridged(&rest.bridged, output)?;
    }
    if filter.limit.is_some() && listed < rest.matched {
        output.line(&output.toned(Tone::Dim, &format!("{listed} of {}", rest.matched)))?;
    }
    Ok(())
}

/// Prints stations of bridges, in a table of their own.
fn print_bridged(bridged: &[StationPair], output: &mut Output<'_>) -> std::io::Result<()> {
    let mut table = Table::new([
        ("BRIDGED FROM", Align::Left),
        ("AT", Align::Left),
        ("TO", Align::Left),
        ("AT", Align::Left),
        ("STATE", Align::Left),
        ("HOOKS", Align::Left),
        ("PACKETS", Align::Right),
        ("BYTES", Align::Right),
        ("AGE", Align::Right),
        ("REASON", Align::Left),
    ]);
    for pair in bridged {
        let (there, back) = (&pair.directions.original, &pair.directions.reply);
        let at = |a: &Option<String>, b: &Option<String>| Cell::or_dash(a.as_ref().or(b.as_ref()));
        let hook =
            |way: &answers::Direction| way.hook.map_or_else(|| "-".to_owned(), |h| h.to_string());
        let row = [
            pair.source.as_str().into(),
            at(&there.port_in, &back.port_out),
            pair.destination.as_str().into(),
            at(&there.port_out, &back.port_in),
            state(pair.state, &pair.directions),
            format!("{}/{}", hook(there), hook(back)).into(),
            units::count(there.packets.saturating_add(back.packets)).into(),
            units::bytes(there.bytes.saturating_add(back.bytes)).into(),
            units::duration(pair.age_seconds).into(),
            Cell::or_dash(pair.reason.as_ref().map(|reason| &reason.code)),
        ];
        table.row(row, output)?;
    }
    table.finish(output)
}

fn row(flow: &Flow) -> [Cell; 11] {
    let hook = |direction: &answers::Direction| {
        direction
            .hook
            .map_or_else(|| "-".to_owned(), |hook| hook.to_string())
    };
    let hooks = format!(
        "{}/{}",
        hook(&flow.directions.original),
        hook(&flow.directions.reply)
    );
    [
        Cell::toned(flow.id.to_string(), Tone::Dim),
        flow.protocol.to_string().into(),
        socket(flow.original.source, flow.original.source_port).into(),
        socket(flow.original.destination, flow.original.destination_port).into(),
        Cell::or_dash(translated(flow)),
        state(flow.state, &flow.directions),
        hooks.into(),
        units::count(flow.packets()).into(),
        units::bytes(flow.bytes()).into(),
        units::duration(flow.age_seconds).into(),
        Cell::or_dash(flow.reason.as_ref().map(|reason| &reason.code)),
    ]
}

/// Names the forwarder. If a flow takes the fast path in one direction only, HOOKS says in which.
fn state(state: FlowState, directions: &Directions) -> Cell {
    let both = directions.original.proven && directions.reply.proven;
    match state {
        FlowState::Forwarded if both => Cell::toned(state.to_string(), Tone::Good),
        FlowState::Forwarded => Cell::toned("one way", Tone::Plain),
        FlowState::Known => Cell::toned(state.to_string(), Tone::Plain),
        FlowState::Declined => Cell::toned(state.to_string(), Tone::Warn),
    }
}

/// Formats the translation: the new source, or the destination, or both.
fn translated(flow: &Flow) -> Option<String> {
    let source = || {
        format!(
            "from {}",
            socket(flow.reply.destination, flow.reply.destination_port)
        )
    };
    let destination = || format!("to {}", socket(flow.reply.source, flow.reply.source_port));
    match (flow.translated.snat, flow.translated.dnat) {
        (false, false) => None,
        (true, false) => Some(source()),
        (false, true) => Some(destination()),
        (true, true) => Some(format!("{} {}", source(), destination())),
    }
}

fn socket(address: std::net::IpAddr, port: u16) -> String {
    std::net::SocketAddr::new(address, port).to_string()
}
