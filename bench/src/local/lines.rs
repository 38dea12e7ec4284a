//! Draws a series: a line for each scenario, over the varied quantity.

use std::fmt::Write;

use net::markup::escape_xml;

use super::chart::{STYLE, axis, class, rate, tick_text};
use super::series::{PointValue, Series};

const WIDTH: f64 = 920.0;
const HEIGHT: f64 = 360.0;
/// Area of the lines.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 660.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 300.0;
/// Smallest distance between names at the ends of lines.
const APART: f64 = 18.0;

/// Lines in the colours of the bars.
const LINES: &str = "\
polyline{fill:none;stroke-width:2.5}polyline.weir{fill:none;stroke:#0b6e4f}polyline.kernel{fill:none;stroke:#8a94a3}polyline.bound{fill:none;stroke:#3b6fb6;stroke-dasharray:7 4}\
@media (prefers-color-scheme:dark){polyline.weir{stroke:#3fbf93}polyline.kernel{stroke:#7d8896}polyline.bound{stroke:#7aa7e6}}";

/// Returns the picture as SVG; `number` keeps its ids apart from other pictures of a page.
pub fn draw(series: &Series, number: usize) -> String {
    let all = series.points.iter().flat_map(|point| &point.scenarios);
    let most = all.map(|one| one.pps.median).fold(1.0, f64::max);
    let (end, step) = axis(most);
    let last = series.points.len().saturating_sub(1).max(1) as f64;
    let x = |index: usize| LEFT + 20.0 + (RIGHT - LEFT - 40.0) * index as f64 / last;
    let y = |rate: f64| BOTTOM - (BOTTOM - TOP) * rate / end;
    let title = format!("Packets per second, by {}", series.by.text());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
            aria-labelledby=\"series-{number}\" \
         font-family=\"system-ui, 'DejaVu Sans', sans-serif\" \
         font-size=\"13\">\n<style>{STYLE}{LINES}</style>\n\
         <title id=\"series-{number}\">{title}: the figures are in the table below</title>\n\
         <rect class=\"card\" x=\"1\" y=\"1\" width=\"{}\" height=\"{}\" rx=\"12\"/>\n\
         <text class=\"ink\" x=\"20\" y=\"30\" font-weight=\"700\" \
         font-size=\"16\">{title}</text>\n",
        WIDTH - 2.0,
        HEIGHT - 2.0,
    );
    for part in 0..=(end / step).round() as u32 {
        let tick = step * f64::from(part);
        let at = y(tick);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/>\n\
             <text class=\"grey\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\" \
             font-size=\"12\">{}</text>",
            LEFT - 8.0,
            at + 4.0,
            tick_text(tick)
        );
    }
    for (index, point) in series.points.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text class=\"grey\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" \
                font-size=\"12\">{}</text>",
            x(index),
            BOTTOM + 20.0,
            escape_xml(&point.at.to_string())
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"grey\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" \
            font-size=\"12\">{}</text>",
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 40.0,
        series.by.text()
    );
    let mut ends = Vec::new();
    for (name, text) in series.names() {
        let found = series.of(name);
        let Some(at_end) = found.last() else {
            continue;
        };
        let class = class(at_end);
        let places: Vec<_> = found
            .iter()
            .enumerate()
            .map(|(index, one)| (x(index), y(one.pps.median)))
            .collect();
        // A named point has no order among the numbers, so the line leaves it out.
        let numbers = series.points.iter().zip(&places);
        let numbers = numbers.filter(|(point, _)| matches!(point.at, PointValue::Number(_)));
        let line: Vec<_> = numbers
            .map(|(_, (x, y))| format!("{x:.1},{y:.1}"))
            .collect();
        let line = line.join(" ");
        let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{line}\"/>");
        for (x, y) in places {
            let _ = writeln!(
                svg,
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"
            );
        }
        ends.push((
            y(at_end.pps.median),
            format!("{text}, {}", rate(at_end.pps.median)),
        ));
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = f64::MIN;
    for (at, text) in ends {
        let at = at.max(below + APART);
        below = at;
        let _ = writeln!(
            svg,
            "<text class=\"ink\" x=\"{:.0}\" y=\"{:.1}\" font-size=\"12\">{}</text>",
            RIGHT - 10.0,
            at + 4.0,
            escape_xml(&text)
        );
    }
    svg + "</svg>\n"
}
