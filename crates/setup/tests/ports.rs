//! What ports are used for, and how that changes, on fresh routers of three releases and others.
#![allow(missing_docs)]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use uci::Package;
use weir_setup::choices::{Choices, Lan, Mesh};
use weir_setup::difference;
use weir_setup::plan::ports::{Found, Kind, PortUse, Refusal, Used, Wish, change, uses};
use weir_setup::plan::{Config, Facts, plan};

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

fn wish(device: &str, used: Used) -> Wish {
    Wish {
        device: device.to_owned(),
        used,
        vxlan: None,
        uplink: None,
    }
}

fn found(device: &str, kind: Kind, vlan: Option<u16>) -> Wish {
    Wish {
        uplink: Some(Found { kind, vlan }),
        ..wish(device, Used::Uplink)
    }
}

fn good(wishes: &[Wish], config: &Config) -> Config {
    change(wishes, config, &facts()).unwrap_or_else(|why| panic!("{wishes:?}: {why:?}"))
}

fn refused(wishes: &[Wish], config: &Config) -> Refusal {
    let mut all = change(wishes, config, &facts()).expect_err("it is refused");
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn used(config: &Config, device: &str) -> PortUse {
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

/// The same without what weir notes of ports.
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
        let shown: Vec<(&str, Used, bool)> = all
            .iter()
            .map(|one| (&*one.device, one.used, one.by_weir))
            .collect();
        assert_eq!(
            shown,
            [
                ("lan1", Used::Lan, false),
                ("lan2", Used::Lan, false),
                ("lan3", Used::Lan, false),
                ("lan4", Used::Lan, false),
                ("wan", Used::Uplink, false),
            ],
            "{release}"
        );
    }
}

#[test]
fn the_uplink_moves_to_another_port_and_the_former_one_is_free() {
    for release in RELEASES {
        let before = fresh(release);
        let after = good(&[found("lan2", Kind::Dhcp, None)], &before);
        assert_eq!(
            lines(&before, &after),
            [
                "- network.@device[0].ports+='lan2'",
                "- network.wan.device='wan'",
                "+ network.wan.device='lan2'",
                "- network.wan6.device='wan'",
                "+ network.wan6.device='lan2'",
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
        assert_eq!(is("lan2"), (Used::Uplink, true));
        assert_eq!(is("wan"), (Used::None, false), "it is not inside");
        // A second time nothing changes.
        assert_eq!(
            text(&good(&[found("lan2", Kind::Dhcp, None)], &after)),
            text(&after)
        );
        // The other way round: the LAN has it where it was, and the Internet has no port.
        let back = good(&[wish("lan2", Used::Lan)], &after);
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
    assert_eq!(used(&before, "eth0").used, Used::Uplink);
    // Whatever is found: what was told of the provider stays.
    for kind in [Kind::Dhcp, Kind::Pppoe] {
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
                "+ network.cable_eth2=weir_cable",
                "+ network.cable_eth2.device='eth2'",
                "+ network.cable_eth2.used='uplink'",
                "+ network.cable_eth2.place='1'",
            ]
        );
    }
    // Also where it had no port in between.
    let none = good(&[wish("eth0", Used::None)], &before);
    assert_eq!(used(&none, "eth0").used, Used::None);
    let after = good(&[wish("eth2", Used::Uplink)], &none);
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
    let after = good(&[found("eth1", Kind::Dhcp, Some(7))], &before);
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
        text(&good(&[found("eth1", Kind::Dhcp, Some(7))], &after)),
        text(&after)
    );
    // What weir made itself it makes anew at another port, as that was found.
    let moved = good(&[found("eth2", Kind::Dhcp, None)], &after);
    assert_eq!(used(&moved, "eth1").used, Used::None);
    assert!(used(&moved, "eth1").by_weir, "weir made it free");
    assert!(!text(&moved).concat().contains("8021q"));
    let back = good(&[wish("eth1", Used::Lan)], &after);
    assert_eq!(without_marks(&back), without_marks(&before));
}

#[test]
fn pppoe_without_a_password_is_the_wizards() {
    for config in [router(INSIDE), fresh("24.10")] {
        let why = refused(&[found("lan1", Kind::Pppoe, None)], &config);
        assert!(matches!(why, Refusal::NeedsPppoe(_)), "{why}");
        assert!(
            why.to_string().contains("the wizard asks for them"),
            "{why}"
        );
    }
}

#[test]
fn a_port_of_the_mesh_takes_batman_with_it_and_leaves_nothing_behind() {
    for release in RELEASES {
        let before = fresh(release);
        let after = good(&[wish("lan4", Used::Mesh)], &before);
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
        assert_eq!((one.used, one.by_weir), (Used::Mesh, true));
        let back = good(&[wish("lan4", Used::Lan)], &after);
        assert_eq!(without_marks(&back), without_marks(&before));
    }
}

#[test]
fn behind_a_switch_the_mesh_is_in_a_vxlan() {
    let before = fresh("24.10");
    let asked = Wish {
        vxlan: Some(77),
        ..wish("lan4", Used::Mesh)
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
    assert_eq!(used(&after, "lan4").used, Used::Mesh);
    assert_eq!(text(&good(&[asked], &after)), text(&after), "twice is once");
    let plain = good(&[wish("lan4", Used::Mesh)], &after);
    assert_eq!(
        without_marks(&plain),
        without_marks(&good(&[wish("lan4", Used::Mesh)], &before))
    );
    let back = good(&[wish("lan4", Used::Lan)], &after);
    assert_eq!(without_marks(&back), without_marks(&before));
}

#[test]
fn what_a_person_says_in_the_wizard_holds() {
    let facts = facts();
    let meshed = good(&[wish("lan4", Used::Mesh)], &fresh("24.10"));
    // No mesh by radio: that by the port stays.
    let none = Choices {
        mesh: Some(Mesh::default()),
        ..Choices::default()
    };
    let after = plan(&none, &meshed, &facts);
    assert_eq!(
        (after.problems, text(&after.config)),
        (Vec::new(), text(&meshed))
    );
    // The LAN's ports are these.
    let ports = ["lan1", "lan4"].map(str::to_owned).into();
    let lan = Choices {
        lan: Some(Lan {
            address: "192.168.1.1/24".to_owned(),
            ports,
            ..Lan::default()
        }),
        ..Choices::default()
    };
    let after = plan(&lan, &meshed, &facts);
    assert_eq!(after.problems, []);
    let one = used(&after.config, "lan4");
    assert_eq!(
        (one.used, one.by_weir),
        (Used::Lan, false),
        "it was a person"
    );
    assert!(!text(&after.config).concat().contains("batadv"));
}

#[test]
fn what_weir_does_not_change() {
    let refusal = |text: &str, asked: Wish| refused(&[asked], &router(text)).to_string();
    for (more, asked, why) in [
        (
            "config interface 'guest'\n option device 'eth5'\n option proto 'static'\n",
            wish("eth5", Used::Uplink),
            "eth5 belongs to network.guest",
        ),
        (
            "config interface 'mesh0'\n option device 'eth5'\n option proto 'batadv_hardif'\n",
            wish("eth5", Used::Lan),
            "eth5 belongs to network.mesh0",
        ),
        (
            "config bridge-vlan\n option device 'br-lan'\n option vlan '1'\n",
            wish("eth1", Used::None),
            "eth1 is in a network by VLANs",
        ),
        (
            "config interface 'wan'\n option proto 'qmi'\n option device '/dev/cdc-wdm0'\n",
            wish("eth1", Used::Uplink),
            "eth1: the Internet is chosen to come otherwise (network.wan.proto qmi)",
        ),
        (
            "config interface 'wan'\n option proto 'none'\n",
            wish("eth1", Used::Uplink),
            "eth1: the Internet is chosen to come otherwise (network.wan.proto none)",
        ),
        (
            "config interface 'mesh_eth_1'\n option proto 'none'\n",
            wish("eth-1", Used::Mesh),
            "eth-1: there is a section network.mesh_eth_1 already",
        ),
        (
            "config interface 'cable_eth1'\n option proto 'none'\n",
            wish("eth1", Used::None),
            "eth1: there is a section network.cable_eth1 already",
        ),
        (
            "",
            wish("eth1.5", Used::Lan),
            "eth1.5 is in a network by VLANs",
        ),
        ("", wish("../x", Used::Lan), "\"../x\" is no name of a port"),
        (
            "",
            Wish {
                vxlan: Some(1 << 24),
                ..wish("eth1", Used::Mesh)
            },
            "eth1: 16777216 is no number of a VXLAN",
        ),
        (
            "",
            found("eth1", Kind::Dhcp, Some(4095)),
            "eth1: internet.vlan: it is out of range",
        ),
    ] {
        let text = INSIDE.replace("\npackage firewall", &format!("\n{more}\npackage firewall"));
        let said = refusal(&text, asked);
        assert!(said.starts_with(why), "{said}");
    }
    let two = [wish("eth1", Used::Uplink), wish("eth2", Used::Uplink)];
    assert!(change(&two, &router(INSIDE), &facts()).is_err());
    let loopback = "package network\nconfig interface 'loopback'\n option device 'lo'\n";
    assert_eq!(
        refusal(loopback, wish("eth1", Used::Lan)),
        Refusal::NoNetwork.to_string()
    );
}

#[test]
fn a_lan_of_one_port_becomes_a_bridge() {
    let before = router("package network\nconfig interface 'lan'\n option device 'eth0'\n");
    let after = good(&[wish("eth1", Used::Lan)], &before);
    assert_eq!(used(&after, "eth0").used, Used::Lan);
    assert_eq!(used(&after, "eth1").used, Used::Lan);
    let none = good(&[wish("eth0", Used::None)], &before);
    assert_eq!(used(&none, "eth0").used, Used::None);
}

const LIME: &str = "package lime-node
config lime 'system'
 option hostname 'roof'

package network
config device
 option name 'br-lan'
 option type 'bridge'
 list ports 'lan1'
config interface 'lan'
 option device 'br-lan'
";

#[test]
fn libremesh_is_told_by_its_own_file() {
    let before = router(LIME);
    assert_eq!(used(&before, "lan1").used, Used::Lan);
    for (asked, role, protocols) in [
        (Used::Uplink, "wan", vec!["wan", "dynamic"]),
        (Used::Mesh, "mesh", vec!["batadv:%N1", "babeld:17"]),
        (Used::Lan, "lan", vec!["lan"]),
    ] {
        let after = good(&[wish("lan1", asked)], &before);
        let mut expected = vec![
            "+ lime-node.lime_app_eth_cfg_lan1=net".to_owned(),
            "+ lime-node.lime_app_eth_cfg_lan1.linux_name='lan1'".to_owned(),
            format!("+ lime-node.lime_app_eth_cfg_lan1.eth_role='{role}'"),
        ];
        for protocol in protocols {
            expected.push(format!(
                "+ lime-node.lime_app_eth_cfg_lan1.protocols+='{protocol}'"
            ));
        }
        expected.push("+ lime-node.lime_app_eth_cfg_lan1.weir='1'".to_owned());
        assert_eq!(lines(&before, &after), expected);
        let one = used(&after, "lan1");
        assert_eq!((one.used, one.by_weir), (asked, true));
        assert_eq!(text(&good(&[wish("lan1", asked)], &after)), text(&after));
        let none = good(&[wish("lan1", Used::None)], &after);
        assert_eq!(text(&none)[1], text(&before)[1]);
        assert_eq!(lines(&before, &none), [""; 0]);
    }
    let why = refused(&[found("lan1", Kind::Pppoe, None)], &before);
    assert!(matches!(why, Refusal::NeedsPppoe(_)), "{why}");
}

fn any_wish() -> impl Strategy<Value = Wish> {
    (
        prop::sample::select(vec!["lan1", "lan2", "wan", "eth0", "eth1", "eth2", "usb-0"]),
        prop::sample::select(vec![Used::Lan, Used::Uplink, Used::Mesh, Used::None]),
        prop::option::of(prop::sample::select(vec![1, 77])),
        prop::option::of(prop::option::of(prop::sample::select(vec![7, 8]))),
    )
        .prop_map(|(device, used, vxlan, vlan)| Wish {
            vxlan,
            uplink: vlan.map(|vlan| Found {
                kind: Kind::Dhcp,
                vlan,
            }),
            ..wish(device, used)
        })
}

proptest! {
    /// Whatever is wished for, one after the other: a port is in one use, and in that wished for last.
    #[test]
    fn each_port_has_one_use(
        wishes in prop::collection::vec(any_wish(), 1..12),
        begin in 0..4_usize,
    ) {
        let begin = [fresh("23.05"), fresh("25.12"), router(DIALS), router(INSIDE)][begin].clone();
        let mut config = begin;
        for wish in &wishes {
            let Ok(after) = change(std::slice::from_ref(wish), &config, &facts()) else {
                continue;
            };
            let all = uses(&after, &facts());
            let one = all.iter().find(|one| one.device == wish.device);
            let now = one.map_or(Used::None, |one| one.used);
            prop_assert_eq!(now, wish.used, "{:?}", wishes);
            for device in ["lan1", "lan2", "wan", "eth0", "eth1", "eth2", "usb-0"] {
                let text = text(&after).concat();
                let inside = text.matches(&format!("list ports '{device}'\n")).count();
                let below = |interface: &str| {
                    let name = after.get("network", interface, "device")?;
                    let vlan = after.which("network", "device", "name", &name);
                    let below = vlan.and_then(|vlan| after.get("network", &vlan, "ifname"));
                    Some(below.unwrap_or(name) == device)
                };
                let safe = device.replace('-', "_");
                let outside = usize::from(below("wan") == Some(true) || below("wan6") == Some(true));
                let wire = below(&format!("wire_{safe}")).or(below(&format!("mesh_{safe}")));
                let all = inside + outside + usize::from(wire == Some(true));
                prop_assert!(all <= 1, "{device}: {}\n{}", all, text);
            }
            let again = change(std::slice::from_ref(wish), &after, &facts()).unwrap();
            prop_assert_eq!(lines(&after, &again), [""; 0]);
            config = after;
        }
    }

    /// A port that goes out of the LAN, and comes back, leaves nothing behind but the note.
    #[test]
    fn out_of_the_lan_and_back(
        port in 0..3_usize,
        out in any_wish(),
    ) {
        let device = ["eth0", "eth1", "eth2"][port];
        let out = Wish { device: device.to_owned(), ..out };
        let before = router(INSIDE);
        let after = good(&[out], &before);
        let back = good(&[wish(device, Used::Lan)], &after);
        prop_assert_eq!(without_marks(&back), without_marks(&before));
    }
}
