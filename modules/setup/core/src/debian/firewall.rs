//! The package `firewall`: a separate table of nft(8). Chains and their order are those of
//! OpenWrt's fw4: rules come before the policies of zones.

use uci::Package;

use super::reader::{Diagnostics, Reader, sections};
use super::rendered::{Access, RenderedFile, file};
use super::rules::{Matches, comment, limit, matches, nothing_else, target, zone};
use super::value;
use super::zones::{Policies, Verdict, Zone, policies};

/// Rules, by their chains.
#[derive(Default)]
struct Rules {
    input: Vec<String>,
    output: Vec<String>,
    forward: Vec<String>,
    /// Rules of each zone.
    zones: Vec<OfZone>,
}

#[derive(Clone, Default)]
struct OfZone {
    input: Vec<String>,
    output: Vec<String>,
    forward: Vec<String>,
    /// Redirections of new connections.
    turned: Vec<String>,
}

/// Renders the file. For an empty package, the file removes the table.
pub fn render(package: &Package, zones: &[Zone], ledger: &Diagnostics) -> RenderedFile {
    let mut defaults = Defaults::default();
    let mut rules = Rules {
        zones: vec![OfZone::default(); zones.len()],
        ..Rules::default()
    };
    let mut onward = Vec::new();
    for reader in sections(package, ledger) {
        match reader.kind() {
            "zone" => {}
            "defaults" => defaults = Defaults::read(reader),
            _ if !reader.flag("enabled", true) => {
                reader.leave_out("not rendered: it is switched off")
            }
            "rule" => rules.rule(&reader, zones),
            "redirect" => rules.redirect(&reader, zones),
            "forwarding" => forwarding(reader, zones, &mut onward),
            _ => reader.leave_out("not rendered"),
        }
    }
    // A single transaction, so that the table is never partial or missing. The first line serves a
    // table that does not exist yet.
    let mut text = String::from("table inet weir_firewall\ndelete table inet weir_firewall\n");
    if !package.sections().is_empty() {
        text += &table(&defaults, zones, &rules, &onward);
    }
    file("etc/nftables.d/weir.nft".into(), Access::All, &text)
}

/// `config defaults`
struct Defaults {
    policies: Policies,
    drops_invalid: bool,
    limits_syn: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            policies: Policies {
                input: Verdict::Drop,
                output: Verdict::Drop,
                forward: Verdict::Drop,
            },
            drops_invalid: true,
            limits_syn: false,
        }
    }
}

impl Defaults {
    fn read(reader: Reader<'_>) -> Self {
        let default = Self::default();
        // Releases before 22.03 have `syn_flood`.
        let limits_syn = reader.flag("synflood_protect", false) | reader.flag("syn_flood", false);
        let read = Self {
            policies: policies(&reader, default.policies),
            // Unlike fw4, which leaves packets unknown to conntrack to its zones.
            drops_invalid: reader.flag("drop_invalid", true),
            limits_syn,
        };
        reader.end();
        read
    }
}

/// Renders `config forwarding`.
fn forwarding(
    reader: Reader<'_>,
    zones: &[Zone],
    onward: &mut Vec<(Option<usize>, Option<usize>)>,
) {
    let mut ends = [None, None];
    for (option, end) in ["src", "dest"].into_iter().zip(&mut ends) {
        match zone(&reader, option, zones) {
            Ok(Some(found)) => *end = Some(found.map(|found| index(found, zones))),
            Ok(None) => reader.fault(option, "a zone that there is, or *"),
            Err(()) => {}
        }
    }
    reader.ignore(&["name"]);
    nothing_else(&reader);
    if let [Some(from), Some(to)] = ends {
        onward.push((from, to));
    }
}

fn index(zone: &Zone, zones: &[Zone]) -> usize {
    zones
        .iter()
        .position(|other| other.name == zone.name)
        .unwrap_or(0)
}

/// Matches the device of arrival or departure.
fn by(word: &str, zone: &Zone) -> Option<String> {
    Some(format!("{word} {} ", zone.set()?))
}

impl Rules {
    /// Renders `config rule`.
    fn rule(&mut self, reader: &Reader<'_>, zones: &[Zone]) {
        let (from, to) = match (zone(reader, "src", zones), zone(reader, "dest", zones)) {
            (Ok(from), Ok(to)) => (from, to),
            _ => return,
        };
        let Matches(lines) = matches(reader, "dest_ip", "dest_port");
        let rate = limit(reader);
        let comment = comment(reader);
        let verdict = target(reader);
        nothing_else(reader);
        let Some(verdict) = verdict else {
            return;
        };
        let out = match to {
            Some(Some(zone)) => by("oifname", zone),
            _ => Some(String::new()),
        };
        let Some(out) = out else {
            return reader.note("dest", "not rendered: there is no device in that zone");
        };
        let list = match (from, to) {
            (None, Some(Some(zone))) => &mut self.zones[index(zone, zones)].output,
            (None, _) => &mut self.output,
            (Some(None), None) => &mut self.input,
            (Some(None), Some(_)) => &mut self.forward,
            (Some(Some(zone)), None) => &mut self.zones[index(zone, zones)].input,
            (Some(Some(zone)), Some(_)) => &mut self.zones[index(zone, zones)].forward,
        };
        for line in lines {
            list.push(format!("{out}{line}{rate}{}{comment}", verdict.word()));
        }
    }

    /// Renders `config redirect`: forwards a port to another host.
    fn redirect(&mut self, reader: &Reader<'_>, zones: &[Zone]) {
        let dnat = |text: &str| (text == "DNAT").then_some(());
        let _ = reader.one("target", dnat, "DNAT");
        // The address determines the destination, and with it the zone.
        let _ = zone(reader, "dest", zones);
        let from = match zone(reader, "src", zones) {
            Ok(Some(Some(from))) => from,
            Ok(_) => return reader.fault("src", "a zone that there is"),
            Err(()) => return,
        };
        let Matches(lines) = matches(reader, "src_dip", "src_dport");
        let host = reader.one("dest_ip", value::address, "an address");
        let port = reader.one("dest_port", value::ports, "a port");
        if reader.flag("reflection", true) {
            reader.note(
                "reflection",
                "not rendered: from inside, the port is reached by the host's own address",
            );
        }
        let comment = comment(reader);
        nothing_else(reader);
        // Without another port, the original one.
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        let (to, four) = match host {
            Some(std::net::IpAddr::V4(host)) => (format!("dnat ip to {host}{port}"), true),
            Some(std::net::IpAddr::V6(host)) => (format!("dnat ip6 to [{host}]{port}"), false),
            None if reader.has("dest_ip") => return,
            None if port.is_empty() => return reader.fault("dest_port", "a port"),
            None => (format!("redirect to {port}"), true),
        };
        let (own, other) = match four {
            true => ("meta nfproto ipv4 ", "meta nfproto ipv6 "),
            false => ("meta nfproto ipv6 ", "meta nfproto ipv4 "),
        };
        let list = &mut self.zones[index(from, zones)].turned;
        for line in lines.iter().filter(|line| !line.starts_with(other)) {
            let line = line.strip_prefix(own).unwrap_or(line);
            list.push(format!("{own}{line}{to}{comment}"));
        }
    }
}

fn table(
    defaults: &Defaults,
    zones: &[Zone],
    rules: &Rules,
    onward: &[(Option<usize>, Option<usize>)],
) -> String {
    let mut text = String::from("table inet weir_firewall {\n");
    let verdict = |policy: Verdict| policy.word();
    for (hook, word, own, policy) in [
        ("input", "iifname", &rules.input, defaults.policies.input),
        (
            "forward",
            "iifname",
            &rules.forward,
            defaults.policies.forward,
        ),
        ("output", "oifname", &rules.output, defaults.policies.output),
    ] {
        // Policy for packets that no rule below ends.
        let last = if policy == Verdict::Accept {
            "accept"
        } else {
            "drop"
        };
        line!(text, "\tchain {hook} {{");
        line!(
            text,
            "\t\ttype filter hook {hook} priority filter; policy {last};"
        );
        match hook {
            "input" => line!(text, "\t\tiifname \"lo\" accept"),
            "output" => line!(text, "\t\toifname \"lo\" accept"),
            _ => {}
        }
        line!(text, "\t\tct state established,related accept");
        if defaults.drops_invalid {
            line!(text, "\t\tct state invalid drop");
        }
        if defaults.limits_syn && hook == "input" {
            line!(
                text,
                "\t\ttcp flags & (fin|syn|rst|ack) == syn jump syn_flood"
            );
        }
        for rule in own {
            line!(text, "\t\t{rule}");
        }
        for zone in zones {
            if let Some(by) = by(word, zone) {
                line!(text, "\t\t{by}jump {hook}_{}", zone.name);
            }
        }
        if policy == Verdict::Reject {
            line!(text, "\t\t{}", verdict(policy));
        }
        line!(text, "\t}}");
    }
    for (zone, own) in zones.iter().zip(&rules.zones) {
        let chain = |text: &mut String, hook: &str, lines: Vec<String>| {
            line!(text, "\tchain {hook}_{} {{", zone.name);
            for rule in lines {
                line!(text, "\t\t{rule}");
            }
            line!(text, "\t}}");
        };
        let turned = || "ct status dnat accept".to_owned();
        let mut input = own.input.clone();
        let mut forward = own.forward.clone();
        for (from, to) in onward {
            let from = from.is_none_or(|from| zones[from].name == zone.name);
            let to = match to {
                Some(to) => by("oifname", &zones[*to]),
                None => Some(String::new()),
            };
            forward.extend(to.filter(|_| from).map(|to| format!("{to}accept")));
        }
        if !own.turned.is_empty() {
            input.push(turned());
            forward.push(turned());
        }
        input.push(verdict(zone.policies.input).to_owned());
        // Between devices of the zone.
        let within = by("oifname", zone);
        forward.extend(within.map(|by| format!("{by}{}", verdict(zone.policies.forward))));
        let mut output = own.output.clone();
        output.push(verdict(zone.policies.output).to_owned());
        chain(&mut text, "input", input);
        chain(&mut text, "forward", forward);
        chain(&mut text, "output", output);
    }
    line!(text, "\tchain handle_reject {{");
    line!(text, "\t\tmeta l4proto tcp reject with tcp reset");
    line!(text, "\t\treject with icmpx type port-unreachable\n\t}}");
    if defaults.limits_syn {
        line!(text, "\tchain syn_flood {{");
        line!(
            text,
            "\t\tlimit rate 25/second burst 50 packets return\n\t\tdrop\n\t}}"
        );
    }
    translations(&mut text, zones, rules);
    text += "}\n";
    text
}

fn translations(text: &mut String, zones: &[Zone], rules: &Rules) {
    line!(text, "\tchain dstnat {{");
    line!(
        text,
        "\t\ttype nat hook prerouting priority dstnat; policy accept;"
    );
    for (zone, own) in zones.iter().zip(&rules.zones) {
        for rule in &own.turned {
            if let Some(by) = by("iifname", zone) {
                line!(text, "\t\t{by}{rule}");
            }
        }
    }
    line!(text, "\t}}\n\tchain srcnat {{");
    line!(
        text,
        "\t\ttype nat hook postrouting priority srcnat; policy accept;"
    );
    for zone in zones {
        for (on, family) in zone.masquerades.into_iter().zip(["ipv4", "ipv6"]) {
            if let Some(by) = by("oifname", zone).filter(|_| on) {
                line!(text, "\t\t{by}meta nfproto {family} masquerade");
            }
        }
    }
    line!(text, "\t}}\n\tchain clamp {{");
    line!(
        text,
        "\t\ttype filter hook forward priority mangle; policy accept;"
    );
    for zone in zones.iter().filter(|zone| zone.clamps) {
        for word in ["iifname", "oifname"] {
            if let Some(by) = by(word, zone) {
                let syn = "tcp flags & (fin|syn|rst) == syn";
                line!(text, "\t\t{by}{syn} tcp option maxseg size set rt mtu");
            }
        }
    }
    line!(text, "\t}}");
}
