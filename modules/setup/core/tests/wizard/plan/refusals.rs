//! Changes that are refused, or said in the summary, because they would cut the router or its
//! guests off.

use uci::Package;
use weir_setup_core::choices::Choices;
use weir_setup_core::plan::{Config, Facts, Ipv4Cidr, Plan, plan};

use super::{document, facts, fresh, good, lines, refused};

/// A fresh router with more sections in some packages.
fn with(more: &[(&str, &str)]) -> Config {
    let config = fresh("24.10");
    Config::new(config.packages().map(|package| {
        let mut text = package.text();
        let all = more.iter().filter(|(name, _)| *name == package.name());
        for (_, more) in all {
            text.extend(more.as_bytes());
        }
        Package::read(package.name(), &text).unwrap()
    }))
}

fn problems(choices: &Choices, config: &Config) -> Vec<String> {
    let plan = plan(choices, config, &facts(24));
    let text = |problem: &weir_setup_core::plan::Problem| problem.to_string();
    plan.problems.iter().map(text).collect()
}

/// `echo SSID | md5sum | head -c 4`
const LINDE: &str = "2c08";
const OPENWRT: &str = "aaf5";

fn said(plan: &Plan) -> Vec<&str> {
    plan.sentences.iter().map(|said| &*said.says).collect()
}

const GUEST: &str = "\nconfig interface 'guest'\n\toption device 'br-lan.20'\n\
    \toption proto 'static'\n\toption ipaddr '192.168.20.1'\n\toption netmask '255.255.255.0'\n";
const FOR_GUESTS: &str =
    "[wifi]\nnetworks = [{ ssid = \"Gäste\", key = \"correct horse\", for = \"guest\" }]";

#[test]
fn guests_are_refused_in_a_network_that_leads_inside() {
    let zone = |networks: &str| {
        format!("\nconfig zone\n\toption name 'guests'\n{networks}\toption input 'REJECT'\n")
    };
    let own = zone("\tlist network 'guest'\n");
    good(
        &document(FOR_GUESTS),
        &with(&[("network", GUEST), ("firewall", &own)]),
        &facts(24),
    );
    let by_device = zone("\tlist device 'br-lan.20'\n\tlist network 'lan'\n");
    let forwarded = |to: &str| {
        format!("{own}\nconfig forwarding\n\toption src 'guests'\n\toption dest '{to}'\n")
    };
    for (network, firewall) in [
        (GUEST, by_device),
        (GUEST, forwarded("lan")),
        (GUEST, forwarded("*")),
        (&*GUEST.replace("br-lan.20", "br-lan"), own.clone()),
        (&*GUEST.replace("br-lan.20", "@lan"), own.clone()),
        (
            &*GUEST.replace("device 'br-lan.20'", "ifname 'br-lan'"),
            own.clone(),
        ),
    ] {
        let config = with(&[("network", network), ("firewall", &firewall)]);
        let (field, problem) = refused(FOR_GUESTS, &config);
        assert_eq!(
            (&*field, &*problem),
            ("wifi.networks[0].for", "guests-inside"),
            "{firewall}"
        );
    }
    let text =
        "\nconfig zone\n\toption name 'inside'\n\tlist network 'guest'\n\tlist network 'lan'\n";
    let config = with(&[("network", GUEST), ("firewall", text)]);
    assert_eq!(
        problems(&document(FOR_GUESTS), &config),
        [
            "wifi.networks[0].for: network.guest is in the firewall zone inside: guests would be \
          inside; give network.guest a device and a firewall zone of its own"
        ]
    );
    // If guests are inside already, the summary says so, and the guests stay.
    let there = "\nconfig wifi-iface 'g'\n\toption device 'radio0'\n\toption network 'guest'\n\
        \toption mode 'ap'\n\toption ssid 'Gäste'\n\toption encryption 'psk2'\n\
        \toption key 'correct horse'\n";
    let config = with(&[("network", GUEST), ("firewall", text), ("wireless", there)]);
    let plan = good(&document(FOR_GUESTS), &config, &facts(24));
    assert!(
        said(&plan).contains(&"network.guest is in the firewall zone inside: guests are inside."),
        "{:?}",
        said(&plan)
    );
}

#[test]
fn an_address_inside_is_not_that_of_another_network() {
    let cameras = "\nconfig interface 'cameras'\n\toption device 'eth3'\n\toption proto 'static'\n\
        \tlist ipaddr '192.168.30.1/24'\n\tlist ipaddr '192.168.31.1/24'\n";
    let config = with(&[("network", cameras)]);
    for address in ["192.168.30.9/24", "192.168.31.2/24", "192.168.0.1/16"] {
        let (field, problem) = refused(&format!("[lan]\naddress = \"{address}\""), &config);
        assert_eq!(
            (&*field, &*problem),
            ("lan.address", "overlaps"),
            "{address}"
        );
    }
    for address in ["169.254.1.1/16", "169.254.7.1/24"] {
        let (field, problem) = refused(&format!("[lan]\naddress = \"{address}\""), &config);
        assert_eq!(
            (&*field, &*problem),
            ("lan.address", "not-a-network"),
            "{address}"
        );
    }
    let said_of = |address: &str| {
        let text = format!("[lan]\naddress = \"{address}\"");
        let plan = good(&document(&text), &config, &facts(24));
        let words: Vec<&str> = plan.sentences.iter().map(|s| &*s.sentence).collect();
        words.contains(&"lan-public")
    };
    assert!(said_of("8.8.8.1/24") && said_of("172.32.0.1/16") && said_of("193.0.0.1/24"));
    for private in [
        "10.1.2.3/8",
        "172.31.0.1/16",
        "192.168.77.1/24",
        "100.64.0.1/10",
    ] {
        assert!(!said_of(private), "{private}");
    }
    // The network that the uplink has right now.
    let uplink = vec![Ipv4Cidr::read("192.168.178.20/24").unwrap()];
    let facts = Facts {
        uplink,
        ..facts(24)
    };
    let choices = document("[lan]\naddress = \"192.168.178.1/24\"");
    let found = plan(&choices, &config, &facts).problems;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].values["what"],
        "192.168.178.0/24, where the Internet comes from"
    );
    // The uplink has that network no longer, as the Internet comes from elsewhere.
    for internet in [
        "kind = \"dhcp\"\nport = \"eth7\"",
        "kind = \"static\"\naddress = \"198.51.100.7/24\"\ngateway = \"198.51.100.1\"\n\
         dns = [\"9.9.9.9\"]",
    ] {
        let text = format!("[lan]\naddress = \"192.168.178.1/24\"\n[internet]\n{internet}");
        good(&document(&text), &config, &facts);
    }
    good(
        &document("[lan]\naddress = \"192.168.77.1/24\""),
        &config,
        &facts,
    );
}

#[test]
fn the_router_does_not_ask_itself_for_names() {
    let config = fresh("24.10");
    for server in [
        "192.168.1.1",
        "127.0.0.1",
        "::1",
        "0.0.0.0",
        "::ffff:127.0.0.1",
    ] {
        let text = format!("[dns]\nserver = \"own\"\nservers = [\"9.9.9.9\", \"{server}\"]");
        let (field, problem) = refused(&text, &config);
        assert_eq!(
            (&*field, &*problem),
            ("dns.servers", "asks-itself"),
            "{server}"
        );
    }
    // Of the address that the router gets by the same document, or by a later one.
    let text =
        "[lan]\naddress = \"10.9.0.2/24\"\n[dns]\nserver = \"own\"\nservers = [\"10.9.0.2\"]";
    assert_eq!(
        refused(text, &config),
        ("dns.servers".into(), "asks-itself".into())
    );
    let text = "[dns]\nserver = \"own\"\nservers = [\"10.9.0.2\"]";
    let config = good(&document(text), &config, &facts(24)).config;
    let text = "[lan]\naddress = \"10.9.0.2/24\"";
    assert_eq!(
        refused(text, &config),
        ("lan.address".into(), "asks-itself".into())
    );
}

/// A tunnel's addresses are in `addresses`, and an interface may have several.
#[test]
fn no_name_server_is_an_address_of_a_tunnel_or_of_several_devices() {
    let vpn = "\nconfig interface 'vpn'\n\toption proto 'wireguard'\n\
        \tlist addresses '10.99.0.2/24'\n\tlist addresses 'fd00:9::2/64'\n\
        \nconfig interface 'old'\n\toption proto 'wireguard'\n\toption addresses '10.98.0.2/24'\n\
        \nconfig interface 'cameras'\n\toption proto 'static'\n\
        \tlist ipaddr '192.168.30.1/24'\n\tlist ipaddr '192.168.31.1/24'\n\
        \tlist ip6addr 'fd00:a::1/64'\n\tlist ip6addr 'fd00:b::1/64'\n";
    let config = with(&[("network", vpn)]);
    let own = |server: &str| format!("[dns]\nserver = \"own\"\nservers = [\"{server}\"]");
    for (server, problem) in [
        ("10.99.0.2", "asks-itself"),
        ("fd00:9::2", "asks-itself"),
        ("10.98.0.2", "asks-itself"),
        ("192.168.31.1", "asks-itself"),
        ("fd00:b::1", "asks-itself"),
        ("::ffff:10.99.0.2", "asks-itself"),
        ("224.0.0.1", "not-one-device"),
        ("255.255.255.255", "not-one-device"),
        ("240.0.0.1", "not-one-device"),
        ("0.0.0.7", "not-one-device"),
        ("fe80::1", "not-one-device"),
        ("ff02::1", "not-one-device"),
    ] {
        let told = refused(&own(server), &config);
        assert_eq!(told, ("dns.servers".into(), problem.into()), "{server}");
        let fixed = format!(
            "[internet]\nkind = \"static\"\naddress = \"198.51.100.7/24\"\n\
             gateway = \"198.51.100.1\"\ndns = [\"{server}\"]"
        );
        let told = refused(&fixed, &config);
        assert_eq!(told, ("internet.dns".into(), problem.into()), "{server}");
    }
    for server in ["10.99.0.3", "fd00:9::3", "192.168.30.7", "2620:fe::9"] {
        good(&document(&own(server)), &config, &facts(24));
    }
    // A tunnel that gets the address of a name server, in the same document or a later one.
    let tunnel = "[wireguard]\non = true\naddress = \"10.73.0.1/24\"\n\
        private_key = \"yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\"\n";
    let server = own("10.73.0.1");
    let later = good(&document(&server), &config, &facts(24)).config;
    for (text, config) in [
        (format!("{tunnel}{server}"), &config),
        (tunnel.into(), &later),
    ] {
        let told = refused(&text, config);
        assert_eq!(told, ("wireguard.address".into(), "asks-itself".into()));
    }
    // Existing settings stay.
    let there = "\nconfig dnsmasq\n\toption noresolv '1'\n\tlist server '10.99.0.2'\n\
        \tlist server 'fe80::1'\n";
    let dhcp = Package::read("dhcp", there.as_bytes()).unwrap();
    let others = config.packages().filter(|package| package.name() != "dhcp");
    let config = Config::new(others.cloned().chain([dhcp]));
    let text = "[dns]\nserver = \"own\"\nservers = [\"10.99.0.2\", \"fe80::1\", \"9.9.9.9\"]";
    good(&document(text), &config, &facts(24));
}

fn forwards(all: &[(&str, &str, &str)]) -> String {
    let all = all.iter().map(|(name, protocol, port)| {
        format!(
            "{{ name = '{name}', protocol = '{protocol}', port = '{port}', to = '192.168.1.9' }}"
        )
    });
    format!(
        "[firewall]\nforwards = [{}]",
        all.collect::<Vec<_>>().join(", ")
    )
}

#[test]
fn a_port_outside_leads_to_one_device() {
    let config = fresh("24.10");
    for (protocol, port) in [("tcp", "80"), ("both", "79-81"), ("tcp", "80-90")] {
        let text = forwards(&[("web", "tcp", "80"), ("other", protocol, port)]);
        let found = problems(&document(&text), &config);
        assert_eq!(
            found,
            [
                "firewall.forwards[1].port: web already has that port; use another port, or free \
              that one first"
            ],
            "{protocol} {port}"
        );
    }
    let apart = forwards(&[
        ("web", "tcp", "80"),
        ("dns", "udp", "80"),
        ("b", "tcp", "81-90"),
    ]);
    good(&document(&apart), &config, &facts(24));
    // A forward by hand, which the wizard does not know. Forwards for some senders alone are
    // another matter.
    let redirect = |more: &str| {
        format!(
            "\nconfig redirect\n\toption name 'by hand'\n\toption src 'wan'\n\toption dest 'lan'\n\
             \toption src_dport '8000:8010'\n\toption dest_ip '192.168.1.7'\n\
             \toption reflection '0'\n{more}"
        )
    };
    let text = forwards(&[("web", "tcp", "8005")]);
    let config = with(&[("firewall", &redirect(""))]);
    assert_eq!(
        refused(&text, &config),
        ("firewall.forwards[0].port".into(), "port-taken".into())
    );
    for (proto, src_dport, met) in [
        ("6", "8005", true),
        ("17", "8005", false),
        ("TCP", "8005", true),
        ("!udp", "8005", true),
        ("!tcp", "8005", false),
        ("1 6", "8005", true),
        ("*", "8005", true),
        ("tcp", "!7016", true),
        ("tcp", "! 7016", true),
        ("tcp", "!8000:8010", false),
        ("tcp", "!1", true),
        ("tcp", "!65535", true),
        ("tcp", "!8005", false),
        ("udp", "!7016", false),
    ] {
        let text =
            redirect("").replace("8000:8010", src_dport) + &format!("\toption proto '{proto}'\n");
        let config = with(&[("firewall", &text)]);
        let found = plan(
            &document(&forwards(&[("web", "tcp", "8005")])),
            &config,
            &facts(24),
        );
        let found: Vec<&str> = found.problems.iter().map(|one| &*one.problem).collect();
        let wanted: &[&str] = if met { &["port-taken"] } else { &[] };
        assert_eq!(found, wanted, "{proto} {src_dport}");
    }
    let config = with(&[("firewall", &redirect("\toption src_ip '192.0.2.1'\n"))]);
    good(&document(&text), &config, &facts(24));
}

#[test]
fn no_port_leads_to_all_devices_of_the_network() {
    let config = fresh("24.10");
    let to = |address: &str| forwards(&[("web", "tcp", "80")]).replace("192.168.1.9", address);
    for address in ["192.168.1.0", "192.168.1.255"] {
        let told = refused(&to(address), &config);
        assert_eq!(
            told,
            ("firewall.forwards[0].to".into(), "not-one-device".into())
        );
    }
    good(&document(&to("192.168.1.254")), &config, &facts(24));
    // In another network it may become the last address.
    let there = good(&document(&to("192.168.1.127")), &config, &facts(24)).config;
    let moved = "[lan]\naddress = \"192.168.1.1/25\"\nfirst = 10\ncount = 20";
    let told = refused(moved, &there);
    assert_eq!(told, ("lan.address".into(), "leaves-forward".into()));
    let told = refused(&format!("{moved}\n{}", to("192.168.1.127")), &there);
    assert_eq!(
        told,
        ("firewall.forwards[0].to".into(), "not-one-device".into())
    );
}

/// An existing forward to all devices, such as one that wakes them up, stays.
#[test]
fn a_port_that_leads_to_all_devices_already_stays() {
    let text = forwards(&[("wake", "udp", "9")]);
    let mut there = good(&document(&text), &fresh("24.10"), &facts(24)).config;
    let redirect = there.of_type("firewall", "redirect").next();
    let section = redirect.map(|section| section.name.clone()).unwrap();
    there.set("firewall", &section, "dest_ip", "192.168.1.255");
    let moved = "[lan]\naddress = \"192.168.1.2/24\"";
    good(&document(moved), &there, &facts(24));
    let same = text.replace("192.168.1.9", "192.168.1.255");
    good(&document(&format!("{moved}\n{same}")), &there, &facts(24));
}

/// fw4 of 23.05 puts a backslash before both, and nft knows none: the first one ends the string,
/// and 54 of the second are too long for a comment.
#[test]
fn names_in_the_firewall_have_no_quotation_marks() {
    let config = fresh("23.05");
    for bad in ["a\"b", "\"", "a\\", "\\\\"] {
        let forward = forwards(&[(bad, "tcp", "80")]);
        let name = bad.replace('\\', "\\\\").replace('"', "\\\"");
        let blocked =
            format!("[firewall]\nblocked = [{{ name = \"{name}\", mac = \"02:00:5e:10:00:09\" }}]");
        for (text, list) in [(forward, "forwards"), (blocked, "blocked")] {
            assert_eq!(
                refused(&text, &config),
                (format!("firewall.{list}[0].name"), "unquotable".into()),
                "{text}"
            );
        }
    }
    for fine in ["Zur Linde: #1 {$x} `y` %s", "Ünï; côde", "it is 'fine'"] {
        let text = forwards(&[(&fine.replace('\'', "’"), "tcp", "80")]);
        good(&document(&text), &config, &facts(23));
    }
    // A forward that is there already stays as it is.
    let there = "\nconfig redirect\n\toption name 'a\"b'\n\toption src 'wan'\n\toption dest 'lan'\n\
        \toption proto 'tcp'\n\toption src_dport '80'\n\toption dest_ip '192.168.1.9'\n\
        \toption target 'DNAT'\n";
    let config = with(&[("firewall", there)]);
    let plan = good(
        &document(&forwards(&[("a\"b", "tcp", "80")])),
        &config,
        &facts(24),
    );
    assert_eq!(lines(&config, &plan.config), [""; 0]);
}

#[test]
fn a_country_is_one_that_there_is() {
    let config = fresh("24.10");
    let country = |text: &str| document(&format!("[wifi]\ncountry = \"{text}\""));
    for text in ["DE", "de", "Germany", "germany"] {
        let plan = good(&country(text), &config, &facts(24));
        assert_eq!(
            plan.config.get("wireless", "radio0", "country").unwrap(),
            "DE"
        );
    }
    let uk = problems(&country("UK"), &config);
    assert_eq!(
        uk,
        ["wifi.country: not a country of ISO 3166; the code of that country is GB"]
    );
    for wrong in ["ZZ", "XX", "DEU", "Germania", "00"] {
        let found = problems(&country(wrong), &config);
        assert_eq!(
            found,
            [
                "wifi.country: not a country of ISO 3166; use a code or a name: DE or \
              Germany"
            ],
            "{wrong}"
        );
    }
    // A code that the router has already stays.
    let mut odd = config.clone();
    let text = odd.package("wireless").unwrap().text();
    let mut wireless = Package::read("wireless", &text).unwrap();
    wireless.set("radio0", "country", b"00").unwrap();
    let others = odd
        .packages()
        .filter(|package| package.name() != "wireless");
    odd = Config::new(others.cloned().chain([wireless]));
    let plan = good(&country("00"), &odd, &facts(24));
    assert_eq!(lines(&odd, &plan.config), [""; 0]);
}

#[test]
fn a_mistake_is_one_problem() {
    let config = fresh("24.10");
    for (text, field) in [
        ("[internet]\nvlan = 5000", "internet.vlan"),
        (
            "[lan]\naddress = \"10.0.0.1\"\n[firewall]\nforwards = [{ name = 'a', port = '80', to = \
             '10.0.0.9' }]",
            "lan.address",
        ),
        (
            "[wifi]\nnetworks = [{ ssid = 'a', key = '12345678' }, { ssid = 'a', key = '12345678' }]",
            "wifi.networks[1].ssid",
        ),
    ] {
        let found = plan(&document(text), &config, &facts(24)).problems;
        let fields: Vec<&str> = found.iter().map(|problem| &*problem.field).collect();
        assert_eq!(fields, [field], "{found:?}");
        assert!(!found[0].hint.contains("install"), "{found:?}");
    }
}

#[test]
fn an_existing_domain_of_roaming_stays() {
    let text =
        "[wifi]\nnetworks = [{ ssid = \"Zur Linde\", key = \"correct horse\", roaming = true }]";
    let config = good(&document(text), &fresh("24.10"), &facts(24)).config;
    let of = |config: &Config| -> Vec<Option<String>> {
        let all = config.of_type("wireless", "wifi-iface");
        let domain = |name: &str| config.get("wireless", name, "mobility_domain");
        all.map(|section| domain(&section.name)).collect()
    };
    let default = of(&config);
    assert!(
        default
            .iter()
            .all(|domain| domain.as_deref() == Some(LINDE)),
        "{default:?}"
    );
    // The default follows the name.
    let other = text.replace("Zur Linde", "OpenWrt");
    let renamed = good(&document(&other), &config, &facts(24)).config;
    assert!(
        of(&renamed)
            .iter()
            .all(|domain| domain.as_deref() == Some(OPENWRT))
    );
    // Set manually, or left to hostapd, the domain stays.
    let by_hand = |domain: &str| {
        let text = config.package("wireless").unwrap().text();
        let text = String::from_utf8(text).unwrap();
        let line = format!("\toption mobility_domain '{LINDE}'\n");
        let wireless = Package::read("wireless", text.replace(&line, domain).as_bytes()).unwrap();
        let others = config
            .packages()
            .filter(|package| package.name() != "wireless");
        Config::new(others.cloned().chain([wireless]))
    };
    for domain in ["\toption mobility_domain 'beef'\n", ""] {
        let before = by_hand(domain);
        let plan = good(&document(text), &before, &facts(24));
        assert_eq!(lines(&before, &plan.config), [""; 0], "{domain}");
    }
}

#[test]
fn the_summary_says_only_what_changes() {
    let home = "[router]\nname = \"linde\"\nplace = [\"52.5\", \"13.4\"]\n[internet]\nkind = \"dhcp\"\n\
        [dns]\nserver = \"own\"\nservers = [\"9.9.9.9\"]\n[mesh]\nkind = \"batman\"\nname = \"m\"\n";
    let config = good(&document(home), &fresh("24.10"), &facts(24)).config;
    let says = |from: &str, to: &str| {
        let plan = good(&document(&home.replace(from, to)), &config, &facts(24));
        said(&plan)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(says("", ""), [""; 0]);
    assert_eq!(says("linde", "erle"), ["The router is called erle."]);
    assert_eq!(says("13.4", "13.5"), ["It stands at 52.5, 13.5."]);
    assert_eq!(
        says("\"dhcp\"\n", "\"dhcp\"\nipv6 = false\n"),
        ["No IPv6 is asked for."]
    );
    assert_eq!(
        says("9.9.9.9", "149.112.112.112"),
        ["The router asks 149.112.112.112 for names."]
    );
}
