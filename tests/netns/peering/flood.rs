//! A thousand false access points and replayed frames, in the air of honest access points.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lab::frame::Frame;
use lab::namespace::wait_until;
use lab::{Error, Namespace, Tap};
use weir_tests::LIMIT;
use weir_tests::cost::taken;
use weir_tests::radios::RADIO;

use super::scene::{SECRET, SSID, Scene, mac};

const NODES: [&str; 4] = ["north", "south", "east", "stranger"];
/// Number of false access points.
const FALSE: u16 = 1000;
/// A frame of this size takes longer on the air at its slowest rate.
const PAUSE: Duration = Duration::from_millis(1);
/// Memory may grow by this many pages of 4 KiB.
const PAGES: u64 = 512;
/// An empty radiotap header.
pub const RADIOTAP: [u8; 8] = [0, 0, 8, 0, 0, 0, 0, 0];
/// First bytes of weir's vendor-specific public action frame, past its header.
const OURS: [u8; 5] = [4, 9, 0x02, b'w', b'r'];

/// Creates a monitor device and taps it.
pub fn monitor(node: &Namespace, name: &str) -> Result<Tap, Error> {
    node.run(&format!("iw dev {RADIO} interface add {name} type monitor"))?;
    node.ip(&format!("link set {name} up\n"))?;
    Tap::open(node, name)
}

/// Builds a beacon of our network. With our element the beacon is well formed and proves nothing.
fn beacon(from: [u8; 6], element: bool) -> Frame {
    let mut frame = [&RADIOTAP[..], &[0x80, 0, 0, 0], &[0xff; 6], &from, &from].concat();
    // Sequence, timestamp, interval, capabilities.
    frame.extend([0; 10]);
    frame.extend([100, 0, 0x11, 4, 0, SSID.len() as u8]);
    frame.extend(SSID.as_bytes());
    frame.extend([1, 4, 0x82, 0x84, 0x8b, 0x96, 3, 1, 1]);
    if element {
        frame.extend([221, 61, 0x02, b'w', b'r', 1, 1]);
        let number = u16::from_be_bytes([from[4], from[5]]);
        frame.extend((0..56u16).map(|at| (number.wrapping_mul(251) ^ at.wrapping_mul(73)) as u8));
    }
    frame
}

fn false_one(number: u16) -> [u8; 6] {
    let [high, low] = number.to_be_bytes();
    [2, 0xfa, 0, 0, high, low]
}

/// Returns a received frame with an empty radiotap header, ready to be sent.
fn again(heard: &[u8]) -> Option<Frame> {
    let length = u16::from_le_bytes([*heard.get(2)?, *heard.get(3)?]);
    let rest = heard.get(usize::from(length)..)?;
    Some([&RADIOTAP[..], rest].concat())
}

fn is_ours(frame: &Frame) -> bool {
    frame.get(8) == Some(&0xd0) && frame.get(32..37) == Some(&OURS)
}

/// Returns an attacker's frames: beacons of foreign networks and of ours, and recorded frames, both
/// original and changed.
fn said(recorded: &[Frame]) -> Vec<Frame> {
    let mut all = Vec::new();
    for number in 0..FALSE {
        all.push(beacon(false_one(number), number % 2 == 0));
        let Some(frame) = recorded.get(usize::from(number) % recorded.len().max(1)) else {
            continue;
        };
        if number % 4 == 0 {
            all.push(frame.clone());
        }
        if number % 4 == 2 {
            let mut forged = frame.clone();
            let at = 37 + usize::from(number) % (frame.len() - 37);
            forged[at] ^= 1 << (number % 8);
            all.push(forged);
        }
        if number % 50 == 0 {
            all.extend([mac(0), mac(1)].map(|of| beacon(of, true)));
        }
    }
    all
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn a_flood_costs_little_and_keeps_nobody_away() -> Result<(), Error> {
    let mut scene = Scene::begin(&NODES)?;
    for role in &NODES[..3] {
        scene.access_point(role, false)?;
    }
    let stranger = scene.lab.node("stranger")?;
    let mut air = monitor(stranger, "mon0")?;
    stranger.run("iw dev mon0 set freq 2412")?;
    scene.weir("north", SECRET, "")?;
    scene.weir("south", SECRET, "")?;
    let south = scene.alive(0, 1)?;
    scene.alive(1, 1)?;
    let heard = air.drain(Duration::ZERO)?;
    let recorded: Vec<Frame> = heard
        .iter()
        .filter_map(|it| again(it))
        .filter(is_ours)
        .collect();
    assert!(
        recorded.len() >= 4,
        "{} frames of a handshake",
        recorded.len()
    );

    let mut ear = monitor(scene.lab.node("north")?, "mon1")?;
    let pid = scene.weirs[0].id();
    let before = taken(pid)?;
    let ends = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&ends);
    let flood = scene.lab.node("stranger")?.background(move || {
        let all = said(&recorded);
        let (mut sent, mut rounds) = (0, 0);
        // At least once.
        while rounds < 1 || !ended.load(Ordering::Acquire) {
            for frame in &all {
                air.send(frame)?;
                sent += 1;
                std::thread::sleep(PAUSE);
            }
            rounds += 1;
        }
        Ok::<_, Error>((sent, rounds))
    })?;
    // A new node joins meanwhile.
    scene.weir("east", SECRET, "")?;
    for at in 0..3 {
        scene.alive(at, 2)?;
    }
    ends.store(true, Ordering::Release);
    let flood = flood.join().expect("it ended")??;
    let after = taken(pid)?;
    let from_false = |it: &Frame| {
        let it = again(it)?;
        (it.get(18..22)? == &[2, 0xfa, 0, 0][..]).then(|| it.get(22..24).map(<[u8]>::to_vec))?
    };
    let senders: BTreeSet<_> = ear
        .drain(Duration::ZERO)?
        .iter()
        .filter_map(from_false)
        .collect();
    println!(
        "{} frames in {} rounds of {} false access points, {} of which were heard: {} ticks of the \
         processor, {} pages and {} before",
        flood.0,
        flood.1,
        FALSE,
        senders.len(),
        after.0 - before.0,
        after.1,
        before.1
    );
    assert!(senders.len() >= usize::from(FALSE) / 2, "{}", senders.len());
    assert!(after.1 <= before.1 + PAGES, "{before:?} {after:?}");
    assert_eq!(scene.devices("north", "peer-")?, 2);
    assert_eq!(scene.peers(0)?.len(), 2, "nobody else is remembered");
    assert!(scene.alive(0, 2)?.contains(&south[0]));
    let log = scene.weirs[0].log();
    assert!(!log.contains("peer removed"), "{log}");
    wait_until("the ear is gone again", LIMIT, || {
        Ok(scene.devices("north", "weir-ear")? == 0)
    })
}
