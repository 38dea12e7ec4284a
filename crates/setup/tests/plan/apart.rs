//! What a router has of its own: networks and ports that nothing else takes; of many, each its own.

use std::net::Ipv4Addr;

use weir_setup::plan::{Facts, plan};

use super::{choices, document, facts, fresh, good, refused};

#[test]
fn one_document_gives_each_node_its_own_name_and_address() {
    let many = choices("many.toml");
    let node = |mac| plan(&many, &fresh("24.10"), &Facts { mac, ..facts(24) });
    let own = |last| {
        let node = node(Some([2, 0, 0x5e, 0x10, 0, last]));
        let address = node.config.get("network", "lan", "ipaddr").unwrap();
        let address: Ipv4Addr = address.parse().unwrap();
        (node.sentences[0].says.clone(), u32::from(address) & 0xffff)
    };
    let (name, number) = own(7);
    assert_eq!(name, "The router is called roof-100007.");
    let (other, next) = own(8);
    assert!(name != other && number != next);
    // Not among the addresses that others get.
    assert!(!(1024..61_024).contains(&number), "{number}");
    let nobody = node(None).problems;
    let fields: Vec<&str> = nobody.iter().map(|problem| &*problem.field).collect();
    assert_eq!(fields, ["router.name", "lan.address"]);
}

#[test]
fn a_forwarded_port_is_not_left_behind_by_another_network_inside() {
    let forwards = "[firewall]\nforwards = [{name = \"a\", port = \"80\", to = \"192.168.1.2\"}]";
    let config = good(&document(forwards), &fresh("24.10"), &facts(24)).config;
    let (field, problem) = refused("[lan]\naddress = \"10.0.0.1/8\"", &config);
    assert_eq!((&*field, &*problem), ("lan.address", "leaves-forward"));
    // The same network, or one that holds it, or another device.
    for text in [
        "[lan]\naddress = \"192.168.1.9/24\"",
        "[lan]\naddress = \"192.168.0.1/16\"",
        "[lan]\naddress = \"10.0.0.1/8\"\n[firewall]\nforwards = []",
    ] {
        good(&document(text), &config, &facts(24));
    }
    let taken = "[lan]\naddress = \"192.168.1.2/24\"";
    assert_eq!(refused(taken, &config).1, "takes-forward");
}

#[test]
fn a_port_for_a_second_subnet_lets_the_network_inside_move() {
    let forward = "forwards = [{name = \"a\", port = \"80\", to = \"192.168.1.2\"}]";
    let text = format!("[firewall]\n{forward}");
    let mut config = good(&document(&text), &fresh("24.10"), &facts(24)).config;
    let redirect = config.of_type("firewall", "redirect").next();
    let section = redirect.map(|section| section.name.clone()).unwrap();
    config.set("firewall", &section, "dest_ip", "192.168.8.2");
    let moved = "[lan]\naddress = \"10.0.0.1/8\"";
    good(&document(moved), &config, &facts(24));
    // Also if the document says so, as an exported one does.
    let same = forward.replace("192.168.1.2", "192.168.8.2");
    let both = format!("{moved}\n[firewall]\n{same}");
    good(&document(&both), &config, &facts(24));
    let other = both.replace("192.168.8.2", "192.168.8.3");
    let (field, problem) = refused(&other, &config);
    assert_eq!(
        (&*field, &*problem),
        ("firewall.forwards[0].to", "outside-network")
    );
    assert_eq!(
        refused("[lan]\naddress = \"192.168.8.2/24\"", &config).1,
        "takes-forward"
    );
}

#[test]
fn networks_and_ports_of_the_routers_own_are_kept_apart() {
    let on = "[wireguard]\non = true\nprivate_key = \"yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\"\n\
              [openvpn]\non = true";
    let config = good(&document(on), &fresh("24.10"), &facts(24)).config;
    for (text, field, problem) in [
        (
            "[lan]\naddress = \"10.72.0.1/24\"",
            "lan.address",
            "overlaps",
        ),
        ("[lan]\naddress = \"10.0.0.1/8\"", "lan.address", "overlaps"),
        (
            "[wireguard]\non = true\naddress = \"10.72.0.1/24\"",
            "wireguard.address",
            "overlaps",
        ),
        (
            "[openvpn]\non = true\nnetwork = \"10.71.0.0/24\"",
            "openvpn.network",
            "overlaps",
        ),
        (
            "[internet]\nkind = \"static\"\naddress = \"10.72.0.9/24\"\ngateway = \"10.72.0.1\"\n\
             dns = [\"10.72.0.1\"]",
            "internet.address",
            "overlaps",
        ),
        (
            "[openvpn]\non = true\nport = 51820",
            "openvpn.port",
            "twice",
        ),
        (
            "[wireguard]\non = true\nport = 1194",
            "wireguard.port",
            "twice",
        ),
        (
            "[firewall]\nforwards = [{name = \"a\", port = \"1000-2000\", to = \"192.168.1.2\", \
             protocol = \"udp\"}]",
            "firewall.forwards[0].port",
            "twice",
        ),
    ] {
        let told = refused(text, &config);
        assert_eq!((&*told.0, &*told.1), (field, problem), "{text}");
    }
    // The same port of TCP is another one.
    let tcp = "[firewall]\nforwards = [{name = \"a\", port = \"1194\", to = \"192.168.1.2\", \
               protocol = \"tcp\"}]";
    good(&document(tcp), &config, &facts(24));
}
