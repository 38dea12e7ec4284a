//! Probes, with real packets through a router: what is recorded, for which port and station, and
//! what is not. Needs root, BTF and Linux 5.17.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use kernel::Mac;
use lab::frame::{Body, Packet};
use lab::gateway::{CLIENT, CLIENT6, SERVER, SERVER6};
use lab::namespace::wait_until;
use lab::topology::mac;
use lab::{Error, Lab, Options, Tap};
use monitor_core::probes::{self, Ledger};
use weir_datapath::recorder::{BUCKETS, KernelTypes, Record, Recorder, Subject};

/// Long, for an emulated machine on a busy one.
const LIMIT: Duration = Duration::from_secs(60);

struct Scene {
    lab: Lab,
    lan: Tap,
    words: BTreeMap<u32, String>,
}

impl Scene {
    fn new() -> Result<Self, Error> {
        // Hosts that send nothing by themselves.
        let lab = Lab::gateway(&Options {
            raw: true,
            nat: false,
            plain_offloads: true,
            ..Options::default()
        })?;
        Ok(Self {
            lan: Tap::open(lab.node("client")?, "eth0")?,
            lab,
            words: reasons(),
        })
    }

    fn record(&self, role: &str, probe: &str) -> Result<Recorder, Error> {
        let loaded = self.lab.node(role)?.enter(|| Recorder::load(probe))?;
        loaded.map_err(|e| {
            Error::Unexpected(format!("{e}: {:#?}", weir_datapath::libbpf_log::last()))
        })
    }

    /// A frame of a station of the LAN to the router's LAN device.
    fn frame(&self, station: Mac, to: std::net::IpAddr, ttl: u8, port: u16) -> Vec<u8> {
        let from = if to.is_ipv6() { CLIENT6 } else { CLIENT };
        let body = Body::Udp(40000, port, vec![b'w'; 100]);
        let mut packet = Packet::new((station, from), (mac("router", "lan0"), to), body);
        packet.ttl = ttl;
        packet.bytes()
    }

    fn send(&self, frame: &[u8], times: usize) -> Result<(), Error> {
        (0..times).try_for_each(|_| self.lan.send(frame))
    }

    fn subject(&self, device: &str, reason: &str, station: Mac) -> Result<Subject, Error> {
        let label = self.words.iter().find(|(_, word)| *word == reason);
        Ok(Subject {
            link: self.lab.index("router", device)?,
            label: label.map_or(0, |(number, _)| *number),
            station,
        })
    }
}

/// The running kernel's reasons, as the probe's description asks for them.
fn reasons() -> BTreeMap<u32, String> {
    let types = KernelTypes::read().expect("this kernel has BTF");
    let probe = probes::find("drops").expect("a probe");
    let lacks = probe.lacks(
        |name| types.has_tracepoint(name),
        |name| types.has_enumeration(name),
    );
    assert_eq!(lacks, None);
    probe
        .label
        .expect("a label")
        .words(|name, prefix| types.words(name, prefix))
}

fn refused(error: weir_datapath::Error) -> Error {
    Error::Unexpected(error.to_string())
}

fn count(recorder: &Recorder, subject: &Subject) -> Result<u64, Error> {
    let records = recorder.read().map_err(refused)?;
    let found = records.iter().find(|record| record.subject == *subject);
    Ok(found.map_or(0, |record| record.words[0]))
}

/// Waits until a record has come so far, and no farther.
fn becomes(
    scene: &Scene,
    recorder: &Recorder,
    subject: &Subject,
    number: u64,
) -> Result<(), Error> {
    let what = format!("{subject:?} becomes {number}");
    let waited = wait_until(&what, LIMIT, || Ok(count(recorder, subject)? >= number));
    let words = |label: u32| scene.words.get(&label).cloned();
    let all: Vec<_> = recorder
        .read()
        .map_err(refused)?
        .into_iter()
        .map(|record| (record.subject, words(record.subject.label), record.words))
        .collect();
    assert!(waited.is_ok(), "{waited:?}: {all:#?}");
    assert_eq!(count(recorder, subject)?, number, "{all:#?}");
    Ok(())
}

const FENCE: &str = "table inet fence {
  chain forwarded { type filter hook forward priority 0; policy accept; udp dport 9999 drop; }
  chain out { type filter hook postrouting priority 0; policy accept; udp dport 9998 drop; }
}";

#[test]
fn drops_are_counted_by_reason_port_and_station() -> Result<(), Error> {
    let scene = Scene::new()?;
    scene.lab.node("router")?.nft(FENCE)?;
    let recorder = scene.record("router", "drops")?;
    let elsewhere = scene.record("server", "drops")?;
    let client = mac("client", "eth0");
    let other = [2, 0, 0x5e, 0x10, 0, 9];
    let netfilter = |station| scene.subject("lan0", "NETFILTER_DROP", station);
    // On arrival, and on the way out: both count for their origin.
    scene.send(&scene.frame(client, SERVER, 64, 9999), 30)?;
    scene.send(&scene.frame(client, SERVER6, 64, 9999), 7)?;
    scene.send(&scene.frame(client, SERVER, 64, 9998), 5)?;
    scene.send(&scene.frame(other, SERVER, 64, 9999), 11)?;
    becomes(&scene, &recorder, &netfilter(client)?, 42)?;
    becomes(&scene, &recorder, &netfilter(other)?, 11)?;
    // Forwarded packets are not dropped. Drops of packets to a foreign address have no reason of
    // the router's.
    scene.send(&scene.frame(client, SERVER, 64, 7), 20)?;
    // Not for the router at all.
    let mut astray = scene.frame(client, SERVER, 64, 7);
    astray[..6].copy_from_slice(&[2, 0, 0, 0, 0, 0x77]);
    scene.send(&astray, 13)?;
    becomes(
        &scene,
        &recorder,
        &scene.subject("lan0", "OTHERHOST", client)?,
        13,
    )?;
    becomes(&scene, &recorder, &netfilter(client)?, 42)?;
    // Another network namespace's drops are its own.
    for record in elsewhere.read().map_err(refused)? {
        let word = scene.words.get(&record.subject.label);
        assert_ne!(
            word.map(String::as_str),
            Some("NETFILTER_DROP"),
            "{record:?}"
        );
    }
    Ok(())
}

/// The reasons' names differ between kernels; the observed one must be among the right ones.
#[test]
fn what_cannot_be_forwarded_is_dropped_for_a_reason() -> Result<(), Error> {
    let client = mac("client", "eth0");
    let nowhere = "198.51.100.1".parse().expect("an address");
    let nowhere6 = "2001:db8:ffff::1".parse().expect("an address");
    for (to, ttl, reasons) in [
        (SERVER, 1, ["IP_INHDR", "NOT_SPECIFIED"]),
        (SERVER6, 1, ["IP_INHDR", "NOT_SPECIFIED"]),
        (nowhere, 64, ["IP_INNOROUTES", "NOT_SPECIFIED"]),
        (nowhere6, 64, ["IP_INNOROUTES", "NOT_SPECIFIED"]),
    ] {
        let scene = Scene::new()?;
        let recorder = scene.record("router", "drops")?;
        scene.send(&scene.frame(client, to, ttl, 7), 25)?;
        let sum = || -> Result<u64, Error> {
            let each = reasons
                .iter()
                .map(|reason| count(&recorder, &scene.subject("lan0", reason, client)?));
            each.sum()
        };
        let what = format!("{to} with TTL {ttl} is dropped");
        let waited = wait_until(&what, LIMIT, || Ok(sum()? >= 25));
        assert!(waited.is_ok(), "{waited:?}: {:#?}", recorder.read());
        assert_eq!(sum()?, 25, "{what}: {:#?}", recorder.read());
    }
    Ok(())
}

/// Forged stations occupy all slots: then ports are counted, sums hold, and idle records make room
/// again.
#[test]
fn made_up_stations_take_nothing_away() -> Result<(), Error> {
    let scene = Scene::new()?;
    scene.lab.node("router")?.nft(FENCE)?;
    let mut recorder = scene.record("router", "drops")?;
    let client = mac("client", "eth0");
    let label = scene.subject("lan0", "NETFILTER_DROP", client)?;
    let room = recorder.room();
    let sent = room + 500;
    for n in 0..sent {
        let [_, _, high, low] = (n as u32).to_be_bytes();
        scene
            .lan
            .send(&scene.frame([2, 0, 0x5e, 0x20, high, low], SERVER, 64, 9999))?;
    }
    let mut ledger = Ledger::new(room);
    let sum = |recorder: &Recorder, ledger: &Ledger| -> Result<u64, Error> {
        let missed = recorder.missed().map_err(refused)?;
        let records = brought(recorder.read().map_err(refused)?);
        let all = ledger.sum(records, &HashSet::new()).into_iter();
        let own = all.filter(|record| record.subject.label == label.label);
        Ok(missed.overflow + own.map(|record| record.words[0]).sum::<u64>())
    };
    let all = sent as u64;
    wait_until("all are recorded", LIMIT, || {
        Ok(sum(&recorder, &ledger)? >= all)
    })?;
    assert_eq!(sum(&recorder, &ledger)?, all);
    assert_eq!(recorder.read().map_err(refused)?.len(), room);
    assert!(recorder.missed().map_err(refused)?.overflow > 0);

    for _ in 0..2 {
        let stale = ledger.stale(brought(recorder.read().map_err(refused)?));
        let stale: Vec<Subject> = stale.into_iter().map(asked).collect();
        let taken = recorder.take(&stale).map_err(refused)?;
        ledger.keep(brought(taken));
    }
    assert_eq!(recorder.read().map_err(refused)?.len(), room / 2);
    assert_eq!(sum(&recorder, &ledger)?, all, "nothing is lost");
    scene.send(&scene.frame(client, SERVER, 64, 9999), 3)?;
    becomes(&scene, &recorder, &label, 3)
}

fn brought(records: Vec<Record>) -> Vec<probes::Record> {
    let records = records.into_iter();
    let brought = records.map(|Record { subject, words }| probes::Record {
        subject: probes::Subject {
            link: subject.link,
            label: subject.label,
            station: subject.station,
        },
        words,
    });
    brought.collect()
}

fn asked(subject: probes::Subject) -> Subject {
    Subject {
        link: subject.link,
        label: subject.label,
        station: subject.station,
    }
}

/// Packets of 1000 bytes and their headers, through a bucket that accepts one such packet each
/// tenth of a second: each waits a tenth longer than the one before, less the bucket's content, and
/// less the time to send them.
#[test]
fn delay_in_a_shaper_is_what_the_shaper_makes_it() -> Result<(), Error> {
    const PACKETS: u64 = 8;
    const PAYLOAD: usize = 1000 - 28 - 14;
    let scene = Scene::new()?;
    let router = scene.lab.node("router")?;
    router.run("tc qdisc replace dev wan0 root tbf rate 80kbit burst 1000 limit 100000")?;
    let recorder = scene.record("router", "qdisc-delay")?;
    let body = Body::Udp(40000, 7, vec![b'w'; PAYLOAD]);
    let (host, to) = (
        (mac("client", "eth0"), CLIENT),
        (mac("router", "lan0"), SERVER),
    );
    let frame = Packet::new(host, to, body).bytes();
    assert_eq!(frame.len(), 1000);
    let begun = Instant::now();
    scene.send(&frame, PACKETS as usize)?;
    let sending = begun.elapsed();

    let subject = Subject {
        link: scene.lab.index("router", "wan0")?,
        label: 0,
        station: mac("server", "eth0"),
    };
    let read = || -> Result<Vec<u64>, Error> {
        let records = recorder.read().map_err(refused)?;
        let found = records.into_iter().find(|record| record.subject == subject);
        Ok(found.map_or_else(Vec::new, |record| record.words))
    };
    let counted = |words: &[u64]| words.iter().skip(1).sum::<u64>();
    let waited = wait_until("all have left", LIMIT, || Ok(counted(&read()?) >= PACKETS));
    let (all, missed) = (recorder.read(), recorder.missed());
    assert!(waited.is_ok(), "{waited:?}: {all:?} {missed:?}");
    let words = read()?;
    assert_eq!(words.len(), 1 + BUCKETS);
    assert_eq!(counted(&words), PACKETS, "each once");
    assert_eq!(recorder.missed().map_err(refused)?, Default::default());
    let step = Duration::from_millis(100);
    let least: Duration = (1..PACKETS as u32)
        .map(|n| (step * n).saturating_sub(sending))
        .sum();
    let most = begun.elapsed() * PACKETS as u32;
    let sum = Duration::from_micros(words[0]);
    // The shaper counts in steps of its own clock.
    assert!(
        sum + step / 10 >= least && sum <= most,
        "{least:?} {sum:?} {most:?}"
    );
    // The last packet waited longest: below 2^n microseconds, not below 2^(n-1).
    let last = words[1..].iter().rposition(|n| *n > 0).unwrap_or_default();
    let longest = (step * (PACKETS as u32 - 1)).saturating_sub(sending + step / 10);
    assert!((1u128 << last) >= longest.as_micros(), "{words:?}");
    assert!(
        (1u128 << last) / 2 <= begun.elapsed().as_micros(),
        "{words:?}"
    );
    Ok(())
}

/// Packets without a wait are not recorded; those without an address count for the port.
#[test]
fn a_port_without_a_queue_has_no_delay() -> Result<(), Error> {
    let scene = Scene::new()?;
    let recorder = scene.record("router", "qdisc-delay")?;
    let mut server = Tap::open(scene.lab.node("server")?, "eth0")?;
    scene.send(&scene.frame(mac("client", "eth0"), SERVER, 64, 7), 10)?;
    let mut arrived = 0;
    wait_until("they arrive", LIMIT, || {
        arrived += server.drain(Duration::from_millis(50))?.len();
        Ok(arrived >= 10)
    })?;
    let records = recorder.read().map_err(refused)?;
    assert!(records.is_empty(), "{records:?}");
    Ok(())
}

/// The SYN of a connection without an answer is sent again, after a second, two, four.
#[test]
fn what_the_router_sends_again_is_counted() -> Result<(), Error> {
    let lab = Lab::gateway(&Options::default())?;
    lab.node("server")?.nft(
        "table inet fence {\n chain in {\n type filter hook input priority 0; policy accept; tcp \
            dport 9999 drop;\n }\n}\n",
    )?;
    let router = lab.node("router")?;
    let recorder = router.enter(|| Recorder::load("tcp-retransmits"))?;
    let recorder = recorder.map_err(refused)?;
    let _talks = router.background(|| {
        let to = std::net::SocketAddr::new(SERVER, 9999);
        let _ = std::net::TcpStream::connect_timeout(&to, Duration::from_secs(4));
    })?;
    let probe = probes::find("tcp-retransmits").expect("a probe");
    let words = probe.label.expect("a label").words(|_, _| BTreeMap::new());
    let state = words.iter().find(|(_, word)| *word == "SYN_SENT");
    let subject = Subject {
        link: lab.index("router", "wan0")?,
        label: *state.expect("a state").0,
        station: Mac::default(),
    };
    let waited = wait_until("it is sent again", LIMIT, || {
        Ok(count(&recorder, &subject)? > 0)
    });
    assert!(waited.is_ok(), "{waited:?}: {:#?}", recorder.read());
    Ok(())
}
