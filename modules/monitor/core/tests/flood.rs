//! A flood of short conversations: memory has a bound, and those that go on are remembered.

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kernel::{ConversationKey, Endpoints, Mac};
use weir_monitor_core::{
    BYTES_PER_CONVERSATION, Count, Counts, FLOOD_LEVEL, Limits, Monitor, Reading,
};

const MAC: Mac = [2, 0, 0x5e, 0x10, 0, 1];
const MOST: usize = 10_000;

/// Counts allocated memory as the allocator rounds it: 16 bytes at a time, and 8 for itself.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// Lock that runs one test at a time: the tests measure the memory of the process.
static ALONE: Mutex<()> = Mutex::new(());

fn taken(octets: usize) -> usize {
    (octets + 8).next_multiple_of(16).max(32)
}

#[allow(unsafe_code, reason = "an allocator is")]
// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(taken(layout.size()), Ordering::Relaxed);
        PEAK.fetch_max(held + taken(layout.size()), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(taken(layout.size()), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) };
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn key(number: u32) -> ConversationKey {
    let [a, b, c, d] = number.to_be_bytes();
    ConversationKey {
        port: 3,
        vlan: 0,
        protocol: 17,
        station: IpAddr::from([10, a, b, c]),
        station_port: 1024 + u16::from(d),
        remote: Ipv4Addr::new(198, 51, 100, 1).into(),
        remote_port: 9,
    }
}

fn count(packets: u64) -> Count {
    Count {
        packets,
        bytes: packets * 60,
    }
}

/// Reads packets from the station and to it, the first of them so many milliseconds before the
/// last.
fn read(
    monitor: &mut Monitor,
    key: ConversationKey,
    packets: [u64; 2],
    lasted: u64,
    now: u64,
) -> bool {
    monitor.add_reading(&reading(key, packets, lasted), 0, now)
}

/// The record of them.
fn reading(key: ConversationKey, packets: [u64; 2], lasted: u64) -> Reading {
    Reading {
        key,
        mac: MAC,
        delta: Counts {
            sent: count(packets[0]),
            received: count(packets[1]),
        },
        outside: true,
        link_header: 14,
        tcp_flags: 0,
        tos: 0,
        icmp: (0, 0),
        rtt: None,
        age: Duration::from_millis(lasted),
        idle: Duration::ZERO,
    }
}

fn monitor(told: bool) -> Monitor {
    let limits = Limits {
        conversations: MOST,
        ..Limits::default()
    };
    let mut monitor = Monitor::new(limits);
    monitor.set_port(3, "lan0", false);
    if told {
        monitor.set_report_interval(Some(60_000));
    }
    monitor
}

#[test]
fn memory_has_the_bound_that_is_said() {
    let _alone = ALONE.lock();
    for told in [false, true] {
        let before = HELD.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let mut monitor = monitor(told);
        let mut sent = Counts::default();
        for second in 0..20_u32 {
            let now = u64::from(second) * 1000;
            for number in 0..MOST as u32 {
                // A quarter of the conversations continues, each taking the place of another.
                let packets = if number % 4 == 0 { [3, 0] } else { [1, 0] };
                read(
                    &mut monitor,
                    key(second * MOST as u32 + number),
                    packets,
                    0,
                    now,
                );
                sent.sent += count(packets[0]);
            }
            monitor.pair(|_| None, &[], now);
            monitor.advance(now);
            drop(monitor.take_reports());
        }
        // Some reported conversations were removed in the last second.
        assert!(monitor.occupancy()[0] >= MOST - MOST / 4);
        let peak = PEAK.load(Ordering::Relaxed) - before;
        let most = MOST * BYTES_PER_CONVERSATION + (256 << 10);
        println!("{peak} of {most} bytes, {BYTES_PER_CONVERSATION} for each; told: {told}");
        assert!(peak < most, "{peak} of {most}: {told}");
    }
}

#[test]
fn those_that_go_on_take_the_place_of_short_ones() {
    let _alone = ALONE.lock();
    let mut monitor = monitor(true);
    let mut sum = Count::default();
    let mut packets_of = |monitor: &mut Monitor, number, packets: [u64; 2], lasted, now| {
        sum += count(packets[0] + packets[1]);
        read(monitor, key(number), packets, lasted, now);
        monitor.conversation(&key(number)).is_some()
    };
    // Two active conversations, then a flood without room for it.
    assert!(packets_of(&mut monitor, 1, [3, 3], 0, 0));
    assert!(packets_of(&mut monitor, 2, [9, 0], 0, 0));
    let mut known = 0;
    for number in 0..3 * MOST as u32 {
        known += u32::from(packets_of(&mut monitor, 1_000 + number, [1, 0], 0, 1));
    }
    assert_eq!(known as usize, MOST - 2);
    // An answer, several packets, or one later than the other: each is enough.
    for (number, packets, lasted) in [(11, [1, 1], 0), (12, [3, 0], 0), (13, [1, 0], 40)] {
        assert!(
            packets_of(&mut monitor, number, packets, lasted, 2_000),
            "{number}"
        );
    }
    for number in [1, 2] {
        assert!(
            monitor.conversation(&key(number)).is_some(),
            "{number} lives"
        );
    }
    assert_eq!(monitor.occupancy()[0], MOST);
    // The oldest of the flood went for them, and none that had more, silent or not.
    let went: Vec<u32> = (1_000..1_005)
        .filter(|n| monitor.conversation(&key(*n)).is_none())
        .collect();
    assert_eq!(went, [1_000, 1_001, 1_002]);
    // Reported and rejected traffic add up to the total.
    while monitor.report_rest(3) {}
    let told = monitor.take_reports();
    let told = told.iter().fold(Count::default(), |mut sum, told| {
        sum += told.delta.sum();
        sum
    });
    let mut all = monitor.overflow();
    all += told;
    assert_eq!(all, sum);
}

/// A protocol without ports: of several stations that share the outer half, one had little traffic.
#[test]
fn what_had_many_packets_outside_stays() {
    let _alone = ALONE.lock();
    let mut monitor = monitor(false);
    monitor.set_port(4, "wan0", true);
    let ends = |station: [u8; 4], far: [u8; 4]| Endpoints {
        protocol: 47,
        station: station.into(),
        station_port: 0,
        remote: far.into(),
        remote_port: 0,
    };
    let inside = ends([192, 168, 1, 2], [198, 51, 100, 1]);
    let outside = ends([198, 51, 100, 1], [203, 0, 113, 1]);
    let (lan, wan) = (inside.at((3, 0)), outside.at((4, 0)));
    read(&mut monitor, lan, [1, 0], 0, 0);
    read(&mut monitor, wan, [50, 50], 0, 0);
    monitor.pair(
        |comes| (*comes == inside).then(|| outside.reversed()),
        &[],
        0,
    );
    for number in 0..MOST as u32 {
        read(&mut monitor, key(number), [1, 0], 0, 1);
    }
    assert!(read(&mut monitor, key(1 << 20), [3, 0], 0, 1));
    assert!(monitor.conversation(&lan).is_none() && monitor.conversation(&key(0)).is_some());
    assert!(monitor.conversation(&wan).is_some());
}

/// Records of one that had to go are given back, and do not bring it back.
#[test]
fn who_had_to_go_and_is_silent_stays_away() {
    let _alone = ALONE.lock();
    let mut monitor = monitor(false);
    for number in 0..MOST as u32 {
        read(&mut monitor, key(number), [1, 0], 0, 0);
    }
    read(&mut monitor, key(1 << 20), [3, 0], 0, 0);
    assert!(monitor.conversation(&key(0)).is_none());
    read(&mut monitor, key(0), [0, 0], 0, 1);
    assert!(monitor.conversation(&key(0)).is_none() && monitor.conversation(&key(1)).is_some());
}

/// A full table is empty again soon after the flood, and not half a minute later; those that live
/// are there.
#[test]
fn a_flood_is_forgotten_soon() {
    let _alone = ALONE.lock();
    let mut monitor = monitor(false);
    read(&mut monitor, key(1 << 20), [20, 20], 0, 0);
    for number in 0..MOST as u32 {
        read(&mut monitor, key(number), [1, 0], 0, 0);
    }
    monitor.advance(1_000);
    assert_eq!(monitor.occupancy()[0], MOST);
    // The longer conversation keeps its usual timeout.
    monitor.advance(20_000);
    assert!(monitor.conversation(&key(1 << 20)).is_some());
    assert_eq!(monitor.occupancy()[0], 1);
    // Lasting conversations are removed soon, too, if they fill the table.
    for number in 0..MOST as u32 {
        read(&mut monitor, key(number), [3, 0], 0, 30_000);
    }
    monitor.advance(36_000);
    monitor.advance(37_000);
    assert_eq!(monitor.occupancy()[0], 0);
}

/// A flood of conversations of several packets also fills the table: silent ones are removed, but
/// none with much traffic.
#[test]
fn newcomers_find_a_place_in_a_flood_of_longer_ones() {
    let _alone = ALONE.lock();
    let mut monitor = monitor(false);
    read(&mut monitor, key(1 << 20), [90, 0], 0, 0);
    for number in 0..MOST as u32 {
        read(&mut monitor, key(number), [4, 0], 0, 0);
    }
    assert!(
        monitor.conversation(&key(MOST as u32 - 2)).is_some(),
        "it is full"
    );
    // All conversations are active: none can be removed.
    let newcomer = key(1 << 21);
    read(&mut monitor, newcomer, [3, 3], 0, 500);
    assert!(monitor.conversation(&newcomer).is_none());
    // The next second there is a place, also for half of such a flood; those that go on
    // stay.
    read(&mut monitor, newcomer, [3, 3], 500, 1_000);
    assert!(monitor.conversation(&newcomer).is_some());
    for second in 2..6 {
        for number in 0..MOST as u32 / 2 {
            let number = second * MOST as u32 + number;
            read(
                &mut monitor,
                key(number),
                [4, 0],
                0,
                u64::from(second) * 1_000,
            );
        }
        read(
            &mut monitor,
            newcomer,
            [3, 3],
            500,
            u64::from(second) * 1_000,
        );
    }
    assert!(monitor.conversation(&newcomer).is_some(), "it goes on");
    assert!(monitor.conversation(&key(1 << 20)).is_some(), "it had much");
    assert_eq!(monitor.occupancy()[0], MOST);
}

/// While a flood fills the records, those of one or two packets go a tenth of a second after the
/// last, remembered or not; those of more stay.
#[test]
fn records_of_a_flood_go_at_once() {
    let _alone = ALONE.lock();
    let mut monitor = monitor(false);
    // Memory is full: short ones, and one of four packets.
    for number in 1..MOST as u32 {
        read(&mut monitor, key(number), [1, 0], 0, 0);
    }
    read(&mut monitor, key(0), [2, 2], 0, 0);
    let mut wanted = |number, pressure| {
        let silent = Reading {
            delta: Counts::default(),
            idle: Duration::from_millis(150),
            ..reading(key(number), [0, 0], 150)
        };
        monitor.add_reading(&silent, pressure, 150)
    };
    let (remembered, crowded) = (1, MOST as u32 + 1);
    for number in [remembered, crowded] {
        assert!(wanted(number, FLOOD_LEVEL - 1), "{number}: there is room");
        assert!(!wanted(number, FLOOD_LEVEL), "{number}: there is a flood");
    }
    assert!(wanted(0, 255), "it has four packets");
}
