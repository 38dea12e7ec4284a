//! `weir hops`: ways out.

use std::io;

use answers::Hop;
use clap::Args;

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Align, Cell, Output, Table, units};

/// List next hops that weir learned from the kernel
#[derive(Args, Debug)]
#[command(after_long_help = "\
A hop is a device and the bytes that the kernel put before the IP header of packets sent there. \
XDP: packets may be sent that way by XDP, otherwise by TC. BEHIND: VLAN tags and PPPoE in these \
bytes. FLOWS: number of flow directions. EPOCH: number of changes of the neighbour.

Example:
  weir hops --json | jq '.[].header'")]
pub struct HopsArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &HopsArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let hops: Vec<Hop> = client(&args.connection)?.get("/v1/hops")?;
    if args.format.json {
        output.json(&hops)?
    } else {
        print(&hops, output)?
    }
    Ok(())
}

fn print(hops: &[Hop], output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("INDEX", Align::Right),
        ("DEVICE", Align::Left),
        ("DESTINATION", Align::Left),
        ("SOURCE", Align::Left),
        ("TYPE", Align::Left),
        ("BEHIND", Align::Left),
        ("XDP", Align::Left),
        ("FLOWS", Align::Right),
        ("EPOCH", Align::Right),
        ("HEADER", Align::Left),
    ]);
    for hop in hops {
        let row = [
            hop.index.to_string().into(),
            hop.device.as_str().into(),
            Cell::or_dash(hop.destination.as_ref()),
            Cell::or_dash(hop.source.as_ref()),
            Cell::or_dash(hop.ethertype.map(|number| match number {
                0x0800 => "IPv4".to_owned(),
                0x86dd => "IPv6".to_owned(),
                other => format!("{other:#06x}"),
            })),
            Cell::or_dash(hop.encapsulation.as_ref()),
            if hop.xdp { "yes" } else { "no" }.into(),
            units::count(hop.flows).into(),
            hop.epoch.to_string().into(),
            hop.header.as_str().into(),
        ];
        table.row(row, output)?;
    }
    table.finish(output)
}
