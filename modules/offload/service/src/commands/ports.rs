//! `weir ports`: devices.

mod counters;
mod notes;

use std::io;

use answers::{Port, Reason};
use clap::Args;
use notes::{alike, said};
use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Align, Cell, Output, Table, Tone, WIDTH, sanitize, some_of, units, wrap};

/// List network devices, and where weir takes their packets
#[derive(Args, Debug)]
#[command(after_long_help = "\
IN and OUT: packets that weir forwarded, through the device or past it. XDP-TX: the device takes \
frames straight from the XDP program of another device.
HOOK: where weir takes packets. `below`: at the lower devices of this one.
--counters: packets and bytes that each device would have counted if nothing had bypassed it. \
WEIR: share of packets that weir forwarded. Devices on top of ports are listed below them.

Examples:
  weir ports --counters
  weir ports --json | jq '.[] | select(.hook == null) | .reason.text'")]
pub struct PortsArgs {
    /// Show packets and bytes of each device instead (--json always includes them)
    #[arg(long)]
    counters: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &PortsArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let ports: Vec<Port> = client(&args.connection)?.get("/v1/ports")?;
    if args.format.json {
        output.json(&ports)?
    } else if args.counters {
        counters::print(&ports, output)?
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
        let tone = match port.hook {
            Some(_) => Tone::Good,
            None if !port.stack.lower_devices.is_empty() => Tone::Dim,
            None => Tone::Warn,
        };
        let hook = Cell::toned(word(port), tone);
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
    reasons(ports, output)?;
    stacks(ports, output)
}

/// Names the hook that takes packets of a device.
fn word(port: &Port) -> String {
    match port.hook {
        Some(hook) => hook.to_string(),
        None if !port.stack.lower_devices.is_empty() => "below".to_owned(),
        None => "none".to_owned(),
    }
}

/// Prints the reason for the use of each device, once for all that share it.
fn reasons(ports: &[Port], output: &mut Output<'_>) -> io::Result<()> {
    let with_reason = ports
        .iter()
        .filter_map(|port| Some((port, (word(port), port.reason.as_ref()?))));
    let groups = alike(with_reason);
    if !groups.is_empty() {
        output.line("")?;
    }
    for ((hook, reason), names) in groups {
        said(
            &format!("{}: {hook}, as {}", some_of(&names), reason.text),
            output,
        )?;
        hint(reason, output)?;
    }
    Ok(())
}

/// Lists the upper devices of each port, and their limits on the port.
fn stacks(ports: &[Port], output: &mut Output<'_>) -> io::Result<()> {
    let carried = ports
        .iter()
        .filter(|port| port.stack.lower_devices.is_empty() && !port.stack.carries.is_empty());
    let carried = alike(carried.map(|port| (port, &port.stack.carries)));
    let limits = ports.iter().flat_map(|port| {
        port.stack
            .limits
            .iter()
            .map(move |limit| (port, &limit.reason))
    });
    let limits = alike(limits);
    if !carried.is_empty() || !limits.is_empty() {
        output.line("")?;
    }
    for (uppers, names) in carried {
        let verb = if names.len() == 1 { "carries" } else { "carry" };
        said(
            &format!("{} {verb} {}", some_of(&names), some_of(uppers)),
            output,
        )?;
    }
    for (reason, names) in limits {
        said(&format!("{}: {}", some_of(&names), reason.text), output)?;
        hint(reason, output)?;
    }
    Ok(())
}

/// Prints the suggested remedy. "Nothing to do" needs no line.
fn hint(reason: &Reason, output: &mut Output<'_>) -> io::Result<()> {
    let hint = reason.hint.as_deref();
    if let Some(hint) = hint.filter(|hint| !hint.starts_with("nothing to do")) {
        for line in wrap(&sanitize(&format!("Hint: {hint}")), WIDTH - 2) {
            output.line(&format!("  {line}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use answers::{Hook, PortLimit, PortStack, PortUse};

    use super::*;

    fn port(index: u32, name: &str, hook: Option<Hook>, reason: &str, stack: PortStack) -> Port {
        Port {
            name: name.into(),
            index,
            mac: None,
            hook,
            xdp_transmit: false,
            reason: Some(Reason {
                code: "word".into(),
                text: reason.into(),
                hint: Some("nothing to do".into()),
            }),
            packets_in: 0,
            bytes_in: 0,
            packets_out: 0,
            bytes_out: 0,
            total: None,
            unattributed: 0,
            stack,
        }
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_stands_on_what_is_told_once() {
        let shaped = PortLimit {
            of: PortUse::Out,
            device: "br0".into(),
            reason: Reason {
                code: "qdisc".into(),
                text: "outgoing traffic is left to the kernel: at br0 above it, the qdisc cake \
                    would be skipped"
                    .into(),
                hint: Some("shape at the lowest device instead".into()),
            },
        };
        let below = |limits: &[PortLimit]| PortStack {
            carries: names(&["br0", "br0.20"]),
            limits: limits.to_vec(),
            ..PortStack::default()
        };
        let above = PortStack {
            lower_devices: names(&["lan0", "lan1"]),
            ..PortStack::default()
        };
        let (xdp, here) = (Some(Hook::Xdp), "its packets are forwarded at lan0, lan1");
        let ports = [
            port(
                2,
                "lan0",
                xdp,
                "the driver runs XDP itself",
                below(std::slice::from_ref(&shaped)),
            ),
            port(
                3,
                "lan1",
                xdp,
                "the driver runs XDP itself",
                below(&[shaped]),
            ),
            port(4, "br0", None, here, above.clone()),
            port(5, "br0.20", None, here, above),
        ];
        let mut memory = Vec::new();
        print(&ports, &mut Output::to(&mut memory, false)).expect("memory");
        let text = String::from_utf8(memory).expect("text");
        assert_eq!(
            text,
            "\
NAME    INDEX  MAC  HOOK   XDP-TX  IN  OUT
lan0        2  -    xdp    no       0    0
lan1        3  -    xdp    no       0    0
br0         4  -    below  no       0    0
br0.20      5  -    below  no       0    0

lan0, lan1: xdp, as the driver runs XDP itself
br0, br0.20: below, as its packets are forwarded at lan0, lan1

lan0, lan1 carry br0, br0.20
lan0, lan1: outgoing traffic is left to the kernel: at br0 above it, the qdisc
  cake would be skipped
  Hint: shape at the lowest device instead
"
        );
    }

    #[test]
    fn long_lists_are_cut() {
        let vlans: Vec<String> = (1..=4000).map(|n| format!("eth0.{n}")).collect();
        assert!(some_of(&vlans).ends_with("eth0.8 and 3992 more"));
        assert_eq!(some_of(&vlans[..2]), "eth0.1, eth0.2");
    }
}
