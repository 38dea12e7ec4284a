//! The router's surroundings change during a flow: weir follows the kernel's behaviour at once.

mod silent_changes;

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use lab::gateway::{CLIENT, ROUTER_LAN, ROUTER_WAN, SERVER, SERVER_INNER};
use lab::namespace::wait_until;
use lab::topology::Offloads;
use lab::transfer::{Datagrams, Echo};
use lab::{Error, Namespace, Options};
use weir_tests::scene::{self, Forwarder, PORT, Scene, WAYS, at_once};
use weir_tests::{LIMIT, Weir, conntrack};

/// No proof expires during a test, so events must end it.
const NO_REPROOF: &str = "[offload]\nreprove = \"10m\"\n";
const WEIR: [Forwarder; 2] = [Forwarder::Weir("tc"), Forwarder::Weir("xdp")];
/// Port of echo servers.
const ECHO: u16 = 7;

fn untranslated() -> Options {
    Options {
        nat: false,
        second_path: true,
        ..Options::default()
    }
}

/// Asserts that the transfer lives and leaves by this device.
fn leaves_by(scene: &Scene, device: &str, after: &str) -> Result<(), Error> {
    scene.lives(after)?;
    let Some(weir) = &scene.weir else {
        return Ok(());
    };
    wait_until(&format!("{after}: it leaves by {device}"), LIMIT, || {
        let flow = weir.flow_at(PORT)?;
        Ok(flow.is_some_and(|f| f.directions.original.port_out.as_deref() == Some(device)))
    })?;
    scene.lives(after)
}

/// Returns the bytes that left by the second wire.
fn second_wire(router: &Namespace) -> Result<u64, Error> {
    let text = router.run("cat /proc/net/dev")?;
    let line = text.lines().find_map(|l| l.trim().strip_prefix("wan1:"));
    line.and_then(|l| l.split_whitespace().nth(8)?.parse().ok())
        .ok_or_else(|| Error::Unexpected(format!("no wan1 in {text}")))
}

#[test]
fn policy_routing_by_mark_begins_and_ends_under_a_flow() {
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, &untranslated(), SERVER_INNER, NO_REPROOF)?;
        let router = scene.router()?;
        router.run("ip route add default via 10.0.1.2 table 100")?;
        router.run("ip rule add fwmark 1 lookup 100")?;
        scene.lives("a rule that matches nothing")?;
        let before = second_wire(router)?;
        router.nft(&format!(
            "table ip steer {{ chain pre {{ type filter hook prerouting priority mangle; policy \
                accept;\ntcp dport {PORT} meta mark set 1\n}}\n}}\n"
        ))?;
        leaves_by(&scene, "wan1", "a mark that has a route of its own")?;
        assert!(second_wire(router)? > before + (1 << 20));
        router.run("nft delete table ip steer")?;
        leaves_by(&scene, "wan0", "no mark")?;
        // The ruleset and the routes stay from here on: the connection's own mark selects the
        // device.
        router.nft(
            "table ip steer { chain pre { type filter hook prerouting priority mangle; \
            policy accept;\ntcp dport 5001 meta mark set ct mark\n}\n}\n",
        )?;
        scene.lives("the connection's mark is the packet's")?;
        for (mark, device) in [(1, "wan1"), (0, "wan0")] {
            conntrack::mark(router, SocketAddr::new(SERVER_INNER, PORT), mark)?;
            let before = second_wire(router)?;
            leaves_by(&scene, device, &format!("mark {mark}"))?;
            let used = second_wire(router)? > before + (1 << 20);
            assert_eq!(used, mark == 1, "{by:?}: mark {mark}");
        }
        scene.transfer.stop().map(drop)
    });
}

#[test]
fn the_opt_out_mark_gives_a_connection_back_and_frees_it_again() {
    at_once(&WEIR[1..], |by| {
        let config = "[offload]\nopt_out_mark = \"0x10/0xf0\"\n";
        let scene = Scene::new(by, &Options::default(), SERVER, config)?;
        let weir = scene.weir.as_ref().expect("weir runs");
        conntrack::mark(scene.router()?, SocketAddr::new(SERVER, PORT), 0x15)?;
        wait_until("it is the kernel's", LIMIT, || {
            let reason = weir.flow_at(PORT)?.and_then(|flow| flow.reason);
            Ok(reason.is_some_and(|reason| reason.code == "opted-out"))
        })?;
        let before = weir.forwarded()?;
        scene.transfer.advance(scene::ENOUGH, LIMIT)?;
        assert_eq!(weir.forwarded()?, before);
        conntrack::mark(scene.router()?, SocketAddr::new(SERVER, PORT), 0x25)?;
        scene.lives("another mark")?;
        scene.transfer.stop().map(drop)
    });
}

#[test]
fn a_smaller_mtu_is_told_to_the_sender_and_a_device_is_made_anew() {
    at_once(&WAYS, |by| {
        let scene = Scene::new(by, &Options::default(), SERVER, NO_REPROOF)?;
        let client = scene.lab.node("client")?;
        let path = || client.run(&format!("ip route get {SERVER}"));
        assert!(!path()?.contains("mtu 1300"), "{}", path()?);
        scene.router()?.run("ip link set wan0 mtu 1300")?;
        wait_until("the kernel says: fragmentation needed", LIMIT, || {
            Ok(path()?.contains("mtu 1300"))
        })?;
        scene.lives("a smaller MTU")?;
        if let Some(weir) = &scene.weir {
            let longest = weir
                .flow_at(PORT)?
                .and_then(|f| f.directions.original.longest);
            assert!(longest.is_none_or(|octets| octets <= 1300), "{longest:?}");
        }

        // Creates another device under the same name.
        let lab = &scene.lab;
        let before = lab.index("router", "wan0")?;
        scene.router()?.run("ip link del wan0")?;
        if let Some(weir) = &scene.weir {
            wait_until("weir lets go of it", LIMIT, || {
                let ports = weir.client()?.ports();
                Ok(ports.is_ok_and(|ports| ports.iter().all(|p| p.name != "wan0")))
            })?;
        }
        let offloads = match by {
            Forwarder::Weir("xdp") => Offloads::Plain,
            _ => Offloads::Default,
        };
        lab.wire(("router", "wan0"), ("server", "eth0"), offloads)?;
        lab.address("router", "wan0", &format!("{ROUTER_WAN}/24"))?;
        lab.address("server", "eth0", &format!("{SERVER}/24"))?;
        lab.route("server", "192.168.1.0/24", ROUTER_WAN)?;
        assert_ne!(lab.index("router", "wan0")?, before);
        scene.lives("another device of the same name")?;
        scene.transfer.stop().map(drop)
    });
}

/// Starts a UDP exchange that weir forwards.
fn exchange(scene: &Scene, weir: &Weir) -> Result<(Echo, Datagrams), Error> {
    let to = SocketAddr::new(SERVER, ECHO);
    let echo = Echo::serve(scene.lab.node("server")?, to)?;
    let datagrams = Datagrams::open(scene.lab.node("client")?, to)?;
    wait_until("weir forwards the datagrams", LIMIT, || {
        assert!(datagrams.ask(b"again", LIMIT)?);
        Ok(weir.flow_at(ECHO)?.is_some_and(|flow| flow.packets() > 10))
    })?;
    Ok((echo, datagrams))
}

#[test]
fn a_forgotten_connection_is_judged_anew() {
    let options = Options {
        second_path: false,
        ..untranslated()
    };
    at_once(&WEIR, |by| {
        let scene = Scene::new(by, &options, SERVER, NO_REPROOF)?;
        let weir = scene.weir.as_ref().expect("weir runs");
        let (_echo, datagrams) = exchange(&scene, weir)?;
        let router = scene.router()?;
        for forget in ["conntrack -D -p udp", "conntrack -F"] {
            router.nft(&format!(
                "table inet cut {{ chain forward {{ type filter hook forward priority -10; policy \
                    accept;\nudp dport {ECHO} ct state new drop\n}}\n}}\n"
            ))?;
            assert!(datagrams.ask(b"established", LIMIT)?);
            router.run(forget)?;
            wait_until("the record goes with the entry", LIMIT, || {
                Ok(weir.flow_at(ECHO)?.is_none())
            })?;
            assert!(
                !datagrams.ask(b"new", Duration::from_secs(1))?,
                "{forget}: it is forwarded without an entry"
            );
            router.run("nft delete table inet cut")?;
            wait_until("it is taken over again", LIMIT, || {
                datagrams.ask(b"again", LIMIT)?;
                Ok(weir.flow_at(ECHO)?.is_some_and(|flow| flow.packets() > 10))
            })?;
            // If all entries were deleted, the transfer's too: the kernel picks the transfer up,
            // and so does weir.
            scene.lives(forget)?;
        }
        router.run("ip addr del 10.0.0.1/24 dev wan0")?;
        scene.cut(
            "no address, so no route",
            ("server", "eth0"),
            Duration::from_secs(1),
        )?;
        router.run("ip addr add 10.0.0.1/24 dev wan0")?;
        scene.lives("the address is back")?;
        scene.transfer.stop().map(drop)
    });
}

#[test]
fn udp_is_not_forwarded_before_it_was_answered() {
    at_once(&WEIR[1..], |by| {
        let lab = scene::lab(by, &Options::default())?;
        let weir = scene::weir(by, &lab, "")?.expect("weir runs");
        let failed = || Error::system("use a UDP socket");
        let bind = |at: SocketAddr| move || UdpSocket::bind(at);
        let to = SocketAddr::new(SERVER, PORT);
        let server = lab.node("server")?.enter(bind(to))?.map_err(failed())?;
        let client = lab
            .node("client")?
            .enter(bind(SocketAddr::new(CLIENT, 6000)))?
            .map_err(failed())?;
        let mut buffer = [0; 8];
        let ask = |buffer: &mut [u8]| -> Result<SocketAddr, Error> {
            client.send_to(b"one", to).map_err(failed())?;
            Ok(server.recv_from(buffer).map_err(failed())?.1)
        };
        let mut from = ask(&mut buffer)?;
        wait_until("it is known as unanswered", LIMIT, || {
            let reason = weir.flow_at(PORT)?.and_then(|flow| flow.reason);
            Ok(reason.is_some_and(|reason| reason.code == "no-reply"))
        })?;
        for _ in 0..200 {
            from = ask(&mut buffer)?;
        }
        assert_eq!(weir.forwarded()?, 0);
        server.send_to(b"answer", from).map_err(failed())?;
        wait_until("it is forwarded once answered", LIMIT, || {
            ask(&mut buffer)?;
            Ok(weir.forwarded()? > 10)
        })?;
        // Without answers only one direction is proven, and weir reports that.
        let flow = weir.flow_at(PORT)?.expect("weir knows it");
        let proven = [
            flow.directions.original.proven,
            flow.directions.reply.proven,
        ];
        assert_eq!(proven, [true, false], "{flow:?}");
        let reason = flow.reason.map(|reason| reason.code);
        assert_eq!(reason.as_deref(), Some("unproven"));
        let (weir_itself, socket) = (weir_tests::binary(), weir.socket().display());
        let listed = lab.node("router")?.run(&format!(
            "{} flows --socket {socket}",
            weir_itself.display()
        ))?;
        assert!(listed.contains("one way"), "{listed}");
        Ok(())
    });
}

/// Two hosts share an address on two devices, separated by conntrack zones and marks: equal tuples.
#[test]
fn the_same_tuple_in_two_zones() {
    at_once(&WAYS, |by| {
        let mut lab = scene::lab(
            by,
            &Options {
                ipv6: lab::Ipv6::Off,
                ..Options::default()
            },
        )?;
        let offloads = match by {
            Forwarder::Weir("xdp") => Offloads::Plain,
            _ => Offloads::Default,
        };
        lab.host("twin")?;
        lab.wire(("twin", "eth0"), ("router", "lan1"), offloads)?;
        lab.address("twin", "eth0", &format!("{CLIENT}/24"))?;
        lab.route("twin", "default", ROUTER_LAN)?;
        let router = lab.node("router")?;
        // Routes to neighbours only: the mark selects the return route.
        router.ip(
            "addr add 192.168.1.1/32 dev lan1\nroute add 192.168.1.0/24 dev lan1 table \
            102\nrule add fwmark 2 lookup 102 pref 10\nrule add iif lan1 to 192.168.1.1 lookup \
            local pref 5\n",
        )?;
        router.nft(
            "table ip apart { chain pre { type filter hook prerouting priority raw; policy \
                accept;\n\
             iifname lan0 ct original zone set 1\niifname lan1 ct original zone set 2\n}\n\
             chain way { type filter hook prerouting priority mangle; policy accept;\n\
             iifname lan0 ct mark set 1\niifname lan1 ct mark set 2\niifname wan0 meta mark set \
             ct mark\n}\n}\n",
        )?;
        let more = "[ports.lan1]\nhook = \"tc\"\n";
        let weir = scene::weir(by, &lab, more)?;
        let to = SocketAddr::new(SERVER, ECHO);
        let _echo = Echo::serve(lab.node("server")?, to)?;
        let bind = || -> std::io::Result<UdpSocket> {
            let socket = UdpSocket::bind(SocketAddr::new(CLIENT, 6000))?;
            socket.connect(to)?;
            socket.set_read_timeout(Some(LIMIT))?;
            Ok(socket)
        };
        let open = |role| {
            lab.node(role)?
                .enter(bind)?
                .map_err(Error::system("open a UDP socket"))
        };
        let sockets = [(open("client")?, b"client"), (open("twin")?, b"twin.!")];
        let mut buffer = [0; 16];
        for round in 0..500 {
            for (socket, name) in &sockets {
                let exchange = socket
                    .send(*name)
                    .and_then(|_| lab::uninterrupted(|| socket.recv(&mut buffer)));
                let length = exchange.map_err(Error::system(format!("round {round}")))?;
                assert_eq!(&buffer[..length], *name, "{by:?}: round {round}");
            }
        }
        let entries = conntrack::entries(router)?;
        assert_eq!(
            entries.iter().filter(|e| e.ports == (6000, ECHO)).count(),
            2
        );
        if let Some(weir) = weir {
            let twins = weir.flows()?;
            let reason = |f: &answers::Flow| f.reason.as_ref().map(|r| r.code.clone());
            let found: Vec<_> = twins.iter().map(reason).collect();
            assert_eq!(found, vec![Some("ambiguous".to_owned()); 2], "{twins:#?}");
        }
        Ok(())
    });
}
