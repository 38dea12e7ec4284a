//! `mode = "auto"`: between link and decision nothing passes a port of the LAN, in or out, except
//! weir's own probes and hellos. The test checks every byte on both sides.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::frame::{Frame, Mac};
use lab::topology::{mac, text};
use lab::{Error, Tap};

use crate::cables::matrix;
use crate::cables::plug::{DESK, LAN_MAC, Plug, Used};
use crate::cables::scene::{LINE, PORT, ROUTER, Scene, UP, WAN};
use crate::cables::topology::Arrangement;

/// Interval between a LAN host's broadcasts.
const PAUSE: Duration = Duration::from_millis(2);
const NOTICE: Duration = Duration::from_millis(20);
/// Each of these is a test every time; `WEIR_ARRANGEMENTS` tries all.
const SOME: [&str; 10] = [
    "an_isp_with_dhcp",
    "an_isp_with_pppoe",
    "an_isp_with_router_advertisements",
    "an_isp_in_a_vlan_with_router_advertisements",
    "a_computer_that_asks_for_an_address",
    "a_dumb_switch_with_four_computers",
    "a_node_and_both_serve_dhcp",
    "a_radio_at_the_far_end",
    "another_network_with_batman",
    "a_cable_between_two_ports_of_the_lan",
];

/// Few at once: a weir without a processor for seconds opens its gates, by design.
const AT_ONCE: usize = 4;

/// A frame with its arrival time.
type Heard = (Instant, Frame);

/// Returns true for weir's own frames at a port: a hello, or a probe, also in a VLAN that weir has
/// seen.
fn is_own(frame: &[u8]) -> bool {
    let mut frame = frame.to_vec();
    if frame.get(12..14) == Some(&[0x81, 0]) && frame.len() >= 16 {
        frame.drain(12..16);
    }
    let at = |from: usize, octets: &[u8]| frame.get(from..from + octets.len()) == Some(octets);
    let group = at(0, &[0x01, 0x80, 0xc2, 0, 0, 0x0e]);
    let hello = group && at(12, b"\x88\xb5weir\x01");
    let everybody = at(0, &[0xff; 6]);
    let looks_for_a_loop = everybody && at(12, b"\x88\xb5loop weir");
    // From 0.0.0.0, port 68, to broadcast, port 67: a request whose first option is DHCPDISCOVER.
    let dhcp = everybody && at(12, &[8, 0, 0x45]) && at(23, &[17]) && at(26, &[0, 0, 0, 0]);
    let ports = at(30, &[255, 255, 255, 255, 0, 68, 0, 67]);
    let discover = dhcp && ports && at(42, &[1]) && at(278, &[99, 130, 83, 99, 53, 1, 1]);
    let padi = everybody && at(12, &[0x88, 0x63, 0x11, 0x09, 0, 0]);
    let six = at(0, &[0x33, 0x33]) && at(12, &[0x86, 0xdd]);
    let solicitation = six && at(20, &[58, 255]) && at(54, &[133, 0]);
    let solicit = six && at(20, &[17]) && at(54, &[2, 34, 2, 35]) && at(62, &[1]);
    // An ARP probe without a sender address for the gateway that other hosts resolve.
    let probe = everybody && at(12, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]) && at(28, &[0; 4]);
    hello || looks_for_a_loop || probe || discover || padi || solicitation || solicit
}

/// Collects a tap's frames until `over` is set.
fn listen(mut tap: Tap, over: &AtomicBool) -> Result<Vec<Heard>, Error> {
    let mut heard = Vec::new();
    while !over.load(Ordering::Relaxed) {
        if let Some(frame) = tap.receive(NOTICE)? {
            heard.push((Instant::now(), frame));
        }
    }
    Ok(heard)
}

/// Sends broadcasts to the LAN repeatedly.
fn speak(tap: &Tap, over: &AtomicBool) -> Result<(), Error> {
    let mut frame = [[0xff; 6], mac(DESK, UP)].concat();
    frame.extend(*b"\x99\x99the LAN's own");
    frame.resize(60, 0);
    while !over.load(Ordering::Relaxed) {
        tap.send(&frame)?;
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Returns frames that leaked before the decision, at the cable and in the LAN.
fn leaks(arrangement: &Arrangement) -> Result<Vec<String>, Error> {
    let mut scene = Scene::new()?;
    (arrangement.build)(&mut scene)?;
    let mut plug = Plug::of(scene, Used::Apart)?;
    let cable = Tap::open(plug.scene.lab.node(LINE)?, PORT)?;
    let desk = plug.scene.lab.node(DESK)?;
    let (ear, mouth) = (Tap::open(desk, UP)?, Tap::open(desk, UP)?);
    let over = AtomicBool::new(false);
    let (decided, begin, [cable, lan]) = thread::scope(|scope| {
        let cable = scope.spawn(|| listen(cable, &over));
        let lan = scope.spawn(|| listen(ear, &over));
        let speaks = scope.spawn(|| speak(&mouth, &over));
        // The link appears after this instant.
        let begin = Instant::now();
        let decided = plug.plugged().map(|cable| cable.decided);
        thread::sleep(NOTICE * 5);
        over.store(true, Ordering::Relaxed);
        let failed = |_| Error::Unexpected("a thread ended".into());
        speaks.join().map_err(failed)??;
        let heard = [cable, lan].map(|it| it.join().map_err(failed).flatten());
        let [cable, lan] = heard;
        Ok::<_, Error>((decided?, begin, [cable?, lan?]))
    })?;
    let until = begin + Duration::from_millis(decided.unwrap_or(0));
    let before = |heard: Vec<Heard>| heard.into_iter().filter(move |(at, _)| *at < until);
    let mut leaks = Vec::new();
    let mut tell = |side: &str, at: Instant, frame: &[u8]| {
        let after = (at - begin).as_millis();
        let name = arrangement.name;
        leaks.push(format!("{name}: {side} after {after} ms: {frame:02x?}"));
    };
    let (port, mut said) = (mac(ROUTER, WAN), 0);
    for (at, frame) in before(cable) {
        let own = frame.get(6..12) == Some(&port[..]) && is_own(&frame);
        said += usize::from(own);
        if !own {
            tell("cable", at, &frame);
        }
    }
    for (at, frame) in before(lan) {
        let from: Option<Mac> = frame.get(6..12).and_then(|it| it.try_into().ok());
        if from.is_none_or(|from| text(from) != LAN_MAC) {
            tell("LAN", at, &frame);
        }
    }
    println!("{}: {said} own frames, {decided:?} ms", arrangement.name);
    // Each link starts with a hello: if none arrived, the tap does not work.
    if said == 0 && decided.is_some_and(|decided| decided > 1000) {
        leaks.push(format!("{}: nothing was heard", arrangement.name));
    }
    Ok(leaks)
}

#[test]
fn nothing_passes_a_port_of_the_lan_before_it_is_decided_what_for() -> Result<(), Error> {
    let every = std::env::var_os("WEIR_ARRANGEMENTS").is_some();
    let all = matrix::all().into_iter();
    let wanted: Vec<_> = all.filter(|it| every || SOME.contains(&it.name)).collect();
    assert!(
        wanted.len() >= SOME.len(),
        "an arrangement has another name"
    );
    let told = matrix::each(&wanted, 1, AT_ONCE, leaks)?;
    let told: Vec<String> = told.into_iter().flatten().flatten().collect();
    let (count, first) = (told.len(), told.iter().take(20).cloned());
    assert!(
        told.is_empty(),
        "{count}:\n{}",
        first.collect::<Vec<_>>().join("\n")
    );
    Ok(())
}
