//! Traffic other than TCP uses the tunnel over all paths.

use std::net::SocketAddr;
use std::thread::sleep;
use std::time::Instant;

use lab::counters::Bytes;
use lab::goodput::{Demand, Goodput, Transport};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::uplinks::{Cut, Options, PARTNER, SERVER};
use lab::{Error, Uplinks};
use weir_tests::partner::{Pair, Partner};
use weir_tests::{LIMIT, Weir};

use crate::multipath::{MBIT, SECOND, at, ms};

/// Builds both ends and waits for the tunnel.
pub fn tunnelled(options: &Options) -> Result<Pair, Error> {
    let pair = Pair::build(options)?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    Ok(pair)
}

/// The kernel would send from the partner's second address. The router asked the first, and accepts
/// answers from no other address.
#[test]
fn a_partner_with_several_addresses_answers_from_the_one_that_was_asked() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    uplinks
        .partner()
        .ip("address add 203.0.113.11/24 dev eth0\n\
         route replace default via 203.0.113.1 src 203.0.113.11")?;
    // The router gives up an unanswered partner within this time.
    sleep(3 * SECOND);
    let octets = || -> Result<Vec<u64>, Error> {
        let of = |path| Bytes::of(uplinks.router(), &uplinks.device(path));
        (0..2).map(|path| of(path).map(|it| it.sent)).collect()
    };
    let before = octets()?;
    let streams = (0..6).map(|number| {
        let to = SocketAddr::new(SERVER, 5100 + number);
        let demand = Demand::up(Transport::Udp, to).with_rate(5_000_000);
        Goodput::start(uplinks.client(), uplinks.server(), &demand)
    });
    let streams = streams.collect::<Result<Vec<_>, _>>()?;
    sleep(5 * SECOND);
    for stream in streams {
        stream.stop()?;
    }
    let carried: Vec<u64> = octets()?
        .iter()
        .zip(&before)
        .map(|(now, then)| now - then)
        .collect();
    assert!(
        carried.iter().all(|octets| *octets > 3_000_000),
        "{carried:?}"
    );
    assert!(pair.paths()?.tunnel);
    Ok(())
}

/// A partner cannot open a hole in the LAN: this one assigns the client's address to the router.
#[test]
fn a_partner_gives_a_router_no_address_of_its_own_networks() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[20]))?;
    let partner = Partner::start(uplinks.partner(), &["--tunnel", "192.168.77.0/24"])?;
    let line = partner.pair(&PARTNER.to_string())?;
    let config = format!("[multipath]\npartner = \"{line}\"\n");
    let weir = Weir::start(uplinks.router(), &config, &["--only", "multipath", "-v"])?;
    wait_until("it to be told", LIMIT, || {
        Ok(weir.log().contains("the router's own network"))
    })?;
    let told = uplinks.router().ip("address show")?;
    assert!(!told.contains("192.168.77.2"), "{told}");
    let _echo = Echo::serve(uplinks.server(), SocketAddr::new(SERVER, 5001))?;
    let talk = Datagrams::open(uplinks.client(), SocketAddr::new(SERVER, 5001))?;
    wait_until("the client to be answered", LIMIT, || {
        talk.ask(b"anybody", ms(500))
    })
}

/// A stream that outgrows a path gets at least the rate of that path. In most runs, not in all, it
/// gets the sum (docs/limits.md).
#[test]
fn one_stream_of_datagrams_gets_no_less_than_a_path() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    for demand in [
        Demand::up(Transport::Udp, at(SERVER)),
        Demand::down(Transport::Udp, at(SERVER)),
    ] {
        let demand = demand.with_rate(36_000_000);
        // A busy machine slows down some runs: the best of four counts.
        let mut rates = Vec::new();
        while rates.len() < 4 && !rates.last().is_some_and(|rate| *rate >= 16.0) {
            let series = Goodput::measure(uplinks.client(), uplinks.server(), &demand, 5 * SECOND)?;
            rates.push(series.rate(2 * SECOND..5 * SECOND) / MBIT);
        }
        let right = rates.last().is_some_and(|rate| (16.0..40.0).contains(rate));
        assert!(right, "{demand:?}: {rates:?} Mbit/s");
    }
    Ok(())
}

/// If a path is silent while its link stays up, TCP and the tunnel leave it within half a second.
/// They use it again a second after its return. New connections begin by this first path;
/// `programs::calls` loses the other.
#[test]
fn a_black_hole_is_left_and_found_again() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    let _echo = Echo::serve(uplinks.server(), SocketAddr::new(SERVER, 5001))?;
    let talk = Datagrams::open(uplinks.client(), SocketAddr::new(SERVER, 5001))?;
    let demand = Demand::down(Transport::Tcp, at(SERVER));
    let goodput = Goodput::start(uplinks.client(), uplinks.server(), &demand)?;
    sleep(2 * SECOND);
    let cut = goodput.now();
    uplinks.cut(0, Cut::Hole)?;
    // The client asks all the time, and waits a little for each answer.
    let (begun, mut answered, mut silence) = (Instant::now(), Instant::now(), ms(0));
    while begun.elapsed() < 5 * SECOND {
        if talk.ask(b"anybody", ms(50))? {
            silence = silence.max(answered.elapsed());
            answered = Instant::now();
        }
        sleep(ms(10));
    }
    let healed = goodput.now();
    uplinks.heal(0)?;
    assert!(silence < SECOND, "nobody answered for {silence:?} by UDP");
    let series = goodput.series();
    let longest = series.silence(cut..healed);
    assert!(longest < 2 * SECOND, "no TCP came for {longest:?}");
    sleep(3 * SECOND);
    let rate = goodput
        .series()
        .rate(healed + 2 * SECOND..healed + 3 * SECOND)
        / MBIT;
    let slots = goodput.series();
    let slots = slots.slots();
    assert!(
        rate > 28.0,
        "{rate} Mbit/s once it is back at {healed:?}: {slots:?}"
    );
    goodput.stop()?;
    Ok(())
}
