//! Choices of any content.

use std::net::Ipv4Addr;

use proptest::prelude::*;
use weir_setup_core::choices::{
    Blocked, Choices, Firewall, Forward, Internet, Lan, Mesh, MeshKind, Network, NetworkUsers,
    OpenVpn, OpenVpnClient, Protocol, Router, Security, Uplink, Wifi, WireGuard, WireGuardClient,
};
use weir_setup_core::openvpn::common_name;

/// Text that is of no harm, or would be in a file of UCI, a shell, hostapd or a QR code.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z0-9-]{0,12}",
        1 => "\\PC{0,40}",
        1 => prop::sample::select(vec![
            "it's", "a\nconfig interface 'x'", "\0", "$(reboot)", "`id`", "a;b", "\"", "\\", "a\rb",
            "WIFI:S:x;;", "\u{202e}", "#", " ", "\t", "[wlan0]", "\u{7f}", "ünï", "999999999999", "{mac}",
        ]).prop_map(str::to_owned),
    ]
}

fn key() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        Just(None),
        Just(Some("correct horse battery".to_owned())),
        Just(Some(
            "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=".to_owned()
        )),
        text().prop_map(Some),
    ]
}

fn address() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (any::<[u8; 4]>(), 0..=33_u8)
            .prop_map(|(a, n)| format!("{}.{}.{}.{}/{n}", a[0], a[1], a[2], a[3])),
        1 => Just("10.23.{mac}/16".to_owned()),
        2 => (0..4_u8, 1..4_u8).prop_map(|(a, b)| format!("192.168.{a}.{b}/24")),
        1 => text(),
    ]
}

fn any_internet() -> impl Strategy<Value = Internet> {
    let kinds = vec![
        Uplink::Dhcp,
        Uplink::Static,
        Uplink::Pppoe,
        Uplink::Mobile,
        Uplink::Wifi,
        Uplink::None,
    ];
    let first = (
        prop::sample::select(kinds),
        prop::option::of(0..4100_u16),
        any::<bool>(),
        prop::option::of(address()),
        prop::option::of(any::<[u8; 4]>()),
        prop::collection::vec(any::<[u8; 4]>(), 0..3),
    );
    let second = (
        prop::option::of(text()),
        key(),
        prop::option::of(text()),
        prop::option::of(text()),
        prop::option::of(text()),
        prop::sample::select(vec![None, Some("radio0".to_owned()), Some("x".to_owned())]),
    );
    (first, second).prop_map(|(a, b)| Internet {
        kind: a.0,
        port: None,
        vlan: a.1,
        ipv6: a.2,
        address: a.3,
        gateway: a.4.map(|octets| Ipv4Addr::from(octets).to_string()),
        dns: a
            .5
            .into_iter()
            .map(|octets| Ipv4Addr::from(octets).to_string())
            .collect::<Vec<_>>()
            .into(),
        username: b.0.clone(),
        password: b.1.clone(),
        service: b.2,
        apn: b.3,
        pin: b.4,
        modem: None,
        ssid: b.0,
        key: b.1,
        radio: b.5,
    })
}

fn any_network() -> impl Strategy<Value = Network> {
    let kept = vec![
        Security::Mixed,
        Security::Wpa3,
        Security::Wpa2,
        Security::Owe,
        Security::Open,
    ];
    let radios = vec![vec![], vec!["radio0".to_owned()], vec!["radio1".to_owned()]];
    (
        text(),
        key(),
        prop::sample::select(kept),
        any::<(bool, bool, bool)>(),
        prop::sample::select(radios),
    )
        .prop_map(
            |(ssid, key, security, (guest, roaming, hidden), radios)| Network {
                ssid,
                key,
                security,
                whom: if guest {
                    NetworkUsers::Guest
                } else {
                    NetworkUsers::Lan
                },
                radios,
                roaming,
                hidden,
            },
        )
}

pub fn any_choices() -> impl Strategy<Value = Choices> {
    let router =
        (text(), text(), text(), key()).prop_map(|(name, language, zone, password)| Router {
            name: if name.is_empty() {
                "router".to_owned()
            } else {
                name
            },
            language: if language.len() > 3 {
                language
            } else {
                String::new()
            },
            timezone: if zone.len() > 3 {
                "Europe/Berlin".to_owned()
            } else {
                zone
            },
            password,
            ..Router::default()
        });
    let lan = (address(), any::<bool>(), 0..300_u32, 0..300_u32, text()).prop_map(
        |(address, dhcp, first, count, lease)| Lan {
            address,
            ports: Vec::new(),
            dhcp,
            first,
            count,
            lease: if lease.len() > 6 {
                lease
            } else {
                "1h".to_owned()
            },
        },
    );
    let networks = prop::collection::vec(any_network(), 0..4);
    let wifi = prop::option::weighted(0.9, networks).prop_map(|networks| Wifi {
        country: "DE".to_owned(),
        networks,
    });
    let mesh =
        (0..3_u8, text(), key(), any::<bool>()).prop_map(|(kind, name, key, gateway)| Mesh {
            kind: [MeshKind::None, MeshKind::Batman, MeshKind::Apup][usize::from(kind)],
            name,
            key,
            gateway,
            ..Mesh::default()
        });
    let clients = prop::collection::vec((text(), key()), 0..3).prop_map(|clients| {
        let client = |(name, public_key)| WireGuardClient {
            name,
            public_key,
            ..WireGuardClient::default()
        };
        clients.into_iter().map(client).collect::<Vec<_>>()
    });
    let wireguard = (
        any::<bool>(),
        any::<u16>(),
        address(),
        key(),
        prop::option::weighted(0.9, clients),
    )
        .prop_map(|(on, port, address, private_key, clients)| WireGuard {
            on,
            port,
            address,
            endpoint: String::new(),
            private_key,
            clients,
        });
    let clients = prop::collection::vec((text(), any::<[u8; 8]>()), 0..3).prop_map(|clients| {
        let client = |(name, random): (String, _)| OpenVpnClient {
            common_name: Some(common_name(&name, random)),
            name,
        };
        clients.into_iter().map(client).collect::<Vec<_>>()
    });
    let openvpn = (
        any::<bool>(),
        any::<u16>(),
        (any::<[u8; 2]>(), 16..30_u8),
        prop::option::weighted(0.2, text()),
        prop::option::of(clients),
    )
        .prop_map(|(on, port, ([a, b], length), endpoint, clients)| OpenVpn {
            on,
            port,
            network: format!("10.{a}.{}.0/{length}", if length < 24 { 0 } else { b }),
            endpoint: endpoint.unwrap_or_default(),
            clients,
        });
    let forward = (text(), text(), any::<[u8; 4]>(), prop::option::of(text())).prop_map(
        |(name, port, to, to_port)| Forward {
            name,
            protocol: Protocol::Both,
            port: if port.len() > 8 {
                port
            } else {
                "80-90".to_owned()
            },
            to: Some(Ipv4Addr::new(192, 168, 1, to[3]).to_string()),
            to_port,
        },
    );
    let blocked = (text(), any::<[u8; 6]>()).prop_map(|(name, m)| Blocked {
        name,
        mac: m.map(|octet| format!("{octet:02X}")).join(":"),
    });
    let firewall = (
        prop::option::weighted(0.9, prop::collection::vec(forward, 0..3)),
        prop::option::weighted(0.9, prop::collection::vec(blocked, 0..3)),
    )
        .prop_map(|(forwards, blocked)| Firewall { forwards, blocked });
    use prop::option::of as maybe;
    (
        // Boxed: all of them in one value exceed a test's stack.
        maybe(router).boxed(),
        maybe(any_internet()).boxed(),
        maybe(lan).boxed(),
        maybe(wifi).boxed(),
        maybe(mesh).boxed(),
        maybe(wireguard).boxed(),
        maybe(openvpn).boxed(),
        maybe(firewall).boxed(),
    )
        .prop_map(
            |(router, internet, lan, wifi, mesh, wireguard, openvpn, firewall)| Choices {
                format: 1,
                router,
                internet,
                lan,
                wifi,
                mesh,
                dns: None,
                wireguard,
                openvpn,
                firewall,
            },
        )
}
