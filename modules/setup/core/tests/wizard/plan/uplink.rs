//! The port of the uplink, on routers of every form of UCI.

use uci::Package;
use weir_setup_core::plan::{Config, plan};
use weir_setup_core::read;

use super::{document, facts, fresh, good, lines, refused};

/// A fresh router with another `network`.
fn router(network: &str) -> Config {
    let others = fresh("24.10");
    let network = Package::read("network", network.as_bytes()).unwrap();
    let others = others.packages().filter(|one| one.name() != "network");
    Config::new(others.cloned().chain([network]))
}

const DSA: &str = "config device\n\toption name 'br-lan'\n\toption type 'bridge'\n\
    \tlist ports 'lan1'\n\tlist ports 'wan'\n\
    config interface 'lan'\n\toption device 'br-lan'\n\toption proto 'dhcp'\n";

#[test]
fn the_default_port_of_the_internet_is_none_of_a_bridge_either() {
    let filtering = "config device\n\toption name 'br-lan'\n\toption type 'bridge'\n\
        \tlist ports 'lan1'\n\
        config bridge-vlan\n\toption device 'br-lan'\n\toption vlan '1'\n\
        \tlist ports 'lan1:u*'\n\tlist ports 'wan:t'\n\
        config interface 'lan'\n\toption device 'br-lan.1'\n\toption proto 'dhcp'\n";
    let old = "config interface 'lan'\n\toption type 'bridge'\n\toption ifname 'eth0 wan'\n\
        \toption proto 'static'\n\toption ipaddr '192.168.1.1/24'\n\
        config interface 'wan'\n\toption proto 'none'\n";
    let guest = DSA.replace("'lan'", "'iot'");
    for (network, name) in [
        (DSA, "lan"),
        (filtering, "lan"),
        (&filtering.replace("wan:t", "wan:u*"), "lan"),
        (&filtering.replace("wan:t", "wan"), "lan"),
        (old, "lan"),
        (&guest, "iot"),
        // A port that is in the configuration alone.
        (
            &*format!(
                "{}config interface 'wan'\n\toption device 'eth9'\n\toption proto 'none'\n",
                DSA.replace("'wan'", "'eth9'")
            ),
            "lan",
        ),
    ] {
        let config = router(network);
        let port = if network.contains("eth9") {
            "eth9"
        } else {
            "wan"
        };
        for text in [
            "kind = \"dhcp\"".to_owned(),
            "kind = \"dhcp\"\nvlan = 7".to_owned(),
            format!("kind = \"dhcp\"\nport = \"{port}\""),
            "kind = \"pppoe\"\nusername = \"a\"\npassword = \"b\"".to_owned(),
        ] {
            let text = format!("[internet]\n{text}");
            // A VLAN has its own frames, whatever bridge the port is in.
            if name != "lan" && text.contains("vlan") {
                good(&document(&text), &config, &facts(24));
                continue;
            }
            let found = plan(&document(&text), &config, &facts(24)).problems;
            assert_eq!(found.len(), 1, "{text}\n{network}\n{found:?}");
            assert_eq!(
                (
                    &*found[0].field,
                    &*found[0].values["port"],
                    &*found[0].values["network"]
                ),
                ("internet.port", port, name),
                "{text}\n{network}"
            );
        }
        // Without an uplink, nothing has to be separated.
        good(
            &document("[internet]\nkind = \"none\""),
            &config,
            &facts(24),
        );
        good(&document("[router]\nname = \"a\""), &config, &facts(24));
    }
    let found = plan(
        &document("[internet]\nkind = \"dhcp\""),
        &router(DSA),
        &facts(24),
    );
    assert_eq!(
        found.problems[0].to_string(),
        "internet.port: wan is a port of network.lan, which the provider would be in, and cannot be \
         the Internet's too; remove wan from network.lan first, or name another port"
    );
}

#[test]
fn an_uplink_beside_other_networks_is_taken() {
    // Bridges of other networks, unused bridges, and the provider's other VLANs.
    let wan = "config interface 'wan'\n\toption device 'wan'\n\toption proto 'none'\n";
    let lan = DSA.replace("\tlist ports 'wan'\n", "");
    let unused = lan.replace("br-lan", "br-old").replace("lan1", "wan");
    let unused = unused.split("config interface").next().unwrap();
    for network in [
        format!("{lan}{wan}"),
        format!("{lan}{wan}{unused}"),
        format!("{}{wan}", DSA.replace("'wan'", "'wan.8'")),
        format!(
            "{lan}{wan}config interface 'modem'\n\toption device 'wan'\n\toption proto 'static'\n"
        ),
        format!(
            "{}\toption disabled '1'\n{wan}",
            DSA.replace("'lan'", "'off'")
        ),
    ] {
        let text = "[internet]\nkind = \"dhcp\"";
        good(&document(text), &router(&network), &facts(24));
    }
    let text = "[internet]\nkind = \"dhcp\"\nvlan = 8";
    let same = format!("{}{wan}", DSA.replace("'wan'", "'wan.8'"));
    assert_eq!(refused(text, &router(&same)).1, "port-inside");
    // Such an uplink stays, and its other settings change.
    let there = format!("{DSA}{}", wan.replace("none", "dhcp"));
    let config = router(&there);
    for text in ["vlan = 7", "ipv6 = false"] {
        good(
            &document(&format!("[internet]\n{text}")),
            &config,
            &facts(24),
        );
    }
    let text = "[internet]\nvlan = 7\nport = \"wan\"";
    assert_eq!(refused(text, &config).1, "port-inside");
}

/// A bridge for television that has the uplink's port does not concern the LAN.
#[test]
fn ports_of_the_lan_change_beside_a_bridge_of_others() {
    let config = router(
        "config device\n\toption name 'br-lan'\n\toption type 'bridge'\n\tlist ports 'lan1'\n\
         \tlist ports 'lan2'\n\
         config device\n\toption name 'br-iptv'\n\toption type 'bridge'\n\tlist ports 'wan'\n\
         \tlist ports 'lan3'\n\
         config interface 'lan'\n\toption device 'br-lan'\n\toption proto 'static'\n\
         \toption ipaddr '192.168.1.1/24'\n\
         config interface 'iptv'\n\toption device 'br-iptv'\n\toption proto 'dhcp'\n\
         config interface 'wan'\n\toption device 'wan'\n\toption proto 'dhcp'\n",
    );
    let plan = good(&document("[lan]\nports = [\"lan1\"]"), &config, &facts(24));
    assert_eq!(
        lines(&config, &plan.config),
        ["- network.@device[0].ports+='lan2'"]
    );
}

/// In UCI's old form `ifname` has the ports of the bridge that `type bridge` creates.
#[test]
fn the_providers_vlan_is_below_a_bridge_of_the_old_form() {
    let bridge = |ports: &str| {
        router(&format!(
            "config interface 'wan'\n\toption type 'bridge'\n\toption ifname '{ports}'\n\
             \toption proto 'dhcp'\n\
             config interface 'wan6'\n\toption ifname 'br-wan'\n\toption proto 'dhcpv6'\n"
        ))
    };
    let text = |more: &str| format!("[internet]\nkind = \"dhcp\"\n{more}");
    let before = bridge("eth0");
    let tagged = good(&document(&text("vlan = 7")), &before, &facts(24)).config;
    assert_eq!(
        lines(&before, &tagged),
        [
            "- network.wan.ifname='eth0'",
            "+ network.wan.ifname='eth0.7'",
            "+ network.wan_vlan=device",
            "+ network.wan_vlan.type='8021q'",
            "+ network.wan_vlan.ifname='eth0'",
            "+ network.wan_vlan.vid='7'",
            "+ network.wan_vlan.name='eth0.7'",
        ]
    );
    // The wizard reads the choice back, and writes the same choice again.
    assert_eq!(
        weir_setup_core::read(&tagged).internet.unwrap().vlan,
        Some(7)
    );
    let other = good(&document(&text("vlan = 8")), &tagged, &facts(24)).config;
    assert_eq!(other.get("network", "wan", "ifname").unwrap(), "eth0.8");
    assert_eq!(other.get("network", "wan_vlan", "ifname").unwrap(), "eth0");
    let plain = good(&document(&text("")), &other, &facts(24)).config;
    assert_eq!(lines(&before, &plain), [""; 0]);
    // By another port, IPv6 stays at the bridge.
    let moved = good(&document(&text("port = \"eth1\"")), &before, &facts(24)).config;
    assert_eq!(
        lines(&before, &moved),
        ["- network.wan.ifname='eth0'", "+ network.wan.ifname='eth1'"]
    );
    // Of several ports no one is the provider's.
    let many = bridge("eth0 eth1");
    let found = plan(&document(&text("vlan = 7")), &many, &facts(24)).problems;
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "internet.vlan: missing one port for a provider's VLAN (network.wan is a bridge of \
          eth0, eth1); add it to the configuration, or leave this out"
        ]
    );
    good(&document(&text("")), &many, &facts(24));
    good(
        &document(&text("vlan = 7\nport = \"eth2\"")),
        &many,
        &facts(24),
    );
}

#[test]
fn an_uplink_without_a_device_gets_none_by_the_way() {
    let wan = "config interface 'wan'\n\toption proto 'dhcp'\n";
    let six = "config interface 'wan6'\n\toption proto 'dhcpv6'\n\toption device '@wan'\n";
    let text = |more: &str| document(&format!("[internet]\nkind = \"dhcp\"\n{more}"));
    let before = router(&format!("{wan}{six}"));
    let off = good(&text("ipv6 = false"), &before, &facts(24)).config;
    assert_eq!(lines(&before, &off), ["+ network.wan6.disabled='1'"]);
    let on = good(&text(""), &off, &facts(24)).config;
    assert_eq!(lines(&off, &on), ["- network.wan6.disabled='1'"]);
    let alone = router(wan);
    let on = good(&text(""), &alone, &facts(24)).config;
    assert_eq!(on.get("network", "wan", "device"), None);
    assert_eq!(on.get("network", "wan6", "device").unwrap(), "@wan");
    // A document that names a port, a VLAN or another kind gets one.
    for (more, device) in [("port = \"eth7\"", "eth7"), ("vlan = 7", "wan.7")] {
        let config = good(&text(more), &before, &facts(24)).config;
        assert_eq!(config.get("network", "wan", "device").unwrap(), device);
    }
    let dials = "[internet]\nkind = \"pppoe\"\nusername = \"a\"\npassword = \"b\"";
    let config = good(&document(dials), &before, &facts(24)).config;
    assert_eq!(config.get("network", "wan", "device").unwrap(), "wan");
}

#[test]
fn a_fixed_address_without_a_gateway_is_said_so() {
    let config = router(
        "config interface 'wan'\n\toption device 'wan'\n\toption proto 'static'\n\
         \toption ipaddr '192.168.2.1/24'\n",
    );
    let mut choices = weir_setup_core::read(&config);
    choices.internet.as_mut().unwrap().vlan = Some(7);
    let plan = good(&choices, &config, &facts(24));
    let said: Vec<&str> = plan.sentences.iter().map(|said| &*said.says).collect();
    assert!(
        said.contains(&"The router is 192.168.2.1/24 outside, and has no gateway there."),
        "{said:?}"
    );
}

/// Found on a router of the public: the wizard's answer was taken, and the uplink stayed off.
#[test]
fn an_uplink_that_is_off_is_switched_on_by_an_answer_alone() {
    let off = |proto: &str| {
        router(&format!(
            "config interface 'lan'\n\toption device 'br-lan'\n\toption proto 'static'\n\
             \toption ipaddr '192.168.1.1/24'\n\
             config interface 'wan'\n\toption device 'wan'\n\toption proto '{proto}'\n\
             \toption username 'me'\n\toption disabled '1'\n"
        ))
    };
    for proto in ["dhcp", "pppoe", "pptp"] {
        let config = off(proto);
        let plan = good(
            &document("[internet]\nkind = \"dhcp\""),
            &config,
            &facts(24),
        );
        let changed = lines(&config, &plan.config);
        assert!(
            changed.contains(&"- network.wan.disabled='1'".to_owned()),
            "{proto}: {changed:?}"
        );
        // The router's own export does not move the port.
        let plan = good(&read(&config).for_others(), &config, &facts(24));
        assert_eq!(lines(&config, &plan.config), [""; 0], "{proto}");
    }
}
