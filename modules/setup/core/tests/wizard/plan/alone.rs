//! A router without an uplink of its own: an access point, or a repeater.

use uci::Package;
use weir_setup_core::plan::{Config, Problem, plan};

use super::{document, facts, fresh, good, lines};

const ZONES: &str = "config defaults\n\toption input 'ACCEPT'\n";

/// An access point: `network.lan` has another router for its gateway. `firewall` is its firewall,
/// `network` the further content of `network`.
fn access_point(firewall: &str, network: &str) -> Config {
    let fresh = fresh("24.10");
    let others = fresh
        .packages()
        .filter(|package| !matches!(package.name(), "network" | "firewall"));
    let lan = "config device\n\toption name 'br-lan'\n\toption type 'bridge'\n\
        \tlist ports 'lan1'\n\tlist ports 'lan2'\n\
        config interface 'lan'\n\toption device 'br-lan'\n\toption proto 'static'\n\
        \toption ipaddr '192.168.1.2'\n\toption netmask '255.255.255.0'\n\
        \toption gateway '192.168.1.1'\n";
    let text = format!("{lan}{network}");
    let own = [("network", &*text), ("firewall", firewall)];
    let own = own.map(|(name, text)| Package::read(name, text.as_bytes()).unwrap());
    Config::new(others.cloned().chain(own))
}

const BLOCKED: &str = "blocked = [{name = \"kid\", mac = \"02:00:00:00:00:77\"}, \
                       {name = \"tv\", mac = \"02:00:00:00:00:78\"}]\n";
const FORWARDS: &str = "forwards = [{name = \"web\", port = \"8080\", to = \"192.168.1.77\"}]\n";
const GUESTS: &str =
    "[wifi]\nnetworks = [{ssid = \"G\", key = \"correct horse\", for = \"guest\"}]\n";

fn problems(text: &str, config: &Config) -> Vec<(String, String)> {
    let word = |problem: Problem| (problem.field, problem.problem);
    let found = plan(&document(text), config, &facts(24)).problems;
    found.into_iter().map(word).collect()
}

/// Firewalls and networks of routers that have no uplink.
fn without_uplink() -> Vec<Config> {
    let of_fresh = fresh("24.10").package("firewall").unwrap().text();
    let of_fresh = String::from_utf8(of_fresh).unwrap();
    let none = "config interface 'wan'\n\toption device 'wan'\n\toption proto 'none'\n";
    let off = "config interface 'wan'\n\toption device 'wan'\n\toption proto 'dhcp'\n\
        \toption disabled '1'\n";
    vec![
        access_point(ZONES, ""),
        access_point("", ""),
        // The zone is still there, and nothing is in it.
        access_point(&of_fresh, ""),
        access_point(&of_fresh, none),
        access_point(&of_fresh, off),
    ]
}

#[test]
fn what_needs_an_uplink_is_refused_where_there_is_none() {
    for config in without_uplink() {
        for (text, field) in [
            (format!("[firewall]\n{BLOCKED}"), "firewall.blocked[0].mac"),
            (
                format!("[firewall]\n{FORWARDS}"),
                "firewall.forwards[0].port",
            ),
            (GUESTS.to_owned(), "wifi.networks[0].for"),
        ] {
            let one = (field.to_owned(), "no-uplink".to_owned());
            assert_eq!(problems(&text, &config), [one], "{text}");
        }
        // Choices without such a need are accepted.
        let text = "[wifi]\nnetworks = [{ssid = \"Home\", key = \"correct horse\"}]\n\
                    [firewall]\nforwards = []\nblocked = []\n";
        good(&document(text), &config, &facts(24));
    }
    let found = plan(
        &document(&format!("[firewall]\n{BLOCKED}")),
        &access_point(ZONES, ""),
        &facts(24),
    );
    assert_eq!(
        found.problems[0].to_string(),
        "firewall.blocked[0].mac: no effect: no zone of the firewall contains an uplink; \
         set it on the router that leads to the Internet, or put the uplink into a zone"
    );
}

/// An uplink that the document itself brings counts.
#[test]
fn an_uplink_of_the_document_is_one() {
    for config in without_uplink() {
        let text = format!("[internet]\nkind = \"dhcp\"\n{GUESTS}[firewall]\n{BLOCKED}{FORWARDS}");
        let plan = good(&document(&text), &config, &facts(24));
        let zone = plan
            .config
            .find_by_option("firewall", "zone", "name", "wan");
        let held = plan.config.list("firewall", &zone.unwrap(), "network");
        assert!(held.contains(&"wan".to_owned()), "{held:?}");
    }
    // A mistake in it is one problem.
    let text = format!("[internet]\nkind = \"dhcp\"\nvlan = 5000\n[firewall]\n{BLOCKED}");
    let one = ("internet.vlan".to_owned(), "out-of-range".to_owned());
    assert_eq!(problems(&text, &access_point(ZONES, "")), [one]);
}

/// Uplinks of many kinds: by Wi-Fi, by a device, in a zone of another name.
#[test]
fn any_uplink_will_do() {
    let zone =
        |more: &str| format!("{ZONES}config zone\n\toption name 'wan'\n\toption masq '1'\n{more}");
    let wwan = "config interface 'wwan'\n\toption proto 'dhcp'\n";
    let wan = "config interface 'wan'\n\toption proto 'pppoe'\n\toption device 'wan'\n";
    for (firewall, network) in [
        (zone("\tlist network 'wwan'\n"), wwan),
        (zone("\tlist device 'wwan0'\n"), ""),
        (
            zone("\tlist network 'wan'\n").replace("name 'wan'", "name 'outside'"),
            wan,
        ),
    ] {
        let config = access_point(&firewall, network);
        for text in [
            GUESTS.to_owned(),
            format!("[firewall]\n{BLOCKED}"),
            format!("[firewall]\n{FORWARDS}"),
        ] {
            good(&document(&text), &config, &facts(24));
        }
    }
}

/// A router that routes without zones: zones would translate all of the LAN's addresses, and lock
/// the administrator out at the uplink. Guests need zones for their isolation.
#[test]
fn rules_make_no_zones() {
    let zone = format!("{ZONES}config zone\n\toption name 'wan'\n\toption masq '1'\n");
    let wan = "config interface 'wan'\n\toption proto 'pppoe'\n\toption device 'wan'\n";
    for firewall in [ZONES, &zone] {
        let config = access_point(firewall, wan);
        for (rules, field) in [
            (BLOCKED, "firewall.blocked[0].mac"),
            (FORWARDS, "firewall.forwards[0].port"),
        ] {
            let one = (field.to_owned(), "no-uplink".to_owned());
            assert_eq!(problems(&format!("[firewall]\n{rules}"), &config), [one]);
        }
        let after = good(&document(GUESTS), &config, &facts(24)).config;
        let mut zones = after.of_type("firewall", "zone").map(|zone| &*zone.name);
        assert!(zones.any(|zone| {
            let held = after.list("firewall", zone, "network");
            held.contains(&"wan".to_owned())
        }));
    }
}

/// Rules that a file has already stay, and so does a guests' network that another router leads out.
#[test]
fn what_is_there_stays_without_an_uplink() {
    let rule = format!(
        "{ZONES}config rule\n\toption name 'kid'\n\toption src 'lan'\n\toption dest 'wan'\n\
         \toption src_mac '02:00:00:00:00:77'\n\toption proto 'all'\n\toption target 'REJECT'\n\
         config redirect\n\toption name 'web'\n\toption src 'wan'\n\toption src_dport '8080'\n\
         \toption dest 'lan'\n\toption dest_ip '192.168.1.77'\n\toption target 'DNAT'\n\
         \toption proto 'tcp'\n"
    );
    let guest = "config interface 'guest'\n\toption device 'br-lan.20'\n\toption proto 'none'\n";
    let config = access_point(&rule, guest);
    let there = format!(
        "[firewall]\n{FORWARDS}blocked = [{{name = \"kid\", mac = \"02:00:00:00:00:77\"}}]\n"
    );
    let plan = good(&document(&there), &config, &facts(24));
    assert_eq!(lines(&config, &plan.config), [""; 0]);
    good(&document(GUESTS), &config, &facts(24));
    // A rule may go, and may not change.
    good(&document("[firewall]\nblocked = []"), &config, &facts(24));
    let other = there.replace("\"kid\"", "\"child\"");
    let one = ("firewall.blocked[0].mac".to_owned(), "no-uplink".to_owned());
    assert_eq!(problems(&other, &config), [one]);
}
