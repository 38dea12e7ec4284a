//! A middlebox that strips MPTCP options.

use lab::Error;
use lab::counters::Counters;
use lab::goodput::{Demand, Goodput, Transport};
use lab::relay::Impairment;
use lab::uplinks::{Options, Path, SERVER};
use weir_tests::partner::Pair;

use crate::multipath::{MBIT, SECOND, at};

#[test]
fn is_told_and_connections_begin_elsewhere() -> Result<(), Error> {
    let strip = Impairment {
        strip: true,
        ..Impairment::default()
    };
    let options = Options {
        paths: vec![Path::mbit(20).with_relay(strip), Path::mbit(20)],
        ipv6: false,
    };
    let pair = Pair::build(&options)?;
    let uplinks = &pair.uplinks;
    // weir's own first connection went by the best path, and lost MPTCP there.
    pair.wait_for("that it is told", |told| {
        told.paths
            .iter()
            .all(|path| path.strips == (path.device == "wan0"))
    })?;
    assert!(pair.weir.log().contains("path strips MPTCP"));
    // Later connections begin on the other path, where MPTCP passes.
    let before = Counters::of(uplinks.router())?;
    let demand = Demand::down(Transport::Tcp, at(SERVER));
    let series = Goodput::measure(uplinks.client(), uplinks.server(), &demand, 4 * SECOND)?;
    let rate = series.rate(SECOND..4 * SECOND) / MBIT;
    assert!((16.0..20.5).contains(&rate), "{rate} Mbit/s");
    let change = Counters::of(uplinks.router())?.since(&before);
    assert_eq!(change.get("MPTcpExtMPCapableSYNACKRX")?, 1, "{change:?}");
    Ok(())
}

/// If all paths strip options, connections use plain TCP at the rate of one path.
#[test]
fn everywhere_leaves_plain_tcp() -> Result<(), Error> {
    let strip = Impairment {
        strip: true,
        ..Impairment::default()
    };
    let options = Options {
        paths: vec![Path::mbit(20).with_relay(strip); 2],
        ipv6: false,
    };
    let pair = Pair::build(&options)?;
    let uplinks = &pair.uplinks;
    let demand = Demand::down(Transport::Tcp, at(SERVER));
    let goodput = Goodput::start(uplinks.client(), uplinks.server(), &demand)?;
    pair.wait_for("plain TCP to be told", |told| {
        told.paths.iter().any(|path| path.fell_back > 0)
    })?;
    let from = goodput.now();
    std::thread::sleep(3 * SECOND);
    let until = goodput.now();
    let rate = goodput.stop()?.rate(from..until) / MBIT;
    assert!((16.0..20.5).contains(&rate), "{rate} Mbit/s");
    Ok(())
}
