//! OpenMetrics text (openmetrics.io, version 1.0.0), which Prometheus reads. Callers define the
//! metrics.

use std::fmt::{Display, Write};

/// Content type of a [`Exposition`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Content type of the text from [`to_plain_text`].
pub const PLAIN_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Most characters kept of a name.
const NAME_LIMIT: usize = 64;

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rises until weir or the counted object restarts; its samples end in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts of values below bounds; its samples end in `_bucket`, `_count` and `_sum`.
    Histogram,
}

/// A metric that is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name of its samples.
    pub name: &'static str,
    /// Type of the metric.
    pub kind: Kind,
    /// Names of the labels, in order.
    pub labels: &'static [&'static str],
    /// Description, in a sentence.
    pub help: &'static str,
}

/// Metrics as constants, a line each (`ID name Kind labels, help;`), and all of them as `METRICS`.
#[macro_export]
macro_rules! metrics {
    ($($id:ident $name:literal $kind:ident $labels:expr, $help:literal;)*) => {
        $(const $id: $crate::metrics::Metric = $crate::metrics::Metric {
            name: $name,
            kind: $crate::metrics::Kind::$kind,
            labels: $labels,
            help: $help,
        };)*
        /// All metrics, in order.
        pub const METRICS: &[$crate::metrics::Metric] = &[$($id),*];
    };
}

/// Returns a name without characters that a terminal or a page would interpret: control characters,
/// and those that change the text direction.
pub fn sanitized(name: &str) -> String {
    let fits = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    name.chars().filter(fits).take(NAME_LIMIT).collect()
}

/// Converts to the older format of Prometheus
/// (<https://prometheus.io/docs/instrumenting/exposition_formats/>), in which a counter's family
/// has the name of its samples, without units and end marker.
pub fn to_plain_text(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    // HELP follows TYPE.
    let mut counter = None;
    for line in openmetrics.lines() {
        let told = |what: &str| line.strip_prefix(what)?.split_once(' ');
        if let Some((name, kind)) = told("# TYPE ") {
            counter = (kind == "counter").then_some(name);
            let total = if counter.is_some() { "_total" } else { "" };
            let _ = writeln!(text, "# TYPE {name}{total} {kind}");
        } else if let Some((name, help)) = told("# HELP ") {
            let total = if counter == Some(name) { "_total" } else { "" };
            let _ = writeln!(text, "# HELP {name}{total} {help}");
        } else if !line.starts_with("# UNIT ") && line != "# EOF" {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// An exposition, metric by metric.
#[derive(Debug, Default)]
pub struct Exposition(String);

// Writing to a string does not fail.
impl Exposition {
    /// Returns the text, with the final `# EOF`.
    pub fn end(self) -> String {
        self.0 + "# EOF\n"
    }

    /// Begins a metric: its samples come next.
    pub fn family(&mut self, metric: Metric) {
        let name = metric.name.strip_suffix("_total").unwrap_or(metric.name);
        let unit = ["bytes", "seconds"]
            .into_iter()
            .find(|unit| name.ends_with(unit));
        self.begin(name, metric.kind, unit, metric.help);
    }

    /// Begins a metric that is known at run time only. The name is without `_total` and ends in the
    /// unit, if there is one.
    pub fn begin(&mut self, name: &str, kind: Kind, unit: Option<&str>, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if let Some(unit) = unit {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = write!(self.0, "# HELP {name} ");
        self.escaped(help);
        self.0.push('\n');
    }

    /// A sample, with the values of its labels.
    pub fn sample(&mut self, metric: Metric, values: &[&str], value: impl Display) {
        debug_assert_eq!(metric.labels.len(), values.len());
        let labels = metric.labels.iter().copied().zip(values.iter().copied());
        self.line(metric.name, labels, value);
    }

    /// Writes a sample of the metric from [`begin`](Self::begin): its whole name, and its labels.
    pub fn line<'a>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        value: impl Display,
    ) {
        self.0.push_str(name);
        let mut opened = false;
        for (label, value) in labels {
            self.0.push(if opened { ',' } else { '{' });
            opened = true;
            let _ = write!(self.0, "{label}=\"");
            self.escaped(value);
            self.0.push('"');
        }
        if opened {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// Escapes text for quotation marks and for a sentence.
    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                control if control.is_control() => self.0.push('?'),
                other => self.0.push(other),
            }
        }
    }
}
