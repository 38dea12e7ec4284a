//! Uplinks with IPv6: alone, beside IPv4, and with IPv4 by way of it.

use answers::SetupUplink;
use lab::Error;

use super::scene::{ROUTER, Scene, WAN};
use super::{ISP, PORTAL, heard, is, untold, why};

const ISP6: [&str; 1] = ["2001:db8:1::1/64"];
const PREFIX: &str = "prefix 2001:db8:1::/64 { };";
/// RFC 8781: 1800 s, 64:ff9b::/96.
const NAT64: [u8; 16] = [38, 2, 7, 8, 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];

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
