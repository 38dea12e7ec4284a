//! A router's own networks and ports do not collide, and each of many routers gets its own.

use std::net::Ipv4Addr;

use uci::Package;
use weir_setup_core::plan::{Config, Facts, plan};

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
    // An equal network, or one that contains it, or another device.
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
    // Also if the document says so, like an exported one.
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
            "port-taken",
        ),
        (
            "[wireguard]\non = true\nport = 1194",
            "wireguard.port",
            "port-taken",
        ),
        (
            "[firewall]\nforwards = [{name = \"a\", port = \"1000-2000\", to = \"192.168.1.2\", \
             protocol = \"udp\"}]",
            "firewall.forwards[0].port",
            "port-taken",
        ),
    ] {
        let told = refused(text, &config);
        assert_eq!((&*told.0, &*told.1), (field, problem), "{text}");
    }
    // An equal port of TCP does not collide.
    let tcp = "[firewall]\nforwards = [{name = \"a\", port = \"1194\", to = \"192.168.1.2\", \
               protocol = \"tcp\"}]";
    good(&document(tcp), &config, &facts(24));
}

/// A fresh router that leads to networks elsewhere: by a tunnel, and by a router in the LAN.
fn with_routes(network: &str) -> Config {
    let fresh = fresh("24.10");
    Config::new(fresh.packages().map(|package| {
        let mut text = package.text();
        if package.name() == "network" {
            text.extend(network.as_bytes());
        }
        Package::read(package.name(), &text).unwrap()
    }))
}

const ROUTES: &str = "\nconfig interface 'vpn'\n\toption proto 'wireguard'\n\
    \toption private_key 'yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk='\n\
    \tlist addresses '10.99.0.2/24'\n\
    \nconfig wireguard_vpn\n\toption route_allowed_ips '1'\n\tlist allowed_ips '0.0.0.0/0'\n\
    \tlist allowed_ips '0.0.0.0/1'\n\tlist allowed_ips '128.0.0.0/1'\n\
    \tlist allowed_ips '::/0'\n\tlist allowed_ips 'fd00:7::/64'\n\
    \tlist allowed_ips '10.99.0.0/24'\n\tlist allowed_ips '192.168.7.0/24'\n\
    \tlist allowed_ips '192.168.50.0/24'\n\tlist allowed_ips '10.71.0.0/24'\n\
    \tlist allowed_ips '172.30.0.9'\n\
    \nconfig wireguard_vpn\n\tlist allowed_ips '192.168.8.0/24'\n\
    \nconfig route\n\toption interface 'lan'\n\toption target '192.168.77.0/24'\n\
    \toption gateway '192.168.1.5'\n\
    \nconfig route\n\toption interface 'lan'\n\toption target '10.77.0.0'\n\
    \toption netmask '255.255.0.0'\n\toption gateway '192.168.1.5'\n\
    \nconfig route\n\toption interface 'loopback'\n\toption target '10.0.0.0/8'\n\
    \toption type 'unreachable'\n\
    \nconfig route\n\toption interface 'lan'\n\toption target '192.168.10.0/24'\n\
    \toption table '100'\n\
    \nconfig route\n\toption interface 'gone'\n\toption target '192.168.11.0/24'\n\
    \nconfig route6\n\toption interface 'lan'\n\toption target 'fd00:8::/64'\n\
    \nconfig interface 'cameras'\n\toption device 'eth3'\n\toption proto 'static'\n\
    \tlist ipaddr '192.168.51.1/24'\n\tlist ipaddr '192.168.52.1/24'\n";

#[test]
fn networks_that_routes_lead_to_are_taken() {
    let config = with_routes(ROUTES);
    let key = "private_key = \"yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\"";
    let wireguard =
        |address: &str| format!("[wireguard]\non = true\n{key}\naddress = \"{address}\"");
    let lan = |address: &str| format!("[lan]\naddress = \"{address}\"");
    for (text, field, what) in [
        (
            lan("192.168.7.1/24"),
            "lan.address",
            "192.168.7.0/24, which network.vpn leads to",
        ),
        (lan("192.168.0.1/16"), "lan.address", "192.168.51.0/24"),
        (
            lan("172.30.0.1/24"),
            "lan.address",
            "172.30.0.9/32, which network.vpn leads to",
        ),
        (
            lan("192.168.77.1/24"),
            "lan.address",
            "192.168.77.0/24, which network.lan leads to",
        ),
        (
            lan("10.77.3.1/24"),
            "lan.address",
            "10.77.0.0/16, which network.lan leads to",
        ),
        (
            wireguard("10.71.0.1/24"),
            "wireguard.address",
            "10.71.0.0/24, which network.vpn leads to",
        ),
        (
            "[openvpn]\non = true\nnetwork = \"192.168.77.0/24\"".to_owned(),
            "openvpn.network",
            "192.168.77.0/24, which network.lan leads to",
        ),
    ] {
        let found = plan(&document(&text), &config, &facts(24)).problems;
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        let problem = &found[0];
        assert_eq!(
            (&*problem.field, &*problem.problem),
            (field, "overlaps"),
            "{text}"
        );
        if !what.starts_with("192.168.51") {
            assert_eq!(problem.values["what"], what, "{text}");
        }
        // Both that weir proposes elsewhere are taken here.
        let free = match field {
            "openvpn.network" => "192.168.2.0/24",
            _ => "192.168.2.1/24",
        };
        assert_eq!(
            problem.hint,
            format!("use a free one, such as {free}"),
            "{text}"
        );
    }
    for fine in [
        "192.168.2.1/24",
        // Without `route_allowed_ips`, in another table, without an interface, or no way at all.
        "192.168.8.1/24",
        "192.168.10.1/24",
        "192.168.11.1/24",
        "10.55.0.1/24",
    ] {
        good(&document(&lan(fine)), &config, &facts(24));
    }
    good(&document(&wireguard("10.73.0.1/24")), &config, &facts(24));
    let guests = "[wifi]\nnetworks = [{ ssid = \"g\", security = \"open\", for = \"guest\" }]";
    let plan = good(&document(guests), &config, &facts(24));
    assert_eq!(
        plan.config.get("network", "guest", "ipaddr").unwrap(),
        "192.168.53.1"
    );
}

#[test]
fn a_network_in_a_part_of_what_a_route_leads_to_stays_and_may_move_there() {
    let wide = "\nconfig route\n\toption interface 'lan'\n\toption target '192.168.0.0/16'\n\
        \nconfig route\n\toption interface 'lan'\n\toption target '10.0.0.0/8'\n\
        \nconfig route\n\toption interface 'lan'\n\toption target '172.16.0.0/12'\n";
    let config = with_routes(wide);
    let lan = |address: &str| document(&format!("[lan]\naddress = \"{address}\""));
    good(&lan("192.168.1.1/24"), &config, &facts(24));
    good(&lan("192.168.3.1/24"), &config, &facts(24));
    let found = plan(&lan("10.3.0.1/24"), &config, &facts(24)).problems;
    assert_eq!(found[0].hint, "use a free one");
    // Guests get a network nevertheless: the wizard has no choice of another one.
    let guests = "[wifi]\nnetworks = [{ ssid = \"g\", security = \"open\", for = \"guest\" }]";
    let plan = good(&document(guests), &config, &facts(24));
    assert_eq!(
        plan.config.get("network", "guest", "ipaddr").unwrap(),
        "192.168.50.1"
    );
}

/// The firewall forwards a port before the router itself gets it.
#[test]
fn the_port_of_a_tunnel_made_by_hand_is_not_forwarded() {
    let vpn = ROUTES.replace(
        "proto 'wireguard'",
        "proto 'wireguard'\n\toption listen_port '51821'",
    );
    let config = with_routes(&vpn);
    let forward = |protocol: &str, port: &str| {
        document(&format!(
            "[firewall]\nforwards = [{{ name = \"x\", protocol = \"{protocol}\", port = \"{port}\", \
             to = \"192.168.1.9\" }}]"
        ))
    };
    for (protocol, port) in [("udp", "51821"), ("both", "51000-52000")] {
        let found = plan(&forward(protocol, port), &config, &facts(24)).problems;
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "firewall.forwards[0].port: the tunnel vpn already has that port; use another port, or \
              free that one first"
            ]
        );
    }
    good(&forward("tcp", "51821"), &config, &facts(24));
    good(&forward("udp", "51820"), &config, &facts(24));
    // A tunnel that is off, or chooses its own port, has no fixed port.
    let off = vpn.replace(
        "proto 'wireguard'",
        "proto 'wireguard'\n\toption disabled '1'",
    );
    good(&forward("udp", "51821"), &with_routes(&off), &facts(24));
    good(&forward("udp", "51821"), &with_routes(ROUTES), &facts(24));
    // Former settings stay.
    let there = format!("{vpn}\nconfig interface 'other'\n\toption proto 'none'\n");
    let forwarded = good(&forward("udp", "51821"), &with_routes(ROUTES), &facts(24)).config;
    let both = Config::new(forwarded.packages().map(|package| match package.name() {
        "network" => with_routes(&there).package("network").unwrap().clone(),
        _ => package.clone(),
    }));
    good(&forward("udp", "51821"), &both, &facts(24));
    // The wizard's own tunnel says who has its port.
    let wireguard = "[wireguard]\non = true\naddress = \"10.73.0.1/24\"\nport = 51821\n\
        private_key = \"yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\"";
    let found = plan(&document(wireguard), &forwarded, &facts(24)).problems;
    assert_eq!(
        (&*found[0].field, &*found[0].values["name"]),
        ("wireguard.port", "x")
    );
    let found = plan(&document(wireguard), &config, &facts(24)).problems;
    assert_eq!(
        (&*found[0].field, &*found[0].values["name"]),
        ("wireguard.port", "the tunnel vpn")
    );
}

/// The provider's network is part of the networks behind it.
#[test]
fn a_fixed_uplink_may_be_in_a_network_that_it_leads_to() {
    let mut config = fresh("24.10");
    let route = config.add("network", "route");
    for (option, value) in [
        ("interface", "wan"),
        ("target", "10.0.0.0/8"),
        ("gateway", "10.5.0.1"),
    ] {
        config.set("network", &route, option, value);
    }
    let fixed = "[internet]\nkind = \"static\"\naddress = \"10.5.0.2/24\"\n\
                 gateway = \"10.5.0.1\"\ndns = [\"10.5.0.1\"]";
    good(&document(fixed), &config, &facts(24));
    let inside = "[lan]\naddress = \"10.5.0.2/24\"";
    assert_eq!(refused(inside, &config).1, "overlaps");
}
