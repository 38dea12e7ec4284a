//! Early drops of packets that netfilter or a route would drop: learned, by sets, by routes. Every
//! change ends them, and weir never drops more.

mod poisoning;

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use answers::{Drops, FlowQuery};
use lab::frame::{Body, Packet};
use lab::gateway::{CLIENT, CLIENT6, Options, SERVER, SERVER6};
use lab::namespace::wait_until;
use lab::topology::mac;
use lab::transfer::Transfer;
use lab::view::View;
use lab::{Error, Lab, Namespace, Tap};
use weir_tests::scene::{self, Forwarder, PORT};
use weir_tests::{LIMIT, Weir};

const WEIR: [Forwarder; 2] = [Forwarder::Weir("tc"), Forwarder::Weir("xdp")];
/// Destination port of unwanted datagrams.
const UNWANTED: u16 = 9999;
/// A source that no host has.
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));
/// A destination behind a blackhole route.
const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9));

fn each(run: impl Fn(Forwarder) -> Result<(), Error> + Sync) {
    scene::at_once(&WEIR, run);
}

/// Returns the first for TC, the second for XDP: both hooks read the same tables by the same code,
/// in either family (crates/datapath/tests/datapath/drops.rs).
fn of_hook<T>(by: Forwarder, [tc, xdp]: [T; 2]) -> T {
    match by {
        Forwarder::Weir("tc") => tc,
        _ => xdp,
    }
}

/// A router with weir, and a host that sends arbitrary frames.
struct Fence {
    weir: Weir,
    lan: Tap,
    server: Tap,
    lab: Lab,
}

impl Fence {
    /// `rules`: content of table `inet fence`; `routes`: lines for ip(8); `config`: content of
    /// [drops].
    fn new(by: Forwarder, rules: &str, routes: &[&str], config: &str) -> Result<Self, Error> {
        let lab = scene::lab(by, &Options::default())?;
        let router = lab.node("router")?;
        router.nft(&format!("table inet fence {{\n{rules}\n}}\n"))?;
        for line in routes {
            router.run(&format!("ip {line}"))?;
        }
        let config = format!("[drops]\n{config}\n");
        let weir = scene::weir(by, &lab, &config)?.expect("weir runs");
        let lan = Tap::open(lab.node("client")?, "eth0")?;
        let server = Tap::open(lab.node("server")?, "eth0")?;
        Ok(Self {
            weir,
            lan,
            server,
            lab,
        })
    }

    fn router(&self) -> Result<&Namespace, Error> {
        self.lab.node("router")
    }

    fn drops(&self) -> Result<Drops, Error> {
        let drops = self.weir.client()?.drops();
        drops.map_err(|e| Error::Unexpected(e.to_string()))
    }

    /// Sends frames repeatedly, some thousand a second, until a condition holds.
    fn flood(
        &self,
        what: &str,
        frames: &[Vec<u8>],
        mut done: impl FnMut(&Self) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let end = Instant::now() + LIMIT;
        loop {
            let batch = Instant::now() + Duration::from_millis(50);
            while Instant::now() < batch {
                for frame in frames {
                    self.lan.send(frame)?;
                }
                std::thread::sleep(Duration::from_micros(200));
            }
            if done(self)? {
                return Ok(());
            }
            if Instant::now() > end {
                let drops = self.drops();
                let log = self.weir.log();
                return Err(Error::Unexpected(format!("{what}: {drops:#?}; {log}")));
            }
        }
    }

    /// Returns the number of datagrams to a port that reached the server until it was quiet.
    fn arrived(&mut self, port: u16) -> Result<usize, Error> {
        let frames = self.server.drain(Duration::from_millis(200))?;
        let to = |frame: &Vec<u8>| View::of(frame).and_then(|view| Some(view.ports?.1));
        Ok(frames.iter().filter(|f| to(f) == Some(port)).count())
    }

    /// Returns the packets of a named counter of the table.
    fn counter(&self, name: &str) -> Result<u64, Error> {
        let text = self
            .router()?
            .run(&format!("nft -j list counter inet fence {name}"))?;
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| Error::Unexpected(e.to_string()))?;
        value["nftables"]
            .as_array()
            .and_then(|all| all.iter().find_map(|o| o["counter"]["packets"].as_u64()))
            .ok_or(Error::Unexpected(text))
    }
}

/// Builds a datagram from the LAN to the router.
fn datagram(from: IpAddr, to: IpAddr, source_port: u16, port: u16) -> Vec<u8> {
    let body = Body::Udp(source_port, port, b"unwanted".to_vec());
    let (host, router) = (mac("client", "eth0"), mac("router", "lan0"));
    Packet::new((host, from), (router, to), body).bytes()
}

fn forward(rules: &str) -> String {
    format!(
        "counter seen {{ }}\nchain forwarded {{ type filter hook forward priority 0; policy \
            accept;\n{rules}\n}}"
    )
}

fn unwanted() -> String {
    forward(&format!("udp dport {UNWANTED} counter name seen drop"))
}

const LEARN: &str = "learn = true";

#[test]
fn what_netfilter_drops_is_learned_and_ends_with_the_rule() {
    each(|by| {
        let (from, to) = of_hook(by, [(CLIENT, SERVER), (CLIENT6, SERVER6)]);
        let mut fence = Fence::new(by, &unwanted(), &[], LEARN)?;
        let frame = datagram(from, to, 40000, UNWANTED);
        fence.flood("it is learned", std::slice::from_ref(&frame), |f| {
            Ok(f.drops()?.learned.dropped > 2000)
        })?;
        let learned = fence.drops()?.learned;
        assert_eq!((learned.known, learned.cached), (1, 1), "{learned:#?}");
        let tuple = &learned.tuples[0];
        assert_eq!(tuple.device, "lan0");
        assert_eq!(tuple.endpoints.destination_port, UNWANTED);
        assert!(tuple.sampled > 0 && tuple.confirmed >= 8, "{tuple:#?}");

        // The rule still counts: it sees the samples.
        let seen = fence.counter("seen")?;
        let dropped = tuple.dropped;
        fence.flood("samples arrive", std::slice::from_ref(&frame), |f| {
            Ok(f.counter("seen")? >= seen + 10 && f.drops()?.learned.dropped > dropped + 500)
        })?;
        let asked: FlowQuery = format!("{}", tuple.endpoints).parse().expect("a tuple");
        let told = fence.weir.client()?.explain(&asked);
        let told = told.map_err(|e| Error::Unexpected(e.to_string()))?;
        assert!(told.verdict.contains("dropped early"), "{told:#?}");
        let counts = fence.weir.status()?.drops.expect("drops are learned");
        assert!(counts.learned >= dropped, "{counts:?}");
        assert_eq!(fence.arrived(UNWANTED)?, 0);

        // Packets that the rule no longer drops pass as soon as weir has received the change.
        let epoch = fence.weir.status()?.epoch;
        fence
            .router()?
            .run("nft flush chain inet fence forwarded")?;
        wait_until("the change is heard of", LIMIT, || {
            Ok(fence.weir.status()?.epoch != epoch)
        })?;
        for _ in 0..50 {
            fence.lan.send(&frame)?;
        }
        assert_eq!(fence.arrived(UNWANTED)?, 50, "{:#?}", fence.drops()?);
        Ok(())
    });
}

/// The rule accepts some packets of a tuple and drops the others.
#[test]
fn what_is_accepted_now_and_then_is_never_cached() {
    scene::at_once(&WEIR[..1], |by| {
        let rules = forward(&format!(
            "udp dport {UNWANTED} limit rate 20/second burst 1 packets accept\nudp dport \
                {UNWANTED} counter name seen drop"
        ));
        let mut fence = Fence::new(by, &rules, &[], LEARN)?;
        let frame = datagram(CLIENT, SERVER, 40000, UNWANTED);
        let begun = Instant::now();
        fence.flood("the rule drops most", std::slice::from_ref(&frame), |f| {
            Ok(f.counter("seen")? > 3000 && begun.elapsed() > Duration::from_secs(4))
        })?;
        let learned = fence.drops()?.learned;
        assert_eq!((learned.known, learned.cached), (1, 0), "{learned:#?}");
        assert_eq!(learned.dropped, 0, "{learned:#?}");
        assert!(fence.arrived(UNWANTED)? > 20);
        Ok(())
    });
}

/// A flood displaces neither flows that weir forwards nor active drops.
#[test]
fn floods_fill_nothing() {
    each(|by| {
        let fence = Fence::new(by, &unwanted(), &[], LEARN)?;
        let server = std::net::SocketAddr::new(SERVER, PORT);
        let transfer = Transfer::start(
            fence.lab.node("client")?,
            fence.lab.node("server")?,
            server,
            1,
            Some(1 << 20),
        )?;
        fence.weir.wait_for_forwarding(PORT)?;
        let held = datagram(CLIENT, SERVER, 40000, UNWANTED);
        fence.flood("it is learned", std::slice::from_ref(&held), |f| {
            Ok(f.drops()?.learned.dropped > 100)
        })?;
        let flows = fence.weir.flows()?.len();
        let before = fence.drops()?.learned;

        // A scan of ports by one source gets 256 slots at most.
        let scan = |rounds: std::ops::Range<u16>, from: fn(u16) -> IpAddr| -> Result<(), Error> {
            for round in rounds {
                fence
                    .lan
                    .send(&datagram(from(round), SERVER, round, UNWANTED))?;
                if round % 64 == 0 {
                    fence.lan.send(&held)?;
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            Ok(())
        };
        scan(1..4000, |_| STRANGER)?;
        let scanned = fence.drops()?.learned;
        let of_one = scanned.known - before.known;
        assert!((100..=256).contains(&of_one), "{scanned:#?}");
        // Scans by the source of an active drop, and a flood from everywhere.
        scan(1..4000, |_| CLIENT)?;
        scan(1..20_000, |n| {
            Ipv4Addr::from(u32::from(n).wrapping_mul(0x9e37_79b1) | 0x2000_0000).into()
        })?;
        let after = fence.drops()?.learned;
        assert!(
            after.known > 1000 && after.known <= after.capacity,
            "{after:#?}"
        );
        let is_it = |tuple: &&answers::LearnedDrop| tuple.endpoints.source_port == 40000;
        let same = after.tuples.iter().find(is_it).expect("still there");
        assert!(same.dropped > before.tuples[0].dropped, "{after:#?}");
        // The entry may have lapsed if the kernel took its time (PATIENCE in
        // crates/datapath/src/drops.rs), and without packets weir does not learn it again.
        fence.flood("it is dropped", std::slice::from_ref(&held), |f| {
            let learned = f.drops()?.learned;
            let now = learned.tuples.iter().find(is_it);
            Ok(now.is_some_and(|tuple| tuple.cached && tuple.dropped > same.dropped))
        })?;

        assert_eq!(fence.weir.flows()?.len(), flows, "no flow came of it");
        let forwarded = fence.weir.forwarded()?;
        transfer.advance(1 << 20, LIMIT)?;
        assert!(
            fence.weir.forwarded()? > forwarded,
            "and the transfer goes on"
        );
        transfer.stop().map(drop)
    });
}

/// Returns a set of sources, and a rule at the first hook that drops the set.
fn banned(kind: &str, rule: &str) -> String {
    format!(
        "set banned {{ type {kind}; flags interval, timeout; }}\ncounter seen {{ }}\n\
         chain pre {{ type filter hook prerouting priority raw; policy accept;\n{rule}\n}}"
    )
}

fn sets(more: &str) -> String {
    format!("sets = [\"inet fence banned\"]\n{more}")
}

fn active(fence: &Fence) -> Result<bool, Error> {
    Ok(fence
        .drops()?
        .sets
        .first()
        .is_some_and(|set| set.state.active))
}

#[test]
fn a_set_is_followed_live() {
    let v6: IpAddr = "2001:db8:bad::7".parse().expect("an address");
    let families = [
        ("ipv4_addr", "ip", "198.51.100.0/24", STRANGER, SERVER),
        ("ipv6_addr", "ip6", "2001:db8:bad::/48", v6, SERVER6),
    ];
    each(|by| {
        let (kind, family, range, from, to) = of_hook(by, families);
        let rule = format!("{family} saddr @banned counter name seen drop");
        let mut fence = Fence::new(by, &banned(kind, &rule), &[], &sets(""))?;
        wait_until("the set is gone by", LIMIT, || active(&fence))?;
        let frame = datagram(from, to, 40000, 5000);
        let nft = |line: &str| fence.router()?.run(&format!("nft {line}")).map(drop);

        nft(&format!("add element inet fence banned {{ {range} }}"))?;
        fence.flood("the range is dropped", std::slice::from_ref(&frame), |f| {
            Ok(f.drops()?.sets[0].dropped > 1000)
        })?;
        let set = fence.drops()?.sets.remove(0);
        assert_eq!(set.prefixes, 1, "{set:#?}");
        assert_eq!(set.busiest[0].prefix, range);
        let seen = fence.counter("seen")?;
        fence.flood("samples arrive", std::slice::from_ref(&frame), |f| {
            Ok(f.counter("seen")? >= seen + 3)
        })?;
        assert!(fence.weir.status()?.drops.is_some_and(|d| d.sets > 1000));
        let other = datagram(CLIENT, SERVER, 40000, 5000);
        fence.lan.send(&other)?;
        assert_eq!(fence.arrived(5000)?, 1, "another source is let through");

        // Removed from the set, all of the range passes.
        let nft = |line: &str| fence.router()?.run(&format!("nft {line}")).map(drop);
        nft(&format!("delete element inet fence banned {{ {range} }}"))?;
        wait_until("the element is gone", LIMIT, || {
            Ok(fence.drops()?.sets[0].prefixes == 0)
        })?;
        for _ in 0..20 {
            fence.lan.send(&frame)?;
        }
        assert_eq!(fence.arrived(5000)?, 20);

        // An expired element passes, too.
        let nft = |line: &str| fence.router()?.run(&format!("nft {line}")).map(drop);
        nft(&format!(
            "add element inet fence banned {{ {from} timeout 2s }}"
        ))?;
        wait_until("the element comes", LIMIT, || {
            Ok(fence.drops()?.sets[0].prefixes == 1)
        })?;
        wait_until("and goes", LIMIT, || {
            Ok(fence.drops()?.sets[0].prefixes == 0)
        })?;
        for _ in 0..20 {
            fence.lan.send(&frame)?;
        }
        assert_eq!(fence.arrived(5000)?, 20);
        Ok(())
    });
}

/// weir leaves sets that the ruleset does not drop as a whole to it, and gives the reason.
#[test]
fn a_set_that_no_rule_stands_behind_is_left_to_the_kernel() {
    scene::at_once(&WEIR[1..], |by| {
        let rule = "ct state established accept\nip saddr @banned counter name seen drop";
        let mut fence = Fence::new(by, &banned("ipv4_addr", rule), &[], &sets(""))?;
        let reason = |fence: &Fence| -> Result<String, Error> {
            let set = fence.drops()?.sets.remove(0);
            Ok(set.state.reason.unwrap_or_default())
        };
        wait_until("it is said why", LIMIT, || {
            Ok(reason(&fence)?.contains("may let packets bypass it"))
        })?;
        let router = fence.router()?;
        router.run("nft flush chain inet fence pre")?;
        router.run("nft add rule inet fence pre ip saddr @banned drop")?;
        router.run("nft add element inet fence banned { 198.51.100.0/24 }")?;
        wait_until("the rule is plain now", LIMIT, || active(&fence))?;
        let frame = datagram(STRANGER, SERVER, 40000, 5000);
        fence.flood("the range is dropped", std::slice::from_ref(&frame), |f| {
            Ok(f.drops()?.sets[0].dropped > 500)
        })?;
        let router = fence.router()?;
        router.run("nft insert rule inet fence pre ip saddr 198.51.100.7 accept")?;
        wait_until("an exception comes first", LIMIT, || {
            Ok(reason(&fence)?.contains("may let packets bypass it"))
        })?;
        for _ in 0..20 {
            fence.lan.send(&frame)?;
        }
        assert_eq!(fence.arrived(5000)?, 20, "the exception counts");
        let router = fence.router()?;
        router.run("nft flush chain inet fence pre")?;
        router.run("nft add rule inet fence pre ip saddr @banned drop")?;
        wait_until("the rule is plain again", LIMIT, || active(&fence))?;
        router.run("nft add table inet fence { flags dormant; }")?;
        wait_until("its table sleeps", LIMIT, || {
            Ok(reason(&fence)?.contains("no rule `saddr"))
        })?;
        for _ in 0..20 {
            fence.lan.send(&frame)?;
        }
        assert_eq!(
            fence.arrived(5000)?,
            20,
            "a table that sleeps drops nothing"
        );
        let router = fence.router()?;
        router.run("nft delete table inet fence")?;
        wait_until("the set is gone", LIMIT, || {
            Ok(reason(&fence)?.contains("no such set"))
        })
    });
}

#[test]
fn a_set_may_be_gone_by_whatever_the_rules_say() {
    scene::at_once(&WEIR[..1], |by| {
        let rules = banned("ipv4_addr", "");
        let mut fence = Fence::new(by, &rules, &[], &sets("verify = false\nports = [\"wan0\"]"))?;
        fence.router()?.run(&format!(
            "nft add element inet fence banned {{ {STRANGER} }}"
        ))?;
        wait_until("the set is gone by", LIMIT, || {
            Ok(active(&fence)? && fence.drops()?.sets[0].prefixes == 1)
        })?;
        // Other ports are not dropped.
        let frame = datagram(STRANGER, SERVER, 40000, 5000);
        for _ in 0..20 {
            fence.lan.send(&frame)?;
        }
        assert_eq!(fence.arrived(5000)?, 20);
        let config = fence.weir.config_file();
        let text = std::fs::read_to_string(&config).map_err(Error::system("read it"))?;
        let text = text.replace("ports = [\"wan0\"]", "ports = [\"lan0\"]");
        std::fs::write(&config, text).map_err(Error::system("write it"))?;
        let reloaded = fence.weir.client()?.reload();
        reloaded.map_err(|e| Error::Unexpected(e.to_string()))?;
        fence.flood("now it is", std::slice::from_ref(&frame), |f| {
            Ok(f.drops()?.sets[0].dropped > 500)
        })
    });
}

/// Missing sets, and sets without addresses, do no harm.
#[test]
fn sets_that_cannot_be_lists_say_so() -> Result<(), Error> {
    let rules = "set ports { type inet_service; }\nset two { type ipv4_addr . inet_service; }\n\
                 map marks { type ipv4_addr : mark; }";
    let names = ["missing", "ports", "two", "marks"];
    let names: Vec<String> = names
        .iter()
        .map(|n| format!("\"inet fence {n}\""))
        .collect();
    let config = format!("sets = [{}]", names.join(", "));
    let fence = Fence::new(Forwarder::Weir("xdp"), rules, &[], &config)?;
    let mut reasons = Vec::new();
    wait_until("all are looked at", LIMIT, || {
        let sets = fence.drops()?.sets;
        reasons = sets.into_iter().filter_map(|s| s.state.reason).collect();
        Ok(reasons.len() == 4 && !reasons.iter().any(|r| r.contains("not been read")))
    })?;
    let parts = [
        "no such set",
        "ipv4_addr or ipv6_addr",
        "ipv4_addr or ipv6_addr",
        "a map",
    ];
    for (reason, part) in reasons.iter().zip(parts) {
        assert!(reason.contains(part), "{reasons:?}");
    }
    Ok(())
}

#[test]
fn routes_that_drop_are_gone_by_where_nothing_else_can_decide() {
    each(|by| {
        let routes = [
            "route add blackhole 203.0.113.0/24",
            "route add 203.0.113.128/25 via 10.0.0.2",
            "route add unreachable 192.0.2.0/24",
        ];
        let mut fence = Fence::new(by, "", &routes, "routes = true")?;
        let on = |fence: &Fence| -> Result<bool, Error> { Ok(fence.drops()?.routes.state.active) };
        wait_until("routes are gone by", LIMIT, || on(&fence))?;
        let frame = datagram(CLIENT, NOWHERE, 40000, 5000);
        fence.flood("it is dropped", std::slice::from_ref(&frame), |f| {
            Ok(f.drops()?.routes.dropped > 500)
        })?;
        // A longer route inside the prefix counts.
        let within: IpAddr = "203.0.113.200".parse().expect("an address");
        fence.lan.send(&datagram(CLIENT, within, 40000, 5000))?;
        assert_eq!(fence.arrived(5000)?, 1);

        // A route with an error answer still answers during a flood.
        let before = fence.drops()?.routes.dropped;
        let refused: IpAddr = "192.0.2.9".parse().expect("an address");
        let refused = datagram(CLIENT, refused, 40000, 5000);
        fence.flood("it is dropped, too", std::slice::from_ref(&refused), |f| {
            Ok(f.drops()?.routes.dropped > before + 500)
        })?;
        let answers = fence.lan.drain(Duration::from_millis(200))?;
        // ICMP, destination unreachable.
        let icmp = |f: &&Vec<u8>| f.get(23) == Some(&1) && f.get(34) == Some(&3);
        assert!(answers.iter().filter(icmp).count() >= 2, "{answers:?}");

        // Without the route the drop ends.
        let router = fence.router()?;
        router.run("ip route replace 203.0.113.0/24 via 10.0.0.2")?;
        wait_until("the route is seen", LIMIT, || {
            Ok(fence.drops()?.routes.prefixes == 1)
        })?;
        for _ in 0..20 {
            fence.lan.send(&frame)?;
        }
        assert_eq!(fence.arrived(5000)?, 20);

        // With a rule that may redirect the packet, or with a policy rule, weir cannot be certain.
        let router = fence.router()?;
        router.run("ip route replace blackhole 203.0.113.0/24")?;
        wait_until("routes are gone by again", LIMIT, || on(&fence))?;
        router.nft(
            "table ip elsewhere {
chain pre { type nat hook prerouting priority dstnat;
ip daddr 203.0.113.9 dnat to 10.0.0.2
}
}
",
        )?;
        wait_until("a translation stops it", LIMIT, || Ok(!on(&fence)?))?;
        for port in 0..20 {
            fence
                .lan
                .send(&datagram(CLIENT, NOWHERE, 41000 + port, 5000))?;
        }
        assert_eq!(fence.arrived(5000)?, 20);
        let router = fence.router()?;
        router.run("nft delete table ip elsewhere")?;
        wait_until("routes are gone by once more", LIMIT, || on(&fence))?;
        router.run("ip rule add fwmark 7 lookup 100")?;
        wait_until("a policy rule stops it", LIMIT, || {
            let state = fence.drops()?.routes.state;
            Ok(state
                .reason
                .is_some_and(|reason| reason.contains("policy rules")))
        })
    });
}

#[test]
fn nothing_is_dropped_unless_asked_for() -> Result<(), Error> {
    let fence = Fence::new(
        Forwarder::Weir("xdp"),
        &unwanted(),
        &["route add blackhole 203.0.113.0/24"],
        "",
    )?;
    let frames = [
        datagram(CLIENT, SERVER, 40000, UNWANTED),
        datagram(CLIENT, NOWHERE, 40000, 5000),
    ];
    let begun = Instant::now();
    fence.flood("for longer than is needed to learn", &frames, |_| {
        Ok(begun.elapsed() > Duration::from_secs(2))
    })?;
    let drops = fence.drops()?;
    assert_eq!(
        drops.learned.dropped + drops.routes.dropped,
        0,
        "{drops:#?}"
    );
    assert!(!drops.learned.state.active && !drops.routes.state.active);
    assert_eq!(fence.weir.status()?.drops, None);
    Ok(())
}
