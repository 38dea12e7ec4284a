//! The log as a plot: power, throughput, and rates, over time.

use std::fmt::Write as _;

use net::markup::escape_xml;

use super::log::{Entry, Reason};

/// Sizes, px.
const WIDTH: f64 = 960.0;
const PANEL: f64 = 180.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 40.0;
const GAP: f64 = 44.0;
const HEIGHT: f64 = TOP + 3.0 * PANEL + 3.0 * GAP;

/// Colours that colour-blind people can distinguish (Okabe and Ito, 2008), on white.
const POWER: &str = "#0072b2";
const ARRIVES: &str = "#d55e00";
const REFERENCE: &str = "#767676";
const RATE: &str = "#009e73";

/// Returns an SVG of these steps, in the order of their times. `title` may be any text.
pub fn plot(title: &str, steps: &[Entry]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<title>{0}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"15\" font-weight=\"bold\">{0}</text>\n",
        escape_xml(title)
    );
    let begin = steps.first().map_or(0, |step| step.at);
    let end = steps.last().map_or(1, |step| step.at).max(begin + 1);
    let across = Scale {
        low: begin as f64 / 1000.0,
        high: end as f64 / 1000.0,
        from: LEFT,
        to: WIDTH - RIGHT,
    };
    power(&mut svg, steps, &across);
    arrives(&mut svg, steps, &across);
    rates(&mut svg, steps, &across);
    svg.push_str("</svg>\n");
    svg
}

/// From numbers to px.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn at(&self, number: f64) -> f64 {
        self.from + (number - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Returns some five round numbers between both ends.
    fn ticks(&self) -> Vec<f64> {
        let step = step(self.low, self.high);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }
}

/// Returns a round step for some five ticks between two values.
fn step(low: f64, high: f64) -> f64 {
    let rough = (high - low) / 5.0;
    let ten = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * ten);
    let mut steps = steps.into_iter();
    steps.find(|step| *step >= rough).unwrap_or(10.0 * ten)
}

/// Returns a scale of dBm or Mbit/s in one of the panels, between round numbers.
fn up(panel: u8, low: f64, high: f64) -> Scale {
    let step = step(low, high);
    let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
    let to = TOP + GAP / 2.0 + f64::from(panel) * (GAP + PANEL);
    let from = to + PANEL;
    Scale {
        low,
        high,
        from,
        to,
    }
}

/// Writing to a String cannot fail.
macro_rules! draw {
    ($to:expr, $($what:tt)*) => {{ let _ = writeln!($to, $($what)*); }};
}

fn axes(svg: &mut String, what: &str, across: &Scale, up: &Scale) {
    draw!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"#333\">{what}</text>",
        up.to - 8.0
    );
    for tick in up.ticks() {
        let y = up.at(tick);
        draw!(
            svg,
            "<path d=\"M{LEFT} {y:.1}H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\" fill=\"#333\">{}</text>",
            across.to,
            LEFT - 6.0,
            y + 4.0,
            shortest(tick)
        );
    }
    for tick in across.ticks() {
        draw!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#333\">{} s</text>",
            across.at(tick),
            up.from + 16.0,
            shortest(tick)
        );
    }
}

fn power(svg: &mut String, steps: &[Entry], across: &Scale) {
    let powers = || steps.iter().map(|step| f64::from(step.power));
    let up = up(
        0,
        powers().fold(0.0, f64::min),
        powers().fold(1.0, f64::max),
    );
    axes(
        svg,
        "power, dBm (dots: a station receives less, joined, or fell silent)",
        across,
        &up,
    );
    let mut path = String::new();
    for step in steps {
        let (x, y) = (
            across.at(step.at as f64 / 1000.0),
            up.at(f64::from(step.power)),
        );
        match path.is_empty() {
            true => path = format!("M{x:.1} {y:.1}"),
            // A power holds until the next.
            false => draw!(path, "H{x:.1}V{y:.1}"),
        }
    }
    if !path.is_empty() {
        draw!(path, "H{:.1}", across.to);
        draw!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{POWER}\" stroke-width=\"2\"/>"
        );
    }
    for step in steps.iter().filter(|step| tells(step.reason)) {
        draw!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{ARRIVES}\"><title>{}</title></circle>",
            across.at(step.at as f64 / 1000.0),
            up.at(f64::from(step.power)),
            step.reason.word()
        );
    }
}

/// Returns true if the reason gets a mark: an event that the search did not cause.
fn tells(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Lost
            | Reason::Worse
            | Reason::Wall
            | Reason::Silent
            | Reason::Edge
            | Reason::Newcomer
    )
}

fn arrives(svg: &mut String, steps: &[Entry], across: &Scale) {
    let most = steps
        .iter()
        .flat_map(|it| [megabits(it.throughput), megabits(it.reference)]);
    let up = up(1, 0.0, most.flatten().fold(1.0, f64::max));
    axes(
        svg,
        "throughput at the station that loses most, Mbit/s (grey: at the greatest power)",
        across,
        &up,
    );
    for step in steps {
        let x = across.at(step.at as f64 / 1000.0);
        if let Some(was) = megabits(step.reference) {
            let y = up.at(was);
            draw!(
                svg,
                "<path d=\"M{:.1} {y:.1}h8\" stroke=\"{REFERENCE}\" stroke-width=\"2\"/>",
                x - 4.0
            );
        }
        if let Some(now) = megabits(step.throughput) {
            draw!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{ARRIVES}\"><title>{} Mbit/s at {} \
                 dBm: {}</title></circle>",
                up.at(now),
                shortest(now),
                step.power,
                step.reason.word()
            );
        }
    }
}

fn rates(svg: &mut String, steps: &[Entry], across: &Scale) {
    let all = || steps.iter().filter_map(|it| Some((it, megabits(it.rate)?)));
    let up = up(2, 0.0, all().map(|it| it.1).fold(1.0, f64::max));
    axes(svg, "sending rate, Mbit/s", across, &up);
    for (step, rate) in all() {
        draw!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\" fill=\"{RATE}\"><title>{} \
             Mbit/s at {} dBm</title></rect>",
            across.at(step.at as f64 / 1000.0) - 3.0,
            up.at(rate) - 3.0,
            shortest(rate),
            step.power
        );
    }
}

fn megabits(kilobits: Option<f64>) -> Option<f64> {
    kilobits.map(|kilobits| kilobits / 1000.0)
}

fn shortest(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_lies_between_the_ends_of_its_scale() {
        for (low, high) in [
            (0.0, 10.5),
            (-3.0, 20.0),
            (0.0, 116.9),
            (0.0, 1.0),
            (5.0, 6.0),
        ] {
            let scale = up(0, low, high);
            let ticks = scale.ticks();
            assert!(
                ticks[0] <= low && ticks[ticks.len() - 1] >= high,
                "{ticks:?}"
            );
            assert!((3..=8).contains(&ticks.len()), "{ticks:?}");
        }
    }
}
