//! A flood of one-packet conversations removes no active ones, and leaves no trace.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use answers::ConversationsQuery;
use datapath::bench::{Bench, Exit, Traffic};
use lab::frame::{Body, Packet};
use lab::gateway::{CLIENT, SERVER};
use lab::namespace::wait_until;
use lab::topology::mac;
use lab::{Error, Ipv6, Lab, Namespace, Options, unexpected};
use weir_tests::{LIMIT, Weir, undisturbed};

/// During some 200,000 one-packet conversations, live conversations are still counted one by one,
/// and new ones are again soon afterwards.
#[test]
fn a_flood_takes_nothing_from_those_that_live() {
    undisturbed(|| through(RECORDS, FLOOD)).expect("no flow is lost");
}

/// With records for all and a daemon with little memory: the daemon keeps its limit, and keeps
/// conversations that begin during the flood.
#[test]
fn who_comes_during_a_flood_is_remembered() {
    undisturbed(|| through(MEMORY, 900_000)).expect("no flow is lost");
}

/// First fewer records than the flood needs, and little memory: the daemon grows by its copy of
/// conntrack's entries. Then records for all, and less memory.
const RECORDS: &str = "[monitor]\nsize = 1024\nmemory = \"2MiB\"\n";
const MEMORY: &str = "[monitor]\nmemory = \"1MiB\"\n";

fn through(config: &str, many: u32) -> Result<(), Error> {
    let lab = Lab::gateway(&Options {
        nat: false,
        ipv6: Ipv6::Off,
        plain_offloads: true,
        raw: true,
        ..Options::default()
    })?;
    if many > FLOOD {
        // The daemon's copy of conntrack's entries has its own bound, `flows`.
        lab.node("router")?.nft(
            "table inet test {\n\
                 chain first {\n\
                     type filter hook prerouting priority raw;\n\
                     notrack\n\
                 }\n\
             }\n",
        )?;
    }
    let weir = Weir::start(lab.node("router")?, config, &["--only", "monitor"])?;
    wait_until("devices are counted", LIMIT, || {
        let devices = weir.client()?.devices().map_err(unexpected)?;
        Ok(devices.ports.len() >= 2)
    })?;
    let out = lab.index("client", "eth0")?;
    let router = lab.node("router")?;
    lab.node("client")?
        .enter(|| flood(&weir, router, out, many))?
}

const LIVE: u32 = 64;
/// Packets of a conversation that begins during the flood, for each piece of the flood.
const PACE: u32 = 10;
const FLOOD: u32 = 204_800;
/// Returns the packets that arrived at the router's port, and those dropped for lack of room.
fn arrived(router: &Namespace) -> Result<[u64; 2], Error> {
    let text = router.run("cat /proc/net/dev")?;
    let line = text.lines().find_map(|l| l.trim().strip_prefix("lan0:"));
    let counts = line.map(|l| l.split_whitespace().map(|n| n.parse().unwrap_or(0)));
    let counts: Vec<u64> = counts.into_iter().flatten().collect();
    match counts[..] {
        [_, packets, _, dropped, ..] => Ok([packets, dropped]),
        _ => Err(unexpected(format!("no lan0 in {text}"))),
    }
}

fn flood(weir: &Weir, router: &Namespace, out: u32, many: u32) -> Result<(), Error> {
    let kind = |port, flows| -> Result<Bench, Error> {
        let from = (mac("client", "eth0"), CLIENT);
        let to = (mac("router", "lan0"), SERVER);
        let packet = Packet::new(from, to, Body::Udp(1024, port, vec![b'w'; 18]));
        let traffic = Traffic::of(packet.bytes(), flows);
        Bench::load(&traffic, out, &Exit::default()).map_err(unexpected)
    };
    let [first, lost] = arrived(router)?;
    let mut sent = 0;
    // A port queues 256 packets, and a busy machine reads late: the test sends nothing on top of a
    // queue.
    let mut send = |bench: &mut Bench, packets: u32| {
        bench.generate(packets).map_err(unexpected)?;
        sent += u64::from(packets);
        wait_until("the port has taken what was sent", LIMIT, || {
            Ok(arrived(router)?.iter().sum::<u64>() >= first + lost + sent)
        })
    };
    // Returns the packets of each conversation with a port of the server, as weir reports them at
    // the client's port.
    let told = |port: u16| -> Result<(u64, Vec<u64>), Error> {
        let asked = ConversationsQuery {
            limit: 5_000,
            port: Some("lan0".into()),
            ..ConversationsQuery::default()
        };
        let conversations = weir.client()?.conversations(&asked).map_err(unexpected)?;
        let of = |conversation: &&answers::Conversation| {
            conversation.port == "lan0" && conversation.remote_port == port
        };
        let packets = conversations.conversations.iter().filter(of);
        Ok((
            conversations.total,
            packets
                .map(|conversation| conversation.sent.packets)
                .collect(),
        ))
    };
    let (mut live, mut flood, mut new) = (kind(443, LIVE)?, kind(9, many)?, kind(5555, LIVE)?);
    let mut each = 0;
    for _ in 0..5 {
        send(&mut live, LIVE)?;
        each += 1;
    }
    let all = |port, each| {
        move |told: &dyn Fn(u16) -> Result<(u64, Vec<u64>), Error>| {
            let (_, packets) = told(port)?;
            Ok::<_, Error>(packets.len() == LIVE as usize && packets.iter().all(|one| *one == each))
        }
    };
    wait_until("conversations live", LIMIT, || all(443, each)(&told))?;
    let before = resident(weir)?;
    let pieces = 50;
    let (piece, ended) = (AtomicU32::new(0), AtomicBool::new(false));
    let came = thread::scope(|scope| -> Result<_, Error> {
        // Runs in parallel to the flood: a daemon of a debug build may take seconds to answer.
        // Meanwhile the live conversations would be silent until weir forgets them.
        let told = &told;
        let (at, end) = (&piece, &ended);
        let asks = scope.spawn(move || -> Result<_, Error> {
            let half = || at.load(Ordering::Relaxed).checked_sub(pieces / 2);
            // The shorter flood makes no requests: each answer uses memory, too.
            while (many == FLOOD || half().is_none()) && !end.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(10));
            }
            let begun = Instant::now();
            while !end.load(Ordering::Relaxed) {
                if told(5555)?.1.len() == LIVE as usize {
                    return Ok(half().map(|pieces| (pieces, begun.elapsed())));
                }
            }
            Ok(None)
        });
        let mut floods = || -> Result<(), Error> {
            for number in 0..4 * pieces {
                // A flood with newcomers lasts until weir knows them.
                if number >= pieces && (asks.is_finished() || many == FLOOD) {
                    break;
                }
                piece.store(number, Ordering::Relaxed);
                send(&mut flood, many / pieces)?;
                send(&mut live, LIVE)?;
                each += 1;
                // Newcomers start at the middle of the flood.
                if number >= pieces / 2 && !asks.is_finished() {
                    send(&mut new, PACE * LIVE)?;
                }
                thread::sleep(Duration::from_millis(40));
            }
            Ok(())
        };
        let outcome = floods();
        ended.store(true, Ordering::Relaxed);
        let came = asks
            .join()
            .map_err(|_| unexpected("the one who asks panicked"))?;
        outcome.and(came)
    })?;
    let (total, _) = told(443)?;
    let remembered = weir.status()?.monitor.unwrap_or_default();
    println!("{remembered:?}; newcomers known after so many pieces: {came:?}");
    assert!(remembered.conversations <= remembered.capacity);
    if many > FLOOD {
        assert!(came.is_some(), "newcomers are known before the flood ends");
        assert!(remembered.overflow.packets > 0, "there is a flood");
    }
    wait_until("each packet of those that live is counted", LIMIT, || {
        all(443, each)(&told)
    })
    .map_err(|error| unexpected(format!("{error}: each sent {each}, {:?}", told(443))))?;
    // At first the flood fills the table: newcomers get records as the flood's are released.
    let mut rounds = 0;
    wait_until("new conversations are counted one by one", LIMIT, || {
        send(&mut new, LIVE)?;
        rounds += 1;
        thread::sleep(Duration::from_millis(200));
        Ok(told(5555)?.1.len() == LIVE as usize)
    })?;
    let grew = resident(weir)?.saturating_sub(before);
    println!(
        "{total} conversations known, {rounds} packets before new ones had records, grew by \
            {grew} kB"
    );
    // Records of one packet stay for 30 s if there is room: 150 packets of the live conversations.
    assert!(rounds < 75, "{rounds} packets before new ones had records");
    // 28 MB, or 60 if the daemon lags (debug build, two busy processors): conntrack's events wait.
    let most = if many > FLOOD { 16 } else { 80 };
    assert!(grew < most * 1024, "the daemon grew by {grew} kB");
    // The port's total count equals the arrived packets.
    let came = arrived(router)?[0] - first;
    assert!(came > u64::from(many) / 2, "{came} came in");
    let counted = || -> Result<u64, Error> {
        let devices = weir.client()?.devices().map_err(unexpected)?;
        let port = devices.ports.iter().find(|port| port.name == "lan0");
        Ok(port.map_or(0, |port| {
            let way = &port.incoming;
            way.conversations.packets + way.unplaced.packets + way.other.packets
        }))
    };
    wait_until("the port's sum is what came in", LIMIT, || {
        Ok(counted()? == came)
    })
    .map_err(|error| unexpected(format!("{error}: {came} came in, {:?} counted", counted())))
}

/// Returns the resident memory of the daemon, kB.
fn resident(weir: &Weir) -> Result<u64, Error> {
    let status = format!("/proc/{}/status", weir.process.id());
    let text = std::fs::read_to_string(&status).map_err(Error::system(status))?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|rest| rest.trim().split(' ').next()?.parse().ok())
        .ok_or_else(|| unexpected("no RssAnon"))
}
