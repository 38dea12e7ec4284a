//! WireGuard, OpenVPN and batman-adv.

use uci::Package;

use super::addresses::Interface;
use super::links::{Links, Netdev};
use super::reader::{Diagnostics, Reader, sections};
use super::rendered::{Access, RenderedFile, file};
use super::value;
use crate::openvpn;

const KEY: &str = "a key of WireGuard: 44 characters of base64";
const ADDRESS: &str = "an address with the length of its prefix: 10.0.0.1/24";

/// Renders `proto wireguard`, and the sections of its peers.
pub fn wireguard(
    reader: &Reader<'_>,
    package: &Package,
    ledger: &Diagnostics,
    links: &mut Links,
    interface: &mut Interface,
) {
    let name = reader.name();
    let mut netdev = Netdev::new(name, "wireguard");
    netdev.secret = true;
    if let Some(mtu) = reader.number("mtu", 68..=65_535) {
        netdev.unit.put("NetDev", "MTUBytes", mtu);
    }
    match reader.one("private_key", value::key, KEY) {
        Some(key) => netdev.unit.put("WireGuard", "PrivateKey", key),
        None if reader.has("private_key") => {}
        None => reader.fault("private_key", KEY),
    }
    if let Some(port) = reader.number("listen_port", 1..=65_535) {
        netdev.unit.put("WireGuard", "ListenPort", port);
        // Clients of the tunnel use this machine for names.
        interface.serves = true;
    }
    let mark = |text: &str| {
        let number = text.strip_prefix("0x");
        u32::from_str_radix(
            number.unwrap_or(text),
            if number.is_some() { 16 } else { 10 },
        )
        .ok()
    };
    if let Some(mark) = reader.one("fwmark", mark, "a number") {
        netdev.unit.put("WireGuard", "FirewallMark", mark);
    }
    let link = links.link(name);
    link.always = true;
    interface.addresses = reader.many("addresses", value::prefix, ADDRESS);
    for address in &interface.addresses {
        link.unit.put("Network", "Address", address);
    }
    let kind = format!("wireguard_{name}");
    for peer in sections(package, ledger).filter(|peer| peer.kind() == kind) {
        wireguard_peer(peer, &mut netdev);
    }
    links.netdevs.insert(name.to_owned(), netdev);
}

fn wireguard_peer(reader: Reader<'_>, netdev: &mut Netdev) {
    reader.ignore(&["description", "private_key"]);
    if reader.flag("disabled", false) {
        return reader.leave_out("not rendered: it is switched off");
    }
    let mut lines = Vec::new();
    match reader.one("public_key", value::key, KEY) {
        Some(key) => lines.push(("PublicKey", key)),
        None if reader.has("public_key") => {}
        None => reader.fault("public_key", KEY),
    }
    let shared = reader.one("preshared_key", value::key, KEY);
    lines.extend(shared.map(|key| ("PresharedKey", key)));
    let allowed = reader.many("allowed_ips", value::prefix, ADDRESS);
    for prefix in &allowed {
        lines.push(("AllowedIPs", prefix.network().to_string()));
    }
    let host = |text: &str| match text.trim_matches(['[', ']']).parse() {
        Ok(std::net::IpAddr::V6(address)) => Some(format!("[{address}]")),
        Ok(std::net::IpAddr::V4(address)) => Some(address.to_string()),
        Err(_) => value::domain(text),
    };
    let host = reader.one("endpoint_host", host, "an address or a name");
    let port = reader.number("endpoint_port", 1..=65_535).unwrap_or(51_820);
    lines.extend(host.map(|host| ("Endpoint", format!("{host}:{port}"))));
    let alive = reader.number("persistent_keepalive", 0..=65_535);
    lines.extend(alive.map(|seconds| ("PersistentKeepalive", seconds.to_string())));
    if reader.flag("route_allowed_ips", false) {
        lines.push(("RouteTable", "main".into()));
    }
    netdev.unit.add("WireGuardPeer", lines);
    reader.end();
}

/// Renders `proto openvpn`, of a server that `weir setup` made: its settings are in its own file,
/// which has netifd's name for it here. A changed mark restarts the server.
pub fn openvpn(reader: &Reader<'_>, interface: &mut Interface) -> Option<RenderedFile> {
    let mut text = String::new();
    let known = |text: &str| (text == openvpn::FILE).then_some(openvpn::FILE);
    let expected = "the file that `weir setup` makes: no other server is rendered";
    let Some(path) = reader.one("config", known, expected) else {
        if !reader.has("config") {
            reader.fault("config", expected);
        }
        return None;
    };
    line!(text, "config {path}");
    interface.device = reader.device("dev");
    match &interface.device {
        Some(device) => line!(text, "dev {device}"),
        None if reader.has("dev") => {}
        None => reader.fault("dev", super::reader::DEVICE),
    }
    if let Some(kind) = reader.word("dev_type", &["tun"]) {
        line!(text, "dev-type {kind}");
    }
    if let Some(port) = reader.number("port", 1..=65_535) {
        line!(text, "port {port}");
    }
    let mark = |text: &str| value::hexadecimal(text, 16);
    if let Some(mark) = reader.one("echo", mark, "16 hexadecimal digits") {
        line!(text, "echo {mark}");
    }
    interface.serves = true;
    let path = format!("etc/openvpn/server/weir-{}.conf", reader.name());
    Some(file(path, Access::All, &text))
}

/// Renders `proto batadv`: the mesh as a device.
pub fn batadv(reader: &Reader<'_>, links: &mut Links) {
    let name = reader.name();
    let mut netdev = Netdev::new(name, "batadv");
    let algorithm = match reader.word("routing_algo", &["BATMAN_IV", "BATMAN_V"]) {
        Some("BATMAN_V") => "batman-v",
        _ => "batman-iv",
    };
    netdev
        .unit
        .put("BatmanAdvanced", "RoutingAlgorithm", algorithm);
    if let Some(mode) = reader.word("gw_mode", &["off", "client", "server"]) {
        netdev.unit.put("BatmanAdvanced", "GatewayMode", mode);
    }
    for (option, key) in [
        ("bridge_loop_avoidance", "BridgeLoopAvoidance"),
        ("distributed_arp_table", "DistributedArpTable"),
        ("fragmentation", "Fragmentation"),
        ("aggregated_ogms", "Aggregation"),
    ] {
        if reader.has(option) {
            let word = if reader.flag(option, false) {
                "yes"
            } else {
                "no"
            };
            netdev.unit.put("BatmanAdvanced", key, word);
        }
    }
    // networkd also sets missing options, with other defaults than the kernel and OpenWrt: its
    // penalty is half of theirs, and networkd takes the interval of 1000 for µs. The kernel raises
    // it to 40 ms, which floods the air.
    let penalty = reader.number("hop_penalty", 0..=255).unwrap_or(30);
    netdev.unit.put("BatmanAdvanced", "HopPenalty", penalty);
    let interval = reader.number("orig_interval", 40..=1_000_000);
    let interval = format!("{}ms", interval.unwrap_or(1000));
    netdev
        .unit
        .put("BatmanAdvanced", "OriginatorIntervalSec", interval);
    links.netdevs.insert(name.to_owned(), netdev);
    links.link(name);
}

/// Renders `proto vxlan6`: a network of its own on the device of another interface, `tunlink`.
pub fn vxlan(reader: &Reader<'_>, package: &Package, links: &mut Links) {
    let name = reader.name();
    let mut netdev = Netdev::new(name, "vxlan");
    let number = reader.number("vid", 1..=(1 << 24) - 1);
    let group = reader.one("peer6addr", six, "an address of IPv6");
    let below = |text: &str| {
        let below = package.section(text)?;
        let device = below.get("device").and_then(uci::Element::value)?;
        value::device(std::str::from_utf8(device).ok()?)
    };
    let expected = "an interface that has a device";
    let below = reader.one("tunlink", below, expected);
    for (option, is_there, expected) in [
        ("vid", number.is_some(), "the number of the VXLAN"),
        ("peer6addr", group.is_some(), "a group of IPv6: ff02::15c"),
        ("tunlink", below.is_some(), expected),
    ] {
        if !is_there && !reader.has(option) {
            reader.fault(option, expected);
        }
    }
    let (Some(number), Some(group), Some(below)) = (number, group, below) else {
        return;
    };
    netdev.unit.put("VXLAN", "VNI", number);
    let key = if group.is_multicast() {
        "Group"
    } else {
        "Remote"
    };
    netdev.unit.put("VXLAN", key, group);
    let port = reader.number("port", 1..=65_535).unwrap_or(4789);
    netdev.unit.put("VXLAN", "DestinationPort", port);
    // Without learning, all packets go to the whole group.
    let learns = if reader.flag("learning", true) {
        "yes"
    } else {
        "no"
    };
    netdev.unit.put("VXLAN", "MacLearning", learns);
    for (option, key) in [
        ("rxcsum", "UDP6ZeroChecksumRx"),
        ("txcsum", "UDP6ZeroChecksumTx"),
    ] {
        let sums = reader.flag(option, true);
        netdev
            .unit
            .put("VXLAN", key, if sums { "no" } else { "yes" });
    }
    links.netdevs.insert(name.to_owned(), netdev);
    links.link(name);
    let lower = links.link(&below);
    // The VXLAN sends from a link-local address.
    lower.local = true;
    lower.unit.put("Network", "VXLAN", name);
}

fn six(text: &str) -> Option<std::net::Ipv6Addr> {
    text.parse().ok()
}

/// Renders `proto batadv_hardif`: a device that the mesh uses.
pub fn hardif(reader: &Reader<'_>, link: &str, links: &mut Links) {
    match reader.device("master") {
        Some(mesh) => links.link(link).unit.put("Network", "BatmanAdvanced", mesh),
        None if reader.has("master") => {}
        None => reader.fault("master", "the interface of the mesh: bat0"),
    }
}
