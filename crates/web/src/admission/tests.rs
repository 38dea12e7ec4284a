use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

const MOST: usize = 16;
const SHARE: usize = 3;
const DEVICE: Client = Client::Device([2, 0, 0, 0, 0, 1]);
const OTHER: Client = Client::Device([2, 0, 0, 0, 0, 2]);

fn four(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

fn six(last: u8) -> IpAddr {
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into()).into()
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_client_that_has_its_share_displaces_itself() {
    let mut admission = Admission::new(MOST, SHARE);
    for n in 0..5 {
        let place = admission.enter(DEVICE, six(n), at(n.into()));
        let number = u64::from(n);
        let dismissed = number.checked_sub(SHARE as u64);
        assert_eq!(place, Some(AdmittedConnection { number, dismissed }));
    }
    assert_eq!(admission.len(), SHARE);
}

/// An IPv6 network of 64 bits is one client; an IPv4 address in IPv6 is the IPv4 address.
#[test]
fn clients_without_a_device_are_networks() {
    let mut admission = Admission::new(MOST, SHARE);
    for n in 0..10 {
        assert!(admission.enter(six(n).into(), six(n), at(1)).is_some());
    }
    assert_eq!(admission.len(), SHARE);
    let mapped = IpAddr::V6(Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped());
    for address in [four(1), mapped, four(1), mapped, four(2)] {
        assert!(admission.enter(address.into(), address, at(1)).is_some());
    }
    assert_eq!(admission.len(), 2 * SHARE + 1);
}

#[test]
fn an_address_of_a_network_keeps_no_other_one_out() {
    let mut admission = Admission::new(MOST, SHARE);
    let first = admission.enter(six(1).into(), six(1), at(0));
    for _ in 0..10 {
        admission.enter(six(2).into(), six(2), at(1));
    }
    let first = first.map(|place| place.number);
    assert!(first.is_some_and(|number| admission.connections.contains_key(&number)));
    let all = admission.connections.values();
    assert_eq!(all.filter(|one| one.address == six(2)).count(), SHARE - 1);
}

#[test]
fn answers_that_have_just_begun_are_not_interrupted_by_the_same_client() {
    let mut admission = Admission::new(MOST, SHARE);
    for number in 0..SHARE as u64 {
        assert!(admission.enter(OTHER, four(1), at(9)).is_some());
        admission.answering(number, at(10));
    }
    assert_eq!(admission.enter(OTHER, four(1), at(10)), None);
    let late = admission.enter(OTHER, four(1), at(11));
    assert_eq!(late.and_then(|place| place.dismissed), Some(0));
}

/// Only the end of an answer, and the end of a request, begin another phase.
#[test]
fn waiting_connections_go_before_answered_ones() {
    let mut admission = Admission::new(MOST, 100);
    for number in 0..12 {
        assert!(admission.enter(DEVICE, four(1), at(0)).is_some());
        admission.answering(number, at(1));
    }
    admission.waiting(7, at(5));
    admission.waiting(3, at(4));
    admission.waiting(3, at(6));
    let gone = [(); 3].map(|()| {
        let place = admission.enter(OTHER, four(2), at(7));
        place.and_then(|place| place.dismissed)
    });
    assert_eq!(gone, [Some(3), Some(7), Some(0)]);
}

#[test]
fn a_quarter_is_reserved_for_this_machine() {
    let mut admission = Admission::new(MOST, SHARE);
    for n in 0..=255 {
        assert!(admission.enter(four(n).into(), four(n), at(0)).is_some());
    }
    assert_eq!(admission.len(), 12);
    let own = IpAddr::from([127, 0, 0, 1]);
    let mut enter = || admission.enter(own.into(), own, at(0)).unwrap();
    let gone = [(); 5].map(|()| enter().dismissed);
    assert_eq!(gone, [None, None, None, None, Some(256)]);
}

/// Actions of a client.
#[derive(Clone, Debug)]
enum Act {
    Enter(u8),
    Ask(usize),
    Rest(usize),
    Leave(usize),
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..64_u8).prop_map(Act::Enter),
        2 => any::<usize>().prop_map(Act::Ask),
        1 => any::<usize>().prop_map(Act::Rest),
        1 => any::<usize>().prop_map(Act::Leave),
        1 => (0..3_u64).prop_map(Act::Wait),
    ]
}

/// A client with 64 addresses, and its connections.
struct Many {
    of: fn(u8) -> (Client, IpAddr),
    numbers: Vec<u64>,
    now: Duration,
}

impl Many {
    fn with(of: fn(u8) -> (Client, IpAddr)) -> Self {
        let (numbers, now) = (Vec::new(), at(0));
        Self { of, numbers, now }
    }

    /// Applies an action. Returns the connection of another client that was displaced.
    fn act(&mut self, act: &Act, admission: &mut Admission) -> Option<u64> {
        let chosen = |n: &usize| self.numbers.get(n % self.numbers.len().max(1)).copied();
        match act {
            Act::Enter(n) => {
                let (client, address) = (self.of)(*n);
                let place = admission.enter(client, address, self.now)?;
                let others = place.dismissed.filter(|gone| !self.numbers.contains(gone));
                self.lose(place.dismissed);
                self.numbers.push(place.number);
                return others;
            }
            Act::Ask(n) => admission.answering(chosen(n)?, self.now),
            Act::Rest(n) => admission.waiting(chosen(n)?, self.now),
            Act::Leave(n) => {
                let gone = chosen(n)?;
                admission.leave(gone);
                self.lose(Some(gone));
            }
            Act::Wait(seconds) => self.now += at(*seconds),
        }
        None
    }

    fn lose(&mut self, gone: Option<u64>) {
        self.numbers.retain(|number| Some(*number) != gone);
    }
}

proptest! {
    /// Another client is admitted, and keeps its connections, whatever a device with 64 addresses
    /// does.
    #[test]
    fn a_device_keeps_no_client_out(
        before in proptest::collection::vec(act(), 0..200),
        after in proptest::collection::vec(act(), 0..200),
        share in 1..100_usize,
        wanted in 1..4_usize,
    ) {
        let mut admission = Admission::new(MOST, share);
        let mut device = Many::with(|n| (DEVICE, six(n)));
        for act in &before {
            device.act(act, &mut admission);
        }
        let mut others = Vec::new();
        for _ in 0..wanted.min(share) {
            let place = admission.enter(OTHER, four(1), device.now);
            let place = place.expect("there is room for another client");
            prop_assert!(!place.dismissed.is_some_and(|gone| others.contains(&gone)));
            device.lose(place.dismissed);
            others.push(place.number);
        }
        for act in &after {
            prop_assert_eq!(device.act(act, &mut admission), None);
            prop_assert!(admission.len() <= MOST - MOST / 4);
            prop_assert!(device.numbers.len() <= share);
        }
    }

    /// Without hardware addresses, 64 addresses are 64 clients; a newcomer is admitted anyway.
    #[test]
    fn addresses_keep_no_client_out(before in proptest::collection::vec(act(), 0..300)) {
        let mut admission = Admission::new(MOST, SHARE);
        let mut many = Many::with(|n| (four(n).into(), four(n)));
        for act in &before {
            many.act(act, &mut admission);
        }
        prop_assert!(admission.enter(four(200).into(), four(200), many.now).is_some());
        let held = admission.count(|_| true, |one| one.address);
        prop_assert!(held.values().all(|held| *held <= SHARE));
    }
}
