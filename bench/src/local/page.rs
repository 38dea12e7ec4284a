//! Writes the report as a single web page that loads nothing else.

use std::fmt::Write;

use net::markup::escape_xml;

use super::chart::{draw, rate};
use super::{Bulk, Profile, Report, Series, flame, lines};
use crate::circuit::Path;

const STYLE: &str = "\
:root{color-scheme:light \
dark;--ink:#1d2530;--grey:#5b6470;--ground:#f4f6f8;--card:#fff;--rule:#c9ced6;--weir:#0b6e4f}\
@media (prefers-color-scheme:dark){:root{--ink:#e8ebef;--grey:#a7b0bc;--ground:#0f1318;--card:#171c23;--rule:#39424e;--weir:#3fbf93}}\
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,'DejaVu \
Sans',sans-serif}\
main{max-width:66rem;margin:0 auto;padding:1.5rem 1rem 4rem}\
h1{font-size:1.6rem;margin:0 0 .25rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}\
.about{color:var(--grey);margin:0 0 1.5rem}svg{width:100%;height:auto}\
.wide{overflow-x:auto;background:var(--card);border:1px solid var(--rule);border-radius:12px}\
table{border-collapse:collapse;width:100%;font-size:.88rem}th,td{padding:.45rem \
.55rem;text-align:right;border-top:1px solid var(--rule);white-space:nowrap}\
thead th{border-top:0;color:var(--grey);font-weight:600}th[scope=row],td.text{text-align:left}thead th.text{text-align:left}tr.weir th{color:var(--weir)}.picture{overflow-x:auto;margin-bottom:.75rem}.picture svg{min-width:40rem;display:block}\
.large{font-size:1.25rem;margin:.2rem 0 1rem}dt{font-weight:600}dd{margin:0 0 \
.6rem;color:var(--grey)}";

/// Explains a scenario to readers who see it for the first time.
fn about(path: Path) -> &'static str {
    match path {
        Path::Nothing => {
            "Nothing forwards: the generator sends, and the router's port drops. The cost of the \
                other scenarios beyond this one is the router's."
        }
        Path::Kernel => "The kernel's own routing, with no firewall at all.",
        Path::Conntrack => {
            "The kernel's routing with connection tracking, as any stateful firewall needs."
        }
        Path::Masquerade => {
            "The kernel's routing with address translation, as in a home router without weir."
        }
        Path::Flowtable => "Address translation with nftables' own fast path.",
        Path::StaticTc => {
            "A program at TC that changes each packet for this traffic only, without any check: no \
                router can be faster there."
        }
        Path::WeirTc => "Weir, where the network card's driver has no XDP: Wi-Fi, many DSL modems.",
        Path::StaticGeneric => {
            "The static program for a driver without XDP: the kernel runs it behind its own packet \
                buffer, as at TC, which weir uses there."
        }
        Path::Fib => {
            "A program at XDP that asks the kernel's routing table for each packet, as \
                xdp-forward does: no firewall, no address translation."
        }
        Path::HashNat => {
            "A program at XDP with one lookup in a table and address translation, without any \
                check."
        }
        Path::Ceiling => "The same as the static program at TC, at XDP: the ceiling.",
        Path::WeirXdp => "Weir in the driver, with address translation.",
        Path::Conntrack6 => "The kernel with conntrack, IPv6.",
        Path::WeirXdp6 => "Weir in the driver, IPv6.",
        Path::Masquerade6 => {
            "The kernel with conntrack and address translation, IPv6: if a provider gives only \
                one address."
        }
        Path::Drop => {
            "A blocked flood, dropped by a rule where most firewalls have theirs: after conntrack \
                and routing."
        }
        Path::DropEarly => "The same, by a set of addresses at prerouting, before conntrack.",
        Path::WeirDrop => {
            "By the same set, and weir drops in the driver; one packet in 256 goes to the kernel \
                as a sample."
        }
        Path::WeirXdpNat6 => "Weir in the driver, with address translation, IPv6.",
    }
}

/// Adds a picture that scrolls sideways on narrow screens.
fn picture(html: &mut String, name: &str, svg: &str) {
    let _ = writeln!(
        html,
        "<div class=\"picture\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">{svg}</div>"
    );
}

/// Adds a series, as a picture and as a table.
fn by(html: &mut String, series: &Series, number: usize) {
    let text = series.by.text();
    let _ = writeln!(html, "<h2>By {text}</h2>");
    picture(html, &format!("By {text}"), &lines::draw(series, number));
    let _ = write!(
        html,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"By {text}, in \
            numbers\"><table>\n<thead><tr><th class=\"text\">k packets/s with</th>"
    );
    for point in &series.points {
        let _ = write!(html, "<th>{}</th>", series.with(&point.at));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for (name, text) in series.names() {
        let _ = write!(
            html,
            "<tr{}><th scope=\"row\">{}</th>",
            if name.starts_with("weir") {
                " class=\"weir\""
            } else {
                ""
            },
            escape_xml(text)
        );
        for one in series.of(name) {
            let _ = write!(html, "<td>{:.0}</td>", one.pps.median / 1e3);
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

/// Adds the table of TCP between whole hosts.
fn tcp(html: &mut String, tcp: &Bulk) {
    let _ = write!(
        html,
        "<h2>{} TCP connections</h2>\n<p>Between hosts with stacks of their own, frames as they \
            are on a wire, all processors. The hosts take most of the time, so that the rows are \
            closer together than above. A host of this machine sends packet buffers, which XDP \
            has to copy and TC does not; with a network card it is the other way \
            round.</p>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"TCP, in \
            numbers\"><table>\n<thead><tr><th class=\"text\">What \
            forwards</th><th>Mbit/s</th><th>of all rounds</th><th>CPU</th><th>by \
            weir</th></tr></thead>\n<tbody>\n",
        tcp.connections
    );
    for one in &tcp.scenarios {
        let mbits = |bits: f64| bits / 1e6;
        let rate = one.bits_per_second;
        let share = one
            .forwarded
            .map_or("–".into(), |share| format!("{:.1} %", share * 100.0));
        let _ = writeln!(
            html,
            "<tr{}><th scope=\"row\">{}</th><td>{:.0}</td><td>{:.0} to \
                {:.0}</td><td>{:.1}</td><td>{share}</td></tr>",
            if one.name.starts_with("weir") {
                " class=\"weir\""
            } else {
                ""
            },
            escape_xml(&one.text),
            mbits(rate.median),
            mbits(rate.min),
            mbits(rate.max),
            one.cpu.median,
        );
    }
    html.push_str("</tbody></table></div>\n");
}

/// Adds the profiles as pictures.
fn profiles(html: &mut String, all: &[Profile]) {
    html.push_str(
        "<h2>Where the time goes</h2>\n<p>From a profiler that ran for a second, outside of the \
            measurements, including generator and sink: green is weir, amber the firewall, \
            grey the rest of the kernel, \
         pale the generator. Point at a function to see its name and share.</p>\n",
    );
    for (number, one) in all.iter().enumerate() {
        let name = format!("Where the time goes: {}", escape_xml(&one.text));
        picture(html, &name, &flame::draw(one, number));
        if let Some(counts) = one.counts {
            let missed = counts.cache_misses;
            let missed = missed.map_or(String::new(), |missed| {
                format!(", {missed:.1} misses of all caches")
            });
            let _ = writeln!(
                html,
                "<p>Per packet: {:.0} cycles, {:.0} instructions{missed}.</p>",
                counts.cycles, counts.instructions
            );
        }
    }
}

/// Returns the page as HTML.
pub fn page(report: &Report) -> String {
    let nat = report.find(Path::Masquerade);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
            content=\"width=device-width\">\n<title>Forwarding speed of this \
            machine</title>\n<style>{STYLE}</style>\n<main>\n<h1>Forwarding speed of this \
            machine</h1>\n<p class=\"about\">{}. {}; one processor, {} rounds of {} s; weir \
            {}.</p>\n",
        escape_xml(&report.machine.to_string()),
        report.load,
        report.rounds,
        report.seconds,
        escape_xml(&report.machine.weir),
    );
    let weir = [Path::WeirXdp, Path::WeirTc].map(|path| report.find(path));
    if let (Some(nat), Some(weir)) = (nat, weir.into_iter().flatten().next()) {
        let _ = writeln!(
            html,
            "<p class=\"large\">{} forwards <strong>{:.1} times</strong> what the kernel forwards \
                with address translation: {} instead of {}.</p>",
            escape_xml(&weir.text),
            weir.pps.median / nat.pps.median,
            rate(weir.pps.median),
            rate(nat.pps.median),
        );
    }
    picture(&mut html, "Packets per second", &draw(report));
    html.push_str(
        "<h2>In numbers</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"In \
            numbers\"><table>\n<thead><tr><th>Rank</th><th class=\"text\">What forwards</th><th>k \
            packets/s</th>\
         <th>of all rounds</th><th>ns per packet</th><th>of the \
         kernel's</th><th>CPU</th><th>softirq</th><th>by weir</th></tr></thead>\n<tbody>\n",
    );
    let mut rank = 1;
    for group in report.ranking() {
        for one in &group {
            let ratio = report.against(one).map_or("–".into(), |kernel| {
                format!("{:.2}", one.pps.median / kernel.pps.median)
            });
            let share = one
                .forwarded
                .map_or("–".into(), |share| format!("{:.1} %", share * 100.0));
            let _ = writeln!(
                html,
                "<tr{}><td>{rank}</td><th scope=\"row\">{}</th><td>{:.0}</td><td>{:.0} to \
                    {:.0}</td><td>{:.0}</td><td>{ratio}</td><td>{:.1}</td><td>{:.1}</td><td>{share}</td></tr>",
                if one.name.starts_with("weir") {
                    " class=\"weir\""
                } else {
                    ""
                },
                escape_xml(&one.text),
                one.pps.median / 1e3,
                one.pps.min / 1e3,
                one.pps.max / 1e3,
                one.ns_per_packet.median,
                one.cpu.median,
                one.softirq(),
            );
        }
        rank += group.len();
    }
    html.push_str("</tbody></table></div>\n");
    for (number, series) in report.series.iter().enumerate() {
        by(&mut html, series, number);
    }
    if let Some(found) = &report.tcp {
        tcp(&mut html, found);
    }
    if !report.profiles.is_empty() {
        profiles(&mut html, &report.profiles);
    }
    let _ = writeln!(
        html,
        "<h2>How to read it</h2>\n<p>Only ratios apply to other machines. No network card takes part, so your wires carry less. \
         All scenarios were measured in turn, round after round. Each round measured one scenario twice in a row; by the difference, up to {:.1} % may be noise. Scenarios of one rank differ by no more than that, or their rounds disagree; their order means nothing. \
         <em>Of the kernel's</em> is the ratio to the kernel with address translation, or, for drops, to the kernel's drop by a rule. CPU is the number of busy processors; more than one means that something else ran on the machine. Softirq is the part of CPU in which the kernel received and sent packets after an interrupt, without the work of XDP for the generator. By weir is the share of packets that weir itself forwarded or dropped.</p>\n<h2>Scenarios</h2>\n<dl>",
        report.noise * 100.0
    );
    for path in Path::ALL {
        if report.find(path).is_some() {
            let _ = writeln!(
                html,
                "<dt>{}</dt><dd>{}</dd>",
                escape_xml(path.text()),
                about(path)
            );
        }
    }
    html.push_str("</dl>\n");
    for left_out in &report.left_out {
        let _ = writeln!(
            html,
            "<p>Not measured: {}, because {}.</p>",
            escape_xml(&left_out.name),
            escape_xml(&left_out.reason)
        );
    }
    if !report.complete {
        html.push_str("<p>Ended early: some rounds are missing.</p>\n");
    }
    html.push_str("</main>\n</html>\n");
    html
}
