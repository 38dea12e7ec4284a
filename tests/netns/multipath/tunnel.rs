//! All but TCP: by the tunnel, over all paths.

use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::counters::Octets;
use lab::goodput::{Demand, Goodput, Transport};
use lab::namespace::wait_until;
use lab::transfer::{Datagrams, Echo};
use lab::uplinks::{Cut, Options, PARTNER, SERVER};
use lab::{Error, Uplinks};
use weir_tests::partner::{Pair, Partner};
use weir_tests::{LIMIT, Weir};

use crate::multipath::{MBIT, SECOND, at, ms};

/// Both ends, with the tunnel at work.
fn tunnelled(options: &Options) -> Result<Pair, Error> {
    let pair = Pair::build(options)?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    Ok(pair)
}

#[test]
fn several_streams_of_datagrams_use_all_paths() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    let octets = || -> Result<Vec<u64>, Error> {
        let of = |path| Octets::of(uplinks.router(), &uplinks.device(path));
        (0..2)
            .map(|path| of(path).map(|octets| octets.sent + octets.received))
            .collect()
    };
    for down in [false, true] {
        let before = octets()?;
        let streams = (0..6).map(|number| {
            let to = SocketAddr::new(SERVER, 5100 + number);
            let demand = match down {
                false => Demand::up(Transport::Udp, to),
                true => Demand::down(Transport::Udp, to),
            };
            let demand = demand.with_rate(6_000_000);
            Goodput::start(uplinks.client(), uplinks.server(), &demand)
        });
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        sleep(10 * SECOND);
        let mut rate = 0.0;
        for stream in streams {
            let series = stream.stop()?;
            // What the paths carry has to be found out first.
            rate += series.rate(6 * SECOND..9 * SECOND) / MBIT;
        }
        // How much is the bench's to say (`bench multipath`): a processor that is taken away for a
        // moment looks like a full path.
        println!("down: {down}, {rate} Mbit/s");
        assert!(rate < 37.0, "down: {down}, {rate} Mbit/s");
        let carried = octets()?;
        let carried: Vec<_> = carried
            .iter()
            .zip(&before)
            .map(|(now, then)| now - then)
            .collect();
        assert!(
            carried.iter().all(|octets| *octets > 5_000_000),
            "{carried:?}"
        );
    }
    Ok(())
}

/// A partner with a second address, from which the kernel would send: the router asked the first, and takes
/// answers from no other.
#[test]
fn a_partner_with_several_addresses_answers_from_the_one_that_was_asked() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    uplinks
        .partner()
        .ip("address add 203.0.113.11/24 dev eth0\n\
         route replace default via 203.0.113.1 src 203.0.113.11")?;
    // Whoever is not answered is given up within this time.
    sleep(3 * SECOND);
    let octets = || -> Result<Vec<u64>, Error> {
        let of = |path| Octets::of(uplinks.router(), &uplinks.device(path));
        (0..2).map(|path| of(path).map(|it| it.sent)).collect()
    };
    let before = octets()?;
    let streams = (0..6).map(|number| {
        let to = SocketAddr::new(SERVER, 5100 + number);
        let demand = Demand::up(Transport::Udp, to).with_rate(5_000_000);
        Goodput::start(uplinks.client(), uplinks.server(), &demand)
    });
    let streams = streams.collect::<Result<Vec<_>, _>>()?;
    sleep(8 * SECOND);
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

/// What is not TCP does not pass by one of the paths: which, is told, with what was sent and heard.
#[test]
fn a_path_whose_tunnel_is_dead_is_named() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let own = pair.uplinks.address(1);
    let answers = |wanted: bool| {
        pair.wait_for("both to be known", |told| {
            let answers = told.paths.iter().map(|path| match path.address == own {
                true => path.answers == Some(wanted),
                false => path.answers == Some(true),
            });
            answers.filter(|so| *so).count() == 2
        })
    };
    answers(true)?;
    let provider = pair.uplinks.provider(1);
    provider.nft(
        "table inet deaf {\n chain c {\n type filter hook forward priority 0\n udp sport 9349 \
            drop\n }\n }\n",
    )?;
    answers(false)?;
    let asked = std::process::Command::new(weir_tests::binary())
        .args(["paths", "--socket"])
        .arg(pair.weir.socket())
        .output();
    let asked = asked.map_err(Error::system("run weir paths"))?;
    let told = String::from_utf8_lossy(&asked.stdout);
    let line = told.lines().find(|line| line.contains(&own.to_string()));
    let line = line.unwrap_or_default();
    assert!(line.contains("no answer in the tunnel: sent "), "{told}");
    assert_eq!(told.matches("no answer").count(), 1, "{told}");
    provider.nft("delete table inet deaf")?;
    answers(true)
}

/// A partner's word opens no hole in the LAN: this one gives the router the client's address.
#[test]
fn a_partner_gives_a_router_no_address_of_its_own_networks() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[20]))?;
    let partner = Partner::start(uplinks.partner(), &["--tunnel", "192.168.77.0/24"])?;
    let line = partner.pair(&PARTNER.to_string())?;
    let config = format!("[multipath]\npartner = \"{line}\"\n");
    let weir = Weir::start(uplinks.router(), &config, &["--only", "multipath", "-v"])?;
    wait_until("it to be told", LIMIT, || {
        Ok(weir.log().contains("a network of the router's own"))
    })?;
    let told = uplinks.router().ip("address show")?;
    assert!(!told.contains("192.168.77.2"), "{told}");
    let _echo = Echo::serve(uplinks.server(), SocketAddr::new(SERVER, 5001))?;
    let talk = Datagrams::open(uplinks.client(), SocketAddr::new(SERVER, 5001))?;
    wait_until("the client to be answered", LIMIT, || {
        talk.ask(b"anybody", ms(500))
    })
}

/// One stream that outgrows a path gets no less than that path. The sum it gets as well in most
/// runs, not in all (docs/limits.md).
#[test]
fn one_stream_of_datagrams_gets_no_less_than_a_path() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    for demand in [
        Demand::up(Transport::Udp, at(SERVER)),
        Demand::down(Transport::Udp, at(SERVER)),
    ] {
        let demand = demand.with_rate(36_000_000);
        // What a busy machine takes away, it takes from some runs: the best of four counts.
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

/// A path that is silent, without its link going down, is left within half a second, by TCP as
/// well, and used again a second after it is back.
#[test]
fn a_black_hole_is_left_and_found_again() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    let _echo = Echo::serve(uplinks.server(), SocketAddr::new(SERVER, 5001))?;
    let talk = Datagrams::open(uplinks.client(), SocketAddr::new(SERVER, 5001))?;
    let demand = Demand::down(Transport::Tcp, at(SERVER));
    let goodput = Goodput::start(uplinks.client(), uplinks.server(), &demand)?;
    sleep(2 * SECOND);
    for path in 0..2 {
        let cut = goodput.now();
        uplinks.cut(path, Cut::Hole)?;
        // Someone who asks all the time, and waits a little for each answer.
        let (begun, mut answered, mut silence) = (Instant::now(), Instant::now(), ms(0));
        while begun.elapsed() < 7 * SECOND {
            if talk.ask(b"anybody", ms(50))? {
                silence = silence.max(answered.elapsed());
                answered = Instant::now();
            }
            sleep(ms(10));
        }
        let healed = goodput.now();
        uplinks.heal(path)?;
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
            "{rate} Mbit/s once path {path} is back at {healed:?}: {slots:?}"
        );
    }
    goodput.stop()?;
    Ok(())
}

#[test]
fn pings_names_and_more_go_by_it() -> Result<(), Error> {
    let pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    let sent = || Octets::of(uplinks.router(), "weir-tunnel").map(|octets| octets.sent);
    let before = sent()?;
    let told = uplinks
        .client()
        .run(&format!("ping -c 3 -i 0.2 -W 5 {SERVER}"))?;
    assert!(told.contains("3 received"), "{told}");
    // Larger than the tunnel takes: the client is told, and asks with smaller ones, or in
    // fragments.
    let told = uplinks
        .client()
        .run(&format!("ping -c 3 -i 0.2 -W 5 -s 1472 -M dont {SERVER}"))?;
    assert!(told.contains("3 received"), "{told}");
    let octets = sent()? - before;
    assert!(octets > 3 * 1500, "{octets} bytes by the tunnel");
    // What began directly goes on directly.
    let _echo = Echo::serve(uplinks.server(), SocketAddr::new(SERVER, 5001))?;
    let talk = Datagrams::open(uplinks.client(), SocketAddr::new(SERVER, 5001))?;
    assert!(talk.ask(b"hello", LIMIT)?);
    Ok(())
}

/// Without a partner there is no tunnel, and conversations begin directly; those of the tunnel end.
#[test]
fn without_the_partner_datagrams_go_directly() -> Result<(), Error> {
    let mut pair = tunnelled(&Options::mbit(&[20, 20]))?;
    let echo = SocketAddr::new(SERVER, 5001);
    let _echo = Echo::serve(pair.uplinks.server(), echo)?;
    let talk = Datagrams::open(pair.uplinks.client(), echo)?;
    assert!(talk.ask(b"by the tunnel", LIMIT)?);
    pair.partner.stop();
    let gone = Instant::now();
    let ask = || -> Result<bool, Error> {
        Datagrams::open(pair.uplinks.client(), echo)?.ask(b"directly", ms(200))
    };
    while !ask()? {
        assert!(gone.elapsed() < LIMIT, "no answer");
    }
    let silence = gone.elapsed();
    assert!(silence < Duration::from_secs(6), "{silence:?}");
    pair.partner.restart(pair.uplinks.partner())?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    assert!(Datagrams::open(pair.uplinks.client(), echo)?.ask(b"again", LIMIT)?);
    Ok(())
}
