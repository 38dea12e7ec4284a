//! The port of the uplink, on routers of every form of UCI.

use uci::Package;
use weir_setup::plan::{Config, plan};

use super::{document, facts, fresh, good, refused};

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
        // Without an uplink there is nothing to keep apart.
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
         the Internet's too; take wan out of network.lan first, or name another port"
    );
}

#[test]
fn an_uplink_beside_other_networks_is_taken() {
    // Bridges of others, of nobody, and the provider's other VLANs.
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
    // What somebody made so stays, and other things of it change.
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
