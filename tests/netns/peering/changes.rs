//! Changes of an access point under its peers.

use std::time::Duration;

use lab::namespace::wait_until;
use lab::{Error, Namespace};
use weir_tests::LIMIT;
use weir_tests::radios::{RADIO, radios};

use super::scene::{SECRET, Scene, said, second_of_day, unexpected};

const NODES: [&str; 2] = ["north", "south"];

fn begin() -> Result<Scene, Error> {
    let mut scene = Scene::begin(&NODES)?;
    for role in NODES {
        scene.access_point(role, false)?;
    }
    Ok(scene)
}

fn begin_with_peers() -> Result<Scene, Error> {
    let mut scene = begin()?;
    for at in [0, 1] {
        scene.weir(NODES[at], SECRET, "")?;
    }
    for at in [0, 1] {
        scene.alive(at, 1)?;
    }
    Ok(scene)
}

/// Waits until each node has only one peer's device, and both reach each other.
fn speak(scene: &Scene) -> Result<(), Error> {
    for (at, role) in NODES.iter().enumerate() {
        let device = scene.alive(at, 1)?.remove(0);
        assert_eq!(scene.devices(role, "peer-")?, 1);
        let address = format!("address replace 10.9.0.{}/24 dev {device}\n", at + 1);
        scene.lab.node(role)?.ip(&address)?;
    }
    let north = scene.lab.node("north")?;
    let told = north.run("ping -c 10 -i 0.1 -W 5 10.9.0.2")?;
    assert!(told.contains("10 received"), "{told}");
    Ok(())
}

/// Waits until both have a peer again after `since`, and prints the delay after `what`.
fn found(scene: &Scene, since: f64, at: f64, what: &str) -> Result<(), Error> {
    for (number, role) in NODES.iter().enumerate() {
        let found = scene.found_after(number, since)?;
        println!("{role}: a peer {:.3} s after {what}", found - at);
    }
    Ok(())
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn peers_come_back_after_hostapd_began_anew() -> Result<(), Error> {
    let mut scene = begin_with_peers()?;
    for at in [0, 1, 0, 1, 0] {
        let ends = second_of_day();
        scene.end_access_point(at);
        scene.restart_access_point(at)?;
        let begun = second_of_day();
        let found = scene.found_after(at, ends)?;
        println!(
            "{}: a peer {:.3} s after hostapd's end, {:.3} s after its access point is back",
            NODES[at],
            found - ends,
            found - begun
        );
        scene.alive(1 - at, 1)?;
    }
    speak(&scene)
}

/// Peers follow to another channel: north and south, which are each other's peers.
pub fn to_another_channel(scene: &Scene) -> Result<(), Error> {
    // Both access points switch at once.
    let ordered = second_of_day();
    for at in [0, 1] {
        scene.switch(at, 2437)?;
    }
    found(scene, ordered, ordered, "the order")?;
    speak(scene)?;
    // A single access point switches: it has no peer until the other follows.
    scene.switch(0, 2462)?;
    for (at, role) in NODES.iter().enumerate() {
        let mut seen = Vec::new();
        wait_until("no peer", LIMIT, || {
            seen = scene.peers(at)?;
            let is_told = seen.iter().all(|peer| !peer.encrypted);
            Ok(is_told && scene.devices(role, "peer-")? == 0)
        })
        .map_err(|error| unexpected(format!("{error}: {seen:?}")))?;
    }
    let ordered = second_of_day();
    scene.switch(1, 2462)?;
    found(scene, ordered, ordered, "it followed")?;
    speak(scene)
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn peers_come_back_with_radios_that_were_gone() -> Result<(), Error> {
    let mut scene = begin_with_peers()?;
    let before: Vec<usize> = (scene.weirs.iter().map(|weir| weir.log().lines().count())).collect();
    // All radios vanish, as with an unloaded driver, and others appear.
    lab::radios::unload()?;
    for at in [0, 1] {
        wait_until("it is reported", LIMIT, || {
            let told = scene.told(at)?;
            Ok(told.peers.is_empty()
                && told
                    .notices
                    .iter()
                    .any(|it| it.contains("not a running access point")))
        })?;
        scene.end_access_point(at);
    }
    std::thread::sleep(Duration::from_secs(3));
    for (weir, before) in scene.weirs.iter().zip(before) {
        let log = weir.log();
        let lines = log
            .lines()
            .skip(before)
            .filter(|line| line.contains("no peers"));
        assert!(lines.count() <= 3, "each reason once: {log}");
    }
    let nodes: Vec<&Namespace> =
        (NODES.iter().map(|role| scene.lab.node(role))).collect::<Result<_, _>>()?;
    radios(&nodes)?;
    let come = second_of_day();
    for at in [0, 1] {
        scene.restart_access_point(at)?;
    }
    let back = second_of_day();
    found(&scene, come, back, "both are back")?;
    speak(&scene)
}

#[test]
#[ignore = "needs mac80211_hwsim and hostapd: run by tests/vm/run"]
fn an_ear_that_could_not_be_made_is_tried_again() -> Result<(), Error> {
    let mut scene = begin()?;
    let north = scene.lab.node("north")?;
    let shown = north.run(&format!("ip -oneline link show {RADIO}"))?;
    let link = shown.split(':').next().unwrap_or_default();
    // The name is taken.
    let name = format!("weir-ear{link}");
    north.ip(&format!("link add {name} type dummy\n"))?;
    for role in NODES {
        scene.weir(role, SECRET, "")?;
    }
    wait_until("it is reported", LIMIT, || {
        let told = scene.told(0)?;
        Ok(told
            .notices
            .iter()
            .any(|it| it.contains("cannot receive frames")))
    })?;
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(scene.devices("north", "peer-")?, 0);
    let log = scene.weirs[0].log();
    assert_eq!(
        log.lines()
            .filter(|line| line.contains("new peers are not possible"))
            .count(),
        1,
        "{log}"
    );
    scene.lab.node("north")?.ip(&format!("link del {name}\n"))?;
    scene.alive(0, 1)?;
    assert!(
        said(
            &scene.weirs[0].log(),
            "receiving frames of unknown senders again"
        )? > 0.0
    );
    assert_eq!(scene.told(0)?.notices, [""; 0]);
    // The device is deleted during its use.
    scene.weirs[1].end(nix::sys::signal::Signal::SIGKILL)?;
    wait_until("it listens", LIMIT, || {
        Ok(scene.devices("north", &name)? == 1)
    })?;
    scene
        .lab
        .node("north")?
        .run(&format!("iw dev {name} del"))?;
    let began = second_of_day();
    scene.restart(1)?;
    scene.found_after(0, began)?;
    speak(&scene)
}
