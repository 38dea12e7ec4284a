//! `weir history`: how much there was, per hour, day and month.

mod window;

use std::io;

use answers::{Count, History, HistoryBy, HistoryQuery, HistoryUnit, LanCount, Part, Period};
use api::with_query;
use clap::{Args, ValueEnum};

use runtime::Error;
use runtime::command::{Connection, Format, client, device_names};
use runtime::output::dates::{Moment, NotADate, Span};
use runtime::output::{
    Align, Cell, Charset, CharsetArg, Output, Table, Tone, clipped, sanitize, units,
};
use window::Window;

/// Show received and sent traffic per hour, day or month
#[derive(Args, Debug)]
#[command(after_long_help = "\
RECEIVED: from the Internet to devices. SENT: from devices to the Internet. TOTAL: both together. \
The bar is full for the largest TOTAL of a period. LAN IN and LAN OUT: received and sent by \
devices without crossing an uplink; a copy between two devices counts in both. Periods without \
traffic are left out. Times are in the router's time zone; hours before a change of the clocks are \
shown by the current offset.

Write dates as 2026-11-20, \"2026-11-20 15:00\", or 2026-11 for a month; --to is inclusive.

Examples:
  weir history
  weir history --unit hour --last 48
  weir history --unit month --by application
  weir history --from 2026-11-01 --to 2026-11-15 --device laptop
  weir history --json | jq '[.periods[].received.bytes] | add'")]
pub struct HistoryArgs {
    /// Length of the periods
    #[arg(long, default_value = "day")]
    unit: UnitArg,
    /// Only this many periods, up to now [default: 24 hours, 14 days, 12 months]
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["from", "to"],
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    last: Option<u32>,
    /// First period
    #[arg(long, value_name = "DATE", value_parser = span)]
    from: Option<Span>,
    /// Last period
    #[arg(long, value_name = "DATE", value_parser = span)]
    to: Option<Span>,
    /// Divide each period
    #[arg(long)]
    by: Option<ByArg>,
    /// Only this device: hardware address, name or IP address
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// With --by: show at most this many parts of each period, and sum up the rest
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    limit: usize,
    #[command(flatten)]
    charset: CharsetArg,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UnitArg {
    Hour,
    Day,
    Month,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ByArg {
    Device,
    Application,
}

fn span(text: &str) -> Result<Span, NotADate> {
    text.parse()
}

pub fn run(args: &HistoryArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let unit = match args.unit {
        UnitArg::Hour => HistoryUnit::Hour,
        UnitArg::Day => HistoryUnit::Day,
        UnitArg::Month => HistoryUnit::Month,
    };
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from.start >= to.end
    {
        let what = "--from is later than --to";
        return Err(Error::usage(what, "exchange them"));
    }
    let client = client(&args.connection)?;
    let device = match &args.device {
        Some(wanted) => Some(device_names::mac_of(&client.get("/v1/devices")?, wanted)?),
        None => None,
    };
    let now = net::clock::unix_seconds();
    let window = Window::new(unit, args.last, args.from, args.to);
    let (from, to) = window.asked(now);
    let asked = HistoryQuery {
        unit,
        from: Some(from),
        to,
        device,
        by: match args.by {
            Some(ByArg::Application) => HistoryBy::Application,
            Some(ByArg::Device) | None => HistoryBy::Device,
        },
    };
    let mut answer: History = client.get(&with_query("/v1/history", &asked))?;
    let offset = answer.offset_minutes;
    answer
        .periods
        .retain(|period| window.has(period, now, offset));
    if args.format.json {
        output.json(&answer)?
    } else {
        let parts = args.by.map(|_| args.limit);
        print(&answer, unit, parts, now, args.charset.charset(), output)?
    }
    Ok(())
}

/// Columns of the longest bar.
const BAR: usize = 24;
/// Columns that a name may take.
const LONGEST_NAME: usize = 40;

fn print(
    answer: &History,
    unit: HistoryUnit,
    parts: Option<usize>,
    now: u64,
    charset: Charset,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let both = |received: &Count, sent: &Count| received.bytes.saturating_add(sent.bytes);
    let most = answer
        .periods
        .iter()
        .map(|period| both(&period.received, &period.sent))
        .max()
        .unwrap_or(0);
    let row = |what: String, received: &Count, sent: &Count, lan: &LanCount| -> [Cell; 7] {
        let total = both(received, sent);
        [
            what.into(),
            units::bytes(received.bytes).into(),
            units::bytes(sent.bytes).into(),
            units::bytes(total).into(),
            units::bytes(lan.received.bytes).into(),
            units::bytes(lan.sent.bytes).into(),
            charset.bar(total, most, BAR).into(),
        ]
    };
    let mut table = Table::new([
        ("WHEN", Align::Left),
        ("RECEIVED", Align::Right),
        ("SENT", Align::Right),
        ("TOTAL", Align::Right),
        ("LAN IN", Align::Right),
        ("LAN OUT", Align::Right),
        ("", Align::Left),
    ]);
    for period in &answer.periods {
        let so_far = if (period.start..period.end).contains(&now) {
            ", so far"
        } else {
            ""
        };
        let when = format!("{}{so_far}", label(unit, period, answer.offset_minutes));
        let whole = row(when, &period.received, &period.sent, &period.lan);
        table.row(whole, output)?;
        let Some(limit) = parts else { continue };
        for part in period.parts.iter().take(limit) {
            let name = format!("  {}", name(part));
            let part = row(name, &part.received, &part.sent, &part.lan);
            table.row(part, output)?;
        }
        if let Some((number, rest)) = rest(&period.parts, limit) {
            let name = format!("  {number} others");
            let others = row(name, &rest.received, &rest.sent, &rest.lan);
            table.row(others, output)?;
        }
    }
    table.finish(output)?;
    let sum = |of: fn(&Period) -> u64| {
        units::bytes(answer.periods.iter().map(of).fold(0, u64::saturating_add))
    };
    let offset = answer.offset_minutes;
    let text = format!(
        "received {}, sent {}; in the LAN received {}, sent {}; times are those of UTC{}{:02}:{:02}",
        sum(|period| period.received.bytes),
        sum(|period| period.sent.bytes),
        sum(|period| period.lan.received.bytes),
        sum(|period| period.lan.sent.bytes),
        if offset < 0 { '-' } else { '+' },
        offset.unsigned_abs() / 60,
        offset.unsigned_abs() % 60
    );
    output.line("")?;
    output.line(&output.toned(Tone::Dim, &text))
}

/// Hours by their start; days and months by their name, or by the day they begin where months do
/// not begin on the first.
fn label(unit: HistoryUnit, period: &Period, offset: i32) -> String {
    // A period that began at midnight may have begun an hour earlier or later by today's offset.
    const AN_HOUR_OR_TWO: u64 = 2 * 3600;
    let moment = match unit {
        HistoryUnit::Hour => return Moment::new(period.start, offset).to_string(),
        HistoryUnit::Day | HistoryUnit::Month => {
            Moment::new(period.start.saturating_add(AN_HOUR_OR_TWO), offset)
        }
    };
    match (unit, moment.date()) {
        (HistoryUnit::Month, (year, month, 1)) => format!("{year:04}-{month:02}"),
        (_, (year, month, day)) => format!("{year:04}-{month:02}-{day:02}"),
    }
}

fn name(part: &Part) -> String {
    let name = part.name.as_deref().filter(|name| !name.trim().is_empty());
    clipped(&sanitize(name.unwrap_or(&part.key)), LONGEST_NAME)
}

/// Returns the number of hidden parts, and their sums.
fn rest(parts: &[Part], limit: usize) -> Option<(usize, Part)> {
    let hidden = parts.get(limit..).filter(|hidden| !hidden.is_empty())?;
    let sum = |of: fn(&Part) -> Count| {
        hidden
            .iter()
            .map(of)
            .fold(Count::default(), |all, one| Count {
                bytes: all.bytes.saturating_add(one.bytes),
                packets: all.packets.saturating_add(one.packets),
            })
    };
    let rest = Part {
        received: sum(|part| part.received),
        sent: sum(|part| part.sent),
        lan: LanCount {
            received: sum(|part| part.lan.received),
            sent: sum(|part| part.lan.sent),
        },
        ..Part::default()
    };
    Some((hidden.len(), rest))
}
