//! Conversations in the tunnel when the partner is lost: live ones restart, and no packet leaves
//! with the tunnel's addresses.

use std::net::{IpAddr, SocketAddr};
use std::thread::sleep;
use std::time::Instant;

use lab::namespace::wait_until;
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER};
use lab::{Error, UdpPair};
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::{SECOND, ms};

/// Counts packets of the tunnel's network that reach a provider.
const WATCH: &str = "table inet watch {\n\tchain c {\n\t\ttype filter hook prerouting priority \
    raw; policy accept;\n\t\tip saddr 10.93.0.0/16 counter\n\t}\n}\n";

/// Opens a client that asks from one port, and a server that reports the client's source.
fn open(pair: &Pair, port: u16) -> Result<UdpPair, Error> {
    let to = SocketAddr::new(SERVER, port);
    UdpPair::open(pair.uplinks.client(), None, pair.uplinks.server(), to)
}

/// Returns the source that the server sees, if the answer comes back.
fn ask(talk: &UdpPair) -> Result<Option<IpAddr>, Error> {
    talk.ask(b"who am I?", ms(100))
}

/// Asks repeatedly until the source is as wanted.
fn until(talk: &UdpPair, what: &str, so: impl Fn(IpAddr) -> bool) -> Result<(), Error> {
    wait_until(what, LIMIT, || {
        sleep(ms(20));
        Ok(ask(talk)?.is_some_and(&so))
    })
}

#[test]
fn a_conversation_that_lives_on_is_not_stuck() -> Result<(), Error> {
    let mut pair = Pair::build(&Options::mbit(&[100, 100]))?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    for path in 0..2 {
        pair.uplinks.provider(path).nft(WATCH)?;
    }
    let direct = pair.uplinks.address(0);
    // The first conversation asks all the time, the second pauses while the partner is lost.
    let conversations = [open(&pair, 5001)?, open(&pair, 5002)?];
    for talk in &conversations {
        until(talk, "by the tunnel", |source| source == PARTNER)?;
    }
    pair.partner.stop();
    let begun = Instant::now();
    // A new conversation waits only briefly.
    let mut ports = 5100..;
    wait_until("a new one, directly", 6 * SECOND, || {
        let port = ports.next().expect("a port");
        ask(&conversations[0])?;
        Ok(ask(&open(&pair, port)?)? == Some(direct))
    })?;
    until(&conversations[0], "directly", |source| source == direct)?;
    assert!(begun.elapsed() < 15 * SECOND, "{:?}", begun.elapsed());
    let entries = pair
        .uplinks
        .router()
        .run("conntrack -L -p udp --mark 0x20000000/0x20000000");
    if let Ok(entries) = entries {
        assert!(!entries.contains("dport=500"), "{entries}");
    }
    until(&conversations[1], "directly", |source| source == direct)?;

    pair.partner.restart(pair.uplinks.partner())?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    // Both conversations come back.
    for talk in &conversations {
        until(talk, "by the tunnel again", |source| source == PARTNER)?;
    }
    let fresh = open(&pair, 5003)?;
    until(&fresh, "by the tunnel too", |source| source == PARTNER)?;
    for path in 0..2 {
        let rules = pair
            .uplinks
            .provider(path)
            .run("nft list table inet watch")?;
        assert!(rules.contains("counter packets 0 "), "{path}: {rules}");
    }
    Ok(())
}

/// With this fallback no redirected traffic leaves without a partner; direct ports still work.
#[test]
fn with_fallback_stop_all_waits_for_the_partner() -> Result<(), Error> {
    let more = "fallback = \"stop\"\ndirect_ports = [\"udp/5353-5354\"]\n";
    let mut pair = Pair::with(&Options::mbit(&[20, 20]), more)?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    let (talk, direct) = (open(&pair, 5000)?, open(&pair, 5353)?);
    until(&talk, "by the partner", |source| source == PARTNER)?;
    until(&direct, "directly", |source| source != PARTNER)?;
    let echo = SocketAddr::new(SERVER, 4999);
    let _echo = Echo::serve(pair.uplinks.server(), echo)?;
    pair.partner.stop();
    for _ in 0..2 {
        let answer = ask_tcp(pair.uplinks.client(), echo, b"psst");
        assert!(!answer.as_ref().is_ok_and(|it| it == b"psst"), "{answer:?}");
    }
    pair.wait_for("the tunnel to be lost", |told| !told.tunnel)?;
    let told = pair.paths()?;
    assert!(told.redirects && told.connections.direct == 0, "{told:?}");
    let begun = Instant::now();
    // Tests an old conversation and new ones. Each new one has its own port, as a starting process
    // may hold a socket a moment longer.
    for port in 5001.. {
        assert_eq!(ask(&talk)?, None);
        assert_eq!(ask(&open(&pair, port)?)?, None);
        if begun.elapsed() > 2 * SECOND {
            break;
        }
    }
    until(&direct, "directly still", |source| source != PARTNER)?;
    let anew = open(&pair, 5354)?;
    until(&anew, "directly anew", |source| source != PARTNER)?;
    pair.partner.restart(pair.uplinks.partner())?;
    until(&talk, "by the partner again", |source| source == PARTNER)?;
    Ok(())
}
