//! Bytes on a distant path delay all bytes of a fast path, so that both carry less than the fast
//! path alone. The goodput monitor detects this and makes TCP stop using the distant path. The
//! tests fail if the fast path gets no processor time: seen at loads of 6 to 20 on two processors.

use lab::Error;
use lab::counters::Bytes;
use lab::goodput::{Demand, Goodput, Transport};
use lab::namespace::wait_until;
use lab::relay::Impairment;
use lab::uplinks::{Options, Path, SERVER};
use weir_tests::LIMIT;
use weir_tests::partner::Pair;

use crate::multipath::{MBIT, SECOND, at, ms};

/// Both ends use CUBIC, as in the measurements (docs/how-to/multipath.md).
fn pair(paths: Vec<Path>) -> Result<Pair, Error> {
    let pair = Pair::build(&Options { paths, ipv6: false })?;
    for node in pair.uplinks.lab().nodes() {
        // Some namespaces offer no choice of congestion control.
        let _ = node.sysctl("net.ipv4.tcp_congestion_control", "cubic");
    }
    Ok(pair)
}

fn rests(told: &answers::Paths) -> bool {
    told.paths.iter().any(|path| path.rests)
}

/// A single option in a single segment asks the partner to pause a path. The network may lose this
/// option again and again; here it does.
#[test]
fn a_path_that_slows_the_others_down_rests() -> Result<(), Error> {
    let hushed = Impairment {
        hush: true,
        ..Impairment::delay(ms(250))
    };
    let pair = pair(vec![Path::mbit(40), Path::mbit(4).with_relay(hushed)])?;
    let uplinks = &pair.uplinks;
    let down = Demand::down(Transport::Tcp, at(SERVER));
    let goodput = Goodput::start(uplinks.client(), uplinks.server(), &down)?;
    pair.wait_for("the far path to rest", rests)?;
    // The relay drops the first option, and both halves of the second: to resume, and to pause.
    wait_until("the word to be lost twice", LIMIT, || {
        Ok(uplinks.relay(1)?.counts().hushed >= 3)
    })?;
    uplinks.treat(1, Impairment::delay(ms(250)))?;
    pair.wait_for("the trial to be over", |_| {
        pair.weir.log().contains("it slowed down the others")
    })?;
    let (begin, far) = (goodput.now(), uplinks.device(1));
    let told = pair.paths()?;
    for path in &told.paths {
        assert_eq!(path.rests, path.device == far, "{told:?}");
    }
    let before = Bytes::of(uplinks.router(), &far)?.received;
    std::thread::sleep(4 * SECOND);
    let octets = Bytes::of(uplinks.router(), &far)?.received - before;
    let series = goodput.stop()?;
    let rate = series.rate(begin..begin + 4 * SECOND) / MBIT;
    // The fast path alone carries 37.5 Mbit/s; with the distant path it was 18 to 22.
    assert!(rate > 34.0, "{rate} Mbit/s: {:?}", series.slots());
    // A second at full rate would be twice as much; the tunnel's probes use the path too.
    assert!(octets < 250_000, "{octets} bytes by the path that rests");

    // The other direction and new connections avoid the path too, from their beginning on.
    let up = Demand::up(Transport::Tcp, at(SERVER));
    let series = Goodput::measure(uplinks.client(), uplinks.server(), &up, 6 * SECOND)?;
    let rate = series.rate(SECOND..6 * SECOND) / MBIT;
    assert!(rate > 34.0, "{rate} Mbit/s: {:?}", series.slots());
    Ok(())
}

#[test]
fn a_path_that_helps_is_left_alone() -> Result<(), Error> {
    let far = Path::mbit(20).with_relay(Impairment::delay(ms(30)));
    let pair = pair(vec![Path::mbit(20), far])?;
    let uplinks = &pair.uplinks;
    let down = Demand::down(Transport::Tcp, at(SERVER));
    let series = Goodput::measure(uplinks.client(), uplinks.server(), &down, 12 * SECOND)?;
    let rate = series.rate(4 * SECOND..12 * SECOND) / MBIT;
    assert!(rate > 28.0, "{rate} Mbit/s: {:?}", series.slots());
    let log = pair.weir.log();
    assert!(!log.contains("slowed down the others"), "{log}");
    Ok(())
}
