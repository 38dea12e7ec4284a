//! Lists of a document: a missing list changes nothing, an empty list removes all entries.

use weir_setup_core::choices::Choices;
use weir_setup_core::plan::Config;
use weir_setup_core::read;

use super::{document, facts, fresh, good, lines, refused};

const PRIVATE: &str = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
const PUBLIC: &str = "hsps4r9Tqn5XRjfri8yIb9fRspMtyF8/w8YDWaNPzno=";

/// A router that has something in each list.
fn full() -> Config {
    let text = format!(
        "[internet]\nkind = \"static\"\naddress = \"198.51.100.7/24\"\n\
         gateway = \"198.51.100.1\"\ndns = [\"198.51.100.2\"]\n\
         [wifi]\ncountry = \"FR\"\nnetworks = [{{ssid = \"Home\", key = \"correct horse\"}}, \
         {{ssid = \"Guests\", key = \"battery staple\", for = \"guest\"}}]\n\
         [dns]\nserver = \"own\"\nservers = [\"9.9.9.9\"]\n\
         [wireguard]\non = true\nprivate_key = \"{PRIVATE}\"\n\
         clients = [{{name = \"phone\", public_key = \"{PUBLIC}\"}}]\n\
         [firewall]\nforwards = [{{name = \"web\", port = \"80\", to = \"192.168.1.9\"}}]\n\
         blocked = [{{name = \"kid\", mac = \"02:00:00:00:00:77\"}}]\n"
    );
    good(&document(&text), &fresh("24.10"), &facts(24)).config
}

fn changed(text: &str, config: &Config) -> Vec<String> {
    let plan = good(&document(text), config, &facts(24));
    lines(config, &plan.config)
}

#[test]
fn a_missing_list_leaves_what_is_there() {
    let config = full();
    let uplink = "[internet]\nkind = \"static\"\naddress = \"198.51.100.7/24\"\n\
                  gateway = \"198.51.100.1\"\n";
    for nothing in [
        uplink,
        "[wifi]\n",
        "[wifi]\ncountry = \"FR\"\n",
        "[dns]\nserver = \"own\"\n",
        "[wireguard]\non = true\n",
        "[firewall]\n",
    ] {
        assert_eq!(changed(nothing, &config), [""; 0], "{nothing}");
    }
    let country = changed("[wifi]\ncountry = \"DE\"\n", &config);
    assert!(
        country.iter().all(|line| line.contains(".country=")),
        "{country:?}"
    );
    let gateway = changed(&uplink.replace("100.1\"", "100.9\""), &config);
    assert!(
        gateway.iter().all(|line| line.contains("wan.gateway=")),
        "{gateway:?}"
    );
    let port = changed("[wireguard]\non = true\nport = 51999\n", &config);
    assert!(
        port.iter().all(|line| line.contains("port='51")),
        "{port:?}"
    );
    let blocked = "[firewall]\nblocked = [{name = \"kid\", mac = \"02:00:00:00:00:77\"}, \
                   {name = \"tv\", mac = \"02:00:00:00:00:78\"}]";
    let blocked = changed(blocked, &config);
    assert!(
        !blocked.is_empty()
            && blocked
                .iter()
                .all(|line| line.starts_with("+ firewall.@rule")),
        "{blocked:?}"
    );
}

#[test]
fn an_empty_list_means_none_of_that_list_alone() {
    let config = full();
    let has = |text: &str| -> Choices { read(&good(&document(text), &config, &facts(24)).config) };
    let before = read(&config);
    let firewall = before.firewall.clone().unwrap();
    let without = has("[firewall]\nforwards = []\n").firewall.unwrap();
    assert_eq!(without.forwards, Some(Vec::new()));
    assert_eq!(without.blocked, firewall.blocked);
    let without = has("[firewall]\nblocked = []\n").firewall.unwrap();
    assert_eq!(without.blocked, Some(Vec::new()));
    assert_eq!(without.forwards, firewall.forwards);
    let wifi = has("[wifi]\nnetworks = []\n").wifi.unwrap();
    assert_eq!(wifi.networks, Some(Vec::new()));
    assert_eq!(wifi.country, "FR");
    let tunnel = has("[wireguard]\non = true\nclients = []\n")
        .wireguard
        .unwrap();
    assert_eq!(tunnel.clients, Some(Vec::new()));
    // The choice `own` without any server are refused.
    let dns = "[dns]\nserver = \"own\"\nservers = []";
    assert_eq!(
        refused(dns, &config),
        ("dns.servers".into(), "required".into())
    );
}

/// A forward that a document does not name stays where it leads, also if the network inside moves.
#[test]
fn a_missing_list_of_forwards_lets_no_forward_lead_outside() {
    let text = "[lan]\naddress = \"10.9.0.1/24\"\n[firewall]\nblocked = []";
    assert_eq!(
        refused(text, &full()),
        ("lan.address".into(), "leaves-forward".into())
    );
}

/// Exported empty lists are empty lists, and not missing.
#[test]
fn an_exported_list_is_whole() {
    let on = format!("[wireguard]\non = true\nprivate_key = \"{PRIVATE}\"\n");
    let config = good(&document(&on), &fresh("24.10"), &facts(24)).config;
    let text = toml::to_string(&read(&config)).unwrap();
    for list in [
        "networks = []",
        "forwards = []",
        "blocked = []",
        "clients = []",
    ] {
        assert!(text.contains(list), "{list} in {text}");
    }
    let other = full();
    let after = good(&toml::from_str(&text).unwrap(), &other, &facts(24)).config;
    assert_eq!(read(&after).firewall, read(&config).firewall);
    assert_eq!(read(&after).wireguard.unwrap().clients, Some(Vec::new()));
}
