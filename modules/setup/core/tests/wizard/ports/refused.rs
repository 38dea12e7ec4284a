//! Configurations that weir refuses to change, with the message.

use weir_setup_core::plan::ports::{PortRequest, PortRole, Refusal, UplinkProtocol, change};

use crate::ports::{INSIDE, facts, found, refused, router, wish};

#[test]
fn what_weir_does_not_change() {
    let refusal = |text: &str, asked: PortRequest| refused(&[asked], &router(text)).to_string();
    for (more, asked, why) in [
        (
            "config interface 'guest'\n option device 'eth5'\n option proto 'static'\n",
            wish("eth5", PortRole::Uplink),
            "eth5 belongs to network.guest",
        ),
        (
            "config interface 'mesh0'\n option device 'eth5'\n option proto 'batadv_hardif'\n",
            wish("eth5", PortRole::Lan),
            "eth5 belongs to network.mesh0",
        ),
        (
            "config bridge-vlan\n option device 'br-lan'\n option vlan '1'\n",
            wish("eth1", PortRole::None),
            "eth1 is in a network by VLANs",
        ),
        (
            "config interface 'wan'\n option proto 'qmi'\n option device '/dev/cdc-wdm0'\n",
            wish("eth1", PortRole::Uplink),
            "eth1: the Internet is configured otherwise (network.wan.proto qmi)",
        ),
        (
            "config interface 'wan'\n option proto 'none'\n",
            wish("eth1", PortRole::Uplink),
            "eth1: the Internet is configured otherwise (network.wan.proto none)",
        ),
        (
            "config interface 'mesh_eth_1'\n option proto 'none'\n",
            wish("eth-1", PortRole::Mesh),
            "eth-1: section network.mesh_eth_1 already exists",
        ),
        (
            "config interface 'cable_eth1'\n option proto 'none'\n",
            wish("eth1", PortRole::None),
            "eth1: section network.cable_eth1 already exists",
        ),
        (
            "",
            wish("eth1.5", PortRole::Lan),
            "eth1.5 is in a network by VLANs",
        ),
        (
            "",
            wish("../x", PortRole::Lan),
            "invalid name of a port: \"../x\"",
        ),
        (
            "",
            PortRequest {
                vxlan: Some(1 << 24),
                ..wish("eth1", PortRole::Mesh)
            },
            "eth1: invalid VXLAN number 16777216",
        ),
        (
            "",
            found("eth1", UplinkProtocol::Dhcp, Some(4095)),
            "eth1: internet.vlan: out of range",
        ),
    ] {
        let text = INSIDE.replace("\npackage firewall", &format!("\n{more}\npackage firewall"));
        let said = refusal(&text, asked);
        assert!(said.starts_with(why), "{said}");
    }
    let two = [
        wish("eth1", PortRole::Uplink),
        wish("eth2", PortRole::Uplink),
    ];
    assert!(change(&two, &router(INSIDE), &facts()).is_err());
    let loopback = "package network\nconfig interface 'loopback'\n option device 'lo'\n";
    assert_eq!(
        refusal(loopback, wish("eth1", PortRole::Lan)),
        Refusal::NoNetwork.to_string()
    );
}
