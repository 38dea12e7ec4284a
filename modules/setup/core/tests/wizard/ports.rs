//! Uses of ports, and their changes, on fresh routers of three releases and others.
#![allow(missing_docs)]

mod any;
mod lime;
mod refused;
mod wizard;

use std::fs;
use std::path::Path;

use uci::Package;
use weir_setup_core::difference;
use weir_setup_core::plan::ports::{
    DetectedUplink, PortAssignment, PortRequest, PortRole, Refusal, UplinkProtocol, change, uses,
};
use weir_setup_core::plan::{Config, Facts};

const RELEASES: [&str; 3] = ["23.05", "24.10", "25.12"];

fn fresh(release: &str) -> Config {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fresh");
    let files = fs::read_dir(folder.join(release)).unwrap();
    Config::new(files.map(|file| {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        Package::read(&name, &fs::read(file.path()).unwrap()).unwrap()
    }))
}

/// Packages out of one text, as `uci export` writes them.
fn router(text: &str) -> Config {
    Config::new(text.split("package ").skip(1).map(|part| {
        let (name, text) = part.split_once('\n').unwrap();
        Package::read(name, text.as_bytes()).unwrap()
    }))
}

fn facts() -> Facts {
    Facts {
        release: Some(24),
        lan: ["lan1", "lan2", "lan3", "lan4"].map(str::to_owned).into(),
        wan: Some("wan".to_owned()),
        ..Facts::default()
    }
}

fn wish(device: &str, used: PortRole) -> PortRequest {
    PortRequest {
        device: device.to_owned(),
        used,
        vxlan: None,
        uplink: None,
    }
}

fn found(device: &str, kind: UplinkProtocol, vlan: Option<u16>) -> PortRequest {
    PortRequest {
        uplink: Some(DetectedUplink { kind, vlan }),
        ..wish(device, PortRole::Uplink)
    }
}

fn good(wishes: &[PortRequest], config: &Config) -> Config {
    change(wishes, config, &facts()).unwrap_or_else(|why| panic!("{wishes:?}: {why:?}"))
}

fn refused(wishes: &[PortRequest], config: &Config) -> Refusal {
    let mut all = change(wishes, config, &facts()).expect_err("it is refused");
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn used(config: &Config, device: &str) -> PortAssignment {
    let all = uses(config, &facts()).into_iter();
    let mut all = all.filter(|one| one.device == device);
    all.next().unwrap_or_else(|| panic!("no {device}"))
}

fn lines(before: &Config, after: &Config) -> Vec<String> {
    let all = after.packages().flat_map(|package| {
        let name = package.name();
        let known = before.package(name).cloned();
        difference(&known.unwrap_or(Package::empty(name)), package)
    });
    all.map(|line| line.to_string()).collect()
}

fn text(config: &Config) -> Vec<String> {
    let all = config.packages();
    all.map(|package| String::from_utf8(package.text()).unwrap())
        .collect()
}

/// Returns the configuration without weir's marks of ports.
fn without_marks(config: &Config) -> Vec<String> {
    let all = config.packages().map(|package| {
        let mut package = package.clone();
        let marks: Vec<String> = package
            .of_type("weir_cable")
            .map(|mark| mark.name.clone())
            .collect();
        for mark in marks {
            package.delete_section(&mark).unwrap();
        }
        String::from_utf8(package.text()).unwrap().trim().to_owned()
    });
    all.collect()
}

#[test]
fn what_a_fresh_router_has() {
    for release in RELEASES {
        let config = fresh(release);
        let all = uses(&config, &facts());
        let shown: Vec<(&str, PortRole, bool)> = all
            .iter()
            .map(|one| (&*one.device, one.used, one.by_weir))
            .collect();
        assert_eq!(
            shown,
            [
                ("lan1", PortRole::Lan, false),
                ("lan2", PortRole::Lan, false),
                ("lan3", PortRole::Lan, false),
                ("lan4", PortRole::Lan, false),
                ("wan", PortRole::Uplink, false),
            ],
            "{release}"
        );
    }
}

#[test]
fn the_uplink_moves_to_another_port_and_the_former_one_is_free() {
    for release in RELEASES {
        let before = fresh(release);
        let after = good(&[found("lan2", UplinkProtocol::Dhcp, None)], &before);
        assert_eq!(
            lines(&before, &after),
            [
                "- network.@device[0].ports+='lan2'",
                "- network.wan.device='wan'",
                "+ network.wan.device='lan2'",
                "- network.wan6.device='wan'",
                "+ network.wan6.device='lan2'",
                "+ network.cable_wan=weir_cable",
                "+ network.cable_wan.device='wan'",
                "+ network.cable_wan.used='none'",
                "+ network.cable_lan2=weir_cable",
                "+ network.cable_lan2.device='lan2'",
                "+ network.cable_lan2.used='uplink'",
                "+ network.cable_lan2.place='1'",
            ],
            "{release}"
        );
        let is = |device: &str| {
            let one = used(&after, device);
            (one.used, one.by_weir)
        };
        assert_eq!(is("lan2"), (PortRole::Uplink, true));
        assert_eq!(is("wan"), (PortRole::None, true), "it is not inside");
        // A second time nothing changes.
        assert_eq!(
            text(&good(&[found("lan2", UplinkProtocol::Dhcp, None)], &after)),
            text(&after)
        );
        // The other way round: the LAN has it where it was, and the Internet has no port.
        let back = good(&[wish("lan2", PortRole::Lan)], &after);
        let ports = back
            .package("network")
            .unwrap()
            .of_type("device")
            .next()
            .unwrap();
        let ports: Vec<_> = ports.get("ports").unwrap().values().collect();
        assert_eq!(ports, [b"lan1", b"lan2", b"lan3", b"lan4"]);
        assert_eq!(
            lines(&before, &back)[..2],
            ["- network.wan.device='wan'", "- network.wan6.device='wan'"]
        );
    }
}

const DIALS: &str = "package network
config device
 option name 'br-lan'
 option type 'bridge'
 list ports 'eth1'
 list ports 'eth2'

config device 'isp'
 option type '8021q'
 option ifname 'eth0'
 option vid '7'
 option name 'eth0.7'

config interface 'lan'
 option device 'br-lan'
 option proto 'static'
 option ipaddr '192.168.1.1/24'

config interface 'wan'
 option device 'eth0.7'
 option proto 'pppoe'
 option username 'me'
 option password 'secret'

config interface 'wan6'
 option device '@wan'
 option proto 'dhcpv6'
";

#[test]
fn pppoe_keeps_its_vlan_its_name_and_its_password() {
    let before = router(DIALS);
    assert_eq!(used(&before, "eth0").used, PortRole::Uplink);
    // The provider's data stay, whatever is detected.
    for kind in [UplinkProtocol::Dhcp, UplinkProtocol::Pppoe] {
        let after = good(&[found("eth2", kind, None)], &before);
        assert_eq!(
            lines(&before, &after),
            [
                "- network.@device[0].ports+='eth2'",
                "- network.isp.ifname='eth0'",
                "+ network.isp.ifname='eth2'",
                "- network.isp.name='eth0.7'",
                "+ network.isp.name='eth2.7'",
                "- network.wan.device='eth0.7'",
                "+ network.wan.device='eth2.7'",
                "+ network.cable_eth0=weir_cable",
                "+ network.cable_eth0.device='eth0'",
                "+ network.cable_eth0.used='none'",
                "+ network.cable_eth2=weir_cable",
                "+ network.cable_eth2.device='eth2'",
                "+ network.cable_eth2.used='uplink'",
                "+ network.cable_eth2.place='1'",
            ]
        );
    }
    // Also if the device had no port in between.
    let none = good(&[wish("eth0", PortRole::None)], &before);
    assert_eq!(used(&none, "eth0").used, PortRole::None);
    let after = good(&[wish("eth2", PortRole::Uplink)], &none);
    assert!(
        text(&after)[0].contains("option device 'eth2.7'"),
        "{:?}",
        text(&after)
    );
    assert!(!text(&after)[0].contains("weir_device"));
}

const INSIDE: &str = "package network
config device
 option name 'br-lan'
 option type 'bridge'
 list ports 'eth0'
 list ports 'eth1'
 list ports 'eth2'

config interface 'lan'
 option device 'br-lan'
 option proto 'static'
 option ipaddr '192.168.1.1/24'

package firewall
config zone
 option name 'lan'
 list network 'lan'
config zone
 option name 'wan'
 list network 'wan'
 list network 'wan6'
";

#[test]
fn an_uplink_is_made_where_there_is_none_and_goes_with_its_port() {
    let before = router(INSIDE);
    let after = good(&[found("eth1", UplinkProtocol::Dhcp, Some(7))], &before);
    assert_eq!(
        lines(&before, &after),
        [
            "- network.@device[0].ports+='eth1'",
            "+ network.wan=interface",
            "+ network.wan.proto='dhcp'",
            "+ network.wan.device='eth1.7'",
            "+ network.wan.weir='1'",
            "+ network.wan_vlan=device",
            "+ network.wan_vlan.type='8021q'",
            "+ network.wan_vlan.ifname='eth1'",
            "+ network.wan_vlan.vid='7'",
            "+ network.wan_vlan.name='eth1.7'",
            "+ network.wan6=interface",
            "+ network.wan6.proto='dhcpv6'",
            "+ network.wan6.device='eth1.7'",
            "+ network.wan6.weir='1'",
            "+ network.cable_eth1=weir_cable",
            "+ network.cable_eth1.device='eth1'",
            "+ network.cable_eth1.used='uplink'",
            "+ network.cable_eth1.place='1'",
        ]
    );
    assert_eq!(
        text(&good(
            &[found("eth1", UplinkProtocol::Dhcp, Some(7))],
            &after
        )),
        text(&after)
    );
    // An uplink made by weir is created again at another port, as detected there.
    let moved = good(&[found("eth2", UplinkProtocol::Dhcp, None)], &after);
    assert_eq!(used(&moved, "eth1").used, PortRole::None);
    assert!(used(&moved, "eth1").by_weir, "weir made it free");
    assert!(!text(&moved).concat().contains("8021q"));
    let back = good(&[wish("eth1", PortRole::Lan)], &after);
    assert_eq!(without_marks(&back), without_marks(&before));
}

#[test]
fn pppoe_without_a_password_is_the_wizards() {
    for config in [router(INSIDE), fresh("24.10")] {
        let why = refused(&[found("lan1", UplinkProtocol::Pppoe, None)], &config);
        assert!(matches!(why, Refusal::NeedsPppoe(_)), "{why}");
        assert!(
            why.to_string().contains("the provider's name and password"),
            "{why}"
        );
    }
}

#[test]
fn a_port_of_the_mesh_takes_batman_with_it_and_leaves_nothing_behind() {
    for release in RELEASES {
        let before = fresh(release);
        let after = good(&[wish("lan4", PortRole::Mesh)], &before);
        assert_eq!(
            lines(&before, &after),
            [
                "- network.@device[0].ports+='lan4'",
                "+ network.@device[0].ports+='bat0'",
                "+ network.bat0=interface",
                "+ network.bat0.proto='batadv'",
                "+ network.bat0.routing_algo='BATMAN_IV'",
                "+ network.bat0.bridge_loop_avoidance='1'",
                "+ network.bat0.gw_mode='off'",
                "+ network.bat0.weir='1'",
                "+ network.mesh_lan4=interface",
                "+ network.mesh_lan4.proto='batadv_hardif'",
                "+ network.mesh_lan4.master='bat0'",
                "+ network.mesh_lan4.device='lan4'",
                "+ network.mesh_lan4.mtu='1532'",
                "+ network.cable_lan4=weir_cable",
                "+ network.cable_lan4.device='lan4'",
                "+ network.cable_lan4.used='mesh'",
                "+ network.cable_lan4.place='3'",
            ],
            "{release}"
        );
        let one = used(&after, "lan4");
        assert_eq!((one.used, one.by_weir), (PortRole::Mesh, true));
        let back = good(&[wish("lan4", PortRole::Lan)], &after);
        assert_eq!(without_marks(&back), without_marks(&before));
    }
}

#[test]
fn behind_a_switch_the_mesh_is_in_a_vxlan() {
    let before = fresh("24.10");
    let asked = PortRequest {
        vxlan: Some(77),
        ..wish("lan4", PortRole::Mesh)
    };
    let after = good(std::slice::from_ref(&asked), &before);
    let made = lines(&before, &after).join("\n");
    for line in [
        "+ network.wire_lan4.proto='none'",
        "+ network.wire_lan4.device='lan4'",
        "+ network.vx_lan4.proto='vxlan6'",
        "+ network.vx_lan4.tunlink='wire_lan4'",
        "+ network.vx_lan4.peer6addr='ff02::15c'",
        "+ network.vx_lan4.port='4789'",
        "+ network.vx_lan4.vid='77'",
        "+ network.vx_lan4.mtu='1430'",
        "+ network.mesh_lan4.device='vx_lan4'",
        "+ firewall.zone_vxlan.network+='wire_lan4'",
        "+ firewall.vxlan_in.dest_port='4789'",
    ] {
        assert!(made.contains(line), "{line} in {made}");
    }
    assert!(!made.contains("1532"), "{made}");
    assert_eq!(used(&after, "lan4").used, PortRole::Mesh);
    assert_eq!(text(&good(&[asked], &after)), text(&after), "twice is once");
    let plain = good(&[wish("lan4", PortRole::Mesh)], &after);
    assert_eq!(
        without_marks(&plain),
        without_marks(&good(&[wish("lan4", PortRole::Mesh)], &before))
    );
    let back = good(&[wish("lan4", PortRole::Lan)], &after);
    assert_eq!(without_marks(&back), without_marks(&before));
}

#[test]
fn a_lan_of_one_port_becomes_a_bridge() {
    let before = router("package network\nconfig interface 'lan'\n option device 'eth0'\n");
    let after = good(&[wish("eth1", PortRole::Lan)], &before);
    assert_eq!(used(&after, "eth0").used, PortRole::Lan);
    assert_eq!(used(&after, "eth1").used, PortRole::Lan);
    let none = good(&[wish("eth0", PortRole::None)], &before);
    assert_eq!(used(&none, "eth0").used, PortRole::None);
}
