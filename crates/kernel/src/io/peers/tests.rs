//! State of a peer after any single failure.

use super::*;
use crate::io::Device;
use crate::io::virtual_kernel::{ACCESS_POINT, FAMILY, Fault, MASTER, VirtualKernel, begin, with};
use crate::route::attach::Tagged;

const OWN: Mac = [2, 0, 0, 0, 0, 0];
const PEER: Mac = [2, 0, 0, 0, 1, 0];
const FAULTS: [Fault; 7] = [
    Fault::Refused(Errno::EOPNOTSUPP),
    Fault::Refused(Errno::EBUSY),
    Fault::Refused(Errno::ENOMEM),
    Fault::Refused(Errno::EINVAL),
    Fault::Silent,
    Fault::Cut,
    Fault::Nonsense,
];

/// Sockets need a loop that they would wait in.
fn in_a_loop(test: impl FnOnce()) {
    let mut loops = tokio::runtime::Builder::new_current_thread();
    let made = loops.enable_io().build().expect("a loop");
    let _guard = made.enter();
    test();
}

fn peers() -> Peers {
    Peers {
        family: FAMILY,
        requests: RequestSocket::open(Netlink::Generic, "a made-up kernel").expect("a socket"),
        left: Vec::new(),
    }
}

fn device() -> NewDevice<'static> {
    NewDevice::Peer {
        link: ACCESS_POINT,
        mac: OWN,
        name: "peer-1",
    }
}

fn station(link: u32) -> PeerStation {
    PeerStation {
        access_point: ACCESS_POINT,
        link,
        mac: PEER,
    }
}

fn join(peers: &mut Peers, link: u32) -> Result<(), RequestError> {
    peers.join(
        station(link),
        1,
        &Abilities::default(),
        Some(&PairwiseKey([7; 16])),
    )
}

fn tagged(below: u32) -> Tagged<'static> {
    Tagged {
        below,
        name: "mesh-1",
        mac: [2, 0, 0, 0, 9, 9],
        id: 29,
        master: MASTER,
    }
}

/// A step, and the objects that must not exist after its failure.
type Step = fn(&mut Peers) -> Result<(), RequestError>;
type Left = fn(&VirtualKernel) -> bool;

const STEPS: [(&str, Step, Left); 4] = [
    (
        "make",
        |peers| peers.make(device()).map(drop),
        |kernel| kernel.index("peer-1").is_some(),
    ),
    ("up", |_| Device::open(below())?.set_up(true), |_| false),
    (
        "join",
        |peers| join(peers, below()),
        |kernel| !kernel.stations.is_empty(),
    ),
    (
        "put",
        |_| Device::make(tagged(below())),
        |kernel| kernel.index("mesh-1").is_some(),
    ),
];

/// The index of the peer's device.
fn below() -> u32 {
    with(|kernel| kernel.index("peer-1")).expect("it was made")
}

fn safe() {
    with(|kernel| {
        for station in kernel.stations.values() {
            assert!(station.key || !station.authorized, "it speaks in clear");
        }
    });
}

#[test]
fn whatever_goes_wrong_nothing_is_left_and_the_next_attempt_succeeds() {
    in_a_loop(|| {
        for (number, (step, run, left)) in STEPS.into_iter().enumerate() {
            let before = |fault: &dyn Fn(usize) -> Option<(usize, Fault, bool)>| {
                begin(None);
                let mut peers = peers();
                for (_, run, _) in &STEPS[..number] {
                    run(&mut peers).expect("what is before it");
                }
                let first = with(|kernel| kernel.calls.len());
                with(|kernel| kernel.fault = fault(first));
                (peers, first)
            };
            let (mut kernel, first) = before(&|_| None);
            run(&mut kernel).expect("nothing is wrong");
            let calls = with(|kernel| kernel.calls.len()) - first;
            assert!(calls > 0, "{step}");
            for at in 0..calls {
                for fault in FAULTS {
                    let (mut kernel, _) = before(&|first| Some((first + at, fault, false)));
                    let outcome = run(&mut kernel);
                    safe();
                    with(|kernel| kernel.fault = None);
                    if let Err(error) = outcome {
                        let told = error.to_string();
                        assert!(told.contains('('), "{step}, call {at}, {fault:?}: {told}");
                        assert!(!with(|kernel| left(kernel)), "{step}, call {at}, {fault:?}");
                        let again = run(&mut kernel);
                        assert!(again.is_ok(), "{step}, call {at}, {fault:?}: {again:?}");
                    }
                    safe();
                }
            }
        }
    });
}

/// A driver refuses all requests from some call on: nothing can be undone then, but no station
/// speaks in clear, and the first refusal is reported.
#[test]
fn a_driver_that_goes_on_refusing_lets_nobody_speak_in_clear() {
    in_a_loop(|| {
        for fault in FAULTS {
            for at in 0..7 {
                begin(None);
                let mut peers = peers();
                let link = peers.make(device()).expect("a device");
                let first = with(|kernel| kernel.calls.len());
                with(|kernel| kernel.fault = Some((first + at, fault, true)));
                let outcome = join(&mut peers, link);
                safe();
                assert!(outcome.is_err() || at > 5, "call {at}, {fault:?}");
            }
        }
    });
}

/// Requests about a peer that is there.
const REQUESTS: [(&str, Step); 5] = [
    ("(NEW_KEY)", |peers| {
        peers.rekey(station(below()), &PairwiseKey([8; 16]))
    }),
    ("(GET_STATION)", |peers| {
        peers.station(station(below())).map(drop)
    }),
    ("(FRAME)", |peers| peers.send(ACCESS_POINT, &[0xd0, 0])),
    ("(DEL_STATION)", |peers| peers.part(station(below()))),
    ("(DEL_INTERFACE)", |peers| peers.remove(below())),
];

#[test]
fn each_request_is_named_with_what_was_wrong_and_can_be_made_again() {
    in_a_loop(|| {
        for (name, request) in REQUESTS {
            for fault in FAULTS {
                begin(None);
                let mut peers = peers();
                let link = peers.make(device()).expect("a device");
                join(&mut peers, link).expect("a peer");
                let first = with(|kernel| kernel.calls.len());
                with(|kernel| kernel.fault = Some((first, fault, false)));
                let outcome = request(&mut peers);
                let Err(error) = outcome else {
                    // The answer came before the cut.
                    assert_eq!((name, fault), ("(GET_STATION)", Fault::Cut));
                    continue;
                };
                let told = error.to_string();
                assert!(told.contains(name), "{told}");
                if let Fault::Refused(errno) = fault {
                    assert!(told.contains(&errno.to_string()), "{told}");
                    assert!(request(&mut peers).is_ok(), "{name}");
                }
            }
        }
    });
}

/// The access point is queried once a second, and all peers end with it.
#[test]
fn one_answer_that_fails_does_not_end_an_access_point() {
    in_a_loop(|| {
        for fault in FAULTS {
            begin(Some((0, fault, false)));
            let found = peers().access_point(ACCESS_POINT);
            assert!(matches!(found, Ok(Some(_))), "{fault:?}: {found:?}");
            begin(Some((0, fault, true)));
            let found = peers().access_point(ACCESS_POINT);
            // The answer comes before the cut.
            assert!(
                found.is_err() || fault == Fault::Cut,
                "{fault:?}: {found:?}"
            );
        }
        begin(None);
        assert!(matches!(peers().access_point(99), Ok(None)), "it is gone");
    });
}

#[test]
fn beacons_that_are_refused_are_told_and_asked_for_again() {
    in_a_loop(|| {
        for fault in FAULTS {
            for (at, name) in ["nl80211", "(REGISTER_BEACONS)"].into_iter().enumerate() {
                begin(Some((at, fault, false)));
                match Beacons::open(0) {
                    // The answer comes before the cut.
                    Ok(found) => assert_eq!((found.is_some(), fault, at), (true, Fault::Cut, 0)),
                    Err(error) => assert!(error.to_string().contains(name), "{error}"),
                }
                assert!(matches!(Beacons::open(0), Ok(Some(_))), "{fault:?}");
            }
        }
    });
}

/// A peer in clear needs an explicit request: else every peer has its key first (`safe`).
#[test]
fn a_peer_in_clear_is_authorised_and_has_no_key() {
    in_a_loop(|| {
        begin(None);
        let mut peers = peers();
        let link = peers.make(device()).expect("a device");
        let joined = peers.join(station(link), 1, &Abilities::default(), None);
        joined.expect("a peer");
        let all: Vec<_> = with(|kernel| {
            let stations = kernel.stations.values();
            stations.map(|it| (it.authorized, it.key)).collect()
        });
        assert_eq!(all, [(true, false)]);
    });
}

/// The device would block the same peer on its return.
#[test]
fn a_device_that_could_not_be_removed_is_removed_later() {
    in_a_loop(|| {
        for fault in FAULTS {
            begin(None);
            let mut peers = peers();
            let link = peers.make(device()).expect("a device");
            let first = with(|kernel| kernel.calls.len());
            with(|kernel| kernel.fault = Some((first, fault, false)));
            assert!(peers.remove(link).is_err(), "{fault:?}");
            let again = peers.make(device());
            assert!(again.is_ok(), "{fault:?}: {again:?}");
        }
    });
}

/// A foreign device is not taken for one that weir made.
#[test]
fn a_name_in_use_is_told_and_its_device_stays() {
    in_a_loop(|| {
        begin(None);
        let mut peers = peers();
        let theirs = peers.make(device()).expect("the first");
        for fault in [None, Some(Fault::Nonsense), Some(Fault::Silent)] {
            let first = with(|kernel| kernel.calls.len());
            with(|kernel| kernel.fault = fault.map(|fault| (first, fault, false)));
            let error = peers.make(device()).expect_err("it is in use").to_string();
            assert!(
                error.contains("(NEW_INTERFACE)") || fault.is_some(),
                "{error}"
            );
            assert_eq!(with(|kernel| kernel.index("peer-1")), Some(theirs));
        }
        let error = Device::make(tagged(theirs)).and_then(|()| Device::make(tagged(theirs)));
        assert!(error.is_err());
        assert!(with(|kernel| kernel.index("mesh-1")).is_some());
    });
}
