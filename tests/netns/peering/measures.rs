//! Measurements of peers, in a machine whose clock counts instructions (`tests/vm/run --icount`).
//! The tests print the figures for docs/how-to/radio-peering.md and assert none.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use lab::Error;
use lab::goodput::{Demand, Goodput, Transport};
use lab::namespace::wait_until;
use weir_tests::{LIMIT, Weir};

use super::scene::{ONLY, SECRET, Scene, captured, is_between, mac, said, unexpected};

/// Returns the resident memory of a process, KiB.
fn memory(weir: &Weir) -> Result<u64, Error> {
    let file = format!("/proc/{}/status", weir.id());
    let text = std::fs::read_to_string(&file).map_err(Error::system("read a status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let size = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    size.ok_or_else(|| unexpected(text))
}

/// Sends the same datagrams over a peer's link and over hostapd's link to a client of four
/// addresses (WDS), in turns, in one medium.
#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn a_link_beside_one_of_wds() -> Result<(), Error> {
    const NODES: [&str; 3] = ["north", "south", "relay"];
    const TURNS: usize = 5;
    let air = lab::medium::Scene::default()
        .with("north", 0.0, 0.0)
        .with("south", 5.0, 0.0)
        .with("relay", 0.0, 5.0);
    let mut scene = Scene::begin_in(&NODES, Some(air))?;
    // A single rate, which an emulated machine can fill the air with.
    let more = "supported_rates=60\nbasic_rates=60\nwds_sta=1\ndisassoc_low_ack=0";
    for role in &NODES[..2] {
        scene.access_point_with(role, false, more)?;
    }
    let relay = scene.lab.node("relay")?;
    relay.run("iw dev wlan0 set 4addr on")?;
    let _relay = scene.join("relay", 0, false, ["", ""])?;
    let wds = "wlan0.sta1";
    wait_until("a link of WDS", LIMIT, || {
        Ok(scene.devices("north", wds)? == 1)
    })?;
    scene
        .lab
        .node("north")?
        .ip(&format!("link set {wds} up\n"))?;
    scene.speak(["relay", "north"], ["wlan0", wds], 0)?;
    for role in &NODES[..2] {
        scene.weir(role, SECRET, "")?;
    }
    let ends = [scene.alive(0, 1)?.remove(0), scene.alive(1, 1)?.remove(0)];
    scene.speak(["south", "north"], [&ends[1], &ends[0]], 7)?;
    let mut found = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for (at, (to, address)) in [("south", [192, 0, 9, 2]), ("relay", [192, 0, 2, 2])]
            .iter()
            .enumerate()
        {
            let demand = Demand {
                length: 1400,
                ..Demand::up(Transport::Udp, SocketAddr::from((*address, 5000)))
                    .with_rate(7_000_000)
            };
            let (from, to) = (scene.lab.node("north")?, scene.lab.node(to)?);
            let series = Goodput::measure(from, to, &demand, Duration::from_secs(2))?;
            found[at].push(series.rate(Duration::from_millis(500)..Duration::from_secs(2)) / 1e6);
        }
    }
    for (name, rates) in ["peer", "WDS"].iter().zip(&mut found) {
        rates.sort_by(f64::total_cmp);
        println!("{name}: {rates:.3?} Mbit/s");
    }
    println!(
        "{:.3} of WDS, in the median",
        found[0][TURNS / 2] / found[1][TURNS / 2]
    );
    Ok(())
}

/// Eight peers of one access point: the delay until each is there, and their cost.
#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn eight_peers_of_one_radio() -> Result<(), Error> {
    const NODES: [&str; 10] = [
        "hub", "one", "two", "three", "four", "five", "six", "seven", "eight", "ear",
    ];
    let mut scene = Scene::begin(&NODES)?;
    for role in &NODES[..9] {
        scene.access_point(role, false)?;
    }
    let bare = Weir::start(scene.lab.node("hub")?, "", &ONLY)?;
    std::thread::sleep(Duration::from_secs(2));
    let without = memory(&bare)?;
    drop(bare);
    let (tcpdump, capture) = scene.listen("ear")?;
    scene.weir("hub", SECRET, "")?;
    for role in &NODES[1..9] {
        scene.weir(role, SECRET, "allow = [\"02:00:00:00:00:00\"]")?;
    }
    scene.alive(0, 8)?;
    std::thread::sleep(Duration::from_secs(3));
    let with = memory(&scene.weirs[0])?;
    println!("{without} KiB without, {with} KiB with eight peers");
    tcpdump.stop();
    for (at, role) in NODES.iter().enumerate().take(9).skip(1) {
        let log = scene.weirs[at].log();
        let found = said(&log, "peer connected peer=")? - said(&log, "looking for peers")?;
        let first = first_frame(&capture, [0, at as u8])?;
        println!("{role}: a peer {found:.3} s after it looks, {first:.3} s from beacons to frames");
    }
    Ok(())
}

/// Returns the time from both beacons to the first frame with the pair's key.
fn first_frame(capture: &Path, pair: [u8; 2]) -> Result<f64, Error> {
    let mut beacons = [None; 2];
    for (at, frame) in captured(capture)? {
        for (beacon, number) in beacons.iter_mut().zip(pair) {
            let is_its = frame[0] == 0x80 && frame[10..16] == mac(number);
            let says = [221, 61, 0x02, b'w', b'r', 1];
            if is_its && frame.windows(6).any(|octets| octets == says) {
                beacon.get_or_insert(at);
            }
        }
        if let [Some(one), Some(other)] = beacons
            && is_between(&frame, pair.map(mac))
            && frame[1] & 0x40 != 0
        {
            return Ok(at - f64::max(one, other));
        }
    }
    Err(unexpected("no frame between the two"))
}
