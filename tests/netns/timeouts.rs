//! Conntrack does not see the packets that weir forwards: its entries live as long as they would if
//! it did, and no longer.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use lab::gateway::SERVER;
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo, Transfer};
use lab::{Error, Lab, Options};
use weir_tests::conntrack::{ASSURED, Entry, entry_to};
use weir_tests::scene::{self, By, PORT, WAYS, at_once};
use weir_tests::{LIMIT, Weir};

/// Seconds: `nf_conntrack_udp_timeout_stream` and `nf_conntrack_tcp_timeout_established`.
const STREAM: u64 = 5;
const ESTABLISHED: u64 = 7;

/// No packet goes through the kernel of its own accord, which would keep an entry alive too.
const NO_REPROOF: &str = "[offload]\nreprove = \"10m\"\n";

fn lab(by: By) -> Result<(Lab, Option<Weir>), Error> {
    let lab = scene::lab(by, &Options::default())?;
    let router = lab.node("router")?;
    for (key, seconds) in [
        ("udp_timeout", 4),
        ("udp_timeout_stream", STREAM),
        ("tcp_timeout_established", ESTABLISHED),
    ] {
        router.sysctl(&format!("net.netfilter.nf_conntrack_{key}"), seconds)?;
    }
    let weir = scene::weir(by, &lab, NO_REPROOF)?;
    Ok((lab, weir))
}

fn entry(lab: &Lab, port: u16) -> Result<Entry, Error> {
    entry_to(lab.node("router")?, port)?
        .ok_or_else(|| Error::Unexpected(format!("the entry of port {port} is gone")))
}

/// A TCP transfer and a UDP exchange at once, for three times the longer time-out: both entries are
/// still those of the beginning.
fn live(by: By) -> Result<(), Error> {
    let (lab, weir) = lab(by)?;
    let (client, server) = (lab.node("client")?, lab.node("server")?);
    let to = SocketAddr::new(SERVER, 7);
    let _echo = Echo::serve(server, to)?;
    let datagrams = Datagrams::open(client, to)?;
    assert!(datagrams.ask(b"first", LIMIT)?);
    let far = SocketAddr::new(SERVER, PORT);
    let transfer = Transfer::start(client, server, far, 1, Some(1 << 20))?;
    transfer.advance(1, LIMIT)?;
    let first = (entry(&lab, PORT)?, entry(&lab, 7)?);

    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3 * ESTABLISHED) {
        assert!(datagrams.ask(b"again", LIMIT)?);
        thread::sleep(Duration::from_millis(20));
    }
    let last = (entry(&lab, PORT)?, entry(&lab, 7)?);
    assert_eq!((first.0.id, first.1.id), (last.0.id, last.1.id), "{by:?}");
    assert!(u64::from(last.0.timeout) <= ESTABLISHED, "{last:?}");
    assert!(u64::from(last.1.timeout) <= STREAM, "{last:?}");
    assert!(
        last.1.status & ASSURED != 0,
        "a UDP stream is assured: {last:?}"
    );
    if let Some(weir) = &weir {
        for (port, least) in [(PORT, 1000), (7, 500)] {
            let flow = weir.flow_at(port)?;
            let packets = flow.as_ref().map_or(0, |flow| flow.packets());
            assert!(packets > least, "{packets} forwarded of {flow:?}");
        }
    }

    // Still: gone after its time, whoever forwarded it.
    wait_until("an idle entry times out", LIMIT, || {
        Ok(entry_to(lab.node("router")?, 7)?.is_none())
    })?;
    if let Some(weir) = &weir {
        wait_until("weir forgets it", LIMIT, || Ok(weir.flow_at(7)?.is_none()))?;
    }
    transfer.stop().map(drop)
}

#[test]
fn entries_of_live_flows_live_and_those_of_idle_ones_end() {
    at_once(&WAYS, live);
}
