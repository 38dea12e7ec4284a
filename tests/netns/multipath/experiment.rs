//! Repeats the experiment of weir's predecessor: two bridges of 20 Mbit/s, a client without
//! multipath, a cable that is pulled and put back.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use lab::Error;
use lab::counters::Counters;
use lab::experiment::{Experiment, ExperimentResult};
use lab::goodput::{Demand, Transport};
use lab::uplinks::{Cut, Options, SERVER};
use weir_tests::partner::Pair;

use crate::multipath::{MBIT, PORT, SECOND, at};

/// Returns the phases without the first second and without two seconds after each change.
fn phases(course: &ExperimentResult) -> [Range<Duration>; 3] {
    [
        SECOND..course.lost.start,
        course.lost.start + 2 * SECOND..course.lost.end,
        course.lost.end + 2 * SECOND..course.end,
    ]
}

/// Longest allowed silence of a flow: tenths of a second are usual, but the machine may be busy.
const SILENCE: Duration = Duration::from_secs(2);

/// Expects at least these rates (Mbit/s) with two paths, one, and two; at most the wires' rate.
fn forty_twenty_forty(times: [u32; 3], demands: &[Demand], least: [f64; 3]) -> Result<(), Error> {
    let pair = Pair::build(&Options::mbit(&[20, 20]))?;
    pair.wait_for("the tunnel", |told| told.tunnel)?;
    let uplinks = &pair.uplinks;
    let counters = Counters::of(uplinks.router())?;
    let experiment = Experiment {
        path: 1,
        cut: Cut::Link,
        times: times.map(|seconds| seconds * SECOND),
    };
    let course = experiment.run(uplinks, demands)?;
    let phases = phases(&course);
    let rates = phases.clone().map(|time| course.rate(time) / MBIT);
    let silent = course.silence(SECOND..course.end);
    let shares = phases.map(|time| {
        let rate = |path: usize| course.paths[path].rate(time.clone()) / MBIT;
        [rate(0), rate(1)]
    });
    eprintln!("{rates:.1?} Mbit/s, silence {silent:?}, of the paths {shares:.1?} Mbit/s");
    for ((rate, least), most) in rates.iter().zip(least).zip([40.0, 20.5, 40.0]) {
        assert!((least..most).contains(rate), "{rates:?}: {course:?}");
    }
    assert!(silent < SILENCE, "{silent:?} of silence: {course:?}");
    // Both paths carried data before and after the cut, one path during the cut.
    for (phase, carried) in shares.iter().enumerate() {
        assert!(carried[0] > 5.0, "{shares:?}");
        assert_eq!(carried[1] > 5.0, phase != 1, "{shares:?}");
    }
    if demands[0].transport == Transport::Tcp {
        let change = Counters::of(uplinks.router())?.since(&counters);
        let joined = change.get("MPTcpExtMPJoinSynAckRx")?;
        assert_eq!(change.get("MPTcpExtMPCapableSYNACKRX")?, 1, "{change:?}");
        assert!(joined >= 2, "joined before and after: {change:?}");
    }
    assert_eq!(pair.paths()?.connections.direct, 0);
    Ok(())
}

#[test]
fn of_a_download() -> Result<(), Error> {
    let demand = Demand::down(Transport::Tcp, at(SERVER));
    forty_twenty_forty([5, 5, 6], &[demand], [32.0, 15.0, 32.0])
}

/// Together the streams are a little below the sum. The tunnel must first measure the capacity of
/// the paths, and again after each change.
#[test]
fn of_streams_of_datagrams() -> Result<(), Error> {
    let stream = |number| {
        let to = SocketAddr::new(SERVER, PORT + number);
        Demand::down(Transport::Udp, to).with_rate(6_000_000)
    };
    let demands: Vec<_> = (0..6).map(stream).collect();
    forty_twenty_forty([10, 6, 10], &demands, [24.0, 13.0, 24.0])
}
