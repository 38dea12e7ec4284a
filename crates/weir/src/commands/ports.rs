//! `weir ports`: devices.

use std::io;

use api::{Hook, Port, Reason};
use clap::Args;

use super::client;
use crate::Error;
use crate::cli::{Connection, Format};
use crate::output::{Align, Cell, Output, Table, Tone, WIDTH, harmless, units, wrap};

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
        ];
        table.row(row, output)?;
    }
    table.finish(output)?;
    reasons(ports, output)
}

/// Why each device is used as it is, once for all that have the same reason.
fn reasons(ports: &[Port], output: &mut Output<'_>) -> io::Result<()> {
    let mut groups: Vec<(Option<Hook>, &Reason, Vec<&str>)> = Vec::new();
    for port in ports {
        let Some(reason) = &port.reason else { continue };
        let same = groups
            .iter_mut()
            .find(|(hook, of, _)| *hook == port.hook && *of == reason);
        match same {
            Some((_, _, names)) => names.push(&port.name),
            None => groups.push((port.hook, reason, vec![&port.name])),
        }
    }
    if !groups.is_empty() {
        output.line("")?;
    }
    for (hook, reason, names) in groups {
        let hook = hook.map_or_else(|| "none".to_owned(), |hook| hook.to_string());
        let text = format!("{}: {hook}, as {}", names.join(", "), reason.text);
        for (number, line) in wrap(&harmless(&text), WIDTH - 2).into_iter().enumerate() {
            let indent = if number == 0 { "" } else { "  " };
            output.line(&format!("{indent}{line}"))?;
        }
        // "Nothing to do" needs no line.
        let mend = reason.mend.as_deref();
        if let Some(mend) = mend.filter(|mend| !mend.starts_with("nothing to do")) {
            for line in wrap(&harmless(&format!("mend: {mend}")), WIDTH - 2) {
                output.line(&format!("  {line}"))?;
            }
        }
    }
    Ok(())
}
