//! Plans of choices, on fresh routers of three releases.
#![allow(missing_docs)]

mod air;
mod alone;
mod any;
mod apart;
mod keep;
mod lists;
mod moved;
mod names;
mod openvpn;
mod refusals;
mod stranger;
mod uplink;

use any::any_choices;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use uci::Package;
use weir_setup_core::choices::Choices;
use weir_setup_core::plan::{Config, Facts, Plan, Radio, plan};
use weir_setup_core::{difference, read};

const RELEASES: [(&str, u16); 3] = [("23.05", 23), ("24.10", 24), ("25.12", 25)];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(path)
}

fn router(folder: &Path) -> Config {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    Config::new(files.map(|file| {
        let name = file.file_name().into_string().unwrap();
        Package::read(&name, &fs::read(file.path()).unwrap()).unwrap()
    }))
}

fn fresh(release: &str) -> Config {
    router(&here("fresh").join(release))
}

fn facts(release: u16) -> Facts {
    let radio = |n: u8, band: &str| Radio {
        name: format!("radio{n}"),
        bands: vec![band.to_owned()],
        wpa3: true,
        mesh: true,
        apup: false,
        air: None,
    };
    Facts {
        release: Some(release),
        wan: Some("wan".to_owned()),
        mac: Some([2, 0, 0x5e, 0x10, 3, 7]),
        radios: vec![radio(0, "2g"), radio(1, "5g")],
        ..Facts::default()
    }
}

fn choices(name: &str) -> Choices {
    toml::from_str(&fs::read_to_string(here("plan").join(name)).unwrap()).unwrap()
}

fn lines(before: &Config, after: &Config) -> Vec<String> {
    let none = |name: &str| Package::empty(name);
    after
        .packages()
        .flat_map(|package| {
            let name = package.name();
            difference(
                &before.package(name).cloned().unwrap_or(none(name)),
                package,
            )
        })
        .map(|line| line.to_string())
        .collect()
}

fn good(choices: &Choices, config: &Config, facts: &Facts) -> Plan {
    let plan = plan(choices, config, facts);
    assert_eq!(plan.problems, [], "{choices:?}");
    plan
}

/// Compares the configuration of a fresh router of each release with a reviewed one.
#[test]
fn each_release_gets_what_it_knows() {
    for (release, year) in RELEASES {
        for name in ["home", "node", "many"] {
            let before = fresh(release);
            let plan = good(&choices(&format!("{name}.toml")), &before, &facts(year));
            let mut said = String::new();
            for sentence in &plan.sentences {
                writeln!(said, "{}: {}", sentence.step, sentence.says).unwrap();
            }
            writeln!(said).unwrap();
            for line in lines(&before, &plan.config) {
                writeln!(said, "{line}").unwrap();
            }
            let file = here("plan").join(format!("{name}.{release}"));
            if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
                fs::write(&file, &said).unwrap();
            }
            let known = fs::read_to_string(&file).unwrap_or_default();
            assert_eq!(said, known, "{}", file.display());
        }
    }
}

/// Applying choices twice changes nothing; applying the choices read back changes nothing either.
#[test]
fn a_second_time_nothing_changes() {
    for (release, year) in RELEASES {
        for name in ["home.toml", "node.toml", "many.toml"] {
            let once = good(&choices(name), &fresh(release), &facts(year)).config;
            let twice = good(&choices(name), &once, &facts(year));
            assert_eq!(lines(&once, &twice.config), [""; 0], "{name} on {release}");
            let back = read(&once);
            let again = good(&back, &once, &facts(year));
            assert_eq!(
                lines(&once, &again.config),
                [""; 0],
                "{name} read back on {release}"
            );
            let words = again
                .sentences
                .iter()
                .map(|said| &said.says)
                .collect::<Vec<_>>();
            assert!(words.is_empty(), "{words:?}");
        }
    }
}

/// A node's exported document makes a fresh node equal to it.
#[test]
fn a_document_carries_over_to_another_node() {
    for (release, year) in RELEASES {
        for name in ["home.toml", "node.toml", "many.toml"] {
            let first = good(&choices(name), &fresh(release), &facts(year)).config;
            let document = toml::to_string(&read(&first).for_others()).unwrap();
            let read: Choices = toml::from_str(&document).unwrap();
            let second = good(&read, &fresh(release), &facts(year)).config;
            assert_eq!(
                lines(&first, &second),
                [""; 0],
                "{name} on {release}\n{document}"
            );
        }
    }
}

/// Real routers, configured by hand: writing back the choices that the wizard reads changes
/// nothing.
#[test]
fn routers_configured_by_hand_stay_as_they_are() {
    let routers = here("../../../../weir/tests/uci/routers");
    for (release, year) in RELEASES {
        let by_hand = router(&routers.join(release));
        // Packages that are not among those by hand are the fresh ones.
        let fresh = fresh(release);
        let others = fresh
            .packages()
            .filter(|package| by_hand.package(package.name()).is_none());
        let before = Config::new(
            by_hand
                .packages()
                .chain(others)
                .cloned()
                .map(|mut package| {
                    // The guests' network of one router is in a file outside this set.
                    if package.name() == "network" {
                        package.set_section("guest", "interface").unwrap();
                    }
                    package
                }),
        );
        let mut facts = facts(year);
        facts
            .radios
            .retain(|radio| before.has("wireless", &radio.name));
        let plan = plan(&read(&before), &before, &facts);
        let after = lines(&before, &plan.config);
        assert_eq!(plan.problems, [], "{release}");
        assert_eq!(after, [""; 0], "{release}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any choices, two times in a row: either they are refused, or the files read back the same,
    /// plan the same, and contain no unintended line.
    #[test]
    fn whatever_is_chosen(first in any_choices(), second in any_choices(), year in 23..=25_u16) {
        let release = RELEASES[usize::from(year - 23)].0;
        let mut config = fresh(release);
        for choices in [first, second] {
            let facts = facts(year);
            let once = plan(&choices, &config, &facts);
            for problem in &once.problems {
                prop_assert!(!problem.field.is_empty() && !problem.hint.is_empty());
            }
            if !once.problems.is_empty() {
                continue;
            }
            for package in once.config.packages() {
                let text = package.text();
                let read = Package::read(package.name(), &text).unwrap();
                prop_assert_eq!(difference(package, &read), []);
                // In apostrophes a line break does not start a line of UCI, but may start one of
                // hostapd.
                let values = package.sections().iter().flat_map(|section| &section.options);
                let broken = values
                    .flat_map(|element| element.values())
                    .find(|value| value.iter().any(u8::is_ascii_control));
                prop_assert_eq!(broken, None);
                let line = |line: &&[u8]| {
                    let line = line.trim_ascii_start();
                    line.is_empty()
                        || [&b"config "[..], b"option ", b"list ", b"#"]
                            .iter()
                            .any(|word| line.starts_with(word))
                };
                prop_assert!(text.split(|&c| c == b'\n').all(|l| line(&l)));
            }
            let twice = plan(&choices, &once.config, &facts);
            prop_assert_eq!(lines(&once.config, &twice.config), Vec::<String>::new());
            let back = plan(&read(&once.config), &once.config, &facts);
            prop_assert_eq!(&back.problems, &vec![]);
            prop_assert_eq!(lines(&once.config, &back.config), Vec::<String>::new());
            config = once.config;
        }
    }
}

/// Choices of a document.
fn document(text: &str) -> Choices {
    toml::from_str(&format!("format = 1\n{text}")).unwrap()
}

fn said(plan: &Plan) -> Vec<&str> {
    plan.sentences.iter().map(|said| &*said.sentence).collect()
}

fn refused(text: &str, config: &Config) -> (String, String) {
    let plan = plan(&document(text), config, &facts(24));
    let problem = plan
        .problems
        .first()
        .unwrap_or_else(|| panic!("{text} is taken"));
    (problem.field.clone(), problem.problem.clone())
}

/// A mesh without a gateway must not be in client mode: DHCP requests would reach no node.
#[test]
fn a_mesh_without_gateways_carries_questions_for_addresses() {
    let mode = |more: &str, config: &Config| {
        let text =
            format!("[mesh]\nkind = \"batman\"\nname = \"m\"\nradios = [\"radio0\"]\n{more}");
        let plan = good(&document(&text), config, &facts(24));
        let mode = plan.config.get("network", "bat0", "gw_mode");
        (mode.unwrap_or_default(), plan.config)
    };
    let (plain, config) = mode("", &fresh("24.10"));
    assert_eq!(plain, "off");
    let (shares, mut config) = mode("gateway = true", &config);
    assert_eq!(shares, "server");
    assert_eq!(mode("", &config).0, "off");
    // The user knows of a gateway, and has set the mode.
    config.set("network", "bat0", "gw_mode", "client");
    assert_eq!(mode("", &config).0, "client");
}

#[test]
fn what_is_open_is_said_to_be_open_and_is_not_the_network_inside() {
    let mut facts = facts(24);
    facts.radios[0].apup = true;
    let apup = document("[mesh]\nkind = \"apup\"\nname = \"m\"\nradios = [\"radio0\"]");
    let open = good(&apup, &fresh("24.10"), &facts);
    assert!(said(&open).contains(&"mesh-open"));
    let network = open.config.get("wireless", "mesh_radio0", "network");
    assert_eq!(network.as_deref(), Some("mesh_radio0"));
    let keyed = document(
        "[mesh]\nkind = \"apup\"\nname = \"m\"\nkey = \"nobody encrypts\"\nradios = [\"radio0\"]",
    );
    assert_eq!(
        plan(&keyed, &fresh("24.10"), &facts).problems[0].problem,
        "key-unused"
    );
    let wifi = "[wifi]\nnetworks = [{ssid = \"a\", key = \"12345678\", security = \"open\"}]";
    assert_eq!(refused(wifi, &fresh("24.10")).1, "key-unused");
    let wifi = document("[wifi]\nnetworks = [{ssid = \"a\", security = \"open\"}]");
    assert!(said(&good(&wifi, &fresh("24.10"), &facts)).contains(&"wifi-open"));

    // A manually created network comes on air with its radio: that is reported, too.
    let mut packages: Vec<Package> = fresh("24.10").packages().cloned().collect();
    let wireless = packages
        .iter_mut()
        .find(|package| package.name() == "wireless")
        .unwrap();
    wireless.set_section("iot", "wifi-iface").unwrap();
    for (option, value) in [
        ("device", "radio0"),
        ("mode", "ap"),
        ("network", "iot"),
        ("ssid", "IoT"),
        ("encryption", "none"),
    ] {
        wireless.set("iot", option, value.as_bytes()).unwrap();
    }
    let by_hand = good(&wifi, &Config::new(packages), &facts);
    assert!(
        said(&by_hand).contains(&"wifi-other-open"),
        "{:?}",
        by_hand.sentences
    );
}

#[test]
fn the_port_of_the_internet_is_none_inside() {
    let fresh = fresh("24.10");
    for (text, field) in [
        ("[lan]\nports = [\"lan1\", \"wan\"]", "lan.ports"),
        ("[internet]\nport = \"br-lan\"", "internet.port"),
        ("[internet]\nport = \"lan1\"", "internet.port"),
        (
            "[internet]\nport = \"lan1\"\n[lan]\nports = [\"lan1\", \"lan2\"]",
            "internet.port",
        ),
    ] {
        assert_eq!(
            refused(text, &fresh),
            (field.to_owned(), "port-inside".to_owned()),
            "{text}"
        );
    }
    let swapped = "[internet]\nport = \"lan1\"\n[lan]\nports = [\"wan\", \"lan2\"]";
    let plan = good(&document(swapped), &fresh, &facts(24));
    assert!(said(&plan).contains(&"lan-ports") && said(&plan).contains(&"internet-port"));
    // IPv6 stays if the choices do not mention it.
    assert_eq!(plan.config.get("network", "wan6", "disabled"), None);
}

#[test]
fn zones_are_known_by_what_they_hold() {
    let packages = fresh("24.10");
    let renamed = Config::new(packages.packages().map(|package| {
        let text = String::from_utf8(package.text()).unwrap();
        let text = match package.name() {
            "firewall" => text
                .replace("name\t\tlan", "name\t\thome")
                .replace("name\t\twan", "name\t\tinet")
                .replace("src\t\tlan", "src\t\thome")
                .replace("dest\t\twan", "dest\t\tinet"),
            _ => text,
        };
        Package::read(package.name(), text.as_bytes()).unwrap()
    }));
    let choices = document(
        "[firewall]\nforwards = [{name = \"a\", port = \"80\", to = \"192.168.1.5\"}]\n\
         blocked = [{name = \"tv\", mac = \"02:00:00:00:00:01\"}]\n\
         [wifi]\nnetworks = [{ssid = \"g\", security = \"open\", for = \"guest\"}]\n",
    );
    let once = good(&choices, &renamed, &facts(24)).config;
    let firewall = String::from_utf8(once.package("firewall").unwrap().text()).unwrap();
    for none in [
        "'lan'\n\toption dest",
        "option src 'lan'",
        "dest 'lan'",
        "dest 'wan'",
    ] {
        assert!(!firewall.contains(none), "{none} in {firewall}");
    }
    assert_eq!(once.of_type("firewall", "zone").count(), 3, "{firewall}");
    let again = good(&read(&once), &once, &facts(24));
    assert_eq!(lines(&once, &again.config), [""; 0]);
}

#[test]
fn more_than_a_router_can_have_is_too_many() {
    let clients = "{name = \"a\"},".repeat(251);
    let key = "private_key = \"yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\"";
    let many = format!("[wireguard]\non = true\n{key}\nclients = [{clients}]");
    let networks = "{ssid = \"a\", security = \"open\"},".repeat(9);
    let fresh = fresh("24.10");
    assert_eq!(refused(&many, &fresh).1, "too-many");
    assert_eq!(
        refused(&format!("[wifi]\nnetworks = [{networks}]"), &fresh).1,
        "too-many"
    );
    let none = Facts {
        radios: Vec::new(),
        ..facts(24)
    };
    let wifi = document("[wifi]\nnetworks = [{ssid = \"a\", security = \"open\"}]");
    assert_eq!(plan(&wifi, &fresh, &none).problems[0].problem, "lacking");
}

#[test]
fn names_over_https_find_a_port_of_their_own() {
    let text = "config main 'config'\n\toption dnsmasq_config_update '*'\n\
                config https-dns-proxy\n\toption resolver_url 'https://a.example/'\n\
                \toption listen_port '5053'\n";
    let proxy = Package::read("https-dns-proxy", text.as_bytes()).unwrap();
    let config = Config::new(fresh("24.10").packages().cloned().chain([proxy]));
    let choices = document("[dns]\nserver = \"quad9\"");
    let once = good(&choices, &config, &facts(24)).config;
    let port = once.get("https-dns-proxy", "weir", "listen_port");
    assert_eq!(port.as_deref(), Some("5054"));
    assert_eq!(once.list("dhcp", "cfg01411c", "server"), ["127.0.0.1#5054"]);
    let update = once.get("https-dns-proxy", "config", "dnsmasq_config_update");
    assert_eq!(update.as_deref(), Some("-"));
    let back = good(&document("[dns]\nserver = \"provider\""), &once, &facts(24)).config;
    assert!(back.list("dhcp", "cfg01411c", "server").is_empty());
}
