//! `weir probes`: records of the network stack.

use std::io;

use answers::{Probe, ProbeKind, ProbeRecord, Probes};
use clap::Args;

use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Align, Cell, Output, Table, Tone, WIDTH, sanitize, units, wrap};

/// Show measurements of the network stack
#[derive(Args, Debug)]
#[command(after_long_help = "\
`probes` under [monitor] sets which probes record; the others are listed with the reason.
Each record belongs to one PORT and, if the kernel reports it, one DEVICE there. For times, MEAN \
is the mean, HALF the median, and 99 % the 99th percentile. Records of each probe: docs/reference/probes.md.

Examples:
  weir probes drops
  weir probes --json | jq '.probes[] | select(.active) | .name'")]
pub struct ProbesArgs {
    /// Only this probe
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &ProbesArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let mut told: Probes = client(&args.connection)?.get("/v1/probes")?;
    if let Some(name) = &args.name {
        let names: Vec<_> = told.probes.iter().map(|probe| probe.name.clone()).collect();
        told.probes.retain(|probe| probe.name == *name);
        if told.probes.is_empty() {
            let hint = match names.is_empty() {
                true => "this daemon has no probes".to_owned(),
                false => format!("valid probes: {}", names.join(", ")),
            };
            return Err(Error::new(format!("there is no probe {name:?}"), hint));
        }
    }
    if args.format.json {
        output.json(&told)?;
        return Ok(());
    }
    for probe in &told.probes {
        print(probe, output)?;
    }
    Ok(())
}

fn print(probe: &Probe, output: &mut Output<'_>) -> io::Result<()> {
    let (word, tone) = match (probe.active, &probe.reason) {
        (true, _) => ("on".to_owned(), Tone::Good),
        (false, Some(reason)) => (format!("off: {reason}"), Tone::Warn),
        (false, None) => ("off".to_owned(), Tone::Warn),
    };
    let title = output.toned(Tone::Bold, &sanitize(&probe.name));
    let word = output.toned(tone, &sanitize(&word));
    output.line(&format!("{title}: {word}"))?;
    let mut help = probe.help.clone();
    for (number, what) in [
        (probe.overflow, "not recorded: no room"),
        (probe.not_measured, "not measured"),
    ] {
        if number > 0 {
            help.push_str(&format!("; {} {what}", units::count(number)));
        }
    }
    for line in wrap(&sanitize(&help), WIDTH - 2) {
        output.line(&format!("  {line}"))?;
    }
    if probe.records.is_empty() {
        return Ok(());
    }
    let number = probe.unit.to_uppercase();
    let label = probe.label.as_deref().map(str::to_uppercase);
    let (port, device) = (("PORT", Align::Left), ("DEVICE", Align::Left));
    let values = ["VALUES", "MEAN", "HALF", "99 %"].map(|head| (head, Align::Right));
    let [a, b, c, d] = values;
    match (probe.kind, &label) {
        (ProbeKind::Counter, None) => {
            let columns = [port, device, (&number, Align::Right)];
            table(probe, columns, output, |record| {
                vec![units::count(record.count)]
            })
        }
        (ProbeKind::Counter, Some(label)) => {
            let columns = [port, device, (label, Align::Left), (&number, Align::Right)];
            table(probe, columns, output, |record| {
                vec![units::count(record.count)]
            })
        }
        (ProbeKind::Histogram, None) => {
            let columns = [port, device, a, b, c, d];
            table(probe, columns, output, |record| histogram(probe, record))
        }
        (ProbeKind::Histogram, Some(label)) => {
            let columns = [port, device, (label, Align::Left), a, b, c, d];
            table(probe, columns, output, |record| histogram(probe, record))
        }
    }
}

/// Returns the number of values, their mean, and the bounds of the lower 50 % and 99 %.
fn histogram(probe: &Probe, record: &ProbeRecord) -> Vec<String> {
    let sum = record.sum.unwrap_or_default();
    let mean = sum.checked_div(record.count).unwrap_or_default();
    let below = |share| match record.quantile(share, &probe.below) {
        Some(bound) => value(bound, &probe.unit),
        None => {
            let last = probe.below.last().copied().unwrap_or_default();
            format!("over {}", value(last, &probe.unit))
        }
    };
    vec![
        units::count(record.count),
        value(mean, &probe.unit),
        below(0.5),
        below(0.99),
    ]
}

/// Prints a row for each record: port, device, label if the probe has one, and its numbers.
fn table<const N: usize>(
    probe: &Probe,
    columns: [(&str, Align); N],
    output: &mut Output<'_>,
    numbers: impl Fn(&ProbeRecord) -> Vec<String>,
) -> io::Result<()> {
    let mut table = Table::new(columns);
    for record in &probe.records {
        let mut cells = vec![
            Cell::or_dash(record.port.as_deref()),
            Cell::or_dash(record.device.as_deref()),
        ];
        if probe.label.is_some() {
            cells.push(Cell::or_dash(record.label.as_deref()));
        }
        cells.extend(numbers(record).into_iter().map(Cell::from));
        let mut cells = cells.into_iter();
        let row = std::array::from_fn(|_| cells.next().unwrap_or_else(|| "".into()));
        table.row(row, output)?;
    }
    table.finish(output)
}

/// Formats a value in its unit: times in a suitable unit.
fn value(number: u64, unit: &str) -> String {
    match unit {
        "microseconds" => match number {
            0..1_000 => format!("{number} us"),
            1_000..1_000_000 => format!("{}.{} ms", number / 1_000, number / 100 % 10),
            _ => format!("{}.{} s", number / 1_000_000, number / 100_000 % 10),
        },
        "bytes" => units::bytes(number),
        _ => units::count(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        for (number, text) in [
            (0, "0 us"),
            (999, "999 us"),
            (1_024, "1.0 ms"),
            (524_288, "524.2 ms"),
            (67_108_864, "67.1 s"),
        ] {
            assert_eq!(value(number, "microseconds"), text);
        }
        assert_eq!(value(1536, "bytes"), "1.5 KiB");
        assert_eq!(value(1500, "packets"), "1.5k");
    }

    fn printed(probe: &Probe) -> String {
        let mut memory = Vec::new();
        let mut output = Output::to(&mut memory, false);
        print(probe, &mut output).expect("memory");
        drop(output);
        String::from_utf8(memory).expect("text")
    }

    #[test]
    fn tables_come_from_the_description() {
        let mut probe = Probe {
            name: "drops".into(),
            help: "packets that the kernel dropped".into(),
            unit: "packets".into(),
            label: Some("reason".into()),
            active: true,
            records: vec![ProbeRecord {
                port: Some("lan\u{1b}0".into()),
                label: Some("IP_CSUM".into()),
                count: 7,
                ..Default::default()
            }],
            overflow: 3,
            ..Default::default()
        };
        assert_eq!(
            printed(&probe),
            "drops: on\n  packets that the kernel dropped; 3 not recorded: no room\n\
             PORT   DEVICE  REASON   PACKETS\nlan?0  -       IP_CSUM        7\n"
        );
        probe.active = false;
        probe.reason = Some("this kernel has no BTF".into());
        probe.records.clear();
        assert!(printed(&probe).starts_with("drops: off: this kernel has no BTF\n"));
        let delay = Probe {
            kind: ProbeKind::Histogram,
            name: "qdisc-delay".into(),
            help: "waiting".into(),
            unit: "microseconds".into(),
            active: true,
            below: vec![1, 1024],
            records: vec![ProbeRecord {
                port: Some("wan0".into()),
                device: Some("02:00:00:00:00:01".into()),
                count: 100,
                sum: Some(200_000),
                buckets: vec![90, 5, 5],
                ..Default::default()
            }],
            ..Default::default()
        };
        assert_eq!(
            printed(&delay),
            "qdisc-delay: on\n  waiting\n\
             PORT  DEVICE             VALUES    MEAN  HALF         99 %\n\
             wan0  02:00:00:00:00:01     100  2.0 ms  1 us  over 1.0 ms\n"
        );
    }
}
