//! `weir conversations`: conversations of devices.

use std::io;
use std::net::{IpAddr, SocketAddr};

use answers::{Conversation, ConversationSort, Conversations, ConversationsQuery};
use api::with_query;
use clap::{Args, ValueEnum};

use runtime::Error;
use runtime::command::{Connection, Format, client, device_names};
use runtime::output::{Align, Cell, Output, Table, Tone, clipped, sanitize, units};

/// Show conversations through the router and with it
#[derive(Args, Debug)]
#[command(after_long_help = "\
A conversation is the traffic of two ends over one protocol and pair of ports, seen from the \
device behind a port.
  DOWN, RECEIVED   traffic to the device: rate of the last seconds, and total
  UP, SENT         traffic from the device
  FAR END          name from DNS, TLS or QUIC, if known
  UPLINK           device by which the traffic leaves
  HOOK             where weir forwards; `-`: the kernel forwards
  LAN, WAN         median TCP delay in ms, to the device and to the far end
A conversation that crosses an uplink is seen at both sides, but listed once, unless --device or \
--port selects the uplink's side. `this router`: the router's own conversations.

Examples:
  weir conversations
  weir conversations --device laptop --sort bytes
  weir conversations --port lan0 --limit 100
  weir conversations --json | jq -r '.conversations[] | {device, remote_name}'")]
pub struct ConversationsArgs {
    /// Only conversations of this device: hardware address, name or IP address
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Only conversations of devices at this port
    #[arg(long, value_name = "NAME")]
    port: Option<String>,
    /// Sort order, largest or most recent first
    #[arg(long, default_value = "rate")]
    sort: SortArg,
    /// Show at most this many
    #[arg(long, value_name = "NUMBER", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(i64::from(*answers::monitor::CONVERSATION_LIMITS.start())..=i64::from(*answers::monitor::CONVERSATION_LIMITS.end())))]
    limit: u32,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SortArg {
    /// Current bits a second, both directions
    Rate,
    /// Bytes since the start, both directions
    Bytes,
    /// Most recently seen first
    Recent,
}

pub fn run(args: &ConversationsArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let client = client(&args.connection)?;
    let device = match &args.device {
        Some(wanted) => Some(device_names::mac_of(&client.get("/v1/devices")?, wanted)?),
        None => None,
    };
    let asked = ConversationsQuery {
        device,
        port: args.port.clone(),
        sort: match args.sort {
            SortArg::Rate => ConversationSort::Rate,
            SortArg::Bytes => ConversationSort::Bytes,
            SortArg::Recent => ConversationSort::Recent,
        },
        limit: args.limit,
    };
    let mut answer: Conversations = client.get(&with_query("/v1/conversations", &asked))?;
    if args.format.json {
        output.json(&answer)?
    } else {
        if args.device.is_none() && args.port.is_none() {
            answer.conversations.iter_mut().for_each(from_inside);
        }
        print(&answer, output)?
    }
    Ok(())
}

/// Columns that a name may take; it can have 253 letters.
const LONGEST_NAME: usize = 46;

fn print(answer: &Conversations, output: &mut Output<'_>) -> io::Result<()> {
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
    for conversation in &answer.conversations {
        let wait = |time: Option<f64>| Cell::or_dash(time.map(units::milliseconds));
        let latency = conversation.latency.clone().unwrap_or_default();
        let row = [
            Cell::or_dash(
                device_name(conversation).map(|name| clipped(&sanitize(name), LONGEST_NAME)),
            ),
            socket(&conversation.station, conversation.station_port).into(),
            protocol(conversation).into(),
            remote(conversation, LONGEST_NAME).into(),
            Cell::or_dash(conversation.application.as_ref()),
            Cell::or_dash(conversation.uplink.as_ref()),
            Cell::or_dash(conversation.hook.map(|hook| hook.to_string())),
            units::rate(conversation.rate.received).into(),
            units::rate(conversation.rate.sent).into(),
            units::bytes(conversation.received.bytes).into(),
            units::bytes(conversation.sent.bytes).into(),
            wait(latency.lan),
            wait(latency.wan),
        ];
        table.row(row, output)?;
    }
    table.finish(output)?;
    let shown = answer.conversations.len();
    let text = format!("{shown} of {}", answer.total);
    output.line("")?;
    output.line(&output.toned(Tone::Dim, &text))
}

/// Reverses a conversation seen at an uplink from outside, where the remote end is the station:
/// readers of a full list expect the inner device as the station.
pub(crate) fn from_inside(conversation: &mut Conversation) {
    if !std::mem::take(&mut conversation.outside) {
        return;
    }
    let outer = socket(&conversation.remote, conversation.remote_port);
    let behind: Option<SocketAddr> = conversation
        .behind
        .take()
        .and_then(|behind| behind.parse().ok());
    std::mem::swap(&mut conversation.station, &mut conversation.remote);
    std::mem::swap(
        &mut conversation.station_port,
        &mut conversation.remote_port,
    );
    std::mem::swap(&mut conversation.received, &mut conversation.sent);
    std::mem::swap(&mut conversation.rate.received, &mut conversation.rate.sent);
    if let Some(latency) = &mut conversation.latency {
        std::mem::swap(&mut latency.lan, &mut latency.wan);
        std::mem::swap(&mut latency.lan_min, &mut latency.wan_min);
    }
    // The remote end was an address of this router, and the station the next hop to the Internet.
    conversation.remote_name = None;
    conversation.uplink = Some(conversation.port.clone());
    conversation.device = match behind {
        Some(behind) => {
            conversation.station = behind.ip().to_string();
            conversation.station_port = behind.port();
            conversation.translated = Some(outer);
            None
        }
        None => Some("this router".to_owned()),
    };
}

/// Returns the name of the device, if there is one.
fn device_name(conversation: &Conversation) -> Option<&str> {
    let name = conversation.device.as_deref();
    name.filter(|name| !name.trim().is_empty())
}

/// Returns the name of the device, otherwise its address in the conversation.
#[cfg_attr(not(feature = "top"), allow(dead_code, reason = "for `weir top`"))]
pub(crate) fn station(conversation: &Conversation) -> &str {
    device_name(conversation).unwrap_or(&conversation.station)
}

/// Returns the remote end, by name if known: `example.org:443`, `198.51.100.1:443`; at most
/// `longest` columns, unless it is an address.
pub(crate) fn remote(conversation: &Conversation, longest: usize) -> String {
    let name = conversation
        .remote_name
        .as_deref()
        .filter(|name| !name.trim().is_empty());
    let Some(name) = name else {
        return socket(&conversation.remote, conversation.remote_port);
    };
    // The port is seen, however long the name is.
    let port = match conversation.remote_port {
        0 => String::new(),
        port => format!(":{port}"),
    };
    let name = clipped(&sanitize(name), longest.saturating_sub(port.len()));
    format!("{name}{port}")
}

/// Returns an address with its port, if it has one.
pub(crate) fn socket(address: &str, port: u16) -> String {
    match (address.parse::<IpAddr>(), port) {
        (_, 0) => sanitize(address),
        (Ok(IpAddr::V6(address)), port) => format!("[{address}]:{port}"),
        (_, port) => format!("{}:{port}", sanitize(address)),
    }
}

/// Returns the name of the protocol, or its number (IANA).
pub(crate) fn protocol(conversation: &Conversation) -> String {
    match (conversation.protocol, conversation.protocol_number) {
        (Some(protocol), _) => protocol.to_string(),
        (None, 1 | 58) => "icmp".to_owned(),
        (None, 47) => "gre".to_owned(),
        (None, 50) => "esp".to_owned(),
        (None, 132) => "sctp".to_owned(),
        (None, number) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use answers::{Count, Latency, Rate};

    use super::*;

    #[test]
    fn what_is_seen_outside_is_told_from_the_inside() {
        let count = |bytes| Count { bytes, packets: 1 };
        let outside = Conversation {
            id: 1,
            port: "wan0".into(),
            vlan: None,
            mac: "02:00:5e:10:00:fe".into(),
            device: Some("gateway".into()),
            protocol_number: 6,
            protocol: None,
            station: "198.51.100.1".into(),
            station_port: 443,
            remote: "203.0.113.7".into(),
            remote_port: 61_000,
            remote_name: None,
            application: None,
            translated: None,
            behind: Some("192.168.1.2:40000".into()),
            outside: true,
            lan: false,
            uplink: None,
            received: count(1),
            sent: count(2),
            rate: Rate {
                received: 3,
                sent: 4,
            },
            hook: None,
            first_seen: 0,
            last_seen: 0,
            latency: Some(Latency {
                lan: Some(24.0),
                wan: Some(2.0),
                ..Latency::default()
            }),
        };
        let mut own = outside.clone();
        own.behind = None;
        let mut conversation = outside;
        from_inside(&mut conversation);
        assert_eq!(station(&conversation), "192.168.1.2");
        assert_eq!(
            socket(&conversation.station, conversation.station_port),
            "192.168.1.2:40000"
        );
        assert_eq!(remote(&conversation, 40), "198.51.100.1:443");
        assert_eq!(
            conversation.translated.as_deref(),
            Some("203.0.113.7:61000")
        );
        assert_eq!(
            (conversation.received.bytes, conversation.sent.bytes),
            (2, 1)
        );
        assert_eq!((conversation.rate.received, conversation.rate.sent), (4, 3));
        assert_eq!(
            conversation
                .latency
                .as_ref()
                .and_then(|latency| latency.wan),
            Some(24.0)
        );
        let turned = conversation.clone();
        from_inside(&mut conversation);
        assert_eq!(conversation, turned, "once");
        from_inside(&mut own);
        assert_eq!(
            (station(&own), own.station.as_str()),
            ("this router", "203.0.113.7")
        );
    }
}
