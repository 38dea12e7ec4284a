//! Options of a sentence of the summary. If none of them changes, the sentence is left out.

use std::fmt::Write;

use super::{Config, Sentence};

/// Options of `network.wan` that a kind of uplink has.
const UPLINK: [&str; 11] = [
    "proto", "device", "ipaddr", "netmask", "gateway", "dns", "username", "password", "service",
    "apn", "pincode",
];

/// Returns the options of a sentence, as text. `None`: the sentence is about a change itself.
pub fn subject(sentence: &Sentence, config: &Config) -> Option<String> {
    let first = |package, kind| {
        let section = config.of_type(package, kind).next();
        section.map_or_else(String::new, |section| section.name.clone())
    };
    let system = |names: &[&str]| options(config, "system", &first("system", "system"), names);
    Some(match &*sentence.sentence {
        "router-name" => system(&["hostname"]),
        "router-place" => system(&["latitude", "longitude"]),
        "internet-dhcp"
        | "internet-none"
        | "internet-static"
        | "internet-static-alone"
        | "internet-pppoe"
        | "internet-mobile" => options(config, "network", "wan", &UPLINK),
        "internet-wifi" => {
            sections(config, "wireless", |name| name == "wifi_uplink")
                + &sections(config, "network", |name| name == "wwan")
        }
        "dns" | "dns-provider" => {
            let dnsmasq = first("dhcp", "dnsmasq");
            options(config, "dhcp", &dnsmasq, &["server", "noresolv"])
                + &sections(config, "https-dns-proxy", |name| name == "weir")
        }
        "mesh" | "mesh-open" => {
            let radio = sentence.values.get("radio")?;
            let own = format!("mesh_{radio}");
            sections(config, "wireless", |name| name == own)
                + &sections(config, "network", |name| name == own || name == "bat0")
                + &options(config, "wireless", radio, &["channel", "disabled"])
        }
        "mesh-none" => {
            let is_mesh = |name: &str| name.starts_with("mesh_") || name == "bat0";
            sections(config, "wireless", is_mesh) + &sections(config, "network", is_mesh)
        }
        _ => return None,
    })
}

/// Writes the values of options.
fn options(config: &Config, package: &str, section: &str, names: &[&str]) -> String {
    let values = names
        .iter()
        .map(|option| config.list(package, section, option));
    format!("{:?}", values.collect::<Vec<_>>())
}

/// Writes the values of sections.
fn sections(config: &Config, package: &str, is_meant: impl Fn(&str) -> bool) -> String {
    let all = config
        .package(package)
        .into_iter()
        .flat_map(uci::Package::sections);
    let mut text = String::new();
    for section in all.filter(|section| is_meant(&section.name)) {
        let _ = writeln!(text, "{} {}", section.kind, section.name);
        for element in &section.options {
            let values: Vec<&[u8]> = element.values().collect();
            let _ = writeln!(text, "{} {values:?}", element.name);
        }
    }
    text
}
