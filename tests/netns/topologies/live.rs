//! A long transfer, byte for byte, during changes of the router's lower layers. Each script also
//! runs with the kernel alone: weir must do neither better nor worse.

use std::fmt::Write;
use std::time::Duration;

use lab::gateway::{CLIENT, ROUTER_LAN, SERVER, SERVER_INNER};
use lab::topology::{mac, text};
use lab::{Arrangement, Error, Options};
use weir_tests::scene::{Forwarder, Scene, WAYS, at_once};

/// No proof expires during a test, so events must end it.
const NO_REPROOF: &str = "[offload]\nreprove = \"10m\"\n";
/// Time after which a change has taken effect, even on a busy machine.
const SETTLED: Duration = Duration::from_secs(1);

/// Without translation, as only the path counts here: masquerading and lost devices are another
/// subject.
fn untranslated(arrangement: Arrangement) -> Options {
    Options {
        arrangement,
        nat: false,
        ..Options::default()
    }
}

/// Way in which a station leaves its port of the bridge.
#[derive(Clone, Copy)]
enum Leaves {
    /// Like a station that roams between access points: the port sees no event.
    Silently,
    /// Like a station whose cable is pulled: the port loses its carrier.
    Unplugged,
}

/// Moves the client, with its MAC and its address, behind another of its devices.
fn roam(scene: &Scene, from: &str, to: &str, leaves: Leaves) -> Result<(), Error> {
    let own = text(mac("client", "eth0"));
    let leave = match leaves {
        // The remaining device gets another address.
        Leaves::Silently => format!("link set {from} address 02:00:00:00:99:99"),
        Leaves::Unplugged => format!("link set {from} down"),
    };
    scene
        .lab
        .node("client")?
        .ip(&format!(
            "addr flush dev {from}\n{leave}\nlink set {to} address {own}\nlink set {to} up\n\
         addr add {CLIENT}/24 dev {to}\nroute replace default via {ROUTER_LAN}\n"
        ))
        .map(drop)
}

/// A station changes its port of the bridge during its transfer, to and fro, in both ways.
fn roams(arrangement: Arrangement, other: &str) {
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, &untranslated(arrangement), SERVER, NO_REPROOF)?;
        // The second device is the old wire of the host behind another member.
        let client = scene.lab.node("client")?;
        scene.lab.node(other)?.run(&format!(
            "ip link set eth0 netns {} name eth1",
            client.name()
        ))?;
        for leaves in [Leaves::Silently, Leaves::Unplugged] {
            roam(&scene, "eth0", "eth1", leaves)?;
            scene.lives("the client is behind another port")?;
            roam(&scene, "eth1", "eth0", leaves)?;
            scene.lives("the client is back")?;
        }
        scene.transfer.stop().map(drop)
    });
}

#[test]
fn a_transfer_survives_roaming() {
    roams(Arrangement::BRIDGE, "at-lan2");
}

#[test]
#[ignore = "needs PPPoE and 802.1Q: run by tests/vm/run"]
fn a_transfer_survives_roaming_between_lan_and_wifi_at_home() {
    roams(Arrangement::HOME, "at-wlan0");
}

#[test]
#[ignore = "needs PPPoE and 802.1Q: run by tests/vm/run"]
fn a_transfer_survives_another_pppoe_session() {
    sessions(&[Forwarder::Weir("tc")], 1);
}

#[test]
#[ignore = "needs PPPoE and 802.1Q: run by tests/vm/run"]
fn a_transfer_survives_two_more_pppoe_sessions() {
    sessions(&[Forwarder::Kernel, Forwarder::Weir("xdp")], 2);
}

/// The provider ends the session, and numbers the next one differently, this many times.
fn sessions(ways: &[Forwarder], count: usize) {
    at_once(ways, |by| {
        let options = untranslated(Arrangement::PPPOE_OVER_VLAN);
        let mut scene = Scene::new(by, &options, SERVER, NO_REPROOF)?;
        for _ in 0..count {
            let former = scene.lab.session()?;
            scene.lab.hang_up()?;
            scene.cut("no session", ("client", "eth0"), SETTLED)?;
            scene.lab.dial()?;
            assert_ne!(former, scene.lab.session()?);
            scene.lives("another session")?;
        }
        scene.transfer.stop().map(drop)
    });
}

/// Two routes to one address: the kernel takes the second when the first's device has no carrier,
/// without an event for a route.
#[test]
fn a_transfer_survives_the_loss_of_a_wan() {
    at_once(&WAYS, |by| {
        let options = Options {
            second_path: true,
            ..untranslated(Arrangement::PLAIN)
        };
        let scene = Scene::new(by, &options, SERVER_INNER, NO_REPROOF)?;
        let (router, server) = (scene.router()?, scene.lab.node("server")?);
        for device in ["all", "wan0", "wan1"] {
            let key = format!("net.ipv4.conf.{device}.ignore_routes_with_linkdown");
            router.sysctl(&key, 1)?;
        }
        let back = "ip route replace 192.168.1.0/24 via";
        server.run(&format!("{back} 10.0.1.1 metric 20"))?;
        for (via, metric) in [("10.0.1.2", 20), ("10.0.0.2", 10)] {
            router.run(&format!(
                "ip route add {SERVER_INNER}/32 via {via} metric {metric}"
            ))?;
        }
        // The lab's own route has no metric and would stay the best.
        router.run(&format!(
            "ip route del {SERVER_INNER}/32 via 10.0.0.2 metric 0"
        ))?;
        scene.lives("two routes")?;
        for _ in 0..2 {
            server.run("ip link set eth0 down")?;
            scene.lives("the first WAN has no carrier")?;
            server.run("ip link set eth0 up")?;
            server.run(&format!("{back} 10.0.0.1"))?;
            scene.lives("the first WAN is back")?;
            scene.cut("the first WAN is back", ("server", "eth1"), SETTLED)?;
        }
        scene.transfer.stop().map(drop)
    });
}

/// Returns a ruleset of the shape of OpenWrt's fw4: zones, established first, all others dropped.
fn zones(lan: &str, wan: &str) -> String {
    let mut rules = String::from("table inet fw4 {\n");
    let hook = |name: &str, kind: &str, hook: &str, priority: &str, policy: &str| {
        format!("chain {name} {{ type {kind} hook {hook} priority {priority}; policy {policy};\n")
    };
    // Includes `drop_invalid`, but no verdict map as in fw4. On some kernels (seen on 6.12) a
    // look-up during an exchange of rules may miss an element of both maps. The kernel then refuses
    // the packet, which ends the transfer on any router ("restart set lookup on base_seq change").
    let known = "ct state established,related accept\nct state invalid drop\n";
    let _ = write!(
        rules,
        "{}{known}iifname \"lo\" accept\niifname \"{lan}\" accept\niifname \"{wan}\" jump \
            refuse\n}}\n\
         {}{known}iifname \"{lan}\" jump forward_lan\niifname \"{wan}\" jump forward_wan\njump \
         refuse\n}}\n\
         chain forward_lan {{ oifname \"{wan}\" accept\noifname \"{lan}\" accept\n}}\n\
         chain forward_wan {{ ct status dnat accept\n}}\n\
         chain refuse {{ meta l4proto tcp reject with tcp reset\nreject\n}}\n\
         {}oifname \"{wan}\" tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu\n}}\n\
         {}oifname \"{wan}\" meta nfproto ipv4 ip saddr 192.168.99.0/24 masquerade\n}}\n}}\n",
        hook("input", "filter", "input", "filter", "drop"),
        hook("forward", "filter", "forward", "filter", "drop"),
        hook("mangle_forward", "filter", "forward", "mangle", "accept"),
        hook("srcnat", "nat", "postrouting", "srcnat", "accept"),
    );
    rules
}

/// The firewall reloads repeatedly, like `fw4 reload`: in one transaction.
#[test]
fn a_transfer_survives_reloads_of_the_firewall() {
    let arrangement = Arrangement::BRIDGE;
    let rules = zones(arrangement.lan_device(), arrangement.wan_device());
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, &untranslated(arrangement), SERVER, NO_REPROOF)?;
        for reload in 0..4 {
            scene.router()?.nft(&format!("flush ruleset\n{rules}"))?;
            scene.lives(&format!("reload {reload}"))?;
        }
        // Finally with another decision: established flows stay, but new ones may not leave.
        // Conntrack forgets the transfer, which is new then.
        let refused = rules.replace(
            &format!("oifname \"{}\" accept\n", arrangement.wan_device()),
            "",
        );
        scene.router()?.nft(&format!("flush ruleset\n{refused}"))?;
        scene.lives("only what is established may go out")?;
        let drops = refused.replace("jump refuse", "drop");
        scene.router()?.nft(&format!("flush ruleset\n{drops}"))?;
        scene.router()?.run("conntrack -D -p tcp")?;
        scene.cut(
            "the transfer is not established",
            ("server", "eth0"),
            SETTLED,
        )?;
        scene.router()?.nft(&format!("flush ruleset\n{rules}"))?;
        scene.lives("everything may go out again")?;
        scene.transfer.stop().map(drop)
    });
}
