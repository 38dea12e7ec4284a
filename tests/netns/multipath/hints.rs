//! Path settings of the user (metered, backup, never), at the start and while connections are open.

use std::net::IpAddr;
use std::thread::sleep;

use answers::PathUse;
use lab::Error;
use lab::counters::Bytes;
use lab::goodput::{Demand, Goodput, Transport};
use lab::uplinks::{Cut, Options, SERVER};
use nix::sys::signal::Signal;
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::{MBIT, SECOND, at, ms};

/// Bytes that probes and name lookups may use of an idle path in a few seconds: a tenth of a second
/// of its 20 Mbit/s.
const NOTHING: u64 = 250_000;
/// Number of windows of two seconds in which the other path's bytes are counted; a busy machine may
/// slow one window down.
const WINDOWS: usize = 3;

fn hint(path: usize, text: &str) -> String {
    format!("[multipath.paths.wan{path}]\n{text}\n")
}

/// Returns the bytes that a path carried both ways.
fn octets(pair: &Pair, path: usize) -> Result<u64, Error> {
    let octets = Bytes::of(pair.uplinks.router(), &pair.uplinks.device(path))?;
    Ok(octets.sent + octets.received)
}

fn is_in_use(told: &answers::Paths, device: &str) -> bool {
    let mut paths = told.paths.iter();
    paths.any(|path| path.device == device && path.in_use)
}

/// Waits until a path carries nothing for half a second.
fn falls_silent(pair: &Pair, path: usize) -> Result<(), Error> {
    lab::namespace::wait_until("a path to be left", LIMIT, || {
        let before = octets(pair, path)?;
        sleep(SECOND / 2);
        Ok(octets(pair, path)? - before < NOTHING / 5)
    })
}

/// Runs one conversation while the first path is cut and comes back; checks its rate by each path.
fn takes_over(pair: &Pair, demand: &Demand, least: f64) -> Result<(), Error> {
    let uplinks = &pair.uplinks;
    let before = octets(pair, 1)?;
    let goodput = Goodput::start(uplinks.client(), uplinks.server(), demand)?;
    sleep(3 * SECOND);
    let waits = octets(pair, 1)? - before;
    assert!(waits < NOTHING, "{demand:?}: {waits} bytes in reserve");

    uplinks.cut(0, Cut::Hole)?;
    pair.wait_for("the reserve", |told| is_in_use(told, "wan1"))?;
    let begin = goodput.now();
    sleep(4 * SECOND);
    let rate = goodput
        .series()
        .rate(begin + 2 * SECOND..begin + 4 * SECOND);
    assert!(
        rate > least,
        "{demand:?}: {rate} bit/s by the reserve: {:?}",
        goodput.series().slots()
    );

    uplinks.heal(0)?;
    pair.wait_for("the first path", |told| is_in_use(told, "wan0"))?;
    falls_silent(pair, 1)?;
    let (begin, before) = (goodput.now(), octets(pair, 1)?);
    sleep(2 * SECOND);
    let rate = goodput.series().rate(begin..begin + 2 * SECOND);
    let waits = octets(pair, 1)? - before;
    assert!(waits < NOTHING, "{demand:?}: {waits} bytes in reserve");
    assert!(rate > least, "{demand:?}: {rate} bit/s by the first again");
    // The connection stayed open all the time.
    goodput.stop().map(drop)
}

/// TCP checks the router's choice of path, the tunnel the partner's choice.
#[test]
fn a_backup_is_left_alone_until_it_is_needed() -> Result<(), Error> {
    let pair = Pair::with(&Options::mbit(&[20, 20]), &hint(1, "use = \"backup\""))?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    let demand = Demand::up(Transport::Tcp, at(SERVER));
    takes_over(&pair, &demand, 10.0 * MBIT)?;
    let demand = Demand::down(Transport::Udp, at(SERVER)).with_rate(2_000_000);
    takes_over(&pair, &demand, 1.0 * MBIT)
}

#[test]
fn what_costs_is_used_before_the_last_resort() -> Result<(), Error> {
    let words = [(1, "backup"), (2, "metered"), (7, "never")];
    let more = words.map(|(path, word)| hint(path, &format!("use = \"{word}\"")));
    let pair = Pair::with(&Options::mbit(&[20, 20, 20]), &more.concat())?;
    assert_eq!(pair.paths()?.unmatched, ["wan7"]);
    let uplinks = &pair.uplinks;
    let demand = Demand::down(Transport::Tcp, at(SERVER));
    let goodput = Goodput::start(uplinks.client(), uplinks.server(), &demand)?;
    sleep(2 * SECOND);
    let (mut lost, mut before) = (None, [0; 3]);
    for used in [0, 2, 1] {
        if let Some(path) = lost.replace(used) {
            uplinks.cut(path, Cut::Link)?;
            pair.wait_for("the next", |told| is_in_use(told, &format!("wan{used}")))?;
            sleep(2 * SECOND);
        }
        for (path, octets_before) in before.iter_mut().enumerate() {
            *octets_before = octets(&pair, path)?;
        }
        sleep(2 * SECOND);
        for (path, before) in before.iter().enumerate() {
            let carried = octets(&pair, path)? - before;
            let range = match path == used {
                true => 3_000_000..u64::MAX,
                false => 0..NOTHING,
            };
            assert!(range.contains(&carried), "{path} of {used}: {carried}");
        }
    }
    goodput.stop().map(drop)
}

/// Reloads the configuration with more lines at its end.
fn reload(pair: &Pair, original: &str, more: &str) -> Result<(), Error> {
    std::fs::write(pair.weir.config_file(), format!("{original}{more}"))
        .map_err(Error::system("write a configuration"))?;
    pair.weir.signal(Signal::SIGHUP)
}

#[test]
fn another_word_is_heeded_at_once_and_breaks_nothing() -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[20, 20]))?;
    let uplinks = &pair.uplinks;
    let original = std::fs::read_to_string(pair.weir.config_file())
        .map_err(Error::system("read a configuration"))?;
    let demand = Demand::down(Transport::Tcp, at(SERVER));
    let goodput = Goodput::start(uplinks.client(), uplinks.server(), &demand)?;
    let both = || -> Result<(), Error> {
        lab::namespace::wait_until("both paths to carry", LIMIT, || {
            let begin = goodput.now();
            sleep(2 * SECOND);
            Ok(goodput.series().rate(begin..begin + 2 * SECOND) > 30.0 * MBIT)
        })
    };
    let told = |used: PathUse, in_use: bool| {
        pair.wait_for("the word to be heeded", |told| {
            let mut paths = told.paths.iter().filter(|path| path.device == "wan1");
            paths.any(|path| path.used == used && path.in_use == in_use)
        })
    };
    let known = |what: &str, address: IpAddr| -> Result<bool, Error> {
        Ok(uplinks.router().run(what)?.contains(&address.to_string()))
    };
    both()?;
    for (word, used) in [("backup", PathUse::Backup), ("never", PathUse::Never)] {
        reload(&pair, &original, &hint(1, &format!("use = \"{word}\"")))?;
        told(used, false)?;
        falls_silent(&pair, 1)?;
        let mut rate = 0.0;
        for _ in 0..WINDOWS {
            let (begin, before) = (goodput.now(), octets(&pair, 1)?);
            sleep(2 * SECOND);
            rate = goodput.series().rate(begin..begin + 2 * SECOND) / MBIT;
            let waits = octets(&pair, 1)? - before;
            assert!(waits < NOTHING, "{word}: {waits} bytes");
            if rate >= 16.0 {
                break;
            }
        }
        assert!((16.0..20.5).contains(&rate), "{word}: {rate} Mbit/s");
        for what in ["ip mptcp endpoint", "ip rule"] {
            let is = known(what, uplinks.address(1))?;
            assert_eq!(is, word != "never", "{word}: {what}");
        }
        reload(&pair, &original, "")?;
        told(PathUse::Always, true)?;
        both()?;
    }
    // After several changes in a row the last one counts.
    for word in ["never", "metered", "never", "always", "never", "backup"] {
        reload(&pair, &original, &hint(1, &format!("use = \"{word}\"")))?;
        sleep(ms(3));
    }
    told(PathUse::Backup, false)?;
    // The report does not change while a change is applied.
    pair.wait_for("the one connection is still carried", |told| {
        (told.connections.all, told.connections.direct) == (1, 0)
    })?;
    goodput.stop().map(drop)
}
