//! `weir portal`: vouchers, and admitted devices.

mod import;
mod notes;
mod page;
mod show;
mod statistics;
mod terms;

use answers::{NewVouchers, PortalVoucher, PortalVouchers, VoucherDevice, VoucherName};
use api::{Client, Method};
use clap::{Args, Subcommand};

use show::{more, one, show, show_clients, table};
use terms::{rate, size, time, until};

use super::sheet;
use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Output, sanitize};

/// Sell vouchers, and manage guests
///
/// With `devices` under [portal] in the configuration, guests on these devices must enter the code
/// of a voucher before they reach the network.
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
    Figures(statistics::FiguresArgs),
    Text(page::TextArgs),
    Picture(page::PictureArgs),
    Key(notes::KeyArgs),
    Notes(notes::NotesArgs),
}

/// Create, list and revoke vouchers
#[derive(Args, Debug)]
struct VoucherArgs {
    #[command(subcommand)]
    what: Voucher,
}

#[derive(Debug, Subcommand)]
enum Voucher {
    Add(AddArgs),
    List(ListArgs),
    /// Show a voucher
    Show(OneArgs),
    Rename(RenameArgs),
    Activate(ActivateArgs),
    /// Revoke a voucher
    Revoke(OneArgs),
    Print(PrintArgs),
    Import(import::ImportArgs),
}

/// Create vouchers
#[derive(Args, Debug)]
struct AddArgs {
    /// Name of the vouchers, such as the guest or the room
    #[arg(long, value_name = "TEXT", default_value = "")]
    name: String,
    /// Validity of each voucher from its first use, such as 30m, 2h or 7d
    #[arg(long, value_name = "TIME", value_parser = time, required_unless_present = "permanent")]
    duration: Option<u64>,
    /// Make the vouchers valid without limit
    #[arg(long, conflicts_with = "duration")]
    permanent: bool,
    /// Number of vouchers
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: u32,
    /// Number of devices that may use a voucher at once
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    devices: u32,
    /// Traffic quota of each voucher, both directions together, such as 500MB or 2GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    bytes: Option<u64>,
    /// Rate limit of each device in each direction, such as 500kbit or 10Mbit
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<u64>,
    /// Count time only while a device of the voucher is online: traffic in the last minute
    #[arg(long, conflicts_with = "permanent")]
    online: bool,
    /// Last day for the first use, such as 2026-12-31, or a time on that day, such as "2026-12-31
    /// 12:00" (UTC)
    #[arg(long, value_name = "DATE", value_parser = until)]
    until: Option<u64>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

/// List vouchers
#[derive(Args, Debug)]
struct ListArgs {
    /// Only vouchers that are unused, in use, expired or revoked
    #[arg(long, value_name = "STATE", value_parser = ["available", "active", "expired", "revoked"])]
    state: Option<String>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

/// Names a voucher.
#[derive(Args, Debug)]
struct OneArgs {
    /// Id or code of the voucher
    #[arg(value_name = "VOUCHER")]
    voucher: String,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

/// Rename a voucher
#[derive(Args, Debug)]
struct RenameArgs {
    #[command(flatten)]
    one: OneArgs,
    /// New name of the voucher
    #[arg(value_name = "TEXT")]
    name: String,
}

/// Admit a device with a voucher, without the page
#[derive(Args, Debug)]
struct ActivateArgs {
    #[command(flatten)]
    one: OneArgs,
    /// Hardware address of the device
    #[arg(value_name = "MAC")]
    mac: String,
}

/// Print vouchers as an HTML sheet, for A4 paper
///
/// Open the sheet in a browser, print it and cut it. Without a voucher, all unused vouchers are
/// printed.
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir portal voucher print --title \"Café am Markt\" > sheet.html")]
struct PrintArgs {
    /// Ids or codes of the vouchers
    #[arg(value_name = "VOUCHER")]
    vouchers: Vec<String>,
    /// Heading of each voucher
    #[arg(long, value_name = "TEXT", default_value = "")]
    title: String,
    /// Name of the guests' open Wi-Fi; adds a QR code to join it
    #[arg(long, value_name = "NAME", default_value = "")]
    wifi: String,
    /// Language of the instructions: ar, de, en, es, fr, it or pt
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    language: String,
    /// Print QR codes that are valid at every node that trusts this one, even before that node
    /// knows the voucher
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

/// End the access of a device, and all its connections
///
/// The voucher stays valid for its remaining time and traffic.
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
        What::Figures(args) => statistics::run(args, output),
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
            let sheet = sheet::html(&args.title, &args.wifi, &args.language, &all.vouchers);
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
        Voucher::Revoke(args) => {
            let path = format!("/v1/portal/vouchers/{}/revoke", find(args)?.id);
            one(client(&args.connection)?.post(&path)?, args.format, output)
        }
    }
}

/// Returns a voucher, with its signed form.
fn whole(client: &Client, id: &str) -> Result<PortalVoucher, Error> {
    Ok(client.get(&format!("/v1/portal/vouchers/{}", part(id)))?)
}

/// Returns the requested voucher, by its id or its code.
fn find(args: &OneArgs) -> Result<PortalVoucher, Error> {
    let all: PortalVouchers = client(&args.connection)?.get("/v1/portal/vouchers")?;
    meant(&all, &args.voucher).cloned()
}

fn meant<'a>(all: &'a PortalVouchers, name: &str) -> Result<&'a PortalVoucher, Error> {
    let code = name.parse::<portal_core::code::Code>().ok();
    let code = code.map(|code| code.to_string());
    let former = name.parse::<portal_core::code::FormerCode>().ok();
    let former = former.map(|former| former.to_string());
    let fits = |voucher: &&PortalVoucher| {
        let by_former = voucher.former.is_some() && voucher.former == former;
        voucher.id == name || code.as_deref() == Some(voucher.code.as_str()) || by_former
    };
    all.vouchers.iter().find(fits).ok_or_else(|| {
        Error::new(
            format!("no voucher {}", sanitize(name)),
            "see `weir portal voucher list`",
        )
    })
}

/// As a part of a path.
fn part(text: &str) -> String {
    let keeps = |c: &char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-');
    text.chars().filter(keeps).collect()
}
