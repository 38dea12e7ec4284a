//! Great numbers at once: floods of stations, devices, names, changes. Packets stay right, memory
//! bounded, and weir answers meanwhile.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::frame::{Body, Packet};
use lab::gateway::{CLIENT, SERVER};
use lab::namespace::wait_until;
use lab::topology::mac;
use lab::transfer::{Datagrams, Echo};
use lab::view::View;
use lab::{Arrangement, Error, Ipv6, Lab, Namespace, Options, Tap, unexpected};
use nix::sys::signal::Signal;
use weir_tests::scene::{self, Forwarder, Scene};
use weir_tests::{LIMIT, Weir, conntrack, hooked};

/// Duration of a storm.
const STORM: Duration = Duration::from_secs(5);
/// Memory that the daemon may need in addition to its tables during the tests, bytes.
const MORE: u64 = 24 << 20;

fn check(run: impl FnOnce() -> Result<(), Error>) {
    run().unwrap_or_else(|error| panic!("{error}"));
}

/// Returns the daemon's own memory in bytes, without its tables, which the kernel shares.
fn memory(weir: &Weir) -> Result<u64, Error> {
    let path = format!("/proc/{}/status", weir.process.id());
    let text = std::fs::read_to_string(&path).map_err(Error::system(path))?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes
        .map(|kilobytes| kilobytes << 10)
        .ok_or_else(|| Error::Unexpected("no RssAnon in the daemon's status".into()))
}

/// Asserts that the daemon has grown by at most [`MORE`] since `before`.
fn bounded(weir: &Weir, before: u64) -> Result<(), Error> {
    let now = memory(weir)?;
    println!("memory: {} kB before, {} kB now", before >> 10, now >> 10);
    assert!(now < before + MORE, "{before} bytes became {now}");
    Ok(())
}

fn ended(weir: &Weir, cause: &str) -> Result<u64, Error> {
    Ok(weir.status()?.bumps.get(cause).copied().unwrap_or(0))
}

/// 65,536 addresses send from one port of the bridge. A transfer behind another port continues;
/// proofs of forgotten stations end, but once a second at most.
#[test]
fn a_flood_of_stations() {
    const STATIONS: u32 = 65_536;
    check(|| {
        let options = Options {
            arrangement: Arrangement::BRIDGE,
            ..Options::default()
        };
        let scene = Scene::new(Forwarder::Weir("xdp"), &options, SERVER, "")?;
        let (router, weir) = (scene.router()?, scene.weir.as_ref().expect("weir runs"));
        let (before, ends) = (memory(weir)?, ended(weir, "stations")?);
        let begun = Instant::now();
        let tap = Tap::open(scene.lab.node("at-lan3")?, "eth0")?;
        let mut frame = [0u8; 60];
        frame[..6].copy_from_slice(&mac("router", "br0"));
        // An EtherType for experiments (IEEE 802), without an answer.
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        for n in 0..STATIONS {
            frame[6..8].copy_from_slice(&[2, 0xf1]);
            frame[8..12].copy_from_slice(&n.to_be_bytes());
            tap.send(&frame)?;
        }
        scene.lives("a flood of stations")?;
        let known = router
            .run("bridge fdb show br br0")?
            .matches("02:f1:")
            .count();
        assert!(
            known > STATIONS as usize / 2,
            "the bridge learned only {known}"
        );
        let times = ended(weir, "stations")? - ends;
        let most = begun.elapsed().as_secs() + 2;
        assert!((1..=most).contains(&times), "{times} of {most}");
        bounded(weir, before)?;
        // All stations vanish at once; the transfer still continues.
        router.run("ip link set lan3 nomaster")?;
        scene.lives("all of them went")?;
        bounded(weir, before)?;
        scene.transfer.stop().map(drop)
    });
}

/// Ten thousand VLAN devices in the configuration that do not exist.
#[test]
fn ten_thousand_names() {
    check(|| {
        let lab = scene::lab(Forwarder::Weir("tc"), &Options::default())?;
        let mut config = hooked("tc");
        for n in 0..10_000 {
            let _ = writeln!(config, "[ports.\"lan0.{n}\"]\nhook = \"xdp\"");
        }
        let few = Weir::start(lab.node("router")?, &hooked("tc"), &[])?;
        few.wait_for_ports(2)?;
        let before = memory(&few)?;
        few.end(Signal::SIGTERM)?;
        drop(few);
        let weir = Weir::start(lab.node("router")?, &config, &[])?;
        weir.wait_for_ports(2)?;
        bounded(&weir, before)?;
        // A mistake in the last line: weir reports its place and keeps the running configuration.
        let wrong = format!("{config}hok = \"tc\"\n");
        std::fs::write(weir.config_file(), wrong).map_err(Error::system("write"))?;
        weir.signal(Signal::SIGHUP)?;
        wait_until("the mistake is told", LIMIT, || {
            let log = weir.log();
            Ok(log.contains("not reloaded") && log.contains("lan0.9999"))
        })?;
        weir.wait_for_ports(2)?;
        bounded(&weir, before)
    });
}

/// Six hundred devices come, change and go during a transfer. Beyond the devices that weir checks
/// each second, a device itself reports its switched forwarding.
#[test]
fn six_hundred_devices() {
    check(|| {
        let scene = Scene::new(Forwarder::Weir("tc"), &Options::default(), SERVER, "")?;
        let (router, weir) = (scene.router()?, scene.weir.as_ref().expect("weir runs"));
        let before = memory(weir)?;
        let of_all = |line: fn(u32) -> String| (0..300).map(line).collect::<String>();
        router.ip(&of_all(|n| {
            format!("link add m{n} type veth peer name n{n}\n")
        }))?;
        wait_until("all are known", LIMIT, || {
            Ok(weir.client()?.ports().map_err(unexpected)?.len() >= 600)
        })?;
        scene.lives("there are six hundred devices")?;
        router.ip(&of_all(|n| format!("link set m{n} mtu 1400\n")))?;
        scene.lives("each second one changed")?;
        bounded(weir, before)?;
        let ends = ended(weir, "routing")?;
        router.sysctl("net.ipv4.conf.m299.forwarding", 0)?;
        wait_until("the switch is heard", LIMIT, || {
            Ok(ended(weir, "routing")? > ends)
        })?;
        scene.lives("one of them does not forward")?;
        router.ip(&of_all(|n| format!("link del m{n}\n")))?;
        wait_until("all are gone", LIMIT, || {
            Ok(weir.client()?.ports().map_err(unexpected)?.len() < 10)
        })?;
        scene.lives("they are gone")?;
        bounded(weir, before)?;
        scene.transfer.stop().map(drop)
    });
}

/// Returns lines for `ip -batch` without a final effect: routes, neighbours, and a device that goes
/// up and down.
fn flapping() -> String {
    (0..200)
        .map(|n| {
            format!(
                "route add blackhole 198.51.100.{n}\nneigh replace 192.168.1.77 lladdr \
                    02:00:00:00:00:{n:02x} dev lan0\n\
                 link set flap up\nlink set flap down\nroute del blackhole 198.51.100.{n}\n"
            )
        })
        .collect()
}

/// Everything changes while `ip` runs. Proofs end all the time, so the kernel forwards; weir
/// answers.
#[test]
fn a_storm_of_changes() {
    check(|| {
        let scene = Scene::new(Forwarder::Weir("tc"), &Options::default(), SERVER, "")?;
        let (router, weir) = (scene.router()?, scene.weir.as_ref().expect("weir runs"));
        router.run("ip link add flap type veth peer name flop")?;
        let (before, ends) = (memory(weir)?, ended(weir, "routing")?);
        let over = AtomicBool::new(false);
        let (mut answers, mut storms) = (0, Ok(0));
        thread::scope(|scope| -> Result<(), Error> {
            let storm = scope.spawn(|| -> Result<u32, Error> {
                let (begun, mut storms) = (Instant::now(), 0);
                while begun.elapsed() < STORM {
                    router.ip(&flapping())?;
                    storms += 1;
                }
                over.store(true, Ordering::Relaxed);
                Ok(storms)
            });
            let mut ask = || -> Result<(), Error> {
                while !over.load(Ordering::Relaxed) && !storm.is_finished() {
                    weir.status()?;
                    answers += 1;
                    thread::sleep(Duration::from_millis(50));
                }
                scene.transfer.advance(scene::ENOUGH, LIMIT)
            };
            let asked = ask();
            storms = storm
                .join()
                .unwrap_or_else(|_| Err(Error::Unexpected("the storm's thread panicked".into())));
            asked
        })?;
        let storms = storms?;
        let ends = ended(weir, "routing")? - ends;
        println!(
            "{storms} times a thousand changes, {ends} ends of all proofs, {answers} \
                answers"
        );
        assert!(storms > 0 && ends > 0 && answers > 0);
        scene.lives("the storm is over")?;
        bounded(weir, before)?;
        scene.transfer.stop().map(drop)
    });
}

/// More events of connections, then of routes and devices, than the kernel queues for a listener:
/// weir notices, and reads everything again.
#[test]
fn more_events_than_the_kernel_keeps() {
    check(|| {
        let scene = Scene::new(Forwarder::Weir("tc"), &Options::default(), SERVER, "")?;
        let (router, weir) = (scene.router()?, scene.weir.as_ref().expect("weir runs"));
        let unheard = |storm: &dyn Fn() -> Result<(), Error>| -> Result<(), Error> {
            let lost = weir.status()?.lost_events;
            weir.signal(Signal::SIGSTOP)?;
            let outcome = storm();
            weir.signal(Signal::SIGCONT)?;
            outcome?;
            wait_until("the loss is noticed", LIMIT, || {
                Ok(weir.status()?.lost_events > lost)
            })
        };
        let to = SocketAddr::new(SERVER, 7);
        let _echo = Echo::serve(scene.lab.node("server")?, to)?;
        let datagrams = Datagrams::open(scene.lab.node("client")?, to)?;
        unheard(&|| {
            conntrack::crowd(router, 30_000)?;
            // weir gets no event for these deletions, or for this new entry.
            router.run("conntrack -D -p udp -s 192.168.1.77")?;
            assert!(datagrams.ask(b"unheard", LIMIT)?);
            Ok(())
        })?;
        wait_until("what is gone is forgotten", LIMIT, || {
            let flows = weir.status()?.flows.ipv4;
            Ok(flows.known + flows.declined < 10)
        })?;
        wait_until("what came unheard is forwarded", LIMIT, || {
            datagrams.ask(b"heard", LIMIT)?;
            Ok(weir.flow_at(7)?.is_some_and(|flow| flow.packets() > 10))
        })?;
        scene.lives("events of connections were lost")?;

        router.run("ip link add flap type veth peer name flop")?;
        let before = memory(weir)?;
        unheard(&|| {
            for _ in 0..30 {
                router.ip(&flapping())?;
            }
            // weir gets no event for these either.
            router.run("ip link add unheard type veth peer name unseen")?;
            router.run("ip link del flap").map(drop)
        })?;
        wait_until("what changed unheard is known", LIMIT, || {
            let ports = weir.client()?.ports().map_err(unexpected)?;
            let there = |name: &str| ports.iter().any(|port| port.name == name);
            Ok(there("unheard") && !there("flap"))
        })?;
        scene.lives("events of devices were lost")?;
        bounded(weir, before)?;
        scene.transfer.stop().map(drop)
    });
}

/// Number of flows of [`a_ruleset_loaded_under_many_flows`].
const FLOWS: u16 = 2_000;
const SERVICE: u16 = 443;

/// Returns all rules, with or without the rule that drops the flows from every second port.
fn rules(cut: bool) -> String {
    let odd = "udp sport & 1 == 1 udp dport 443 drop\nudp dport & 1 == 1 udp sport 443 drop\n";
    let cut = if cut { odd } else { "" };
    format!(
        "flush ruleset\ntable inet fw4 {{ chain forward {{ type filter hook forward priority \
            filter; policy drop;\n{cut}ct state established accept\nudp dport {SERVICE} \
            accept\n}}\n}}\n"
    )
}

/// Sends a packet of each flow; returns the client ports of the arrived packets.
fn round(from: &Tap, to: &mut Tap, frames: &[Vec<u8>]) -> Result<Vec<u16>, Error> {
    while to.receive(Duration::ZERO)?.is_some() {}
    let mut found = Vec::new();
    for part in frames.chunks(100) {
        for frame in part {
            from.send(frame)?;
        }
        for frame in to.drain(Duration::from_millis(20))? {
            let ports = View::of(&frame).and_then(|view| view.ports);
            found.extend(ports.map(|(a, b)| if a == SERVICE { b } else { a }));
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// A firewall reload like `fw4 reload`, in a single transaction. No packet passes by the old rules,
/// and weir soon forwards again what the new rules accept.
#[test]
fn a_ruleset_loaded_under_many_flows() {
    check(|| {
        let lab = Lab::gateway(&Options {
            nat: false,
            ipv6: Ipv6::Off,
            plain_offloads: true,
            raw: true,
            ..Options::default()
        })?;
        let router: &Namespace = lab.node("router")?;
        router.nft(&rules(false))?;
        let weir = Weir::start(router, &hooked("xdp"), &[])?;
        weir.wait_for_ports(2)?;
        let mut client = Tap::open(lab.node("client")?, "eth0")?;
        let mut server = Tap::open(lab.node("server")?, "eth0")?;
        let (mut there, mut back) = (Vec::new(), Vec::new());
        for port in (0..FLOWS).map(|n| 2000 + n) {
            let body = |from, to| Body::Udp(from, to, vec![0; 18]);
            let inside = (mac("client", "eth0"), CLIENT);
            let outside = (mac("server", "eth0"), SERVER);
            let near = (mac("router", "lan0"), SERVER);
            let far = (mac("router", "wan0"), CLIENT);
            there.push(Packet::new(inside, near, body(port, SERVICE)).bytes());
            back.push(Packet::new(outside, far, body(SERVICE, port)).bytes());
        }
        let all: Vec<u16> = (0..FLOWS).map(|n| 2000 + n).collect();
        let even: Vec<u16> = all.iter().copied().filter(|port| port & 1 == 0).collect();
        assert_eq!(round(&client, &mut server, &there)?, all);
        assert_eq!(round(&server, &mut client, &back)?, all);
        weir.wait_for_known(usize::from(FLOWS))?;
        let mut forwards = |expected: &[u16]| -> Result<(), Error> {
            let before = weir.forwarded()?;
            let enough = 2 * expected.len() as u64;
            wait_until("weir forwards them", LIMIT, || {
                assert_eq!(round(&client, &mut server, &there)?, expected);
                assert_eq!(round(&server, &mut client, &back)?, expected);
                Ok(weir.forwarded()? - before >= enough)
            })
        };
        forwards(&all)?;
        for cut in [true, false, true] {
            let ends = ended(&weir, "firewall")?;
            router.nft(&rules(cut))?;
            // Counts from here; the kernel's own commit decides on earlier packets.
            wait_until("weir hears of it", LIMIT, || {
                Ok(ended(&weir, "firewall")? > ends)
            })?;
            forwards(if cut { &even } else { &all })?;
        }
        Ok(())
    });
}
