//! Ports that lead to a device inside, and devices that are kept from the Internet.

use std::net::Ipv4Addr;

use uci::Section;

use super::check::{is_mac, is_quotable, ports};
use super::outside::leads_outside;
use super::{
    Config, Ipv4Cidr, ProblemKind, Report, address_in, is_enabled, text, words, zone_names,
};
use crate::choices::{Blocked, Firewall, Forward, Protocol};

/// Most forwards, and most blocked devices.
const MOST: usize = 200;

/// Edits forwards and blocked devices. `former` is the old LAN.
pub(super) fn edit(
    firewall: &Firewall,
    former: Option<Ipv4Cidr>,
    config: &mut Config,
    report: &mut Report,
) {
    let mut plan = FirewallPlan {
        former,
        config,
        report,
    };
    plan.edit(firewall);
}

/// A plan for forwards and blocked devices.
struct FirewallPlan<'a> {
    former: Option<Ipv4Cidr>,
    config: &'a mut Config,
    report: &'a mut Report,
}

impl FirewallPlan<'_> {
    fn edit(&mut self, firewall: &Firewall) {
        let many = |list: Option<usize>| list.is_some_and(|many| many > MOST);
        for (field, is_long) in [
            (
                "firewall.forwards",
                many(firewall.forwards.as_ref().map(Vec::len)),
            ),
            (
                "firewall.blocked",
                many(firewall.blocked.as_ref().map(Vec::len)),
            ),
        ] {
            if is_long {
                return self.report.add_problem(field, &ProblemKind::TooMany(MOST));
            }
        }
        if let Some(forwards) = &firewall.forwards {
            self.forwards(forwards);
        }
        if let Some(blocked) = &firewall.blocked {
            self.block(blocked);
        }
    }

    fn forwards(&mut self, wanted: &[Forward]) {
        let moved = address_in(self.config, "lan") != self.former;
        let known = simple(self.config, "redirect", forward_of);
        let mut stay = Vec::new();
        let foreign = foreign_forwards(self.config, &known);
        for (n, forward) in wanted.iter().enumerate() {
            let same =
                |(name, other): &&(String, Forward)| other == forward && !stay.contains(name);
            // An existing forward is not checked, unless the LAN has changed.
            if let Some((section, _)) = known.iter().find(same)
                && !moved
            {
                stay.push(section.clone());
                continue;
            }
            let field = format!("firewall.forwards[{n}]");
            let is_known = |forward: &Forward| known.iter().any(|(_, known)| known == forward);
            if !self.good_forward(&field, forward, is_known(forward)) {
                continue;
            }
            // Existing entries stay, at any position of the list.
            let mut others = (wanted.iter().enumerate())
                .filter(|(k, other)| *k < n || (*k != n && is_known(other)))
                .map(|(_, other)| other);
            let listed = others
                .find(|other| meets(forward, other) && !(is_known(forward) && is_known(other)));
            let other = foreign.iter().find(|other| meets(forward, other));
            if let Some(other) = listed.or(other.filter(|_| !is_known(forward))) {
                let name = other.name.clone();
                self.report
                    .add_problem(format!("{field}.port"), &ProblemKind::PortTaken(name));
                continue;
            }
            let named = |(name, other): &&(String, Forward)| {
                other.name == forward.name && !stay.contains(name)
            };
            let found = known.iter().find(same).or_else(|| known.iter().find(named));
            let is_there = found.is_some_and(|(_, other)| other == forward);
            if !is_there && !leads_outside(self.config, self.report, &format!("{field}.port")) {
                continue;
            }
            let section = match found {
                Some((section, _)) if is_there => {
                    stay.push(section.clone());
                    continue;
                }
                Some((section, _)) => section.clone(),
                None => self.config.add("firewall", "redirect"),
            };
            self.set_forward(&section, forward);
            stay.push(section);
        }
        self.gone("forward-gone", &known, &stay, |forward| &forward.name);
    }

    fn block(&mut self, wanted: &[Blocked]) {
        let known = simple(self.config, "rule", blocked_of);
        let mut stay = Vec::new();
        for (n, blocked) in wanted.iter().enumerate() {
            let field = format!("firewall.blocked[{n}]");
            let mac = blocked.mac.to_ascii_lowercase();
            let same = |(name, other): &&(String, Blocked)| {
                other.name == blocked.name && other.mac == mac && !stay.contains(name)
            };
            if let Some((section, _)) = known.iter().find(same) {
                stay.push(section.clone());
                continue;
            }
            if !self.rule_name(&format!("{field}.name"), &blocked.name) {
                continue;
            }
            if !is_mac(&mac) {
                self.report
                    .add_problem(format!("{field}.mac"), &ProblemKind::NotAMac);
                continue;
            }
            if wanted[..n]
                .iter()
                .any(|other| other.mac.eq_ignore_ascii_case(&mac))
            {
                self.report
                    .add_problem(format!("{field}.mac"), &ProblemKind::Twice);
                continue;
            }
            if !leads_outside(self.config, self.report, &format!("{field}.mac")) {
                continue;
            }
            let found = known.iter().find(|(_, other)| other.mac == mac);
            let section = match found {
                Some((section, _)) => section.clone(),
                None => self.config.add("firewall", "rule"),
            };
            let (inside, outside) = zone_names(self.config);
            for (option, value) in [
                ("name", &*blocked.name),
                ("src", &inside),
                ("dest", &outside),
                ("src_mac", &mac),
                ("proto", "all"),
                ("target", "REJECT"),
            ] {
                self.config.set("firewall", &section, option, value);
            }
            stay.push(section);
            let says = format!("{} ({mac}) is kept from the Internet.", blocked.name);
            self.report.add_sentence(
                "services",
                "blocked",
                &[("name", &blocked.name), ("mac", &mac)],
                says,
            );
        }
        self.gone("blocked-gone", &known, &stay, |blocked| &blocked.name);
    }

    /// Removes unwanted sections.
    fn gone<T>(
        &mut self,
        sentence: &str,
        known: &[(String, T)],
        stay: &[String],
        name: fn(&T) -> &str,
    ) {
        for (section, was) in known {
            if !stay.contains(section) {
                self.config.remove("firewall", section);
                let name = name(was);
                let says = match sentence {
                    "forward-gone" => format!("Ports for {name} are closed again."),
                    _ => format!("{name} may go out again."),
                };
                self.report
                    .add_sentence("services", sentence, &[("name", name)], says);
            }
        }
    }

    /// Checks a name that becomes a comment of the firewall's rules. A name that is there already
    /// stays.
    fn rule_name(&mut self, field: &str, name: &str) -> bool {
        if self.report.text(field, name, 64) && !is_quotable(name) {
            self.report.add_problem(field, &ProblemKind::Unquotable);
        }
        !self.report.is_wrong(field)
    }

    /// Checks a forward.
    fn good_forward(&mut self, field: &str, forward: &Forward, is_known: bool) -> bool {
        let before = self.report.problems().len();
        if !is_known {
            self.rule_name(&format!("{field}.name"), &forward.name);
        }
        let outside = ports(&forward.port);
        if outside.is_none() {
            self.report
                .add_problem(format!("{field}.port"), &ProblemKind::NotAPort);
        }
        if let Some(to_port) = &forward.to_port {
            let length = |(first, last): (u16, u16)| last - first;
            match (ports(to_port), outside) {
                (Some(there), Some(here)) if length(there) == length(here) => {}
                (Some(_), None) => {}
                _ => self
                    .report
                    .add_problem(format!("{field}.to_port"), &ProblemKind::NotAPort),
            }
        }
        let to = forward.to.as_deref().unwrap_or_default();
        let to = self.report.address::<Ipv4Addr>(&format!("{field}.to"), to);
        // A device of another network inside, as of a second subnet, was there before.
        let former = self.former;
        let was_out = |to| is_known && !held(former, to);
        let was_edge = |to| is_known && at_edge(former, to);
        match (to, address_in(self.config, "lan")) {
            (Some(to), Some(lan)) if to == lan.address => {
                self.report.add_problem(
                    format!("{field}.to"),
                    &ProblemKind::RouterItself(to.to_string()),
                );
            }
            (Some(to), Some(lan)) if lan.is_first_or_last(to) && !was_edge(to) => {
                self.report.add_problem(
                    format!("{field}.to"),
                    &ProblemKind::NotOneDevice(to.to_string()),
                );
            }
            // Otherwise the network inside is not known.
            (Some(to), Some(lan))
                if !lan.contains(to) && !was_out(to) && !self.report.is_wrong("lan.address") =>
            {
                let network = format!("{}/{}", lan.network(), lan.length);
                self.report
                    .add_problem(format!("{field}.to"), &ProblemKind::OutsideNetwork(network));
            }
            _ => {}
        }
        self.report.problems().len() == before
    }

    fn set_forward(&mut self, section: &str, forward: &Forward) {
        let to = forward.to.clone().unwrap_or_default();
        let protocol = match forward.protocol {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Both => "tcp udp",
        };
        let (inside, outside) = zone_names(self.config);
        for (option, value) in [
            ("name", &*forward.name),
            ("src", &outside),
            ("src_dport", &forward.port),
            ("dest", &inside),
            ("dest_ip", &to),
            ("target", "DNAT"),
        ] {
            self.config.set("firewall", section, option, value);
        }
        let listed: Vec<String> = protocol.split(' ').map(str::to_owned).collect();
        if self.config.list("firewall", section, "proto") != listed {
            self.config.set("firewall", section, "proto", protocol);
        }
        self.config
            .set_if("firewall", section, "dest_port", forward.to_port.as_deref());
        let says = format!(
            "Port {} outside leads to {to}: {}.",
            forward.port, forward.name
        );
        let values = [
            ("port", &*forward.port),
            ("to", &to),
            ("name", &forward.name),
        ];
        self.report
            .add_sentence("services", "forward", &values, says);
    }
}

/// Checks that existing forwards still lead inside, if the choices do not mention them and the LAN
/// differs from the `former` one. Devices of other networks are not checked.
pub(super) fn forwards_stay_inside(config: &Config, former: Option<Ipv4Cidr>, report: &mut Report) {
    let Some(lan) = address_in(config, "lan") else {
        return;
    };
    for (_, forward) in simple(config, "redirect", forward_of) {
        let to = forward.to.unwrap_or_default();
        let Ok(device) = to.parse::<Ipv4Addr>() else {
            continue;
        };
        if device == lan.address {
            report.add_problem("lan.address", &ProblemKind::TakesForward(forward.name, to));
        } else if !lan.contains(device) && held(former, device)
            || lan.is_first_or_last(device) && held(former, device) && !at_edge(former, device)
        {
            report.add_problem("lan.address", &ProblemKind::LeavesForward(forward.name, to));
        }
    }
}

/// Returns the sections of a type that a choice can express completely.
pub(crate) fn simple<T>(
    config: &Config,
    kind: &str,
    read: fn(&Section, &(String, String)) -> Option<T>,
) -> Vec<(String, T)> {
    let zones = zone_names(config);
    config
        .of_type("firewall", kind)
        .filter_map(|section| Some((section.name.clone(), read(section, &zones)?)))
        .collect()
}

/// Returns true if the address was the broadcast address of the old LAN, as for packets that wake
/// devices up.
fn at_edge(former: Option<Ipv4Cidr>, address: Ipv4Addr) -> bool {
    former.is_some_and(|former| former.is_first_or_last(address))
}

/// Returns true if the old LAN contained the device.
fn held(former: Option<Ipv4Cidr>, device: Ipv4Addr) -> bool {
    former.is_some_and(|former| former.contains(device))
}

/// Returns true if two forwards are for the same port outside.
fn meets(one: &Forward, other: &Forward) -> bool {
    let both = |protocol| protocol == Protocol::Both;
    let same = one.protocol == other.protocol || both(one.protocol) || both(other.protocol);
    let (Some(a), Some(b)) = (ports(&one.port), ports(&other.port)) else {
        return false;
    };
    same && a.0 <= b.1 && b.0 <= a.1
}

/// Returns forwards that were made by hand, of all traffic from outside to a port.
fn foreign_forwards(config: &Config, known: &[(String, Forward)]) -> Vec<Forward> {
    const NARROWER: [&str; 9] = [
        "src_ip",
        "src_dip",
        "src_mac",
        "src_port",
        "ipset",
        "mark",
        "start_time",
        "start_date",
        "weekdays",
    ];
    let (_, outside) = zone_names(config);
    let read = |section: &Section| {
        let is = |option, value| text(section, option).as_deref() == Some(value);
        let dnat = section.get("target").is_none() || is("target", "DNAT");
        let all = NARROWER.iter().all(|option| section.get(option).is_none());
        if !is("src", &outside) || !dnat || !all || is("enabled", "0") || is("family", "ipv6") {
            return None;
        }
        let protocols = words(section, "proto");
        let is =
            |name| protocols.is_empty() || protocols.iter().any(|text| is_protocol(text, name));
        let protocol = match (is("tcp"), is("udp")) {
            (true, true) => Protocol::Both,
            (true, false) => Protocol::Tcp,
            (false, true) => Protocol::Udp,
            (false, false) => return None,
        };
        let name = text(section, "name").unwrap_or_else(|| section.name.clone());
        let forward = move |port| Forward {
            name: name.clone(),
            protocol,
            port,
            ..Forward::default()
        };
        let ports = port_ranges(&text(section, "src_dport")?);
        Some(ports.into_iter().map(forward))
    };
    let all = config.of_type("firewall", "redirect");
    all.filter(|section| known.iter().all(|(name, _)| *name != section.name))
        .filter_map(read)
        .flatten()
        .collect()
}

/// Returns true if a word of fw4's `proto` includes a protocol, by name or number; `!` inverts.
fn is_protocol(word: &str, name: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let (rest, wanted) = match word.strip_prefix('!') {
        Some(rest) => (rest, false),
        None => (&*word, true),
    };
    let known: &[&str] = match rest {
        "all" | "any" | "*" | "tcpudp" => &["tcp", "udp"],
        "6" => &["tcp"],
        "17" => &["udp"],
        other => &[other],
    };
    known.contains(&name) == wanted
}

/// Returns the ports of fw4's `src_dport`: `80`, `8000:8010`; `!80` is all others.
fn port_ranges(text: &str) -> Vec<String> {
    let text = text.replace(':', "-");
    let Some(rest) = text.strip_prefix('!') else {
        return vec![text];
    };
    let Some((first, last)) = ports(rest.trim_start()) else {
        return Vec::new();
    };
    let below = (first > 1).then(|| format!("1-{}", first - 1));
    let above = last
        .checked_add(1)
        .map(|next| format!("{next}-{}", u16::MAX));
    below.into_iter().chain(above).collect()
}

/// Returns true if a section has only these options.
fn only(section: &Section, known: &[&str]) -> bool {
    section
        .options
        .iter()
        .all(|element| known.contains(&element.name.as_str()))
        && (section.get("enabled").is_none() || is_enabled(section, "enabled"))
}

/// Returns a forward, if the section has no other content.
pub(crate) fn forward_of(
    section: &Section,
    (inside, outside): &(String, String),
) -> Option<Forward> {
    let known = [
        "name",
        "src",
        "src_dport",
        "dest",
        "dest_ip",
        "dest_port",
        "proto",
        "target",
        "enabled",
    ];
    let is = |option, value| text(section, option).as_deref() == Some(value);
    if !only(section, &known) || !is("src", outside) || !is("target", "DNAT") {
        return None;
    }
    if section.get("dest").is_some() && !is("dest", inside) {
        return None;
    }
    let mut protocols = words(section, "proto");
    protocols.sort();
    let protocol = match &protocols.join(" ")[..] {
        "tcp" => Protocol::Tcp,
        "udp" => Protocol::Udp,
        "" | "tcp udp" | "tcpudp" => Protocol::Both,
        _ => return None,
    };
    let port = text(section, "src_dport")?;
    ports(&port)?;
    Some(Forward {
        name: text(section, "name").unwrap_or_default(),
        protocol,
        port,
        to: Some(
            text(section, "dest_ip")?
                .parse::<Ipv4Addr>()
                .ok()?
                .to_string(),
        ),
        to_port: text(section, "dest_port"),
    })
}

/// Returns a blocked device, if the section has no other content.
pub(crate) fn blocked_of(
    section: &Section,
    (inside, outside): &(String, String),
) -> Option<Blocked> {
    let known = [
        "name", "src", "dest", "src_mac", "proto", "target", "enabled",
    ];
    let is = |option, value| text(section, option).as_deref() == Some(value);
    let all = matches!(&words(section, "proto").join(" ")[..], "all" | "any");
    if !only(section, &known)
        || !is("src", inside)
        || !is("dest", outside)
        || !is("target", "REJECT")
    {
        return None;
    }
    let mac = text(section, "src_mac")?.to_ascii_lowercase();
    (all && is_mac(&mac)).then(|| Blocked {
        name: text(section, "name").unwrap_or_default(),
        mac,
    })
}
