//! Draws the report: a bar for each scenario, and a dot for each round. The picture follows the
//! reader's choice of light or dark.

use std::fmt::Write;

use net::markup::escape_xml;

use super::{Report, Scenario};

const WIDTH: f64 = 920.0;
/// Left ends of the bars, and right end of the longest.
const LEFT: f64 = 300.0;
const RIGHT: f64 = 760.0;
/// Height above the bars, and distance from bar to bar.
const TOP: f64 = 96.0;
const STEP: f64 = 34.0;
const BAR: f64 = 18.0;

/// Colours by name, on light and on dark.
pub(crate) const STYLE: &str = "\
.card{fill:#fff;stroke:#c9ced6}.ink{fill:#1d2530}.grey{fill:#5b6470}\
.weir{fill:#0b6e4f}.kernel{fill:#8a94a3}.bound{fill:#3b6fb6}.floor{fill:#c3c9d2}\
.dot{fill:#fff;stroke:#1d2530;stroke-width:1.2}.grid{stroke:#5b6470;stroke-opacity:.25;fill:none}\
@media (prefers-color-scheme:dark){.card{fill:#171c23;stroke:#39424e}.ink{fill:#e8ebef}.grey{fill:#a7b0bc}\
.weir{fill:#3fbf93}.kernel{fill:#7d8896}.bound{fill:#7aa7e6}.floor{fill:#4a5461}.dot{fill:#171c23;stroke:#e8ebef}.grid{stroke:#a7b0bc}}";

/// Returns the class, hence colour, of a scenario's bar.
pub(super) fn class(scenario: &Scenario) -> &'static str {
    match scenario.name.as_str() {
        name if name.starts_with("weir") => "weir",
        "direct" => "floor",
        "xdp-static" | "tc-static" => "bound",
        _ => "kernel",
    }
}

/// Formats packets per second for people.
pub fn rate(rate: f64) -> String {
    match rate {
        rate if rate >= 1e6 => format!("{:.2} M/s", rate / 1e6),
        rate => format!("{:.0} k/s", rate / 1e3),
    }
}

/// Returns the end of the axis and the distance of its lines: 1, 2 or 5 times a power of ten.
pub(super) fn axis(most: f64) -> (f64, f64) {
    let power = 10_f64.powf((most / 4.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    let step = step.into_iter().find(|step| most / step <= 5.0);
    let step = step.unwrap_or(power * 10.0);
    ((most / step).ceil() * step, step)
}

/// Formats a value of the axis.
pub(super) fn tick_text(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value >= 1e6 => format!("{} M/s", value / 1e6),
        value => format!("{} k/s", value / 1e3),
    }
}

/// Returns the picture as SVG.
pub fn draw(report: &Report) -> String {
    // Forwarding scenarios come first, then dropping ones.
    let mut ranked: Vec<_> = report.ranking().into_iter().flatten().collect();
    ranked.sort_by_key(|scenario| scenario.drops());
    let most = ranked
        .iter()
        .map(|scenario| scenario.pps.max)
        .fold(1.0, f64::max);
    let height = TOP + STEP * ranked.len() as f64 + 34.0;
    let (end, step) = axis(most);
    let x = |rate: f64| LEFT + (RIGHT - LEFT) * rate / end;
    let told = ranked
        .iter()
        .map(|one| format!("{}: {}.", one.text, rate(one.pps.median)));
    let told: Vec<_> = told.collect();
    let title = "Packets per second through one processor";
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
            aria-labelledby=\"chart-title chart-about\" \
         font-family=\"system-ui, 'DejaVu Sans', sans-serif\" \
         font-size=\"13\">\n<style>{STYLE}</style>\n\
         <title id=\"chart-title\">{title}</title>\n<desc id=\"chart-about\">{}</desc>\n\
         <rect class=\"card\" x=\"1\" y=\"1\" width=\"{}\" height=\"{}\" rx=\"12\"/>\n\
         <text class=\"ink\" x=\"20\" y=\"30\" font-weight=\"700\" \
         font-size=\"16\">{title}</text>\n\
         <text class=\"grey\" x=\"20\" y=\"52\">{}</text>\n\
         <text class=\"grey\" x=\"20\" y=\"70\">{}; each dot is a round, the bar ends at the \
         median</text>\n",
        escape_xml(&told.join(" ")),
        WIDTH - 2.0,
        height - 2.0,
        escape_xml(&report.machine.to_string()),
        report.load,
    );
    let bottom = TOP + STEP * ranked.len() as f64;
    for part in 0..=(end / step).round() as u32 {
        let tick = step * f64::from(part);
        let at = x(tick);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} {:.1}V{bottom:.1}\"/>\n\
             <text class=\"grey\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" \
             font-size=\"12\">{}</text>",
            TOP - 6.0,
            bottom + 18.0,
            tick_text(tick)
        );
    }
    for (index, scenario) in ranked.iter().enumerate() {
        let middle = TOP + STEP * index as f64 + STEP / 2.0 - 4.0;
        let [median, fastest] = [scenario.pps.median, scenario.pps.max].map(x);
        let _ = writeln!(
            svg,
            "<text class=\"ink\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n\
             <rect class=\"{}\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\" \
             rx=\"3\"/>",
            LEFT - 10.0,
            middle + 4.5,
            escape_xml(&scenario.text),
            class(scenario),
            middle - BAR / 2.0,
            median - LEFT,
        );
        for rate in &scenario.each {
            let _ = writeln!(
                svg,
                "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"2.6\"/>",
                x(*rate)
            );
        }
        let times = report.against(scenario).map_or(String::new(), |kernel| {
            let times = scenario.pps.median / kernel.pps.median;
            match scenario.drops() {
                true => format!(", {times:.1} × kernel's rule"),
                false => format!(", {times:.1} × kernel NAT"),
            }
        });
        let _ = writeln!(
            svg,
            "<text class=\"ink\" x=\"{:.1}\" y=\"{:.1}\" font-size=\"12\">{}{}</text>",
            fastest.max(median) + 8.0,
            middle + 4.5,
            rate(scenario.pps.median),
            if scenario.name == "direct" {
                String::new()
            } else {
                times
            }
        );
    }
    svg + "</svg>\n"
}
