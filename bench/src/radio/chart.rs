//! Draws the report: throughput on the left, power on the right, all drivers side by side. The
//! picture follows the reader's choice of light or dark.

use std::fmt::Write as _;

use net::markup::escape_xml;

use super::{Driver, Figures, Report, ScenarioResult};
use crate::local::chart::STYLE;

const WIDTH: f64 = 920.0;
const TOP: f64 = 92.0;
/// Height of a bar, distance from bar to bar, and gap between scenarios.
const BAR: f64 = 14.0;
const STEP: f64 = 19.0;
const GAP: f64 = 34.0;

/// Half of the picture: a kind of figure.
struct Half {
    title: &'static str,
    unit: &'static str,
    from: f64,
    to: f64,
    of: fn(&ScenarioResult, &Figures) -> f64,
}

const HALVES: [Half; 2] = [
    Half {
        title: "throughput",
        unit: "Mbit/s",
        from: 110.0,
        to: 390.0,
        of: |measured, figures| measured.throughput(figures),
    },
    Half {
        title: "mean power while it sends",
        unit: "mW",
        from: 530.0,
        to: 850.0,
        of: |_, figures| figures.on_air_mw,
    },
];

fn class(driver: &str) -> &'static str {
    match driver {
        name if name == Driver::Weir.name() => "weir",
        name if name == Driver::Predecessor.name() => "bound",
        name if name == Driver::Slow.name() => "floor",
        _ => "kernel",
    }
}

/// Formats with three significant digits.
fn short(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// Returns the picture as SVG.
pub fn draw(report: &Report) -> String {
    let rows: usize = report.scenarios.iter().map(|one| one.runs.len()).sum();
    let height = TOP + rows as f64 * STEP + report.scenarios.len() as f64 * GAP + 16.0;
    let title = "Transmit power: power of each sender, and data that arrives";
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-labelledby=\"chart-title chart-about\" \
         font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"13\">\n\
         <style>{STYLE}</style>\n<title id=\"chart-title\">{title}</title>\n\
         <desc id=\"chart-about\">{}</desc>\n\
         <rect class=\"card\" x=\"1\" y=\"1\" width=\"{}\" height=\"{}\" rx=\"12\"/>\n\
         <text class=\"ink\" x=\"20\" y=\"30\" font-weight=\"700\" font-size=\"16\">{title}</text>\n\
         <text class=\"grey\" x=\"20\" y=\"52\">{}; {} s each{}, seed {}</text>\n",
        escape_xml(&about(report)),
        WIDTH - 2.0,
        height - 2.0,
        escape_xml(&report.machine.to_string()),
        report.seconds,
        report.times(),
        report.seed,
    );
    for half in &HALVES {
        let _ = writeln!(
            svg,
            "<text class=\"ink\" x=\"{}\" y=\"78\" font-weight=\"700\">{}, {}</text>",
            half.from, half.title, half.unit
        );
    }
    let mut y = TOP;
    for measured in &report.scenarios {
        let _ = writeln!(
            svg,
            "<text class=\"ink\" x=\"20\" y=\"{:.1}\">{}: {}</text>",
            y + 18.0,
            escape_xml(&measured.name),
            escape_xml(&measured.text)
        );
        y += GAP - 8.0;
        for half in &HALVES {
            bars(&mut svg, measured, half, y);
        }
        y += measured.runs.len() as f64 * STEP + 8.0;
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws the bars of a scenario, on its own scale: the longest bar fills the room.
fn bars(svg: &mut String, measured: &ScenarioResult, half: &Half, top: f64) {
    let values: Vec<f64> = measured
        .runs
        .iter()
        .map(|run| (half.of)(measured, &run.figures))
        .collect();
    let end = values.iter().copied().fold(0.01, f64::max);
    for (number, (run, value)) in measured.runs.iter().zip(&values).enumerate() {
        let y = top + number as f64 * STEP;
        let long = (half.to - half.from) * value / end;
        let _ = writeln!(
            svg,
            "<text class=\"grey\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\" \
             font-size=\"12\">{}</text>\
             <rect class=\"{}\" x=\"{}\" y=\"{y:.1}\" width=\"{long:.1}\" height=\"{BAR}\" \
             rx=\"3\"/><text class=\"ink\" x=\"{:.1}\" y=\"{:.1}\" font-size=\"12\">{}</text>",
            half.from - 8.0,
            y + 11.5,
            escape_xml(&run.driver),
            class(&run.driver),
            half.from,
            half.from + long + 6.0,
            y + 11.5,
            short(*value)
        );
    }
}

/// Describes the picture in words, for screen readers.
fn about(report: &Report) -> String {
    let mut text = String::new();
    for measured in &report.scenarios {
        for run in &measured.runs {
            let _ = write!(
                text,
                "{}, {}: {} Mbit/s with {} mW. ",
                measured.name,
                run.driver,
                short(measured.throughput(&run.figures)),
                short(run.figures.on_air_mw)
            );
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{Report, Run, Scenario};
    use super::*;
    use crate::machine::Machine;

    /// Writes the picture to the folder of `WEIR_PICTURES`, for inspection.
    #[test]
    fn all_who_decided_are_side_by_side() {
        let run = |(number, driver): (usize, Driver)| {
            let figures = Figures {
                arrived_mbit: 2.0,
                carries_mbit: 30.0 - number as f64,
                on_air_mw: 3.0 * number as f64,
                radiated_mw: 0.1,
                reaction_ms: None,
            };
            Run::of(driver, vec![figures], Vec::new()).expect("a round")
        };
        let measured = |scenario: Scenario| ScenarioResult {
            name: scenario.name().into(),
            text: scenario.text().into(),
            runs: Driver::ALL.into_iter().enumerate().map(run).collect(),
        };
        let report = Report {
            schema: super::super::report::SCHEMA.into(),
            machine: Machine::this(),
            seconds: 30.0,
            seed: 1,
            repeat: 1,
            complete: true,
            scenarios: Scenario::ALL.map(measured).into(),
        };
        let svg = draw(&report);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("rx=\"3\"").count(), 2 * 4 * 6);
        assert!(svg.contains("near, weir: 30.0 Mbit/s with 0.00 mW."));
        assert!(!svg.contains("NaN") && !svg.contains("inf\""));
        // With a saturated medium, the throughput shown is the received one.
        assert!(svg.contains("two, weir: 2.00 Mbit/s"));
        if let Ok(folder) = std::env::var("WEIR_PICTURES") {
            std::fs::write(format!("{folder}/radio-bench.svg"), svg).expect("a picture");
        }
    }
}
