//! Vouchers and devices, as tables.

use std::io;

use answers::{PortalClients, PortalState, PortalVoucher, PortalVouchers};

use runtime::Error;
use runtime::command::Format;
use runtime::output::{Align, Cell, Output, Table, Tone, sanitize, units};

/// Prints the fields that do not fit into a table.
pub(super) fn more(voucher: &PortalVoucher, output: &mut Output<'_>) -> io::Result<()> {
    if let Some(node) = &voucher.sold_by {
        output.field("sold by", &sanitize(node))?;
    }
    if let Some(double) = &voucher.double_use {
        let [one, two] = double.nodes.each_ref().map(|node| sanitize(node));
        let what = match double.how.as_str() {
            "again" => "it expired at one node, and was used at the other afterwards",
            _ => "more devices at once than allowed",
        };
        output.field("used twice", &format!("at {one} and {two}: {what}"))?;
    }
    match &voucher.signed {
        Some(signed) => output.field("signed", &sanitize(signed)),
        None => Ok(()),
    }
}

pub(super) fn one(
    voucher: PortalVoucher,
    format: Format,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let vouchers = PortalVouchers {
        vouchers: vec![voucher],
    };
    show(&vouchers, format, output)
}

pub(super) fn show(
    all: &PortalVouchers,
    format: Format,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    match format.json {
        true => output.json(all)?,
        false => table(&all.vouchers, output)?,
    }
    Ok(())
}

pub(super) fn table(vouchers: &[PortalVoucher], output: &mut Output<'_>) -> io::Result<()> {
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
                Cell::toned(voucher.state.clone(), tone),
                time.as_str().into(),
                Cell::or_dash(voucher.seconds_remaining.map(units::duration)),
                Cell::or_dash(voucher.bytes_remaining.or(voucher.bytes).map(units::bytes)),
                Cell::or_dash(voucher.rate.map(units::rate)),
                devices.as_str().into(),
                sanitize(&voucher.name).as_str().into(),
                voucher.id.as_str().into(),
            ],
            output,
        )?;
    }
    table.finish(output)
}

pub(super) fn show_clients(
    all: &PortalClients,
    format: Format,
    output: &mut Output<'_>,
) -> Result<(), Error> {
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
        ("VOUCHER OR ACCOUNT", Align::Left),
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
        let id = client.voucher.as_ref().or(client.account.as_ref());
        let voucher = id.map(|id| match client.next.len() {
            0 => sanitize(id),
            more => format!("{} +{more}", sanitize(id)),
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
