//! Findings of an outside user: refusals name the cause, and contradictions are reported.

use weir_setup_core::plan::{Facts, Plan, Problem, plan};

use super::{document, facts, fresh, good, said};

fn problems(text: &str) -> Vec<Problem> {
    plan(&document(text), &fresh("24.10"), &facts(24)).problems
}

/// Returns the only problem: field, key, text.
fn only(text: &str) -> (String, String, String) {
    let mut all = problems(text);
    assert_eq!(all.len(), 1, "{text}: {all:?}");
    let one = all.remove(0);
    (one.field, one.problem, one.says)
}

#[test]
fn a_port_that_leads_to_the_router_itself_is_refused_by_that_name() {
    let lan = "[lan]\naddress = \"192.168.7.1/24\"\n";
    let forward = "[firewall]\nforwards = [{name = \"web\", port = \"80\", to = \"192.168.7.1\"}]";
    let (field, problem, says) = only(&format!("{lan}{forward}"));
    assert_eq!(
        (&*field, &*problem),
        ("firewall.forwards[0].to", "router-itself")
    );
    assert_eq!(says, "192.168.7.1 is the router itself");
    // Also if the choices do not mention the existing forward.
    let forward = "[firewall]\nforwards = [{name = \"web\", port = \"80\", to = \"192.168.1.9\"}]";
    let before = good(&document(forward), &fresh("24.10"), &facts(24)).config;
    let lan = document("[lan]\naddress = \"192.168.1.9/24\"\n");
    let problem = &plan(&lan, &before, &facts(24)).problems[0];
    assert_eq!(
        (&*problem.field, &*problem.problem),
        ("lan.address", "takes-forward")
    );
    assert!(problem.says.contains("web") && problem.says.contains("192.168.1.9"));
}

#[test]
fn what_is_too_long_says_how_long_it_is_and_may_be() {
    let ssid = "a".repeat(40);
    let wifi = format!("[wifi]\nnetworks = [{{ssid = \"{ssid}\", security = \"open\"}}]");
    for (text, most, length) in [
        (wifi, 32, 40),
        (format!("[router]\nname = \"{}\"", "a".repeat(64)), 63, 64),
        (
            format!("[router]\npassword = \"{}\"", "aB3$".repeat(40)),
            128,
            160,
        ),
    ] {
        let problem = problems(&text).remove(0);
        assert_eq!(problem.problem, "too-long", "{text}");
        assert_eq!(problem.values["most"], most.to_string());
        assert_eq!(problem.values["length"], length.to_string());
        let says = format!("too long: {length} bytes, but at most {most} are allowed");
        assert_eq!(problem.says, says);
    }
}

#[test]
fn an_address_that_many_devices_have_is_none_of_the_routers_own() {
    let many = document("[router]\nname = \"roof-{mac}\"\n[lan]\naddress = \"10.23.{mac}/16\"");
    for mac in [[0xff; 6], [0; 6], [1, 0, 0x5e, 0, 0, 1]] {
        let facts = Facts {
            mac: Some(mac),
            ..facts(24)
        };
        let problems = plan(&many, &fresh("24.10"), &facts).problems;
        let told: Vec<_> = problems.iter().map(|p| (&*p.field, &*p.problem)).collect();
        let wanted = [("router.name", "no-mac"), ("lan.address", "no-mac")];
        assert_eq!(told, wanted, "{mac:?}");
    }
}

#[test]
fn a_range_of_addresses_that_leaves_hardly_any_is_told() {
    let lan = |address: &str, first: u32, count: u32| {
        format!("[lan]\naddress = \"{address}\"\nfirst = {first}\ncount = {count}")
    };
    let told = |text: &str| {
        let plan = good(&document(text), &fresh("24.10"), &facts(24));
        said(&plan).contains(&"lan-dhcp-one")
    };
    assert!(told(&lan("192.168.7.1/24", 100, 1)));
    assert!(told(&lan("192.168.7.1/30", 1, 2)), "one is the router's");
    assert!(!told(&lan("192.168.7.1/24", 100, 2)));
    assert!(!told(&lan("192.168.7.1/24", 1, 3)));
    // The router has the only one.
    let (field, problem, _) = only(&lan("192.168.7.1/24", 1, 1));
    assert_eq!((&*field, &*problem), ("lan.count", "none-left"));
}

#[test]
fn a_name_of_blanks_is_none() {
    let key = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
    let wireguard = format!(
        "[wireguard]\non = true\nprivate_key = \"{key}\"\n\
         clients = [{{name = \" \\u00a0 \", public_key = \"{key}\"}}]"
    );
    let (field, problem, _) = only(&wireguard);
    assert_eq!(
        (&*field, &*problem),
        ("wireguard.clients[0].name", "required")
    );
    // Documents do not contain the name in the certificate.
    let mut openvpn = document("[openvpn]\non = true\nclients = [{name = \"  \"}]");
    let vpn = openvpn.openvpn.as_mut().unwrap();
    vpn.clients.as_mut().unwrap()[0].common_name = Some("client-0".to_owned());
    let problem = &plan(&openvpn, &fresh("24.10"), &facts(24)).problems[0];
    assert_eq!(
        (&*problem.field, &*problem.problem),
        ("openvpn.clients[0].name", "required")
    );
}

#[test]
fn a_node_that_gives_addresses_without_being_a_gateway_is_told_and_the_other_way_round() {
    let node = |gateway: bool, dhcp: bool| -> Plan {
        let text = format!(
            "[lan]\ndhcp = {dhcp}\n[mesh]\nkind = \"batman\"\nname = \"m\"\ngateway = {gateway}"
        );
        good(&document(&text), &fresh("24.10"), &facts(24))
    };
    let told = |plan: &Plan| -> Vec<String> {
        let all = plan.sentences.iter().map(|one| one.sentence.clone());
        all.filter(|word| word.starts_with("mesh-dhcp") || word.starts_with("mesh-gateway"))
            .collect()
    };
    assert_eq!(told(&node(false, true)), ["mesh-dhcp"]);
    assert_eq!(told(&node(true, false)), ["mesh-gateway"]);
    assert!(told(&node(true, true)).is_empty() && told(&node(false, false)).is_empty());
    // The contradiction is reported when it appears, and not again.
    let before = node(false, true).config;
    let renamed =
        document("[router]\nname = \"roof\"\n[lan]\n[mesh]\nkind = \"batman\"\nname = \"m\"");
    assert!(told(&good(&renamed, &before, &facts(24))).is_empty());
    // A change of the LAN alone is enough.
    let silent = document("[lan]\ndhcp = false");
    let gateway = node(true, true).config;
    assert_eq!(told(&good(&silent, &gateway, &facts(24))), ["mesh-gateway"]);
}
