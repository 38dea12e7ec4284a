//! Remote access by OpenVPN, and its clients.

use super::{RELEASES, document, facts, fresh, good, lines, refused, said};
use weir_setup_core::choices::{Choices, OpenVpnClient};
use weir_setup_core::openvpn::{Keys, Server, common_name};
use weir_setup_core::plan::{Config, plan};
use weir_setup_core::read;

/// Choices with these clients, each with a name for a certificate as in the service.
fn with(text: &str, names: &[&str]) -> Choices {
    let mut choices = document(&format!("[openvpn]\non = true\n{text}"));
    let client = |(n, &name): (usize, &&str)| OpenVpnClient {
        name: name.to_owned(),
        common_name: Some(common_name(name, [u8::try_from(n).unwrap(); 8])),
    };
    let vpn = choices.openvpn.as_mut().unwrap();
    vpn.clients = Some(names.iter().enumerate().map(client).collect());
    choices
}

fn clients(config: &Config) -> Vec<String> {
    let server = Server::of(config).unwrap();
    let mut names: Vec<String> = server.clients.into_iter().map(|c| c.name).collect();
    names.sort();
    names
}

fn mark(config: &Config) -> String {
    let places = [("network", "ovpn0"), ("openvpn", "weir")];
    let mut marks = places.iter().filter_map(|(p, s)| config.get(p, s, "echo"));
    marks.next().unwrap()
}

#[test]
fn clients_come_and_go_and_keep_their_certificates() {
    for (release, year) in RELEASES {
        let facts = facts(year);
        let good = |choices: &Choices, config: &Config| good(choices, config, &facts);
        let first = good(&with("", &["Ana's phone", "Laptop"]), &fresh(release));
        assert_eq!(said(&first)[1..], ["openvpn-client"; 2]);
        let first = first.config;
        let server = Server::of(&first).unwrap();
        // A known client keeps the name in its certificate, whatever a choice contains.
        let mut more = with("", &["Laptop", "Tablet"]);
        let vpn = more.openvpn.as_mut().unwrap().clients.as_mut().unwrap();
        vpn[0].common_name = Some("another".to_owned());
        let second = good(&more, &first);
        let mut words = said(&second);
        words.sort_unstable();
        assert_eq!(words, ["openvpn-client", "openvpn-client-gone"]);
        let second = second.config;
        let laptop = |server: &Server| {
            let named = server.clients.iter().find(|client| client.name == "Laptop");
            named.unwrap().common_name.clone()
        };
        assert_eq!(laptop(&Server::of(&second).unwrap()), laptop(&server));
        assert_eq!(clients(&second), ["Laptop", "Tablet"]);
        assert_ne!(mark(&first), mark(&second), "nobody starts it anew");

        // A change of port without a list of clients keeps them; an empty list removes all.
        let moved = good(
            &document("[openvpn]\non = true\nport = 1195\nendpoint = \"a.example\""),
            &second,
        );
        assert_eq!(said(&moved), ["openvpn"]);
        assert_eq!(clients(&moved.config), ["Laptop", "Tablet"]);
        let none = good(&document("[openvpn]\non = true\nclients = []"), &second);
        assert_eq!(clients(&none.config), [""; 0]);
        // Off and on again: no clients.
        let off = good(&document("[openvpn]\non = false"), &second).config;
        assert_eq!(Server::of(&off), None);
        let on = good(&document("[openvpn]\non = true"), &off).config;
        assert_eq!(clients(&on), [""; 0]);
        let zone = |config: &Config| {
            let section = config
                .find_by_option("firewall", "zone", "name", "lan")
                .unwrap();
            config.list("firewall", &section, "device")
        };
        assert_eq!((zone(&off), zone(&on)), (vec![], vec!["ovpn0".to_owned()]));
        assert_eq!(lines(&fresh(release), &off), [""; 0]);

        // An export contains no clients.
        let told = toml::to_string(&read(&second).for_others()).unwrap();
        assert!(
            !told.contains("Laptop") && told.contains("[openvpn]"),
            "{told}"
        );
    }
}

#[test]
fn another_network_inside_is_another_state_of_the_server() {
    let facts = facts(25);
    let first = good(&with("", &["a"]), &fresh("25.12"), &facts).config;
    let lan = document("[lan]\naddress = \"192.168.77.1/24\"");
    let second = good(&lan, &first, &facts).config;
    let file = |config: &Config| Server::of(config).unwrap().file();
    assert!(file(&first).contains("push \"route 192.168.1.0 255.255.255.0\""));
    assert!(file(&second).contains("push \"route 192.168.77.0 255.255.255.0\""));
    assert_ne!(mark(&first), mark(&second));
    let again = good(&lan, &second, &facts).config;
    assert_eq!(lines(&second, &again), [""; 0]);
}

/// On an upgrade to 25.12 OpenWrt copies the server to netifd's package; the list of clients is
/// split.
#[test]
fn a_router_that_becomes_the_next_release_keeps_its_clients() {
    let facts = facts(25);
    let choices = with("port = 443", &["Ana's phone", "Laptop"]);
    let former = good(&choices, &fresh("24.10"), &super::facts(24)).config;
    let mut packages: Vec<_> = former.packages().cloned().collect();
    let network = packages.iter_mut().find(|p| p.name() == "network").unwrap();
    network.set_section("weir", "interface").unwrap();
    let server = Server::of(&former).unwrap();
    for (option, value) in [
        ("proto", "openvpn"),
        ("config", "/etc/openvpn/weir/server.conf"),
        ("port", "443"),
        ("weir_network", "10.72.0.0/24"),
    ] {
        network.set("weir", option, value.as_bytes()).unwrap();
    }
    let copied = Config::new(packages);
    assert_eq!(Server::of(&copied).as_ref(), Some(&server));
    let again = good(&read(&copied), &copied, &facts).config;
    assert_eq!(Server::of(&again).as_ref(), Some(&server));
    assert!(again.has("network", "ovpn0"));
    assert!(!again.has("network", "weir") && !again.has("openvpn", "weir"));
    let off = good(&document("[openvpn]\non = false"), &copied, &facts).config;
    assert!(!off.has("network", "weir") && !off.has("openvpn", "weir"));
}

#[test]
fn what_clients_cannot_be_is_refused() {
    let fresh = fresh("24.10");
    let openvpn = |rest: &str| refused(&format!("[openvpn]\non = true\n{rest}"), &fresh);
    let all = "{name = \"a\"},".repeat(251);
    assert_eq!(openvpn(&format!("clients = [{all}]")).1, "too-many");
    let some = "{name = \"a\"},".repeat(6);
    let small = format!("network = \"10.72.0.0/29\"\nclients = [{some}]");
    assert_eq!(openvpn(&small).1, "too-many");
    assert_eq!(
        openvpn("endpoint = \"a b\""),
        ("openvpn.endpoint".to_owned(), "not-a-name".to_owned())
    );
    for network in [
        "127.0.0.0/24",
        "224.0.0.0/24",
        "240.0.0.0/24",
        "255.255.255.0/24",
        "0.0.0.0/24",
    ] {
        let problem = openvpn(&format!("network = \"{network}\""));
        let wrong = ("openvpn.network", "not-a-network");
        assert_eq!((&*problem.0, &*problem.1), wrong, "{network}");
    }
    for tunnel in ["openvpn", "wireguard"] {
        let text = format!("[{tunnel}]\non = true\nendpoint = \"a.example:1195\"\n");
        let key = "private_key = \"yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\"\n";
        let key = if tunnel == "openvpn" { "" } else { key };
        let (field, problem) = refused(&format!("{text}{key}"), &fresh);
        assert_eq!(
            (field, &*problem),
            (format!("{tunnel}.endpoint"), "not-a-name")
        );
    }
    // The client has no certificate.
    assert_eq!(openvpn("clients = [{name = \"a\"}]").1, "required");
    for (names, problem) in [
        (&["a", "a"][..], "twice"),
        (&["a\nb"], "control-character"),
        (&[""], "required"),
    ] {
        let plan = plan(&with("", names), &fresh, &facts(24));
        assert_eq!(plan.problems[0].problem, problem, "{names:?}");
    }
    let lacks = [("openvpn".to_owned(), "openvpn-openssl".to_owned())];
    let mut bare = facts(24);
    bare.missing.extend(lacks);
    assert_eq!(
        plan(&with("", &[]), &fresh, &bare).problems[0].problem,
        "not-here"
    );
}

/// A client's name appears only in UCI's files; and an entry made by hand instead of a client is
/// not used as a path.
#[test]
fn names_make_no_lines_and_no_paths() {
    let facts = facts(25);
    let names = ["push \"route 0.0.0.0\"", "../../shadow", "\u{645}\u{62d}"];
    let mut config = good(&with("", &names), &fresh("25.12"), &facts).config;
    let server = Server::of(&config).unwrap();
    for (path, text) in server.files() {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '/');
        assert!(path.chars().all(plain) && !path.contains(".."), "{path}");
        assert!(!names.iter().any(|name| text.contains(name)), "{text}");
    }
    for line in [
        "../x y",
        "Ünï y",
        "nothing",
        "push-route-0-0-0-0-0000000000000000 twice",
        "a\nb c",
    ] {
        let mut packages: Vec<_> = config.packages().cloned().collect();
        let network = packages.iter_mut().find(|p| p.name() == "network").unwrap();
        network
            .add_list("ovpn0", "weir_client", line.as_bytes())
            .unwrap();
        config = Config::new(packages);
    }
    assert_eq!(Server::of(&config).unwrap().clients, server.clients);
}

#[test]
fn files_are_as_expected() {
    let choices = with("endpoint = \"[2001:db8::7]\"\nport = 443", &["Ana's phone"]);
    let config = good(&choices, &fresh("23.05"), &facts(23)).config;
    let server = Server::of(&config).unwrap();
    let files = server.files();
    assert_eq!(
        files.iter().map(|(path, _)| &**path).collect::<Vec<_>>(),
        [
            "server.conf",
            "clients/.folder",
            "clients/ana-s-phone-0000000000000000"
        ]
    );
    let keys = Keys {
        authority: "CA\n",
        certificate: "CERT\n",
        key: "KEY\n",
        tls_crypt: "SHARED\n",
    };
    let all = format!("{}\n{}", files[0].1, server.client(&keys));
    let path = super::here("plan").join("openvpn.files");
    if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &all).unwrap();
    }
    assert_eq!(all, std::fs::read_to_string(path).unwrap_or_default());
}

/// New keys in the server's memory change its mark, and clients with files are reported.
#[test]
fn other_keys_are_another_state_of_the_server() {
    let mut facts = facts(25);
    let empty = good(&with("", &[]), &fresh("25.12"), &facts).config;
    let first = good(&with("", &["a"]), &fresh("25.12"), &facts).config;
    facts.openvpn_keys = "00".to_owned();
    let second = good(&with("", &["a"]), &first, &facts);
    assert_ne!(mark(&first), mark(&second.config));
    assert_eq!(said(&second), [""; 0]);
    facts.openvpn_anew = true;
    let lan = document("[lan]\naddress = \"192.168.77.1/24\"");
    assert!(said(&good(&lan, &first, &facts)).contains(&"openvpn-authority"));
    // No client had a file.
    let none = good(&with("", &["a"]), &empty, &facts);
    assert!(!said(&none).contains(&"openvpn-authority"));
}
