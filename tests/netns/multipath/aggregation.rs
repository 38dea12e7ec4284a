//! A single connection of an unmodified client gets the sum of the paths.

use std::net::IpAddr;

use lab::Error;
use lab::counters::Counters;
use lab::goodput::{Demand, Goodput, Transport};
use lab::relay::Impairment;
use lab::uplinks::{Options, Path, SERVER, SERVER6};
use weir_tests::partner::Pair;

use crate::multipath::{MBIT, SECOND, at, ms};

fn sums(options: &Options, server: IpAddr, range: std::ops::Range<f64>) -> Result<(), Error> {
    let pair = Pair::build(options)?;
    let uplinks = &pair.uplinks;
    for demand in [
        Demand::up(Transport::Tcp, at(server)),
        Demand::down(Transport::Tcp, at(server)),
    ] {
        let (counters, before) = (Counters::of(uplinks.router())?, pair.paths()?);
        let series = Goodput::measure(uplinks.client(), uplinks.server(), &demand, 5 * SECOND)?;
        let rate = series.rate(SECOND..5 * SECOND) / MBIT;
        assert!(range.contains(&rate), "{demand:?}: {rate} Mbit/s");
        // The kernel's counters show data on both subflows; weir's own figures come from its
        // sockets.
        let change = Counters::of(uplinks.router())?.since(&counters);
        assert_eq!(change.get("MPTcpExtMPCapableSYNACKRX")?, 1, "{change:?}");
        let joined = i64::try_from(options.paths.len() - 1).expect("few");
        assert_eq!(change.get("MPTcpExtMPJoinSynAckRx")?, joined, "{change:?}");
        let after = pair.paths()?;
        for path in 0..uplinks.paths() {
            let device = uplinks.device(path);
            let octets = |told: &answers::Paths| -> u64 {
                let paths = told.paths.iter().filter(|path| path.device == device);
                paths.map(|path| path.sent + path.received).sum()
            };
            let carried = octets(&after) - octets(&before);
            assert!(
                carried > 5_000_000,
                "{device}: {carried} bytes of {demand:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn of_three_paths() -> Result<(), Error> {
    sums(&Options::mbit(&[20, 20, 20]), SERVER, 48.0..60.0)
}

#[test]
fn of_two_paths_by_ipv6() -> Result<(), Error> {
    let options = Options {
        ipv6: true,
        ..Options::mbit(&[20, 20])
    };
    sums(&options, SERVER6, 32.0..40.0)
}

/// A slow, distant path together with a fast one: never worse than the fast path alone.
#[test]
fn of_unequal_paths_is_no_less_than_the_best() -> Result<(), Error> {
    let options = Options {
        paths: vec![
            Path::mbit(40),
            Path::mbit(4).with_relay(Impairment::delay(ms(50))),
        ],
        ipv6: false,
    };
    let pair = Pair::build(&options)?;
    let uplinks = &pair.uplinks;
    for demand in [
        Demand::up(Transport::Tcp, at(SERVER)),
        Demand::down(Transport::Tcp, at(SERVER)),
    ] {
        let series = Goodput::measure(uplinks.client(), uplinks.server(), &demand, 8 * SECOND)?;
        let rate = series.rate(2 * SECOND..8 * SECOND) / MBIT;
        // The fast path alone carries 38.2 Mbit/s of payload.
        assert!(
            rate > 34.0,
            "{demand:?}: {rate} Mbit/s: {:?}",
            series.slots()
        );
    }
    Ok(())
}
