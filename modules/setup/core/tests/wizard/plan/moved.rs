//! The network inside moves: dependent addresses follow, and others stay.

use uci::Package;
use weir_setup_core::plan::{Config, Plan};

use super::{document, facts, fresh, good, lines};

/// A fresh router with another file of `dhcp`, and more in `network`.
fn with(dhcp: &str, network: &str) -> Config {
    let config = fresh("24.10");
    Config::new(config.packages().map(|package| match package.name() {
        "dhcp" => Package::read("dhcp", dhcp.as_bytes()).unwrap(),
        "network" => {
            let mut text = package.text();
            text.extend(network.as_bytes());
            Package::read("network", &text).unwrap()
        }
        _ => package.clone(),
    }))
}

fn moved(config: &Config) -> Plan {
    good(
        &document("[lan]\naddress = \"10.99.7.1/24\""),
        config,
        &facts(24),
    )
}

fn left(plan: &Plan) -> Vec<&str> {
    let all = plan.sentences.iter();
    all.filter(|said| said.sentence == "lan-left")
        .map(|said| &*said.says)
        .collect()
}

const POOL: &str = "config dhcp 'lan'\n\toption interface 'lan'\n\toption start '100'\n\
    \toption limit '150'\n\toption leasetime '12h'\n";

#[test]
fn gateway_and_name_server_that_are_the_router_follow() {
    for (before, after) in [
        ("3,192.168.1.1", "3,10.99.7.1"),
        ("6,192.168.1.1", "6,10.99.7.1"),
        ("6,9.9.9.9,192.168.1.1", "6,9.9.9.9,10.99.7.1"),
        ("option:router,192.168.1.1", "option:router,10.99.7.1"),
        (
            "option:dns-server,192.168.1.1",
            "option:dns-server,10.99.7.1",
        ),
        ("tag:voip,3,192.168.1.1", "tag:voip,3,10.99.7.1"),
        (
            "tag:a,tag:!b,option:dns-server,192.168.1.1",
            "tag:a,tag:!b,option:dns-server,10.99.7.1",
        ),
    ] {
        let of = |value: &str| format!("{POOL}\tlist dhcp_option '{value}'\n");
        let plan = moved(&with(&of(before), ""));
        let options = plan.config.list("dhcp", "lan", "dhcp_option");
        assert_eq!(options, [after]);
        assert_eq!(left(&plan), [""; 0], "{before}");
    }
    // Other addresses stay unchanged, in any section.
    let many = format!(
        "{POOL}\tlist dhcp_option '44,10.0.0.1'\n\tlist dhcp_option '3,192.168.1.1'\n\
         \tlist dhcp_option '6,10.0.0.1'\nconfig tag 'voip'\n\
         \toption dhcp_option '3,192.168.1.1 66,boot'\n"
    );
    let plan = moved(&with(&many, ""));
    let options = |section| plan.config.list("dhcp", section, "dhcp_option");
    assert_eq!(options("lan"), ["44,10.0.0.1", "3,10.99.7.1", "6,10.0.0.1"]);
    assert_eq!(options("voip"), ["3,10.99.7.1", "66,boot"]);
}

#[test]
fn what_stays_in_the_old_network_is_named() {
    let dhcp = format!(
        "{POOL}\tlist dhcp_option '3,192.168.1.254'\n\tlist dhcp_option '42,192.168.1.1'\n\
         config host\n\toption name 'nas'\n\toption mac '02:00:00:00:00:08'\n\
         \toption ip '192.168.1.8'\n\
         config host 'printer'\n\toption mac '02:00:00:00:00:09'\n\toption ip '192.168.1.9'\n\
         config host\n\toption name 'away'\n\toption ip '192.168.2.9'\n"
    );
    let network = "\nconfig route 'branch'\n\toption interface 'lan'\n\
        \toption target '172.16.0.0/16'\n\toption gateway '192.168.1.5'\n";
    let config = with(&dhcp, network);
    let plan = moved(&config);
    assert_eq!(
        left(&plan),
        [
            "These stay in 192.168.1.0/24, the former network inside, and need new addresses: \
          dhcp.lan.dhcp_option, nas, dhcp.printer.ip, network.branch.gateway."
        ]
    );
    // A network that contains them all leaves no address behind, nor does a second address.
    let wider = document("[lan]\naddress = \"192.168.0.1/16\"");
    let plan = good(&wider, &config, &facts(24));
    assert_eq!(left(&plan), [""; 0]);
    let second = format!(
        "{network}\nconfig interface 'old'\n\toption device '@lan'\n\toption proto 'static'\n\
         \toption ipaddr '192.168.1.2/24'\n"
    );
    assert_eq!(left(&moved(&with(&dhcp, &second))), [""; 0]);
    // Without a move nothing is reported.
    let same = document("[lan]\naddress = \"192.168.1.1/24\"\nlease = \"3h\"");
    let plan = good(&same, &config, &facts(24));
    assert_eq!(left(&plan), [""; 0]);
    assert_eq!(lines(&config, &plan.config).len(), 2);
}

/// The summary names only some of very many.
#[test]
fn a_long_list_of_what_stays_is_cut() {
    let mut dhcp = POOL.to_owned();
    for n in 10..60 {
        dhcp += &format!("config host\n\toption name 'h{n}'\n\toption ip '192.168.1.{n}'\n");
    }
    let plan = moved(&with(&dhcp, ""));
    let said = left(&plan).concat();
    assert!(said.contains("h10, ") && said.ends_with("h21, …"), "{said}");
}
