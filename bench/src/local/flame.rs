//! Draws a profile: each function as wide as its share of the time, and below its caller. The
//! outermost function is on top.

use std::collections::BTreeMap;
use std::fmt::Write;

use net::markup::escape_xml;

use super::chart::STYLE;
use super::profile::Profile;

const WIDTH: f64 = 920.0;
const LEFT: f64 = 20.0;
const RIGHT: f64 = 900.0;
/// Height above the first function, of a function, and from one function to the next.
const TOP: f64 = 64.0;
const BAR: f64 = 19.0;
const STEP: f64 = 20.0;
/// Narrower functions are not visible.
const NARROWEST: f64 = 0.7;
/// Approximate width of a letter.
const LETTER: f64 = 6.4;

/// Colours besides those of the bars: the firewall's.
const FLAMES: &str = "\
.wall{fill:#c98a1b}.name{fill:#fff;font-size:11px;pointer-events:none}.floor+.name,.kernel+.name{fill:#10151c}\
@media (prefers-color-scheme:dark){.wall{fill:#d9a441}.name,.floor+.name,.kernel+.name{fill:#0f1318}.floor+.name{fill:#e8ebef}}";

/// Function at its position in the call tree.
#[derive(Default)]
struct Call<'a> {
    samples: u64,
    calls: BTreeMap<&'a str, Call<'a>>,
}

impl<'a> Call<'a> {
    fn of(stacks: &'a [(String, u64)]) -> Self {
        let mut all = Self::default();
        for (stack, samples) in stacks {
            all.samples += samples;
            let mut at = &mut all;
            for name in stack.split(';') {
                at = at.calls.entry(name).or_default();
                at.samples += samples;
            }
        }
        all
    }

    fn depth(&self) -> usize {
        let below = self.calls.values().map(|call| 1 + call.depth());
        below.max().unwrap_or(0)
    }
}

/// Returns the class, hence colour, of a function's owner.
fn class(name: &str) -> &'static str {
    let begins = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
    match name {
        _ if begins(&["bpf: weir"]) => "weir",
        _ if begins(&[
            "nf_",
            "__nf_",
            "nft_",
            "ipv4_conntrack",
            "ipv4_confirm",
            "__nft_",
        ]) =>
        {
            "wall"
        }
        _ if begins(&["bpf: ", "bpf_prog_test_run", "bpf_test_run", "xdp_test_run"]) => "floor",
        _ => "kernel",
    }
}

/// Returns the picture as SVG; `number` keeps its ids apart from other pictures of a page.
pub fn draw(profile: &Profile, number: usize) -> String {
    let all = Call::of(&profile.stacks);
    let height = TOP + STEP * all.depth() as f64 + 16.0;
    let title = format!("Where the time goes: {}", escape_xml(&profile.text));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
            aria-labelledby=\"flame-{number}\" font-family=\"system-ui, 'DejaVu Sans', \
            sans-serif\" font-size=\"13\">\n<style>{STYLE}{FLAMES}</style>\n<title \
            id=\"flame-{number}\">{title}: each function as wide as its share</title>\n<rect \
            class=\"card\" x=\"1\" y=\"1\" width=\"{}\" height=\"{}\" rx=\"12\"/>\n<text \
            class=\"ink\" x=\"20\" y=\"30\" font-weight=\"700\" \
            font-size=\"16\">{title}</text>\n<text class=\"grey\" x=\"20\" y=\"50\" \
            font-size=\"12\">{} samples; each function is below its caller</text>\n",
        WIDTH - 2.0,
        height - 2.0,
        profile.samples,
    );
    let scale = (RIGHT - LEFT) / all.samples.max(1) as f64;
    below(&mut svg, &all, LEFT, TOP, scale, all.samples.max(1) as f64);
    svg + "</svg>\n"
}

fn below(svg: &mut String, call: &Call<'_>, left: f64, top: f64, scale: f64, whole: f64) {
    let mut x = left;
    for (name, call) in &call.calls {
        let width = call.samples as f64 * scale;
        if width >= NARROWEST {
            let share = call.samples as f64 / whole * 100.0;
            let told = escape_xml(name);
            let _ = write!(
                svg,
                "<g><title>{told}: {share:.1} %</title><rect class=\"{}\" x=\"{x:.1}\" \
                    y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"2\"/>",
                class(name),
                (width - 0.5).max(0.5),
            );
            let room = ((width - 8.0) / LETTER) as usize;
            if room >= 4 {
                let short: String = match name.chars().count() > room {
                    true => name.chars().take(room - 1).chain(['…']).collect(),
                    false => (*name).to_owned(),
                };
                let _ = write!(
                    svg,
                    "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    x + 4.0,
                    top + 13.5,
                    escape_xml(&short)
                );
            }
            svg.push_str("</g>\n");
            below(svg, call, x, top + STEP, scale, whole);
        }
        x += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_as_wide_as_their_share() {
        let stacks = [
            ("feed;poll;bpf: weir_xdp", 60),
            ("feed;poll;nf_hook_slow", 30),
            ("feed", 10),
        ];
        let profile = Profile {
            name: "weir-xdp".into(),
            text: "weir <at> XDP".into(),
            samples: 100,
            stacks: stacks.map(|(stack, n)| (stack.to_owned(), n)).to_vec(),
            counts: None,
        };
        let svg = draw(&profile, 3);
        assert!(!svg.contains("<at>") && svg.contains("&lt;at&gt;"), "{svg}");
        for (title, class, width) in [
            ("feed: 100.0 %", "kernel", 879.5),
            ("poll: 90.0 %", "kernel", 791.5),
            ("bpf: weir_xdp: 60.0 %", "weir", 527.5),
            ("nf_hook_slow: 30.0 %", "wall", 263.5),
        ] {
            let line = svg.lines().find(|line| line.contains(title));
            let line = line.unwrap_or_else(|| panic!("{title}: {svg}"));
            let found = [
                format!("class=\"{class}\""),
                format!("width=\"{width:.1}\""),
            ];
            assert!(
                found.iter().all(|one| line.contains(one.as_str())),
                "{line}"
            );
        }
        assert_eq!(Call::of(&profile.stacks).depth(), 3);
    }
}
