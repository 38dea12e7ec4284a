//! Devices at a port, and the role that follows.

use detect::Internet;

use super::{Scene, mac, port};
use crate::{FrameClass, Port, Role, Use};

const LAN: Use = Use::Lan;
const UP: Use = Use::Uplink;
const NEW: Use = Use::None;

/// Capabilities of LLDP.
const BRIDGE: u16 = 4;
const WLAN: u16 = 8;
const ROUTER: u16 = 16;
const PHONE: u16 = 32;
const STATION: u16 = 128;

fn many(scene: Scene, sort: FrameClass, count: u8) -> Scene {
    (1..=count).fold(scene, |scene, from| scene.hear(sort, from))
}

fn all() -> Vec<(&'static str, Scene, Role)> {
    let at = Scene::new;
    let bare = || {
        let port = port(LAN);
        Scene::of(Port {
            own_dhcp: false,
            ..port
        })
    };
    vec![
        ("nothing", at(NEW), Role::Unknown),
        (
            "nothing, looked",
            at(LAN).looks(Internet::None, false),
            Role::Unknown,
        ),
        ("a modem", at(UP).hear(FrameClass::Pado, 1), Role::Uplink),
        (
            "a modem at the LAN",
            at(LAN).hear(FrameClass::Pado, 1),
            Role::Client,
        ),
        (
            "a silent modem",
            at(UP).looks(Internet::Pppoe, false),
            Role::Uplink,
        ),
        ("DHCP", at(UP).hear(FrameClass::DhcpServer, 1), Role::Uplink),
        (
            "DHCP, a new port",
            at(NEW).hear(FrameClass::DhcpServer, 1),
            Role::Uplink,
        ),
        (
            "DHCP when asked",
            at(NEW).looks(Internet::Dhcp, true),
            Role::Uplink,
        ),
        (
            "DHCP at a LAN without",
            bare().hear(FrameClass::DhcpServer, 1),
            Role::Client,
        ),
        (
            "DHCP at the LAN",
            at(LAN).hear(FrameClass::DhcpServer, 1),
            Role::Client,
        ),
        (
            "a router at the LAN that asks for nothing",
            at(LAN)
                .hear(FrameClass::DhcpServer, 1)
                .hear(FrameClass::RouterAdvertisement, 1)
                .looks(Internet::Dhcp, true),
            Role::Client,
        ),
        (
            "a router like this one",
            at(NEW)
                .hear(FrameClass::DhcpServer, 1)
                .hear(FrameClass::DhcpClient, 1),
            Role::Unknown,
        ),
        (
            "somebody in the LAN who asks and gives",
            at(LAN)
                .hear(FrameClass::DhcpServer, 1)
                .hear(FrameClass::DhcpClient, 1),
            Role::Client,
        ),
        (
            "a Linux that routes IPv4 alone",
            at(NEW)
                .hear(FrameClass::RouterSolicitation, 1)
                .hear(FrameClass::DhcpServer, 1),
            Role::Uplink,
        ),
        (
            "a router like this one, by IPv6",
            at(NEW)
                .hear(FrameClass::RouterSolicitation, 1)
                .hear(FrameClass::RouterAdvertisement, 1),
            Role::Unknown,
        ),
        (
            "a client, and a server that asks for nothing",
            at(NEW)
                .hear(FrameClass::DhcpClient, 2)
                .hear(FrameClass::DhcpServer, 1),
            Role::Uplink,
        ),
        (
            "IPv6 alone",
            at(UP).hear(FrameClass::RouterAdvertisement, 1),
            Role::Uplink,
        ),
        (
            "DHCPv6 alone",
            at(NEW).hear(FrameClass::Dhcp6Server, 1),
            Role::Uplink,
        ),
        (
            "four servers",
            many(at(NEW), FrameClass::DhcpServer, 4).looks(Internet::Dhcp, true),
            Role::Uplink,
        ),
        (
            "six servers",
            many(at(NEW), FrameClass::DhcpServer, 6).looks(Internet::Dhcp, true),
            Role::Unknown,
        ),
        (
            "a modem in VLAN 7",
            at(UP).tagged(FrameClass::Pado, 1, 7),
            Role::Uplink,
        ),
        (
            "a provider's router in VLAN 7 that offers nothing",
            at(NEW)
                .tagged(FrameClass::Ip, 1, 7)
                .looks(Internet::None, false),
            Role::Unknown,
        ),
        ("a node", at(LAN).greets(true), Role::Mesh),
        (
            "a node that serves",
            at(LAN).hear(FrameClass::DhcpServer, 1).greets(true),
            Role::Mesh,
        ),
        (
            "a node behind a radio",
            at(NEW)
                .announced("LiteBeam 5AC", WLAN | BRIDGE)
                .greets(true),
            Role::Mesh,
        ),
        ("a stranger's node", at(NEW).greets(false), Role::Border),
        (
            "a hello that nobody read",
            at(NEW).hear(FrameClass::Hello, 1),
            Role::Border,
        ),
        (
            "batman-adv",
            at(NEW).hear(FrameClass::Batman, 1),
            Role::Border,
        ),
        (
            "a laptop of the LAN that speaks batman-adv",
            bare().hear(FrameClass::Batman, 1),
            Role::Client,
        ),
        (
            "a neighbour at the provider's line that asks",
            at(NEW)
                .hear(FrameClass::DhcpClient, 7)
                .looks(Internet::Dhcp, true),
            Role::Uplink,
        ),
        (
            "a radio that says one frame back",
            at(UP).hear(FrameClass::Own, 0).hear(FrameClass::Pado, 1),
            Role::Uplink,
        ),
        (
            "Babel and DHCP",
            at(NEW)
                .hear(FrameClass::Babel, 1)
                .hear(FrameClass::DhcpServer, 1),
            Role::Border,
        ),
        ("OSPF", at(NEW).hear(FrameClass::Routing, 1), Role::Border),
        (
            "a modem that speaks RIP",
            at(UP)
                .hear(FrameClass::Routing, 1)
                .hear(FrameClass::Pado, 1),
            Role::Uplink,
        ),
        (
            "a mesh with its key",
            at(NEW).hear(FrameClass::Batman, 1).greets(true),
            Role::Mesh,
        ),
        (
            "a radio",
            at(NEW).announced("NanoStation 5AC loco", 0),
            Role::Radio,
        ),
        (
            "an access point",
            at(LAN).announced("x", WLAN | BRIDGE),
            Role::Radio,
        ),
        (
            "a radio at the LAN that brings DHCP",
            at(LAN)
                .announced("PowerBeam M5", WLAN)
                .hear(FrameClass::DhcpServer, 1),
            Role::Radio,
        ),
        (
            "a router with wireless LAN that asks",
            at(LAN)
                .announced("OpenWrt", WLAN | BRIDGE | ROUTER)
                .hear(FrameClass::DhcpClient, 9),
            Role::Client,
        ),
        ("a switch", at(LAN).announced("x", BRIDGE), Role::Switch),
        (
            "spanning tree",
            at(LAN).hear(FrameClass::Bpdu, 1),
            Role::Switch,
        ),
        (
            "a plain switch",
            many(at(LAN), FrameClass::DhcpClient, 3),
            Role::Switch,
        ),
        (
            "a plain switch with one",
            at(LAN).hear(FrameClass::DhcpClient, 1),
            Role::Client,
        ),
        (
            "a switch, a server behind",
            at(UP)
                .hear(FrameClass::Bpdu, 1)
                .hear(FrameClass::DhcpServer, 2),
            Role::Uplink,
        ),
        (
            "a laptop",
            at(LAN)
                .hear(FrameClass::DhcpClient, 1)
                .hear(FrameClass::Arp, 1),
            Role::Client,
        ),
        ("a printer", at(LAN).hear(FrameClass::Ip, 1), Role::Client),
        (
            "a telephone",
            at(LAN).announced("x", PHONE | BRIDGE),
            Role::Client,
        ),
        (
            "a computer that says so",
            at(LAN).announced("x", STATION),
            Role::Client,
        ),
        ("a loop", at(LAN).loops(), Role::Loop),
        (
            "a loop with all else",
            at(UP).hear(FrameClass::Pado, 1).greets(true).loops(),
            Role::Loop,
        ),
        (
            "something of no sort",
            at(LAN).hear(FrameClass::Other, 1),
            Role::Unknown,
        ),
    ]
}

#[test]
fn each_is_taken_for_what_it_is() {
    let mut wrong = Vec::new();
    for (name, scene, role) in all() {
        let mut scene = scene.passes(15_000);
        let said = scene.says();
        if said.role != role || said.decided.is_none() {
            wrong.push(format!("{name}: {} for {role}: {}", said.role, said.why));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn sentences_are_sentences() {
    for (name, scene, _) in all() {
        let said = scene.passes(15_000).says();
        for text in [&said.why, &said.change_condition] {
            let begins =
                text.starts_with(|it: char| it.is_ascii_uppercase() || it.is_ascii_digit());
            assert!(begins && text.ends_with('.'), "{name}: {text}");
            assert!(
                !text.contains("..") && !text.contains("  "),
                "{name}: {text}"
            );
        }
        for text in said.evidence.iter().map(|it| &it.text) {
            assert!(!text.ends_with('.') && !text.is_empty(), "{name}: {text}");
        }
        let order = said.evidence.is_sorted_by_key(|clue| clue.after);
        assert!(order, "{name}");
    }
}

#[test]
fn another_server_at_the_lan_is_named() {
    let said = Scene::new(LAN)
        .hear(FrameClass::DhcpServer, 5)
        .passes(5000)
        .says();
    assert_eq!(said.role, Role::Client);
    let [notice] = &said.notices[..] else {
        panic!("{:?}", said.notices)
    };
    assert_eq!(notice.kind, "dhcp-server");
    assert!(notice.text.contains("02:00:00:00:00:05"), "{}", notice.text);
    assert!(said.why.contains("forge"), "{}", said.why);
    let said = Scene::new(UP)
        .hear(FrameClass::DhcpServer, 5)
        .passes(5000)
        .says();
    assert_eq!(said.notices, []);
    let said = Scene::new(LAN).looks(Internet::Dhcp, true).says();
    assert!(
        said.notices[0].text.contains("192.0.2.1"),
        "{:?}",
        said.notices
    );
}

#[test]
fn a_vlan_is_named_where_nothing_came_without_a_tag() {
    let tagged = Scene::new(UP).tagged(FrameClass::Pado, 1, 7);
    let mut scene = tagged.passes(1000);
    assert!(scene.says().why.contains("in VLAN 7"));
    assert!(scene.says().evidence[0].text.contains("in VLAN 7"));
    let mut scene = scene.hear(FrameClass::Pado, 1).passes(1000);
    assert!(!scene.says().why.contains("VLAN"), "{}", scene.says().why);
}

#[test]
fn a_modem_with_a_page_says_so() {
    let scene = Scene::new(NEW).looks(Internet::Dhcp, false);
    let mut scene = scene.hear(FrameClass::DhcpServer, 1);
    let said = scene.says();
    assert!(said.why.ends_with(", without a router."), "{}", said.why);
    let mut other = Scene::new(NEW).looks(Internet::Dhcp, true);
    other = other.hear(FrameClass::DhcpServer, 1);
    assert!(said.confidence + 20 <= other.says().confidence);
}

#[test]
fn an_uplink_by_a_radio_says_so() {
    let radio = Scene::new(NEW).announced("LBE-5AC-Gen2", WLAN | BRIDGE);
    let mut scene = radio.passes(1000);
    assert_eq!(scene.role(), Role::Radio);
    assert!(scene.cable.wants_look(scene.now));
    let mut scene = scene.hear(FrameClass::DhcpServer, 1).passes(2500);
    assert_eq!(scene.role(), Role::Uplink);
    assert!(
        scene.says().why.contains("by a radio"),
        "{}",
        scene.says().why
    );
}

#[test]
fn a_hardware_address_alone_is_a_clue_and_no_more() {
    let mut scene = Scene::new(NEW);
    scene.noted.stations.push([0x04, 0x18, 0xd6, 1, 2, 3]);
    let mut scene = scene.hear(FrameClass::Arp, 1).passes(5000);
    let said = scene.says();
    assert_eq!(said.role, Role::Client);
    let maker = said.evidence.iter().find(|clue| clue.kind == "maker");
    assert!(maker.expect("a maker").text.contains("Ubiquiti"));
}

#[test]
fn what_the_administrator_chose_and_comes_by_stays() {
    for role in Role::ALL {
        let held = Some(role);
        let administrator = true;
        for scene in [port(LAN), port(UP)].map(|port| {
            Scene::of(Port {
                held,
                administrator,
                ..port
            })
        }) {
            let said = scene.loops().greets(true).passes(5000).says();
            assert_eq!((said.role, said.held_by), (role, Some("administrator")));
        }
    }
    let own = Port {
        administrator: true,
        ..port(NEW)
    };
    let mut scene = Scene::of(own).hear(FrameClass::Pado, 1).passes(5000);
    let said = scene.says();
    assert_eq!(
        (said.role, said.held_by),
        (Role::Client, Some("connection"))
    );
    assert!(
        said.why.contains("uplink") && said.why.contains("PPPoE"),
        "{}",
        said.why
    );
    assert!(!scene.cable.wants_look(scene.now));
    // When the connection moves to another port, the evidence decides.
    scene.cable.facts(port(NEW));
    assert_eq!(scene.role(), Role::Uplink);
    assert_eq!(mac(1)[5], 1);
}

/// Returns true if a sentence fits a template, whose parts in braces match anything.
fn is_of(template: &str, sentence: &str) -> bool {
    let mut rest = sentence.to_lowercase();
    let parts = template
        .split('{')
        .map(|part| part.split_once('}').map_or(part, |it| it.1));
    for part in parts {
        let Some((_, after)) = rest.split_once(&part.to_lowercase()) else {
            return false;
        };
        rest = after.to_owned();
    }
    true
}

/// The page translates every sentence for which it has a template.
#[test]
fn the_page_has_a_template_for_every_sentence() {
    let page = include_str!("../../../web/text/en.ts");
    let after = page.split("\"says.").skip(1);
    let text = |line: &str| Some(line.split_once("\":")?.1.split('"').nth(1)?.to_owned());
    let templates: Vec<String> = after.filter_map(text).collect();
    assert!(templates.len() > 60, "{}", templates.len());
    let mut lacks = Vec::new();
    for (_, mut scene, _) in all() {
        for _ in 0..4 {
            let said = scene.says();
            let evidence = said.evidence.into_iter().map(|clue| clue.text);
            let notices = said.notices.into_iter().map(|notice| notice.text);
            let own = [said.why, said.change_condition];
            lacks.extend(
                own.into_iter()
                    .chain(evidence)
                    .chain(notices)
                    .filter(|sentence| {
                        let sentence = sentence.trim_end_matches('.');
                        !templates.iter().any(|template| is_of(template, sentence))
                    }),
            );
            scene = scene.passes(5000);
        }
    }
    assert_eq!(lacks, [""; 0]);
}
