//! Uplinks with IPv6: alone, together with IPv4, and with IPv4 over IPv6.

use std::time::Duration;

use lab::{Error, Tap};

use super::scene::{LINE, PORT, ROUTER, Scene, WAN};
use super::{ISP, heard, is, open_questions, why};

const ISP6: [&str; 1] = ["2001:db8:1::1/64"];
const PREFIX: &str = "prefix 2001:db8:1::/64 { };";

/// A DHCPv6 server answers to the kernel's address, at a port without a listener: the kernel must
/// not send an error.
#[test]
fn dhcp_and_ipv6_with_a_prefix() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &[ISP[0], ISP6[0]])?;
    scene.dhcp("isp", &[])?;
    let radvd = format!("AdvManagedFlag on; {PREFIX} RDNSS 2001:db8::54 {{ }};");
    scene.radvd("isp", &radvd)?;
    scene.delegates("isp", "2001:db8:100::/56")?;
    let mut tap = Tap::open(scene.lab.node(LINE)?, PORT)?;
    let found = scene.found()?;
    is(&found, "dhcp", None, true);
    heard(&found, "dhcpv6");
    let details = &found.suggestion.details;
    assert_eq!(details.delegated, ["2001:db8:100::/56"]);
    assert_eq!(details.prefixes, ["2001:db8:1::/64"]);
    assert!(details.ipv6);
    let dns = &details.dns;
    assert!(dns.contains(&"2001:db8::54".into()), "{dns:?}");
    let sent = tap.drain(Duration::from_millis(300))?;
    let refused =
        |frame: &&Vec<u8>| frame[12..14] == [0x86, 0xdd] && frame[20] == 58 && frame[54] == 1;
    assert_eq!(sent.iter().find(refused), None);
    Ok(())
}

/// The kernel does not answer for the port, but the router has learned its place.
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
    open_questions(&found, "requires a link-local address");
    scene.delegates("isp", "2001:db8:100::/56")?;
    let found = scene.found()?;
    is(&found, "dhcpv6-only", None, true);
    assert_eq!(found.suggestion.details.delegated, ["2001:db8:100::/56"]);
    Ok(())
}

/// dnsmasq serves addresses, but no prefixes.
#[test]
fn ds_lite_and_map_e() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP6)?;
    let options = [
        "dhcp-range=2001:db8:1::100,2001:db8:1::1ff,64,2m",
        "enable-ra",
        // "aftr.example" in DNS form.
        "dhcp-option=option6:64,04:61:66:74:72:07:65:78:61:6d:70:6c:65:00",
        "dhcp-option=option6:94,00:5a:00:01:00",
    ];
    scene.dnsmasq("isp", &options)?;
    let found = scene.found()?;
    is(&found, "dhcpv6-only", None, false);
    let details = &found.suggestion.details;
    assert!(details.addresses[0].starts_with("2001:db8:1::1"));
    assert_eq!(details.aftr.as_deref(), Some("aftr.example"));
    assert_eq!(details.shared, ["MAP-E"]);
    heard(&found, "ds-lite");
    why(&found, "tunnel to aftr.example");
    open_questions(&found, "prefix for the LAN");
    let open_questions = &found.suggestion.open_questions;
    assert!(
        !open_questions.iter().any(|it| it.contains("IPv4 over")),
        "{open_questions:?}"
    );
    Ok(())
}
