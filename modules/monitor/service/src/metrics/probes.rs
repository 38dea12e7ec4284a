//! Probes: from their descriptions alone. Stations are summed up by port, so that hosts on the
//! network cannot create time series.

use std::collections::BTreeMap;

use answers::{Probe, ProbeKind, ProbeRecord, Probes};
use api::metrics::{Exposition, Kind, Metric};

const ACTIVE: Metric = Metric {
    name: "weir_probe_active",
    kind: Kind::Gauge,
    labels: &["probe"],
    help: "1: the probe records.",
};
const MISSED: Metric = Metric {
    name: "weir_probe_missed_total",
    kind: Kind::Counter,
    labels: &["probe", "cause"],
    help: "Events that a probe could not record.",
};

/// Sums of a probe by port and label.
type Sums<'a> = BTreeMap<(&'a str, &'a str), ProbeRecord>;

/// Writes the records of all probes.
pub fn probes(text: &mut Exposition, probes: &Probes) {
    let active = || probes.probes.iter().filter(|probe| probe.active);
    for probe in active() {
        one(text, probe);
    }
    text.family(ACTIVE);
    for probe in &probes.probes {
        text.sample(ACTIVE, &[&probe.name], u64::from(probe.active));
    }
    text.family(MISSED);
    for probe in active() {
        text.sample(MISSED, &[&probe.name, "overflow"], probe.overflow);
        text.sample(MISSED, &[&probe.name, "not-measured"], probe.not_measured);
    }
}

fn one(text: &mut Exposition, probe: &Probe) {
    // Prometheus' base units: seconds.
    let (unit, scale) = match probe.unit.as_str() {
        "microseconds" => ("seconds", Some(6)),
        other => (other, None),
    };
    let name = format!("weir_probe_{}_{unit}", probe.name)
        .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let kind = match probe.kind {
        ProbeKind::Counter => Kind::Counter,
        ProbeKind::Histogram => Kind::Histogram,
    };
    text.begin(&name, kind, Some(unit), &probe.help);
    for ((port, label), sum) in sums(probe) {
        let own = probe.label.as_deref().map(|name| (name, label));
        let labels = || [("port", port)].into_iter().chain(own);
        if kind == Kind::Counter {
            text.line(&format!("{name}_total"), labels(), sum.count);
            continue;
        }
        // Values are whole units, so values below a bound are at most the bound minus one.
        let mut so_far = 0u64;
        for (at, number) in sum.buckets.iter().enumerate() {
            so_far = so_far.saturating_add(*number);
            let bound = match probe.below.get(at) {
                Some(below) => shown(below.saturating_sub(u64::from(scale.is_none())), scale),
                None => "+Inf".to_owned(),
            };
            let labels = labels().chain([("le", bound.as_str())]);
            text.line(&format!("{name}_bucket"), labels, so_far);
        }
        text.line(&format!("{name}_count"), labels(), so_far);
        let sum = shown(sum.sum.unwrap_or_default(), scale);
        text.line(&format!("{name}_sum"), labels(), sum);
    }
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

/// Formats a number with so many decimal places, without trailing zeros: not as a float, which
/// would round the number.
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
            overflow: 2,
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
        let mut text = Exposition::default();
        super::probes(&mut text, &probes);
        assert_eq!(
            text.end(),
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
             # HELP weir_probe_active 1: the probe records.\n\
             weir_probe_active{probe=\"drops\"} 1\n\
             weir_probe_active{probe=\"qdisc-delay\"} 1\n\
             weir_probe_active{probe=\"other\"} 0\n\
             # TYPE weir_probe_missed counter\n\
             # HELP weir_probe_missed Events that a probe could not record.\n\
             weir_probe_missed_total{probe=\"drops\",cause=\"overflow\"} 2\n\
             weir_probe_missed_total{probe=\"drops\",cause=\"not-measured\"} 0\n\
             weir_probe_missed_total{probe=\"qdisc-delay\",cause=\"overflow\"} 0\n\
             weir_probe_missed_total{probe=\"qdisc-delay\",cause=\"not-measured\"} 0\n\
             # EOF\n"
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
}
