//! Probes as OpenMetrics text (openmetrics.io, version 1.0), which Prometheus reads: from the
//! description of each alone. Stations are summed up to ports, so that nobody on the network makes
//! up time series.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use crate::types::{Probe, ProbeKind, ProbeRecord, Probes};

/// Sums of a probe by port and label.
type Sums<'a> = BTreeMap<(&'a str, &'a str), ProbeRecord>;

impl Probes {
    /// Writes the lines of all probes, without the `# EOF` that ends an exposition.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn openmetrics(&self, out: &mut impl Write) -> fmt::Result {
        for probe in self.probes.iter().filter(|probe| probe.active) {
            one(probe, out)?;
        }
        let mut line = |name: &str,
                        kind: &str,
                        help: &str,
                        each: &dyn Fn(&Probe) -> Vec<(&'static str, u64)>| {
            writeln!(out, "# TYPE {name} {kind}")?;
            writeln!(out, "# HELP {name} {help}")?;
            let suffix = if kind == "counter" { "_total" } else { "" };
            for probe in &self.probes {
                for (cause, number) in each(probe) {
                    write!(out, "{name}{suffix}{{probe=\"{}\"", escaped(&probe.name))?;
                    if !cause.is_empty() {
                        write!(out, ",cause=\"{cause}\"")?;
                    }
                    writeln!(out, "}} {number}")?;
                }
            }
            Ok(())
        };
        line(
            "weir_probe_active",
            "gauge",
            "whether a probe records",
            &|probe| vec![("", u64::from(probe.active))],
        )?;
        line(
            "weir_probe_missed",
            "counter",
            "what a probe could not record",
            &|probe| match probe.active {
                true => vec![
                    ("no-room", probe.no_room),
                    ("not-measured", probe.not_measured),
                ],
                false => Vec::new(),
            },
        )
    }
}

fn one(probe: &Probe, out: &mut impl Write) -> fmt::Result {
    // Prometheus' base units: seconds.
    let (unit, scale) = match probe.unit.as_str() {
        "microseconds" => ("seconds", Some(6)),
        other => (other, None),
    };
    let name = format!("weir_probe_{}_{unit}", probe.name)
        .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let kind = match probe.kind {
        ProbeKind::Counter => "counter",
        ProbeKind::Histogram => "histogram",
    };
    writeln!(out, "# TYPE {name} {kind}")?;
    writeln!(out, "# UNIT {name} {unit}")?;
    writeln!(out, "# HELP {name} {}", escaped(&probe.help))?;
    for ((port, label), sum) in sums(probe) {
        let mut labels = format!("port=\"{}\"", escaped(port));
        if let Some(name) = &probe.label {
            write!(labels, ",{name}=\"{}\"", escaped(label))?;
        }
        if probe.kind == ProbeKind::Counter {
            writeln!(out, "{name}_total{{{labels}}} {}", sum.count)?;
            continue;
        }
        // Of what is counted in whole units, all values below a bound are at most one less than it.
        let mut so_far = 0u64;
        for (at, number) in sum.buckets.iter().enumerate() {
            so_far = so_far.saturating_add(*number);
            let bound = match probe.below.get(at) {
                Some(below) => shown(below.saturating_sub(u64::from(scale.is_none())), scale),
                None => "+Inf".to_owned(),
            };
            writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {so_far}")?;
        }
        writeln!(out, "{name}_count{{{labels}}} {so_far}")?;
        writeln!(
            out,
            "{name}_sum{{{labels}}} {}",
            shown(sum.sum.unwrap_or_default(), scale)
        )?;
    }
    Ok(())
}

fn sums(probe: &Probe) -> Sums<'_> {
    let mut sums = Sums::new();
    for record in &probe.records {
        let whose = (
            record.port.as_deref().unwrap_or_default(),
            record.label.as_deref().unwrap_or_default(),
        );
        let sum = sums.entry(whose).or_default();
        sum.count = sum.count.saturating_add(record.count);
        sum.sum = Some(
            sum.sum
                .unwrap_or_default()
                .saturating_add(record.sum.unwrap_or_default()),
        );
        sum.buckets
            .resize(sum.buckets.len().max(record.buckets.len()), 0);
        for (sum, number) in sum.buckets.iter_mut().zip(&record.buckets) {
            *sum = sum.saturating_add(*number);
        }
    }
    sums
}

/// A number with so many decimal places, without zeros at its end: no float, which would round it.
fn shown(number: u64, places: Option<usize>) -> String {
    let Some(places) = places else {
        return number.to_string();
    };
    let digits = format!("{number:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let fraction = fraction.trim_end_matches('0');
    // OpenMetrics wants bounds as floats: 1.0, not 1.
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    format!("{whole}.{fraction}")
}

/// As it may stand between quotation marks.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => safe.push_str("\\\\"),
            '"' => safe.push_str("\\\""),
            '\n' => safe.push_str("\\n"),
            control if control.is_control() => safe.push('?'),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(port: &str, device: Option<&str>, label: Option<&str>, count: u64) -> ProbeRecord {
        ProbeRecord {
            port: Some(port.to_owned()),
            device: device.map(str::to_owned),
            label: label.map(str::to_owned),
            count,
            ..Default::default()
        }
    }

    #[test]
    fn lines_come_from_the_description() {
        let drops = Probe {
            name: "drops".into(),
            help: "packets that the kernel dropped".into(),
            unit: "packets".into(),
            label: Some("reason".into()),
            active: true,
            records: vec![
                record("lan0", Some("02:00:00:00:00:01"), Some("NETFILTER_DROP"), 3),
                record("lan0", Some("02:00:00:00:00:02"), Some("NETFILTER_DROP"), 4),
                record("a\"b\u{1b}", None, Some("IP_CSUM"), 1),
            ],
            no_room: 2,
            ..Default::default()
        };
        let delay = Probe {
            name: "qdisc-delay".into(),
            help: "waiting".into(),
            kind: ProbeKind::Histogram,
            unit: "microseconds".into(),
            active: true,
            below: vec![1, 1024],
            records: vec![ProbeRecord {
                sum: Some(3_000_500),
                buckets: vec![1, 2, 1],
                ..record("wan0", None, None, 4)
            }],
            ..Default::default()
        };
        let off = Probe {
            name: "other".into(),
            ..Default::default()
        };
        let probes = Probes {
            probes: vec![drops, delay, off],
        };
        let mut text = String::new();
        probes.openmetrics(&mut text).expect("memory");
        assert_eq!(
            text,
            "# TYPE weir_probe_drops_packets counter\n\
             # UNIT weir_probe_drops_packets packets\n\
             # HELP weir_probe_drops_packets packets that the kernel dropped\n\
             weir_probe_drops_packets_total{port=\"a\\\"b?\",reason=\"IP_CSUM\"} 1\n\
             weir_probe_drops_packets_total{port=\"lan0\",reason=\"NETFILTER_DROP\"} 7\n\
             # TYPE weir_probe_qdisc_delay_seconds histogram\n\
             # UNIT weir_probe_qdisc_delay_seconds seconds\n\
             # HELP weir_probe_qdisc_delay_seconds waiting\n\
             weir_probe_qdisc_delay_seconds_bucket{port=\"wan0\",le=\"0.000001\"} 1\n\
             weir_probe_qdisc_delay_seconds_bucket{port=\"wan0\",le=\"0.001024\"} 3\n\
             weir_probe_qdisc_delay_seconds_bucket{port=\"wan0\",le=\"+Inf\"} 4\n\
             weir_probe_qdisc_delay_seconds_count{port=\"wan0\"} 4\n\
             weir_probe_qdisc_delay_seconds_sum{port=\"wan0\"} 3.0005\n\
             # TYPE weir_probe_active gauge\n\
             # HELP weir_probe_active whether a probe records\n\
             weir_probe_active{probe=\"drops\"} 1\n\
             weir_probe_active{probe=\"qdisc-delay\"} 1\n\
             weir_probe_active{probe=\"other\"} 0\n\
             # TYPE weir_probe_missed counter\n\
             # HELP weir_probe_missed what a probe could not record\n\
             weir_probe_missed_total{probe=\"drops\",cause=\"no-room\"} 2\n\
             weir_probe_missed_total{probe=\"drops\",cause=\"not-measured\"} 0\n\
             weir_probe_missed_total{probe=\"qdisc-delay\",cause=\"no-room\"} 0\n\
             weir_probe_missed_total{probe=\"qdisc-delay\",cause=\"not-measured\"} 0\n"
        );
    }

    #[test]
    fn numbers_are_not_rounded() {
        assert_eq!(shown(0, Some(6)), "0.0");
        assert_eq!(shown(1, Some(6)), "0.000001");
        assert_eq!(shown(67_108_864, Some(6)), "67.108864");
        assert_eq!(shown(u64::MAX, Some(6)), "18446744073709.551615");
        assert_eq!(shown(u64::MAX, None), "18446744073709551615");
    }

    #[test]
    fn quantiles_are_bounds_of_buckets() {
        let record = ProbeRecord {
            buckets: vec![5, 4, 1],
            ..Default::default()
        };
        assert_eq!(record.quantile(0.5, &[1, 2]), Some(1));
        assert_eq!(record.quantile(0.9, &[1, 2]), Some(2));
        assert_eq!(record.quantile(1.0, &[1, 2]), None, "beyond the last bound");
        assert_eq!(ProbeRecord::default().quantile(0.5, &[1, 2]), None);
    }
}
