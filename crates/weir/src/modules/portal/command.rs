//! `weir portal`: vouchers, and who is let in.

mod figures;
mod import;
mod notes;
mod page;

use std::io;

use answers::{
    NewVouchers, PortalClients, PortalState, PortalVoucher, PortalVouchers, VoucherDevice,
    VoucherName,
};
use api::{Client, Method};
use clap::{Args, Subcommand};

use super::sheet;
use crate::Error;
use crate::command::{Connection, Format, client};
use crate::config::{Octets, Rate};
use crate::output::{Align, Cell, Output, Table, Tone, harmless, units};

/// Sell vouchers, and see who is let in
///
/// Where `devices` stands under [portal] in the configuration, whoever comes by these devices gets
/// no further before they type the code of a voucher.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir portal voucher add --name \"room 7\" --duration 1d
  weir portal voucher add --name market --duration 2h --count 50 --json
  weir portal voucher list
  weir portal voucher print > sheet.html
  weir portal clients
  weir portal end 02:00:00:00:00:01
  weir portal figures
  weir portal text set rules.md --title \"Café am Markt\"
  weir portal picture set logo.png
  weir portal notes export > notes.txt")]
pub struct PortalArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Voucher(VoucherArgs),
    Clients(ClientsArgs),
    End(EndArgs),
    Figures(figures::FiguresArgs),
    Text(page::TextArgs),
    Picture(page::PictureArgs),
    Key(notes::KeyArgs),
    Notes(notes::NotesArgs),
}

/// Make, list and call back vouchers
#[derive(Args, Debug)]
struct VoucherArgs {
    #[command(subcommand)]
    what: Voucher,
}

#[derive(Debug, Subcommand)]
enum Voucher {
    Add(AddArgs),
    List(ListArgs),
    Show(OneArgs),
    Rename(RenameArgs),
    Activate(ActivateArgs),
    Invalidate(OneArgs),
    Print(PrintArgs),
    Import(import::ImportArgs),
}

/// Make vouchers
#[derive(Args, Debug)]
struct AddArgs {
    /// What they are called: whom they are for
    #[arg(long, value_name = "TEXT", default_value = "")]
    name: String,
    /// How long each is good for, from when it is first used, such as 30m, 2h or 7d
    #[arg(long, value_name = "TIME", value_parser = time, required_unless_present = "permanent")]
    duration: Option<u64>,
    /// Good for ever
    #[arg(long, conflicts_with = "duration")]
    permanent: bool,
    /// How many
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: u32,
    /// Devices that may use each at once
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    devices: u32,
    /// Bytes that each is good for, both ways together, such as 500MB or 2GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    bytes: Option<u64>,
    /// How fast each device may send, and get, such as 500kbit or 10Mbit
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<u64>,
    /// The time goes by only while a device of it is on-line: something was sent or got in the last
    /// minute
    #[arg(long, conflicts_with = "permanent")]
    online: bool,
    /// Each can be used for the first time up to the end of this day, such as 2026-12-31 (UTC)
    #[arg(long, value_name = "DATE", value_parser = day)]
    until: Option<u64>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

/// List vouchers
#[derive(Args, Debug)]
struct ListArgs {
    /// Only those that nobody used yet, that are in use, whose time is over, or that were called
    /// back
    #[arg(long, value_name = "STATE", value_parser = ["available", "active", "expired", "invalidated"])]
    state: Option<String>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

/// One voucher
#[derive(Args, Debug)]
struct OneArgs {
    /// Its id, or its code
    #[arg(value_name = "VOUCHER")]
    voucher: String,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

/// Give a voucher another name
#[derive(Args, Debug)]
struct RenameArgs {
    #[command(flatten)]
    one: OneArgs,
    /// What it is called from now on
    #[arg(value_name = "TEXT")]
    name: String,
}

/// Let a device in by a voucher, without the page
#[derive(Args, Debug)]
struct ActivateArgs {
    #[command(flatten)]
    one: OneArgs,
    /// Hardware address of the device
    #[arg(value_name = "MAC")]
    mac: String,
}

/// Write a sheet with vouchers, as HTML: to be opened in a browser, printed on A4 and cut
///
/// Without a voucher, all that nobody used yet.
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir portal voucher print --title \"Café am Markt\" > sheet.html")]
struct PrintArgs {
    /// Ids or codes of the vouchers
    #[arg(value_name = "VOUCHER")]
    vouchers: Vec<String>,
    /// What each is headed with
    #[arg(long, value_name = "TEXT", default_value = "")]
    title: String,
    /// With QR codes that hold at every node that trusts this one, also where none has heard of the
    /// voucher
    #[arg(long)]
    signed: bool,
    #[command(flatten)]
    connection: Connection,
}

/// List the devices behind the portal
#[derive(Args, Debug)]
struct ClientsArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

/// End what a device may, with all its connections
///
/// Its voucher stays good for what is left of it.
#[derive(Args, Debug)]
struct EndArgs {
    /// Hardware address of the device
    #[arg(value_name = "MAC")]
    mac: String,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &PortalArgs, output: &mut Output<'_>) -> Result<(), Error> {
    match &args.what {
        What::Voucher(args) => voucher(&args.what, output),
        What::Clients(args) => {
            let clients = client(&args.connection)?.get("/v1/portal/clients")?;
            show_clients(&clients, args.format, output)
        }
        What::End(args) => {
            let path = format!("/v1/portal/clients/{}/end", part(&args.mac));
            let clients = client(&args.connection)?.post(&path)?;
            show_clients(&clients, args.format, output)
        }
        What::Figures(args) => figures::run(args, output),
        What::Text(args) => page::text(args, output),
        What::Picture(args) => page::picture(args, output),
        What::Key(args) => notes::key(args, output),
        What::Notes(args) => notes::run(args, output),
    }
}

fn voucher(what: &Voucher, output: &mut Output<'_>) -> Result<(), Error> {
    match what {
        Voucher::Add(args) => {
            let new = NewVouchers {
                name: args.name.clone(),
                duration: args.duration,
                bytes: args.bytes,
                rate: args.rate,
                online: args.online,
                count: args.count,
                devices: args.devices,
                until: args.until,
            };
            let client = client(&args.connection)?;
            let made: PortalVouchers = client.send(Method::POST, "/v1/portal/vouchers", &new)?;
            show(&made, args.format, output)
        }
        Voucher::List(args) => {
            let mut all: PortalVouchers = client(&args.connection)?.get("/v1/portal/vouchers")?;
            let wanted = |voucher: &PortalVoucher| match &args.state {
                Some(state) => voucher.state == *state,
                None => true,
            };
            all.vouchers.retain(wanted);
            show(&all, args.format, output)
        }
        Voucher::Show(args) => {
            let voucher = whole(&client(&args.connection)?, &find(args)?.id)?;
            one(voucher.clone(), args.format, output)?;
            match args.format.json {
                true => Ok(()),
                false => Ok(more(&voucher, output)?),
            }
        }
        Voucher::Rename(args) => {
            let found = find(&args.one)?;
            let path = format!("/v1/portal/vouchers/{}/rename", found.id);
            let name = VoucherName {
                name: args.name.clone(),
            };
            let client = client(&args.one.connection)?;
            one(
                client.send(Method::POST, &path, &name)?,
                args.one.format,
                output,
            )
        }
        Voucher::Activate(args) => {
            let path = format!("/v1/portal/vouchers/{}/activate", find(&args.one)?.id);
            let device = VoucherDevice {
                mac: args.mac.clone(),
            };
            let client = client(&args.one.connection)?;
            let activated = client.send(Method::POST, &path, &device)?;
            one(activated, args.one.format, output)
        }
        Voucher::Print(args) => {
            let client = client(&args.connection)?;
            let mut all: PortalVouchers = client.get("/v1/portal/vouchers")?;
            match args.vouchers.is_empty() {
                true => all.vouchers.retain(|voucher| voucher.state == "available"),
                false => {
                    let mut wanted = Vec::new();
                    for name in &args.vouchers {
                        wanted.push(meant(&all, name)?.clone());
                    }
                    all.vouchers = wanted;
                }
            }
            if args.signed {
                for voucher in &mut all.vouchers {
                    *voucher = whole(&client, &voucher.id)?;
                }
            }
            let sheet = sheet::html(&args.title, &all.vouchers);
            Ok(output.raw().write_all(sheet.as_bytes())?)
        }
        Voucher::Import(args) => {
            let (imported, failed) = import::run(args, output)?;
            match (args.json(), imported.vouchers.is_empty()) {
                (true, _) => output.json(&imported)?,
                (false, false) => table(&imported.vouchers, output)?,
                (false, true) => {}
            }
            failed.map_or(Ok(()), Err)
        }
        Voucher::Invalidate(args) => {
            let path = format!("/v1/portal/vouchers/{}/invalidate", find(args)?.id);
            one(client(&args.connection)?.post(&path)?, args.format, output)
        }
    }
}

/// A voucher, with its signed form.
fn whole(client: &Client, id: &str) -> Result<PortalVoucher, Error> {
    Ok(client.get(&format!("/v1/portal/vouchers/{}", part(id)))?)
}

/// What a table has no room for.
fn more(voucher: &PortalVoucher, output: &mut Output<'_>) -> io::Result<()> {
    if let Some(node) = &voucher.sold_by {
        output.field("sold by", &harmless(node))?;
    }
    if let Some(double) = &voucher.double_use {
        let [one, two] = double.nodes.each_ref().map(|node| harmless(node));
        let what = match double.how.as_str() {
            "again" => "its time was over at one, and it was used at the other after that",
            _ => "more devices at once than it is for",
        };
        output.field("used twice", &format!("at {one} and {two}: {what}"))?;
    }
    match &voucher.signed {
        Some(signed) => output.field("signed", &harmless(signed)),
        None => Ok(()),
    }
}

/// The voucher that was meant, by its id or its code.
fn find(args: &OneArgs) -> Result<PortalVoucher, Error> {
    let all: PortalVouchers = client(&args.connection)?.get("/v1/portal/vouchers")?;
    meant(&all, &args.voucher).cloned()
}

fn meant<'a>(all: &'a PortalVouchers, name: &str) -> Result<&'a PortalVoucher, Error> {
    let code = name.parse::<portal::code::Code>().ok();
    let code = code.map(|code| code.to_string());
    let former = name.parse::<portal::code::Former>().ok();
    let former = former.map(|former| former.to_string());
    let fits = |voucher: &&PortalVoucher| {
        let by_former = voucher.former.is_some() && voucher.former == former;
        voucher.id == name || code.as_deref() == Some(voucher.code.as_str()) || by_former
    };
    all.vouchers.iter().find(fits).ok_or_else(|| {
        Error::new(
            format!("there is no voucher {}", harmless(name)),
            "`weir portal voucher list` has all of them",
        )
    })
}

/// As a part of a path.
fn part(text: &str) -> String {
    let keeps = |c: &char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-');
    text.chars().filter(keeps).collect()
}

fn one(voucher: PortalVoucher, format: Format, output: &mut Output<'_>) -> Result<(), Error> {
    let vouchers = PortalVouchers {
        vouchers: vec![voucher],
    };
    show(&vouchers, format, output)
}

fn show(all: &PortalVouchers, format: Format, output: &mut Output<'_>) -> Result<(), Error> {
    match format.json {
        true => output.json(all)?,
        false => table(&all.vouchers, output)?,
    }
    Ok(())
}

fn table(vouchers: &[PortalVoucher], output: &mut Output<'_>) -> io::Result<()> {
    if vouchers.is_empty() {
        return output.line("No vouchers.");
    }
    let mut table = Table::new([
        ("CODE", Align::Left),
        ("STATE", Align::Left),
        ("TIME", Align::Right),
        ("LEFT", Align::Right),
        ("BYTES", Align::Right),
        ("RATE", Align::Right),
        ("DEVICES", Align::Right),
        ("NAME", Align::Left),
        ("ID", Align::Left),
    ]);
    for voucher in vouchers {
        let tone = match voucher.state.as_str() {
            "active" => Tone::Good,
            "available" => Tone::Plain,
            _ => Tone::Dim,
        };
        let devices = format!("{}/{}", voucher.users.len(), voucher.devices);
        let time = voucher
            .duration
            .map_or_else(|| "for ever".to_owned(), units::duration);
        let time = match voucher.online {
            true => format!("{time} on-line"),
            false => time,
        };
        table.row(
            [
                voucher.code.as_str().into(),
                Cell::toned(&voucher.state, tone),
                time.as_str().into(),
                Cell::or_dash(voucher.seconds_remaining.map(units::duration)),
                Cell::or_dash(voucher.bytes_remaining.or(voucher.bytes).map(units::bytes)),
                Cell::or_dash(voucher.rate.map(units::rate)),
                devices.as_str().into(),
                harmless(&voucher.name).as_str().into(),
                voucher.id.as_str().into(),
            ],
            output,
        )?;
    }
    table.finish(output)
}

fn show_clients(all: &PortalClients, format: Format, output: &mut Output<'_>) -> Result<(), Error> {
    if format.json {
        return Ok(output.json(all)?);
    }
    if all.clients.is_empty() {
        return Ok(output.line("No devices.")?);
    }
    let mut table = Table::new([
        ("MAC", Align::Left),
        ("STATE", Align::Left),
        ("LEFT", Align::Right),
        ("BYTES", Align::Right),
        ("VOUCHER", Align::Left),
        ("ADDRESSES", Align::Left),
    ]);
    for client in &all.clients {
        let (word, tone) = match client.state {
            PortalState::Waiting => ("waiting", Tone::Dim),
            PortalState::Admitted => ("admitted", Tone::Good),
            PortalState::Free => ("free", Tone::Good),
            PortalState::Exempt => ("exempt", Tone::Plain),
        };
        let addresses: Vec<_> = client.addresses.iter().map(ToString::to_string).collect();
        let voucher = client.voucher.as_ref().map(|id| match client.next.len() {
            0 => id.clone(),
            more => format!("{id} +{more}"),
        });
        table.row(
            [
                client.mac.as_str().into(),
                Cell::toned(word, tone),
                Cell::or_dash(client.seconds_remaining.map(units::duration)),
                Cell::or_dash(client.bytes_remaining.map(units::bytes)),
                Cell::or_dash(voucher.as_deref()),
                addresses.join(" ").as_str().into(),
            ],
            output,
        )?;
    }
    Ok(table.finish(output)?)
}

/// Seconds of a time: `90s`, `30m`, `2h`, `7d`.
fn time(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let each = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err("a time is a whole number and s, m, h or d, such as 2h".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "such as 2h".to_owned())?;
    match number.checked_mul(each) {
        Some(0) | None => Err("a time from 1s on".to_owned()),
        // A hundred years: beyond that it is for ever.
        Some(seconds) if seconds > 3_155_760_000 => Err("use --permanent".to_owned()),
        Some(seconds) => Ok(seconds),
    }
}

/// Bytes: `500MB`, `2GiB`.
fn size(text: &str) -> Result<u64, String> {
    match Octets::parse(text) {
        Some(Octets(0)) | None => {
            Err("a size is a whole number and kB, MB, GB or KiB, MiB, GiB, such as 500MB".into())
        }
        Some(Octets(bytes)) => Ok(bytes),
    }
}

/// Bits a second: `500kbit`, `10Mbit`.
fn rate(text: &str) -> Result<u64, String> {
    let allowed = "a rate is a whole number and kbit, Mbit or Gbit, from 64kbit on, such as 10Mbit";
    let rate = Rate::parse(text).ok_or_else(|| allowed.to_owned())?;
    Ok(rate.0)
}

/// The end of a day, seconds since 1970.
fn day(text: &str) -> Result<u64, String> {
    let wrong = |_| "a day is written as 2026-12-31".to_owned();
    let day: jiff::civil::Date = text.parse().map_err(wrong)?;
    let end = day
        .tomorrow()
        .map_err(wrong)?
        .to_zoned(jiff::tz::TimeZone::UTC)
        .map_err(wrong)?;
    u64::try_from(end.timestamp().as_second()).map_err(|_| "a day after 1970".to_owned())
}
