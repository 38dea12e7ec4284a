//! The monitor counts each packet at a port exactly, by device, whether weir or the kernel forwards
//! it.

mod labels;
mod names;
mod start;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use answers::{Count, Device, Devices};
use lab::namespace::{Process, wait_until};
use lab::transfer::{Datagrams, Echo, ask_tcp};
use lab::{Error, Lab, Namespace, Options, topology, unexpected};
use weir_tests::scene::{self, Forwarder};
use weir_tests::{LIMIT, Weir};

/// Port of echo servers.
const ECHO: u16 = 7;
/// Bytes of payload.
const LENGTHS: [usize; 3] = [1, 100, 1300];
/// The router's ports, and the devices at the other ends of their wires.
const WIRES: [(&str, &str, &str); 2] = [("lan0", "client", "eth0"), ("wan0", "server", "eth0")];

/// The forwarder, and other running parts besides the monitor.
#[derive(Clone, Copy, Debug)]
enum Runs {
    /// Runs `weir run --only monitor`.
    Alone,
    /// Runs everything, with this hook.
    With(&'static str),
}

struct Scene {
    lab: Lab,
    weir: Weir,
    wires: Vec<Wire>,
    _echoes: Vec<Echo>,
}

impl Scene {
    /// Builds a scene without super-packets, so that the counts equal those of a wire.
    fn begin(runs: Runs, more: &str) -> Result<Self, Error> {
        Self::with_wires(runs, more, true)
    }

    fn with_wires(runs: Runs, more: &str, plain_offloads: bool) -> Result<Self, Error> {
        let options = Options {
            plain_offloads,
            ..Options::default()
        };
        let lab = Lab::gateway(&options)?;
        let router = lab.node("router")?;
        let weir = match runs {
            Runs::Alone => Weir::start(router, more, &["--only", "monitor"])?,
            Runs::With(hook) => {
                let weir = scene::weir(Forwarder::Weir(hook), &lab, more)?;
                weir.ok_or_else(|| Error::Unexpected("no weir".into()))?
            }
        };
        let server = lab.node("server")?;
        let echoes = [false, true].map(|ipv6| {
            let to = SocketAddr::new(options.arrangement.server(ipv6), ECHO);
            Echo::serve(server, to)
        });
        let _echoes = echoes.into_iter().collect::<Result<_, _>>()?;
        let wires = WIRES.map(|(_, role, device)| Wire::listen(&lab, role, device));
        let scene = Self {
            wires: wires.into_iter().collect::<Result<_, _>>()?,
            lab,
            weir,
            _echoes,
        };
        wait_until("ports are counted", LIMIT, || {
            let names = scene.devices()?.ports.into_iter().map(|port| port.name);
            Ok(names
                .filter(|name| WIRES.iter().any(|wire| wire.0 == name))
                .count()
                == WIRES.len())
        })?;
        Ok(scene)
    }

    fn client(&self) -> Result<&Namespace, Error> {
        self.lab.node("client")
    }

    /// Exchanges datagrams in new conversations of both families.
    fn speak(&self, rounds: usize) -> Result<(), Error> {
        self.ask(&self.conversations()?, rounds)
    }

    /// Opens a conversation of each family.
    fn conversations(&self) -> Result<[Datagrams; 2], Error> {
        let open = |ipv6| {
            let to = SocketAddr::new(self.lab.arrangement().reached(ipv6), ECHO);
            ask_tcp(self.client()?, to, b"anybody there?")?;
            Datagrams::open(self.client()?, to)
        };
        Ok([open(false)?, open(true)?])
    }

    /// Exchanges datagrams and answers.
    fn ask(&self, conversations: &[Datagrams], rounds: usize) -> Result<(), Error> {
        for datagrams in conversations {
            for length in LENGTHS {
                for _ in 0..rounds {
                    if !datagrams.ask(&vec![b'w'; length], LIMIT)? {
                        return Err(Error::Unexpected("no answer".into()));
                    }
                }
            }
        }
        Ok(())
    }

    fn devices(&self) -> Result<Devices, Error> {
        self.weir.client()?.devices().map_err(unexpected)
    }

    /// Returns each port's count by its records, and tcpdump's at the other end of the wire:
    /// received, sent.
    fn both(&self) -> Result<BTreeMap<String, [[Count; 2]; 2]>, Error> {
        let mut all = BTreeMap::new();
        let told = self.devices()?;
        for ((port, _, _), wire) in WIRES.into_iter().zip(&self.wires) {
            let other = wire.read().unwrap_or_default();
            let port_told = told.ports.iter().find(|known| known.name == port);
            let port_told =
                port_told.ok_or_else(|| Error::Unexpected(format!("{port}: {told:?}")))?;
            let sum = |way: &answers::PortCounters| Count {
                bytes: way.conversations.bytes + way.unplaced.bytes + way.other.bytes + way.link,
                packets: way.conversations.packets + way.unplaced.packets + way.other.packets,
            };
            let told = [sum(&port_told.incoming), sum(&port_told.outgoing)];
            all.insert(port.to_owned(), [told, other]);
        }
        Ok(all)
    }

    /// Returns such counts without traffic: neighbour discovery sends packets at any time.
    fn at_rest(&self) -> Result<BTreeMap<String, [[Count; 2]; 2]>, Error> {
        let (mut before, mut quiet) = (self.both()?, 0);
        for _ in 0..60 {
            thread::sleep(Duration::from_millis(500));
            let now = self.both()?;
            // tcpdump writes up to a second after the packet, when the kernel passes its buffer on.
            quiet = if now == before { quiet + 1 } else { 0 };
            if quiet == 4 {
                return Ok(now);
            }
            before = now;
        }
        Err(Error::Unexpected("it is never quiet".into()))
    }
}

/// A tcpdump at the remote end of a wire: an independent count, whose file is removed on drop.
struct Wire {
    file: PathBuf,
    own: Vec<[u8; 6]>,
    _tcpdump: Process,
}

impl Wire {
    fn listen(lab: &Lab, role: &str, device: &str) -> Result<Self, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-monitor-{}-{number}.pcap", std::process::id());
        let file = std::env::temp_dir().join(name);
        let mut command = Command::new("tcpdump");
        command
            .args([
                "-i", device, "-s", "64", "-B", "8192", "-U", "-Z", "root", "-w",
            ])
            .arg(&file)
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        let node = lab.node(role)?;
        let wire = Self {
            _tcpdump: node.start(&mut command)?,
            own: lab.macs(role)?,
            file,
        };
        wait_until("tcpdump listens", LIMIT, || Ok(wire.read().is_some()))?;
        Ok(wire)
    }

    /// Returns packets that this end sent and received; `None` before the file exists.
    fn read(&self) -> Option<[Count; 2]> {
        let octets = std::fs::read(&self.file).ok()?;
        let mut rest = octets.get(24..)?;
        let mut sums = [Count::default(); 2];
        // pcap: seconds, microseconds, stored bytes, original bytes.
        while let Some((head, more)) = rest.split_first_chunk::<16>() {
            let word = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().unwrap());
            let Some((frame, more)) = more.split_at_checked(word(8) as usize) else {
                break;
            };
            let source: [u8; 6] = frame[6..12].try_into().unwrap();
            let way = usize::from(!self.own.contains(&source));
            sums[way].packets += 1;
            sums[way].bytes += u64::from(word(12));
            rest = more;
        }
        Some(sums)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

fn grown(before: [Count; 2], after: [Count; 2]) -> [Count; 2] {
    [0, 1].map(|way| Count {
        bytes: after[way].bytes - before[way].bytes,
        packets: after[way].packets - before[way].packets,
    })
}

fn device<'a>(devices: &'a Devices, lab: &Lab, role: &str) -> Result<&'a Device, Error> {
    let macs = lab.macs(role)?;
    let found = devices
        .devices
        .iter()
        .find(|device| macs.iter().any(|mac| topology::text(*mac) == device.mac));
    found.ok_or_else(|| Error::Unexpected(format!("no {role} in {devices:#?}")))
}

/// Runs the same in each mode at once, as a run mostly waits.
fn all(run: impl Fn(Runs) -> Result<(), Error> + Sync) {
    let run = &run;
    let wrong: Vec<String> = thread::scope(|scope| {
        let started = [Runs::Alone, Runs::With("tc"), Runs::With("xdp")]
            .map(|runs| (runs, scope.spawn(move || run(runs))));
        started
            .into_iter()
            .filter_map(|(runs, one)| match one.join() {
                Ok(outcome) => outcome.err().map(|error| format!("{runs:?}: {error}")),
                Err(_) => Some(format!("{runs:?}: panicked, see above")),
            })
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Flows + unplaced + other equal the wire's traffic, in packets and bytes, each way.
#[test]
fn every_packet_is_counted_once() {
    let run = |runs: Runs| -> Result<(), Error> {
        let scene = Scene::begin(runs, "")?;
        let conversations = scene.conversations()?;
        scene.ask(&conversations, 3)?;
        let forwarded = || -> Result<u64, Error> {
            let devices = scene.devices()?;
            Ok(device(&devices, &scene.lab, "client")?.forwarded.packets)
        };
        if let Runs::With(_) = runs {
            // A busy machine takes its time for the first proofs.
            wait_until("both conversations are forwarded", LIMIT, || {
                let before = forwarded()?;
                scene.ask(&conversations, 5)?;
                let all = conversations.len() * LENGTHS.len() * 5 * 2;
                Ok(forwarded()? - before == all as u64)
            })?;
        }
        let before = scene.at_rest()?;
        scene.ask(&conversations, 120)?;
        let after = scene.at_rest()?;
        for (port, [told, wire]) in &after {
            let [told_before, wire_before] = before[port];
            let (told, wire) = (grown(told_before, *told), grown(wire_before, *wire));
            println!("{runs:?} {port}: {told:?}");
            if told != wire {
                return Err(Error::Unexpected(format!(
                    "{port}: counted {told:?}, but the wire carried {wire:?}"
                )));
            }
        }
        let devices = scene.devices()?;
        let client = device(&devices, &scene.lab, "client")?;
        let least = 2 * 3 * 120;
        let [received, sent] = client.all();
        assert!(
            sent.packets >= least && received.packets >= least,
            "{client:#?}"
        );
        let forwarded = client.forwarded.packets >= sent.packets;
        assert_eq!(forwarded, matches!(runs, Runs::With(_)), "{client:#?}");
        Ok(())
    };
    all(run);
}

/// `make test-long` runs this test on the oldest kernel, too: programs load, weir forwards a
/// connection, and the monitor counts it.
#[test]
fn what_is_forwarded_is_counted() -> Result<(), Error> {
    let scene = Scene::begin(Runs::With("tc"), "")?;
    wait_until("what is forwarded is counted", LIMIT, || {
        scene.speak(20)?;
        let devices = scene.devices()?;
        let client = device(&devices, &scene.lab, "client");
        Ok(client.is_ok_and(|client| client.forwarded.packets > 100))
    })
}

/// Lists the host behind a translation, its uplink and its translated address; each packet counts
/// once in the whole list.
#[test]
fn both_sides_of_a_translation_are_one_conversation() -> Result<(), Error> {
    let scene = Scene::begin(Runs::With("tc"), "")?;
    let router = scene.lab.node("router")?;
    let server = scene.lab.arrangement().server(false);
    router.run(&format!("ip route replace default via {server}"))?;
    let datagrams = Datagrams::open(scene.client()?, SocketAddr::new(server, ECHO))?;
    let local = datagrams.local()?.to_string();
    let mut seen = String::new();
    let known = wait_until("both sides are known", LIMIT, || {
        datagrams.ask(b"who am I?", LIMIT)?;
        let client = scene.weir.client()?;
        let all = client
            .conversations(&Default::default())
            .map_err(unexpected)?;
        let at_uplink = answers::ConversationsQuery {
            port: Some("wan0".into()),
            ..Default::default()
        };
        let outside = client.conversations(&at_uplink).map_err(unexpected)?;
        seen = format!("{all:#?}\n{outside:#?}");
        let udp = |conversation: &&answers::Conversation| {
            conversation.protocol == Some(answers::Protocol::Udp)
        };
        let inside: Vec<_> = all.conversations.iter().filter(udp).collect();
        let outside: Vec<_> = outside.conversations.iter().filter(udp).collect();
        let ([inside], [outside]) = (&inside[..], &outside[..]) else {
            return Ok(false);
        };
        let station = format!("{}:{}", inside.station, inside.station_port);
        let far = format!("{}:{}", outside.remote, outside.remote_port);
        Ok(station == local
            && inside.uplink.as_deref() == Some("wan0")
            && outside.outside
            && outside.behind.as_ref() == Some(&local)
            && inside.translated.as_ref() == Some(&far)
            && inside.sent == outside.received)
    });
    known.map_err(|error| Error::Unexpected(format!("{error}: {seen}")))?;
    // Packets without ports count too.
    scene
        .client()?
        .run(&format!("ping -n -c 3 -i 0.2 {server}"))?;
    let mut seen = Vec::new();
    let one = wait_until("a ping is one conversation", LIMIT, || {
        let all = scene.weir.client()?.conversations(&Default::default());
        let conversations = all.map_err(unexpected)?.conversations.into_iter();
        seen = conversations
            .filter(|conversation| conversation.protocol_number == 1)
            .collect();
        Ok(seen.len() == 1 && seen[0].uplink.as_deref() == Some("wan0"))
    });
    one.map_err(|error| Error::Unexpected(format!("{error}: {seen:#?}")))
}

/// Frequent queries do not change a rate, however short their interval.
#[test]
fn no_question_moves_time() -> Result<(), Error> {
    const PATHS: [&str; 9] = [
        "status",
        "flows",
        "hops",
        "ports",
        "drops",
        "conversations",
        "paths",
        "probes",
        "config",
    ];
    let scene = Scene::begin(Runs::Alone, "")?;
    let to = SocketAddr::new(scene.lab.arrangement().server(false), ECHO);
    let datagrams = Datagrams::open(scene.client()?, to)?;
    // Four datagrams in a second, of 1028 bytes each.
    let bits = 4 * 1028 * 8;
    let weir = scene.weir.client()?;
    let (begin, mut next) = (Instant::now(), Instant::now());
    let mut most = 0;
    while begin.elapsed() < Duration::from_secs(6) {
        if next <= Instant::now() {
            datagrams.ask(&[b'w'; 1000], LIMIT)?;
            next += Duration::from_millis(250);
        }
        for path in PATHS {
            weir.told(&format!("/v1/{path}")).map_err(unexpected)?;
        }
        let told = scene.devices()?;
        let at_lan = told.devices.iter().filter(|device| device.port == "lan0");
        // Without a default route no traffic counts as Internet traffic.
        let sent = at_lan.map(|device| device.rate.sent + device.lan.rate.sent);
        most = most.max(sent.max().unwrap_or(0));
    }
    assert!(most > bits / 2, "{most} bit/s seen of {bits}");
    assert!(most < bits * 3, "{most} bit/s seen of {bits}");
    Ok(())
}
