//! The lock: whatever happens to weir and the partner, no uplink carries a client's packet. The
//! providers check all packets that leave, and the clients send all the time.

use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};

use lab::namespace::wait_until;
use lab::transfer::Echo;
use lab::uplinks::{CLIENT, Cut, Options, PARTNER, PARTNER6, SERVER, SERVER6, Uplinks};
use lab::{Error, Namespace, UdpPair};
use nix::sys::signal::Signal;
use socket2::{Domain, Protocol, Socket, Type};
use weir_tests::conntrack::entry_to;
use weir_tests::partner::{Pair, Partner};
use weir_tests::{LIMIT, Weir, binary};

use crate::multipath::rules::{by_tcp, say};
use crate::multipath::unauthenticated_messages::talk;
use crate::multipath::{SECOND, ms};

/// Records packets to destinations other than these partners, by protocol and destination. Of ICMP
/// only echo requests count: errors and neighbour discovery are the router's own.
pub fn watch(uplinks: &Uplinks, partners: &[IpAddr]) -> Result<(), Error> {
    let family = |ip: &IpAddr| if ip.is_ipv4() { "ip" } else { "ip6" };
    let own = partners.iter().map(|partner| {
        format!(
            "{} daddr {partner} meta l4proto {{ tcp, udp }} th dport {} return\n",
            family(partner),
            multipath_core::PORT
        )
    });
    let own: String = own.collect();
    for path in 0..uplinks.paths() {
        uplinks.provider(path).nft(&format!(
            "table inet watch {{
            set seen4 {{ type inet_proto . ipv4_addr; flags dynamic; size 1024; }}
            set seen6 {{ type inet_proto . ipv6_addr; flags dynamic; size 1024; }}
            chain c {{
            type filter hook prerouting priority -300;
            iifname != \"home\" return
            {own}
            meta l4proto icmp icmp type != echo-request return
            meta l4proto ipv6-icmp icmpv6 type != echo-request return
            meta nfproto ipv4 update @seen4 {{ meta l4proto . ip daddr }}
            meta nfproto ipv6 update @seen6 {{ meta l4proto . ip6 daddr }}
            }}\n }}\n"
        ))?;
    }
    Ok(())
}

/// Returns the destinations recorded since the last call.
fn seen(uplinks: &Uplinks) -> Result<Vec<String>, Error> {
    let mut all = Vec::new();
    for path in 0..uplinks.paths() {
        let provider = uplinks.provider(path);
        for set in ["seen4", "seen6"] {
            let told = provider.run(&format!("nft list set inet watch {set}"))?;
            provider.run(&format!("nft flush set inet watch {set}"))?;
            let elements = told.split("elements = {").nth(1).unwrap_or_default();
            let elements = elements.split('}').next().unwrap_or_default();
            let elements = elements.split(',').map(str::trim);
            all.extend(
                elements
                    .filter(|it| !it.is_empty())
                    .map(|it| format!("wan{path}: {it}")),
            );
        }
    }
    Ok(all)
}

/// Sends new UDP and TCP conversations all the time, and ICMP if `pings`, for both families, until
/// dropped.
pub struct Restless {
    ends: Arc<AtomicBool>,
    work: Option<JoinHandle<Result<(), Error>>>,
}

impl Restless {
    /// Sends datagrams only, to one destination.
    pub fn to(namespace: &Namespace, far: SocketAddr) -> Result<Self, Error> {
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let work = move || {
            let Ok(socket) = UdpSocket::bind("0.0.0.0:0") else {
                return;
            };
            while !until.load(Ordering::Relaxed) {
                let _ = socket.send_to(b"lasting", far);
                sleep(ms(5));
            }
        };
        Ok(Self {
            ends,
            work: Some(namespace.background(work)?),
        })
    }

    pub fn at(namespace: &Namespace, port: u16, pings: bool) -> Result<Self, Error> {
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let to = [SERVER, SERVER6].map(|address| SocketAddr::new(address, port));
        let work = move || {
            let open = |to: &SocketAddr| {
                let any: IpAddr = match to.is_ipv4() {
                    true => [0, 0, 0, 0].into(),
                    false => [0_u16; 8].into(),
                };
                UdpSocket::bind((any, 0))
            };
            // These sockets keep their first port.
            let lasting = to.iter().map(|to| (open(to), to));
            let lasting: Vec<_> = lasting
                .filter_map(|(socket, to)| Some((socket.ok()?, *to)))
                .collect();
            let mut connecting = Vec::new();
            while !until.load(Ordering::Relaxed) {
                // A refused send is fine: only arriving packets count.
                for (socket, to) in &lasting {
                    let _ = socket.send_to(b"lasting", to);
                }
                for to in &to {
                    if let Ok(socket) = open(to) {
                        let _ = socket.send_to(b"new", to);
                    }
                    connecting.extend(connect(to));
                    if pings {
                        ping(to);
                    }
                }
                if connecting.len() > 100 {
                    connecting.drain(..50);
                }
                sleep(ms(5));
            }
        };
        Ok(Self {
            ends,
            work: Some(namespace.background(work)?),
        })
    }
}

fn connect(to: &SocketAddr) -> Option<Socket> {
    let socket = Socket::new(Domain::for_address(*to), Type::STREAM, None).ok()?;
    socket.set_nonblocking(true).ok()?;
    let _ = socket.connect(&(*to).into());
    Some(socket)
}

/// Sends an echo request (RFC 792, 4443) by a raw socket.
fn ping(to: &SocketAddr) {
    let (protocol, kind) = match to.is_ipv4() {
        true => (Protocol::ICMPV4, 8),
        false => (Protocol::ICMPV6, 128),
    };
    // IPv4 needs the sum of all words with its carry; the kernel sums IPv6.
    let sum = !(u16::from(kind) << 8);
    let [high, low] = sum.to_be_bytes();
    if let Ok(socket) = Socket::new(Domain::for_address(*to), Type::RAW, Some(protocol)) {
        let to = SocketAddr::new(to.ip(), 0);
        let _ = socket.send_to(&[kind, 0, high, low, 0, 0, 0, 0], &to.into());
    }
}

impl Drop for Restless {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(work) = self.work.take() {
            let _ = work.join();
        }
    }
}

pub fn tell(router: &Namespace, weir: &Weir, arguments: &[&str]) -> Result<String, Error> {
    let mut command = Command::new(binary());
    command.arg("multipath").args(arguments);
    command.arg("--config").arg(weir.config_file());
    let told = router.enter(|| command.output())?;
    let told = told.map_err(Error::system("run weir multipath"))?;
    let text = |octets| String::from_utf8_lossy(octets).into_owned();
    match told.status.success() {
        true => Ok(text(&told.stdout)),
        false => Err(Error::Unexpected(text(&told.stderr))),
    }
}

pub fn none_seen(uplinks: &Uplinks, phase: &str) -> Result<(), Error> {
    assert_eq!(seen(uplinks)?, Vec::<String>::new(), "{phase}");
    Ok(())
}

/// Builds a router whose clients of both families may only use the partner.
pub fn build() -> Result<Pair, Error> {
    let mut options = Options::mbit(&[100, 100]);
    options.ipv6 = true;
    let uplinks = Uplinks::build(&options)?;
    uplinks
        .partner()
        .sysctl("net.ipv6.conf.all.forwarding", 1)?;
    let partner = Partner::start(uplinks.partner(), &[])?;
    let line = partner.pair(&PARTNER.to_string())?;
    Pair::join(uplinks, partner, &line, "fallback = \"stop\"\n")
}

#[test]
fn no_packet_of_a_client_leaves_directly() -> Result<(), Error> {
    let mut pair = build()?;
    let tunnel = |pair: &Pair| pair.wait_for("the tunnel", |told| told.redirects && told.tunnel);
    tunnel(&pair)?;
    watch(&pair.uplinks, &[PARTNER, PARTNER6])?;
    let _client = Restless::at(pair.uplinks.client(), 5007, true)?;
    // Name lookups of the router serve its clients.
    let _names = Restless::at(pair.uplinks.router(), 53, false)?;
    // Without a lock packets leak, also with `fallback = "stop"`: the watch sees them.
    pair.weir.end(Signal::SIGTERM)?;
    let _echo = Echo::serve(pair.uplinks.server(), (SERVER, 5007).into())?;
    sleep(SECOND);
    assert!(entry_to(pair.uplinks.router(), 5007)?.is_some());
    let without = seen(&pair.uplinks)?;
    assert!(without.len() >= 6, "{without:?}");
    tell(pair.uplinks.router(), &pair.weir, &["lock", "lan0"])?;
    // The kernel's flow table forwards known connections past the rules.
    assert_eq!(entry_to(pair.uplinks.router(), 5007)?, None);
    seen(&pair.uplinks)?;
    let check = |pair: &Pair, phase: &str| none_seen(&pair.uplinks, phase);
    sleep(SECOND);
    check(&pair, "weir does not run")?;

    let options = ["--only", "multipath", "-v"];
    pair.weir.restart_with(pair.uplinks.router(), &options)?;
    tunnel(&pair)?;
    assert!(pair.paths()?.locked);
    assert_eq!(by_tcp(&pair, CLIENT, (SERVER, 5003).into())?, PARTNER);
    let talk = talk(&pair)?;
    assert_eq!(say(&talk, "by the tunnel")?, PARTNER);
    // A name lookup by the router.
    let (router, server) = (pair.uplinks.router(), pair.uplinks.server());
    let name = UdpPair::open(router, None, server, (SERVER, 853).into())?;
    assert_eq!(say(&name, "a name")?, PARTNER);
    check(&pair, "a start")?;

    let file = pair.weir.config_file();
    let before = fs::read_to_string(&file).expect("the configuration");
    for more in ["encrypt = \"all\"\n", "direct_ports = [\"tcp/25\"]\n", ""] {
        fs::write(&file, format!("{before}{more}")).expect("written");
        let reloaded = pair.weir.client()?.reload();
        reloaded.map_err(|error| Error::Unexpected(error.to_string()))?;
        sleep(ms(500));
        check(&pair, "a reload")?;
    }

    for signal in [Signal::SIGKILL, Signal::SIGABRT, Signal::SIGTERM] {
        pair.weir.end(signal)?;
        sleep(SECOND);
        pair.weir.restart_with(pair.uplinks.router(), &options)?;
        tunnel(&pair)?;
        check(&pair, signal.as_str())?;
    }

    for path in [0, 1] {
        pair.uplinks.cut(path, Cut::Hole)?;
        sleep(2 * SECOND);
        pair.uplinks.heal(path)?;
        sleep(SECOND);
    }
    tunnel(&pair)?;
    check(&pair, "an uplink that is cut and comes back")?;

    let router = pair.uplinks.router();
    let (address, gateway) = (pair.uplinks.address(1), pair.uplinks.gateway(1));
    router.ip(&format!(
        "link set wan1 down\nlink set wan1 name new0\nlink set new0 up\naddr replace {address}/24 dev \
            new0\nroute add default via {gateway} dev new0 metric 50\n"
    ))?;
    sleep(SECOND);
    check(&pair, "a new uplink")?;

    pair.partner.stop();
    sleep(4 * SECOND);
    check(&pair, "no partner")?;
    pair.partner.restart(pair.uplinks.partner())?;
    tunnel(&pair)?;
    check(&pair, "the partner is back")?;

    // Loads the file as the service does at boot, before the network is up.
    pair.weir.end(Signal::SIGKILL)?;
    let lock = file.with_file_name("lock.nft");
    let router = pair.uplinks.router();
    let reboot = format!("flush ruleset\ninclude \"{}\"\n", lock.display());
    router.nft(&reboot)?;
    sleep(SECOND);
    check(&pair, "a boot")?;
    pair.weir.restart_with(router, &options)?;
    tunnel(&pair)?;
    check(&pair, "weir after a boot")
}

/// If a lock's table is flushed, it comes back; meanwhile clients' packets are dropped.
#[test]
fn a_lock_that_is_flushed_is_put_back() -> Result<(), Error> {
    let pair = build()?;
    pair.wait_for("the tunnel", |told| told.redirects && told.tunnel)?;
    let router = pair.uplinks.router();
    tell(router, &pair.weir, &["lock", "lan0"])?;
    wait_until("routes that lead nowhere", LIMIT, || {
        let rules = ["ip rule", "ip -6 rule"].map(|line| router.run(line));
        Ok(rules
            .into_iter()
            .flatten()
            .all(|it| it.contains("iif lan0")))
    })?;
    watch(&pair.uplinks, &[PARTNER, PARTNER6])?;
    let _client = Restless::at(pair.uplinks.client(), 5007, true)?;
    for _ in 0..5 {
        router.run("nft flush ruleset")?;
        wait_until("the lock", LIMIT, || {
            Ok(router.run("nft list tables")?.contains("weir_lock"))
        })?;
        pair.wait_for("the tunnel", |told| told.redirects && told.tunnel)?;
        none_seen(&pair.uplinks, "a flush")?;
    }
    let talk = talk(&pair)?;
    assert_eq!(say(&talk, "after")?, PARTNER);
    // weir writes the routes once, not all the time.
    let settled = || {
        router
            .run("timeout 1 ip monitor rule route")
            .unwrap_or_default()
    };
    assert!(settled().lines().count() < 5, "{}", settled());
    Ok(())
}

#[test]
fn what_is_unlocked_stays_so() -> Result<(), Error> {
    let pair = build()?;
    pair.wait_for("the tunnel", |told| told.redirects && told.tunnel)?;
    let router = pair.uplinks.router();
    let refused = |arguments: &[&str]| match tell(router, &pair.weir, arguments) {
        Ok(told) => panic!("{arguments:?}: {told}"),
        Err(error) => error.to_string(),
    };
    for (arguments, part) in [
        (
            &["lock"][..],
            "devices with an address that are not uplinks: lan0",
        ),
        (&["lock", "wan0"], "`wan0` leads to the Internet"),
        (&["lock", "lan0", "lan1"], "no device `lan1`"),
    ] {
        let error = refused(arguments);
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
    assert!(!pair.paths()?.locked);
    let told = tell(router, &pair.weir, &["lock", "lan0"])?;
    assert!(
        told.starts_with("locked: traffic of lan0 leaves only through"),
        "{told}"
    );
    let told = tell(router, &pair.weir, &["lock"])?;
    assert!(
        told.starts_with("locked: traffic of lan0 leaves only through"),
        "{told}"
    );
    assert!(pair.paths()?.locked);

    // With `fallback = "direct"` the lock would break direct connections.
    let file = pair.weir.config_file();
    let before = fs::read_to_string(&file).expect("the configuration");
    fs::write(&file, before.replace("stop", "direct")).expect("written");
    let error = refused(&["lock"]);
    assert!(error.contains("set fallback = \"stop\""), "{error}");
    fs::write(&file, before).expect("written");

    let told = tell(router, &pair.weir, &["unlock"])?;
    assert!(told.starts_with("unlocked"), "{told}");
    let told = tell(router, &pair.weir, &["unlock"])?;
    assert_eq!(told, "there was no lock\n");
    // weir restores all its rules but the lock after a flush.
    let talk = talk(&pair)?;
    assert_eq!(say(&talk, "before")?, PARTNER);
    for _ in 0..2 {
        router.run("nft flush ruleset")?;
        wait_until("the rules", LIMIT, || {
            Ok(router.run("nft list tables")?.contains("weir_multipath"))
        })?;
    }
    pair.wait_for("the tunnel", |told| told.redirects && told.tunnel)?;
    assert_eq!(by_tcp(&pair, CLIENT, (SERVER, 5003).into())?, PARTNER);
    assert_eq!(say(&talk, "after")?, PARTNER);
    assert!(
        pair.weir
            .log()
            .contains("removed the rules of multipath: restored"),
        "it is reported"
    );
    sleep(SECOND);
    assert!(!router.run("nft list tables")?.contains("weir_lock"));
    assert!(!router.run("ip rule")?.contains("iif lan0"));
    assert!(!pair.paths()?.locked);
    Ok(())
}
