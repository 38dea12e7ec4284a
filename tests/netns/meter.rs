//! The meter's records under two processors: sent packets are counted to the byte while records are
//! claimed, retired and freed.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use datapath::bench::{Bench, Exit, Target, Traffic};
use datapath::meter::{Meter, MeterSizes, Processor, Programs, Segments};
use lab::frame::{Body, Packet, Tcp, flag};
use lab::gateway::{CLIENT, CLIENT6, SERVER, SERVER6};
use lab::random::Random;
use lab::topology::mac;
use lab::{Error, Lab, Offloads};
use weir_tests::undisturbed;

const PACKETS: u64 = 10_000_000;
/// Runs on one frame, or on a series of frames of a kind, before the other processor may meet the
/// same records.
const RUNS: u32 = 2_048;
/// Conversations that both processors use at the same time, for each family.
const SHARED: u32 = 100;
/// Conversations that begin all the time: far more than there are records.
const NEW: u32 = 20_000;
/// A slow machine sends up to this many times as much, until enough records were retired and
/// reused.
const MOST: u64 = 8;
/// Longer than the reuse delay of a retired record.
const REST: Duration = Duration::from_millis(300);

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Unexpected(error.to_string())
}

/// Counts of received and sent packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    packets: u64,
    /// Bytes of whole frames.
    octets: i128,
}

impl Sum {
    fn add(&mut self, packets: u64, octets: impl Into<i128>) {
        self.packets += packets;
        self.octets += octets.into();
    }
}

/// Events on the way, without which the test would show nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    retired: u64,
    records: u64,
    unplaced: u64,
    other: u64,
    rest: u64,
}

fn udp(ipv6: bool, from_client: bool, ports: (u16, u16), length: usize) -> Packet {
    let (client, server) = if ipv6 {
        (CLIENT6, SERVER6)
    } else {
        (CLIENT, SERVER)
    };
    let body = Body::Udp(ports.0, ports.1, vec![b'w'; length]);
    let client: ([u8; 6], IpAddr) = (mac("client", "eth0"), client);
    let server: ([u8; 6], IpAddr) = (mac("server", "eth0"), server);
    let (from, to) = if from_client {
        (client, server)
    } else {
        (server, client)
    };
    Packet::new(from, to, body)
}

/// Returns the kinds of frames that rotate by themselves.
fn rotating() -> Vec<(bool, Traffic)> {
    let traffic = |packet: Packet, reply, flows| Traffic {
        reply,
        ..Traffic::of(packet.bytes(), flows)
    };
    let mut all = Vec::new();
    for ipv6 in [false, true] {
        // Both directions of the same conversations: the station is the client.
        let sent = udp(ipv6, true, (1024, 443), 100);
        let received = udp(ipv6, false, (443, 1024), 1000);
        all.push((false, traffic(sent, false, SHARED)));
        all.push((true, traffic(received, true, SHARED)));
        all.push((false, traffic(udp(ipv6, true, (1024, 9), 20), false, NEW)));
    }
    all
}

/// Sends one processor's share; returns the sent sums.
fn send(programs: &Programs, link: u32, seed: u64, enough: &AtomicBool) -> Result<[Sum; 2], Error> {
    let mut random = Random::new(seed);
    let mut kinds = Vec::new();
    for (leaves, traffic) in rotating() {
        let bench = Bench::load(&traffic, 0, &Exit::default()).map_err(failed)?;
        bench.aim_meter(programs).map_err(failed)?;
        kinds.push((leaves, traffic.frame.len(), bench));
    }
    let mut sums = [Sum::default(); 2];
    let mut sent = 0;
    let share = PACKETS / 2;
    while sent < share || (sent < share * MOST && !enough.load(Ordering::Relaxed)) {
        // Both processors share the first kinds.
        let kind = random.below(kinds.len());
        let (leaves, length, bench) = &mut kinds[kind];
        let target = if *leaves {
            Target::MeterOut
        } else {
            Target::MeterIn
        };
        bench.rotate(target, link, RUNS).map_err(failed)?;
        let runs = u64::from(RUNS);
        sums[usize::from(*leaves)].add(runs, i128::from(runs) * *length as i128);
        sent += runs;
        if random.one_in(4) {
            let runs = random.between(1, 64) as u32;
            let leaves = random.one_in(2);
            let (frame, segments, headers) = strange(&mut random);
            programs
                .run(leaves, link, &frame, segments, runs)
                .map_err(failed)?;
            let number = segments.map_or(1, |segments| segments.number);
            let octets = frame.len() + (number as usize - 1) * headers;
            sums[usize::from(leaves)].add(
                u64::from(runs) * u64::from(number),
                i128::from(runs) * octets as i128,
            );
            sent += u64::from(runs);
        }
    }
    Ok(sums)
}

/// Builds other frames: from any station, without IP, padded, tagged; and super-packets with equal
/// headers in each segment.
fn strange(random: &mut Random) -> (Vec<u8>, Option<Segments>, usize) {
    let ipv6 = random.one_in(2);
    let mut packet = udp(
        ipv6,
        random.one_in(2),
        (random.next_u64() as u16, random.next_u64() as u16),
        random.between(0, 1000),
    );
    for station in [&mut packet.from_mac, &mut packet.to_mac] {
        station[4] = random.below(64) as u8;
    }
    let headers = if ipv6 { 14 + 40 + 20 } else { 14 + 20 + 20 };
    match random.below(5) {
        0 => packet.lies.pad_to = 600,
        1 => packet.tags = vec![(0x8100, random.below(4096) as u16)],
        2 => {
            let mut frame = packet.bytes();
            frame[12..14].copy_from_slice(&[0x08, 0x06]);
            return (frame, None, 0);
        }
        3 => {
            let segments = Segments {
                number: 3,
                size: 500,
            };
            packet.body = Body::Tcp(Tcp {
                from: random.next_u64() as u16,
                to: 443,
                flags: flag::ACK | flag::PSH,
                payload: vec![b'w'; 1500],
                ..Tcp::default()
            });
            return (packet.bytes(), Some(segments), headers);
        }
        _ => {}
    }
    (packet.bytes(), None, 0)
}

/// Reads, retires and frees until both processors have finished, and to the end.
fn read(
    meter: &mut Meter,
    link: u32,
    seed: u64,
    enough: &AtomicBool,
    done: impl Fn() -> bool,
) -> Result<([Sum; 2], Met), Error> {
    let mut random = Random::new(seed);
    let mut sums = [Sum::default(); 2];
    let mut met = Met::default();
    let mut records = BTreeSet::new();
    let mut ending = false;
    loop {
        let last = ending;
        ending = done();
        if last {
            // The retired records are free by then.
            thread::sleep(REST);
        }
        let take = |sums: &mut [Sum; 2], seen: &datapath::meter::RecordObservation| {
            for (way, (packets, octets)) in [seen.delta.sent, seen.delta.received]
                .into_iter()
                .enumerate()
            {
                let link = i128::from(packets) * i128::from(seen.link);
                sums[way].add(packets, i128::from(octets) + link);
            }
        };
        let reclaimed = meter.reclaim(Instant::now(), |seen| take(&mut sums, seen));
        reclaimed.map_err(failed)?;
        let scanned = meter.scan(|seen| {
            take(&mut sums, seen);
            records.insert(format!("{:?}", seen.id));
            let stays = last || ending || !random.one_in(64);
            met.retired += u64::from(!stays);
            stays
        });
        scanned.map_err(failed)?;
        enough.store(
            met.retired > 500 && records.len() > 1_000,
            Ordering::Relaxed,
        );
        let stations = meter.scan_stations(|seen| {
            for (way, counts) in [
                [seen.unplaced.sent, seen.other.sent],
                [seen.unplaced.received, seen.other.received],
            ]
            .into_iter()
            .enumerate()
            {
                met.unplaced += counts[0].0;
                met.other += counts[1].0;
                for (packets, octets) in counts {
                    sums[way].add(packets, octets);
                }
            }
        });
        stations.map_err(failed)?;
        // The ring has no reader: a full ring must not matter either.
        if last {
            break;
        }
        thread::sleep(Duration::from_millis(2));
    }
    let rest = meter
        .rest(link)
        .ok_or_else(|| Error::Unexpected("no port".into()))?;
    for (way, rest) in rest.into_iter().enumerate() {
        met.rest += rest.unplaced.0;
        for (packets, octets) in [rest.unplaced, rest.other] {
            sums[way].add(packets, octets);
        }
        sums[way].add(0, rest.link);
    }
    met.records = records.len() as u64;
    Ok((sums, met))
}

/// Builds a router without traffic of its own.
fn quiet() -> Result<Lab, Error> {
    let mut lab = Lab::new();
    for role in ["client", "router"] {
        lab.host(role)?;
    }
    lab.wire(("client", "eth0"), ("router", "lan0"), Offloads::Plain)?;
    Ok(lab)
}

fn two_processors(processor: Processor) -> Result<(), Error> {
    let lab = quiet()?;
    let link = lab.index("router", "lan0")?;
    let seed = Random::new(PACKETS).next_u64();
    lab.node("router")?.enter(|| {
        let sizes = MeterSizes::new(256, &[link]);
        let mut meter = Meter::load_for(sizes, true, processor).map_err(failed)?;
        meter.attach(link, "lan0", false, true).map_err(failed)?;
        let programs = meter.programs().map_err(failed)?;
        let running = AtomicUsize::new(2);
        let enough = AtomicBool::new(false);
        let (sent, (counted, met)) = thread::scope(|scope| {
            let senders = [seed, seed + 1].map(|seed| {
                let (programs, running, enough) = (&programs, &running, &enough);
                scope.spawn(move || {
                    let sent = send(programs, link, seed, enough);
                    running.fetch_sub(1, Ordering::SeqCst);
                    sent
                })
            });
            let read = read(&mut meter, link, seed + 2, &enough, || {
                running.load(Ordering::SeqCst) == 0
            });
            let mut sent = [Sum::default(); 2];
            for sender in senders {
                let sums = sender.join().map_err(|_| failed("a sender panicked"))??;
                for (all, one) in sent.iter_mut().zip(sums) {
                    all.add(one.packets, one.octets);
                }
            }
            Ok::<_, Error>((sent, read?))
        })?;
        println!("{processor:?}: {sent:?}, {met:?}");
        assert_eq!(counted, sent, "{met:?}");
        assert!(sent[0].packets + sent[1].packets >= PACKETS);
        // The test requires these events: records retired during use, reused, unavailable; stations
        // without a slot.
        assert!(met.retired > 500 && met.records > 1_000, "{met:?}");
        assert!(met.unplaced > 0 && met.other > 0 && met.rest > 0, "{met:?}");
        Ok(())
    })?
}

/// Flows, stations and unrecorded traffic together equal the sent bytes, with headers read in
/// place.
#[test]
fn ten_million_packets_on_two_processors() {
    undisturbed(|| two_processors(Processor::default())).expect("the equation");
}

/// Runs the test on processors with aligned access only and weak ordering.
#[test]
fn ten_million_packets_on_other_processors() {
    let other = Processor {
        unaligned: false,
        weak_order: true,
    };
    undisturbed(|| two_processors(other)).expect("the equation");
}

/// Both ways of reading headers give equal results for frames of every kind, whole and damaged.
#[test]
fn both_ways_of_reading_headers_find_the_same() {
    let run = || -> Result<(), Error> {
        let lab = quiet()?;
        let link = lab.index("router", "lan0")?;
        lab.node("router")?.enter(|| {
            let load = |unaligned| -> Result<Meter, Error> {
                let processor = Processor {
                    unaligned,
                    ..Processor::default()
                };
                let sizes = MeterSizes::new(1024, &[link]);
                let mut meter = Meter::load_for(sizes, true, processor).map_err(failed)?;
                meter.attach(link, "lan0", false, true).map_err(failed)?;
                Ok(meter)
            };
            let mut meters = [load(true)?, load(false)?];
            let mut random = Random::new(4);
            let (mut conversations, mut taken) = (0, 0);
            let mut loose = [Loose::default(); 2];
            for _ in 0..60 {
                let frames: Vec<_> = (0..50).map(|_| damaged(&mut random)).collect();
                let mut found = Vec::new();
                for (meter, loose) in meters.iter_mut().zip(&mut loose) {
                    let programs = meter.programs().map_err(failed)?;
                    // The harness refuses a frame with an IP EtherType that ends in the IP header.
                    let mut run = |frame: &Vec<u8>, leaves| {
                        let ran = programs.run(leaves, link, frame, None, 1).is_ok();
                        taken += usize::from(ran);
                        ran
                    };
                    let ran: Vec<_> = frames
                        .iter()
                        .map(|frame| [run(frame, false), run(frame, true)])
                        .collect();
                    found.push((ran, everything(meter, link, loose)?));
                }
                assert_eq!(found[0], found[1], "{frames:02x?}");
                conversations += found[0].1.len();
            }
            assert!(taken > 2 * 2 * 60 * 50 * 3 / 4, "{taken} frames were run");
            assert!(conversations > 1_000, "{conversations}");
            Ok(())
        })?
    };
    run().expect("the same");
}

/// Traffic without a record, each way: IP packets and bytes, other frames and bytes.
type Loose = [[(u64, u64); 2]; 2];

/// Returns all counts since the last call as text, and removes the records. `loose` gets traffic
/// without a record: a station gets a slot at random, so both with and without a station.
fn everything(meter: &mut Meter, link: u32, loose: &mut Loose) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    meter
        .scan(|seen| {
            found.push(format!(
                "{:?} {:02x?} {:?} link {} flags {} tos {} icmp {:?}",
                seen.key, seen.mac, seen.delta, seen.link, seen.tcp_flags, seen.tos, seen.icmp
            ));
            false
        })
        .map_err(failed)?;
    meter
        .scan_stations(|seen| {
            let ways = [
                [seen.unplaced.sent, seen.other.sent],
                [seen.unplaced.received, seen.other.received],
            ];
            for (sum, more) in loose.iter_mut().flatten().zip(ways.iter().flatten()) {
                *sum = (sum.0 + more.0, sum.1 + more.1);
            }
        })
        .map_err(failed)?;
    // The senders pause, so there is nothing to wait for.
    meter
        .reclaim(Instant::now() + REST, |_| {})
        .map_err(failed)?;
    found.sort_unstable();
    let rest = meter.rest(link).unwrap_or_default();
    for (way, rest) in rest.iter().enumerate() {
        for (sum, more) in loose[way].iter().zip([rest.unplaced, rest.other]) {
            let sum = (sum.0 + more.0, sum.1 + more.1);
            found.push(format!("way {way}: {sum:?}, headers {}", rest.link));
        }
    }
    Ok(found)
}

/// Builds a frame of any kind, whole or damaged.
fn damaged(random: &mut Random) -> Vec<u8> {
    let ipv6 = random.one_in(2);
    let mut packet = udp(ipv6, true, (random.below(9) as u16, 443), random.below(40));
    match random.below(6) {
        0 => {
            packet.body = Body::Tcp(Tcp {
                from: random.below(9) as u16,
                to: 443,
                flags: random.below(64) as u16,
                options: vec![1; random.below(5) * 4],
                payload: vec![b'w'; random.below(40)],
                ..Tcp::default()
            });
        }
        1 => packet.body = Body::Icmp(random.below(9) as u8, 1, 7, vec![0; 20]),
        2 => packet.fragment = Some((random.below(3) as u16, random.one_in(2))),
        3 => packet.options = vec![1; random.below(10) * 4],
        4 => packet.extensions = vec![(0, vec![0; 8]), (60, vec![0; 16])],
        _ => {}
    }
    for _ in 0..random.below(3) {
        packet.tags.push((random.pick(&[0x8100, 0x88a8]), 7));
    }
    let mut frame = packet.bytes();
    if random.one_in(6) {
        let header = [0x8864u16, 0x1100, 9, 0, random.pick(&[0x21, 0x57, 0xc021])];
        let octets = header.iter().flat_map(|word| word.to_be_bytes());
        frame.splice(12..14, octets);
    }
    if random.one_in(3) {
        frame.truncate(random.between(14, frame.len().max(15)));
    }
    for _ in 0..random.below(3) {
        let at = random.below(frame.len());
        frame[at] ^= 1 << random.below(8);
    }
    frame
}

/// Invented hardware addresses fill the slots of stations; once they are silent, others get the
/// slots. Nothing is lost meanwhile.
#[test]
fn places_for_stations_are_given_back() -> Result<(), Error> {
    let lab = quiet()?;
    let router = lab.node("router")?;
    let link = lab.index("router", "lan0")?;
    router.enter(|| {
        let mut meter = Meter::load(MeterSizes::new(256, &[link]), false).map_err(failed)?;
        meter.attach(link, "lan0", false, false).map_err(failed)?;
        let programs = meter.programs().map_err(failed)?;
        let frame = |number: u32| {
            let mut frame = vec![0xff; 6];
            frame.extend([0x02, 0xaa]);
            frame.extend(number.to_be_bytes());
            frame.extend(0x88b5u16.to_be_bytes()); // for experiments (IEEE 802)
            frame.resize(60, 0);
            frame
        };
        let run = |number| {
            programs
                .run(false, link, &frame(number), None, 1)
                .map_err(failed)
        };
        let places = meter.sizes().stations;
        for number in 0..places * 4 {
            run(number)?;
        }
        let mut seen = 0;
        let mut scan = |meter: &mut Meter, wanted: Option<u32>| -> Result<bool, Error> {
            let mut found = false;
            let each = |station: &datapath::meter::StationObservation| {
                seen += station.other.sent.0;
                found |= wanted.is_some_and(|number| station.mac[2..] == number.to_be_bytes());
            };
            meter.scan_stations(each).map_err(failed)?;
            Ok(found)
        };
        scan(&mut meter, None)?;
        // The table is full, so the port counts this conversation.
        let late = u32::MAX;
        run(late)?;
        assert!(!scan(&mut meter, Some(late))?, "there was a place");
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut sent = u64::from(places) * 4 + 1;
        loop {
            thread::sleep(Duration::from_millis(500));
            run(late)?;
            sent += 1;
            if scan(&mut meter, Some(late))? {
                break;
            }
            assert!(Instant::now() < deadline, "no place was given back");
        }
        let rest = meter.rest(link).expect("it is a port")[0].other.0;
        assert_eq!(seen + rest, sent, "of stations {seen}, of the port {rest}");
        Ok(())
    })?
}
