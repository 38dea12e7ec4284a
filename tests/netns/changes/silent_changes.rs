//! Changes without a message from the kernel take effect within a second.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use lab::gateway::{CLIENT, ROUTER_WAN6, SERVER, SERVER6};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::{Arrangement, Error, Lab, Options, Tap};
use socket2::{Domain, Protocol, Socket, Type};
use weir_tests::scene::{self, Forwarder, Scene, at_once};
use weir_tests::{LIMIT, Weir};

use super::{ECHO, NO_REPROOF, WEIR};

/// Longest time for which weir may keep the old behaviour.
const SOON: Duration = Duration::from_secs(1);
const EVENTS: &str = "net.netfilter.nf_conntrack_events";

/// An exchange older than weir, whose entry sends no events, and that weir forwards.
struct Older {
    datagrams: Datagrams,
    _echo: Echo,
    weir: Weir,
    lab: Lab,
}

impl Older {
    fn new(by: Forwarder) -> Result<Self, Error> {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        let to = SocketAddr::new(SERVER, ECHO);
        let echo = Echo::serve(lab.node("server")?, to)?;
        let datagrams = Datagrams::open(lab.node("client")?, to)?;
        // Disables events, as if no process listened: a listener in any namespace counts.
        router.sysctl(EVENTS, 0)?;
        assert!(datagrams.ask(b"first", LIMIT)?);
        router.sysctl(EVENTS, 2)?;
        let config = "[offload]\nreprove = \"10m\"\nopt_out_mark = \"0x10/0xf0\"\n";
        let weir = scene::weir(by, &lab, config)?.expect("weir runs");
        let older = Self {
            datagrams,
            _echo: echo,
            weir,
            lab,
        };
        wait_until("weir forwards what is older", LIMIT, || {
            assert!(older.datagrams.ask(b"again", LIMIT)?);
            let flow = older.weir.flow_at(ECHO)?;
            Ok(flow.is_some_and(|flow| flow.packets() > 10))
        })?;
        Ok(older)
    }
}

#[test]
fn an_older_connection_is_cut_or_given_back_within_a_second() {
    at_once(&WEIR, |by| {
        let older = Older::new(by)?;
        let router = older.lab.node("router")?;
        let port = older.datagrams.local()?.port();
        router.run(&format!(
            "conntrack -U -p udp -s {CLIENT} -d {SERVER} --sport {port} --dport {ECHO} --mark 21"
        ))?;
        wait_until("its mark is noticed", SOON, || {
            assert!(older.datagrams.ask(b"marked", LIMIT)?);
            let reason = older.weir.flow_at(ECHO)?.and_then(|flow| flow.reason);
            Ok(reason.is_some_and(|reason| reason.code == "opted-out"))
        })?;
        let older = Older::new(by)?;
        let router = older.lab.node("router")?;
        router.nft(&format!(
            "table inet cut {{ chain forward {{ type filter hook forward priority -10; policy \
                accept;\nudp dport {ECHO} ct state new drop\n}}\n}}\n"
        ))?;
        assert!(older.datagrams.ask(b"established", LIMIT)?);
        wait_until("weir forwards it again", LIMIT, || {
            assert!(older.datagrams.ask(b"again", LIMIT)?);
            let flow = older.weir.flow_at(ECHO)?;
            Ok(flow.is_some_and(|flow| flow.directions.original.proven))
        })?;
        // weir finds a missing entry itself: each hook tests another way to delete it.
        let forget = match by {
            Forwarder::Weir("tc") => "conntrack -D -p udp",
            _ => "conntrack -F",
        };
        router.run(forget)?;
        std::thread::sleep(SOON);
        for _ in 0..10 {
            let answered = older.datagrams.ask(b"new", Duration::from_millis(50))?;
            assert!(!answered, "{by:?}, {forget}: {}", older.weir.log());
        }
        Ok(())
    });
}

#[test]
fn without_events_weir_forwards_nothing_and_says_so() {
    at_once(&WEIR[1..], |by| {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        router.sysctl(EVENTS, 0)?;
        let weir = scene::weir(by, &lab, "")?.expect("weir runs");
        let to = SocketAddr::new(SERVER, ECHO);
        let _echo = Echo::serve(lab.node("server")?, to)?;
        let datagrams = Datagrams::open(lab.node("client")?, to)?;
        let blind = || -> Result<bool, Error> {
            let problems = weir.status()?.problems;
            Ok(problems
                .iter()
                .any(|trouble| trouble.what.contains("nf_conntrack_events is 0")))
        };
        assert!(blind()?);
        assert!(weir.log().contains("nf_conntrack_events is 0"));
        for _ in 0..20 {
            assert!(datagrams.ask(b"hello", LIMIT)?);
        }
        assert_eq!(weir.forwarded()?, 0);
        router.sysctl(EVENTS, 2)?;
        // The exchange is older than events.
        wait_until("weir forwards it", LIMIT, || {
            assert!(datagrams.ask(b"again", LIMIT)?);
            Ok(weir.forwarded()? > 10 && !blind()?)
        })?;
        router.sysctl(EVENTS, 0)?;
        wait_until("weir gives all back", LIMIT, blind)?;
        let before = weir.forwarded()?;
        for _ in 0..20 {
            assert!(datagrams.ask(b"hello", LIMIT)?);
        }
        assert_eq!(weir.forwarded()?, before);
        Ok(())
    });
}

/// Docker and OpenWrt enable bridge netfilter at any time. A rule with a bridge's member then
/// begins to match routed packets.
#[test]
fn bridge_netfilter_is_noticed_within_a_second() {
    at_once(&scene::WAYS, |by| {
        let options = Options {
            arrangement: Arrangement::BRIDGE,
            ..Options::default()
        };
        let scene = Scene::new(by, &options, SERVER, NO_REPROOF)?;
        let router = scene.router()?;
        router.run("iptables-nft -A FORWARD -m physdev --physdev-in lan1 -j DROP")?;
        scene.lives("a rule that matches nothing yet")?;
        for (on, off) in [
            (
                "sysctl -w net.bridge.bridge-nf-call-iptables=1",
                "sysctl -w net.bridge.bridge-nf-call-iptables=0",
            ),
            (
                "ip link set br0 type bridge nf_call_iptables 1",
                "ip link set br0 type bridge nf_call_iptables 0",
            ),
        ] {
            router.run(on)?;
            scene.cut(on, ("server", "eth0"), SOON)?;
            router.run(off)?;
            scene.lives(off)?;
        }
        scene.transfer.stop().map(drop)
    });
}

/// Drops packets of less than 300 bytes on any route.
const PROGRAM: &str = r#"
#define SEC(name) __attribute__((section(name), used))
struct __sk_buff { unsigned length; };
SEC("lwt_xmit") int short_ones(struct __sk_buff *packet) { return packet->length < 300 ? 2 : 0; }
char text[] SEC("license") = "GPL";
"#;

/// A program on a route may treat each packet differently: one result proves nothing about the next
/// packet.
#[test]
fn a_program_on_a_route_sees_each_packet() {
    let folder = std::env::temp_dir();
    let name = |end: &str| folder.join(format!("weir-route-{}.{end}", std::process::id()));
    std::fs::write(name("c"), PROGRAM).expect("written");
    let (source, object) = (name("c"), name("o"));
    let built = std::process::Command::new("clang")
        .args(["-O2", "-target", "bpf", "-c"])
        .args([source.as_os_str(), "-o".as_ref(), object.as_os_str()])
        .status();
    assert!(built.expect("clang runs").success());
    at_once(&WEIR[1..], |by| {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        let weir = scene::weir(by, &lab, NO_REPROOF)?.expect("weir runs");
        let to = SocketAddr::new(SERVER, ECHO);
        let _echo = Echo::serve(lab.node("server")?, to)?;
        let datagrams = Datagrams::open(lab.node("client")?, to)?;
        let forwards = |what: &str| {
            wait_until(what, LIMIT, || {
                assert!(datagrams.ask(&[1; 1_000], LIMIT)?);
                let flow = weir.flow_at(ECHO)?;
                Ok(flow.is_some_and(|flow| flow.directions.original.proven))
            })
        };
        forwards("weir forwards it")?;
        let object = object.display();
        let route = format!("{SERVER}/32 encap bpf xmit obj {object} section lwt_xmit dev wan0");
        router.run(&format!("ip route add {route}"))?;
        wait_until("it is the kernel's", SOON, || {
            let reason = weir.flow_at(ECHO)?.and_then(|flow| flow.reason);
            Ok(reason.is_some_and(|reason| reason.code == "route-program"))
        })?;
        for _ in 0..5 {
            assert!(datagrams.ask(&[1; 1_000], LIMIT)?, "{by:?}: a long one");
            let short = datagrams.ask(&[1; 200], Duration::from_millis(50))?;
            assert!(!short, "{by:?}: a short one passed");
        }
        router.run(&format!("ip route del {SERVER}/32"))?;
        forwards("weir forwards it again")
    });
    for file in [source, object] {
        let _ = std::fs::remove_file(file);
    }
}

/// Reports to a host by ICMP that packets from `from` to `to` exceeded `mtu`.
fn learn(mtu: u32, from: IpAddr, to: IpAddr) -> std::io::Result<()> {
    let socket = UdpSocket::bind((from, 0))?;
    socket.connect((to, 9))?;
    let mut message = vec![2, 0, 0, 0];
    message.extend(mtu.to_be_bytes());
    message.extend([0x60, 0, 0, 0, 0x05, 0xb4, 17, 64]);
    for address in [from, to] {
        if let IpAddr::V6(address) = address {
            message.extend(address.octets());
        }
    }
    for part in [socket.local_addr()?.port(), 9, 8, 0] {
        message.extend(part.to_be_bytes());
    }
    let raw = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
    raw.send_to(&message, &SocketAddr::new(from, 0).into())
        .map(drop)
}

/// The kernel forwards no packet longer than the path MTU that the router itself learned.
#[test]
fn a_path_mtu_that_the_router_learned_counts_within_a_second() {
    at_once(&scene::WAYS, |by| {
        let lab = scene::lab(by, &Options::default())?;
        let weir = scene::weir(by, &lab, NO_REPROOF)?;
        let (router, server) = (lab.node("router")?, lab.node("server")?);
        let to = SocketAddr::new(SERVER6, ECHO);
        let _echo = Echo::serve(server, to)?;
        let datagrams = Datagrams::open(lab.node("client")?, to)?;
        let long = [1; 1_400];
        wait_until("it is forwarded", LIMIT, || {
            assert!(datagrams.ask(&long, LIMIT)?);
            let Some(weir) = &weir else { return Ok(true) };
            Ok(weir.flow_at(ECHO)?.is_some_and(|flow| flow.packets() > 10))
        })?;
        let learned = router.enter(|| learn(1_300, ROUTER_WAN6, SERVER6))?;
        learned.map_err(Error::system("send an ICMP message"))?;
        let begun = std::time::Instant::now();
        while begun.elapsed() < SOON {
            // The client's socket learns the path MTU, too.
            let _ = datagrams.ask(&long, Duration::from_millis(20));
        }
        let mut tap = Tap::open(server, "eth0")?;
        for _ in 0..20 {
            let _ = datagrams.ask(&long, Duration::from_millis(20));
        }
        let frames = tap.drain(Duration::from_millis(100))?;
        let longest = frames.iter().map(|frame| frame.len()).max();
        assert!(
            longest.is_some_and(|octets| octets <= 1_314),
            "{by:?}: {longest:?}"
        );
        Ok(())
    });
}
