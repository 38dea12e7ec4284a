//! `weir ports --counters`: traffic of each device.

use std::collections::{HashMap, HashSet};
use std::io;

use answers::{Port, Traffic};

use super::notes::{alike, said};
use runtime::output::{Align, Cell, Output, Table, some_of, units};

pub(super) fn print(ports: &[Port], output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("NAME", Align::Left),
        ("IN", Align::Right),
        ("BYTES", Align::Right),
        ("WEIR", Align::Right),
        ("OUT", Align::Right),
        ("BYTES", Align::Right),
        ("WEIR", Align::Right),
    ]);
    for (above, port) in in_order(ports) {
        let indent = if above { "  " } else { "" };
        let of = |number: fn(&Traffic) -> u64, unit: fn(u64) -> String| {
            Cell::or_dash(port.total.as_ref().map(|total| unit(number(total))))
        };
        let share = |part: u64, all: fn(&Traffic) -> u64| {
            let all = port.total.as_ref().map(all).filter(|all| *all > 0);
            Cell::or_dash(all.map(|all| units::percent(part as f64 / all as f64)))
        };
        let row = [
            format!("{indent}{}", port.name).into(),
            of(|t| t.packets_in, units::count),
            of(|t| t.bytes_in, units::bytes),
            share(port.packets_in, |t| t.packets_in),
            of(|t| t.packets_out, units::count),
            of(|t| t.bytes_out, units::bytes),
            share(port.packets_out, |t| t.packets_out),
        ];
        table.row(row, output)?;
    }
    table.finish(output)?;
    notes(ports, output)
}

/// Names the ports whose counters are unknown.
fn notes(ports: &[Port], output: &mut Output<'_>) -> io::Result<()> {
    let unknown: Vec<String> = ports
        .iter()
        .filter(|port| port.total.is_none())
        .map(|port| port.name.clone())
        .collect();
    let apart = alike(
        ports
            .iter()
            .filter(|port| port.unattributed > 0)
            .map(|port| (port, port.unattributed)),
    );
    if !unknown.is_empty() || !apart.is_empty() {
        output.line("")?;
    }
    if !unknown.is_empty() {
        let text =
            "the packets that weir forwarded past it are unknown, so it has no full counters";
        said(&format!("{}: {text}", some_of(&unknown)), output)?;
    }
    for (packets, names) in apart {
        let text = "packets that weir forwarded here are in no counter above: the device that they \
            would have used is unknown";
        said(
            &format!("{}: {} {text}", some_of(&names), units::count(packets)),
            output,
        )?;
    }
    Ok(())
}

/// Orders the ports, each group followed by its upper devices, which are marked.
fn in_order(ports: &[Port]) -> Vec<(bool, &Port)> {
    let by_name: HashMap<&str, &Port> = ports.iter().map(|p| (p.name.as_str(), p)).collect();
    let lowest: Vec<&Port> = ports
        .iter()
        .filter(|port| port.stack.lower_devices.is_empty())
        .collect();
    let mut order = Vec::new();
    let mut named = HashSet::new();
    for first in &lowest {
        // The ports of this group, followed by their upper devices.
        let (mut group, mut uppers) = (Vec::new(), Vec::new());
        let mut todo = vec![*first];
        while let Some(port) = todo.pop() {
            if !named.insert(port.index) {
                continue;
            }
            group.push((false, port));
            for upper in &port.stack.carries {
                let Some(upper) = by_name.get(upper.as_str()) else {
                    continue;
                };
                if named.insert(upper.index) {
                    uppers.push((true, *upper));
                    let below = upper.stack.lower_devices.iter().rev();
                    todo.extend(below.filter_map(|name| by_name.get(name.as_str())));
                }
            }
        }
        order.append(&mut group);
        order.append(&mut uppers);
    }
    let left = ports.iter().filter(|port| !named.contains(&port.index));
    order.extend(left.map(|port| (true, port)));
    order
}

#[cfg(test)]
mod tests {
    use answers::PortStack;

    use super::*;

    fn port(index: u32, name: &str, carries: &[&str], lower_devices: &[&str]) -> Port {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        Port {
            name: name.into(),
            index,
            mac: None,
            hook: None,
            xdp_transmit: false,
            reason: None,
            packets_in: 990,
            bytes_in: 0,
            packets_out: 0,
            bytes_out: 0,
            total: Some(Traffic {
                packets_in: 1000,
                bytes_in: 1 << 20,
                packets_out: 0,
                bytes_out: 0,
            }),
            unattributed: 0,
            stack: PortStack {
                carries: names(carries),
                lower_devices: names(lower_devices),
                ..PortStack::default()
            },
        }
    }

    #[test]
    fn what_stands_on_a_port_comes_below_it() {
        let mut ports = [
            port(2, "lan0", &["br0", "br0.20"], &[]),
            port(3, "wan0", &["wan0.7"], &[]),
            port(4, "br0", &["br0.20"], &["lan0", "lan1"]),
            port(5, "lan1", &["br0", "br0.20"], &[]),
            port(6, "wan0.7", &[], &["wan0"]),
            port(7, "br0.20", &[], &["lan0", "lan1"]),
            port(8, "macvlan0", &[], &["eth7"]),
            port(9, "ppp0", &[], &[]),
        ];
        ports[1].unattributed = 12;
        ports[6].total = None;
        let mut memory = Vec::new();
        print(&ports, &mut Output::to(&mut memory, false)).expect("memory");
        let text = String::from_utf8(memory).expect("text");
        assert_eq!(
            text,
            "\
NAME          IN    BYTES    WEIR  OUT  BYTES  WEIR
lan0        1.0k  1.0 MiB  99.0 %    0    0 B     -
lan1        1.0k  1.0 MiB  99.0 %    0    0 B     -
  br0       1.0k  1.0 MiB  99.0 %    0    0 B     -
  br0.20    1.0k  1.0 MiB  99.0 %    0    0 B     -
wan0        1.0k  1.0 MiB  99.0 %    0    0 B     -
  wan0.7    1.0k  1.0 MiB  99.0 %    0    0 B     -
ppp0        1.0k  1.0 MiB  99.0 %    0    0 B     -
  macvlan0     -        -       -    -      -     -

macvlan0: the packets that weir forwarded past it are unknown, so it has no
  full counters
wan0: 12 packets that weir forwarded here are in no counter above: the device
  that they would have used is unknown
"
        );
    }
}
