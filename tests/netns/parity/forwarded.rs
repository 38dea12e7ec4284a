//! Round trips of connections that weir forwards itself.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use answers::Latency;
use lab::generate::Side;
use lab::namespace::wait_until;
use lab::transfer::{Echo, Transfer};
use lab::{Error, Lab, Namespace, Options};
use testing::Directory;
use weir_tests::scene::{self, Forwarder};
use weir_tests::{LIMIT, Weir};

use crate::parity::peers::{self, Capture};
use crate::parity::slow::Slow;

const ECHO: u16 = 7;
/// Additional delay of each end's answers, in milliseconds.
const LAN: u16 = 5;
const WAN: u16 = 20;
const WAN_LATER: u16 = 60;
/// Tolerated difference between weir's medians and tshark's, in milliseconds.
const NEAR: f64 = 2.0;
/// Number of measurements for a median.
const ENOUGH: usize = 8;

/// Exchanges questions and answers over one connection until `stop` is set.
fn converse(from: &Namespace, to: SocketAddr, stop: &AtomicBool) -> Result<(), Error> {
    let system = || Error::system(format!("conversation to {to}"));
    let mut stream = from.enter(|| TcpStream::connect(to))?.map_err(system())?;
    stream.set_nodelay(true).map_err(system())?;
    stream.set_read_timeout(Some(LIMIT)).map_err(system())?;
    let mut answer = [0; 300];
    while !stop.load(Ordering::Relaxed) {
        stream.write_all(&[b'w'; 300]).map_err(system())?;
        stream.read_exact(&mut answer).map_err(system())?;
    }
    Ok(())
}

/// Returns the latency of the conversation with this port, at the LAN.
fn latency(weir: &Weir, port: u16) -> Result<Latency, Error> {
    let conversations = super::conversations(weir)?;
    let conversation = conversations
        .into_iter()
        .find(|conversation| conversation.remote_port == port);
    Ok(conversation
        .and_then(|conversation| conversation.latency)
        .unwrap_or_default())
}

fn median(mut values: Vec<f64>) -> Result<f64, Error> {
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied();
    middle
        .filter(|_| values.len() >= ENOUGH)
        .ok_or_else(|| Error::Unexpected(format!("only {values:?}")))
}

fn near(what: &str, weir: f64, tshark: f64) -> Result<(), Error> {
    println!("{what}: weir {weir:.3} ms, tshark {tshark:.3} ms");
    if (weir - tshark).abs() <= NEAR {
        return Ok(());
    }
    Err(Error::Unexpected(format!(
        "{what}: weir {weir} ms, tshark {tshark} ms"
    )))
}

fn milliseconds(milliseconds: u16) -> Duration {
    Duration::from_millis(milliseconds.into())
}

/// Times a conversation and a transfer, both forwarded by weir.
fn timed(by: Forwarder, ipv6: bool) -> Result<(), Error> {
    let lab = Lab::gateway(&Options {
        raw: true,
        plain_offloads: true,
        ..Options::default()
    })?;
    let weir = scene::weir(by, &lab, "")?.ok_or_else(|| Error::Unexpected("no weir".into()))?;
    let client = Slow::begin(&lab, Side::Client, milliseconds(LAN))?;
    let server = Slow::begin(&lab, Side::Server, milliseconds(WAN))?;
    let address = lab.arrangement().reached(ipv6);
    let _echo = Echo::serve(&server.host, SocketAddr::new(address, ECHO))?;
    let stop = AtomicBool::new(false);
    let to = SocketAddr::new(address, ECHO);
    thread::scope(|scope| {
        let conversing = scope.spawn(|| converse(&client.host, to, &stop));
        let outcome = compare(&lab, &weir, [&client, &server], address);
        stop.store(true, Ordering::Relaxed);
        outcome.and(conversing.join().expect("does not panic"))
    })
}

fn compare(lab: &Lab, weir: &Weir, [from, to]: [&Slow; 2], address: IpAddr) -> Result<(), Error> {
    let at = SocketAddr::new(address, scene::PORT);
    let transfer = Transfer::start(&from.host, &to.host, at, 1, Some(1 << 20))?;
    for port in [ECHO, scene::PORT] {
        weir.wait_for_forwarding(port)?;
    }
    let client = lab.node("client")?;
    let folder = Directory::new();
    // Captures behind the client's delay and before further delay of the server's answers, as the
    // router sees packets.
    let capture = Capture::begin(client, "eth0", folder.join("capture.pcap"))?;
    let mut told = [vec![], vec![], vec![]];
    for _ in 0..16 {
        thread::sleep(Duration::from_millis(500));
        let [echo, bulk] = [latency(weir, ECHO)?, latency(weir, scene::PORT)?];
        told[0].extend(echo.wan);
        told[1].extend(echo.lan);
        told[2].extend(bulk.wan);
    }
    capture.end();
    let waits = peers::tshark(client, &capture.file)?;
    let of = |name: &str, waiter_far: bool, port: u16| {
        let found = waits
            .iter()
            .filter(|((waiter, other), _)| *(if waiter_far { waiter } else { other }) == port);
        let all: Vec<f64> = found.flat_map(|(_, waits)| waits.clone()).collect();
        median(all).map_err(|error| Error::Unexpected(format!("{name}: {error}")))
    };
    let [wan, lan, bulk_wan] = told;
    near("wan", median(wan)?, of("wan", false, ECHO)?)?;
    near("lan", median(lan)?, of("lan", true, ECHO)?)?;
    near(
        "wan, transfer",
        median(bulk_wan)?,
        of("transfer", false, scene::PORT)?,
    )?;

    // The report covers the present: the meter does not see connections that go on.
    to.delay(milliseconds(WAN_LATER));
    for port in [ECHO, scene::PORT] {
        wait_until("the longer delay is told", LIMIT, || {
            Ok(latency(weir, port)?.wan >= Some(f64::from(WAN_LATER)))
        })?;
    }
    let least = latency(weir, ECHO)?.wan_min;
    assert!(least < Some(f64::from(WAN + 10)), "{least:?}");
    transfer.stop().map(drop)
}

/// The medians of both sides equal tshark's, at either hook, per family, and follow changes. The
/// cases run in sequence: the relays need the processor in time.
#[test]
fn what_is_forwarded_is_timed_as_tshark_times_it() -> Result<(), Error> {
    timed(Forwarder::Weir("tc"), false)?;
    timed(Forwarder::Weir("xdp"), true)
}
