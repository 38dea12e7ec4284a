//! Storms, cables that come and go, rings: weir decides correctly afterwards, and needs little
//! meanwhile.

use std::fs;
use std::time::{Duration, Instant};

use lab::{Error, Tap};
use weir_tests::cost::taken;

use crate::cables::frames;
use crate::cables::plug::{Plug, Used, is};
use crate::cables::scene::{LINE, PORT, ROUTER, Scene, UP, WAN};

const ISP: [&str; 1] = ["192.0.2.1/24"];
/// A storm sends a burst, waits, and repeats: 5000 frames a second.
const BURST: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);
const STORM: Duration = Duration::from_secs(4);
/// Bound of the processor time, in USER_HZ (of 400), and of additional pages of memory.
const TICKS: u64 = 60;
const PAGES: u64 = 2048;
const PLUGS: usize = 50;
/// A link holds this long, all links together less than a minute.
const HELD: Duration = Duration::from_millis(100);
/// Frames that weir sends at a port with a link: a probe's frames and the first hellos.
const SENT: usize = 12 + 8;

/// Returns the numbers of open files and threads.
fn held(pid: u32) -> Result<[usize; 2], Error> {
    let count = |what: &str| {
        let path = format!("/proc/{pid}/{what}");
        let entries = fs::read_dir(&path).map_err(Error::system(format!("read {path}")))?;
        Ok(entries.count())
    };
    Ok([count("fd")?, count("task")?])
}

#[test]
fn a_storm_costs_little_and_hides_nothing() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    scene.peer("noise", &[])?;
    let mut plug = Plug::of(scene, Used::Not)?;
    let before = taken(plug.id())?;
    let mouth = Tap::open(plug.scene.lab.node("noise")?, UP)?;
    let line = plug.scene.lab.node(LINE)?;
    line.run(&format!("ip link set {PORT} up"))?;
    // Queries by multicast DNS, each from another station.
    let (begin, mut sent) = (Instant::now(), 0u32);
    while begin.elapsed() < STORM {
        for _ in 0..BURST {
            let [_, a, b, c] = sent.to_be_bytes();
            let mut frame = frames::mdns([2, 7, 7, a, b, c]);
            frame[..6].fill(0xff);
            mouth.offer(&frame)?;
            sent += 1;
        }
        std::thread::sleep(PAUSE);
    }
    let after = taken(plug.id())?;
    println!("{sent} frames; ticks and pages before {before:?}, after {after:?}");
    assert!(after.0 - before.0 < TICKS, "{before:?} {after:?}");
    assert!(after.1 < before.1 + PAGES, "{before:?} {after:?}");
    let cable = plug.decided()?;
    is(&cable, "uplink");
    plug.unplug()?;
    plug.wait("the link to be gone", |cable| !cable.link)?;
    is(&plug.plugged()?, "uplink");
    Ok(())
}

#[test]
fn fifty_plugs_leave_nothing_behind_and_decide_nothing() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.peer("isp", &ISP)?;
    scene.dhcp("isp", &[])?;
    let mut plug = Plug::of(scene, Used::Not)?;
    is(&plug.plugged()?, "uplink");
    // The probing thread ends four seconds after its start, maybe after the decision.
    let quiet = |plug: &Plug| {
        std::thread::sleep(Duration::from_secs(5));
        held(plug.id())
    };
    let before = quiet(&plug)?;
    let begin = Instant::now();
    let mut known = 0;
    for _ in 0..PLUGS {
        plug.unplug()?;
        plug.wait("the link to be gone", |cable| !cable.link)?;
        let line = plug.scene.lab.node(LINE)?;
        line.run(&format!("ip link set {PORT} up"))?;
        let cable = plug.wait("the link", |cable| cable.link)?;
        known += usize::from(cable.why.contains("comes and goes"));
        assert_eq!(cable.role, "unknown", "{cable:#?}");
        assert_eq!(cable.decided, None, "{cable:#?}");
        std::thread::sleep(HELD);
    }
    println!("{PLUGS} plugs in {:?}", begin.elapsed());
    assert!(known > PLUGS / 2, "{known}");
    is(&plug.decided()?, "uplink");
    assert_eq!(quiet(&plug)?, before, "open files and threads");
    Ok(())
}

#[test]
fn a_ring_of_switches_gets_no_more_than_is_asked_and_said_at_any_port() -> Result<(), Error> {
    let mut scene = Scene::new()?;
    scene.ring()?;
    let mut plug = Plug::of(scene, Used::Not)?;
    let own = lab::topology::mac(ROUTER, WAN);
    let mut ear = Tap::open(plug.scene.lab.node(LINE)?, PORT)?;
    is(&plug.plugged()?, "loop");
    std::thread::sleep(Duration::from_secs(5));
    // Frames that entered the switch by the cable: circling frames enter by other ports.
    let sent = ear.drain(Duration::from_millis(100))?;
    println!("{} frames", sent.len());
    assert!(sent.iter().all(|frame| frame[6..12] == own), "{sent:02x?}");
    assert!((1..=SENT).contains(&sent.len()), "{} frames", sent.len());
    Ok(())
}
