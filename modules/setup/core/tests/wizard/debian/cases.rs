//! Whole routers, and refusals.

use std::io::Write;
use std::process::{Command, Stdio};

use weir_setup_core::debian::{Machine, Service, commands};

use super::{case, content, rendered, shown};

const CASES: &str = "cables dhcp icmp static pppoe guests wireguard openvpn mesh roaming";

fn read(name: &str) -> String {
    std::fs::read_to_string(case(name, "uci")).expect("a case")
}

#[test]
fn files_are_as_expected() {
    for name in CASES.split(' ') {
        let outcome = rendered(&read(name)).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        let (text, path) = (shown(&outcome), case(name, "txt"));
        if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
            std::fs::write(path, text).expect("written");
            continue;
        }
        let expected = std::fs::read_to_string(&path).expect("a file");
        assert!(text == expected, "{name} differs; it is now:\n{text}");
    }
}

/// Gives a text to a program that says whether it is right.
fn checked(program: &str, arguments: &[&str], text: &str) {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it is installed");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(text.as_bytes()).expect("it reads");
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {errors}\n{text}");
}

#[test]
fn nftables_and_dnsmasq_read_what_is_made_for_them() {
    for name in CASES.split(' ') {
        let outcome = rendered(&read(name)).expect("files");
        let firewall = content(&outcome, "etc/nftables.d/weir.nft");
        checked("nft", &["-c", "-f", "-"], &firewall);
        let path = "etc/dnsmasq.d/weir.conf";
        if outcome.files.iter().any(|file| file.path == path) {
            let text = content(&outcome, path);
            checked("dnsmasq", &["--test", "--conf-file=/dev/stdin"], &text);
        }
    }
}

/// Options for single devices, and for several of a vendor, as OpenWrt's init script has them.
#[test]
fn options_for_tags_and_devices_by_the_beginning_of_their_mac() {
    let text = read("dhcp")
        .replace(
            "\tlist dhcp_option '6,192.168.1.1'\n",
            "\tlist dhcp_option 'tag:voip,66,10.11.0.6'\n\
             \tlist dhcp_option 'tag:!voip,tag:a-b,option:ntp-server,10.11.0.7'\n\
             \tlist dhcp_option '3'\n",
        )
        .replace(
            "\toption mac '00:11:22:AA:BB:CC'\n",
            "\toption mac '02:AA:bb:*:*:*'\n\tlist tag 'voip'\n\tlist tag 'a-b'\n",
        );
    let outcome = rendered(&text).expect("files");
    let made = content(&outcome, "etc/dnsmasq.d/weir.conf");
    for line in [
        "dhcp-option=tag:lan,tag:voip,66,10.11.0.6",
        "dhcp-option=tag:lan,tag:!voip,tag:a-b,option:ntp-server,10.11.0.7",
        "dhcp-option=tag:lan,3",
        "dhcp-host=02:aa:bb:*:*:*,set:voip,set:a-b,192.168.1.9,printer",
    ] {
        assert!(made.lines().any(|made| made == line), "{line}\n{made}");
    }
    checked("dnsmasq", &["--test", "--conf-file=/dev/stdin"], &made);
    // Elsewhere a MAC is that of one device.
    for (from, to, at) in [
        ("'02:AA:bb:*:*:*'", "'02:AA:bb:*:*'", "mac"),
        ("'02:AA:bb:*:*:*'", "'02:AA:bb:*:*:**'", "mac"),
        ("tag:voip,66", "tag:,66", "dhcp_option"),
        ("tag:voip,66", "tag:vo=ip,66", "dhcp_option"),
        ("tag:voip,66,10.11.0.6", "tag:voip", "dhcp_option"),
        ("list tag 'voip'", "list tag 'vo,ip'", "tag"),
    ] {
        let faults = rendered(&text.replace(from, to)).expect_err(to);
        assert_eq!(faults.len(), 1, "{to}: {faults:?}");
        assert!(faults[0].to_string().contains(at), "{to}: {}", faults[0]);
    }
}

/// Refusals: the start of a case, its end, the reported option, and a word of the expected form.
const REFUSED: [[&str; 4]; 14] = [
    [
        DIALS,
        " option password 'x'\n option username 'a\nb'\n",
        "network.wan.username",
        "printable",
    ],
    [
        DIALS,
        " option username 'x'\n",
        "network.wan.password",
        "the provider",
    ],
    [
        LAN,
        " option device '../../x'\n",
        "network.lan.device",
        "device",
    ],
    [
        LAN,
        " option device 'eth*'\n",
        "network.lan.device",
        "device",
    ],
    [
        LAN,
        " option device 'eth0'\n option proto 'l2tp'\n",
        "network.lan.proto",
        "wireguard",
    ],
    [
        "package network\nconfig interface 'wg0'\n option proto 'wireguard'\n",
        " option private_key 'short='\n",
        "network.wg0.private_key",
        "base64",
    ],
    [
        RADIO,
        " option encryption 'sae'\n option key 'short'\n",
        "wireless.one.key",
        "8 to 63",
    ],
    [
        RADIO,
        " option key 'long enough'\n",
        "wireless.one.encryption",
        "psk2",
    ],
    [
        ZONE,
        "config rule 'two'\n option src 'wan'\n option ipset 'x'\n option target 'ACCEPT'\n",
        "firewall.two.ipset",
        "no rule",
    ],
    [
        ZONE,
        "config rule\n option src 'lan'\n option target 'ACCEPT'\n",
        "firewall.@rule[0].src",
        "zone",
    ],
    [
        ZONE,
        "config rule\n option src 'wan'\n option dest_port '80; accept'\n",
        "firewall.@rule[0].dest_port",
        "port",
    ],
    [
        "package network\nconfig interface 'lan'\n option device 'eth1'\n option proto 'static'\n \
         option ipaddr '192.168.1.1/24'\npackage dhcp\n",
        "config dhcp 'lan'\n option start '300'\n",
        "dhcp.lan.start",
        "network",
    ],
    [
        SYSTEM,
        " option hostname 'a b'\n",
        "system.@system[0].hostname",
        "host name",
    ],
    [
        SYSTEM,
        " option zonename '../../etc/shadow'\n",
        "system.@system[0].zonename",
        "Europe/Berlin",
    ],
];

const LAN: &str = "package network\nconfig interface 'lan'\n";
const DIALS: &str = "package network\nconfig interface 'wan'\n option proto 'pppoe'\n \
    option device 'eth0'\n";
const RADIO: &str = "package wireless\nconfig wifi-device 'radio0'\nconfig wifi-iface 'one'\n \
    option device 'radio0'\n option mode 'ap'\n option ssid 'x'\n";
const ZONE: &str = "package firewall\nconfig zone\n option name 'wan'\n";
const SYSTEM: &str = "package system\nconfig system\n";

#[test]
fn what_does_not_fit_is_named() {
    for [begin, rest, at, expected] in REFUSED {
        let faults = rendered(&format!("{begin}{rest}")).expect_err(at);
        let mut named = faults.iter().filter(|fault| fault.at == at);
        let found = named.any(|fault| fault.expected.contains(expected));
        assert!(found, "{at}: {faults:?}");
    }
}

#[test]
fn what_is_not_rendered_is_noted() {
    let text = "package network\nconfig interface 'lan'\n option device 'eth1'\n option proto \
        'dhcp'\n option vendorid 'x'\nconfig rule\n option mark '1'\n\
        config interface 'spare'\n option proto 'dhcp'\n";
    let outcome = rendered(text).expect("files");
    let notes: Vec<&str> = outcome.notes.iter().map(|note| &*note.at).collect();
    assert_eq!(
        notes,
        ["network.lan.vendorid", "network.@rule[0]", "network.spare"]
    );
}

#[test]
fn who_looks_sees_no_secret() {
    for (name, secret) in [
        ("pppoe", "quoted"),
        ("wireguard", "gN65BkIKy1eCE9pP1wdc8ROUtkHLF2PfAqYdyYBz6EA"),
        ("wireguard", "FpCyhws9cxwWoV4xELtfJvjJN"),
        ("guests", "passphrase |"),
        ("mesh", "only nodes know"),
        ("mesh", "0123456789abcdef0123456789abcdef"),
        ("roaming", "000102030405060708090a0b0c0d0e0f"),
        ("roaming", "their passphrase"),
    ] {
        let outcome = rendered(&read(name)).expect("files");
        assert!(shown(&outcome).contains(secret), "{name}");
        let open = |path: &str| {
            outcome.files.iter().any(|file| {
                file.path == path && file.access == weir_setup_core::debian::Access::All
            })
        };
        for file in &outcome.files {
            assert!(!file.shown().contains(secret), "{name}: {}", file.shown());
            let weir_setup_core::debian::Content::Text(text) = &file.content else {
                continue;
            };
            assert!(
                !(text.contains(secret) && open(&file.path)),
                "{}",
                file.path
            );
        }
    }
}

/// Characters that begin a comment of wpa_supplicant are escaped, as `wpa_passphrase` does.
#[test]
fn a_passphrase_may_have_marks_in_it() {
    let station = |way: &str| {
        let text = format!(
            "package network\nconfig interface 'wwan'\n option proto 'dhcp'\npackage wireless\n\
             config wifi-device 'radio0'\nconfig wifi-iface\n option device 'radio0'\n option \
             mode 'sta'\n option network 'wwan'\n option ssid 'net'\n option encryption '{way}'\n \
             option key 'a pass\"phrase #1'\n"
        );
        let outcome = rendered(&text).expect("files");
        content(&outcome, "etc/wpa_supplicant/weir-wlan0.conf")
    };
    let said = Command::new("wpa_passphrase")
        .args(["net", "a pass\"phrase #1"])
        .output();
    let said = String::from_utf8(said.expect("it is installed").stdout).expect("text");
    let key = said.lines().find(|line| line.starts_with("\tpsk="));
    let key = key.expect("a key");
    let octets = "\tsae_password=61207061737322706872617365202331";
    let has = |way: &str, wanted: &str| station(way).lines().any(|line| line == wanted);
    assert!(has("psk2", key) && !has("psk2", octets));
    assert!(has("sae", octets) && !has("sae", key));
    assert!(has("sae-mixed", octets) && has("sae-mixed", key));
}

#[test]
fn services_are_told_in_order() {
    let services = |all: &[Service]| {
        all.iter()
            .cloned()
            .collect::<std::collections::BTreeSet<_>>()
    };
    let machine = Machine {
        root: "",
        host: Some("attic"),
        devices: ["br-lan".to_owned()].into(),
    };
    let told = |changed: &[Service], present: &[Service]| {
        let commands = commands(&services(changed), &services(present), &machine);
        commands
            .iter()
            .map(|words| words.join(" "))
            .collect::<Vec<_>>()
    };
    use Service::{Firewall, Hostapd, Names, Netdev, Network, Pppoe};
    let radio = || Hostapd("radio0".into());
    assert!(told(&[], &[Network, Names]).is_empty());
    assert_eq!(
        told(
            &[Names, Network, Firewall],
            &[Names, Network, Firewall, radio()]
        ),
        [
            "nft -f /etc/nftables.d/weir.nft",
            "networkctl reload",
            "systemctl enable --quiet dnsmasq.service",
            "systemctl restart dnsmasq.service",
        ]
    );
    // An existing device is created again, and a new one created.
    let bridge = || Netdev("br-lan".into());
    assert_eq!(
        told(&[bridge()], &[bridge(), Network, radio()]),
        [
            "- networkctl delete br-lan",
            "systemctl restart systemd-networkd.service",
            "systemctl enable --quiet weir-hostapd@radio0.service",
            "systemctl restart weir-hostapd@radio0.service",
        ]
    );
    let guests = || Netdev("br-guest".into());
    let restart = "systemctl restart systemd-networkd.service";
    assert_eq!(told(&[guests()], &[guests(), Network]), [restart]);
    // Removed services are stopped before anything else.
    assert_eq!(
        told(&[Pppoe("wan".into()), bridge(), Network], &[Network]),
        [
            "systemctl stop weir-pppoe@wan.service",
            "- networkctl delete br-lan",
            restart,
        ]
    );
}
