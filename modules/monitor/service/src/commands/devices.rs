//! `weir devices`: who uses the network.

mod equation;
mod label;
mod notes;

use std::io;

use answers::{Count, Device, Devices, Latency, MeteredPort, Rate};
use clap::{Args, ValueEnum};

pub(crate) use notes::note;
use runtime::Error;
use runtime::command::device_names::{is_called, unknown};
use runtime::command::{Connection, Format, client};
use runtime::output::{Align, Cell, Output, Table, Tone, clipped, units};

/// Show devices and their traffic
#[derive(Args, Debug)]
#[command(
    visible_alias = "device",
    mut_arg("socket", |socket| socket.global(true)),
    mut_arg("json", |json| json.global(true)),
    after_long_help = "\
A device is anything with its own hardware address at one of the router's ports.
  DOWN, RECEIVED   from the Internet: rate of the last seconds, sum since start
  UP, SENT         to the Internet
  LAN              received and sent without crossing an uplink: other devices,
                   the router itself, multicast
  CONVS            current conversations
  LAN, WAN         median TCP delay in ms, to the device and to the far end
  SEEN             time since the last packet
Sums count IP packets, from the first byte of the IP header. Uplinks are left out, because their \
traffic is that of the devices, seen from the other side; --all shows them.
MADE BY: manufacturer, by the hardware address. \"made up\": the device or its owner chose the \
address, as phones do for each network; the manufacturer is unknown, and the address may change.

--equation shows for each port and direction, in packets and bytes:
  CONVS + UNPLACED + OTHER + LINK = COUNTED
UNPLACED: packets for which no record was free. OTHER: not IP. LINK: headers before IP and padding \
behind it.
BEFORE: traffic that the DEVICE counted before weir began; while this number stays the same, no \
packet is missing.

Examples:
  weir devices
  weir devices --sort bytes --limit 5
  weir devices --device laptop
  weir device rename 192.168.1.7 \"kitchen radio\"
  weir device owner 02:00:5e:10:00:01 Anna
  weir devices --json | jq -r '.devices[] | [.name, .sent.bytes] | @tsv'"
)]
pub struct DevicesArgs {
    #[command(subcommand)]
    what: Option<label::LabelCommand>,
    /// Only devices at this port
    #[arg(long, value_name = "NAME")]
    port: Option<String>,
    /// Only this device: hardware address, name or IP address
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Sort order, largest first (names alphabetically)
    #[arg(long, default_value = "rate")]
    sort: SortArg,
    /// Show at most this many
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
    /// Also show uplinks, and devices that have a label but were not seen (--json always includes
    /// both)
    #[arg(long)]
    all: bool,
    /// Show for each port that every packet is accounted for
    #[arg(long, conflicts_with_all = ["device", "sort", "limit", "all", "json"])]
    equation: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SortArg {
    /// Current Internet traffic, both directions
    Rate,
    /// Internet traffic since weir began to count, both directions
    Bytes,
    /// LAN traffic since weir began to count, both directions
    Lan,
    /// Number of current conversations
    Conversations,
    /// The larger of the two delays
    Latency,
    /// Name, else address
    Name,
    /// Most recently seen first
    Recent,
}

pub fn run(args: &DevicesArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let client = client(&args.connection)?;
    if let Some(what) = &args.what {
        return label::run(what, &client, args.format.json, output);
    }
    let mut answer: Devices = client.get("/v1/devices")?;
    if let Some(port) = &args.port {
        answer.ports.retain(|metered| metered.name == *port);
        if answer.ports.is_empty() {
            let what = format!("no counted port is called `{port}`");
            return Err(Error::new(
                what,
                "`weir devices --equation` lists all counted ports",
            ));
        }
    }
    if args.equation {
        return Ok(equation::print(
            &answer,
            &client.get::<Vec<_>>("/v1/ports")?,
            output,
        )?);
    }
    if let Some(wanted) = &args.device {
        answer.devices.retain(|device| is_called(device, wanted));
        if answer.devices.is_empty() {
            return Err(unknown(wanted));
        }
    }
    let shows_uplinks = args.all || args.format.json || args.device.is_some();
    answer.devices.retain(|device| {
        let port = args.port.as_ref();
        port.is_none_or(|port| device.port == *port) && (shows_uplinks || !device.uplink)
    });
    let known = answer.devices.len();
    sort(&mut answer.devices, args.sort);
    if let Some(limit) = args.limit {
        answer.devices.truncate(limit);
    }
    if args.format.json {
        output.json(&answer)?
    } else {
        print(&answer, known, args.all, output)?
    }
    Ok(())
}

fn sort(devices: &mut [Device], by: SortArg) {
    let name = |device: &Device| display_name(device).to_lowercase();
    match by {
        SortArg::Name => devices.sort_by_cached_key(|device| (name(device), device.mac.clone())),
        _ => devices.sort_by_cached_key(|device| {
            let key = match by {
                SortArg::Rate => sum(device.rate),
                SortArg::Bytes => device.received.bytes.saturating_add(device.sent.bytes),
                SortArg::Lan => in_the_lan(device),
                SortArg::Conversations => device.conversations,
                SortArg::Recent => device.last_seen,
                SortArg::Latency | SortArg::Name => device.latency.as_ref().map_or(0, longest),
            };
            // Of devices with equal values there, the busier one inside.
            let inside = match by {
                SortArg::Rate => sum(device.lan.rate),
                _ => 0,
            };
            (std::cmp::Reverse((key, inside)), device.mac.clone())
        }),
    }
}

/// Returns the bytes that crossed no uplink, in both directions.
pub(crate) fn in_the_lan(device: &Device) -> u64 {
    let lan = &device.lan;
    lan.received.bytes.saturating_add(lan.sent.bytes)
}

fn sum(rate: Rate) -> u64 {
    rate.received.saturating_add(rate.sent)
}

/// Returns the longer round trip, microseconds.
fn longest(latency: &Latency) -> u64 {
    let wait = latency.lan.unwrap_or(0.0).max(latency.wan.unwrap_or(0.0));
    // Negative and endless ones become the ends of the range.
    (wait * 1000.0) as u64
}

/// Returns the device's name, otherwise its first address, otherwise its hardware address.
pub(crate) fn display_name(device: &Device) -> &str {
    let name = device.name.as_ref().filter(|name| !name.trim().is_empty());
    name.or(device.addresses.first()).unwrap_or(&device.mac)
}

/// Columns that a name may take; it can have 253 letters.
const LONGEST_NAME: usize = 32;
/// Maximum width of the manufacturer's name.
const LONGEST_VENDOR: usize = 20;

fn print(answer: &Devices, known: usize, all: bool, output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("NAME", Align::Left),
        ("ADDRESS", Align::Left),
        ("MAC", Align::Left),
        ("MADE BY", Align::Left),
        ("PORT", Align::Left),
        ("DOWN", Align::Right),
        ("UP", Align::Right),
        ("RECEIVED", Align::Right),
        ("SENT", Align::Right),
        ("LAN", Align::Right),
        ("CONVS", Align::Right),
        ("LAN ms", Align::Right),
        ("WAN ms", Align::Right),
        ("SEEN", Align::Right),
        ("NOTE", Align::Left),
    ]);
    for device in &answer.devices {
        let wait = |of: fn(&Latency) -> Option<f64>| {
            Cell::or_dash(
                device
                    .latency
                    .as_ref()
                    .and_then(of)
                    .map(units::milliseconds),
            )
        };
        let (note, tone) = note(device, answer.now);
        let row = [
            Cell::or_dash(name(device)),
            Cell::or_dash(address(device)),
            Cell::toned(&device.mac, Tone::Dim),
            vendor(device),
            place(device).into(),
            units::rate(device.rate.received).into(),
            units::rate(device.rate.sent).into(),
            units::bytes(device.received.bytes).into(),
            units::bytes(device.sent.bytes).into(),
            units::bytes(in_the_lan(device)).into(),
            units::count(device.conversations).into(),
            wait(|latency| latency.lan),
            wait(|latency| latency.wan),
            seen(device.last_seen, answer.now).into(),
            Cell::toned(note, tone),
        ];
        table.row(row, output)?;
    }
    table.finish(output)?;
    output.line("")?;
    for port in answer.ports.iter().filter(|port| port.uplink) {
        let (down, up) = through(port);
        let name = runtime::output::sanitize(&port.name);
        output.line(&format!(
            "uplink {name}: down {}, up {}",
            units::rate(down),
            units::rate(up)
        ))?;
    }
    let total = |of: fn(&Device) -> Count| {
        let stations = answer.devices.iter().filter(|device| !device.uplink);
        units::bytes(
            stations
                .map(|device| of(device).bytes)
                .fold(0, u64::saturating_add),
        )
    };
    for label in answer.unseen.iter().filter(|_| all) {
        let name = label.name.as_deref().unwrap_or("without a name");
        let owner = label.owner.as_ref().map(|owner| format!(" ({owner})"));
        let who = runtime::output::sanitize(&format!("{name}{}", owner.unwrap_or_default()));
        let text = format!("not seen yet: {who}, {}", label.mac);
        output.line(&output.toned(Tone::Dim, &text))?;
    }
    let shown = answer.devices.len();
    let text = format!(
        "{shown} of {known} devices; received {}, sent {}; in the LAN received {}, sent {} in {}",
        total(|device| device.received),
        total(|device| device.sent),
        total(|device| device.lan.received),
        total(|device| device.lan.sent),
        units::duration(answer.now.saturating_sub(answer.since))
    );
    output.line(&output.toned(Tone::Dim, &text))
}

/// Returns bits per second from the Internet by this uplink, and to the Internet. The uplink's
/// stations are on the Internet: they *send* the downloads.
pub(crate) fn through(uplink: &MeteredPort) -> (u64, u64) {
    (uplink.rate.sent, uplink.rate.received)
}

/// Returns name and owner: `tv (Anna)`.
fn name(device: &Device) -> Option<String> {
    let owner = device.owner.as_ref().map(|owner| format!("({owner})"));
    let parts: Vec<&str> = device
        .name
        .iter()
        .chain(&owner)
        .map(String::as_str)
        .collect();
    let whole = runtime::output::sanitize(&parts.join(" "));
    (!parts.is_empty()).then(|| clipped(&whole, LONGEST_NAME))
}

/// Returns the cell with the device's manufacturer.
fn vendor(device: &Device) -> Cell {
    match &device.vendor {
        Some(vendor) => Cell::from(clipped(&runtime::output::sanitize(vendor), LONGEST_VENDOR)),
        None if device.local_mac => Cell::toned("made up", Tone::Dim),
        None => Cell::or_dash(None::<String>),
    }
}

/// Returns the first address, and the number of others: `192.168.1.7 +2`.
fn address(device: &Device) -> Option<String> {
    let first = device.addresses.first()?;
    Some(match device.addresses.len() - 1 {
        0 => first.clone(),
        more => format!("{first} +{more}"),
    })
}

fn place(device: &Device) -> String {
    match device.vlan {
        Some(vlan) => format!("{} vlan {vlan}", device.port),
        None => device.port.clone(),
    }
}

/// Seconds within which something is seen *now*: rates are averages over some seconds too.
const NOW: u64 = 10;

fn seen(when: u64, now: u64) -> String {
    match now.saturating_sub(when) {
        ago if ago < NOW => "now".to_owned(),
        ago => units::duration(ago),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a device without other properties.
    pub(super) fn device(mac: &str, name: Option<&str>, address: &str) -> Device {
        Device {
            mac: mac.into(),
            name: name.map(Into::into),
            addresses: vec![address.into()],
            ..Device::default()
        }
    }

    #[test]
    fn whose_it_is_stands_behind_its_name() {
        let mut some = device("a", Some("tv"), "x");
        assert_eq!(name(&some).as_deref(), Some("tv"));
        some.owner = Some("Anna".into());
        assert_eq!(name(&some).as_deref(), Some("tv (Anna)"));
        some.name = None;
        assert_eq!(name(&some).as_deref(), Some("(Anna)"));
    }

    #[test]
    fn orders() {
        let mut devices = vec![
            device("a", Some("b"), "x"),
            device("b", None, "A"),
            device("c", Some("c"), "x"),
        ];
        devices[2].conversations = 7;
        devices[1].latency = Some(Latency {
            wan: Some(f64::MAX),
            lan: Some(-1.0),
            ..Latency::default()
        });
        devices[0].rate.sent = u64::MAX;
        devices[0].rate.received = 1;
        devices[1].lan.rate.sent = 1;
        devices[2].lan.sent.bytes = 7;
        for (by, order) in [
            (SortArg::Rate, "abc"),
            (SortArg::Lan, "cab"),
            (SortArg::Conversations, "cab"),
            (SortArg::Latency, "bac"),
            (SortArg::Name, "bac"),
        ] {
            sort(&mut devices, by);
            let macs: String = devices.iter().map(|device| device.mac.as_str()).collect();
            assert_eq!(macs, order, "{by:?}");
        }
    }
}
