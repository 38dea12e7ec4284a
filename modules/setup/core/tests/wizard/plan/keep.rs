//! Settings that the wizard does not know stay unchanged. A document that was read from a router
//! changes nothing there, and a document with one change changes only this setting.

mod routers;

use std::collections::BTreeSet;

use routers::{Router, routers};
use uci::Package;
use weir_setup_core::choices::{
    Choices, DnsServer, Forward, Network, Security, Uplink, WireGuard, WireGuardClient,
};
use weir_setup_core::plan::{Config, Facts, Plan, plan};
use weir_setup_core::read;

use super::{document, facts, fresh, good, here, lines, router};

const PRIVATE: &str = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
const PUBLIC: &str = "hsps4r9Tqn5XRjfri8yIb9fRspMtyF8/w8YDWaNPzno=";

fn facts_of(config: &Config, year: u16, wan: &str) -> Facts {
    let mut facts = facts(year);
    facts.wan = Some(wan.to_owned());
    facts
        .radios
        .retain(|radio| config.has("wireless", &radio.name));
    facts
}

/// Returns the choices of a router, after they were written as a document and read again.
fn exported(config: &Config) -> Choices {
    let text = toml::to_string(&read(config).for_others()).unwrap();
    toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn without_secrets(mut choices: Choices) -> Choices {
    if let Some(internet) = &mut choices.internet {
        (internet.password, internet.key, internet.pin) = (None, None, None);
    }
    for network in (choices.wifi.iter_mut())
        .flat_map(|wifi| &mut wifi.networks)
        .flatten()
    {
        network.key = None;
    }
    if let Some(mesh) = &mut choices.mesh {
        mesh.key = None;
    }
    choices
}

fn nothing_changes(router: &Router, choices: &Choices) -> Result<(), String> {
    let facts = facts_of(&router.config, router.year, router.wan);
    let plan = plan(choices, &router.config, &facts);
    let changed = lines(&router.config, &plan.config);
    let told = match (plan.problems.first(), changed.is_empty()) {
        (None, true) => return Ok(()),
        (Some(problem), _) => problem.to_string(),
        (None, false) => changed.join("\n  "),
    };
    Err(format!("{}\n  {told}", router.name))
}

fn all_good(checked: impl Iterator<Item = Result<(), String>>) {
    let (mut all, mut wrong) = (0, Vec::new());
    for one in checked {
        all += 1;
        wrong.extend(one.err());
    }
    let count = wrong.len();
    // Keep a single change of each kind: the first words name the kind.
    let kind = |one: &String| one.split(" of ").next().map(str::to_owned);
    wrong.sort_by_key(kind);
    wrong.dedup_by_key(|one| kind(one));
    let some = wrong
        .iter()
        .take(12)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(wrong.is_empty(), "{count} of {all} fail:\n{some}");
    assert!(all >= 300, "{all} are too few");
}

#[test]
fn what_is_exported_changes_nothing_where_it_is_imported_again() {
    all_good(routers().map(|router| nothing_changes(&router, &exported(&router.config))));
}

#[test]
fn nor_does_what_is_exported_without_secrets() {
    all_good(routers().map(|router| {
        let choices = without_secrets(exported(&router.config));
        nothing_changes(&router, &choices)
    }));
}

/// A change of one thing, and the options that it may change: `*` matches any text. `None` if a
/// router lacks the thing.
type Change = fn(&mut Choices, &Config) -> Option<Vec<&'static str>>;

const CHANGES: [(&str, Change); 17] = [
    ("name", |choices, _| {
        choices.router.as_mut()?.name = "linde".to_owned();
        Some(vec!["system.*.hostname"])
    }),
    ("time zone", |choices, _| {
        choices.router.as_mut()?.timezone = "Europe/Rome".to_owned();
        Some(vec!["system.*.zonename", "system.*.timezone"])
    }),
    ("lease", |choices, _| {
        let lan = choices.lan.as_mut().filter(|lan| lan.dhcp)?;
        lan.lease = "3h".to_owned();
        Some(vec!["dhcp.*.leasetime"])
    }),
    ("how many addresses", |choices, _| {
        let lan = choices.lan.as_mut().filter(|lan| lan.dhcp)?;
        lan.count = 7;
        Some(vec!["dhcp.*.limit"])
    }),
    ("no addresses", |choices, config| {
        let lan = choices.lan.as_mut()?;
        lan.dhcp = !lan.dhcp;
        config.of_type("dhcp", "dhcp").next()?;
        Some(vec!["dhcp.*.ignore"])
    }),
    ("address", |choices, _| {
        choices.lan.as_mut()?.address = "192.168.77.1/24".to_owned();
        Some(vec!["network.lan.ipaddr", "network.lan.netmask"])
    }),
    ("key", |choices, _| {
        let keyed = |one: &&mut Network| one.key.as_ref().is_some_and(|key| key.len() < 64);
        let wifi = choices.wifi.as_mut()?;
        wifi.networks.as_mut()?.iter_mut().find(keyed)?.key = Some("another key".to_owned());
        Some(vec!["wireless.*.key"])
    }),
    ("hidden", |choices, _| {
        let network = choices.wifi.as_mut()?.networks.as_mut()?.last_mut()?;
        network.hidden = !network.hidden;
        Some(vec!["wireless.*.hidden"])
    }),
    ("country", |choices, _| {
        choices.wifi.as_mut()?.country = "FR".to_owned();
        Some(vec!["wireless.*.country"])
    }),
    ("another network", |choices, _| {
        let networks = choices.wifi.as_mut()?.networks.as_mut()?;
        let radios = networks.first()?.radios.clone();
        networks.push(Network {
            ssid: "New".to_owned(),
            key: Some("a new network".to_owned()),
            security: Security::Wpa2,
            radios,
            ..Network::default()
        });
        Some(vec!["wireless.wifi_radio0*", "wireless.wifi_radio1*"])
    }),
    ("a network less", |choices, _| {
        choices.wifi.as_mut()?.networks.as_mut()?.pop()?;
        Some(vec!["wireless.*"])
    }),
    ("names", |choices, _| {
        let dns = choices.dns.as_mut()?;
        (dns.server, dns.servers) = (DnsServer::Own, Some(vec!["192.0.2.53".to_owned()]));
        Some(vec!["dhcp.*.server", "dhcp.*.noresolv"])
    }),
    ("IPv6", |choices, _| {
        let internet = choices.internet.as_mut()?;
        internet.ipv6 = !internet.ipv6;
        Some(vec![
            "network.wan6",
            "network.wan6.*",
            "network.wan.ipv6",
            "firewall.*.network",
        ])
    }),
    ("password of the provider", |choices, _| {
        let internet = choices.internet.as_mut()?;
        let dials = matches!(internet.kind, Uplink::Pppoe | Uplink::Mobile);
        internet.password = dials.then(|| Some("another".to_owned()))?;
        Some(vec!["network.wan.password"])
    }),
    ("servers of a fixed address", |choices, _| {
        let internet = choices.internet.as_mut()?;
        let is_fixed = internet.kind == Uplink::Static;
        internet.dns = is_fixed.then(|| Some(vec!["192.0.2.53".to_owned()]))?;
        Some(vec!["network.wan.dns"])
    }),
    ("WireGuard", |choices, _| {
        choices.wireguard = Some(WireGuard {
            on: true,
            private_key: Some(PRIVATE.to_owned()),
            clients: Some(vec![WireGuardClient {
                name: "phone".to_owned(),
                public_key: Some(PUBLIC.to_owned()),
                ..WireGuardClient::default()
            }]),
            ..WireGuard::default()
        });
        // The first free name: the router has none of them, or manually created ones.
        Some(vec![
            "network.wg*",
            "network.@wireguard_wg*",
            "firewall.wg*",
            "firewall.*.network",
            "firewall.zone_*",
            "firewall.defaults*",
            "firewall.lan_wan*",
            "firewall.wan_*",
        ])
    }),
    ("forward", |choices, _| {
        choices.lan.as_ref()?;
        let name = "new".to_owned();
        choices.firewall.as_mut()?.forwards.as_mut()?.push(Forward {
            name,
            port: "7777".to_owned(),
            to: Some("192.168.1.7".to_owned()),
            ..Forward::default()
        });
        // A zone for the uplink, where the router has none.
        Some(vec![
            "firewall.@redirect*",
            "firewall.*.network",
            "firewall.zone_*",
            "firewall.defaults*",
            "firewall.lan_wan*",
            "firewall.wan_*",
        ])
    }),
];

fn matches(address: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((begin, end)) => {
            address.len() >= begin.len() + end.len()
                && address.starts_with(begin)
                && address.ends_with(end)
        }
        None => address == pattern,
    }
}

/// Secrets of a router, with their owners.
fn secrets(config: &Config) -> BTreeSet<(String, String, String)> {
    const SECRETS: [&str; 9] = [
        "password",
        "auth_secret",
        "private_key",
        "public_key",
        "key1",
        "key2",
        "pincode",
        "username",
        "passgroup",
    ];
    let all = config.packages().flat_map(|package| {
        let sections = package.sections().iter();
        sections.flat_map(|section| {
            SECRETS.iter().filter_map(move |&option| {
                let value = section.get(option)?.values().next()?;
                let value = String::from_utf8_lossy(value).into_owned();
                Some((section.name.clone(), option.to_owned(), value))
            })
        })
    });
    all.collect()
}

fn one_thing(router: &Router, name: &str, change: Change) -> Result<bool, String> {
    let config = &router.config;
    let mut choices = exported(config);
    let Some(allowed) = change(&mut choices, config) else {
        return Ok(false);
    };
    let facts = facts_of(config, router.year, router.wan);
    let plan = plan(&choices, config, &facts);
    // An impossible change is refused, and nothing is done.
    if !plan.problems.is_empty() {
        return Ok(false);
    }
    let changed = lines(config, &plan.config);
    let wrong: Vec<&str> = changed
        .iter()
        .filter(|line| {
            let address = line[2..].split('=').next().unwrap_or_default();
            let address = address.trim_end_matches('+');
            !allowed.iter().any(|pattern| matches(address, pattern))
        })
        .map(String::as_str)
        .collect();
    let (before, after) = (secrets(config), secrets(&plan.config));
    let kept =
        |one: &&(String, String, String)| name == "password of the provider" && one.1 == "password";
    let lost: Vec<_> = before.difference(&after).filter(|one| !kept(one)).collect();
    match wrong.is_empty() && lost.is_empty() {
        true => Ok(true),
        false => Err(format!(
            "{name} of {}\n  {}\n  lost {lost:?}",
            router.name,
            wrong.join("\n  ")
        )),
    }
}

#[test]
fn a_document_that_changes_one_thing_changes_that_thing_alone() {
    let mut done = [0; CHANGES.len()];
    all_good(routers().enumerate().flat_map(|(n, router)| {
        // Each router has some of the changes, and each change many routers.
        let some = (0..5).map(|turn| (n * 5 + n / 17 + turn) % CHANGES.len());
        let checked: Vec<_> = some
            .map(|which| {
                let (name, change) = CHANGES[which];
                one_thing(&router, name, change).map(|is_done| done[which] += u32::from(is_done))
            })
            .collect();
        checked
    }));
    for (count, (name, _)) in done.iter().zip(CHANGES) {
        assert!(*count >= 10, "{name}: only {count} routers have it");
    }
}

/// A router of a case, with one text of its files replaced by another.
fn case_with(name: &str, package: &str, from: &str, to: &str) -> Router {
    let config = router(&here("cases").join(name));
    let packages = config.packages().map(|one| {
        let text = String::from_utf8(one.text()).unwrap();
        let text = match one.name() == package {
            true => text.replace(from, to),
            false => text,
        };
        Package::read(one.name(), text.as_bytes()).unwrap()
    });
    Router {
        name: format!("{name}: {to}"),
        year: 23,
        wan: "wan",
        config: Config::new(packages),
    }
}

fn case(name: &str) -> Router {
    case_with(name, "", "", "")
}

fn planned(router: &Router, choices: &Choices) -> Plan {
    let facts = facts_of(&router.config, router.year, router.wan);
    plan(choices, &router.config, &facts)
}

fn changed(router: &Router, choices: &Choices) -> Vec<String> {
    let facts = facts_of(&router.config, router.year, router.wan);
    let plan = good(choices, &router.config, &facts);
    lines(&router.config, &plan.config)
}

#[test]
fn a_protocol_that_the_wizard_does_not_offer_stays_with_its_password() {
    for proto in [
        "pppoa",
        "pptp",
        "l2tp",
        "dslite",
        "map",
        "464xlat",
        "6in4",
        "wireguard",
        "mbim",
        "ncm",
        "3g",
        "directip",
        "wwan",
        "modemmanager",
        "qmi",
        "pppoe",
    ] {
        let router = case_with("01-unknown-proto", "network", "pppoa", proto);
        assert_eq!(nothing_changes(&router, &exported(&router.config)), Ok(()));
        // Another part does not change the setting either.
        let lan = document("[lan]\naddress = \"192.168.7.1/24\"");
        let lines = changed(&router, &lan);
        assert!(
            lines
                .iter()
                .all(|line| line[2..].starts_with("network.lan.ipaddr")),
            "{lines:?}"
        );
    }
    // A change that is requested by name is made.
    let router = case("01-unknown-proto");
    let lines = changed(&router, &document("[internet]\nkind = \"dhcp\""));
    assert!(
        lines.contains(&"+ network.wan.proto='dhcp'".to_owned()),
        "{lines:?}"
    );
}

#[test]
fn a_network_with_a_server_of_its_own_stays_when_another_one_changes() {
    let router = case("02-enterprise-wifi");
    let text = "[wifi]\ncountry = \"DE\"\n\
                networks = [{ssid = \"Home\", key = \"newnewnew\", security = \"wpa2\"}]";
    let lines = changed(&router, &document(text));
    assert_eq!(
        lines,
        [
            "- wireless.home.key=(secret)",
            "+ wireless.home.key=(secret)"
        ]
    );
    // None of them may be removed; and no other network may have its name.
    let lines = changed(&router, &document("[wifi]\nnetworks = []"));
    assert!(
        lines.iter().all(|line| line.starts_with("- wireless.home")),
        "{lines:?}"
    );
    let text = "[wifi]\nnetworks = [{ssid = \"Net\", key = \"newnewnew\"}]";
    let plan = planned(&router, &document(text));
    assert_eq!(plan.problems[0].field, "wifi.networks[0].ssid");
}

#[test]
fn an_encryption_without_a_word_stays_and_another_key_goes_with_it() {
    let router = case_with(
        "02-enterprise-wifi",
        "wireless",
        "'psk2'",
        "'psk-mixed+ccmp'",
    );
    let mut choices = exported(&router.config);
    let networks = choices.wifi.as_mut().unwrap().networks.as_mut().unwrap();
    assert_eq!(networks[0].security, Security::Kept);
    networks[0].key = Some("newnewnew".to_owned());
    let lines = changed(&router, &choices);
    assert_eq!(
        lines,
        [
            "- wireless.home.key=(secret)",
            "+ wireless.home.key=(secret)"
        ]
    );
    // Another router has nothing to keep, nor has a network of another name.
    let at = |choices: &Choices, config: &Config| {
        let problem = plan(choices, config, &facts(24)).problems.remove(0);
        problem.to_string()
    };
    let elsewhere = at(&choices, &fresh("24.10"));
    assert_eq!(
        elsewhere,
        "wifi.networks[0].security: the router has no network Home whose encryption could stay; \
         keep the network's name, or set an encryption, such as mixed or wpa2"
    );
    let networks = choices.wifi.as_mut().unwrap().networks.as_mut().unwrap();
    networks[0].ssid = "Other".to_owned();
    assert_eq!(
        at(&choices, &router.config),
        elsewhere.replace("Home", "Other")
    );
}

#[test]
fn vlans_of_the_switch_are_not_the_providers() {
    let router = case("04-swconfig-export-to-dsa");
    let exported = exported(&router.config);
    let dsa = Router {
        name: "a fresh router".to_owned(),
        year: 23,
        wan: "wan",
        config: fresh("23.05"),
    };
    let lines = changed(&dsa, &exported);
    assert!(
        !lines.iter().any(|line| line.contains("network")),
        "{lines:?}"
    );
    for text in [
        "[internet]\nkind = \"dhcp\"",
        "[internet]\nkind = \"dhcp\"\nvlan = 2",
    ] {
        let router = case("05-swconfig-dhcp");
        assert_eq!(changed(&router, &document(text)), [""; 0], "{text}");
    }
    let pppoe = "[internet]\nkind = \"pppoe\"\nusername = \"u\"\npassword = \"p\"";
    let router = case("05-swconfig-dhcp");
    let plan = good(&document(pppoe), &router.config, &facts(23));
    let device = |interface| plan.config.get("network", interface, "device");
    assert_eq!(device("wan").as_deref(), Some("eth0.2"));
}

#[test]
fn a_device_stays_in_the_option_that_holds_it() {
    let router = case("07-ifname");
    assert_eq!(nothing_changes(&router, &exported(&router.config)), Ok(()));
    let lines = changed(&router, &document("[internet]\nkind = \"dhcp\"\nvlan = 7"));
    assert!(
        lines.contains(&"+ network.wan.ifname='eth1.7'".to_owned()),
        "{lines:?}"
    );
    assert!(
        lines.contains(&"+ network.wan6.ifname='eth1.7'".to_owned()),
        "{lines:?}"
    );
    assert!(
        !lines.iter().any(|line| line.contains(".device=")),
        "{lines:?}"
    );
    let lines = changed(
        &router,
        &document("[internet]\nkind = \"dhcp\"\nport = \"eth2\""),
    );
    assert!(
        lines.contains(&"+ network.wan.ifname='eth2'".to_owned()),
        "{lines:?}"
    );
}

#[test]
fn a_tunnel_made_by_hand_stays_and_the_wizards_own_has_another_name() {
    let router = case("10-wg0-by-hand");
    let text = format!(
        "[wireguard]\non = true\nport = 51820\nprivate_key = \"{PRIVATE}\"\n\
         clients = [{{name = \"phone\", public_key = \"{PUBLIC}\"}}]"
    );
    let choices = document(&text);
    let lines = changed(&router, &choices);
    let own = |line: &&String| line.contains("wg0") || line.contains("provider");
    assert_eq!(lines.iter().find(own), None);
    assert!(!lines.iter().any(|line| line.starts_with('-')), "{lines:?}");
    assert!(
        lines.contains(&"+ network.wg1=interface".to_owned()),
        "{lines:?}"
    );
    // The wizard knows its tunnel again, changes it, and removes it without the other.
    let config = planned(&router, &choices).config;
    let with = Router {
        config,
        ..case("10-wg0-by-hand")
    };
    assert_eq!(
        read(&with.config).wireguard.unwrap().clients.unwrap().len(),
        1
    );
    assert_eq!(changed(&with, &choices), [""; 0]);
    let off = planned(&with, &document("[wireguard]\non = false")).config;
    assert_eq!(super::lines(&router.config, &off), [""; 0]);
    // The tunnel by hand is not exported either, and its port is taken.
    assert_eq!(read(&router.config).wireguard, Some(WireGuard::default()));
    let from = "option listen_port '51820'\n\toption proto 'wireguard'";
    let taken = case_with(
        "10-wg0-by-hand",
        "network",
        "option proto 'wireguard'",
        from,
    );
    assert_eq!(
        planned(&taken, &choices).problems[0].field,
        "wireguard.port"
    );
}

/// If two existing tunnels share a port and a network, another client is not refused.
#[test]
fn a_tunnel_that_is_there_is_not_judged_again() {
    let text = format!("[wireguard]\non = true\nprivate_key = \"{PRIVATE}\"\n");
    let mut config = good(&document(&text), &fresh("24.10"), &facts(24)).config;
    let [port, address] =
        ["listen_port", "addresses"].map(|option| config.list("network", "wg0", option).remove(0));
    config.section("network", "hand", "interface");
    for (option, value) in [
        ("proto", "wireguard"),
        ("listen_port", &*port),
        ("addresses", &*address),
    ] {
        config.set("network", "hand", option, value);
    }
    // The zone outside has another name, and no network that the wizard knows.
    let zone = config
        .find_by_option("firewall", "zone", "name", "wan")
        .unwrap();
    config.set("firewall", &zone, "name", "outside");
    config.unset("firewall", &zone, "network");
    let more = format!("{text}clients = [{{name = \"phone\", public_key = \"{PUBLIC}\"}}]");
    let plan = good(&document(&more), &config, &facts(24));
    let changed = lines(&config, &plan.config);
    assert!(
        changed.iter().all(|line| line.contains("wireguard_wg0")),
        "{changed:?}"
    );
    let other = format!("{text}port = 51999\naddress = \"10.99.0.1/24\"");
    good(&document(&other), &config, &facts(24));
}

#[test]
fn an_interface_that_has_the_name_of_the_wizards_client_stays() {
    let mut config = fresh("24.10");
    config.section("network", "wwan", "interface");
    config.set("network", "wwan", "proto", "qmi");
    config.set("network", "wwan", "password", "p");
    let text = "[internet]\nkind = \"wifi\"\nssid = \"a\"\nkey = \"12345678\"\nradio = \"radio0\"";
    let once = good(&document(text), &config, &facts(24)).config;
    assert_eq!(once.get("network", "wwan", "proto").as_deref(), Some("qmi"));
    assert_eq!(
        once.get("wireless", "wifi_uplink", "network").as_deref(),
        Some("wwan2")
    );
    assert_eq!(read(&once).internet.unwrap().kind, Uplink::Wifi);
    let gone = good(&document("[internet]\nkind = \"dhcp\""), &once, &facts(24)).config;
    assert!(gone.has("network", "wwan") && !gone.has("network", "wwan2"));
}

/// Two radios have a network of one name, each with a key of its own.
#[test]
fn each_radio_keeps_its_own_key() {
    let mut config = fresh("24.10");
    for (radio, key) in [
        ("radio0", "key of the first"),
        ("radio1", "key of the second"),
    ] {
        let section = format!("default_{radio}");
        config.unset("wireless", radio, "disabled");
        for (option, value) in [("ssid", "Home"), ("encryption", "psk2"), ("key", key)] {
            config.set("wireless", &section, option, value);
        }
    }
    let choices = without_secrets(exported(&config));
    let networks = choices.wifi.as_ref().unwrap().networks.as_ref().unwrap();
    assert_eq!(networks.len(), 2);
    let plan = good(&choices, &config, &facts(24));
    assert_eq!(lines(&config, &plan.config), [""; 0]);
    // Another option of a network changes that option only.
    for n in 0..2 {
        let mut choices = choices.clone();
        let networks = choices.wifi.as_mut().unwrap().networks.as_mut();
        networks.unwrap()[n].hidden = true;
        let plan = good(&choices, &config, &facts(24));
        let line = format!("+ wireless.default_radio{n}.hidden=1");
        let changed = lines(&config, &plan.config);
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert_eq!(changed[0].replace('\'', ""), line);
    }
}

/// Two networks of one name on one radio have a key each.
#[test]
fn networks_of_one_name_on_one_radio_keep_their_keys_apart() {
    for second in ["guest", "lan"] {
        let mut config = fresh("24.10");
        config.unset("wireless", "radio0", "disabled");
        config.section("network", "guest", "interface");
        config.section("wireless", "second", "wifi-iface");
        for (section, network, key) in [
            ("default_radio0", "lan", "key of the first"),
            ("second", second, "key of the second"),
        ] {
            for (option, value) in [
                ("device", "radio0"),
                ("mode", "ap"),
                ("network", network),
                ("ssid", "Same"),
                ("encryption", "psk2"),
                ("key", key),
            ] {
                config.set("wireless", section, option, value);
            }
        }
        let choices = exported(&config);
        let with = |change: fn(&mut Vec<Network>)| {
            let mut choices = choices.clone();
            change(choices.wifi.as_mut().unwrap().networks.as_mut().unwrap());
            plan(&choices, &config, &facts(24))
        };
        for swap in [false, true] {
            let plan = match swap {
                false => with(|all| all[1].key = Some("another key".to_owned())),
                true => with(|all| {
                    all[1].key = Some("another key".to_owned());
                    all.swap(0, 1);
                }),
            };
            assert_eq!(plan.problems, [], "{second}");
            let changed = lines(&config, &plan.config);
            let key = "wireless.second.key=(secret)";
            assert_eq!(
                changed,
                [format!("- {key}"), format!("+ {key}")],
                "{second}"
            );
        }
        // A third one is one too many, at any position.
        let third = with(|all| {
            all[1].key = Some("another key".to_owned());
            let key = Some("key of the third".to_owned());
            all.push(Network {
                key,
                ..all[1].clone()
            });
        });
        let fields: Vec<&str> = third.problems.iter().map(|one| &*one.field).collect();
        assert_eq!(fields, ["wifi.networks[2].ssid"], "{second}");
    }
}

#[test]
fn times_that_dnsmasq_knows_stay() {
    for time in ["1w", "43200", "infinite", "400d", "7", "odd"] {
        let router = case_with(
            "17-lease-1w",
            "dhcp",
            "leasetime '12h'",
            &format!("leasetime '{time}'"),
        );
        assert_eq!(nothing_changes(&router, &exported(&router.config)), Ok(()));
    }
    let router = case("17-lease-1w");
    for time in ["2w", "86400"] {
        let lines = changed(&router, &document(&format!("[lan]\nlease = \"{time}\"")));
        assert_eq!(lines[1], format!("+ dhcp.lan.leasetime='{time}'"));
    }
}

#[test]
fn sae_has_no_key_of_hexadecimal_digits() {
    let router = case("19-psk64-mixed");
    let key = "0123456789abcdef".repeat(4);
    for security in ["", ", security = \"mixed\"", ", security = \"wpa3\""] {
        let text = format!("[wifi]\nnetworks = [{{ssid = \"a\", key = \"{key}\"{security}}}]");
        let problem = &planned(&router, &document(&text)).problems[0];
        assert_eq!(problem.field, "wifi.networks[0].key");
        assert!(!problem.hint.contains("64"), "{}", problem.hint);
    }
    let text =
        format!("[wifi]\nnetworks = [{{ssid = \"a\", key = \"{key}\", security = \"wpa2\"}}]");
    assert!(
        changed(&router, &document(&text))
            .iter()
            .any(|line| line.ends_with("='psk2'"))
    );
}
