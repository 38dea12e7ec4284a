//! Changes that the kernel makes without a message: they count within a second.

use std::net::SocketAddr;
use std::time::Duration;

use lab::gateway::{CLIENT, SERVER};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::{Arrangement, Error, Lab, Options};
use weir_tests::scene::{self, By, Scene, at_once};
use weir_tests::{LIMIT, Weir};

use super::{ECHO, NO_REPROOF, WEIR};

/// The longest time in which weir may go on as before.
const SOON: Duration = Duration::from_secs(1);
const EVENTS: &str = "net.netfilter.nf_conntrack_events";

/// An exchange that is older than weir, whose entry sends no events, and that weir forwards.
struct Older {
    datagrams: Datagrams,
    _echo: Echo,
    weir: Weir,
    lab: Lab,
}

impl Older {
    fn new(by: By) -> Result<Self, Error> {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        let to = SocketAddr::new(SERVER, ECHO);
        let echo = Echo::serve(lab.node("server")?, to)?;
        let datagrams = Datagrams::open(lab.node("client")?, to)?;
        // As if nobody listened: a listener in any namespace of this machine counts.
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
        for forget in ["conntrack -D -p udp", "conntrack -F"] {
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
            router.run(forget)?;
            std::thread::sleep(SOON);
            for _ in 0..10 {
                let answered = older.datagrams.ask(b"new", Duration::from_millis(50))?;
                assert!(!answered, "{by:?}, {forget}: {}", older.weir.log());
            }
        }
        Ok(())
    });
}

#[test]
fn without_events_weir_forwards_nothing_and_says_so() {
    at_once(&WEIR, |by| {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        router.sysctl(EVENTS, 0)?;
        let weir = scene::weir(by, &lab, "")?.expect("weir runs");
        let to = SocketAddr::new(SERVER, ECHO);
        let _echo = Echo::serve(lab.node("server")?, to)?;
        let datagrams = Datagrams::open(lab.node("client")?, to)?;
        let blind = || -> Result<bool, Error> {
            let troubles = weir.status()?.troubles;
            Ok(troubles
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

/// Docker and OpenWrt switch bridge netfilter on at any time. A rule that asks for the member of a
/// bridge then begins to match what is routed.
#[test]
fn bridge_netfilter_is_noticed_within_a_second() {
    at_once(&scene::WAYS, |by| {
        let options = Options {
            arrangement: Arrangement::BRIDGE,
            ..Options::default()
        };
        for switch in [
            "sysctl -w net.bridge.bridge-nf-call-iptables=1",
            "ip link set br0 type bridge nf_call_iptables 1",
        ] {
            let scene = Scene::new(by, &options, SERVER, NO_REPROOF)?;
            let router = scene.router()?;
            router.run("iptables-nft -A FORWARD -m physdev --physdev-in lan1 -j DROP")?;
            scene.lives("a rule that matches nothing yet")?;
            router.run(switch)?;
            scene.cut(switch, ("server", "eth0"), SOON)?;
        }
        Ok(())
    });
}
