//! Two access points, and an outsider.

use std::time::{Duration, Instant};

use lab::Error;
use lab::namespace::wait_until;
use nix::sys::signal::Signal;
use weir_tests::LIMIT;

use super::scene::{SECRET, Scene, between, mac, said, second_of_day, unexpected};
use super::{changes, intruder};

const NODES: [&str; 5] = ["north", "south", "stranger", "client", "intruder"];

fn begin() -> Result<Scene, Error> {
    let mut scene = Scene::begin(&NODES)?;
    for role in &NODES[..2] {
        scene.access_point(role, false)?;
    }
    Ok(scene)
}

/// Waits until a node has a peer at both ends, and returns the peer's device.
fn peer(scene: &Scene, at: usize) -> Result<String, Error> {
    let mut devices = scene.alive(at, 1)?;
    Ok(devices.remove(0))
}

/// Gives both ends of the link addresses, and waits until they reach each other.
fn speak(scene: &Scene, devices: [&str; 2]) -> Result<(), Error> {
    for (at, device) in devices.iter().enumerate() {
        let node = scene.lab.node(NODES[at])?;
        let address = format!("10.9.0.{}/24", at + 1);
        node.ip(&format!("address replace {address} dev {device}\n"))?;
    }
    let north = scene.lab.node("north")?;
    let told = north.run("ping -c 10 -i 0.1 -W 5 10.9.0.2")?;
    println!("{told}");
    match told.contains("10 received") {
        true => Ok(()),
        false => Err(unexpected(told)),
    }
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn two_access_points_peer_and_stay_so_whoever_else_is_there() -> Result<(), Error> {
    let mut scene = begin()?;
    // An ordinary client that all later steps must not disturb.
    let _client = scene.client("client", "north", 0, false)?;
    let (tcpdump, capture) = scene.listen("client")?;

    scene.weir("north", SECRET, "")?;
    scene.weir("south", SECRET, "")?;
    let begun = Instant::now();
    let (north, south) = (peer(&scene, 0)?, peer(&scene, 1)?);
    println!(
        "both have a peer {:?} after the second weir answers",
        begun.elapsed()
    );
    speak(&scene, [&north, &south])?;
    println!("{:?}", scene.peers(0)?);

    // Another access point of this name, with weir but without the secret.
    scene.access_point("stranger", false)?;
    scene.weir("stranger", "another secret, just as long", "")?;
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(scene.peers(2)?, []);
    assert_eq!(scene.devices("stranger", "peer-")?, 0);
    for (at, role) in NODES[..2].iter().enumerate() {
        assert_eq!(scene.devices(role, "peer-")?, 1);
        assert_eq!(scene.peers(at)?.len(), 1);
    }

    speak(&scene, [&north, &south])?;
    let client = scene.lab.node("client")?;
    println!("{}", client.run("ping -c 10 -i 0.1 -W 5 192.0.2.1")?);
    tcpdump.stop();
    let [protected, clear] = between(&capture, [mac(0), mac(1)])?;
    println!("data frames between the two: {protected} protected, {clear} in clear");
    assert!(protected >= 40 && clear == 0, "{protected}, {clear}");

    intruder::joins_by_a_peers_address(&scene, "intruder")?;
    speak(&scene, [&north, &south])?;
    changes::to_another_channel(&scene)?;
    intruder::nobody_is_denied_after_the_end(&scene)
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn a_peer_that_is_killed_is_gone_and_comes_back() -> Result<(), Error> {
    let mut scene = begin()?;
    scene.weir("north", SECRET, "")?;
    scene.weir("south", SECRET, "")?;
    let before = [peer(&scene, 0)?, peer(&scene, 1)?];
    let found = said(&scene.weirs[1].log(), "peer connected peer=")?;
    let began = said(&scene.weirs[1].log(), "looking for peers")?;
    println!("a peer {:.3} s after both look for some", found - began);
    for at in [1, 0] {
        scene.weirs[at].end(Signal::SIGKILL)?;
        let killed = Instant::now();
        wait_until("its device is gone", LIMIT, || {
            Ok(scene.devices(NODES[1 - at], "peer-")? == 0)
        })?;
        println!(
            "{}: gone at the other {:?} later",
            NODES[at],
            killed.elapsed()
        );
        assert_eq!(
            scene.devices(NODES[at], "peer-")?,
            0,
            "the kernel removes what it made"
        );
        scene.restart(at)?;
        let begun = Instant::now();
        let after = [peer(&scene, 0)?, peer(&scene, 1)?];
        println!("{}: back {:?} after it answers", NODES[at], begun.elapsed());
        assert_eq!(after, before);
        speak(&scene, [&after[0], &after[1]])?;
    }
    // Restarts at once, while the other end keeps state from before the restart.
    for at in [1, 0, 1, 0, 1] {
        scene.weirs[at].end(Signal::SIGKILL)?;
        let killed = second_of_day();
        scene.restart(at)?;
        let log = scene.weirs[at].log();
        peer(&scene, at)?;
        let began = said(&log, "looking for peers")?;
        let found = said(&scene.weirs[at].log(), "peer connected peer=")?;
        println!(
            "{} begins anew at once: it looks for peers {:.3} s after the end, and has one {:.3} s \
             after that",
            NODES[at],
            began - killed,
            found - began
        );
    }
    assert_eq!([peer(&scene, 0)?, peer(&scene, 1)?], before);
    speak(&scene, [&before[0], &before[1]])?;
    Ok(())
}
