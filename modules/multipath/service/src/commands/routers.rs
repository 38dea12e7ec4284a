//! `weir multipath list`, `revoke` and `rotate`: the routers that a partner was paired with.

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use multipath_core::io::{Observations, RouterCounters, RouterEntry, Store};
use serde::Serialize;

use super::pair::{State, address_of, kept, print_line};
use runtime::Error;
use runtime::command::Format;
use runtime::output::dates::Moment;
use runtime::output::{Align, Cell, Output, Table, Tone, sanitize, units};

/// List the routers that are paired with this partner
#[derive(Args, Debug)]
#[command(after_long_help = "\
SENT and RECEIVED: traffic to and from a router since it got its key, of connections and of the \
tunnel. OPEN: its open connections. The partner saves these figures once a minute at most, and \
when it ends; the first line shows their age. STATE is always current: a router `waits` until it \
has connected with its line.

Examples:
  weir multipath list
  weir multipath list --json | jq '.routers[] | select(.connected) | .name'")]
pub struct ListArgs {
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    format: Format,
}

/// Set how many connections a router may have at once
///
/// By default a router gets as many connections as the others leave free. Set a lower limit here.
/// The limit applies at once to new connections; open connections stay.
#[derive(Args, Debug)]
pub struct LimitArgs {
    #[command(flatten)]
    state: State,
    /// Name of the router, or its key's id
    #[arg(value_name = "ROUTER")]
    router: String,
    /// Number of connections; "none": as many as the others leave free
    #[arg(value_name = "CONNECTIONS", value_parser = limit_of)]
    connections: Limit,
}

/// Most connections; `None`: no limit.
#[derive(Clone, Copy, Debug)]
struct Limit(Option<u32>);

fn limit_of(text: &str) -> Result<Limit, &'static str> {
    match (text, text.parse()) {
        ("none", _) => Ok(Limit(None)),
        (_, Ok(number)) => Ok(Limit(Some(number))),
        _ => Err("give a number of connections, such as 500, or none"),
    }
}

/// Revoke a router: end its connections and tunnel, reject its key
///
/// No other router gets its key or its tunnel addresses; its ports become free for others. To undo,
/// pair with the router again.
#[derive(Args, Debug)]
pub struct RevokeArgs {
    #[command(flatten)]
    state: State,
    /// Name of the router, or its key's id
    #[arg(value_name = "ROUTER")]
    router: String,
}

/// Give a router a new key, and print the line for its configuration
///
/// The router keeps its name, its ports and its tunnel addresses. The old line becomes invalid: the
/// router's connections end at once, until its configuration has the new line. Use this if a line
/// fell into the wrong hands, or if a router lost its own key.
#[derive(Args, Debug)]
pub struct RotateArgs {
    #[command(flatten)]
    state: State,
    /// Name of the router, or its key's id
    #[arg(value_name = "ROUTER")]
    router: String,
    /// Name or address at which the router reaches this machine; add the port unless it is 9349
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// Also print the line as a QR code, in a terminal of at least 70 columns
    #[arg(long)]
    qr: bool,
}

pub fn limit(args: &LimitArgs) -> Result<(), Error> {
    let store = Store::existing(&args.state.state);
    let done = store.limit(&args.router, args.connections.0);
    done.map_err(|error| kept(&error))
}

pub fn revoke(args: &RevokeArgs) -> Result<(), Error> {
    let store = Store::existing(&args.state.state);
    store.revoke(&args.router).map_err(|error| kept(&error))
}

pub fn rotate(args: &RotateArgs, output: &mut Output<'_>) -> Result<(), Error> {
    // Checked before the old key is revoked.
    let pairing = address_of(&args.address)?;
    let store = Store::existing(&args.state.state);
    let key = store.rotate(&args.router).map_err(|error| kept(&error))?;
    print_line(&pairing(key)?, args.qr, output)
}

/// A router, as listed.
#[derive(Debug, Serialize)]
struct Told {
    name: String,
    id: String,
    /// `waits` until its line is used, `paired` or `revoked`.
    state: &'static str,
    /// Addresses in the tunnel.
    addresses: Vec<String>,
    /// Ports of the partner that lead to the router.
    ports: Vec<String>,
    connected: bool,
    /// Seconds since 1970; `null`: never connected.
    last_seen: Option<u64>,
    sent: u64,
    received: u64,
    connections: u64,
    /// Most connections at once; `null`: as many as are left for the others.
    limit: Option<u32>,
}

/// Output of `--json`.
#[derive(Debug, Serialize)]
struct List {
    /// Time of the figures, seconds since 1970; `null`: no figures.
    at: Option<u64>,
    /// True if the partner is serving.
    serves: bool,
    routers: Vec<Told>,
}

fn told(router: &RouterEntry, seen: Option<&Observations>) -> Told {
    let found = seen.and_then(|seen| seen.of(router.id));
    let RouterCounters {
        last,
        sent,
        received,
        open,
        connected,
    } = found.unwrap_or_default();
    let is_paired = !router.is_revoked;
    let state = match router.router {
        _ if router.is_revoked => "revoked",
        Some(_) => "paired",
        None => "waits",
    };
    let mut addresses = Vec::new();
    if let (Some(seen), Some(place), true) = (seen, router.address_index, is_paired) {
        let (four, six) = seen.net.router(place);
        addresses.extend(four.map(|(address, _)| address.to_string()));
        addresses.extend(six.map(|(address, _)| address.to_string()));
    }
    let is_served = is_paired && seen.is_some_and(|seen| seen.serves);
    Told {
        name: router.name.clone(),
        id: router.id.to_string(),
        state,
        addresses,
        ports: router.forwards.iter().map(ToString::to_string).collect(),
        connected: connected && is_served,
        last_seen: (last > 0).then_some(last),
        sent,
        received,
        connections: if is_served { open } else { 0 },
        limit: router.max_connections,
    }
}

pub fn list(args: &ListArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let store = Store::existing(&args.state.state);
    let roll = store.roll().map_err(|error| kept(&error))?;
    let mut seen = store.observations().map_err(|error| kept(&error))?;
    // A killed partner could not record its end.
    if let Some(seen) = &mut seen {
        seen.serves &= store.is_served();
    }
    let list = List {
        at: seen.as_ref().map(|seen| seen.at),
        serves: seen.as_ref().is_some_and(|seen| seen.serves),
        routers: roll.all().map(|it| told(it, seen.as_ref())).collect(),
    };
    if args.format.json {
        return Ok(output.json(&list)?);
    }
    Ok(print(&list, net::clock::unix_seconds(), output)?)
}

/// Converts to this machine's local time.
fn clock(unix: u64) -> Moment {
    let at = i64::try_from(unix).ok();
    let at = at.and_then(|at| Timestamp::from_second(at).ok());
    let offset = at.map_or(0, |at| TimeZone::system().to_offset(at).seconds() / 60);
    Moment::new(unix, offset)
}

fn print(list: &List, now: u64, output: &mut Output<'_>) -> std::io::Result<()> {
    let ago = |at: u64| units::duration(now.saturating_sub(at));
    match list.at {
        None => output.line("no router seen yet: `weir multipath serve` has not run here")?,
        Some(at) if list.serves => output.line(&format!("as of {} ago", ago(at)))?,
        Some(at) => {
            let line = format!(
                "the partner has not served since {}, {} ago",
                clock(at),
                ago(at)
            );
            output.line(&output.toned(Tone::Warn, &line))?;
        }
    }
    if list.routers.is_empty() {
        return output.line("no routers: run `weir multipath pair` to print a line for one");
    }
    let right = |name| (name, Align::Right);
    let mut table = Table::new([
        ("NAME", Align::Left),
        ("ID", Align::Left),
        ("STATE", Align::Left),
        ("LAST SEEN", Align::Left),
        right("SENT"),
        right("RECEIVED"),
        right("OPEN"),
        ("TUNNEL", Align::Left),
        ("PORTS", Align::Left),
    ]);
    for router in &list.routers {
        let filled = |all: &[String]| (!all.is_empty()).then(|| all.join(" "));
        let state = match router.state {
            "revoked" => Cell::toned(router.state, Tone::Dim),
            state => Cell::from(state),
        };
        let last = match router.last_seen {
            _ if router.connected => Cell::toned("connected now", Tone::Good),
            last => Cell::or_dash(last.map(|at| clock(at).to_string())),
        };
        table.row(
            [
                Cell::or_dash(Some(sanitize(&router.name)).filter(|name| !name.is_empty())),
                Cell::from(router.id.as_str()),
                state,
                last,
                Cell::from(units::bytes(router.sent)),
                Cell::from(units::bytes(router.received)),
                Cell::from(match router.limit {
                    Some(most) => format!("{} of {most}", router.connections),
                    None => router.connections.to_string(),
                }),
                Cell::or_dash(filled(&router.addresses)),
                Cell::or_dash(filled(&router.ports)),
            ],
            output,
        )?;
    }
    table.finish(output)
}

#[cfg(test)]
mod tests {
    use multipath_core::net::TunnelNet;
    use multipath_core::{KeyId, PublicKey};

    use super::*;

    #[test]
    fn a_router_is_a_row() {
        let id = KeyId([7; 8]);
        let router = RouterEntry {
            id,
            name: "ho\u{1b}me".into(),
            forwards: vec!["tcp/8022".parse().expect("ports")],
            address_index: Some(1),
            router: Some(PublicKey([1; 32])),
            max_connections: None,
            is_revoked: false,
        };
        let figures = RouterCounters {
            last: 1000,
            sent: 2048,
            received: 5,
            open: 3,
            connected: true,
        };
        let mut seen = Observations {
            at: 1010,
            serves: true,
            net: TunnelNet {
                ipv4: "10.93.0.0/16".parse().expect("a network"),
                ipv6: None,
            },
            routers: vec![(id, figures)],
        };
        let shown = |router: &RouterEntry, seen: Option<&Observations>| {
            let list = List {
                at: seen.map(|seen| seen.at),
                serves: seen.is_some_and(|seen| seen.serves),
                routers: vec![told(router, seen)],
            };
            let mut memory = Vec::new();
            print(&list, 1045, &mut Output::to(&mut memory, false)).expect("memory");
            String::from_utf8(memory).expect("text")
        };
        let text = shown(&router, Some(&seen));
        assert!(text.starts_with("as of 35s ago\nNAME "), "{text}");
        let row = "ho?me  0707070707070707  paired  connected now  2.0 KiB       5 B     3  \
            10.93.0.3  tcp/8022";
        assert!(text.contains(row), "{text}");
        let revoked = RouterEntry {
            is_revoked: true,
            forwards: Vec::new(),
            ..router.clone()
        };
        let text = shown(&revoked, Some(&seen));
        assert!(text.contains("revoked  1970-01-01 "), "{text}");
        assert!(!text.contains("10.93"), "{text}");
        let few = RouterEntry {
            max_connections: Some(500),
            ..router.clone()
        };
        assert!(shown(&few, Some(&seen)).contains("  3 of 500  "));
        let waits = RouterEntry {
            router: None,
            ..router.clone()
        };
        let text = shown(&waits, Some(&seen));
        assert!(text.contains("0707070707070707  waits "), "{text}");
        seen.serves = false;
        let text = shown(&router, Some(&seen));
        assert!(text.starts_with("the partner has not served since 1970-01-01 "));
        assert!(!text.contains("connected now"), "{text}");
        assert!(shown(&router, None).starts_with("no router seen yet"));
    }
}
