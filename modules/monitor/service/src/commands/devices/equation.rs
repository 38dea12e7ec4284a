//! `weir devices --equation`: checks that every packet that a port counted is in a flow or in one
//! of the other sums.

use std::io;

use answers::{Devices, Port, PortCounters, Traffic};

use runtime::output::{Align, Cell, Output, Table, Tone};

pub(super) fn print(answer: &Devices, ports: &[Port], output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("PORT", Align::Left),
        ("WAY", Align::Left),
        ("UNIT", Align::Left),
        ("CONVS", Align::Right),
        ("UNPLACED", Align::Right),
        ("OTHER", Align::Right),
        ("LINK", Align::Right),
        ("COUNTED", Align::Right),
        ("DEVICE", Align::Right),
        ("BEFORE", Align::Right),
    ]);
    let mut missing = 0u64;
    for metered in &answer.ports {
        let port = ports.iter().find(|port| port.name == metered.name);
        let total = port.and_then(|port| port.total.as_ref());
        for (way, sums, device) in [
            ("in", &metered.incoming, total.map(incoming)),
            ("out", &metered.outgoing, total.map(outgoing)),
        ] {
            for (line, device) in lines(sums)
                .into_iter()
                .zip([device.map(|d| d.0), device.map(|d| d.1)])
            {
                missing =
                    missing.max(device.map_or(0, |device| line.counted().saturating_sub(device)));
                table.row(row(&metered.name, way, &line, device), output)?;
            }
        }
    }
    table.finish(output)?;
    if missing > 0 {
        output.line("")?;
        let text = format!(
            "a device counted less than weir, by up to {missing}: virtual devices count a \
                super-packet once, and weir counts its segments; other devices may count a little \
                later than weir (try again)"
        );
        output.line(&output.toned(Tone::Warn, &text))?;
    }
    Ok(())
}

fn incoming(total: &Traffic) -> (u64, u64) {
    (total.packets_in, total.bytes_in)
}

fn outgoing(total: &Traffic) -> (u64, u64) {
    (total.packets_out, total.bytes_out)
}

/// Sums of a port in one direction, in one unit.
struct Line {
    unit: &'static str,
    conversations: u64,
    unplaced: u64,
    other: u64,
    /// Of bytes only.
    link: Option<u64>,
}

impl Line {
    fn counted(&self) -> u64 {
        let parts = [
            self.conversations,
            self.unplaced,
            self.other,
            self.link.unwrap_or(0),
        ];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

fn lines(sums: &PortCounters) -> [Line; 2] {
    [
        Line {
            unit: "packets",
            conversations: sums.conversations.packets,
            unplaced: sums.unplaced.packets,
            other: sums.other.packets,
            link: None,
        },
        Line {
            unit: "bytes",
            conversations: sums.conversations.bytes,
            unplaced: sums.unplaced.bytes,
            other: sums.other.bytes,
            link: Some(sums.link),
        },
    ]
}

fn row(port: &str, way: &'static str, line: &Line, device: Option<u64>) -> [Cell; 10] {
    let first = line.unit == "packets";
    let before = device.map(|device| i128::from(device) - i128::from(line.counted()));
    let tone = if before.is_some_and(i128::is_negative) {
        Tone::Warn
    } else {
        Tone::Plain
    };
    [
        if first && way == "in" { port } else { "" }.into(),
        if first { way } else { "" }.into(),
        line.unit.into(),
        line.conversations.to_string().into(),
        line.unplaced.to_string().into(),
        line.other.to_string().into(),
        Cell::or_dash(line.link.map(|link| link.to_string())),
        line.counted().to_string().into(),
        Cell::or_dash(device.map(|device| device.to_string())),
        before.map_or_else(
            || Cell::or_dash(None::<&str>),
            |before| Cell::toned(before.to_string(), tone),
        ),
    ]
}
