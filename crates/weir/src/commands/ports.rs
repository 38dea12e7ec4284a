//! `weir ports`: devices.

use std::io;

use api::Port;
use clap::Args;

use super::client;
use crate::Error;
use crate::cli::{Connection, Format};
use crate::output::{Align, Cell, Output, Table, Tone, units};

/// List the network devices that weir looks at
#[derive(Args, Debug)]
#[command(after_long_help = "\
IN and OUT are packets that weir forwarded. XDP-TX: takes frames straight from the XDP program of another device.
Example:
  weir ports --json | jq '.[] | select(.hook == null) | .reason.text'")]
pub struct PortsArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub(super) fn run(args: &PortsArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let ports = client(&args.connection)?.ports()?;
    if args.format.json {
        output.json(&ports)?
    } else {
        print(&ports, output)?
    }
    Ok(())
}

fn print(ports: &[Port], output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("NAME", Align::Left),
        ("INDEX", Align::Right),
        ("MAC", Align::Left),
        ("HOOK", Align::Left),
        ("XDP-TX", Align::Left),
        ("IN", Align::Right),
        ("OUT", Align::Right),
        ("WHY", Align::Left),
    ]);
    for port in ports {
        let hook = match port.hook {
            Some(hook) => Cell::toned(hook.to_string(), Tone::Good),
            None => Cell::toned("none", Tone::Warn),
        };
        let row = [
            port.name.as_str().into(),
            port.index.to_string().into(),
            Cell::or_dash(port.mac.as_ref()),
            hook,
            if port.xdp_transmit { "yes" } else { "no" }.into(),
            units::count(port.packets_in).into(),
            units::count(port.packets_out).into(),
            Cell::or_dash(port.reason.as_ref().map(|reason| match &reason.mend {
                Some(mend) => format!("{} Mend: {mend}", reason.text),
                None => reason.text.clone(),
            })),
        ];
        table.row(row, output)?;
    }
    table.finish(output)
}
