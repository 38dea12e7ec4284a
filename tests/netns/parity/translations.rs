//! Starts and ends of translations: nfcapd receives the same events as conntrack(8).

use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use lab::gateway::{CLIENT, ROUTER_WAN, SERVER, SERVER6};
use lab::namespace::{Process, wait_until};
use lab::transfer::{Datagrams, Echo, ask_tcp};
use lab::{Error, Lab, Namespace, Options};
use nix::sys::signal::Signal;
use serde_json::Value;
use testing::Directory;
use weir_tests::LIMIT;
use weir_tests::scene::{self, Forwarder};

use crate::parity::peers::{self, Capture, Collector};

/// Port of echo servers, and the router's port that forwards to the client's.
const ECHO: u16 = 7;
const LED: u16 = 8080;
/// IANA's natEvent.
const CREATE: u8 = 4;
const DELETE: u8 = 5;

/// A record: event, protocol, the connection's first packet as received and as sent.
type Told = (u8, u8, [String; 4]);

/// A conntrack(8) that writes the kernel's events to a file.
struct Witness {
    file: PathBuf,
    _process: Process,
}

impl Witness {
    fn begin(router: &Namespace, file: PathBuf) -> Result<Self, Error> {
        let out = File::create(&file).map_err(Error::system("make a file"))?;
        let mut command = Command::new("conntrack");
        command.args(["-E", "-f", "ipv4", "-e", "NEW,DESTROY"]);
        command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::null());
        let _process = router.start(&mut command)?;
        // conntrack(8) prints nothing before the first event, and may miss that event.
        thread::sleep(Duration::from_millis(500));
        Ok(Self { file, _process })
    }

    /// Returns the translations that began and ended so far.
    fn told(&self) -> Result<Vec<Told>, Error> {
        let text = std::fs::read_to_string(&self.file).map_err(Error::system("read a file"))?;
        let mut told: Vec<Told> = text.lines().filter_map(line).collect();
        told.sort();
        Ok(told)
    }
}

/// Parses a line of conntrack(8) about a translation: kind, protocol, and both directions as `src=…
/// dst=… sport=… dport=…`.
fn line(line: &str) -> Option<Told> {
    let mut words = line.split_whitespace();
    let event = match words.next()? {
        "[NEW]" => CREATE,
        "[DESTROY]" => DELETE,
        _ => return None,
    };
    words.next()?;
    let protocol = words.next()?.parse().ok()?;
    let values: Vec<&str> = words
        .filter_map(|word| {
            let (name, value) = word.split_once('=')?;
            matches!(name, "src" | "dst" | "sport" | "dport").then_some(value)
        })
        .collect();
    let [
        from,
        to,
        from_port,
        to_port,
        back,
        ours,
        back_port,
        our_port,
    ] = values[..]
    else {
        return None;
    };
    let ends = [
        (from, from_port),
        (to, to_port),
        (ours, our_port),
        (back, back_port),
    ]
    .map(|(address, port)| format!("{address}:{port}"));
    (ends[0] != ends[2] || ends[1] != ends[3]).then_some((event, protocol, ends))
}

/// Returns nfdump's events, and checks nfdump's text of both kinds.
fn collected(router: &Namespace, directory: &Path) -> Result<Vec<Told>, Error> {
    let mut command = Command::new("nfdump");
    command.arg("-R").arg(directory);
    command.args(["-o", "json", "nat event > 0"]);
    let text = peers::output(router, &mut command)?;
    let wrong = |what: &Value| Error::Unexpected(format!("nfdump says {what:#}"));
    let records: Vec<Value> = serde_json::from_str(&text)
        .map_err(|error| Error::Unexpected(format!("{error}: {text}")))?;
    let read = |record: &Value| -> Option<Told> {
        let word = |name: &str| record[name].as_str().map(str::to_owned);
        let event = word("nat_event_id")?.parse().ok()?;
        let name = match event {
            CREATE => "NAT44 session create",
            _ => "NAT44 session delete",
        };
        (word("nat_event")? == name).then_some(())?;
        let number = |name: &str| record[name].as_u64().map(|number| number.to_string());
        let ends = [
            (word("src4_addr")?, number("src_port")?),
            (word("dst4_addr")?, number("dst_port")?),
            (word("src4_xlt_ip")?, word("src_xlt_port")?),
            (word("dst4_xlt_ip")?, word("dst_xlt_port")?),
        ];
        let protocol = record["proto"].as_u64()?.try_into().ok()?;
        let ends = ends.map(|(address, port)| format!("{address}:{port}"));
        Some((event, protocol, ends))
    };
    let told = records.iter().map(|r| read(r).ok_or_else(|| wrong(r)));
    let mut told: Vec<Told> = told.collect::<Result<_, Error>>()?;
    told.sort();
    Ok(told)
}

/// Returns a field's values in all records that tshark finds in a capture.
fn tshark(router: &Namespace, capture: &Path, field: &str) -> Result<Vec<String>, Error> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-T", "fields"]);
    command.args(["-E", "occurrence=a", "-E", "aggregator=,", "-e", field]);
    let text = peers::output(router, &mut command)?;
    let values = text.split([',', '\n']).filter(|value| !value.is_empty());
    Ok(values.map(str::to_owned).collect())
}

/// Many connections, from inside and outside, one older than weir and one that outlives weir.
#[test]
fn a_collector_hears_of_translations_what_conntrack_tells() -> Result<(), Error> {
    let lab = Lab::gateway(&Options {
        plain_offloads: true,
        ..Options::default()
    })?;
    // The default route shows weir the outer side.
    lab.route("router", "default", SERVER)?;
    let (router, client, server) = (
        lab.node("router")?,
        lab.node("client")?,
        lab.node("server")?,
    );
    router.nft(&format!(
        "table ip led {{\nchain prerouting {{\ntype nat hook prerouting priority dstnat;\n\
         ip daddr {ROUTER_WAN} tcp dport {LED} dnat to {CLIENT}:{ECHO}\n}}\n}}\n"
    ))?;
    for (timeout, seconds) in [("udp_timeout", 1), ("udp_timeout_stream", 2)]
        .into_iter()
        .chain(["close", "close_wait", "last_ack", "time_wait", "fin_wait"].map(|s| (s, 1)))
    {
        let key = match timeout.starts_with("udp") {
            true => format!("net.netfilter.nf_conntrack_{timeout}"),
            false => format!("net.netfilter.nf_conntrack_tcp_timeout_{timeout}"),
        };
        router.sysctl(&key, seconds)?;
    }
    let echoes = [(server, SERVER), (server, SERVER6), (client, CLIENT)];
    let echoes = echoes.map(|(node, at)| Echo::serve(node, SocketAddr::new(at, ECHO)));
    let _echoes = echoes.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let to = SocketAddr::new(SERVER, ECHO);

    let folder = Directory::new();
    let witness = Witness::begin(router, folder.join("conntrack"))?;
    let connect = || {
        client
            .enter(|| TcpStream::connect(to))?
            .map_err(Error::system("connect"))
    };
    let before = connect()?;
    let collector = Collector::begin(router, peers::make(&folder, "nfcapd")?)?;
    let capture = Capture::begin(router, "lo", folder.join("capture.pcap"))?;
    let more = format!(
        "[monitor.ipfix]\ncollector = \"127.0.0.1:{}\"\nnat_events = true\n",
        peers::COLLECTOR
    );
    let began = millis();
    let weir = scene::weir(Forwarder::Weir("tc"), &lab, &more)?;
    let weir = weir.ok_or_else(|| Error::Unexpected("no weir".into()))?;

    for _ in 0..20 {
        ask_tcp(client, to, b"from inside")?;
        ask_tcp(server, SocketAddr::new(ROUTER_WAN, LED), b"from outside")?;
        // An untranslated connection: weir must not export it.
        ask_tcp(client, SocketAddr::new(SERVER6, ECHO), b"without")?;
    }
    // More connections than a message holds, each with its own port. All end at once: with many
    // more, conntrack(8) would lose some.
    let asking = (0..60).map(|_| Datagrams::open(client, to));
    let asking = asking.collect::<Result<Vec<_>, Error>>()?;
    for one in &asking {
        if !one.ask(b"one", LIMIT)? {
            return Err(Error::Unexpected("no answer".into()));
        }
    }
    drop(before);
    // For a known collector, weir repeats no record and drops none.
    weir.signal(Signal::SIGHUP)?;
    let _after = connect()?;
    let mut seen = String::new();
    wait_until("all but one have ended", LIMIT, || {
        // The kernel removes expired entries on a listing, or after some time.
        let left = router.run("conntrack -L")?;
        let told = witness.told()?;
        let ended = told.iter().filter(|(event, ..)| *event == DELETE).count();
        seen = format!("{ended} of {}, left {left}", told.len());
        Ok(ended > 100 && told.len() == 2 * ended + 1)
    })
    .map_err(|error| Error::Unexpected(format!("{error}: {seen}")))?;
    // They are sent within a second.
    thread::sleep(Duration::from_millis(1500));
    weir.end(Signal::SIGTERM)?;
    let directory = collector.end(router)?;
    capture.end();

    let (kernel, told) = (witness.told()?, collected(router, &directory)?);
    println!("{} events", told.len());
    assert_eq!(told, kernel);
    assert_eq!(told.len(), 2 * (20 + 20 + 60 + 1) + 1);

    let events = tshark(router, &capture.file, "cflow.nat_event")?;
    assert_eq!(events.len(), told.len());
    // Private, where a connection came from inside; public, where from outside.
    let realms = tshark(router, &capture.file, "cflow.nat_originating_address_realm")?;
    let public = realms.iter().filter(|realm| *realm == "2").count();
    assert_eq!((realms.len(), public), (told.len(), 2 * 20), "{realms:?}");
    // Neither a sequence number nor a template is missed.
    let warnings = tshark(router, &capture.file, "_ws.expert.severity")?;
    assert!(warnings.is_empty(), "{warnings:?}");
    // Each has its own time.
    let mut command = Command::new("nfdump");
    command.arg("-R").arg(&directory);
    command.args(["-q", "-o", "raw", "nat event > 0"]);
    let text = peers::output(router, &mut command)?;
    let times: Vec<u128> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Event time"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse().ok())
        .collect();
    assert_eq!(times.len(), told.len());
    let span = began..=millis();
    assert!(
        times.iter().all(|time| span.contains(time)),
        "{span:?} {times:?}"
    );
    assert!(times.iter().max() > times.iter().min().map(|least| least + 1000).as_ref());
    Ok(())
}

/// Milliseconds since 1970.
fn millis() -> u128 {
    net::clock::unix().as_millis()
}
