//! The uplink that a router has.

use crate::choices::{Internet, Uplink};
use crate::plan::link::{provider_vlan, wire_of};
use crate::plan::{Config, address_in, is_enabled, text, words};

/// The protocols of modems. The options that the wizard knows have the same names in all of them.
const MODEMS: [&str; 7] = [
    "qmi",
    "mbim",
    "ncm",
    "3g",
    "modemmanager",
    "directip",
    "wwan",
];

/// The section of `wireless` of a client of another router's Wi-Fi.
pub(super) const CLIENT_RADIO: &str = "wifi_uplink";

/// Reads where the Internet comes from.
pub(crate) fn internet_of(config: &Config) -> Option<Internet> {
    let network = config.package("network")?;
    let wan = network.section("wan")?;
    let proto = text(wan, "proto").unwrap_or_default();
    let client = client_of(config).and_then(|_| config.package("wireless")?.section(CLIENT_RADIO));
    let kind = match &*proto {
        // No choice describes an uplink that is off. Each choice but this one switches it on.
        _ if is_enabled(wan, "disabled") => Uplink::Kept,
        "none" if client.is_some() => Uplink::Wifi,
        "none" => Uplink::None,
        "dhcp" => Uplink::Dhcp,
        "static" => Uplink::Static,
        "pppoe" => Uplink::Pppoe,
        proto if MODEMS.contains(&proto) => Uplink::Mobile,
        _ => Uplink::Kept,
    };
    let wired = matches!(kind, Uplink::Dhcp | Uplink::Static | Uplink::Pppoe);
    let device = wire_of(wan).filter(|_| wired);
    let mut internet = Internet {
        kind,
        // Which they are is the router's own affair: another one has others.
        port: None,
        vlan: device.and_then(|device| Some(provider_vlan(config, &device)?.1)),
        ipv6: network
            .section("wan6")
            .is_some_and(|wan6| !is_enabled(wan6, "disabled")),
        ..Internet::default()
    };
    match kind {
        Uplink::Static => {
            internet.address = address_in(config, "wan").map(|inside| inside.to_string());
            internet.gateway = text(wan, "gateway");
            internet.dns = Some(words(wan, "dns"));
        }
        Uplink::Pppoe => {
            internet.username = text(wan, "username");
            internet.password = text(wan, "password");
            internet.service = text(wan, "service");
        }
        Uplink::Mobile => {
            internet.apn = text(wan, "apn");
            internet.pin = text(wan, "pincode");
            internet.modem = text(wan, "device");
            internet.username = text(wan, "username");
            internet.password = text(wan, "password");
        }
        Uplink::Wifi => {
            let of = |option| client.and_then(|client| text(client, option));
            internet.ssid = of("ssid");
            internet.key = of("key");
            internet.radio = of("device");
        }
        Uplink::Dhcp | Uplink::None | Uplink::Kept => {}
    }
    Some(internet)
}

/// Returns the interface of the client of another router's Wi-Fi, if the wizard made one.
pub(super) fn client_of(config: &Config) -> Option<String> {
    let interface = config.get("wireless", CLIENT_RADIO, "network")?;
    config.get("network", &interface, "weir")?;
    Some(interface)
}

/// Returns true if a router has the wanted uplink. Secrets and servers that are not given stay.
pub(super) fn is_there(wanted: &Internet, known: &Internet) -> bool {
    let secret =
        |wanted: &Option<String>, known: &Option<String>| wanted.is_none() || wanted == known;
    let without_those = |internet: &Internet| Internet {
        password: None,
        key: None,
        pin: None,
        dns: None,
        ..internet.clone()
    };
    (wanted.dns.is_none() || wanted.dns == known.dns)
        && secret(&wanted.password, &known.password)
        && secret(&wanted.key, &known.key)
        && secret(&wanted.pin, &known.pin)
        && without_those(wanted) == without_those(known)
}
