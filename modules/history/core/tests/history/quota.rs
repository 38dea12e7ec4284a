//! Levels of devices at the ends of periods, over restarts, and when the clock is set; and the text
//! of the rules.

use crate::common;
use std::collections::BTreeMap;
use std::net::IpAddr;

use common::*;
use proptest::prelude::*;
use weir_history_core::nft::{self, Cut};
use weir_history_core::quota::{Action, Change, Level, Quota, Quotas, Rules};
use weir_history_core::{Store, Unit};

fn quota(unit: Unit, limit: u64, action: Action) -> Quota {
    Quota {
        unit,
        limit,
        warn: 80,
        action,
    }
}

fn for_all(quota: Quota) -> Rules {
    Rules {
        default: Some(quota),
        ..Rules::default()
    }
}

fn judge(
    quotas: &mut Quotas,
    store: &mut Store,
    now: i64,
) -> Vec<(u8, Level, Option<&'static str>)> {
    let usage = store
        .usage(now)
        .expect("an answer")
        .expect("a time")
        .clone();
    quotas
        .judge(&usage)
        .into_iter()
        .map(|Change { mac, from, to, .. }| (mac[5], from, to.map(|state| state.as_str())))
        .collect()
}

/// Received by a device; `traffic` sends a tenth of that too.
fn use_up(store: &mut Store, now: i64, device: u32, octets: u64) {
    store.add(now, Some(mac(device)), "web", &traffic(octets));
}

#[test]
fn a_device_is_warned_then_cut_and_free_again_tomorrow() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    let mut quotas = Quotas::new(for_all(quota(Unit::Day, 1100, Action::Cut)));
    use_up(&mut store, NOON, 1, 790);
    use_up(&mut store, NOON, 2, 10);
    assert_eq!(judge(&mut quotas, &mut store, NOON), []);
    use_up(&mut store, NOON + 1, 1, 10);
    assert_eq!(
        judge(&mut quotas, &mut store, NOON + 1),
        [(1, Level::Within, Some("warned"))]
    );
    assert_eq!(judge(&mut quotas, &mut store, NOON + 2), [], "told once");
    use_up(&mut store, NOON + 3, 1, 190);
    assert_eq!(judge(&mut quotas, &mut store, NOON + 3), []);
    use_up(&mut store, NOON + 3, 1, 10);
    assert_eq!(
        judge(&mut quotas, &mut store, NOON + 3),
        [(1, Level::Warned, Some("cut"))]
    );
    assert_eq!(quotas.cut().into_iter().collect::<Vec<_>>(), [mac(1)]);
    let state = *quotas.state(mac(1)).expect("a state");
    assert_eq!((state.used, state.quota.limit), (1100, 1100));
    // Midnight in Berlin is 23:00 UTC.
    assert_eq!(state.resets, NOON + 11 * HOUR);
    // A quota may warn alone.
    let mut warns = Quotas::new(for_all(quota(Unit::Day, 1100, Action::Warn)));
    assert_eq!(
        judge(&mut warns, &mut store, NOON + 3),
        [(1, Level::Within, Some("exceeded"))]
    );
    assert!(warns.cut().is_empty());
    assert_eq!(judge(&mut quotas, &mut store, state.resets - 1), []);
    assert_eq!(
        judge(&mut quotas, &mut store, state.resets),
        [(1, Level::Exceeded, Some("within"))]
    );
    assert!(quotas.cut().is_empty());
    // The clock is set back into the day: it is used up, still.
    assert_eq!(
        judge(&mut quotas, &mut store, NOON + 60),
        [(1, Level::Within, Some("cut"))]
    );
}

#[test]
fn a_restart_changes_nothing_before_and_after_the_clock_is_set() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    use_up(&mut store, NOON, 1, 2000);
    store.close(NOON).expect("a last flush");
    let mut store = open(&directory.file(), 20);
    let mut quotas = Quotas::new(for_all(quota(Unit::Month, 2200, Action::Cut)));
    assert_eq!(
        judge(&mut quotas, &mut store, 20),
        [(1, Level::Within, Some("cut"))]
    );
    assert_eq!(judge(&mut quotas, &mut store, NOON + DAY), []);
    // After a restart in the next month, the device is free.
    let mut store = open(&directory.file(), 20);
    let mut quotas = Quotas::new(for_all(quota(Unit::Month, 2200, Action::Cut)));
    assert_eq!(judge(&mut quotas, &mut store, 20).len(), 1);
    assert_eq!(
        judge(&mut quotas, &mut store, NOON + 20 * DAY),
        [(1, Level::Exceeded, None)]
    );
}

#[test]
fn a_month_of_days_ends_when_the_month_does() {
    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    let mut quotas = Quotas::new(for_all(quota(Unit::Month, 1_000_000, Action::Warn)));
    let calendar = calendar();
    let (mut now, mut times) = (NOON, Vec::new());
    while now < NOON + 100 * DAY {
        use_up(&mut store, now, 1, 10_000);
        store.flush(now).expect("a flush");
        judge(&mut quotas, &mut store, now);
        times.push(now);
        let span = calendar.span(Unit::Month, now);
        let times = times.iter().filter(|at| span.holds(**at)).count();
        let state = quotas.state(mac(1)).expect("a state");
        assert_eq!(state.used, times as u64 * 11_000, "{now}");
        assert_eq!(state.resets, span.end);
        assert_eq!(state.as_str() == "exceeded", state.used >= 1_000_000);
        now += 6 * HOUR;
    }
}

#[test]
fn the_most_particular_rule_counts() {
    let (small, large) = (
        quota(Unit::Day, 10, Action::Cut),
        quota(Unit::Week, 1000, Action::Warn),
    );
    let rules = Rules {
        devices: BTreeMap::from([(mac(1), Some(large)), (mac(2), None)]),
        default: Some(small),
    };
    assert_eq!(rules.quota(mac(1)), Some(large));
    assert_eq!(rules.quota(mac(2)), None);
    assert_eq!(rules.quota(mac(3)), Some(small));
    assert!(!rules.is_empty() && Rules::default().is_empty());

    let directory = Directory::new();
    let mut store = open(&directory.file(), NOON);
    for device in 1..=3 {
        use_up(&mut store, NOON, device, 100);
    }
    let mut quotas = Quotas::new(rules);
    let usage = store
        .usage(NOON)
        .expect("an answer")
        .expect("a time")
        .clone();
    quotas.judge(&usage);
    assert_eq!(quotas.cut().into_iter().collect::<Vec<_>>(), [mac(3)]);
    // Without rules all devices are released, and the change is reported.
    quotas.set_rules(Rules::default());
    let changes = quotas.judge(&usage);
    assert_eq!(changes.len(), 1);
    assert!(changes[0].was_cut && changes[0].to.is_none());
    assert!(quotas.cut().is_empty());
}

#[test]
fn quotas_that_make_no_sense_are_refused() {
    let good = quota(Unit::Day, 1, Action::Warn);
    good.check().expect("a quota");
    for bad in [
        Quota {
            unit: Unit::Hour,
            ..good
        },
        Quota { limit: 0, ..good },
        Quota { warn: 0, ..good },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn more_use_is_never_a_better_state(limit in 1u64.., warn in 1u8.., a: u64, b: u64) {
        let quota = Quota { unit: Unit::Day, limit, warn, action: Action::Warn };
        let (less, more) = (a.min(b), a.max(b));
        prop_assert!(quota.level(less) <= quota.level(more));
        prop_assert_eq!(quota.level(limit), Level::Exceeded);
        prop_assert_eq!(quota.level(limit - 1) == Level::Exceeded, false);
    }
}

const CREATED: &str = "table inet weir_quota
delete table inet weir_quota
table inet weir_quota {
\tset cut {
\t\ttype ether_addr
\t\telements = { 02:00:00:00:00:01, 02:00:00:00:00:02 }
\t}
\tset cut4 {
\t\ttype ipv4_addr
\t\telements = { 192.0.2.7 }
\t}
\tset cut6 {
\t\ttype ipv6_addr
\t}
\tchain forward {
\t\ttype filter hook forward priority filter - 5; policy accept;
\t\tether saddr @cut drop
\t\tip daddr @cut4 drop
\t\tip6 daddr @cut6 drop
\t}
}
";

const UPDATED: &str = "flush set inet weir_quota cut
add element inet weir_quota cut { 02:00:00:00:00:01 }
flush set inet weir_quota cut4
flush set inet weir_quota cut6
add element inet weir_quota cut6 { 2001:db8::7, fe80::7 }
";

fn addresses(list: &[&str]) -> Vec<IpAddr> {
    list.iter()
        .map(|text| text.parse().expect("an address"))
        .collect()
}

#[test]
fn the_rules_are_these() {
    // Addresses that belong to no single device are left out: they would hit other devices.
    let odd = addresses(&[
        "192.0.2.7",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "127.0.0.1",
        "::",
        "::1",
        "ff02::1",
    ]);
    assert_eq!(nft::create(&Cut::new([mac(2), mac(1)], odd)), CREATED);
    let cut = Cut::new([mac(1)], addresses(&["2001:db8::7", "fe80::7"]));
    assert_eq!(nft::update(&cut), UPDATED);
    assert_eq!(
        nft::remove(),
        "table inet weir_quota\ndelete table inet weir_quota\n"
    );
    assert!(Cut::new([], []).is_empty() && !cut.is_empty());
}
