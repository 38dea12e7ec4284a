//! `weir setup detect`: the table of truth of docs/setup.md. Each arrangement has its real peers
//! behind a switch: dnsmasq, radvd, WIDE's dhcp6s, pppoe-server.

#[path = "detect/manners.rs"]
mod manners;
#[path = "detect/scene.rs"]
mod scene;

use answers::SetupUplink;
use lab::Error;

use scene::{LINE, PORT, ROUTER, Scene, UP, WAN};

/// What is said has to be that: how, in which VLAN, whether nothing speaks against it.
#[track_caller]
fn is(found: &SetupUplink, internet: &str, vlan: Option<u16>, sure: bool) {
    let said = &found.suggestion;
    assert_eq!(
        (said.internet.as_str(), said.vlan, said.sure),
        (internet, vlan, sure),
        "{said:#?}"
    );
}

#[track_caller]
fn untold(found: &SetupUplink, what: &str) {
    let untold = &found.suggestion.untold;
    assert!(
        untold.iter().any(|it| it.contains(what)),
        "{what} is not in {untold:#?}"
    );
}

#[track_caller]
fn why(found: &SetupUplink, what: &str) {
    let why = &found.suggestion.why;
    assert!(
        why.iter().any(|it| it.contains(what)),
        "{what} is not in {why:#?}"
    );
}

#[track_caller]
fn heard(found: &SetupUplink, kind: &str) {
    assert!(
        found.evidence.iter().any(|it| it.kind == kind),
        "no {kind}: {:#?}",
        found.evidence
    );
}

const PORTAL: &str = "Whether a log-in page";
const ISP: [&str; 1] = ["192.0.2.1/24"];
const ISP6: [&str; 1] = ["2001:db8:1::1/64"];
const PREFIX: &str = "prefix 2001:db8:1::/64 { };";
/// RFC 8781: 1800 s, 64:ff9b::/96.
const NAT64: [u8; 16] = [38, 2, 7, 8, 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];

#[test]
fn dhcp() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &["dhcp-option=6,192.0.2.53"])?;
    let found = scene.found()?;
    is(&found, "dhcp", None, true);
    let details = &found.suggestion.details;
    assert_eq!(details.gateway.as_deref(), Some("192.0.2.1"));
    assert_eq!(
        (details.network.as_deref(), &details.dns[..]),
        (Some("192.0.2.0/24"), &["192.0.2.53".to_owned()][..])
    );
    assert!(!details.ipv6 && found.suggestion.lan.is_none());
    untold(&found, PORTAL);
    Ok(())
}

#[test]
fn dhcp_with_a_captive_portal() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &["dhcp-option=114,https://login.example/"])?;
    let found = scene.found()?;
    is(&found, "dhcp", None, true);
    heard(&found, "captive");
    let details = &found.suggestion.details;
    assert_eq!(details.portal.as_deref(), Some("https://login.example/"));
    assert!(!found.suggestion.untold.iter().any(|it| it.contains(PORTAL)));
    Ok(())
}

#[test]
fn dhcp_that_would_rather_have_ipv6_only_and_does_not_say_how() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &["dhcp-option=108,0:0:7:8"])?;
    let found = scene.found()?;
    is(&found, "dhcp", None, true);
    heard(&found, "ipv6-only");
    untold(&found, "prefix of NAT64");
    Ok(())
}

#[test]
fn dhcp_that_would_rather_have_ipv6_only_with_nat64() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[ISP[0], ISP6[0]])?;
    scene.dhcp("isp", &["dhcp-option=108,0:0:7:8"])?;
    scene.advertises("isp", &[&NAT64])?;
    let found = scene.found()?;
    is(&found, "dhcpv6-only", None, false);
    assert_eq!(
        found.suggestion.details.nat64.as_deref(),
        Some("64:ff9b::/96")
    );
    why(&found, "asks devices to do without IPv4");
    Ok(())
}

#[test]
fn dhcp_and_ipv6_without_a_prefix() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[ISP[0], ISP6[0]])?;
    scene.dhcp("isp", &[])?;
    scene.radvd("isp", &format!("{PREFIX} RDNSS 2001:db8::53 {{ }};"))?;
    let found = scene.found()?;
    is(&found, "dhcp", None, true);
    let details = &found.suggestion.details;
    assert!(details.ipv6 && details.delegated.is_empty());
    assert_eq!(details.prefixes, ["2001:db8:1::/64"]);
    assert!(
        details.dns.contains(&"2001:db8::53".into()),
        "{:?}",
        details.dns
    );
    why(&found, "without a prefix for the LAN");
    Ok(())
}

#[test]
fn dhcp_and_ipv6_with_a_prefix() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[ISP[0], ISP6[0]])?;
    scene.dhcp("isp", &[])?;
    scene.radvd("isp", &format!("AdvManagedFlag on; {PREFIX}"))?;
    scene.delegates("isp", "2001:db8:100::/56")?;
    let found = scene.found()?;
    is(&found, "dhcp", None, true);
    assert_eq!(found.suggestion.details.delegated, ["2001:db8:100::/56"]);
    Ok(())
}

#[test]
fn ipv6_only_with_a_prefix() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP6)?;
    scene.radvd("isp", &format!("AdvManagedFlag on; {PREFIX}"))?;
    scene.delegates("isp", "2001:db8:100::/56")?;
    let found = scene.found()?;
    is(&found, "dhcpv6-only", None, true);
    assert_eq!(found.suggestion.details.delegated, ["2001:db8:100::/56"]);
    untold(&found, "How IPv4 is reached");
    Ok(())
}

/// The kernel does not answer for the port, but the router was told where it is.
#[test]
fn ipv6_only_at_a_port_without_an_address_of_its_link() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene
        .lab
        .node(ROUTER)?
        .run(&format!("ip addr flush dev {WAN}"))?;
    scene.peer("isp", &ISP6)?;
    scene.radvd("isp", &format!("AdvManagedFlag on; {PREFIX}"))?;
    let found = scene.found()?;
    is(&found, "dhcpv6-only", None, false);
    untold(&found, "asks for this port's address first");
    scene.delegates("isp", "2001:db8:100::/56")?;
    let found = scene.found()?;
    is(&found, "dhcpv6-only", None, true);
    assert_eq!(found.suggestion.details.delegated, ["2001:db8:100::/56"]);
    Ok(())
}

#[test]
fn ipv6_only_without_a_prefix() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP6)?;
    scene.radvd("isp", PREFIX)?;
    let found = scene.found()?;
    is(&found, "dhcpv6-only", None, false);
    assert_eq!(found.suggestion.details.prefixes, ["2001:db8:1::/64"]);
    untold(&found, "Whether the provider has a prefix for the LAN");
    untold(&found, PORTAL);
    Ok(())
}

#[test]
fn ipv6_only_with_nat64() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP6)?;
    scene.advertises("isp", &[&NAT64])?;
    scene.delegates("isp", "2001:db8:100::/56")?;
    let found = scene.found()?;
    is(&found, "dhcpv6-only", None, true);
    assert_eq!(
        found.suggestion.details.nat64.as_deref(),
        Some("64:ff9b::/96")
    );
    why(&found, "464XLAT");
    Ok(())
}

#[test]
fn ipv6_only_with_a_captive_portal() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP6)?;
    let page = [&[37, 3][..], b"http://a.example/\0\0\0\0\0"].concat();
    scene.advertises("isp", &[&page])?;
    let found = scene.found()?;
    is(&found, "dhcpv6-only", None, false);
    assert_eq!(
        found.suggestion.details.portal.as_deref(),
        Some("http://a.example/")
    );
    Ok(())
}

/// dnsmasq has addresses, and knows of no prefixes.
fn tunnelled(option: &str) -> Result<SetupUplink, Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP6)?;
    let range = "dhcp-range=2001:db8:1::100,2001:db8:1::1ff,64,2m";
    scene.dnsmasq("isp", &[range, "enable-ra", option])?;
    let found = scene.found()?;
    is(&found, "dhcpv6-only", None, false);
    assert!(found.suggestion.details.addresses[0].starts_with("2001:db8:1::1"));
    untold(&found, "prefix for the LAN");
    assert!(
        !found
            .suggestion
            .untold
            .iter()
            .any(|it| it.contains("How IPv4"))
    );
    Ok(found)
}

#[test]
fn ds_lite() -> Result<(), Error> {
    // "aftr.example", in the form of the DNS.
    let name = "dhcp-option=option6:64,04:61:66:74:72:07:65:78:61:6d:70:6c:65:00";
    let found = tunnelled(name)?;
    assert_eq!(
        found.suggestion.details.aftr.as_deref(),
        Some("aftr.example")
    );
    heard(&found, "ds-lite");
    why(&found, "tunnel to aftr.example");
    Ok(())
}

#[test]
fn map_e() -> Result<(), Error> {
    let found = tunnelled("dhcp-option=option6:94,00:5a:00:01:00")?;
    assert_eq!(found.suggestion.details.shared, ["MAP-E"]);
    Ok(())
}

#[test]
fn pppoe() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[])?;
    scene.pppoe("isp", &["gold", "silver"])?;
    let found = scene.found()?;
    is(&found, "pppoe", None, true);
    let details = &found.suggestion.details;
    assert_eq!(
        (&details.services[..], &details.concentrators[..]),
        (
            &["gold".to_owned(), "silver".to_owned()][..],
            &["BRAS1".to_owned()][..]
        )
    );
    untold(&found, "User name and password");
    untold(&found, "gold and silver");
    Ok(())
}

#[test]
fn pppoe_beside_a_modem_with_a_page() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.modem()?;
    scene.peer("isp", &[])?;
    scene.pppoe("isp", &[])?;
    let found = scene.found()?;
    is(&found, "pppoe", None, true);
    heard(&found, "dhcp");
    why(&found, "a modem gives access to its own page");
    Ok(())
}

#[test]
fn pppoe_beside_dhcp_with_a_router() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("modem", &ISP)?;
    scene.dhcp("modem", &[])?;
    scene.peer("isp", &[])?;
    scene.pppoe("isp", &[])?;
    let found = scene.found()?;
    is(&found, "pppoe", None, false);
    why(&found, "DHCP is answered too, by 192.0.2.1, with a router");
    Ok(())
}

#[test]
fn pppoe_in_vlan_7() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.tagged("isp", 7, &[])?;
    scene.pppoe("isp", &[])?;
    let found = scene.found()?;
    is(&found, "pppoe", Some(7), true);
    why(&found, "VLAN 7");
    heard(&found, "vlan");
    Ok(())
}

#[test]
fn dhcp_in_vlan_35() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.tagged("isp", 35, &ISP)?;
    scene.dhcp("isp", &[])?;
    let found = scene.found()?;
    is(&found, "dhcp", Some(35), true);
    assert_eq!(
        found.suggestion.details.gateway.as_deref(),
        Some("192.0.2.1")
    );
    untold(&found, PORTAL);
    Ok(())
}

#[test]
fn pppoe_in_vlan_7_behind_a_modem_with_a_page() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.modem()?;
    scene.tagged("isp", 7, &[])?;
    scene.pppoe("isp", &[])?;
    let found = scene.found()?;
    is(&found, "pppoe", Some(7), true);
    heard(&found, "dhcp");
    Ok(())
}

#[test]
fn dhcp_without_a_tag_comes_before_pppoe_in_vlan_7() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("near", &ISP)?;
    scene.dhcp("near", &[])?;
    scene.tagged("isp", 7, &[])?;
    scene.pppoe("isp", &[])?;
    let found = scene.found()?;
    is(&found, "dhcp", None, false);
    why(&found, "PPPoE in VLAN 7");
    Ok(())
}

/// A number that no provider is known for, of which somebody speaks.
#[test]
fn dhcp_in_a_vlan_that_is_heard() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.tagged("isp", 1234, &ISP)?;
    scene.dhcp("isp", &[])?;
    scene.asks("isp", "192.0.2.200")?;
    let found = scene.found()?;
    is(&found, "dhcp", Some(1234), true);
    Ok(())
}

#[test]
fn a_vlan_that_is_neither_tried_nor_heard_cannot_be_told() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.tagged("isp", 1235, &ISP)?;
    scene.dhcp("isp", &[])?;
    // Or the kernel there would say to which groups it belongs.
    scene
        .lab
        .node("isp")?
        .sysctl("net.ipv6.conf.all.disable_ipv6", 1)?;
    let found = scene.found()?;
    is(&found, "none", None, false);
    untold(&found, "another VLAN than those tried");
    Ok(())
}

#[test]
fn a_static_network_whose_router_is_asked_for() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("gate", &["203.0.113.254/24"])?;
    for (host, address) in [("east", "203.0.113.7/24"), ("west", "203.0.113.9/24")] {
        scene.peer(host, &[address])?;
        scene.asks(host, "203.0.113.254")?;
    }
    let found = scene.found()?;
    is(&found, "static", None, false);
    let details = &found.suggestion.details;
    assert_eq!(details.gateway.as_deref(), Some("203.0.113.254"));
    assert_eq!(details.network.as_deref(), Some("203.0.113.0/24"));
    assert_eq!(
        details.addresses,
        ["203.0.113.7", "203.0.113.9", "203.0.113.254"]
    );
    why(&found, "203.0.113.254 is there");
    untold(&found, "Which address is free");
    untold(&found, "Name servers");
    Ok(())
}

#[test]
fn a_static_network_of_two_who_ask_for_each_other() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    for (host, address, other) in [
        ("east", "203.0.113.7/24", "203.0.113.9"),
        ("west", "203.0.113.9/24", "203.0.113.7"),
    ] {
        scene.peer(host, &[address])?;
        scene.asks(host, other)?;
    }
    let found = scene.found()?;
    is(&found, "static", None, false);
    untold(&found, "Which one is the router");
    Ok(())
}

#[test]
fn the_lan_has_the_uplinks_network() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &["192.168.1.1/24"])?;
    scene.dnsmasq(
        "isp",
        &["dhcp-range=192.168.1.50,192.168.1.60,255.255.255.0,2m"],
    )?;
    let found = scene.found()?;
    is(&found, "dhcp", None, true);
    heard(&found, "overlap");
    let lan = found.suggestion.lan.expect("another network");
    assert_eq!(
        (lan.former.as_str(), lan.network.as_deref()),
        ("192.168.1.0/24", Some("192.168.2.0/24"))
    );
    Ok(())
}

#[test]
fn two_servers_of_dhcp() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    scene.peer("other", &["10.0.0.1/24"])?;
    scene.dnsmasq(
        "other",
        &["dhcp-range=10.0.0.50,10.0.0.60,255.255.255.0,2m"],
    )?;
    let found = scene.found()?;
    is(&found, "dhcp", None, false);
    heard(&found, "conflict");
    untold(&found, "Which of the DHCP servers");
    Ok(())
}

#[test]
fn silence() -> Result<(), Error> {
    let found = Scene::new()?.found()?;
    is(&found, "none", None, false);
    heard(&found, "link");
    for what in ["static addresses", "another VLAN", "802.1X"] {
        untold(&found, what);
    }
    Ok(())
}

#[test]
fn no_link() -> Result<(), Error> {
    let scene = Scene::new()?;
    scene
        .lab
        .node(LINE)?
        .run(&format!("ip link set {PORT} down"))?;
    let found = scene.found()?;
    is(&found, "none", None, true);
    heard(&found, "no-link");
    untold(&found, "without a link");
    Ok(())
}

#[test]
fn a_loop() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.reflects()?;
    let found = scene.found()?;
    is(&found, "none", None, true);
    heard(&found, "loop");
    untold(&found, "behind the loop");
    Ok(())
}

#[test]
fn a_loop_beside_dhcp() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    scene.reflects()?;
    let found = scene.found()?;
    is(&found, "dhcp", None, false);
    heard(&found, "loop");
    Ok(())
}

#[test]
fn the_cable_leads_to_the_routers_own_lan() -> Result<(), Error> {
    let scene = Scene::new()?;
    let line = lab::Offloads::Default;
    scene.lab.wire((ROUTER, "lan"), (LINE, "back"), line)?;
    scene.lab.node(LINE)?.run("ip link set back master sw")?;
    scene.lab.address(ROUTER, "lan", "192.168.1.1/24")?;
    let router = scene.lab.node(ROUTER)?;
    let mut ping = std::process::Command::new("ping");
    ping.args(["-i", "0.3", "-I", "lan", "192.168.1.9"]);
    let _asks = router.start(ping.stdout(std::process::Stdio::null()))?;
    let found = scene.found()?;
    is(&found, "none", None, true);
    heard(&found, "itself");
    why(&found, "another port of this router");
    Ok(())
}

/// Frames with the tag come from the switch, and from nowhere else: what is in them counts for
/// nobody without one.
#[test]
fn what_is_said_in_a_vlan_is_not_said_without() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[])?;
    let mut frame = [[0xff; 6], lab::topology::mac("isp", UP)].concat();
    frame.extend([0x81, 0, 0x03, 0xe7, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend(lab::topology::mac("isp", UP));
    frame.extend([203, 0, 113, 7, 0, 0, 0, 0, 0, 0, 203, 0, 113, 1]);
    scene.says("isp", frame)?;
    let found = scene.found()?;
    is(&found, "static", Some(999), false);
    assert_eq!(
        found.suggestion.details.gateway.as_deref(),
        Some("203.0.113.1")
    );
    assert_eq!(found.port, WAN);
    Ok(())
}
