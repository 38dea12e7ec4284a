use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::*;

/// An unused address, as the device is known.
const ANY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

fn device(number: u8) -> Client {
    Client::Device([2, 0, 0, 0, 0, number])
}

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Connections of the page, and a separate bucket that checks the common limit.
struct Page {
    rate: ConnectionRate,
    level: f64,
    last: f64,
}

impl Page {
    fn new() -> Self {
        Self {
            rate: ConnectionRate::new(CONNECT_EACH, CONNECT_ALL),
            level: 200.0,
            last: 0.0,
        }
    }

    fn take(&mut self, client: Client, now: f64) -> bool {
        self.take_from(client, ANY, now)
    }

    fn take_from(&mut self, client: Client, address: IpAddr, now: f64) -> bool {
        let taken = self.rate.take(client, address, at(now));
        self.level = (self.level + (now - self.last) * 50.0).min(200.0);
        self.last = now;
        self.level -= f64::from(u8::from(taken));
        assert!(self.level > -1e-3, "more than the limit of all");
        taken
    }

    /// Lets device 0 connect 20 times, once a second, beside others that begin 10 seconds before.
    /// Each other has a rate, a first time, and seconds of work and of rest. Returns the number of
    /// the 20 that are taken.
    fn taken_beside(&mut self, others: &[(f64, f64, f64, f64)]) -> usize {
        const BEGIN: f64 = 100.0;
        let mut all: Vec<(f64, u8)> = (0..20).map(|n| (BEGIN + 10.13 + f64::from(n), 0)).collect();
        for ((rate, first, work, rest), number) in others.iter().zip(1..) {
            let times = (0..).map(|n| first + f64::from(n) / rate);
            let times = times.take_while(|time| *time < 31.0);
            let times = times.filter(|time| time % (work + rest) <= *work);
            all.extend(times.map(|time| (BEGIN + time, number)));
        }
        all.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let taken = all.into_iter().filter(|(now, number)| {
            let taken = self.take(device(*number), *now);
            *number == 0 && taken
        });
        taken.count()
    }
}

#[test]
fn one_client_by_itself_has_its_own_limit() {
    let mut page = Page::new();
    let begun = (0..80).filter(|_| page.take(device(1), 100.0)).count();
    assert_eq!(begun, 60);
    let later = (1..=600).filter(|n| page.take(device(1), 100.01 + f64::from(*n) / 10.0));
    assert_eq!(later.count(), 600);
}

/// Five clients use the limit of all up: fairness leaves none of it unused.
#[test]
fn all_of_the_common_limit_is_used() {
    let mut page = Page::new();
    let mut taken = 0;
    for step in 0..3000_u32 {
        let now = 100.0 + f64::from(step) / 50.0;
        let count = (1..=5).filter(|n| page.take(device(*n), now)).count();
        taken += if step < 1500 { 0 } else { count };
    }
    assert!((1498..=1500).contains(&taken), "{taken}");
}

#[test]
fn a_client_with_a_user_has_its_own_limit_whatever_others_do() {
    let mut page = Page::new();
    page.rate.set_user(device(0), at(0.0));
    let mut own = 0;
    for step in 0..2000_u32 {
        let now = 100.0 + f64::from(step) / 100.0;
        for number in 1..=200 {
            page.take(device(number), now);
        }
        // The separate bucket ignores these connections, as they do not count among all.
        own += usize::from(step % 10 == 0 && page.rate.take(device(0), ANY, at(now)));
    }
    assert_eq!(own, 200);
    let soon = at(120.0);
    let burst = (0..80)
        .filter(|_| page.rate.take(device(0), ANY, soon))
        .count();
    assert!((50..=60).contains(&burst), "{burst}");
    // A user without requests for too long no longer counts.
    assert!(page.rate.is_user(device(0), USED - at(1.0)));
    assert!(!page.rate.is_user(device(0), USED));
}

#[test]
fn users_are_bounded_and_the_oldest_goes() {
    let mut rate = ConnectionRate::new(CONNECT_EACH, CONNECT_ALL);
    for number in 0..=64 {
        rate.set_user(device(number), at(f64::from(number)));
        rate.set_user(device(1), at(f64::from(number)));
    }
    assert_eq!(rate.users.len(), USERS);
    let users = [0, 1, 2, 64].map(|number| rate.is_user(device(number), at(65.0)));
    assert_eq!(users, [false, true, true, true]);
}

#[test]
fn clients_are_bounded() {
    let mut rate = ConnectionRate::new(CONNECT_EACH, CONNECT_ALL);
    for number in 0_u32..20_000 {
        let [.., high, low] = number.to_be_bytes();
        let client = Client::Device([2, 0, 0, 0, high, low]);
        rate.take(client, ANY, Duration::from_millis(20) * number);
        assert!(rate.meters.len() <= MOST);
    }
}

/// The 64 addresses of a device behind another router, each connecting 5 times a second, are one
/// client; a seldom used address of that network still has its part.
#[test]
fn the_addresses_of_a_network_are_one_client() {
    let mut page = Page::new();
    let [routed, seldom] = [7, 200].map(|last| IpAddr::from([10, 79, 0, last]));
    let network = Client::network(routed);
    assert_eq!(network, Client::network(seldom));
    let (mut of_network, mut of_device, mut of_seldom) = (0, 0, 0);
    for step in 0..300_u32 {
        let now = 100.0 + f64::from(step) / 5.0;
        for last in 0..64 {
            let from = IpAddr::from([10, 79, 0, last]);
            of_network += u32::from(page.take_from(network, from, now));
        }
        of_device += u32::from(step % 5 == 2 && page.take(device(1), now));
        // At first, all addresses are alike.
        let comes = step >= 50 && step % 50 == 2;
        of_seldom += u32::from(comes && page.take_from(network, seldom, now));
    }
    assert_eq!((of_device, of_seldom), (60, 5));
    assert!((590..=660).contains(&of_network), "{of_network}");
}

/// A user who is logged in at an address of a network has a limit apart from the network's.
#[test]
fn a_user_behind_another_router_has_a_limit_apart() {
    let mut page = Page::new();
    let [user, other] = [1, 2].map(|last| IpAddr::from([10, 79, 0, last]));
    let network = Client::network(user);
    page.rate.set_user(network.part(user), at(0.0));
    let mut taken = [0; 2];
    for step in 0..1000_u32 {
        let now = at(100.0 + f64::from(step) / 10.0);
        for _ in 0..10 {
            taken[1] += u32::from(page.rate.take(network, other, now));
        }
        taken[0] += u32::from(page.rate.take(network, user, now));
    }
    assert_eq!(taken[0], 1000);
    assert!(taken[1] < 1060, "{}", taken[1]);
}

/// Others that wait until the limit of all is full, and then use it up at once.
#[test]
fn clients_that_pause_give_way() {
    for number in [4, 10, 20, 40] {
        for (work, rest) in [(0.5, 3.5), (1.0, 4.0), (2.0, 5.0), (0.1, 1.0)] {
            let others = vec![(100.0, 0.0, work, rest); number];
            let taken = Page::new().taken_beside(&others);
            assert!(taken >= 19, "{number} {work} {rest}: {taken}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// A device that connects once a second is answered, whatever up to 40 others do. No number of
    /// other clients exceeds the common limit.
    #[test]
    fn clients_that_connect_most_give_way(
        others in proptest::collection::vec((1.0..100.0, 0.0..1.0, Just(1.0), Just(0.0)), 4..200),
    ) {
        let taken = Page::new().taken_beside(&others);
        prop_assert!(others.len() > 40 || taken >= 19, "{} others: {taken}", others.len());
    }

    /// Others that connect all at once leave less to the device, as nothing waits in a queue.
    #[test]
    fn clients_in_step_give_way(number in 4..=40_usize, rate in 1.0..100.0) {
        let others = vec![(rate, 0.0, 1.0, 0.0); number];
        let taken = Page::new().taken_beside(&others);
        prop_assert!(taken >= 17, "{number} others at {rate}: {taken}");
    }
}
