//! Draws the picture: a card with its own background, readable on light and on dark pages.

use std::fmt::Write;

use lab::series::SLOT;

use super::{RATE, Row, WINDOW};

const WIDTH: f64 = 920.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 890.0;
/// Height above the first row, of a row's axes, and from row to row.
const TOP: f64 = 98.0;
const HEIGHT: f64 = 170.0;
const STEP: f64 = 250.0;
/// Mbit/s at the upper edge of a row.
const MOST: f64 = 52.0;
const INK: &str = "#1d2530";
const GREY: &str = "#5b6470";
const GREEN: &str = "#0b6e4f";
/// Fill and name of a path.
const PATHS: [(&str, &str); 2] = [
    ("#b9dccb", "by the first bridge"),
    ("#f6cf9f", "by the second"),
];

/// Returns the picture as SVG, with the figures in words.
pub fn draw(rows: &[Row]) -> String {
    let height = TOP + STEP * rows.len() as f64 - 20.0;
    let told = rows
        .iter()
        .map(|row| format!("{}: {}", row.name, figures(row)));
    let told: Vec<_> = told.collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
            aria-labelledby=\"title about\" \
         font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"13\">\n\
         <title id=\"title\">Two bridges of {RATE} Mbit/s, one of which loses its cable for a \
         while</title>\n\
         <desc id=\"about\">{}</desc>\n\
         <rect x=\"1\" y=\"1\" width=\"{}\" height=\"{}\" rx=\"12\" fill=\"#ffffff\" \
         stroke=\"#c9ced6\"/>\n",
        told.join(" "),
        WIDTH - 2.0,
        height - 2.0,
    );
    put(
        &mut svg,
        (20.0, 30.0),
        "font-weight=\"700\" font-size=\"16\"",
        INK,
        &format!("Two bridges of {RATE} Mbit/s, one of which loses its cable for a while"),
    );
    legend(&mut svg);
    for (number, row) in rows.iter().enumerate() {
        one(&mut svg, row, TOP + STEP * number as f64);
    }
    svg + "</svg>\n"
}

fn figures(row: &Row) -> String {
    let [before, during, after] = row.rates;
    let again = row.again.map_or(String::new(), |again| {
        format!(
            " Three quarters of the sum again {:.1} s after the return.",
            again
        )
    });
    format!(
        "{before:.0}, {during:.0}, {after:.0} Mbit/s. Longest silence {:.0} ms.{again}",
        row.silence
    )
}

fn put(svg: &mut String, at: (f64, f64), style: &str, fill: &str, text: &str) {
    let (x, y) = at;
    let _ = writeln!(
        svg,
        "<text x=\"{x:.0}\" y=\"{y:.0}\" {style} fill=\"{fill}\">{text}</text>"
    );
}

fn legend(svg: &mut String) {
    let mut x = 20.0;
    let y = 54.0;
    let _ = writeln!(
        svg,
        "<path d=\"M{x} {}h18\" stroke=\"{GREEN}\" stroke-width=\"3\"/>",
        y - 4.0
    );
    put(svg, (x + 24.0, y), "", INK, "what arrives at the client");
    x += 230.0;
    for (fill, name) in PATHS {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{}\" width=\"18\" height=\"12\" fill=\"{fill}\"/>",
            y - 10.0
        );
        put(
            svg,
            (x + 24.0, y),
            "",
            INK,
            &format!("{name}, headers included"),
        );
        x += 270.0;
    }
}

/// Draws a row: axes, the paths stacked, the arriving traffic, and the marks.
fn one(svg: &mut String, row: &Row, top: f64) {
    let slot = SLOT.as_secs_f64();
    let seconds = (row.goodput.len() + WINDOW) as f64 * slot;
    let x = |time: f64| LEFT + (RIGHT - LEFT) * time / seconds;
    let bottom = top + HEIGHT;
    let y = |rate: f64| bottom - HEIGHT * rate.min(MOST) / MOST;
    // Each average is drawn at the end of its window.
    let time = |index: usize| (index + WINDOW) as f64 * slot;

    let mut below = vec![0.0; row.goodput.len()];
    for (path, (fill, _)) in row.paths.iter().zip(PATHS) {
        let above: Vec<_> = below.iter().zip(path).map(|(a, b)| a + b).collect();
        let mut points = String::new();
        for (index, rate) in above.iter().enumerate() {
            let _ = write!(points, "{:.1},{:.1} ", x(time(index)), y(*rate));
        }
        for (index, rate) in below.iter().enumerate().take(above.len()).rev() {
            let _ = write!(points, "{:.1},{:.1} ", x(time(index)), y(*rate));
        }
        let _ = writeln!(
            svg,
            "<polygon points=\"{}\" fill=\"{fill}\"/>",
            points.trim()
        );
        below = above;
    }
    for rate in [0.0, 10.0, 20.0, 30.0, 40.0] {
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {:.1}H{RIGHT}\" stroke=\"{GREY}\" stroke-opacity=\"0.35\" \
                stroke-width=\"1\"/>",
            y(rate)
        );
        let end = "text-anchor=\"end\" font-size=\"12\"";
        put(
            svg,
            (LEFT - 8.0, y(rate) + 4.0),
            end,
            GREY,
            &format!("{rate:.0}"),
        );
    }
    for second in (0..=seconds as u32).step_by(2) {
        let middle = "text-anchor=\"middle\" font-size=\"12\"";
        let at = (x(second.into()), bottom + 18.0);
        put(svg, at, middle, GREY, &format!("{second} s"));
    }
    let points: Vec<_> = row
        .goodput
        .iter()
        .enumerate()
        .map(|(index, rate)| format!("{:.1},{:.1}", x(time(index)), y(*rate)))
        .collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{GREEN}\" stroke-width=\"2.5\" \
            stroke-linejoin=\"round\"/>",
        points.join(" ")
    );
    for (at, text) in [
        (row.lost, "the cable is pulled"),
        (row.back, "and put back"),
    ] {
        let at = x(at);
        let _ = writeln!(
            svg,
            "<path d=\"M{at:.1} {:.1}V{bottom:.1}\" stroke=\"{INK}\" stroke-width=\"1.5\" \
                stroke-dasharray=\"5 4\"/>",
            top + 4.0
        );
        put(svg, (at + 6.0, top + 10.0), "font-size=\"12\"", INK, text);
    }
    put(svg, (LEFT, bottom + 38.0), "", INK, &figures(row));
    let bold = "font-weight=\"700\"";
    put(svg, (20.0, top - 6.0), bold, INK, &row.name);
}
